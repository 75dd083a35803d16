#!/usr/bin/env python3
"""Adds published steps of transformers to the suite large-models/published.json.

    large_model_rows.py ROWS.json            writes experiments/validation/large-models/published.json anew: its
                                             first rows, which were chosen by hand, and behind them
                                             those of ROWS.json that can be told
    large_model_rows.py ROWS.json --show     prints only what is left out, and why

ROWS.json is a list of measurements (id, set, value, unit, plan and dimensions). What a row does not
tell is assumed by one rule for its whole set, written below; rows that need more are left out.
"""
import json
import sys
from collections import Counter
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

SUITE = Path(__file__).parent / "large-models" / "published.json"
FITS = Path(__file__).resolve().parents[2] / "calibration" / "data" / "fits.json"
PEAK = 989e12  # H100, dense bf16: what MFU is told against
MADE = "published-2"  # experiment of the rows that are made here

PLATFORMS = {  # first words of what a row says of its GPU -> platform
    "A100-40GB": "dgx-a100", "A100-80GB": "dgx-a100-80gb",
    "H100-96GB": "grand-teton-h100-96gb", "H100-80GB": "hgx-h100", "H100": "hgx-h100",
    "H200-SXM5-141GB": "hgx-h200", "B200": "hgx-b200", "GB200": "gb200-nvl72",
    "GB300": "gb300-nvl72", "NVIDIA H100-SXM5-80GB": "hgx-h100",
    "NVIDIA H200-SXM5-141GB": "hgx-h200", "NVIDIA Blackwell GPU (B200-SXM-180GB)": "hgx-b200",
    "NVIDIA Blackwell GPU (GB200)": "gb200-nvl72", "B300": "hgx-b300",
    "NVIDIA Blackwell Ultra GPU (B300-SXM-270GB)": "hgx-b300",
    "NVIDIA Blackwell Ultra GPU (GB300)": "gb300-nvl72",
    "NVIDIA_H100_80GB_HBM3": "hgx-h100",
}
LATENT = {"query_rank": 1536, "kv_rank": 512, "rotary_size": 64, "value_size": 128}
# config.json of deepseek-ai/DeepSeek-V3, moonshotai/Kimi-K2-Instruct and Moonlight-16B-A3B,
# openai/gpt-oss-120b, Qwen/Qwen3-*
SHAPES = {
    "DeepSeek-V3-671B": {"head_size": 128, "dense_layers": 3, "latent": LATENT,
                         "routing_groups": 8, "routed_groups": 4},
    "Kimi-K2-1T": {"head_size": 128, "dense_layers": 1, "latent": LATENT},
    "Moonlight-16B-A3B": {"head_size": 128, "dense_layers": 1,
                          "latent": {k: v for k, v in LATENT.items() if k != "query_rank"}},
    "GPT-OSS-120B": {"head_size": 64, "window": 128, "full_attention_every": 2, "bias": True,
                     "norm": "rms", "clamped": True, "rotary_scaled": True},
    "Qwen3-30B-A3B": {"head_size": 128, "query_norm": True},
    "Qwen3-235B-A22B": {"head_size": 128, "query_norm": True},
}
# Layers of several kinds: bundled, with the modules that predict further tokens of Megatron Bridge's
# recipes (nemotron_3_super.py, nemotron_3_ultra.py: "/*E/*E" behind the pattern).
HYBRIDS = {
    "Nemotron-H-56B": ("nemotron-h-56b", 0),
    "Nemotron_3_Nano": ("nemotron-3-nano-30b-a3b", 0),
    "Nemotron_3_Super": ("nemotron-3-super-120b-a12b", 2),
    "Nemotron_3_Ultra": ("nemotron-3-ultra-550b-a55b", 2),
}
OPTIONS = {"shared_experts": "shared_experts", "experts": "experts", "topk": "top_k",
           "moe_ffn": "expert_ffn"}


# CUDA_LAUNCH_BLOCKING=1 is in the script of the training and, by bigscience's chronicles-prequel.md,
# "dealing with JZ hanging", of what was tried from 2022-02-20 on: 320 GPUs always hang without.
BLOCKING = {"extends": "deepspeed", "transformer": {"launch_blocking": True}}


# Dell's own file for this machine, config_1xXE9680Lx8B200-SXM-180GB.sh in Dell/benchmarks/*/implementations/nemo
# of mlcommons/training_results_v5.1@4da2d1cd, sources config_common_fp4.sh; the adapters' has CP=2, MINIBS=2 and
# MCORE_CUDA_GRAPH=1. The rows name the file of DGX B200 beside it, which has as many samples a step.
FP4_OF_DELL = "mlperf-v5.1-*-Dell-1xXE9680Lx8B200-SXM-180GB"
# Its log names AS-4126GS-NBR-LCC_1x8x2xtp1pp1cp1_8b_fp4 and prints fp4, nvfp4, no layers in bf16 and one CUDA graph of
# everything (Supermicro/results/AS-4126GS-NBR-LCC/llama31_8b/result_1.txt of the same commit).
FP4_BY_LOG = "mlperf-v5.1-llama31_8b-Supermicro-AS-4126GS-NBR-LCC"


