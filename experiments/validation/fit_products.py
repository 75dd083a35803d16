#!/usr/bin/env python3
"""Fits a GPU's curve of matrix products (sim/cost/products.hpp) to a table of a suite's calibration rows.

usage: fit_products.py [ID]...     ids of suite gemm's tables; default: all

Prints for each the rms error of what stands in platforms/data/gpus/, that of a fit, that of four-fold cross-validation, and
the fitted values; beyond the floor of 16-bit products, the floor of an fp8 table is its conversions': quantise_floor. Needs
python3-numpy and python3-scipy. Rows that the suite holds out are not read.
"""
import json
import pathlib
import sys

import numpy as np
from scipy.optimize import minimize

ROOT = pathlib.Path(__file__).resolve().parents[2]
TILES = [(256, 128, 0), (128, 256, 0), (128, 128, 1), (64, 128, 2), (128, 64, 2), (64, 256, 1), (256, 64, 1), (64, 64, 3)]
UNITS = {"us": 1e-6, "GB/s": 1e9, "TB/s": 1e12, "TFLOP/s": 1e12, "PFLOP/s": 1e15}
LIMITS = {  # least, most, where the search begins
    "efficiency": (0.3, 1, 0.8), "fill": (10, 1500, 120), "floor": (5e-7, 4e-5, 2e-6),
    "memory_efficiency": (0.3, 1, 0.8), "whole_waves": (0.02, 1, 0.2), "half_tile": (0.3, 1, 0.9),
    "quarter_tile": (0.3, 1, 0.8), "blend": (1, 4, 2.8), "split_floor": (1e-8, 2e-5, 3e-6), "quantise": (0.5, 40, 8)}


def number(text):
    if isinstance(text, (int, float)):
        return text
    value, unit = text.split()
    return float(value) * UNITS[unit]


def preset(name):
    """A GPU's file with what it extends below it."""
    gpu = json.loads((ROOT / f"platforms/data/gpus/{name}.json").read_text())
    return laid_over(preset(gpu["extends"]), gpu) if "extends" in gpu else gpu


def laid_over(below, above):
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return below | {key: laid_over(below.get(key), value) for key, value in above.items()}


class Table:
    """Rows (m, n, k, microseconds) of one GPU and precision."""

    def __init__(self, entry):
        gpu = preset(entry["gpu"])
        eight = entry["precision"] == "fp8"
        self.id = entry["id"]
        self.peak = number(gpu[entry["precision"]]["peak"])
        self.memory = number(gpu["memory_bandwidth"])
        self.processors = gpu["multiprocessors"]
        self.operand = 1 if eight else 2
        self.curve = {key: number(value) for key, value in gpu["kernels"]["fp8" if eight else "half"].items()}
        self.rows = np.array(entry["rows"], float)

    def keys(self):
        return [key for key in LIMITS if key != "quantise" or self.operand == 1]

    def times(self, rows, curve):
        """Seconds of each row, as ProductCurve::operator() has them."""
        m, n, k = rows[:, 0], rows[:, 1], rows[:, 2]
        best = np.full(len(m), np.inf)
        for height, width, halvings in TILES:
            share = curve["quarter_tile"] ** max(0, halvings - 1) * (curve["half_tile"] if halvings else 1)
            rate = self.peak * curve["efficiency"] * share / self.processors
            for split in (1, 2, 4):
                full = np.ceil(m / height) * np.ceil(n / width) * split / self.processors
                waves = curve["whole_waves"] * np.ceil(full) + (1 - curve["whole_waves"]) * np.maximum(1, full)
                terms = k / split + curve["fill"] * (1 if split == 1 else 1.5)
                time = waves * 2 * height * width * terms / rate + (0 if split == 1 else curve["split_floor"])
                best = np.minimum(best, np.where((split == 1) | (k >= 1024 * split), time, np.inf))
        traffic = ((m * k + k * n) * self.operand + m * n * 2) / (self.memory * curve["memory_efficiency"])
        blend = curve["blend"]
        return (curve["floor"] + curve.get("quantise_floor", 0) + (best**blend + traffic**blend) ** (1 / blend)
                + curve.get("quantise", 0) * m * k / self.memory)

    def errors(self, rows, curve):
        return np.log(self.times(rows, curve) / (rows[:, 3] * 1e-6))

    def fit(self, rows, starts, random):
        keys = self.keys()
        low, high, first = (np.log([LIMITS[key][i] for key in keys]) for i in range(3))

        def loss(x):
            inside = np.clip(x, low, high)
            return np.mean(self.errors(rows, dict(zip(keys, np.exp(inside)))) ** 2) + np.abs(x - inside).sum()

        best = None
        for start in range(starts):
            x = first if start == 0 else np.clip(first + random.normal(0, 0.4, len(keys)), low, high)
            for _ in range(3):
                found = minimize(loss, x, method="Nelder-Mead", options={"maxfev": 4000, "adaptive": True})
                x = found.x
            if best is None or found.fun < best.fun:
                best = found
        return dict(zip(keys, np.exp(np.clip(best.x, low, high))))


def rms(errors):
    return float(np.sqrt(np.mean(np.square(errors))))


def main():
    suite = json.loads((ROOT / "experiments/validation/gemm.json").read_text())
    for entry in suite["kernels"]:
        if sys.argv[1:] and entry["id"] not in sys.argv[1:]:
            continue
        table = Table(entry)
        print(f"{table.id}: as it is {100 * rms(table.errors(table.rows, table.curve)):.2f} % rms")
        random = np.random.default_rng(1)
        order = random.permutation(len(table.rows))
        left = [table.errors(table.rows[order[i::4]], table.fit(table.rows[np.setdiff1d(order, order[i::4])], 2, random))
                for i in range(4)]
        curve = table.fit(table.rows, 6, random)
        print(f"  fitted {100 * rms(table.errors(table.rows, curve)):.2f} %, cross-validated {100 * rms(np.concatenate(left)):.2f} %")
        print("  " + json.dumps({key: float(f"{value:.3g}") for key, value in curve.items()}))


main()
