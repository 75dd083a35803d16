#!/usr/bin/env python3
"""The suites `networks`, rates of networks told by their layers, predicted without an anchor, and `networks-scale`, rates of several GPUs
and nodes from a rate of one.

    experiments/validation/network_rows.py MEASUREMENTS.json            writes both beside this file

MEASUREMENTS.json is a list of published rows (measurements-3.json of the reference). Taken are training rates of one GPU whose
batch is told: timm's on an RTX 3090, NVIDIA DeepLearningExamples' of networks that have a file, and of Lambda's benchmarks one row of
each role for each network, GPU and precision (dozens of machines of one kind say the same); and of MLPerf's ResNet-50, detectors, 3-D U-Net and recommenders, which
nobody ran on one GPU, one row of each role for each network, kind of GPU, number of them in a node and batch. A row that anchors
another one is not counted. Left out are rows of networks without a file, of GPUs that work on one sample together (less than one
sample each), of the SSD of TensorFlow (320 x 320) and of SSD of Lambda's machines that do not tell their batch.
"""
import json
import pathlib
import re
import sys

GPUS = {
    "RTX 3090": "rtx3090", "NVIDIA_GeForce_RTX_3090": "rtx3090", "NVIDIA_GeForce_RTX_4090": "rtx4090",
    "NVIDIA_A100-SXM4-40GB": "a100-sxm4-40gb", "A100 40 GB": "a100-sxm4-40gb", "NVIDIA_A100-SXM4-80GB": "a100-sxm4-80gb",
    "NVIDIA_A100-PCIE-40GB": "a100-pcie-40gb", "NVIDIA_A100_80GB_PCIe": "a100-pcie-80gb", "NVIDIA_A10": "a10",
    "NVIDIA_RTX_A6000": "a6000", "NVIDIA_RTX_6000_Ada_Generation": "rtx6000-ada", "NVIDIA_H100_80GB_HBM3": "h100-sxm5-80gb",
    "NVIDIA_H100_PCIe": "h100-pcie", "NVIDIA_H200": "h200-sxm-141gb", "NVIDIA_GH200_480GB": "gh200-96gb",
    "NVIDIA_B200": "b200-sxm-180gb", "Tesla_V100-SXM2-16GB": "v100-sxm2-16gb", "V100 16 GB": "v100-sxm2-16gb",
    "Quadro_RTX_8000": "quadro-rtx8000", "A100 80 GB": "a100-sxm4-80gb",
}
V100_32 = {"DGX-1 32 GB": "v100-sxm2-32gb", "DGX-2 32 GB": "v100-sxm3-32gb", "DGX-2H 32 GB": "v100-sxm3-32gb-450w"}
TIMM = {"resnext101_32x8d": "resnext101-32x8d", "vit_base_patch32_224": "vit-b32", "vit_small_patch16_224": "vit-s16",
        "efficientnet_b0": "efficientnet-b0", "swin_tiny_patch4_window7_224": "swin-tiny",
        "swin_base_patch4_window7_224": "swin-base"}
# Lambda's scripts do not ask for the adaptive softmax (pytorch/scripts/config_v1: no --adaptive): every token has a score for every word.
ALL_WORDS = {"head": [{"op": "linear", "out": 267735, "tied": True, "then": [{"op": "softmax", "half": True}], "name": "words"}]}
# XLA fuses what the network does between its products, and a compiled step hands its gradients over when all of it has run.
XLA = "tensorflow-2-xla-horovod"
XLA_1 = "tensorflow-1.15-xla-horovod"
O2 = "pytorch-amp-o2"
# nnU-Net's scripts/benchmark.py asks for "--norm instance_nvfuser --layout NDHWC" in three dimensions with --amp.
NDHWC = "pytorch-amp-o2-channels-last"
# NVIDIA's SSD reads its pictures from files and decodes them on the CPU (coco_pipeline.py: ImageSlice on "cpu"), in as many threads of DALI as its
# --num-workers, 4 where nothing is said; Lambda's rows are of files in the page cache.
COCO_FILES = {"format": "jpeg", "cache": "warm"}
# Paddle's data parallelism is taken as PyTorch's.
DLE_SQUAD = {"dle-bert-tensorflow": (XLA_1, "TensorFlow 1"), "dle-bert-tensorflow2": (XLA, "TensorFlow 2"), "dle-bert-pytorch": (O2, "PyTorch"),
             "dle-bert-paddlepaddle": ("pytorch-ddp", "Paddle")}