# NVTE_FUSED_ATTN=0, so that Transformer Engine takes FlashAttention-2 in place of cuDNN's attention: NVIDIA's launcher
# (NVIDIA/NeMo-Framework-Launcher@01d07738, launcher_scripts/conf/config.yaml: "Disable cudnn FA until we've tested it
# more"), with which NeMo 24.07 was measured, and configure.sh of nemo_megatron, nemotron (340B alone) and grok1 in
# NVIDIA/dgxc-benchmarking up to 25.02 (@35a9aecc, @143b90dd); its llama3.1 and Nemotron 15B say 1.
FLASH_2 = ["nemo2407-*", "dgxc-24.11-gpt3-175b-*", "dgxc-25.02-gpt3-175b-*", "dgxc-24.11-nemotron4-340b-*",
           "dgxc-24.11-grok1-*", "dgxc-25.02-grok1-*"]
# MLPerf v3.0 was submitted in May 2023, FlashAttention-2 published in July (arXiv:2307.08691): Transformer Engine of that
# time needs flash-attn 1 (its setup.py: "flash-attn>=1.0.2"), and the program's own kernel for long sequences is off
# (use_emha: "not yet supported", NVIDIA/benchmarks/gpt3/implementations/pytorch/conf/megatron_gpt_config.yaml of
# mlcommons/training_results_v3.0@9f08e30c).
FLASH_1 = ["mlperf-v3.0-gpt3-*"]
# Experts take as many tokens as there are in the mean, and are filled up to that: NVIDIA/dgxc-benchmarking@35a9aecc,
# grok1/grok1_314b.yaml (moe_expert_capacity_factor 1.0, moe_pad_expert_input_to_capacity); of NeMo 2 the scripts that
# 25.05 runs, MegatronTokenDropCallback in NVIDIA/NeMo, scripts/performance/llm/pretrain_grok1_314b.py,
# pretrain_deepseek_v3.py (USE_TOKEN_DROP) and nemo/collections/llm/recipes/llama4_e128.py.
CAPACITY = ["dgxc-*-grok1-*", "dgxc-25.05-deepseekv3-*", "dgxc-25.05-llama4-mav-*"]


# Fine-tuning by NVIDIA: samples of SQuAD 1.1, packed to the sequence's tokens, each attending to itself. NeMo 24.07 says
# so beside its tables (docs/source/performance/performance_summary.md); DGXC's llama3_finetune.py has SquadDataModule
# and performance_mode, whose recipes (nemo/collections/llm/recipes/llama3_70b.py) pack to 4096; Megatron Bridge's
# scripts/performance/configs/llama/llama3_llm_finetune.py has packed_sequence_size = seq_length. A paragraph of about
# 120 words, a question of ten and an answer of three with the prompt's words are some 200 tokens: 20 in 4096 (assumption;
# 16 or 32 change steps by 1 %).
SQUAD = ["nemo2407-sft-*", "nemo2407-lora-*", "dgxc-25.02-llama3-*-sft", "dgxc-25.02-llama3-*-lora", "mbridge-*-sft-*",
         "mbridge-*-lora-*", "abl-tppp-*"]
SAMPLES, DEVIATION, LONGEST = 20, 70, 1024  # of a pack; tokens


# Recipes for adapters switch the fused loss off: "some settings currently do not function correctly with LoRA" in NeMo's
# (nemo/collections/llm/recipes), config.model.cross_entropy_loss_fusion = False in Megatron Bridge's llama3.py
# (src/megatron/bridge/recipes/llama, llama3_8b_finetune_config and llama3_70b_finetune_config with peft).
LOSS_IN_STEPS = ["dgxc-25.02-llama3-*-lora", "mbridge-*-lora-*"]


# Tensor-parallel exchanges beside adapters are not hidden: finetune_performance_optimizations of NVIDIA/NeMo's recipes
# (nemo/collections/llm/recipes/llama3_8b.py: tp_comm_overlap=False), which llama3_finetune.py of DGXC 25.02 takes as they
# are; scripts/performance/llm/finetune_llama3_70b.py of later releases switches the overlap on by itself.
PLAIN_TENSOR = ["dgxc-25.02-llama3-*-lora"]


# USE_TE_OPS of config_common.sh on Blackwell; use_transformer_engine_op_fuser = 1 in Megatron Bridge's recipe of the same
# run (perf_recipes/llama/common.py, _llama2_benchmark_common). Of Hopper's files in v5.1 nothing was read.
FUSED_OPERATIONS = ["mlperf-v5.1-llama2_70b_lora-*"]


