#!/usr/bin/env python3
"""How far rates of one GPU without an anchor are from predicted ones: the spread of kind layers in calibration/data/spreads.json.

    cold_spread.py FORETRAIN [SUITE ...]

Reads the rows of role calibration of the suite networks (or of those named), with the intervals that the program gives without
that line, but those of Mask R-CNN outside MLPerf: it runs on a copy of the data in which the line's spread is 0. Printed is the smallest spread with which nine in ten of
these rows lie inside.
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

SPREADS = "calibration/data/spreads.json"
# Its proposals, suppression and matching are thousands of small operations that no network file describes: no spread of kernels.
HOST_BOUND = "Mask R-CNN"
INSIDE = 1.645 # standard deviations to either side of a 90 % interval


def data_without(folder):
    """The data, but without the spread of kind layers."""
    table = json.loads((ROOT / SPREADS).read_text())
    for line in table["spreads"]:
        if line["kind"] == "layers":
            line["spread"] = 0
    changed_data.write(folder, {SPREADS: json.dumps(table)})


def rows(program, suite, data):
    text = subprocess.run([program, "validate", suite, "--format", "csv"], text=True, capture_output=True,
                          env=dict(os.environ, FORETRAIN_DATA=str(data))).stdout
    for row in csv.DictReader(io.StringIO(text)):
        if row["role"] == "calibration" and HOST_BOUND not in row["part"] and row["regime"] == "compute" and not row["anchor"] and row["low"]:
            low, high, told, measured = (float(row[key]) for key in ("low", "high", "predicted", "measured"))
            yield abs(math.log(measured / told)), math.log(high / low) / (2 * INSIDE)


def inside(found, spread):
    return sum(off < INSIDE * math.hypot(known, spread) for off, known in found) / len(found)


with tempfile.TemporaryDirectory() as folder:
    data_without(folder)
    found = [row for suite in sys.argv[2:] or ["networks"] for row in rows(sys.argv[1], suite, folder)]
spread = next(s / 100 for s in range(200) if inside(found, s / 100) >= 0.9)
print(f"{len(found)} rows, {100 * inside(found, 0):.0f} % inside without, {100 * inside(found, spread):.0f} % with {spread:.2f}")
