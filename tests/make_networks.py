#!/usr/bin/env python3
"""Network files of families whose members differ by a few numbers: EfficientNet, ResNeXt,
ConvNeXt, Swin, U-Net, nnU-Net, DenseNet, VGG, detectors (SSD, RetinaNet, Mask R-CNN), and of
Transformers with two inputs or a memory.

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


def swin_block(heads, channels, shifted):
    attention = {"op": "attention", "heads": heads, "window": WINDOW**2, "position_bias": (2 * WINDOW - 1)**2,
                 **({} if shifted else {"mask": False}), "projections": "joined"}
    return [{"op": "residual", "main": ["layer_norm", attention]},
            {"op": "residual", "main": ["layer_norm", {"op": "linear", "out": 4 * channels, "then": ["gelu"]},
                                        {"op": "linear", "out": channels}]}]


def swin(name, channels, blocks):
    layers = [conv(channels, 4, stride=4, padding="valid"), "tokens", "layer_norm"]
    for stage, times in enumerate(blocks):
        width = channels << stage
        if stage > 0:
            layers += [{"op": "merge_tokens", "count": 4}, "layer_norm", {"op": "linear", "out": width, "bias": False}]
        layers.append(repeat(f"stage{stage + 1}", times // 2, swin_block(width // 32, width, False) + swin_block(width // 32, width, True)))
    return {"source": f"Liu et al., Swin Transformer, arXiv:2103.14030; as pytorch/vision, torchvision/models/swin_transformer.py {name}; "
                      "the windows of every second block are shifted, and their scores masked; stochastic depth and the copies that shift "
                      "windows are left out",
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


# ---- Detectors
def plain(out, kernel, **keys):
    """A convolution with a bias, without normalisation."""
    return conv(out, kernel, bias=True, then=keys.pop("then", []), **keys)


def side(name, body):
    return {"op": "side", "name": name, "body": body}


def heads(paths):
    return {"op": "heads", "paths": paths}


RESNETS = {"resnet34": ([3, 4, 6, 3], 1), "resnet50": ([3, 4, 6, 3], 4), "resnext50": ([3, 4, 6, 3], 4)}


def resnet_block(name, stage, stride, shortcut):
    """As torchvision: stride in the 3x3 convolution; `stage` counts from 0."""
    width, outside = 64 << stage, (64 << stage) * RESNETS[name][1]
    if name == "resnet34":
        main = [conv(width, 3, stride=stride, padding=1), conv(width, 3, padding=1, then=["batch_norm"])]
    else:
        grouped = {"groups": 32} if name == "resnext50" else {}
        inside = 2 * width if grouped else width
        main = [conv(inside, 1), conv(inside, 3, stride=stride, padding=1, **grouped), conv(outside, 1, then=["batch_norm"])]
    block = {"op": "residual", "then": ["relu"], "main": main}
    if shortcut:
        block["shortcut"] = [conv(outside, 1, stride=stride, padding="valid", then=["batch_norm"])]
    return block


def resnet_stage(name, stage, stride):
    times = RESNETS[name][0][stage]
    wider = stride > 1 or stage > 0 or name != "resnet34"
    first = repeat(f"stage{stage + 1}.first", 1, [resnet_block(name, stage, stride, wider)])
    return [first, repeat(f"stage{stage + 1}", times - 1, [resnet_block(name, stage, 1, False)])]


RESNET_STEM = [conv(64, 7, stride=2, padding=3), {"op": "max_pool", "kernel": 3, "stride": 2, "padding": 1}]


# ---- SSD: Liu et al., arXiv:1512.02325
def ssd(name, source, classes=81):
    layers = [*RESNET_STEM, *resnet_stage(name, 0, 1), *resnet_stage(name, 1, 2), *resnet_stage(name, 2, 1)]
    block = conv if name == "resnet50" else lambda out, kernel, **keys: plain(out, kernel, then=["relu"], **keys)
    # Boxes at each position; channels of the two convolutions after it, the second one's stride and padding.
    levels = [(4, 256, 512, 2, 1), (6, 256, 512, 2, 1), (6, 128, 256, 2, 1), (6, 128, 256, 1, 0), (4, 128, 256, 1, 0),
              (4, None, None, None, None)]
    for level, (boxes, narrow, wide, stride, padding) in enumerate(levels, 1):
        ends = heads([[plain(4 * boxes, 3, padding=1, name="boxes")], [plain(classes * boxes, 3, padding=1, then=["softmax"], name="classes")]])
        layers.append(side(f"level{level}", [ends]))
        if wide:
            layers += [block(narrow, 1), block(wide, 3, stride=stride, padding=padding)]
    return {"source": source, "dataset": "coco", "input": {"channels": 3, "height": 300, "width": 300},
            "defaults": {"conv": {"bias": False, "then": ["batch_norm", "relu"]}}, "layers": layers}


# ---- Feature pyramids: Lin et al., arXiv:1612.03144
def pyramid(name, lowest, ends):
    """What follows stage `lowest`: the stages above, and from the top down the sum of each and of what lies above it, doubled.
    `ends(level)` looks at a level before the next one; levels are called by the power of two of their stride."""
    lateral = plain(256, 1)

    def level(stage):
        if stage == 3:
            return [lateral]
        above = [*resnet_stage(name, stage + 1, 2), *level(stage + 1), side(f"level{stage + 3}", ends(stage + 3)),
                 {"op": "upsample", "factor": 2}]
        return [{"op": "residual", "name": f"pyramid{stage + 2}", "main": above, "shortcut": [lateral]}]

    return level(lowest) + ends(lowest + 2)


FROZEN = {"conv": {"bias": False, "then": ["batch_norm", "relu"]}, "batch_norm": {"frozen": True}}


# ---- RetinaNet: Lin et al., arXiv:1708.02002
def retinanet():
    classes, anchors = 264, 9

    def look(tied):
        tower = [plain(256, 3, padding=1, then=["relu"], tied=tied)] * 4
        return heads([[*tower, plain(anchors * classes, 3, padding=1, then=["sigmoid"], tied=tied, name="classes")],
                      [*tower, plain(4 * anchors, 3, padding=1, tied=tied, name="boxes")]])

    # The towers' own weights are those of the first level that the file comes to.
    own = lambda: [plain(256, 3, padding=1, then=["relu"])] * 4
    first = heads([[repeat("classes", 1, own()), plain(anchors * classes, 3, padding=1, then=["sigmoid"], name="classes")],
                   [repeat("boxes", 1, own()), plain(4 * anchors, 3, padding=1, name="boxes")]])

    def ends(level):
        if level < 5:
            return [plain(256, 3, padding=1), look(True)]
        return [plain(256, 3, padding=1), side("first", [first]),
                plain(256, 3, stride=2, padding=1), side("level6", [look(True)]), "relu",
                plain(256, 3, stride=2, padding=1), side("level7", [look(True)])]

    return {"source": "mlcommons/training, single_stage_detector/ssd/model/retinanet.py retinanet_resnext50_32x4d_fpn, and MLPerf from v2.0 on: "
                      "800 x 800, 264 classes of Open Images; batch normalisation, stem and first stage frozen (trainable_layers 3). The focal "
                      "loss is one sigmoid over the logits, as NVIDIA's fused one; matching of boxes is left out",
            "optimizer": "adam", "input": {"channels": 3, "height": 800, "width": 800}, "defaults": FROZEN,
            "layers": [{"op": "frozen", "body": [*RESNET_STEM, *resnet_stage("resnext50", 0, 1)]}, *resnet_stage("resnext50", 1, 2),
                       *pyramid("resnext50", 1, ends)]}


# ---- Mask R-CNN: He et al., arXiv:1703.06870
def maskrcnn():
    def proposals(tied):
        return [plain(256, 3, padding=1, then=["relu"], tied=tied),
                heads([[plain(3, 1, tied=tied, then=["sigmoid"], name="objects")], [plain(12, 1, tied=tied, name="boxes")]])]

    def ends(level):
        layers = [plain(256, 3, padding=1), side("proposals", proposals(level < 5))]
        if level == 5:
            layers += [{"op": "max_pool", "kernel": 1, "stride": 2}, side("level6", proposals(True))]
        return layers

    box = [{"op": "regions", "count": 512, "size": 7, "flat": True}, {"op": "linear", "out": 1024, "then": ["relu"]},
           {"op": "linear", "out": 1024, "then": ["relu"]},
           heads([[{"op": "linear", "out": 81, "then": ["softmax"], "name": "classes"}], [{"op": "linear", "out": 324, "name": "boxes"}]])]
    flat = {"kernel": [1, 3, 3], "padding": [0, 1, 1]}
    mask = [{"op": "regions", "count": 128, "size": 14}] + [{"op": "conv", "out": 256, **flat, "bias": True, "then": ["relu"]}] * 4
    mask += [{"op": "transposed_conv", "out": 256, "kernel": [1, 2, 2], "stride": [1, 2, 2], "bias": True, "then": ["relu"]},
             plain(81, 1, then=["sigmoid"])]
    return {"source": "He et al., Mask R-CNN, arXiv:1703.06870, with ResNet-50 and a feature pyramid; layer by layer as pytorch/vision, torchvision/"
                      "models/detection/mask_rcnn.py maskrcnn_resnet50_fpn, 81 classes; batch normalisation, stem and first stage frozen",
            "notes": "The work differs from image to image and rank to rank; these are means. An image is 800 x 1088: a COCO image of 640 x 480 with its "
                     "shorter side at 800, filled up to a multiple of 32. 512 boxes are sampled; the mask branch works on those that hit an object, at "
                     "most a quarter of them (the sampler of the code), which is taken. Left out: sorting and suppression of "
                     "proposals, matching, and what the host does between them.",
            "dataset": "coco", "input": {"channels": 3, "height": 800, "width": 1088}, "defaults": FROZEN,
            "layers": [{"op": "frozen", "body": [*RESNET_STEM, *resnet_stage("resnet50", 0, 1)]},
                       *pyramid("resnet50", 0, ends), side("box", box), side("mask", mask)]}


# ---- U-Nets with strided convolutions and instance normalisation
def strided_unet(filters):
    """Two convolutions on each level, the first one strided below the top; transposed convolutions on the way up."""
    double = lambda width, stride: [conv(width, 3, stride=stride, padding=1), conv(width, 3, padding=1)]

    def level(index):
        layers = double(filters[index], 1 if index == 0 else 2)
        if index + 1 < len(filters):
            below = [*level(index + 1), {"op": "transposed_conv", "out": filters[index], "kernel": 2, "stride": 2, "bias": True, "then": []}]
            layers += [{"op": "branches", "name": f"level{index + 1}", "paths": [below, []]}, *double(filters[index], 1)]
        return layers

    return level(0)


def strided_unet_file(source, filters, size, classes, inputs=1, optimizer="sgd-momentum"):
    return {"source": source, "optimizer": optimizer, "input": {"channels": inputs, **size},
            "defaults": {"conv": {"bias": False, "then": ["group_norm", "relu"]}},
            "layers": strided_unet(filters), "head": [plain(classes, 1, then=["softmax"], name="classes")]}


VOLUME = {"depth": 128, "height": 128, "width": 128}
DEEP = [32, 64, 128, 256, 320, 320]
KITS = ("mlcommons/training, image_segmentation/pytorch/model/unet3d.py and layers.py (MLPerf from v1.0 on, KiTS19): patches of 128^3, three classes; "
        "relu stands for the leaky one, group_norm for instance normalisation")
NNUNET = ("NVIDIA/DeepLearningExamples, PyTorch/Segmentation/nnUNet, task 01 (BraTS): four modalities, four classes; nnunet/nn_unet.py get_unet_params and "
          "MONAI's DynUNet; relu stands for the leaky one, group_norm for instance normalisation")


# ---- Transformer: Vaswani et al., arXiv:1706.03762
def normed(body):
    """Normalisation first, dropout last (tensor2tensor)."""
    return {"op": "residual", "main": ["layer_norm", *body, "dropout"]}


def transformer_big():
    width, vocabulary, tokens = 1024, 33712, 30
    attention = {"op": "attention", "heads": 16, "projections": "adding", "bias": False, "dropout": True}
    forward = [{"op": "linear", "out": 4 * width, "then": ["relu", "dropout"]}, {"op": "linear", "out": width}]
    table = {"op": "embedding", "vocab": vocabulary, "hidden": width}
    encoder = [table, "dropout", repeat("encoder", 6, [normed([attention]), normed(forward)]), "layer_norm"]
    decoder = repeat("decoder", 6, [normed([attention]), normed([{**attention, "cross": True, "name": "cross"}]), normed(forward)])
    return {"source": "Vaswani et al., Attention Is All You Need, arXiv:1706.03762, big; layer by layer as NVIDIA/DeepLearningExamples, "
                      "PyTorch/Translation/Transformer (transformer_wmt_en_de_big_t2t, --share-all-embeddings), and MLPerf v0.6 and v0.7; projections: "
                      "fairseq/modules/multihead_attention.py there, SelfAttentionLinears. 33712: the joined vocabulary of WMT en-de, filled up to a multiple of 16",
            "notes": "A sample is a pair of sentences, of 30 tokens each in the mean (fairseq's preprocessing of WMT16 en-de: 4500966 sentences, 132886171 "
                     "tokens). Batches hold sentences of like lengths; what is filled up is left out. work_variation: fairseq fills a batch with sentences of "
                     "one length until the longer of source and target reaches the limit of tokens (fairseq/data/data_utils.py, batch_by_size; "
                     "language_pair_dataset.py, num_tokens), so that the other side and the rest of the division differ from batch to batch and rank to "
                     "rank; 0.11 by least squares over the eight rows of several GPUs of dle-transformer whose role is calibration.",
            "optimizer": "adam", "work_variation": 0.11, "input": {"tokens": tokens},
            "layers": [{"op": "encoder", "tokens": tokens, "layers": encoder}, {**table, "tied": True}, "dropout", decoder, "layer_norm"],
            "head": [{"op": "linear", "out": vocabulary, "tied": True, "bias": False, "then": ["softmax"], "name": "words"}]}


# ---- Transformer-XL: Dai et al., arXiv:1901.02860
HALF_LOSS = {"op": "softmax", "half": True}  # log_softmax within the model, which apex leaves as it is


def transformer_xl():
    width, vocabulary = 512, 267735
    attention = {"op": "attention", "heads": 8, "projections": "joined", "bias": False, "memory": 192, "relative": True}
    layer = [{"op": "residual", "main": [attention, "dropout"], "then": ["layer_norm"]},
             {"op": "residual", "main": [{"op": "linear", "out": 2048, "then": ["relu", "dropout"]}, {"op": "linear", "out": width}, "dropout"],
              "then": ["layer_norm"]}]

    def words(count, name, tokens=None):
        return ([{"op": "gather_tokens", "count": tokens}] if tokens else []) + [
            {"op": "linear", "out": count, "tied": True, "then": [HALF_LOSS], "name": name}]

    return {"source": "Dai et al., Transformer-XL, arXiv:1901.02860, base, as NVIDIA/DeepLearningExamples, PyTorch/LanguageModeling/Transformer-XL, "
                      "wt103_base.yaml and mem_transformer.py: segments of 192 tokens that also look at the 192 before them, weights of the output tied "
                      "to the table, adaptive softmax cut at 19997, 39997 and 199997 words (utils/proj_adaptive_softmax.py, whose log_softmax apex leaves in half precision)",
            "notes": "Rare words are asked for where one of them comes next: 2, 3 and 1 of 192 tokens, by the power law of frequencies that has the 103227021 "
                     "tokens, 267735 words and cut at 3 occurrences of WikiText-103 (Merity et al., arXiv:1609.07843).",
            "optimizer": "lamb", "input": {"tokens": 192},
            "layers": [{"op": "embedding", "vocab": vocabulary, "hidden": width}, "dropout", repeat("layer", 16, layer), "dropout"],
            "head": [heads([words(20000, "frequent"), words(20000, "rare1", 2), words(160000, "rare2", 3), words(67738, "rare3", 1)])]}


# Tables of fewer features for rarer words, each with a projection (div_val 4).
def transformer_xl_large():
    width, inner, segment = 1024, 4096, 384
    attention = {"op": "attention", "heads": 16, "projections": "joined", "bias": False, "dropout": True, "memory": segment, "relative": True}
    layer = [{"op": "residual", "main": [attention, "dropout"], "then": ["layer_norm"]},
             {"op": "residual", "main": [{"op": "linear", "out": inner, "then": ["relu", "dropout"]}, {"op": "linear", "out": width}, "dropout"],
              "then": ["layer_norm"]}]
    project = lambda out: {"op": "linear", "out": out, "bias": False}
    rare = [("rare1", 20000, 256, 4), ("rare2", 160000, 64, 6), ("rare3", 67738, 16, 2)]
    tables = [{"op": "encoder", "name": name, "tokens": tokens, "layers": [{"op": "embedding", "vocab": words, "hidden": wide}, project(width)]}
              for name, words, wide, tokens in rare]
    ends = [[project(width), {"op": "linear", "out": 19997, "tied": True, "then": [HALF_LOSS], "name": "frequent"}]]
    ends += [[{"op": "gather_tokens", "count": tokens}, project(wide), {"op": "linear", "out": words, "tied": True, "then": [HALF_LOSS], "name": name}]
             for name, words, wide, tokens in rare]
    return {"source": "Dai et al., Transformer-XL, arXiv:1901.02860, large, as NVIDIA/DeepLearningExamples, PyTorch/LanguageModeling/Transformer-XL, "
                      "wt103_large.yaml and mem_transformer.py: segments of 384 tokens that also look at the 384 before them, four tables of 1024, 256, 64 "
                      "and 16 features, cut at 19997, 39997 and 199997 words, whose weights the output shares",
            "notes": "Rare words as in transformer-xl-base: 4, 6 and 2 of 384 tokens. The output's projections of rare words, shared with the tables', are "
                     "counted apart (0.12 % of the parameters).",
            "optimizer": "lamb", "input": {"tokens": segment},
            "layers": [*tables, {"op": "embedding", "vocab": 19997, "hidden": width}, project(width), "dropout", repeat("layer", 18, layer), "dropout"],
            "head": [heads(ends)]}


# ---- BART: Lewis et al., arXiv:1910.13461
def bart_large():
    width, vocabulary, tokens = 1024, 50265, 128
    attention = {"op": "attention", "heads": 16}
    then_normed = lambda *body: {"op": "residual", "main": [*body, "dropout"], "then": ["layer_norm"]}
    forward = then_normed({"op": "linear", "out": 4 * width, "then": ["gelu"]}, {"op": "linear", "out": width})
    table = {"op": "embedding", "vocab": vocabulary, "hidden": width, "positions": 1026}
    return {"source": "Lewis et al., BART, arXiv:1910.13461, large, layer by layer as huggingface/transformers, modeling_bart.py (BartForConditionalGeneration, "
                      "bart-large: no dropout on the probabilities), which NVIDIA/DeepLearningExamples, PyTorch/LanguageModeling/BART follows; normalisation "
                      "of the embeddings and after each part",
            "notes": "A sample is a pair of 128 tokens each, the first phase of pre-training; all of them are predicted.",
            "optimizer": "lamb", "input": {"tokens": tokens},
            "layers": [{"op": "encoder", "tokens": tokens, "layers": [table, "layer_norm", "dropout",
                                                                       repeat("encoder", 12, [then_normed(attention), forward])]},
                       {**table, "tied": True}, "layer_norm", "dropout",
                       repeat("decoder", 12, [then_normed(attention), then_normed({**attention, "cross": True, "name": "cross"}), forward])],
            "head": [{"op": "linear", "out": vocabulary, "tied": True, "bias": False, "then": ["softmax"], "name": "words"}]}


# ---- ELECTRA: Clark et al., arXiv:2003.10555
def electra_base():
    width, vocabulary, tokens, masked = 768, 30522, 128, 19

    def layer(hidden, heads):
        then_normed = lambda *body: {"op": "residual", "main": [*body, "dropout"], "then": ["layer_norm"]}
        return [then_normed({"op": "attention", "heads": heads, "dropout": True}),
                then_normed({"op": "linear", "out": 4 * hidden, "then": ["gelu"]}, {"op": "linear", "out": hidden})]

    generator = [{"op": "linear", "out": width // 3, "name": "generator.project"}, repeat("generator", 12, layer(width // 3, 4)),
                 {"op": "gather_tokens", "count": masked}, {"op": "linear", "out": width, "then": ["gelu", "layer_norm"], "name": "generator.transform"},
                 {"op": "linear", "out": vocabulary, "tied": True, "then": ["softmax"], "name": "generator.words"}]
    discriminator = [repeat("discriminator", 12, layer(width, 12)), {"op": "linear", "out": width, "then": ["gelu"], "name": "discriminator.transform"},
                     {"op": "linear", "out": 1, "then": ["sigmoid"], "name": "discriminator.replaced"}]
    return {"source": "Clark et al., ELECTRA, arXiv:2003.10555, base, as NVIDIA/DeepLearningExamples, TensorFlow2/LanguageModeling/ELECTRA, modeling.py: a generator "
                      "of a third of the width, whose tables are the discriminator's, asked for 19 masked tokens of 128 (15.5 %), and a discriminator of BERT-base's size",
            "notes": "The discriminator's tokens, which the generator chose, are looked up once more: left out, as is the choice.",
            "optimizer": "lamb", "input": {"tokens": tokens},
            "layers": [{"op": "embedding", "vocab": vocabulary, "hidden": width, "positions": 512, "token_types": 2}, "layer_norm", "dropout"],
            "head": [heads([generator, discriminator])]}


# ---- V-Net: Milletari et al., arXiv:1606.04797
def vnet():
    """Three levels of three convolutions, whose input is added to what they make."""
    def convolutions(width):
        return {"op": "residual", "main": [conv(width, 3, padding="same")] * 3}

    def level(index, width):
        below = [conv(2 * width, 2, stride=2, padding="same"), convolutions(2 * width)]
        if index < 2:
            below += [{"op": "branches", "name": f"level{index + 1}", "paths": [level(index + 1, 2 * width), []]}, convolutions(4 * width)]
        return [*below, {"op": "transposed_conv", "out": width, "kernel": 2, "stride": 2}]

    return {"source": "Milletari et al., V-Net, arXiv:1606.04797, as NVIDIA/DeepLearningExamples, TensorFlow/Segmentation/VNet, model/vnet.py, layers.py and "
                      "utils/cmd_util.py: 32^3 voxels of task 04 (hippocampus), three classes, kernels of 3, batch normalisation after each convolution",
            "notes": "adam stands for RMSProp with centred gradients, which has two values a parameter as well.",
            "optimizer": "adam", "input": {"channels": 1, "depth": 32, "height": 32, "width": 32},
            "defaults": {"conv": {"bias": True, "then": ["batch_norm", "relu"]}},
            "layers": [conv(16, 3, padding="same"), *level(0, 16)],
            "head": [{"op": "conv", "out": 3, "kernel": 3, "then": ["softmax"], "name": "classes"}]}


# ---- Stable Diffusion 2: Rombach et al., arXiv:2112.10752
def diffusion_unet():
    """One list after the input's first convolution: each block of the way down is kept for one of the way up."""
    base, latent, context = 320, 64, 1024
    widths = [base, 2 * base, 4 * base, 4 * base]
    norm = ["group_norm", "swish"]

    def block(channels, width):
        main = [*norm, plain(width, 3, padding=1), "add_condition", *norm, plain(width, 3, padding=1)]
        return {"op": "residual", "main": main, "shortcut": [] if channels == width else [plain(width, 1)]}

    def look(width, size):
        attention = {"op": "attention", "heads": width // 64, "bias": False, "fused": True}
        part = lambda *body: {"op": "residual", "main": ["layer_norm", *body]}
        gated = {"op": "multiply", "main": [{"op": "linear", "out": 4 * width}], "by": [{"op": "linear", "out": 4 * width}, "gelu"]}
        return {"op": "residual", "main": [
            "group_norm", "tokens", {"op": "linear", "out": width}, part(attention), part({**attention, "cross": True}),
            part(gated, {"op": "linear", "out": width}), {"op": "linear", "out": width}, {"op": "image", "height": size, "width": size}]}

    def both(channels, level):
        size = latent >> level
        return [block(channels, widths[level]), *([look(widths[level], size)] if level < 3 else [])]

    down, kept = [], [base]  # lists of layers, and the channels after each
    for level, width in enumerate(widths):
        for _ in range(2):
            down.append(both(kept[-1], level))
            kept.append(width)
        if level < 3:
            down.append([plain(width, 3, stride=2, padding=1)])
            kept.append(width)
    middle = [block(widths[3], widths[3]), look(widths[3], latent >> 3), block(widths[3], widths[3])]
    up, channels = [], widths[3]
    for level in (3, 2, 1, 0):
        for i in range(3):
            layers = both(channels + kept[-1 - len(up)], level)
            if i == 2 and level > 0:
                layers += [{"op": "upsample", "factor": 2}, plain(widths[level], 3, padding=1)]
            up.append(layers)
            channels = widths[level]

    def rest(index):
        inner = [*down[index], *rest(index + 1)] if index < len(down) else middle
        return [{"op": "branches", "name": f"skip{index}", "paths": [inner, []]}, *up[len(down) - index]]

    text = [{"op": "residual", "main": ["layer_norm", {"op": "attention", "heads": 16}]},
            {"op": "residual", "main": ["layer_norm", {"op": "linear", "out": 4096, "then": ["gelu"]}, {"op": "linear", "out": context}]}]
    return {"source": "Rombach et al., arXiv:2112.10752, as Stability-AI/stablediffusion v2 and MLPerf's stable_diffusion (mlcommons/training): UNetModel of "
                      "ldm/modules/diffusionmodules/openaimodel.py, model_channels 320, channel_mult 1, 2, 4, 4, two blocks a level, heads of 64, "
                      "linear projections, context of 1024 from OpenCLIP ViT-H/14, whose text encoder of 23 layers runs forward alone",
            "notes": "Latents of 64 x 64 are computed before. Attention in one kernel, as xformers and FlashAttention do it; its backward pass computes the scores "
                     "again, which is left out. Biases of the attentions' outputs are left out (0.003 % of the parameters).",
            "optimizer": "adamw", "input": {"channels": 4, "height": latent, "width": latent},
            "layers": [{"op": "encoder", "tokens": 77, "name": "text", "layers": [
                           {"op": "frozen", "body": [{"op": "embedding", "vocab": 49408, "hidden": context, "positions": 77}, repeat("layer", 23, text), "layer_norm"]}]},
                       {"op": "condition", "name": "time", "features": base, "layers": [{"op": "linear", "out": 4 * base}, "swish", {"op": "linear", "out": 4 * base}]},
                       plain(base, 3, padding=1), *rest(0)],
            "head": [*norm, plain(4, 3, padding=1, name="noise")]}


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
    files["ssd300-resnet34"] = ssd("resnet34", "Liu et al., SSD, arXiv:1512.02325, with ResNet-34: mlcommons/training, single_stage_detector/ssd/ssd300.py and "
                                   "README.md (MLPerf v0.5 to v1.1); ResNet-34 without its last stage, stride 1 in the third; matching of boxes and mining "
                                   "of hard negatives are left out")
    files["ssd300-resnet50"] = ssd("resnet50", "Liu et al., SSD, arXiv:1512.02325, with ResNet-50: NVIDIA/DeepLearningExamples, PyTorch/Detection/SSD/ssd/model.py; "
                                   "ResNet-50 without its last stage, stride 1 in the third; matching of boxes and mining of hard negatives are left out")
    files["retinanet-resnext50"] = retinanet()
    files["maskrcnn-resnet50"] = maskrcnn()
    files["unet3d-kits19"] = strided_unet_file(KITS, DEEP, VOLUME, 3)
    files["nnunet-3d"] = strided_unet_file(NNUNET + "; 128^3", DEEP, VOLUME, 4, inputs=4, optimizer="adam")
    files["nnunet-2d"] = strided_unet_file(NNUNET + "; 192 x 160", [32, 64, 128, 256, 512, 512], {"height": 192, "width": 160}, 4, inputs=4,
                                           optimizer="adam")
    files["transformer-big"] = transformer_big()
    files["transformer-xl-base"] = transformer_xl()
    files["transformer-xl-large"] = transformer_xl_large()
    files["bart-large"] = bart_large()
    files["electra-base"] = electra_base()
    files["vnet"] = vnet()
    files["stable-diffusion-2"] = diffusion_unet()
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