# NVIDIA's program for adapters on Blackwell, v5.0 and v5.1 (its conf/megatron_gpt_peft_tuning_config.yaml: NVIDIA/
# benchmarks/llama2_70b_lora/implementations/nyx_n1_ngc25.04_nemo of mlcommons/training_results_v5.0@0fdc28f0; Dell/ and
# GigaComputing/ of training_results_v5.1@4da2d1cd): cp_comm_type is "a2a" unless CP_COMM_TYPE is exported, which no file
# read does, and activation_func_fp8_input_store is FP8_ACT, 1 where nothing is shared out (GigaComputing/
# config_DGXB200_1x8x1xtp1pp1cp1.sh and config_GB200_2x4x1xtp1pp1cp1.sh of v5.0, config_G894-AD1_1x8x1xtp1pp1cp1.sh of
# v5.1), 0 in the files of several context ranks and of B300. Hopper's rows run older files, with FP8_ACTIVATION.
def of_blackwell_adapters(row):
    return (fnmatch(row["id"], "mlperf-v5.*-llama2_70b_lora-*")
            and platform(row).startswith(("hgx-b", "gb")))


class LeftOut(Exception):
    """A row that the suite cannot tell."""


def any_of(row, patterns):
    return any(fnmatch(row["id"], pattern) for pattern in patterns)


def need(row, *keys):
    for key in keys:
        if row.get(key) is None:
            raise LeftOut(f"{key} is not told")
    return [row[key] for key in keys]


def platform(row):
    gpu = row["gpu"].removesuffix(" SXM")
    if "power limited" in gpu:
        raise LeftOut("a power limit that is not told")
    if "Jean Zay A100" in row.get("node_type", ""):
        return "jean-zay-a100"
    if row["set"] == "torchao" and gpu == "H100":
        # Its tools take "NVIDIA H100" for "Meta's H100 variant" with 2.4 TB/s: pytorch/ao, torchao/testing/float8/
        # roofline_utils.py, gpu_name_to_specs. torchtitan's pages tell its 96 GB and 500 W.
        return "grand-teton-h100-96gb"
    for words in (gpu, gpu.split(" ")[0]):
        if words in PLATFORMS:
            return "p5" if "AWS p5" in row.get("node_type", "") else PLATFORMS[words]
    raise LeftOut(f"no platform with {gpu}")


def model_of(row):
    need(row, "seq_len")
    if row["model"] not in HYBRIDS:
        return {"sequence": row["seq_len"], "transformer": transformer(row)}
    preset, further = HYBRIDS[row["model"]]
    return {"extends": preset} | ({"transformer": {"mtp_layers": further}} if further else {})


def transformer(row):
    need(row, "layers", "hidden", "heads", "ffn", "seq_len")
    name = row["model"].replace("NVIDIA-", "")
    llama = any(word in name for word in ("Llama", "Grok", "Qwen", "DeepSeek", "Kimi", "OSS",
                                          "Moonlight"))
    t = {"layers": row["layers"], "hidden": row["hidden"], "heads": row["heads"],
         "kv_heads": row.get("kv_heads") or row["heads"], "ffn": row["ffn"],
         "vocabulary": row.get("vocab") or 50257}
    if llama:
        t |= {"gated": True, "rotary": True}
    elif "Nemotron" in name:
        t |= {"rotary": True, "bias": False, "tied": False}
    else:
        t["positions"] = max(2048, row["seq_len"])
    if "Grok" in name or row.get("tied_embeddings"):
        t["tied"] = True
    for theirs, ours in OPTIONS.items():
        if row.get(theirs):
            t[ours] = row[theirs]
    if row.get("moe_every"):
        t["experts_every"] = row["moe_every"]
    t |= SHAPES.get(name, {})
    if "(w/oMTP)" not in row["id"] and name == "DeepSeek-V3-671B" and "mbridge" in row["id"]:
        t["mtp_layers"] = 1  # of the recipe, unless the row says without
    return t


def precision(row):
    words = row["precision"]
    if ("nvfp4" in words or (row.get("config_file") or "").endswith("fp4.sh")
            or fnmatch(row["id"], FP4_OF_DELL) or row["id"] == FP4_BY_LOG):
        return "nvfp4"
    if "mx" in words:
        return "mxfp8"
    if "fp8" in words or "float8" in words or row.get("float8"):
        return "fp8"
    return "fp16" if "fp16" in words else "bf16" if "bf16" in words else "fp32"


# Megatron Bridge, scripts/performance/configs/llama, llama3_workload_base_configs.py: plans of the presets for 256
# samples (V2) on GB300 where the table of 26.02.01 prints a pipeline without pieces, or none, and two sequences.
PRINTED_WRONG = {"mbridge-26.02.01-pre-training-LLAMA3_70B-GB300-64gpu-MXFP8-g256",
                 "mbridge-26.02.01-pre-training-LLAMA3_70B-GB300-64gpu-NVFP4-g256"}


