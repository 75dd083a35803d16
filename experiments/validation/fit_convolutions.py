#!/usr/bin/env python3
"""Efficiencies of convolutions on tensor cores, fitted to published rates: dense_efficiency of platforms/data/gpus/*.json.

    fit_convolutions.py FORETRAIN

Prints, for each GPU and precision that has a number of its own, today's and the fitted one: robust least squares of log(predicted / published)
over the calibration rows that calibration/data/fits.json lists for them, each part of a suite with the root of its rows as weight, held to
today's by a third of a row. What the number does to a rate is seen by running the suites with all of them 3 % larger, on a copy of the data. The rate
of narrow tiles (experiments/spec/kernel_curves.cpp) was fitted with them and is not tried here.
"""
import collections
import csv
import io
import json
import math
import os
import subprocess
import sys
import tempfile

import changed_data
from changed_data import ROOT

SUITES = ("networks", "one-gpu")
STEP = 1.03
FAR = 0.15  # residuals count less from here on (soft L1)
HOLD = 0.09  # weight of today's number
ROUNDS = 4


def read(kind, name):
    return json.loads((ROOT / f"platforms/data/{kind}/{name}.json").read_text())


def gpu_of(platform):
    """The preset of a platform's GPUs, by name or as it is written in place."""
    while True:
        written = platform if isinstance(platform, dict) else read("platforms", platform)
        found = written.get("node", {}).get("gpus", {}).get("type")
        if found:
            return found
        platform = written["extends"]


def holder_of(gpu, precision):
    """The file that says the efficiency of this GPU in this precision."""
    while "dense_efficiency" not in read("gpus", gpu).get(precision, {}):
        gpu = read("gpus", gpu)["extends"]
    return gpu, precision


def fitted_rows():
    fits = json.loads((ROOT / "calibration/data/fits.json").read_text())["fits"]
    return set(next(fit for fit in fits if "tiles of 64 and 32" in fit["parameters"])["rows"])


def parameters():
    """Of each row: part and the efficiency that its convolutions go by."""
    rows, listed = {}, fitted_rows()
    for suite in SUITES:
        file = json.loads((ROOT / f"experiments/validation/{suite}.json").read_text())
        for row in file["rows"]:
            experiment = file["experiments"][row["experiment"]]
            job = experiment["jobs"][0]
            precision = row.get("settings", {}).get("/jobs/0/precision", job.get("precision", "fp32"))
            if row["id"] in listed:
                rows[row["id"]] = holder_of(gpu_of(experiment["cluster"]["platform"]), precision)
    return rows


def rates(program, efficiencies):
    """log(published / predicted) of each row with these efficiencies."""
    with tempfile.TemporaryDirectory() as folder:
        texts = {}
        for name in {name for name, _ in efficiencies}:
            gpu = read("gpus", name)
            for (holder, precision), value in efficiencies.items():
                if holder == name:
                    gpu[precision]["dense_efficiency"] = value
            texts[f"platforms/data/gpus/{name}.json"] = json.dumps(gpu)
        changed_data.write(folder, texts)
        told = {}
        for suite in SUITES:
            text = subprocess.run([program, "validate", suite, "--format", "csv"], text=True, capture_output=True,
                                  env=dict(os.environ, FORETRAIN_DATA=folder)).stdout
            for row in csv.DictReader(io.StringIO(text)):
                if row["predicted"]:
                    faster = -1 if row["unit"] in ("s", "ms") else 1
                    told[row["id"]] = (row["part"], faster * math.log(float(row["measured"]) / float(row["predicted"])))
        return told


def main():
    program = sys.argv[1]
    rows = parameters()
    today = {key: read("gpus", key[0])[key[1]]["dense_efficiency"] for key in set(rows.values())}
    now = dict(today)
    for _ in range(ROUNDS):
        errors = rates(program, now)
        moved = rates(program, {key: value * STEP for key, value in now.items()})
        parts = collections.Counter(errors[name][0] for name in rows)
        sums = {key: [HOLD * math.log(today[key] / now[key]), HOLD] for key in now}
        for name, key in rows.items():
            part, error = errors[name]
            slope = (error - moved[name][1]) / math.log(STEP)
            weight = 1 / math.sqrt(parts[part]) / math.sqrt(1 + (error / FAR) ** 2)
            sums[key][0] += weight * slope * error
            sums[key][1] += weight * slope**2
        now = {key: value * math.exp(sums[key][0] / sums[key][1]) for key, value in now.items()}
    count = collections.Counter(rows.values())
    for key in sorted(now):
        print(f"{key[0]:20} {key[1]:5} {count[key]:3} rows  today {today[key]:.2f}  fitted {now[key]:.3f}")
    off = [abs(error) for name, (_, error) in rates(program, today).items() if name in rows]
    print(f"{len(off)} rows, mean error today {100 * sum(off) / len(off):.1f} %")


if __name__ == "__main__":
    main()
