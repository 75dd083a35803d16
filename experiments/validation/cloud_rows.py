#!/usr/bin/env python3
"""The suite `cloud`: rates of pods on a cloud's instances, by placement, from that of one GPU at the same batch.

    experiments/validation/cloud_rows.py FOLDER            writes it beside this file

FOLDER holds Pollux's measured placements (petuum/adaptdl, branch osdi21-artifact, simulator/traces): placement, local_bsz, step_time,
sync_time. The set-up is that of the artifact's benchmark/: main.tf (16 g4dn.12xlarge in one placement group, kubeadm, Calico v3.11 from its
manifest, which tunnels IP in IP), adaptdljob.yaml of each network (a pod for each GPU), Dockerfile of each (NGC's PyTorch 20.10 with NCCL 2.7.8, of
cifar10 20.03 with NCCL 2.6.3; NCCL 2.8's constants stand for both). A job of one GPU is a DistributedDataParallel there, too, so that its rate holds the copies of
gradients. Taken are a batch in the middle of those measured and six placements, with
as many GPUs on each node: their hundreds of rows say one thing many times.
"""
import csv
import json
import pathlib
import sys

SQUAD = {"extends": "bert-base", "input": {"tokens": 384}, "head": [{"op": "linear", "out": 2, "name": "answers"}]}
NETWORKS = {"imagenet": ("resnet50", 57), "bert": (SQUAD, 8), "cifar10": ("resnet18", 129)}
VERSION = {"imagenet": 2708, "bert": 2708, "cifar10": 2603}
PLACEMENTS = ("4", "11", "1111", "22", "44", "4444")
SOURCE = "petuum/adaptdl @c793c7089bd3, branch osdi21-artifact: simulator/traces/{}/placements.csv"


def rows_of(folder):
    rows = []
    for name, (_, batch) in NETWORKS.items():
        with open(folder / f"{name}-placements.csv", newline="") as file:
            seconds = {(it["placement"], int(it["local_bsz"])): float(it["step_time"]) for it in csv.DictReader(file)}
        common = {"measured": None, "unit": "samples/s", "part": f"Pollux, {name}", "source": SOURCE.format(name)}
        one = f"pollux-{name}-b{batch}-1"
        rows.append({"id": one, "experiment": name, "settings": {"/jobs/0/batch_per_gpu": batch, "/jobs/0/gpus": 1},
                     **common, "measured": round(batch / seconds["1", batch], 4), "regime": "compute", "role": "calibration"})
        for place in PLACEMENTS:
            if (place, batch) in seconds:
                nodes, gpus = len(place), len(place) * int(place[0])
                rows.append({"id": f"pollux-{name}-b{batch}-{place}", "experiment": name,
                             "settings": {"/cluster/nodes": nodes, "/jobs/0/batch_per_gpu": batch, "/jobs/0/gpus": gpus},
                             **common, "measured": round(batch * gpus / seconds[place, batch], 4), "regime": "network" if nodes > 1 else "intra-node",
                             "anchor": one})
    return rows


def main():
    experiments = {
        name: {"cluster": {"platform": "g4dn-12xlarge", "fabric": "aws-placement-group"},
               "stack": {"host": "pod-per-gpu", "network": "calico-ipip"},
               "jobs": [{"model": model, "framework": {"extends": "pytorch-ddp", "bucket_copies": False, "library": {"extends": "nccl-2.8", "version": VERSION[name]}}, "precision": "fp32",
                         "batch_per_gpu": batch, "placement": "spread"}]}
        for name, (model, batch) in NETWORKS.items()}
    suite = {"format": "foretrain.suite/1", "name": "cloud",
             "description": "Rates of pods on a cloud's instances, by placement, from that of one GPU",
             "notes": "Written by experiments/validation/cloud_rows.py, which says what was taken. 16 g4dn.12xlarge; the version of NCCL is that of NGC's containers.",
             "experiments": experiments, "rows": rows_of(pathlib.Path(sys.argv[1]))}
    pathlib.Path(__file__).with_name("cloud.json").write_text(json.dumps(suite, indent=1) + "\n")


if __name__ == "__main__":
    main()
