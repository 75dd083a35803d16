#!/usr/bin/env bash
# 4096 GPUs (1024 nodes of four) with some 50 buckets a step, ring and hierarchical, and a second job on 64 further
# nodes: core seconds per simulated step and peak memory.
#   tests/bench/scale.sh [PROGRAM]
set -euo pipefail
cd "$(dirname "$0")/../.."
program=${1:-build/release/foretrain}

measure() { # label, algorithm, second job's GPUs
  python3 - "$program" "$@" <<'PY'
import json, os, subprocess, sys, tempfile
program, label, algorithm, second = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
platform = {"extends": "c4140-v100-sxm2", "max_nodes": 2048}


def job(name, gpus, steps):
    return {"name": name, "model": "resnet50", "framework": {"extends": "pytorch-horovod-mgwfbp", "fusion_threshold": "2.1 MB",
            "algorithm": algorithm}, "precision": "fp32", "batch_per_gpu": 64, "gpus": gpus, "warmup_steps": 0, "steps": steps}


def run(steps):
    jobs = [job("large", 4096, steps)] + ([job("second", second, steps)] if second else [])
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"name": "scale", "cluster": {"platform": platform}, "jobs": jobs}, file)
        file.flush()
        child = subprocess.Popen([program, "predict", file.name, "--format", "json"], stdout=subprocess.PIPE, text=True)
        out = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        if status:
            sys.exit("failed: " + out)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024, json.loads(out)["points"][0]["jobs"]


few, many = run(1), run(6)
print(f"{label:<44} {(many[0] - few[0]) / 5:6.2f} s a step, {few[0]:6.2f} s with one step, {many[1]:5d} MB, {many[2][0]['all_reduce']}")
PY
}

measure "4096 GPUs, ring" ring 0
measure "4096 GPUs, hierarchical" hierarchical 0
measure "4096 GPUs, ring, second job on 64 nodes" ring 256
measure "4096 GPUs, hierarchical, second job" hierarchical 256
