#!/usr/bin/env python3
"""foretrain fleet from outside: answers, files, exit codes, and the rows of validate fleet.

    tests/check_fleet.py PROGRAM
"""
import csv
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.dom.minidom

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
ROWS_THAT_MISS = {"meta-ettr-measured", "llama-3-goodput"}  # assumptions about times that nobody published


def run(*arguments, status=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], text=True, capture_output=True, timeout=300)
    assert done.returncode == status, f"{arguments}: exit code {done.returncode}, not {status}\n{done.stderr}"
    return done


def check_answer():
    answer = json.loads(run("fleet", "c4140-month", "--seeds", 1, "--format", "json").stdout)
    parts = answer["gpu_hours"]
    whole = 32 * answer["makespan_s"]["median"] / 3600
    assert abs(sum(part["median"] for part in parts.values()) / whole - 1) < 1e-9, "GPU hours do not add up"
    assert answer["trace"]["read"] == answer["jobs"]["submitted"] + answer["trace"]["left_out"]
    strict = json.loads(run("fleet", "c4140-month", "--seeds", 1, "--policy", "fifo", "--format", "json").stdout)
    assert strict["wait_s"]["mean"]["median"] > 1.5 * answer["wait_s"]["mean"]["median"], "backfilling helps little"
    more = json.loads(run("fleet", "c4140-month", "--seeds", 1, "--set", "/cluster/nodes=12", "--format", "json").stdout)
    assert more["wait_s"]["p90"]["median"] < answer["wait_s"]["p90"]["median"], "more nodes do not help"
    twice = [run("fleet", "two-queues", "--seeds", 2, "--format", "json").stdout for _ in range(2)]
    assert twice[0] == twice[1], "the same seeds give other answers"


def check_files(folder):
    run("fleet", "c4140-month", "--seeds", 1, "--out", folder)
    rows = list(csv.DictReader(io.StringIO((folder / "jobs.csv").read_text())))
    table = run("fleet", "c4140-month", "--seeds", 1, "--format", "csv").stdout
    assert len(rows) == len(table.splitlines()) - 1 > 800
    for row in rows:
        assert abs(float(row["submit_s"]) + float(row["wait_s"]) - float(row["start_s"])) < 1e-6
    check_report((folder / "report.html").read_text(), 8)
    again = folder / "again.json"
    again.write_text(json.dumps({"cluster": {"nodes": 8, "gpus_per_node": 4}, "policy": "easy",
                                 "jobs": {"trace": "jobs.swf", "kind": "swf"}}))
    replayed = json.loads(run("fleet", again, "--format", "json").stdout)
    assert replayed["jobs"]["completed"] == len(rows)


def check_report(html, nodes):
    drawings = [xml.dom.minidom.parseString(svg) for svg in re.findall(r"<svg viewBox.*?</svg>", html, re.S)]
    names = [it.documentElement.getAttribute("aria-label") for it in drawings]
    gantt = drawings[names.index("jobs on nodes over time")]
    assert len({it.getAttribute("y") for it in gantt.getElementsByTagName("rect")}) == nodes, "a row for each node"
    for drawing in drawings:
        _, _, width, height = map(float, drawing.documentElement.getAttribute("viewBox").split())
        for it in drawing.getElementsByTagName("rect"):
            x, y, w, h = (float(it.getAttribute(key) or 0) for key in ("x", "y", "width", "height"))
            assert x >= 0 and y >= 0 and x + w <= width + 0.1 and y + h <= height + 0.1, "a piece lies outside"
    assert "46 were cancelled before they started" in re.sub(r"<[^>]+>|\xa0|&nbsp;", " ", html).replace("  ", " ")


def check_exit_codes(folder):
    strict = folder / "strict.json"
    strict.write_text(json.dumps({"cluster": {"nodes": 1, "gpus_per_node": 4},
                                  "arrivals": {"per_hour": 5, "until": "2 d", "mix": [{"gpus": 4, "run_time": "1 h"}]},
                                  "expect": [{"quantity": "/wait_s/p90", "at_most": 60}]}))
    assert "expectation not met: /wait_s/p90" in run("fleet", strict, status=1).stderr
    assert "did you mean 'easy'?" in run("fleet", "c4140-month", "--policy", "esay", status=2).stderr
    assert "did you mean 'c4140-month'?" in run("fleet", "c4140-mont", status=2).stderr
    assert "cannot be read" in run("fleet", "c4140-month", "--set", "/jobs/trace=nowhere.txt", status=2).stderr


def check_rows():
    rows = json.loads(run("validate", "fleet", "--format", "json").stdout)["rows"]
    missed = {row["id"] for row in rows if not row["holds"]}
    assert missed == ROWS_THAT_MISS, f"rows that miss: {missed}"
    assert all(row["reference"] in ("measured", "simulated", "formula") for row in rows)


with tempfile.TemporaryDirectory() as name:
    check_answer()
    check_files(pathlib.Path(name))
    check_exit_codes(pathlib.Path(name))
    check_rows()
print("fleets are as they should be")
