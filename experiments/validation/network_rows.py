#!/usr/bin/env python3
"""The suite `networks`: rates of one GPU for networks told by their layers, predicted without an anchor.

    experiments/validation/network_rows.py MEASUREMENTS.json > experiments/validation/networks.json

MEASUREMENTS.json is a list of published rows (measurements-3.json of the reference). Taken are training rates of one GPU whose
batch is told: timm's on an RTX 3090, NVIDIA DeepLearningExamples' SE-ResNeXt, and of Lambda's benchmarks one row of each role for
each network, GPU and precision (dozens of machines of one kind say the same). Left out are rows of networks without a file.
"""
import json
import sys

GPUS = {
    "RTX 3090": "rtx3090", "NVIDIA_GeForce_RTX_3090": "rtx3090", "NVIDIA_GeForce_RTX_4090": "rtx4090",
    "NVIDIA_A100-SXM4-40GB": "a100-sxm4-40gb", "A100 40 GB": "a100-sxm4-40gb", "NVIDIA_A100-SXM4-80GB": "a100-sxm4-80gb",
    "NVIDIA_A100-PCIE-40GB": "a100-pcie-40gb", "NVIDIA_A100_80GB_PCIe": "a100-pcie-80gb", "NVIDIA_A10": "a10",
    "NVIDIA_RTX_A6000": "a6000", "NVIDIA_RTX_6000_Ada_Generation": "rtx6000-ada", "NVIDIA_H100_80GB_HBM3": "h100-sxm5-80gb",
    "NVIDIA_H100_PCIe": "h100-pcie", "NVIDIA_H200": "h200-sxm-141gb", "NVIDIA_GH200_480GB": "gh200-96gb",
    "NVIDIA_B200": "b200-sxm-180gb", "Tesla_V100-SXM2-16GB": "v100-sxm2-16gb", "V100 16 GB": "v100-sxm2-16gb",
    "Quadro_RTX_8000": "quadro-rtx8000",
}
TIMM = {"resnext101_32x8d": "resnext101-32x8d", "vit_base_patch32_224": "vit-b32", "vit_small_patch16_224": "vit-s16",
        "efficientnet_b0": "efficientnet-b0", "swin_tiny_patch4_window7_224": "swin-tiny",
        "swin_base_patch4_window7_224": "swin-base"}
# Fine-tuning on SQuAD: the encoder, and two numbers for each of 384 tokens.
SQUAD = {"input": {"tokens": 384}, "head": [{"op": "linear", "out": 2, "name": "answers"}]}


def precision_of(row):
    word = row["precision"]
    if "fp16" in word:
        return "fp16"
    ampere = not any(old in row["system"]["gpu"] for old in ("V100", "Quadro", "TITAN", "GTX", "2080"))
    return "tf32" if ampere and "TF32" in word else "fp32"


def job_of(row):
    """Model, framework and the rest of a job, and the part of the suite; None for what has no file."""
    name = row["set"]
    if name == "timm-train-rtx3090":
        model = TIMM.get(row["model"], row["model"].replace("_", "-"))
        layout = "channels last" if "nhwc" in row["precision"] else "channels first"
        framework = "pytorch-ddp-channels-last" if "nhwc" in row["precision"] else "pytorch-ddp"
        job = {"model": model, "framework": framework}
        if model.startswith("vit"):
            job["attention"] = "plain"
        return job, f"timm, RTX 3090, {layout}"
    if name == "dle-se-resnext101-32x4d":
        return {"model": "se-resnext101-32x4d",
                "framework": {"extends": "tensorflow-2-horovod", "fused_elementwise": True}}, "DeepLearningExamples"
    if name == "lambda-pytorch-resnet50":
        return {"model": "resnet50-v1.5", "framework": "pytorch-ddp"}, "lambda, ResNet-50"
    if name in ("lambda-pytorch-bert_base_squad", "lambda-pytorch-bert_large_squad"):
        size = "base" if "base" in name else "large"
        return {"model": {"extends": f"bert-{size}", **SQUAD}, "framework": "pytorch-ddp",
                "optimizer": "adam"}, f"lambda, BERT-{size}, SQuAD"
    return None


def main():
    rows, experiments, taken = [], {}, set()
    for row in json.load(open(sys.argv[1])):
        system = row.get("system")
        if not isinstance(system, dict) or system.get("gpus") != 1 or not row.get("batch_per_gpu"):
            continue
        gpu, told = GPUS.get(system["gpu"]), job_of(row)
        if gpu is None or told is None or "train" not in str(row.get("what")):
            continue
        job, part = told
        precision = precision_of(row)
        if row["set"].startswith("lambda"):
            key = (row["set"], gpu, precision, row["role"])
            if key in taken:
                continue
            taken.add(key)
        model = job["model"] if isinstance(job["model"], str) else job["model"]["extends"] + " SQuAD"
        name = f"{gpu}, {model}, {part.rsplit(', ', 1)[-1] if 'channels' in part else part.split(',')[0]}"
        experiments[name] = {"cluster": {"platform": {"extends": "generic-4gpu", "node": {"gpus": {"type": gpu}}}},
                             "jobs": [{**job, "batch_per_gpu": 64}]}
        rows.append({"id": row["id"], "experiment": name,
                     "settings": {"/jobs/0/precision": precision, "/jobs/0/batch_per_gpu": int(row["batch_per_gpu"])},
                     "measured": row["value"], "unit": "images/s" if "image" in row["unit"] else "samples/s", "regime": "compute",
                     "part": part, **({"role": "calibration"} if row["role"] == "calibration" else {}),
                     "source": f"{row['source'].get('repo', '')} {row['source'].get('path', '')}".strip()
                               if isinstance(row["source"], dict) else str(row["source"])})
    lines = ['{', '  "format": "foretrain.suite/1",', '  "name": "networks",',
             '  "description": "Published training rates of one GPU for networks of many kinds, predicted without an anchor",',
             '  "notes": "Written by experiments/validation/network_rows.py.",', '  "experiments": {']
    lines.append(",\n".join(f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in experiments.items()))
    lines += ['  },', '  "rows": [', ",\n".join("    " + json.dumps(row) for row in rows), '  ]', '}']
    print("\n".join(lines))


if __name__ == "__main__":
    main()