MLPERF = {
    "mlperf-ssd": {"model": "ssd300-resnet34", "framework": "mxnet-ngc-horovod"},
    "mlperf-retinanet": {"model": "retinanet-resnext50", "framework": "pytorch-mlperf-graphs"},
    "mlperf-maskrcnn": {"model": "maskrcnn-resnet50-800x1344", "framework": "pytorch-mlperf"},
    "mlperf-unet3d": {"model": "unet3d-kits19", "framework": "mxnet-ngc-horovod"},
    "mlperf-transformer": {"model": "transformer-big", "framework": "pytorch-mlperf"},
    "mlperf-stable_diffusion": {"model": "stable-diffusion-2", "framework": "pytorch-mlperf-diffusion"},
    "mlperf-dlrm": {"model": "dlrm", "framework": "hugectr"},
    "mlperf-dlrm_dcnv2": {"model": "dlrm-dcnv2", "framework": "hugectr-23"},
    "mlperf-resnet": {"model": "resnet50-v1.5", "framework": "mxnet-mlperf"},
}
DIVIDED_TABLES = "hugectr-23-divided" # v3.0
# What convolutions take over of batch normalisation hangs on the kernels that cuDNN has for a GPU: sources of the presets.
RESNET = [(r"V100", "mxnet-mlperf-0.7"), (r"[HB][12]00", "mxnet-mlperf-3"),
          (r"L40|A10G", "mxnet-mlperf-unfused")]
# Samples of a network are sentences or segments of so many tokens.
TOKENS = {"transformer-big": 30, "transformer-xl-base": 192, "transformer-xl-large": 384}


def of(gpu):
    return {"extends": "generic-4gpu", "node": {"gpus": {"type": gpu}}}


# The node of a row of MLPerf: words of its GPU, GPUs in a node, platform.
NODES = [
    (r"A100-SXM4?-80GB", 8, "dgx-a100-80gb"), (r"A100-SXM4?-80GB", 4, "xe8545"), (r"A100-SXM4-40GB", 8, "dgx-a100"),
    (r"A100-PCIE?-80GB", 4, "r750xa"), (r"A100-PCIE?-80GB", 8, {"extends": "dss8440", "node": {"gpus": {"type": "a100-pcie-80gb"}}}),
    (r"A100-PCIE?-40GB", 8, {"extends": "dss8440", "node": {"gpus": {"type": "a100-pcie-40gb"}}}), (r"V100S-PCIe", 8, "dss8440"),
    (r"V100-SXM2-16GB", 8, "dgx1-v100"), (r"V100-SXM3-32GB \(450W\)|V100-SXM3-32GB-H", 16, "dgx-2h"), (r"V100-SXM3-32GB$", 16, "dgx-2"),
    (r"A30", 8, {"extends": "dss8440", "node": {"gpus": {"type": "a30"}}}), (r"L40$", 8, {"extends": "dss8440", "node": {"gpus": {"type": "l40"}}}),
    (r"L40S", 8, {"extends": "dss8440", "node": {"gpus": {"type": "l40s"}}}), (r"H100-PCIe", 4, {"extends": "r750xa", "node": {"gpus": {"type": "h100-pcie"}}}),
    (r"H100-PCIe", 8, {"extends": "dss8440", "node": {"gpus": {"type": "h100-pcie"}}}),
    (r"H100-SXM", 8, "hgx-h100"), (r"H100-SXM", 4, "xe8640"), (r"H200-SXM", 8, "hgx-h200"), (r"B200-SXM", 8, "hgx-b200"),
]
# One adapter on each PCIe switch of an HGX A100, not two: HPE's XL675d, H3C's R5500 G5.
FOUR_ADAPTERS = {"extends": "dgx-a100-80gb", "node": {"nics": [{"name": f"ib{i}", "type": "connectx6-hdr", "on": f"pex{i}"} for i in range(4)]},
                 "networks": [{"nics": [f"ib{i}" for i in range(4)], "fabric": "qm8700-hdr"}]}
# Machines whose networks are told apart.
MACHINES = {"nd96amsr": {"extends": "nd-a100-v4", "node": {"gpus": {"type": "a100-sxm4-80gb"}}}, "bm.gpu.h100": "hgx-h100-400gbe"}