def as_run(row):
    """The row with the plan that ran, where another file than the row's tells it."""
    if row["id"] in PRINTED_WRONG:
        return row | {"pp": 4, "vp": 5, "micro_batch": 1}
    if fnmatch(row["id"], FP4_OF_DELL) and "lora" in row["id"]:
        return row | {"cp": 2, "config_flags": {"MCORE_CUDA_GRAPH": "1"}}
    return row


def plan(row):
    tp, pp = row.get("tp") or 1, row.get("pp") or 1
    untold = any("tp" in what.split("/")[0] for what in row.get("missing") or [])
    if row.get("tp") is None and (row["gpus"] > 8 or untold):
        raise LeftOut("tensor parallelism is not told")
    p = {"tensor": tp, "pipeline": pp, "context": row.get("cp") or 1,
         "zero": row.get("zero_stage") or 0}
    if p["context"] > 1 and of_blackwell_adapters(row):
        p["context_heads"] = p["context"]
    if row.get("zero_stage") is None and "NVIDIA" in row["set"]:
        p["zero"] = 1  # recipes of NeMo and Megatron Bridge: distributed_fused_adam, use_distributed_optimizer
    if p["zero"] == 3 and row["set"] == "NVIDIA-MegatronBridge" and (
            row["model"], row["gpu"], precision(row)) in OFFLOADED:
        raise LeftOut("activations in host memory")
    pieces = row.get("vp") or 1
    if row["set"] == "MLPerf-gpt3" and row.get("vp") is None:
        pieces = 6  # of NVIDIA's configurations that tell them
    if "int1f1b" in row["id"]:
        pieces = 2
    if pieces > 1 and pp > 1:
        p |= {"virtual_stages": pieces, "schedule": "interleaved"}
    if (row.get("ep") or 1) > 1:
        p["expert"] = row["ep"]
    if has_experts(row):
        # Megatron-Core's default; Megatron Bridge's recipes cut no expert.
        p["expert_tensor"] = row.get("etp") or (1 if "mcore" in framework_kind(row) else tp)
    # NeuSight's tensor-parallel ranks are those of Megatron's first paper, which add up whole activations.
    if tp > 1 and row["set"] not in ("bigscience-A100", "NVIDIA-NeMo-SuperPOD-A100",
                                     "nanotron-ultrascale", "NeuSight-e2e"):
        p["sequence_parallel"] = str(row.get("config_flags", {}).get("SP", "1")) != "0"
    return p


def framework(row):
    name = row["set"]
    flags = row.get("config_flags", {})
    if name == "llm-foundry":
        return "llm-foundry"
    if name == "bigscience-A100":
        return "deepspeed" if "02-17" in (row.get("notes") or "") else BLOCKING
    if name in ("torchtitan", "torchao"):
        extra, eager = {}, {}
        if row.get("torch_compile") is False:
            eager = {"fused_elementwise": False, "launches": {"per_operation": "35 us", "per_kernel": "5 us"}}
        if row.get("recompute") in ("selective layer", "selective"):
            extra["selective"] = "half"
        if row.get("async_tp"):
            extra["overlap_tensor"] = True
        if precision(row) == "fp8":
            rowwise = "rowwise" in row.get("float8_recipe", "") + row["precision"]
            extra["fp8_scaling"] = "row" if rowwise else "current"
        if extra:
            eager["transformer"] = extra
        return {"extends": "torchtitan"} | eager if eager else "torchtitan"
    if name == "nanotron-ultrascale":
        return "nanotron"
    if name == "NVIDIA-NeMo-SuperPOD-A100":
        return "megatron"
    if "MaxText" in row.get("framework", "") or "PaxML" in row.get("framework", ""):
        raise LeftOut("recomputation and scanned layers of MaxText and PaxML")
    if name == "NeuSight-e2e":
        return "pytorch-ddp"
    extra = {}
    if has_experts(row):
        extra |= experts_of(row)
    # NVIDIA's config_common.sh of v5.1 has FP8_RECIPE "tensorwise" (Lambda/benchmarks/llama31_8b/implementations/
    # gb300_0922 of mlcommons/training_results_v5.1@4da2d1cd), Cisco's own none.
    tensorwise = row["set"] == "MLPerf-llama31_8b" and "Cisco" not in row["id"]
    if "current scaling" in row["precision"] or "FP8-CS" in row["id"] or (
            tensorwise and precision(row) == "fp8"):
        extra["fp8_scaling"] = "current"
    if "CUDA_GRAPH" in str(flags) and "1" in (flags.get("LAYER_CUDA_GRAPH"),
                                              flags.get("MCORE_CUDA_GRAPH")):
        extra["cuda_graphs"] = "layer"
    if any_of(row, FLASH_2):
        extra["attention"] = "flash-2"
    if any_of(row, FLASH_1):
        extra["attention"] = "flash-1"
    if any_of(row, LOSS_IN_STEPS):
        extra["loss"] = "megatron"
    if any_of(row, PLAIN_TENSOR):
        extra["overlap_tensor"] = False
    if any_of(row, FUSED_OPERATIONS) and not platform(row).startswith(("hgx-h100", "hgx-h200")):
        extra["op_fuser"] = True
    if "LoRA" in str(row.get("task")) and "MLPerf" in row["set"] and "H200" in row["gpu"]:
        # fp8_activation_input_store: FP8_ACTIVATION=True in NVIDIA's config_DGXH200_1x8x2xtp2pp1cp1.sh (v4.0) and
        # ..tp1pp1cp2.sh (v4.1), left at 0 in config_DGXH100_1x8x4xtp4pp1cp1.sh.
        extra["fp8_kept"] = "activation"
    if of_blackwell_adapters(row) and (row.get("cp") or 1) == 1 and "B300" not in (row.get("config_file") or ""):
        extra["fp8_kept"] = "activation"  # FP8_ACT
    return {"extends": nemo_of(row), "transformer": extra} if extra else nemo_of(row)


