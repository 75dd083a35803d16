#!/usr/bin/env python3
"""A predicted timeline, read as Holistic Trace Analysis reads a recorded one, holds the simulated numbers.

    tests/check_hta.py FORETRAIN

HTA's temporal breakdown (hta/analyzers/breakdown_analysis.py): of the time from the first kernel to the last,
`compute` is covered by kernels that do not communicate, `non compute` by others only, `idle` by none. Three jobs:
data-parallel training, a recorded step of two ranks that differ, with an all-to-all that one of them waits for, and a
large model in a pipeline.
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
RECORDED = {
    "cluster": {"platform": {"extends": "c4140-m-v100-sxm2",
                             "node": {"gpus": {"type": {"extends": "v100-sxm2-16gb", "speed_variation": 0}}}}, "nodes": 1},
    "jobs": [{"name": "replay", "model": "./recorded.json", "batch_per_gpu": 1, "gpus": 2, "steps": 1,
              "framework": {"extends": "pytorch-ddp", "step_variation": 0}}],
}
LARGE = {
    "cluster": {"platform": "hgx-h100"},
    "jobs": [{"name": "train", "model": "llama-3-8b", "framework": "nemo", "precision": "bf16", "gpus": 8,
              "steps": 1, "sequence": 8192, "global_batch": 16, "micro_batch": 1, "recompute": "none",
              "parallel": {"tensor": 2, "sequence_parallel": True, "pipeline": 4, "virtual_stages": 2,
                           "schedule": "interleaved", "zero": 1}}],
}
RECORDED_MODEL = {
    "format": "foretrain.network/1",
    "measured": {
        "precision": "fp32", "ranks": 2, "backward": [{"product": "1 ms"}],
        "exchanges": [{"kind": "all-to-all", "size": "40 MB"}, {"kind": "all-gather", "size": "20 MB"}],
        "lines": [
            {"rank": rank, "pieces": [
                {"phase": "forward", "product": first, "starts": [0]},
                {"phase": "forward", "idle": "0.1 ms", "memory": "0.2 ms"},      # beside the all-to-all
                {"phase": "backward", "product": "3 ms", "after": [0], "starts": [1]},
                {"phase": "optimizer", "memory": "0.5 ms", "after": [1]}]}
            for rank, first in ((0, "1 ms"), (1, "2 ms"))],
    },
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
    """HTA's, in seconds."""
    kernels = [e for e in events if e.get("cat") == "kernel" and e["pid"] == pid]
    spans = {True: [], False: []}
    for e in kernels:
        assert {"stream", "correlation"} <= e["args"].keys(), e
        spans[bool(re.search("nccl", e["name"], re.I))].append((e["ts"], e["ts"] + e["dur"]))
    both = spans[True] + spans[False]
    span = max(e for _, e in both) - min(s for s, _ in both)
    busy = length(both)
    return {"compute": length(spans[False]) * 1e-6, "non_compute": (busy - length(spans[False])) * 1e-6,
            "idle": (span - busy) * 1e-6}


def predicted(foretrain, folder, experiment):
    """What a prediction tells, its timeline's events, and what `trace show` finds in the timeline."""
    path = folder / "experiment.json"
    path.write_text(json.dumps(experiment))
    (folder / "recorded.json").write_text(json.dumps(RECORDED_MODEL))
    shown = subprocess.run([foretrain, "predict", path, "--out", folder / "out", "--trace", "--format", "json"],
                           check=True, capture_output=True, text=True)
    job = json.loads(shown.stdout)["points"][0]["jobs"][0]
    trace = next(p for p in (folder / "out").glob("*trace*.json"))
    events = json.loads(trace.read_text())["traceEvents"]
    by_reader = json.loads(subprocess.run([foretrain, "trace", "show", trace, "--format", "json"], check=True,
                                          capture_output=True, text=True).stdout)
    return job, events, by_reader


def check_data_parallel(foretrain, folder, problems):
    job, events, by_reader = predicted(foretrain, folder, DATA_PARALLEL)
    told = job["time_s"]
    found = breakdown(events, 0)
    for name, value, wanted in (
            ("compute", found["compute"], told["compute"]),
            ("communication", found["non_compute"], told["exposed_communication"]),
            ("compute of trace show", by_reader["time_s"]["compute_s"], told["compute"]),
            ("communication of trace show", by_reader["time_s"]["exposed_communication_s"],
             told["exposed_communication"])):
        if abs(value - wanted) > 0.05 * sum(told.values()):  # one rank and step against the mean of all
            problems.append(f"{name}: {value * 1e3:.3f} ms in the timeline, {wanted * 1e3:.3f} ms told")
    problems += [f"trace show tells {key}: {value}" for key, value in by_reader["time_s"].items() if value < 0]


