#!/usr/bin/env python3
"""Predicts each kind of model of the CPU twin from the others.

    leave_one_out.py FORETRAIN MACHINE

For each kind a profile is fitted to the calibration records of the other kinds; then all runs of that kind on the loopback
device are predicted with it. Prints the error of the throughput, on one core and on several ranks.
"""
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
FORETRAIN, MACHINE = sys.argv[1], sys.argv[2]
RECORDS = HERE.parents[1] / "realrun" / "records" / MACHINE


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def errors(kind, folder):
    logs = run(sys.executable, HERE / "twin_suites.py", FORETRAIN, MACHINE, "--calibration", "--without", kind).split()
    profile = Path(folder) / "profile.json"
    run(FORETRAIN, "calibrate", *logs, "--platform", MACHINE, "--out", profile)
    # Not with the suites' experiments, which have the profile that all kinds taught.
    found = {1: [], 2: []}
    for path in sorted(RECORDS.glob(f"{kind}-*.json")):
        record = json.loads(path.read_text())
        if record["settings"].get("path") != "loopback" or record["settings"]["input"] != "synthetic":
            continue
        experiment = Path(folder) / path.name
        experiment.write_text(run(FORETRAIN, "realrun-import", path, "--platform", MACHINE, "--profile", profile))
        answer = json.loads(run(FORETRAIN, "predict", experiment, "--uncertainty", "steps", "--format", "json"))
        predicted = answer["points"][0]["jobs"][0]["throughput_samples_per_s"]["median"]
        measured = next(series["repetitions"] for series in record["series"]
                        if series["name"] == "throughput" and not series["labels"])
        found[min(2, record["settings"]["world"])].append(
            abs(predicted / statistics.median(sample for repetition in measured for sample in repetition) - 1))
    return found


print("| left out | one core: rows, mean, maximum | several ranks: rows, mean, maximum |\n| --- | --- | --- |")
for left_out in ("mlp", "convnet", "transformer"):
    with tempfile.TemporaryDirectory() as scratch:
        cells = [f"{len(e)}, {100 * sum(e) / len(e):.1f} %, {100 * max(e):.1f} %"
                 for e in errors(left_out, scratch).values()]
    print(f"| {left_out} | {' | '.join(cells)} |")