# Dispatcher, overlap of exchanges, CUDA graphs and recomputed modules of Megatron Bridge's recipes,
# by model, GPU and precision: NVIDIA-NeMo/Megatron-Bridge, scripts/performance/configs,
# deepseek_workload_base_configs.py@04264182, qwen3_workload_base_configs.py@01b2977e,
# gpt_oss_workload_base_configs.py@07eea52d. Whole graphs and the overlap that goes with them are
# taken for releases from 26.06 on, parts of layers before (assumption).
HYBRID, DEEP, PLAIN = "hybrid-ep", "deep-ep", "all-to-all"
RECIPES = {
    ("DeepSeek-V3-671B", "GB300", "mxfp8"): (HYBRID, True, "all", []),
    ("DeepSeek-V3-671B", "GB300", "bf16"): (HYBRID, False, "layer", ["moe_act"]),
    ("DeepSeek-V3-671B", "GB200", "mxfp8"): (HYBRID, True, "all", ["mla_up_proj"]),
    ("DeepSeek-V3-671B", "GB200", "bf16"): (HYBRID, False, "layer", ["mla_up_proj"]),
    ("DeepSeek-V3-671B", "B200", "mxfp8"): (DEEP, True, "layer", ["mla_up_proj", "mlp"]),
    ("DeepSeek-V3-671B", "H100-80GB SXM", "fp8"): (HYBRID, False, "none", ["mla_up_proj", "mlp"]),
    ("Kimi-K2-1T", "GB300", "mxfp8"): (HYBRID, False, "layer", ["mla_up_proj"]),
    ("Qwen3-235B-A22B", "GB300", None): (HYBRID, False, "layer", []),
    ("Qwen3-235B-A22B", "GB200", None): (HYBRID, False, "layer", []),
    ("Qwen3-235B-A22B", "B200", None): (PLAIN, False, "none", []),
    ("Qwen3-235B-A22B", "H100-80GB SXM", None): (PLAIN, True, "none", []),
    ("Qwen3-30B-A3B", "GB300", None): (HYBRID, False, "layer", []),
    ("Qwen3-30B-A3B", "GB200", None): (HYBRID, False, "layer", []),
    ("Qwen3-30B-A3B", "B200", None): (HYBRID, False, "layer", []),
    ("Qwen3-30B-A3B", "H100-80GB SXM", None): (HYBRID, False, "none", []),
    ("GPT-OSS-120B", "GB300", "mxfp8"): (HYBRID, True, "all", []),
    ("GPT-OSS-120B", "GB300", "bf16"): (PLAIN, False, "layer", []),
    ("GPT-OSS-120B", "GB200", "mxfp8"): (HYBRID, True, "all", []),
    ("GPT-OSS-120B", "GB200", "bf16"): (PLAIN, True, "none", ["layernorm", "moe_act"]),
    ("GPT-OSS-120B", "B200", "bf16"): (PLAIN, False, "none", ["layernorm", "moe_act"]),
    ("GPT-OSS-120B", "H100-80GB SXM", "bf16"): (PLAIN, False, "none", ["layernorm", "moe_act"]),
    ("DeepSeek-V3-671B", "B300", "mxfp8"): (HYBRID, True, "all", ["mla_up_proj"]),
    ("Qwen3-235B-A22B", "B300", None): (HYBRID, False, "layer", []),
    ("Qwen3-30B-A3B", "B300", None): (HYBRID, False, "layer", []),
    # _enable_hybridep_full_iteration_mxfp8 of src/megatron/bridge/perf_recipes/qwen/common.py@134e903a,
    # called in qwen/gb300/qwen3_moe.py@007282ea, gb200/ and b300/qwen3_moe.py@04f01354.
    ("Qwen3-30B-A3B", "GB300", "mxfp8"): (HYBRID, True, "all", []),
    ("Qwen3-30B-A3B", "GB200", "mxfp8"): (HYBRID, True, "all", []),
    ("Qwen3-30B-A3B", "B300", "mxfp8"): (HYBRID, True, "all", []),
    ("Qwen3-235B-A22B", "GB300", "mxfp8"): (HYBRID, True, "all", []),
    ("Qwen3-235B-A22B", "GB200", "mxfp8"): (HYBRID, True, "all", []),
    ("GPT-OSS-120B", "B300", "bf16"): (PLAIN, False, "layer", []),
    # nemotron_3_workload_base_configs.py@06e8da4e and, for Ultra, of the release after it.
    ("Nemotron_3_Nano", "GB300", None): (HYBRID, False, "layer", []),
    ("Nemotron_3_Nano", "GB200", None): (HYBRID, False, "layer", []),
    ("Nemotron_3_Nano", "B300", None): (HYBRID, False, "layer", []),
    ("Nemotron_3_Nano", "B200", None): (HYBRID, False, "layer", []),
    ("Nemotron_3_Nano", "H100-80GB SXM", "fp8"): (
        HYBRID, False, "none", ["moe", "layernorm", "core_attn"]),
    ("Nemotron_3_Super", "GB300", None): (HYBRID, False, "layer", []),
    ("Nemotron_3_Super", "GB200", None): (
        HYBRID, False, "layer", ["layernorm", "core_attn", "moe"]),
    ("Nemotron_3_Super", "B300", None): (DEEP, False, "layer", []),
    ("Nemotron_3_Super", "B200", None): (HYBRID, False, "layer", []),
    ("Nemotron_3_Ultra", "GB300", None): (HYBRID, False, "none", ["moe_act"]),
}