def check_recorded(foretrain, folder, problems):
    job, events, by_reader = predicted(foretrain, folder, RECORDED)
    told = job["time_s"]
    ranks = [breakdown(events, pid) for pid in (0, 1)]
    mean = {key: sum(rank[key] for rank in ranks) / 2 for key in ranks[0]}
    # NCCL's kernel of a rank that is early runs until the other has come.
    wanted = {"compute": told["compute"], "idle": told["framework"],
              "non_compute": told["exposed_communication"] + told["straggler_wait"]}
    for key, value in wanted.items():
        if abs(mean[key] - value) > 1e-7:
            problems.append(f"recorded job: {key} is {mean[key] * 1e3:.4f} ms in the timeline, {value * 1e3:.4f} ms told")
    early = ranks[0]["non_compute"] - ranks[1]["non_compute"]
    if abs(early - 1e-3) > 1e-7:  # both compute 0.2 ms beside it
        problems.append(f"recorded job: rank 0, 1 ms early, waits {early * 1e3:.4f} ms longer instead of 1 ms")
    names = {(e["args"]["Collective name"], e["args"]["Group size"], e["args"]["In msg nelems"], e["args"]["Out msg nelems"])
             for e in events if e.get("cat") == "kernel" and "Collective name" in e["args"]}
    if names != {("all_to_all", 2, 40e6, 40e6), ("_allgather_base", 2, 10e6, 20e6)}:
        problems.append(f"recorded job: collectives are {names}")
    kinds = {(c["kind"], c["bytes"]) for c in by_reader["collectives"]}
    if kinds != {("all-to-all", 40e6), ("all-gather", 20e6)}:
        problems.append(f"recorded job: trace show finds {kinds}")


def check_large(foretrain, folder, problems):
    job, events, by_reader = predicted(foretrain, folder, LARGE)
    told = job["time_s"]
    ranks = sorted({e["pid"] for e in events if e.get("cat") == "kernel"})
    # Parts are means over devices; a rank that stands for several computes as long as the slowest of them.
    found = {key: sum(breakdown(events, rank)[key] for rank in ranks) / len(ranks) for key in breakdown(events, 0)}
    compute = told["compute"] + told["recompute"] + told["straggler_wait"]
    by_stage = [breakdown(events, rank) for rank in ranks]
    # `trace show` takes the busiest stage.
    busiest = max(by_stage, key=lambda parts: parts["compute"] + parts["non_compute"])
    for name, value, wanted in (
            ("compute", found["compute"], compute),
            ("compute of trace show", by_reader["time_s"]["compute_s"], busiest["compute"]),
            ("communication of trace show", by_reader["time_s"]["exposed_communication_s"], busiest["non_compute"])):
        if abs(value - wanted) > 1e-5 * sum(told.values()):
            problems.append(f"large model: {name}: {value * 1e3:.3f} ms in the timeline, {wanted * 1e3:.3f} ms told")
    # A send that no stage waits for is drawn, and part of a bubble.
    exposed = told["exposed_communication"]
    if not exposed <= found["non_compute"] <= exposed + told["bubble"]:
        problems.append(f"large model: {found['non_compute'] * 1e3:.3f} ms of communication in the timeline, "
                        f"{exposed * 1e3:.3f} ms told")


    # The eight gathered activations of a piece of four layers are one event, of two ranks whatever ranks stand for.
    exchanges = [event["args"] for event in events if event.get("cat") == "kernel" and "Collective name" in event["args"]]
    gathered = {args["Out msg nelems"] for args in exchanges if args["Collective name"] == "_allgather_base"}
    activation = 8192 * 4096 * 2
    if {args["Group size"] for args in exchanges} != {2} or not gathered or any(size % activation for size in gathered) or 8 * activation not in gathered:
        problems.append(f"large model: exchanges are {[(a['Collective name'], a['Group size'], a['Out msg nelems']) for a in exchanges[:6]]}")


def main(foretrain):
    problems = []
    for check in (check_data_parallel, check_recorded, check_large):
        with tempfile.TemporaryDirectory() as folder:
            check(foretrain, pathlib.Path(folder), problems)
    print("\n".join(problems) or "the timelines hold the simulated numbers")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