def mlperf_job(row):
    """NVIDIA's SSD was a PyTorch program until v0.7, but on many nodes; its Mask R-CNN fills images up to the largest of their batch until then."""
    job = MLPERF[row["set"]]
    if row["set"] == "mlperf-dlrm_dcnv2" and row["round"] == "v3.0":
        return {**job, "framework": DIVIDED_TABLES}
    if row["set"] == "mlperf-maskrcnn" and row["round"] < "v1.0":
        return {**job, "model": "maskrcnn-resnet50"}
    if row["set"] == "mlperf-resnet":
        return next(({**job, "framework": framework} for words, framework in RESNET if re.search(words, row["system"]["gpu"])), job)
    if row["set"] == "mlperf-ssd" and row["round"] < "v1.0" and "mxnet" not in row["system"]["name"]:
        return {**job, "framework": "pytorch-mlperf"}
    return job


def has_four_adapters(gpu, per_node, network):
    """`network`: what a submission says of its nodes' adapters."""
    return per_node == 8 and re.search(r"A100-SXM4?-80GB", gpu) and re.search(r"4 ?x [^,+]*HDR 200", network)


def node_of(row):
    """The platform of a row of MLPerf, or None."""
    system = row["system"]
    if system["nodes"] > 1 and has_four_adapters(system["gpu"], system["gpus_per_node"], system.get("network") or ""):
        return FOUR_ADAPTERS
    for word, platform in MACHINES.items():
        if word in system["name"].lower():
            return platform
    for words, gpus, platform in NODES:
        if system["gpus_per_node"] == gpus and re.search(words, system["gpu"], re.IGNORECASE):
            return platform
    return None


# CPUs beside GPUs of PCIe by what a row tells of its machine: how fast traffic between GPUs crosses its sockets. Two EPYCs have lanes for eight GPUs
# without switches (ASUS's ESC8000A and Supermicro's 4124GS and 4125GS, whose models with switches have other names); Lenovo's SR675 V3 has switches.
HOSTS = [(r"EP?YC 7\d\d2|EYPC 7\d\d2", "epyc-7742"), (r"EPYC 7|EYPC 7", "epyc-7763"), (r"EPYC 9", "epyc-9654"),
         (r"Platinum 84|Gold 64|6458Q", "xeon-platinum-8480c"), (r"Platinum 83", "xeon-platinum-8380")]


def hosted(platform, cpu, machine):
    """The platform of PCIe GPUs with the CPU that is told."""
    base = platform if isinstance(platform, str) else platform["extends"]
    told = next((preset for words, preset in HOSTS if re.search(words, cpu or "")), None)
    if base not in ("dss8440", "r750xa") or told is None:
        return platform
    node = {**({} if isinstance(platform, str) else platform["node"]), "cpu": told}
    if base == "dss8440" and told.startswith("epyc") and "SR675" not in machine:
        node = {**node, "pcie_switches": [], "gpus": {**node.get("gpus", {}), "on": ["socket0"] * 4 + ["socket1"] * 4},
                "nics": [{"name": "ib0", "type": "connectx6-hdr", "on": "socket0"}]}
    return {"extends": base, "node": node}


def gpu_of(row):
    return V100_32.get(row["system"].get("name")) or GPUS.get(row["system"]["gpu"])


