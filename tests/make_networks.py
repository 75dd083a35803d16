#!/usr/bin/env python3
"""Network files of families whose members differ by a few numbers: EfficientNet, ResNeXt,
ConvNeXt, Swin, U-Net, DenseNet, VGG.

    tests/make_networks.py            print the names
    tests/make_networks.py --write    write models/data/networks/NAME.json
    tests/make_networks.py --check    exit code 1 when a file is not what this script writes

Each source is named in the file; parameters and operations are compared with published ones in
tests/models/training/network_presets_test.cpp.
"""
import json
import math
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "models" / "data" / "networks"


def conv(out, kernel, **keys):
    return {"op": "conv", "out": out, "kernel": kernel, **keys}


def repeat(name, times, body):
    return {"op": "repeat", "name": name, "times": times, "body": body}


# ---- EfficientNet: Tan and Le, arXiv:1905.11946; pytorch/vision, models/efficientnet.py
# Expansion, kernel, stride, channels, blocks of each stage of B0.
EFFICIENTNET_STAGES = [(1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3),
                       (6, 5, 2, 192, 4), (6, 3, 1, 320, 1)]
# Width, depth, size of the image (pytorch/vision; the paper has 260 for B2).
EFFICIENTNETS = [(1.0, 1.0, 224), (1.0, 1.1, 240), (1.1, 1.2, 288), (1.2, 1.4, 300), (1.4, 1.8, 380), (1.6, 2.2, 456),
                 (1.8, 2.6, 528), (2.0, 3.1, 600)]


def divisible_by_8(channels):
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


