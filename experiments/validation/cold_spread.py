#!/usr/bin/env python3
"""How far rates are from predicted ones beside what is known to be uncertain: three spreads in calibration/data/spreads.json.

    cold_spread.py FORETRAIN layers [SUITE ...]             kind layers: rates of one GPU without an anchor (suite networks)
    cold_spread.py FORETRAIN anchored-ranks [SUITE ...]     that kind: rates of several GPUs from a rate of fewer (suite networks-scale)
    cold_spread.py FORETRAIN transformer-experts [SUITE ...]  that kind: steps of models with experts (suite large-models/published)

Reads the rows of role calibration of these suites (or of those named), with the intervals that the program gives without
that line: it runs on a copy of the data in which the line's spread is 0. Cold rows of Mask R-CNN outside MLPerf are left out. Printed is the smallest
spread with which nine in ten of these rows lie inside. Of anchored rows it is one of the anchor, taken to act on the whole step; nine in ten of
those that are slower than predicted have to lie inside, and nine in ten of the others: causes have a side, which all rows together would hide.
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


def inside(found, spread):
    return sum(abs(off) < INSIDE * math.hypot(known, spread) for off, known in found) / len(found)


kind = sys.argv[2]
with tempfile.TemporaryDirectory() as folder:
    data_without(folder, kind)
    found = [row for suite in sys.argv[3:] or [SUITES[kind]] for row in rows(sys.argv[1], suite, folder, kind)]
sides = [[row for row in found if row[0] < 0], [row for row in found if row[0] >= 0]] if kind == "anchored-ranks" else [found]
spread = next(s / 100 for s in range(200) if all(inside(side, s / 100) >= 0.9 for side in sides))
print(f"{len(found)} rows, {100 * inside(found, 0):.0f} % inside without, {100 * inside(found, spread):.0f} % with {spread:.2f}")
