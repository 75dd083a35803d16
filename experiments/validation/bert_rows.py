#!/usr/bin/env python3
"""The suite `bert`: MLPerf's BERT, whose sequences differ in length and are trained without padding.

    experiments/validation/bert_rows.py ROWS.json...            writes bert.json beside this file

ROWS.json are lists of published rows (modern.json, modern-3.json and measurements-3.json of the reference). Those of one node are predicted
without an anchor; those of several start from the rate of one node of the same submitter, round and GPU, where there is one that no other row of
the same kind precedes. The job is NVIDIA's program: LAMB with optimizer states shared out within each node (DistributedFusedLAMB), fused kernels,
outputs of masked tokens alone (--dense_seq_output), half precision on A100 and older, fp8 on Hopper and later, sequences handed from GPU to GPU until
all have as many tokens (--exchange_padding) or packed. The batch of a GPU is the logged global batch by GPUs and steps of gradients: the number in a
configuration's name counts packs of two sequences (PACKING_FACTOR) in one kind of program, and all steps together in the other. Up to six packs are
run as a CUDA graph. Lengths: Wikipedia in sequences of up to 512 tokens, 255.8 in the mean, standard deviation 183 (16,279,552
sequences: graphcore/examples, tutorials/blogs_code/packedBERT/histograms.py; Krell et al., arXiv:2107.02027). Left out: machines that have no platform
here, nodes of 10 GPUs, Omni-Path, Paddle, tinygrad, several steps of gradients on one GPU without its batch being divided.
"""
import json
import pathlib
import re
import sys

from network_rows import FOUR_ADAPTERS, NODES, Suite, has_four_adapters, hosted, name_of

LENGTHS = {"mean": 255.8, "deviation": 183, "balanced": True}
MODEL = "bert-large-mlperf"
MORE_NODES = [(r"A100-SXM-40GB", 4, {"extends": "xe8545", "node": {"gpus": {"type": "a100-sxm4-40gb"}}}),
              (r"H100 80GB HBM3", 8, "hgx-h100")]
FRAMEWORK = "pytorch-mlperf-bert"
GRAPH = "pytorch-mlperf-bert-graphs"
STRANGE = ("1opa", "2opa", "Paddle", "tinycorp", "Krai", "krai", "Clemson", "L40Sx16")


def system_of(row):
    system = row.get("system")
    if isinstance(system, dict):
        return system["gpu"], system["gpus"], system["nodes"], system["gpus_per_node"], system["name"]
    return row["gpu"], row["gpus"], row["nodes"], row["gpus_per_node"], row["node_type"]


def network_of(row):
    return row["system"].get("network", "") if isinstance(row.get("system"), dict) else row.get("inter_node") or ""


def platform_of(gpu, per_node, network=""):
    if has_four_adapters(gpu, per_node, network):
        return FOUR_ADAPTERS
    for words, gpus, platform in MORE_NODES + NODES:
        if gpus == per_node and re.search(words, gpu, re.IGNORECASE):
            return platform
    return None


def submission(row):
    """Round, submitter and GPU: the same machines and program."""
    round_name, submitter = re.match(r"mlperf-(v[\d.]+)-bert-([A-Za-z]+)", row["id"]).groups()
    return round_name, submitter, system_of(row)[0]


def main():
    told_rows = [row for file in sys.argv[1:] for row in json.load(open(file))]
    rows = [row for row in told_rows if row.get("set", "").lower() == "mlperf-bert"]
    # What other rows of the same machine tell of it.
    cpus = {row["system"]["name"]: row["system"]["cpu"] for row in told_rows
            if isinstance(row.get("system"), dict) and row["system"].get("cpu") and row["system"].get("name")}
    experiments, told = {}, []
    anchors = set()
    first = {}  # rows of one node of each submission
    for row in sorted(rows, key=lambda row: (system_of(row)[2], row["id"])):
        gpu, gpus, nodes, per_node, name = system_of(row)
        platform = platform_of(gpu, per_node, network_of(row) if nodes > 1 else "")
        accumulated = row.get("grad_accum", 1)
        batch = row["global_batch"] // (gpus * accumulated)
        if platform is None or any(word in row["id"] for word in STRANGE) or (accumulated > 1 and "config_file" not in row):
            continue
        if nodes == 1:
            platform = hosted(platform, cpus.get(name), name)
        hopper = re.search(r"H100|H200|B200|GB200", gpu)
        if nodes == 1:
            first.setdefault(submission(row), row)
        anchor = first.get(submission(row)) if nodes > 1 else None
        if nodes > 1 and anchor is None:
            continue
        graph = batch > row.get("micro_batch", batch) and row["micro_batch"] <= 6
        label = name_of(platform) + (f", {nodes} nodes" if nodes > 1 else "") + (", gradients added up" if accumulated > 1 else "")
        experiments[label] = {"cluster": {"platform": platform, **({"nodes": nodes} if nodes > 1 else {})},
                              "jobs": [{"model": MODEL, "framework": GRAPH if graph else FRAMEWORK, "precision": "bf16", "optimizer": "lamb",
                                        "parallel": {"zero": 1, "shard": "node"}, "lengths": LENGTHS, "global_batch" if accumulated > 1 else "batch_per_gpu": 8, "gpus": gpus}]}
        settings = {"/jobs/0/gpus": gpus, "/jobs/0/precision": "fp8" if hopper else "fp16",
                    **({"/jobs/0/micro_batch": batch, "/jobs/0/global_batch": batch * accumulated * gpus} if accumulated > 1
                       else {"/jobs/0/batch_per_gpu": batch})}
        if anchor:
            anchors.add(anchor["id"])
            its = system_of(anchor)
            settings["/jobs/0/anchor"] = {"samples_per_s": anchor["value"], "gpus": its[1],
                                          "batch_per_gpu": anchor["global_batch"] // its[1]}
        kind = re.search(r"A100|A30|H100|H200|GB200|B200|L40S", gpu).group()
        told.append({"id": row["id"], "experiment": label, "settings": settings, "measured": row["value"], "unit": "samples/s",
                     "regime": "network" if nodes > 1 else "intra-node", "part": f"{kind}, nodes from one" if nodes > 1 else f"{kind}, one node",
                     **({} if row["role"] == "test" else {"role": "calibration"}),
                     "source": row["source"] if isinstance(row["source"], str) else f"{row['source']['repo']} {row['source']['path']}"})
    for row in told:
        if row["id"] in anchors:
            row["role"] = "calibration"
    suite = Suite("bert", "MLPerf's BERT-large: sequences of different length without padding, one node cold, several from the rate of one",
                  "Written by experiments/validation/bert_rows.py.")
    suite.experiments, suite.rows = experiments, told
    suite.write(pathlib.Path(__file__).resolve().parent)


if __name__ == "__main__":
    main()