# use_megatron_fsdp with cpu_offloading_num_layers: NVIDIA-NeMo/Megatron-Bridge,
# scripts/performance/configs/llama, llama3_workload_base_configs.py@00919dcf,
# llama31_workload_base_configs.py@0013c9a8.
OFFLOADED = {(f"Llama3{model}", gpu, words) for model, gpu, words in [
    ("-70B", "GB200", "fp8"), ("-70B", "GB300", "fp8"), ("-70B", "GB200", "bf16"),
    ("-70B", "GB300", "bf16"), ("-70B", "B200", "fp8"), (".1-405B", "GB200", "fp8"),
    (".1-405B", "GB300", "fp8"), (".1-405B", "GB300", "bf16")]}


def nemo_of(row):
    """NeMo 1 to container 24.09, by what the row says of itself."""
    old = (row["set"] in ("NVIDIA-NeMo-24.07", "NVIDIA-longseq") or row["id"].startswith("dgxc-24")
           or row["id"].startswith(("mlperf-v3", "mlperf-v4")))
    return "nemo-1" if old else "nemo"


def framework_kind(row):
    return "mcore bridge" if "mbridge" in row["id"] or row["set"] == "NVIDIA-ablation" else "nemo"


def release(row):
    return float(row["id"].split("-")[1][:5]) if "mbridge" in row["id"] else 26.06


def recipe(row):
    """Of a model of experts in Megatron Bridge: dispatcher, overlap, graphs, modules."""
    key = (row["model"], row["gpu"], precision(row))
    found = RECIPES.get(key) or RECIPES.get(key[:2] + (None,))
    if found is None:
        raise LeftOut(f"the recipe of {' '.join(map(str, key))}")
    dispatcher, overlap, graphs, modules = found
    if graphs == "all" and release(row) < 26.06:
        # Of DeepSeek on B300 none: deepseek_workload_base_configs.py@f0e2c37e.
        overlap, graphs = False, "none" if key[:2] == ("DeepSeek-V3-671B", "B300") else "layer"
    if key == ("DeepSeek-V3-671B", "GB300", "mxfp8") and release(row) < 26.06:
        modules = ["mla_up_proj"]  # deepseek_workload_base_configs.py@f0e2c37e
    # Before HybridEP, but for the one whose plan qwen3_workload_base_configs.py@f29a269f has (four
    # stages of twelve pieces, experts on 16 GPUs), with HybridEP and graphs of router and preparation.
    if release(row) < 26 and key[:2] != ("Qwen3-235B-A22B", "GB300"):
        dispatcher = DEEP if row["model"].startswith("DeepSeek") else PLAIN
        graphs = "none"
    return dispatcher, overlap, graphs, modules


def has_experts(row):
    return bool(row.get("experts")) or row["model"].startswith("Nemotron_3")