def inverted_bottleneck(inside, outside, expansion, kernel, stride):
    """Expansion, depthwise convolution, squeeze-and-excitation, projection."""
    wide = divisible_by_8(inside * expansion)
    swish = ["batch_norm", "swish"]
    main = [conv(wide, 1, then=swish)] if expansion != 1 else []
    main += [conv(wide, kernel, stride=stride, groups=wide, then=swish),
             {"op": "multiply", "name": "excitation",
              "by": ["global_avg_pool",
                     {"op": "linear", "out": max(1, inside // 4), "then": ["swish"]},
                     {"op": "linear", "out": wide, "then": ["sigmoid"]}]},
             conv(outside, 1)]
    return [{"op": "residual", "main": main}] if stride == 1 and inside == outside else main


def efficientnet(number):
    width, depth, size = EFFICIENTNETS[number]
    inside = divisible_by_8(32 * width)
    layers = [conv(inside, 3, stride=2, then=["batch_norm", "swish"])]
    for stage, (expansion, kernel, stride, channels, blocks) in enumerate(EFFICIENTNET_STAGES, 1):
        outside = divisible_by_8(channels * width)
        blocks = math.ceil(blocks * depth)
        layers.append(repeat(f"stage{stage}.first", 1, inverted_bottleneck(inside, outside, expansion, kernel, stride)))
        if blocks > 1:
            layers.append(repeat(f"stage{stage}", blocks - 1, inverted_bottleneck(outside, outside, expansion, kernel, 1)))
        inside = outside
    layers += [conv(4 * inside, 1, then=["batch_norm", "swish"]), "global_avg_pool", "dropout"]
    return {"source": "Tan and Le, EfficientNet, arXiv:1905.11946; layer by layer as pytorch/vision, torchvision/models/"
                      f"efficientnet.py efficientnet_b{number}, with TensorFlow's padding; stochastic depth, which skips whole "
                      "blocks of some samples, is left out",
            "input": {"channels": 3, "height": size, "width": size},
            "defaults": {"conv": {"bias": False, "then": ["batch_norm"]}},
            "layers": layers, "head": [{"op": "linear", "out": 1000, "name": "classifier"}]}


# ---- ResNeXt: Xie et al., arXiv:1611.05431; squeeze-and-excitation: Hu et al., arXiv:1709.01507
def excitation(channels, reduction):
    return {"op": "multiply", "name": "excitation",
            "by": ["global_avg_pool", {"op": "linear", "out": channels // reduction, "then": ["relu"]},
                   {"op": "linear", "out": channels, "then": ["sigmoid"]}]}


def resnext_block(groups, width, outside, stride, shortcut, gated):
    main = [conv(width, 1), conv(width, 3, stride=stride, padding=1, groups=groups), conv(outside, 1, then=["batch_norm"])]
    if gated:
        main.append(excitation(outside, 16))
    block = {"op": "residual", "then": ["relu"], "main": main}
    if shortcut:
        block["shortcut"] = [conv(outside, 1, stride=stride, padding="valid", then=["batch_norm"])]
    return block


def resnext(blocks, groups, width_of_group, source, gated=False):
    layers = [conv(64, 7, stride=2, padding=3), {"op": "max_pool", "kernel": 3, "stride": 2, "padding": 1}]
    for stage, times in enumerate(blocks):
        width = groups * width_of_group << stage
        outside = 256 << stage
        layers.append(repeat(f"stage{stage + 1}.first", 1,
                             [resnext_block(groups, width, outside, 1 if stage == 0 else 2, True, gated)]))
        layers.append(repeat(f"stage{stage + 1}", times - 1, [resnext_block(groups, width, outside, 1, False, gated)]))
    return {"source": source, "input": {"channels": 3, "height": 224, "width": 224},
            "defaults": {"conv": {"bias": False, "then": ["batch_norm", "relu"]}},
            "layers": layers + ["global_avg_pool"], "head": [{"op": "linear", "out": 1000, "name": "classifier"}]}


RESNEXT = "Xie et al., Aggregated Residual Transformations, arXiv:1611.05431; layer by layer as pytorch/vision, torchvision/models/resnet.py "
SE = ("Hu et al., Squeeze-and-Excitation Networks, arXiv:1709.01507, on ResNeXt; as NVIDIA/DeepLearningExamples, "
      "PyTorch/Classification/ConvNets, se-resnext101-32x4d (stem and shortcuts of ResNeXt, reduction 16)")


# ---- ConvNeXt: Liu et al., arXiv:2201.03545; pytorch/vision, models/convnext.py
def convnext_block(channels):
    return {"op": "residual", "main": [conv(channels, 7, padding=3, groups=channels), "layer_norm", conv(4 * channels, 1), "gelu",
                                       conv(channels, 1), "scale"]}


def convnext(name, channels, blocks):
    layers = [conv(channels[0], 4, stride=4, padding="valid"), "layer_norm"]
    for stage, (width, times) in enumerate(zip(channels, blocks), 1):
        if stage > 1:
            layers += ["layer_norm", conv(width, 2, stride=2, padding="valid")]
        layers.append(repeat(f"stage{stage}", times, [convnext_block(width)]))
    return {"source": f"Liu et al., A ConvNet for the 2020s, arXiv:2201.03545; layer by layer as pytorch/vision, "
                      f"torchvision/models/convnext.py {name}; stochastic depth is left out",
            "optimizer": "adamw",
            "input": {"channels": 3, "height": 224, "width": 224}, "layers": layers + ["global_avg_pool", "layer_norm"],
            "head": [{"op": "linear", "out": 1000, "name": "classifier"}]}


# ---- Swin: Liu et al., arXiv:2103.14030; pytorch/vision, models/swin_transformer.py
WINDOW = 7


def swin_block(heads, channels):
    attention = {"op": "attention", "heads": heads, "window": WINDOW**2, "position_bias": (2 * WINDOW - 1)**2}
    return [{"op": "residual", "main": ["layer_norm", attention]},
            {"op": "residual", "main": ["layer_norm", {"op": "linear", "out": 4 * channels, "then": ["gelu"]},
                                        {"op": "linear", "out": channels}]}]


def swin(name, channels, blocks):
    layers = [conv(channels, 4, stride=4, padding="valid"), "tokens", "layer_norm"]
    for stage, times in enumerate(blocks):
        width = channels << stage
        if stage > 0:
            layers += [{"op": "merge_tokens", "count": 4}, "layer_norm", {"op": "linear", "out": width, "bias": False}]
        layers.append(repeat(f"stage{stage + 1}", times, swin_block(width // 32, width)))
    return {"source": f"Liu et al., Swin Transformer, arXiv:2103.14030; as pytorch/vision, torchvision/models/swin_transformer.py {name}, "
                      "with three projections in place of one of three parts; stochastic depth and the copies that shift windows are "
                      "left out",
            "dataset": "imagenet", "optimizer": "adamw", "input": {"channels": 3, "height": 224, "width": 224},
            "layers": layers + ["layer_norm", "global_avg_pool"], "head": [{"op": "linear", "out": 1000, "name": "classifier"}]}


# ---- U-Net: Ronneberger et al., arXiv:1505.04597, figure 1, with padding
def unet(levels, channels):
    """What lies between the input of a level and its output: two convolutions, the level below, two convolutions."""
    double = [conv(channels, 3), conv(channels, 3)]
    if levels == 0:
        return double
    below = [{"op": "max_pool", "kernel": 2}, *unet(levels - 1, 2 * channels),
             {"op": "transposed_conv", "out": channels, "kernel": 2, "stride": 2, "then": []}]
    return [*double, {"op": "branches", "name": f"level{levels}", "paths": [[], below]}, *double]


def unet_file():
    return {"source": "Ronneberger et al., U-Net, arXiv:1505.04597, figure 1: 64 to 1024 channels, transposed convolutions, two classes; "
                      "convolutions padded to the size of their input",
            "dataset": "imagenet", "input": {"channels": 1, "height": 512, "width": 512}, "defaults": {"conv": {"then": ["relu"]}},
            "layers": unet(4, 64), "head": [conv(2, 1, then=[], name="classes")]}


# ---- DenseNet: Huang et al., arXiv:1608.06993; pytorch/vision, models/densenet.py
def densenet(number, blocks, first=64, growth=32):
    layers = [conv(first, 7, stride=2, padding=3), "batch_norm", "relu", {"op": "max_pool", "kernel": 3, "stride": 2, "padding": 1}]
    channels = first
    for block, times in enumerate(blocks, 1):
        layers.append({"op": "dense_block", "name": f"block{block}", "times": times,
                       "body": ["batch_norm", "relu", conv(4 * growth, 1), "batch_norm", "relu", conv(growth, 3, padding=1)]})
        channels += growth * times
        layers += ["batch_norm", "relu"]
        if block < len(blocks):
            channels //= 2
            layers += [conv(channels, 1, name=f"transition{block}"), {"op": "avg_pool", "kernel": 2}]
    return {"source": f"Huang et al., Densely Connected Convolutional Networks, arXiv:1608.06993; layer by layer as pytorch/vision, "
                      f"torchvision/models/densenet.py densenet{number}",
            "input": {"channels": 3, "height": 224, "width": 224}, "defaults": {"conv": {"bias": False}},
            "layers": layers + ["global_avg_pool"], "head": [{"op": "linear", "out": 1000, "name": "classifier"}]}


# ---- VGG: Simonyan and Zisserman, arXiv:1409.1556
def vgg(number, convolutions):
    layers = []
    for stage, (times, channels) in enumerate(zip(convolutions, (64, 128, 256, 512, 512)), 1):
        layers += [repeat(f"stage{stage}", times, [conv(channels, 3)]), {"op": "max_pool", "kernel": 2}]
    return {"source": f"Simonyan and Zisserman, Very Deep Convolutional Networks, arXiv:1409.1556; layer by layer as pytorch/vision, "
                      f"torchvision/models/vgg.py vgg{number}",
            "input": {"channels": 3, "height": 224, "width": 224},
            "defaults": {"conv": {"padding": 1, "then": ["relu"]}, "linear": {"then": ["relu", "dropout"]}},
            "layers": layers + ["flatten", {"op": "linear", "out": 4096}, {"op": "linear", "out": 4096}],
            "head": [{"op": "linear", "out": 1000, "name": "classifier", "then": []}]}


def families():
    files = {f"efficientnet-b{number}": efficientnet(number) for number in range(len(EFFICIENTNETS))}
    files["resnext50-32x4d"] = resnext([3, 4, 6, 3], 32, 4, RESNEXT + "resnext50_32x4d")
    files["resnext101-32x4d"] = resnext([3, 4, 23, 3], 32, 4, RESNEXT + "with 32 groups of 4")
    files["resnext101-32x8d"] = resnext([3, 4, 23, 3], 32, 8, RESNEXT + "resnext101_32x8d")
    files["resnext101-64x4d"] = resnext([3, 4, 23, 3], 64, 4, RESNEXT + "resnext101_64x4d")
    files["se-resnext101-32x4d"] = resnext([3, 4, 23, 3], 32, 4, SE, gated=True)
    for name, width, last in (("tiny", 96, 9), ("small", 96, 27), ("base", 128, 27), ("large", 192, 27)):
        files[f"convnext-{name}"] = convnext(f"convnext_{name}", [width << i for i in range(4)], [3, 3, last, 3])
    for name, channels, middle in (("tiny", 96, 6), ("small", 96, 18), ("base", 128, 18)):
        files[f"swin-{name}"] = swin(f"swin_{name[0]}", channels, [2, 2, middle, 2])
    files["unet"] = unet_file()
    files["densenet169"] = densenet(169, [6, 12, 32, 32])
    files["densenet201"] = densenet(201, [6, 12, 48, 32])
    files["vgg11"] = vgg(11, [1, 1, 2, 2, 2])
    files["vgg13"] = vgg(13, [2, 2, 2, 2, 2])
    return files


def text_of(network):
    """One layer a line, as the files written by hand."""
    lines = ['  "format": "foretrain.network/1"']
    for key, value in network.items():
        if key == "layers":
            inner = ",\n".join("    " + json.dumps(layer) for layer in value)
            lines.append(f'  "layers": [\n{inner}\n  ]')
        else:
            lines.append(f"  {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main():
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    different = []
    for name, network in families().items():
        path = FOLDER / f"{name}.json"
        text = text_of(network)
        if mode == "--write":
            path.write_text(text)
        elif mode == "--check":
            if not path.exists() or path.read_text() != text:
                different.append(name)
        else:
            print(name)
    if different:
        sys.exit(f"not what tests/make_networks.py writes: {', '.join(different)}")


if __name__ == "__main__":
    main()
