#!/usr/bin/env python3
"""How far rates are from predicted ones beside what is known to be uncertain: four spreads in calibration/data/spreads.json.

    cold_spread.py FORETRAIN layers [SUITE ...]             kind layers: rates of one GPU without an anchor (suite networks)
    cold_spread.py FORETRAIN anchored-ranks [SUITE ...]     that kind: rates of several GPUs from a rate of fewer (suite networks-scale)
    cold_spread.py FORETRAIN transformer-experts [SUITE ...]  that kind: steps of models with experts (suite large-models/published)

    cold_spread.py FORETRAIN transformer-scale              that kind: of these steps, what numbers of GPUs do not have in common

Reads the rows of role calibration of these suites (or of those named), with the intervals that the program gives without
that line: it runs on a copy of the data in which the line's spread is 0. Cold rows of Mask R-CNN outside MLPerf are left out. Printed is the smallest
spread with which nine in ten of these rows lie inside. Of anchored rows it is one of the anchor, taken to act on the whole step; nine in ten of
those that are slower than predicted have to lie inside, and nine in ten of the others: causes have a side, which all rows together would hide.
Of transformers' scale it is the standard deviation of measured against predicted in groups of rows that differ by GPUs and global batch alone.
"""
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

SUITES = {"layers": "networks", "anchored-ranks": "networks-scale", "transformer-experts": "large-models/published"}
SPREADS = "calibration/data/spreads.json"
# Its proposals, suppression and matching are thousands of small operations that no network file describes: no spread of kernels.
HOST_BOUND = "Mask R-CNN"
INSIDE = 1.645 # standard deviations to either side of a 90 % interval


def data_without(folder, kind):
    """The data, but without the spread of this kind."""
    table = json.loads((ROOT / SPREADS).read_text())
    for line in table["spreads"]:
        if line["kind"] == kind:
            line["spread"] = 0
    changed_data.write(folder, {SPREADS: json.dumps(table)})


def anchored_rows(suite):
    """Ids of the rows that start from a measured rate."""
    told = json.loads((ROOT / f"experiments/validation/{suite}.json").read_text())
    return {row["id"] for row in told["rows"] if "/jobs/0/anchor" in row.get("settings", {})}


def counts(row, kind, anchored):
    if kind == "transformer-experts":
        return "experts" in row["part"] or "Nemotron_3" in row["id"]
    if kind == "layers":
        return HOST_BOUND not in row["part"] and row["regime"] == "compute" and row["id"] not in anchored
    return row["id"] in anchored


def rows(program, suite, data, kind):
    text = subprocess.run([program, "validate", str(ROOT / f"experiments/validation/{suite}.json"), "--format", "csv"], text=True, capture_output=True,
                          env=dict(os.environ, FORETRAIN_DATA=str(data))).stdout
    anchored = anchored_rows(suite)
    for row in csv.DictReader(io.StringIO(text)):
        if row["role"] == "calibration" and counts(row, kind, anchored) and row["low"]:
            low, high, told, measured = (float(row[key]) for key in ("low", "high", "predicted", "measured"))
            yield math.log(measured / told), math.log(high / low) / (2 * INSIDE)


def scale_spread(program, suite):
    """Standard deviation within groups of rows that describe one job on different numbers of GPUs."""
    told = {row["id"]: row for row in json.loads((ROOT / f"experiments/validation/{suite}.json").read_text())["rows"]}
    text = subprocess.run([program, "validate", str(ROOT / f"experiments/validation/{suite}.json"), "--format", "csv"], text=True, capture_output=True).stdout
    groups = {}
    for row in csv.DictReader(io.StringIO(text)):
        if row["role"] == "calibration" and row["predicted"]:
            settings = {key: value for key, value in told[row["id"]].get("settings", {}).items()
                        if key not in ("/cluster/nodes", "/jobs/0/gpus", "/jobs/0/global_batch")}
            if isinstance(job := settings.get("/jobs/0"), dict):
                settings["/jobs/0"] = {key: value for key, value in job.items() if key not in ("gpus", "global_batch", "name")}
            key = row["part"], told[row["id"]].get("experiment"), json.dumps(settings, sort_keys=True)
            groups.setdefault(key, []).append(math.log(float(row["measured"]) / float(row["predicted"])))
    groups = [offs for offs in groups.values() if len(offs) > 1]
    free = sum(len(offs) - 1 for offs in groups)
    squares = sum((off - sum(offs) / len(offs)) ** 2 for offs in groups for off in offs)
    return f"{sum(map(len, groups))} rows in {len(groups)} groups, {free} degrees of freedom: {math.sqrt(squares / free):.4f}"


def inside(found, spread):
    return sum(abs(off) < INSIDE * math.hypot(known, spread) for off, known in found) / len(found)


kind = sys.argv[2]
if kind == "transformer-scale":
    sys.exit(print(scale_spread(sys.argv[1], SUITES["transformer-experts"])))
with tempfile.TemporaryDirectory() as folder:
    data_without(folder, kind)
    found = [row for suite in sys.argv[3:] or [SUITES[kind]] for row in rows(sys.argv[1], suite, folder, kind)]
sides = [[row for row in found if row[0] < 0], [row for row in found if row[0] >= 0]] if kind == "anchored-ranks" else [found]
spread = next(s / 100 for s in range(200) if all(inside(side, s / 100) >= 0.9 for side in sides))
print(f"{len(found)} rows, {100 * inside(found, 0):.0f} % inside without, {100 * inside(found, spread):.0f} % with {spread:.2f}")