def experts_of(row):
    if "mbridge" not in row["id"] and row["set"] != "NVIDIA-ablation":
        return {}
    dispatcher, overlap, graphs, _ = recipe(row)
    if row.get("dispatcher"):
        dispatcher = HYBRID if row["dispatcher"] == "HybridEP" else PLAIN
    if row["set"] == "NVIDIA-ablation":
        overlap, graphs = row.get("ep_overlap", False), "layer" if row.get("cuda_graphs") else "none"
    extra = {"dispatcher": dispatcher}
    if overlap:
        extra["overlap_expert"] = True
    if graphs != "none":
        extra["cuda_graphs"] = graphs
    if graphs == "all":
        extra["fused_experts"] = True  # use_transformer_engine_op_fuser goes with them
    if "tokendrop" in row["id"]:
        extra["dropless"] = False
    return extra


def recompute(row, job):
    if has_experts(row) and "mbridge" in row["id"] and recipe(row)[3]:
        job["recompute_modules"] = recipe(row)[3]
        return "selective"
    told = str(row.get("recompute") or "not told")
    if row.get("task") == "LoRA rank 16":
        return "none"
    if told.startswith("full"):
        return "full"
    if "block, 0 layers" in told or told.startswith(("none", "not")):
        return "none"
    if "selective" in told:
        return "selective"
    if told == "moe":
        job["recompute_modules"] = ["moe"]
        return "selective"
    raise LeftOut(f"recomputation {told}")


def model_flop(t, sequence):
    """Of a token, forward and backward, with attention to `sequence` tokens."""
    head = t.get("head_size", t["hidden"] / t["heads"])
    attention = 2 * t["hidden"] * head * (2 * t["heads"] + 2 * t["kv_heads"])
    ffn = 2 * t["hidden"] * t["ffn"] * (3 if t.get("gated") else 2)
    layer = attention + ffn + 4 * sequence * t["heads"] * head
    return 3 * (t["layers"] * layer + 2 * t["hidden"] * t["vocabulary"])


def step_seconds(row, batch, t):
    value, unit = row["value"], row["unit"]
    tokens = batch * row["seq_len"]
    if unit in ("s", "ms"):
        return value / (1000 if unit == "ms" else 1)
    if unit == "tokens/s/GPU":
        return tokens / (value * row["gpus"])
    if unit == "tokens/s":
        return tokens / value
    if row.get("also", {}).get("step_s_derived"):
        return row["also"]["step_s_derived"]
    if unit in ("%", "TFLOP/s/GPU") and not has_experts(row):
        rate = value * (PEAK / 100 if unit == "%" else 1e12)  # full attention: rows say so
        # Megatron Bridge counts half the pairs: its tables print tokens beside TFLOP.
        attended = row["seq_len"] / (2 if "Megatron-Bridge" in row["source"] else 1)
        return tokens * model_flop(t, attended) / (rate * row["gpus"])
    raise LeftOut(f"the step from {unit}")