def precision_of(row):
    word = row["precision"]
    if "fp16" in word:
        return "fp16"
    if row["id"].endswith("BF16"):
        return "bf16"
    ampere = not any(old in row["system"]["gpu"] for old in ("V100", "Quadro", "TITAN", "GTX", "2080"))
    return "tf32" if ampere and "tf32" in word.lower() else "fp32"


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
        return {"model": "se-resnext101-32x4d", "framework": XLA}, "DeepLearningExamples"
    if name == "dle-ssd-pytorch":
        return {"model": "ssd300-resnet50", "framework": "pytorch-ddp-channels-last"}, "DeepLearningExamples, SSD"
    if name in ("dle-nnunet-pytorch", "dle-nnunet-tensorflow2"):
        pytorch, dimension = name.endswith("pytorch"), row["row"]["Dimension"]
        plain = NDHWC if dimension == "3" and precision_of(row) == "fp16" else "pytorch-ddp"
        return {"model": f"nnunet-{dimension}d", "framework": plain if pytorch else XLA,
                "optimizer": "adam"}, "DeepLearningExamples, nnU-Net, " + ("PyTorch" if pytorch else "TensorFlow 2")
    if name in ("dle-maskrcnn-pytorch", "dle-maskrcnn-tensorflow2"):
        pytorch = name.endswith("pytorch")
        return {"model": "maskrcnn-resnet50" if pytorch else "maskrcnn-resnet50-832x1344", "framework": "pytorch-ddp" if pytorch else XLA}, (
            "DeepLearningExamples, Mask R-CNN, " + ("PyTorch" if pytorch else "TensorFlow 2"))
    if name == "dle-transformer":
        return {"model": "transformer-big", "framework": "pytorch-ddp"}, "DeepLearningExamples, Transformer"
    if name == "dle-transformer-xl-pytorch":
        size = "base" if row["source"]["section"].endswith("Base model") else "large"
        return {"model": f"transformer-xl-{size}", "framework": O2}, "DeepLearningExamples, Transformer-XL" + (", large" if size == "large" else "")
    if name == "dle-bart" and row["sequence_length"] == 128:
        return {"model": "bart-large", "framework": "pytorch-ddp"}, "DeepLearningExamples, BART"
    if name == "dle-electra" and row["model"] == "ELECTRA pre-training" and row["sequence_length"] == 128:
        return {"model": "electra-base", "framework": XLA}, "DeepLearningExamples, ELECTRA"
    if name == "dle-vnet":
        return {"model": "vnet", "framework": XLA_1}, "DeepLearningExamples, V-Net"
    if name in DLE_SQUAD:
        framework, label = DLE_SQUAD[name]
        return {"model": "bert-large-squad", "framework": framework, "optimizer": "adam"}, f"DeepLearningExamples, BERT SQuAD, {label}"
    if name == "lambda-pytorch-transformerxlbase":
        return {"model": {"extends": "transformer-xl-base", **ALL_WORDS}, "framework": O2}, "lambda, Transformer-XL, all words"
    if name == "lambda-pytorch-SSD":
        return {"model": "ssd300-resnet50", "framework": "pytorch-ddp", "input": COCO_FILES}, "lambda, SSD300"
    if name == "lambda-pytorch-resnet50":
        return {"model": "resnet50-v1.5", "framework": "pytorch-ddp"}, "lambda, ResNet-50"
    if name in ("lambda-pytorch-bert_base_squad", "lambda-pytorch-bert_large_squad"):
        size = "base" if "base" in name else "large"
        return {"model": f"bert-{size}-squad", "framework": "pytorch-ddp",
                "optimizer": "adam"}, f"lambda, BERT-{size}, SQuAD"
    return None


def source_of(row):
    source = row["source"]
    return f"{source.get('repo', '')} {source.get('path', '')}".strip() if isinstance(source, dict) else str(source)


def network_of(job):
    """The name of the job's network, or of the one that it extends; whatever shape its images are filled up to."""
    return re.sub(r"-\d+x\d{3,}$", "", job["model"] if isinstance(job["model"], str) else job["model"]["extends"])


def rate_of(row, job):
    """Samples a second, of a row of tokens as the file counts its samples."""
    if row["unit"] == "tokens/s":
        return round(row["value"] / TOKENS[network_of(job)], 3)
    return row["value"]


def batch_of(row, job):
    """Samples on a GPU; translation counts tokens."""
    if job["model"] == "transformer-big":
        return round(row["batch_per_gpu"] / TOKENS["transformer-big"])
    return int(row["batch_per_gpu"])


def name_of(platform):
    if isinstance(platform, str):
        return platform
    if platform is FOUR_ADAPTERS:
        return f"{platform['extends']}, 4 adapters"
    node = platform["node"]
    return platform["extends"] + (f" of {node['gpus']['type']}" if "type" in node.get("gpus", {}) else "") + (f" with {node['cpu']}" if "cpu" in node else "")


