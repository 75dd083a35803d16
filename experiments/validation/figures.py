#!/usr/bin/env python3
"""Writes the figures of `foretrain validate` into docs/accuracy.md, between its two marks.

usage: figures.py [PROGRAM]
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/foretrain"
HEAD = "rows | mean | max | bias | ratios: mean / max (rows) | order | covered |\n| --- | --- | --- | --- | --- | --- | --- | --- |"


def percent(value, sign=""):
    return f"{100 * value:{sign}.1f} %"


def line(name, entry):
    ratios, order, covered = entry.get("ratios"), entry.get("rankings"), entry.get("coverage")
    return " | ".join([
        f"| {name}", str(entry["rows"]), percent(entry["mean"]), percent(entry["max"]), percent(entry["bias"], "+"),
        f"{percent(ratios['mean'])} / {percent(ratios['max'])} ({ratios['rows']})" if ratios else "-",
        f"{order['right']} of {order['pairs']}" if order else "-",
        f"{covered['inside']} of {covered['rows']}" if covered else "-"]) + " |"


run = subprocess.run([PROGRAM, "validate", "--format", "json"], capture_output=True, text=True)
result = json.loads(run.stdout)
lines = ["## All suites, by regime", f"| regime | {HEAD}"]
lines += [line(entry["regime"], entry) for entry in result["regimes"]]
lines += ["", "## By suite", "Parts of each suite; the names are those of the rows' sources in `experiments/validation/`."]
for suite in result["suites"]:
    lines += ["", f"**{suite['suite']}**: {suite['description']}", "", f"| part | {HEAD}"]
    lines += [line(f"`{part['part']}`", part) for part in suite["parts"]]
    lines += [line(f"*{entry['regime']}*", entry) for entry in suite["regimes"]]
lines += ["", "## Calibration rows", "Shown and not counted.", "", "| suite | part | rows | mean |", "| --- | --- | --- | --- |"]
lines += [f"| {suite['suite']} | `{part['part']}` | {part['rows']} | {percent(part['mean'])} |"
          for suite in result["suites"] for part in suite["calibration"]]
disturbed = [f"{suite['suite']} {row['id']} {percent(row['error'], '+')}"
             for suite in result["suites"] for row in suite["rows"] if row["role"] == "disturbed"]
lines += ["", "Rows that contradict their table, shown and not counted (over 1.5 times as long as a call of four times the bytes or more): "
          + ", ".join(disturbed) + "."]
path = ROOT / "docs/accuracy.md"
before, rest = path.read_text().split("<!-- figures -->\n")
after = rest.split("<!-- end of figures -->")[1]
path.write_text(before + "<!-- figures -->\n" + "\n".join(lines) + "\n<!-- end of figures -->" + after)