def job_of(row):
    need(row, "gpus")
    job = {"model": model_of(row),
           "framework": framework(row), "precision": precision(row), "gpus": row["gpus"],
           "sequence": row["seq_len"], "parallel": plan(row)}
    p = job["parallel"]
    data = row["gpus"] // (p["tensor"] * p["pipeline"] * p["context"])
    micro = row.get("micro_batch") or 1
    if row["set"] == "torchtitan" and p["pipeline"] == 1:
        micro = row.get("local_batch") or micro
    if row["set"] == "torchtitan" and p["pipeline"] > 1 and row.get("micro_batch") is None and row.get("local_batch"):
        # As many as stages unless told: pytorch/torchtitan, torchtitan/parallelisms/pipelining_utils.py,
        # build_pipeline_schedule (pipeline_parallel_microbatches).
        micro = max(1, row["local_batch"] // p["pipeline"])
    batch = row.get("global_batch")
    if batch is None:
        raise LeftOut("global_batch is not told")
    if row["set"] == "NeuSight-e2e" and p["pipeline"] == 1:
        micro = batch // data  # a call of the model with all of them: sitar-lab/NeuSight, neusight/Tracing/trace.py
    if p["pipeline"] > 1 and row.get("micro_batch") is None and row["set"] == "NeuSight-e2e":
        raise LeftOut("micro_batch of a pipeline is not told")
    job |= {"global_batch": batch, "micro_batch": micro}
    if batch % (data * micro) or row["gpus"] % (p["tensor"] * p["pipeline"] * p["context"]):
        raise LeftOut("a batch or GPUs that do not divide")
    job["recompute"] = recompute(row, job)
    if row["model"] == "Nemotron_3_Super" and job["precision"] == "nvfp4":
        # num_layers_at_end_in_bf16 of nemotron_3_super_bf16_with_nvfp4_mixed (Megatron Bridge,
        # training/mixed_precision.py), which its perf_recipes take; none at the start by default.
        job["bf16_layers"] = {"last": 14}
    if row["set"] in ("bigscience-A100", "NeuSight-e2e"):
        job["attention"] = "plain"  # NeuSight: attn_implementation="eager" (trace.py, get_model)
    if "LoRA" in str(row.get("task")):
        targets = (["linear_qkv", "linear_proj"] if "MLPerf" in row["set"]
                   else ["linear_qkv"])  # cfg.peft.target_modules of Megatron Bridge's llama3_llm_finetune.py, too
        job["lora"] = {"rank": 16, "targets": targets}
        if "MLPerf" in row["set"]:
            # dropout=0.1, a2a_experimental=True: NVIDIA/NeMo, scripts/performance/llm/mlperf_lora_llama2_70b.py, "based on
            # performance optimizations used in NVIDIA's MLPerf submissions", LORA_A2A=1 of config_common.sh; NVIDIA's other
            # recipes have neither.
            job["lora"] |= {"dropout": True, "all_to_all": True}
        if "MLPerf" in row["set"] and job["precision"] == "fp8":
            # fp8_params: ${FP8}, mlcommons/training_results_v4.0@62f111b7, NVIDIA/benchmarks/llama2_70b_lora/
            # implementations/nemo/conf/megatron_gpt_peft_tuning_config.yaml
            job["lora"]["weights"] = "fp8"
    if any_of(row, SQUAD):
        job |= {"sequence": LONGEST, "global_batch": SAMPLES * batch, "micro_batch": SAMPLES * micro,
                "lengths": {"mean": row["seq_len"] / SAMPLES, "deviation": DEVIATION, "balanced": True}}
        job["model"]["sequence"] = LONGEST
    if any_of(row, CAPACITY):
        job["routing"] = {"capacity": 1.0, "padded": True}
    if row.get("offload_optimizer_fraction"):
        job["offload"] = row["offload_optimizer_fraction"]
    return job


def row_of(row):
    if row["kind"] != "train":
        raise LeftOut("no step")
    if row["set"] == "MLPerf-bert":
        raise LeftOut("sequences without padding")
    if "gpt-oss-note" in (row.get("notes") or ""):
        # grouped_gemm_dglu_wrapper_sm100, ten times as slow from 1.24.0 on (NVIDIA/cudnn-frontend
        # issue 256); the footnote: "Performance regression ... It will be resolved".
        raise LeftOut("a defect of cuDNN that its footnote tells")
    where = platform(row)
    job = job_of(row)
    part = row["set"]
    if row["model"] in HYBRIDS:
        part = "Nemotron-H and 3, with Mamba"
    elif row.get("experts"):
        part += ", experts"
    elif "LoRA" in str(row.get("task")):
        part = part.replace("-llama2_70b_lora", "") + ", LoRA"
    out = {"id": row["id"], "experiment": MADE,
           "settings": {"/cluster/platform": where, "/jobs/0": job}, "quantity": "/step_time_s",
           "measured": round(step_seconds(row, row["global_batch"], job["model"].get("transformer")), 6), "unit": "s",
           "regime": "large-model", "part": part, "source": row["source"]}
    if any(fnmatch(row["id"], used) for used in fitted_rows()):
        out["role"] = "calibration"
    return out


@cache
def fitted_rows():
    return [used for fit in json.loads(FITS.read_text())["fits"] for used in fit["rows"]]


def text_of(suite):
    """The suite as it is kept: a row each line."""
    head = json.dumps({k: v for k, v in suite.items() if k != "rows"}, indent=1)
    return (head.removesuffix("\n}") + ",\n \"rows\": [\n  "
            + ",\n  ".join(json.dumps(row) for row in suite["rows"]) + "\n ]\n}\n")


def main():
    rows = json.loads(Path(sys.argv[1]).read_text())
    suite = json.loads(SUITE.read_text())
    kept = [row for row in suite["rows"] if row["experiment"] != MADE]
    known = {row["id"] for row in kept}
    out = Counter()
    made = []
    for row in rows:
        if "deepspeed" in row["id"]:
            out[row["set"], "another framework, plan not told"] += 1
            continue
        if row["id"] in known or row["kind"] != "train":
            continue
        try:
            made.append(row_of(as_run(row)))
        except LeftOut as why:
            out[row["set"], str(why)] += 1
    for (name, why), count in sorted(out.items()):
        print(f"{name}: {count} left out: {why}", file=sys.stderr)
    print(f"{len(made)} rows", file=sys.stderr)
    if "--show" in sys.argv:
        return
    first = made[0]["settings"]
    suite["experiments"][MADE] = {"cluster": {"platform": first["/cluster/platform"]},
                                  "jobs": [first["/jobs/0"]]}
    suite["rows"] = kept + made
    SUITE.write_text(text_of(suite))


if __name__ == "__main__":
    main()