class Suite:
    def __init__(self, name, description, notes):
        self.head = {"name": name, "description": description, "notes": notes}
        self.experiments, self.rows = {}, []

    def add(self, row, platform, job, part, regime, gpus=None, nodes=1, anchor=None, role=None, label=None):
        """`label`: of the experiment; `anchor`: the row that this one starts from."""
        self.experiments[label] = {"cluster": {"platform": platform, **({"nodes": nodes} if nodes > 1 else {})},
                                   "jobs": [{**job, "batch_per_gpu": 64}]}
        settings = {"/jobs/0/precision": precision_of(row), "/jobs/0/batch_per_gpu": batch_of(row, job)}
        if gpus:
            settings["/jobs/0/gpus"] = gpus
        if anchor:
            settings["/jobs/0/anchor"] = {"samples_per_s": rate_of(anchor, job), "gpus": anchor["system"]["gpus"],
                                          "batch_per_gpu": batch_of(anchor, job)}
        role = role or row["role"]
        self.rows.append({"id": row["id"], "experiment": label, "settings": settings, "measured": rate_of(row, job),
                          "unit": "images/s" if "image" in row["unit"] else "samples/s", "regime": regime, "part": part,
                          **({"role": "calibration"} if role == "calibration" else {}), "source": source_of(row)})

    def write(self, folder):
        lines = ['{', '  "format": "foretrain.suite/1",'] + [f'  "{key}": {json.dumps(text)},' for key, text in self.head.items()]
        lines.append('  "experiments": {')
        lines.append(",\n".join(f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in self.experiments.items()))
        lines += ['  },', '  "rows": [', ",\n".join("    " + json.dumps(row) for row in self.rows), '  ]', '}']
        (folder / f"{self.head['name']}.json").write_text("\n".join(lines) + "\n")


# ---- several GPUs and nodes, from a rate of one: what is anchored, by what
DGX = {"DGX-1 16 GB": "dgx1-v100", "DGX-1 32 GB": {"extends": "dgx1-v100", "node": {"gpus": {"type": "v100-sxm2-32gb"}}}, "DGX A100 80 GB": "dgx-a100-80gb", "DGX A100 40 GB": "dgx-a100", "DGX-2H 32 GB": "dgx-2h", "DGX-2 32 GB": "dgx-2"}
# Of a table with several batches the second one anchors, so that the others are counted without.
ANCHOR_BATCHES = {"dle-ssd-pytorch": (64,), "dle-nnunet-pytorch": (64, 2), "dle-transformer": (10240, 5120), "dle-transformer-xl-pytorch": (16, 32, 4, 8),
                  "dle-maskrcnn-pytorch": (12,), "dle-bart": (100,), "dle-bert-tensorflow": (4, 24, 10), "dle-bert-tensorflow2": (3, 6, 8, 12, 76), "dle-bert-pytorch": (8, 16, 32),
                  "dle-bert-paddlepaddle": (32,), "dle-electra": (88, 176), "dle-vnet": (8,)}
