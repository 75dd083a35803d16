#!/usr/bin/env python3
"""`foretrain validate`: bundled suites hold their gates, and a broken parameter is noticed.

usage: check_validate.py PROGRAM SOURCE
"""
import csv
import html.parser
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

program, root = sys.argv[1], pathlib.Path(sys.argv[2])
failures = []


def run(*arguments, data=None):
    environment = dict(os.environ, FORETRAIN_ROOT=str(data)) if data else None
    return subprocess.run([program, "validate", *arguments], capture_output=True, text=True, env=environment)


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}")


class Page(html.parser.HTMLParser):
    tags = []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for key, value in attributes:
            expect("page needs nothing else", key not in ("src", "href") or value.startswith("#"), value)


with tempfile.TemporaryDirectory() as folder:
    result = run("--format", "json", "--out", folder)
    expect("gates hold", result.returncode == 0, f"exit {result.returncode}\n{result.stderr}")
    answer = json.loads(result.stdout)
    quick = ["copies", "input", "nccl", "overlay"]
    again = json.loads(run(*quick, "--format", "json").stdout)["suites"]
    expect("same seed, same answer, whatever else is asked",
           again == [suite for suite in answer["suites"] if suite["suite"] in quick])
    names = [suite["suite"] for suite in answer["suites"]]
    bundled = sorted(path.stem for path in (root / "experiments/validation").glob("*.json"))
    expect("all suites", names == bundled, names)
    rows = [row for suite in answer["suites"] for row in suite["rows"]]
    for suite in answer["suites"]:
        for regime in suite["regimes"]:
            expect("every regime has a gate", "gate" in regime, (suite["suite"], regime["regime"]))
            mine = [abs(r["error"]) for r in suite["rows"]
                    if r["regime"] == regime["regime"] and r["role"] == "validation"]
            expect("mean", abs(sum(mine) / len(mine) - regime["mean"]) < 1e-9, regime)
            expect("maximum", max(mine) == regime["max"], regime)
        counted = [abs(r["error"]) for r in suite["rows"] if r["role"] == "validation"]
        expect("worst rows first", counted == sorted(counted, reverse=True), suite["suite"])
    streamed = [json.loads(line) for line in (pathlib.Path(folder) / "rows.jsonl").read_text().splitlines()]
    key = lambda row: (row["suite"], row["id"])
    expect("rows streamed", sorted(streamed, key=key) == sorted(rows, key=key))
    table = list(csv.DictReader(io.StringIO((pathlib.Path(folder) / "validation.csv").read_text())))
    expect("CSV rows", [row["id"] for row in table] == [row["id"] for row in rows])
    page = Page()
    page.feed((pathlib.Path(folder) / "validation.html").read_text())
    expect("plots", page.tags.count("svg") >= len(answer["suites"]), page.tags.count("svg"))

with tempfile.TemporaryDirectory() as folder:
    data = pathlib.Path(folder)
    for part in ("platforms", "models", "calibration"):
        shutil.copytree(root / part / "data", data / part / "data")
    shutil.copytree(root / "experiments/validation", data / "experiments/validation")
    expect("a copy of the data gives the same", run("copies", data=data).returncode == 0)
    broken = data / "platforms/data/platforms/c4140-k-v100-sxm2.json"
    machine = json.loads(broken.read_text())
    machine["node"]["nvlink"]["all_pairs"] -= 1  # one NVLink brick of two
    broken.write_text(json.dumps(machine))
    result = run("copies", data=data)
    expect("a broken parameter is noticed", result.returncode == 1 and "gate not held: copies: intra-node" in
           result.stderr, f"exit {result.returncode} {result.stderr}")
    expect("gates can be moved", run("copies", "--update-gates", data=data).returncode == 0)
    expect("and then hold", run("copies", data=data).returncode == 0)
    gates = data / "experiments/validation/gates/copies.json"
    expect("gates are recorded", "foretrain.gates/1" in gates.read_text())

result = run("copis")
expect("misspelt suite", result.returncode == 2 and "did you mean 'copies'?" in result.stderr, result.stderr)
result = run("copies", "--only", "nothing")
expect("no row left", result.returncode == 2 and "leaves no row" in result.stderr, result.stderr)
result = run("copies", "--only", "*-enabled-01", "--format", "csv")
expect("some rows", result.returncode == 0 and len(result.stdout.splitlines()) == 3, result.stdout)

print("\n".join(failures) or "validation as documented")
sys.exit(bool(failures))
