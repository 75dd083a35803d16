#!/usr/bin/env python3
"""How far rates of one GPU without an anchor are from predicted ones: the spread of kind layers in calibration/data/spreads.json.

    cold_spread.py FORETRAIN [SUITE ...]

Reads the rows of role calibration of the suite networks (or of those named), with the intervals that the program gives when this
line's spread is 0: set it so first. Printed is the smallest spread with which nine in ten of these rows lie inside.
"""
import csv
import io
import math
import subprocess
import sys

INSIDE = 1.645 # standard deviations to either side of a 90 % interval


def rows(program, suite):
    text = subprocess.run([program, "validate", suite, "--format", "csv"], text=True, capture_output=True).stdout
    for row in csv.DictReader(io.StringIO(text)):
        if row["role"] == "calibration" and row["regime"] == "compute" and not row["anchor"] and row["low"]:
            low, high, told, measured = (float(row[key]) for key in ("low", "high", "predicted", "measured"))
            yield abs(math.log(measured / told)), math.log(high / low) / (2 * INSIDE)


def inside(found, spread):
    return sum(off < INSIDE * math.hypot(known, spread) for off, known in found) / len(found)


found = [row for suite in sys.argv[2:] or ["networks"] for row in rows(sys.argv[1], suite)]
spread = next(s / 100 for s in range(200) if inside(found, s / 100) >= 0.9)
print(f"{len(found)} rows, {100 * inside(found, 0):.0f} % inside without, {100 * inside(found, spread):.0f} % with {spread:.2f}")