# MLPerf: a submission's row of one node (or more), and those of the same submitter and round on more.
MLPERF_ANCHORS = {
    "mlperf-v2.0-retinanet-Azure-ND96amsr_A100_v4_n1_pytorch": ["mlperf-v2.0-retinanet-Azure-ND96amsr_A100_v4_n2_pytorch",
                                                               "mlperf-v2.0-retinanet-Azure-ND96amsr_A100_v4_n8_pytorch"],
    "mlperf-v2.0-retinanet-NVIDIA-dgxa100_ngc22.04_pytorch": ["mlperf-v2.0-retinanet-NVIDIA-dgxa100_n8_ngc22.04_pytorch"],
    "mlperf-v2.1-retinanet-NVIDIA-dgxh100_preview": ["mlperf-v2.1-retinanet-NVIDIA-dgxh100_n4_preview"],
    "mlperf-v3.0-retinanet-NVIDIA-dgxh100_ngc23.04_pytorch": ["mlperf-v3.0-retinanet-NVIDIA-dgxh100_n8_ngc23.04_pytorch",
                                                             "mlperf-v3.0-retinanet-NVIDIA-dgxh100_n64_ngc23.04_pytorch"],
    "mlperf-v3.1-retinanet-NVIDIA-eos_ngc23.09_pytorch": ["mlperf-v3.1-retinanet-NVIDIA-eos_n8_ngc23.09_pytorch"],
    "mlperf-v4.0-retinanet-Oracle-1xBM.GPU.H100.8": ["mlperf-v4.0-retinanet-Oracle-8xBM.GPU.H100.8"],
    "mlperf-v4.1-retinanet-NVIDIA-eos_ngc24.09_pytorch": ["mlperf-v4.1-retinanet-NVIDIA-eos_n8_ngc24.09_pytorch"],
    "mlperf-v5.0-retinanet-HPE-HPE-Cray-XD670-H200-SXM5-141GB_n1_24.09": ["mlperf-v5.0-retinanet-HPE-HPE-Cray-XD670-H200-SXM5-141GB_n2_24.09",
                                                                         "mlperf-v5.0-retinanet-HPE-HPE-Cray-XD670-H200-SXM5-141GB_n4_24.09"],
    "mlperf-v5.0-retinanet-Oracle-1xBM.GPU.B200.8": ["mlperf-v5.0-retinanet-Oracle-8xBM.GPU.B200.8"],
    "mlperf-v2.1-resnet-HPE-HPE-ProLiant-XL675d-Gen10-Plus_A100-SXM-80GB_mxnet": [
        "mlperf-v2.1-resnet-HPE-HPE-ProLiant-XL675d-Gen10-Plus_A100-SXM-80GB_8N_mxnet"],
    "mlperf-v1.1-dlrm-NVIDIA-dgxa100_ngc21.09_merlin_hugectr": ["mlperf-v1.1-dlrm-NVIDIA-dgxa100_n8_ngc21.09_merlin_hugectr",
                                                               "mlperf-v1.1-dlrm-NVIDIA-dgxa100_n14_ngc21.09_merlin_hugectr"],
    "mlperf-v2.1-dlrm-NVIDIA-dgxh100_preview": ["mlperf-v2.1-dlrm-NVIDIA-dgxh100_n4_preview"],
    "mlperf-v3.0-dlrm_dcnv2-NVIDIA-dgxh100_ngc23.04_merlin_hugectr": ["mlperf-v3.0-dlrm_dcnv2-NVIDIA-dgxh100_n8_ngc23.04_merlin_hugectr",
                                                                     "mlperf-v3.0-dlrm_dcnv2-NVIDIA-dgxh100_n16_ngc23.04_merlin_hugectr"],
    "mlperf-v3.1-dlrm_dcnv2-NVIDIA-eos_ngc23.09_merlin_hugectr": ["mlperf-v3.1-dlrm_dcnv2-NVIDIA-eos_n8_ngc23.09_merlin_hugectr",
                                                                 "mlperf-v3.1-dlrm_dcnv2-NVIDIA-eos_n16_ngc23.09_merlin_hugectr"],
    "mlperf-v0.6-ssd-NVIDIA-dgx1_ngc19.05_pytorch": ["mlperf-v0.6-ssd-NVIDIA-dgx1_n30_ngc19.05_pytorch"],
    "mlperf-v1.1-ssd-Dell-R750xax4A100-PCIE-80GB": ["mlperf-v1.1-ssd-Dell-8xR750xax4A100-PCIE-80GB"],
    "mlperf-v1.1-maskrcnn-Dell-XE8545x4A100-SXM-80GB": ["mlperf-v1.1-maskrcnn-Dell-2xXE8545x4A100-SXM-80GB"],
    "mlperf-v2.0-maskrcnn-Dell-XE8545x4A100-SXM-80GB": ["mlperf-v2.0-maskrcnn-Dell-2xXE8545x4A100-SXM-80GB",
                                                       "mlperf-v2.0-maskrcnn-Dell-4xXE8545x4A100-SXM-80GB"],
    "mlperf-v3.0-unet3d-Dell-XE9680x8A100-SXM-80GB": ["mlperf-v3.0-unet3d-Dell-2xXE9680x8A100-SXM-80GB"],
    "mlperf-v4.1-stable_diffusion-NVIDIA-eos_ngc24.09_nemo": ["mlperf-v4.1-stable_diffusion-NVIDIA-eos_n8_ngc24.09_nemo",
                                                             "mlperf-v4.1-stable_diffusion-NVIDIA-eos_n64_ngc24.09_nemo"],
    "mlperf-v5.0-stable_diffusion-Dell-1xXE9680Lx8H200-SXM-141GB": ["mlperf-v5.0-stable_diffusion-Dell-2xXE9680Lx8H200-SXM-141GB"],
    "mlperf-v0.7-transformer-NVIDIA-dgx1_ngc20.06_pytorch": [],
}


