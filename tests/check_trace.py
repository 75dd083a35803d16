#!/usr/bin/env python3
"""A predicted timeline, read as Holistic Trace Analysis reads a recorded one, holds the simulated numbers.

    tests/check_trace.py FORETRAIN

HTA's temporal breakdown (hta/analyzers/breakdown_analysis.py): of the time from the first kernel to the
last, `compute` is covered by kernels that do not communicate, `non compute` by others only, `idle` by none.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

DATA_PARALLEL = {
    "cluster": {"platform": "c4140-m-v100-sxm2", "nodes": 2},
    "stack": {"network": "ipoib"},
    "jobs": [{"name": "train", "model": "vgg16", "framework": "pytorch-horovod", "batch_per_gpu": 32, "gpus": 8,
              "steps": 1}],
}
LARGE = {
    "cluster": {"platform": "hgx-h100"},
    "jobs": [{"name": "train", "model": "llama-3-8b", "framework": "nemo", "precision": "bf16", "gpus": 32,
              "sequence": 8192, "global_batch": 64, "micro_batch": 1, "recompute": "none",
              "parallel": {"tensor": 2, "sequence_parallel": True, "pipeline": 4, "virtual_stages": 2,
                           "schedule": "interleaved", "zero": 1}}],
}


def merged(spans):
    result = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1]:
            result[-1][1] = max(result[-1][1], end)
        else:
            result.append([start, end])
    return result


def length(spans):
    return sum(end - start for start, end in merged(spans))


def breakdown(events, pid):
    kernels = [e for e in events if e.get("cat") == "kernel" and e["pid"] == pid]
    spans = {True: [], False: []}
    for e in kernels:
        assert {"stream", "correlation"} <= e["args"].keys(), e
        spans[bool(re.search("nccl", e["name"], re.I))].append((e["ts"], e["ts"] + e["dur"]))
    both = spans[True] + spans[False]
    span = max(e for _, e in both) - min(s for s, _ in both)
    busy = length(both)
    return {"compute": length(spans[False]), "non_compute": busy - length(spans[False]), "idle": span - busy}


def differences(foretrain, experiment, tolerance):
    """Of one experiment: `tolerance` is a share of the step."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        path = folder / "experiment.json"
        path.write_text(json.dumps(experiment))
        shown = subprocess.run([foretrain, "predict", path, "--out", folder / "out", "--trace", "--format", "json"],
                               check=True, capture_output=True, text=True)
        told = json.loads(shown.stdout)["points"][0]["jobs"][0]["time_s"]
        trace = next(p for p in (folder / "out").glob("*trace*.json"))
        events = json.loads(trace.read_text())["traceEvents"]
        ranks = sorted({e["pid"] for e in events if e.get("cat") == "kernel"})
        by_rank = [breakdown(events, rank) for rank in ranks]
        # A large model's parts are those of its busiest stage, which is the one that `trace show` takes, too.
        found = max(by_rank, key=lambda parts: parts["compute"] + parts["non_compute"])
        by_reader = json.loads(subprocess.run([foretrain, "trace", "show", trace, "--format", "json"], check=True,
                                              capture_output=True, text=True).stdout)["time_s"]
    compute = told["compute"] + told.get("recompute", 0)
    problems = []
    for name, value, wanted in (("compute", found["compute"] * 1e-6, compute),
                                ("communication", found["non_compute"] * 1e-6, told["exposed_communication"]),
                                ("compute of trace show", by_reader["compute_s"], compute),
                                ("communication of trace show", by_reader["exposed_communication_s"],
                                 told["exposed_communication"])):
        if abs(value - wanted) > tolerance * sum(told.values()):
            problems.append(f"{name}: {value * 1e3:.3f} ms in the timeline, {wanted * 1e3:.3f} ms told")
    return problems


def main(foretrain):
    problems = differences(foretrain, DATA_PARALLEL, 0.05)  # one rank and step against the mean of all
    problems += differences(foretrain, LARGE, 1e-5)
    print("\n".join(problems) or "the timelines hold the simulated numbers")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