def scale(rows):
    """The suite `networks-scale`, and the ids of its anchors."""
    suite = Suite("networks-scale", "Published training rates of detectors, segmentation networks and translation on several GPUs and nodes, from a "
                  "measured rate of one GPU or one node", "Written by experiments/validation/network_rows.py.")
    by_id = {row["id"]: row for row in rows}
    anchors = set()
    for row in rows:
        system, batches = row.get("system"), ANCHOR_BATCHES.get(row["set"], ())
        if row.get("batch_per_gpu") not in batches or system["name"] not in DGX or (told := job_of(row)) is None:
            continue
        alone = [one for one in rows if one["set"] == row["set"] and one["system"]["name"] == system["name"] and one["system"]["gpus"] == 1
                 and one.get("batch_per_gpu") == row["batch_per_gpu"] and one["precision"] == row["precision"] and job_of(one) == told]
        if not alone:
            continue
        job, part = told
        label = f"{name_of(DGX[system['name']])}, {network_of(job)}" + (", " + part.rsplit(", ", 1)[-1] if "SQuAD" in part else "") + (", NDHWC" if job["framework"] == NDHWC else "")
        if system["gpus"] == 1:
            anchors.add(row["id"])
            suite.add(row, DGX[system["name"]], job, part, "compute", gpus=1, role="calibration", label=label)
        elif system["nodes"] == 1:
            suite.add(row, DGX[system["name"]], job, part, "intra-node", gpus=system["gpus"], anchor=alone[0], label=label)
    for first, more in MLPERF_ANCHORS.items():
        one = by_id[first]
        job = mlperf_job(one)
        if not more:
            continue
        anchors.add(first)
        for identity, anchor in [(first, None)] + [(identity, one) for identity in more]:
            row = by_id[identity]
            system, platform = row["system"], node_of(row)
            suite.add(row, platform, job, f"MLPerf, {network_of(job)}", "network" if anchor else "intra-node", gpus=system["gpus"],
                      nodes=system["nodes"], anchor=anchor, role=None if anchor else "calibration",
                      label=(f"{name_of(platform)}, {system['nodes']} nodes, {network_of(job)}" if system["nodes"] > 1
                             else f"{name_of(platform)}, {network_of(job)}, MLPerf") + (", v3.0" if job["framework"] == DIVIDED_TABLES else ""))
    return suite, anchors


def one_gpu(rows, anchors):
    suite = Suite("networks", "Published training rates of one GPU, and of MLPerf's networks of one node, for networks of many kinds, predicted "
                  "without an anchor", "Written by experiments/validation/network_rows.py.")
    taken = set()
    for row in rows:
        system = row.get("system")
        if not isinstance(system, dict) or not row.get("batch_per_gpu") or "train" not in str(row.get("what")) or row["id"] in anchors:
            continue
        if row["set"] in MLPERF:
            job, platform = mlperf_job(row), node_of(row)
            key = (row["set"], name_of(platform) if platform else "", row["batch_per_gpu"], row["role"])
            if platform is None or system["nodes"] != 1 or row["batch_per_gpu"] < 1 or key in taken:
                continue
            taken.add(key)
            platform = hosted(platform, system.get("cpu"), system["name"])
            program = ", PyTorch" if job["framework"] == "pytorch-mlperf" and row["set"] == "mlperf-ssd" else ""
            early = ", until v0.7" if job["model"] != MLPERF[row["set"]]["model"] else ", v3.0" if job["framework"] == DIVIDED_TABLES else ""
            suite.add(row, platform, job, f"MLPerf, one node, {network_of(job)}", "intra-node", gpus=system["gpus"],
                      label=f"{name_of(platform)}, {network_of(job)}, MLPerf{program}{early}")
            continue
        if system.get("gpus") != 1:
            continue
        gpu, told = gpu_of(row), job_of(row)
        if gpu is None or told is None:
            continue
        job, part = told
        precision = precision_of(row)
        if row["set"].startswith("lambda"):
            key = (row["set"], gpu, precision, row["role"])
            if key in taken:
                continue
            taken.add(key)
        model = job["model"]
        if not isinstance(model, str):
            model = model["extends"] + ", all words"
        kind = part.rsplit(", ", 1)[-1] if any(word in part for word in ("channels", "nnU-Net", "R-CNN", "Examples, BERT SQuAD")) else part.split(",")[0]
        layout = ", NDHWC" if job["framework"] == NDHWC else ""
        suite.add(row, of(gpu), job, part, "compute", label=f"{gpu}, {model}, {kind}{layout}")
    return suite


def main():
    rows = [row for row in json.load(open(sys.argv[1])) if isinstance(row.get("system"), dict)]
    folder = pathlib.Path(__file__).resolve().parent
    suite, anchors = scale(rows)
    suite.write(folder)
    one_gpu(rows, anchors).write(folder)


if __name__ == "__main__":
    main()
