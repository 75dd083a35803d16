#!/usr/bin/env python3
"""foretrain fleet from outside: answers, files, exit codes, and the rows of validate fleet.

    tests/check_fleet.py PROGRAM
"""
import csv
import io
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.dom.minidom

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
ROWS_THAT_MISS = {"meta-ettr-measured", "llama-3-goodput",  # assumptions about times that nobody published
                  "stepfun-law-mean", "stepfun-law-most"}  # real repairs and faults have longer tails and come in clusters


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
    pieces = [it for it in json.loads((folder / "timeline.json").read_text())["traceEvents"] if it["ph"] == "X"]
    assert {it["name"] for it in pieces} == {row["id"] for row in rows if row["start_s"]}
    last = {}
    for piece in sorted(pieces, key=lambda it: it["ts"]):  # Perfetto drops what overlaps on a thread
        place = piece["pid"], piece["tid"]
        assert piece["ts"] >= last.get(place, 0), f"two jobs at once on {place}"
        last[place] = piece["ts"] + piece["dur"]
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
    for command in (["predict"], ["explain"], ["sweep", "--db", folder / "none.db"]):
        assert "is a fleet, not an experiment" in run(command[0], strict, *command[1:], status=2).stderr
    assert "/jobs/trace is no file" in run("fleet", "c4140-month", "--set", "/jobs/trace=nowhere.txt", status=2).stderr


JOBS = "".join(f"{line} -1 1 1 0 -1 0 -1 -1 -1\n" for line in (  # four GPUs: the second job needs all of them
    "1 0 0 100 2 -1 -1 2 200", "2 1 0 50 4 -1 -1 4 60", "3 2 0 30 2 -1 -1 2 40"))


def small(folder, name="small.json", **keys):
    """A fleet of three jobs on four GPUs, whose waits one can work out."""
    (folder / "small.swf").write_text(JOBS)
    path = folder / name
    path.write_text(json.dumps({"name": "small", "cluster": {"nodes": 4, "gpus_per_node": 1},
                                "jobs": {"trace": "small.swf", "kind": "swf"}, **keys}))
    return path


def holds(answer, schema, at=""):
    """Every key that is printed is in the schema, and what the schema needs is printed."""
    if "properties" in schema:
        assert not schema.get("required") or set(schema["required"]) <= set(answer), f"{at}: lacks a key"
        for key, value in answer.items():
            assert key in schema["properties"], f"{at}/{key} is not in the schema"
            holds(value, schema["properties"][key], f"{at}/{key}")
    elif schema.get("type") == "array":
        for entry in answer:
            holds(entry, schema["items"], f"{at}/*")
    elif "additionalProperties" in schema and schema["additionalProperties"]:
        for entry in answer.values():
            holds(entry, schema["additionalProperties"], f"{at}/*")


def schema(name):
    return json.loads(run("schema", name).stdout)


def told_again(answer, *forms):
    """What was printed as JSON is told again in other forms, as the command would."""
    for form, expected in forms:
        done = subprocess.run([PROGRAM, "report", "-", "--format", form], input=answer, text=True, capture_output=True)
        assert done.returncode == 0 and done.stdout == expected, (form, done.stderr)


def check_sweeps(folder):
    sweep = small(folder, sweep={"/policy": ["fifo", "easy"], "/cluster/nodes": [4, 6]})
    answer = json.loads(run("fleet", sweep, "--format", "json").stdout)
    holds(answer, schema("fleet-sweep-result"))
    waits = [point["wait_s"]["mean"]["median"] for point in answer["points"]]
    assert [round(3 * wait) for wait in waits] == [0 + 99 + 148, 0 + 0 + 49, 0 + 99 + 0, 0 + 0 + 49], waits
    assert answer["points"][3]["settings"] == {"/policy": "easy", "/cluster/nodes": 6}
    rows = list(csv.DictReader(io.StringIO(run("fleet", sweep, "--format", "csv").stdout)))
    assert [float(row["wait_s_mean"]) for row in rows] == waits and rows[3]["/cluster/nodes"] == "6"
    assert rows[2]["makespan_s"] == "150" and rows[0]["makespan_s_high"] == "180"
    table = run("fleet", sweep, "--out", folder / "sweep").stdout
    told_again(json.dumps(answer), ("table", table), ("csv", (folder / "sweep/points.csv").read_text()))
    assert "4 points" in table and "easy" in table
    html = (folder / "sweep/report.html").read_text()
    for svg in re.findall(r"<svg class=\"bar\".*?</svg>", html, re.S):
        xml.dom.minidom.parseString(svg)
    assert html.count("<svg class=\"bar\"") == 8 and (folder / "sweep/points.csv").exists()
    one = run("fleet", sweep, "--set", "/cluster/nodes=4", "--policy", "easy", "--format", "json").stdout
    assert json.loads(one)["wait_s"]["mean"]["median"] == 33, "nothing is varied any more"
    assert "the sweep varies /policy" in run("fleet", sweep, "--set", "/policy/order=sjf", status=2).stderr
    bad = small(folder, "bad.json", sweep={"/policy": ["fifo", "esay"]})
    assert "did you mean 'easy'?" in run("fleet", bad, status=2).stderr
    assert "must be a list of values" in run("fleet", small(folder, "bad.json", sweep={"/policy": "easy"}), status=2).stderr


def check_comparisons(folder):
    fifo, easy = small(folder, "fifo.json"), small(folder, "easy.json", policy="easy")
    answer = json.loads(run("compare", fifo, easy, "--seeds", 3, "--format", "json").stdout)
    holds(answer, schema("fleet-compare-result"))
    found = {it["quantity"]: it for it in answer["pairs"][0]["quantities"]}
    assert found["/wait_s/mean"]["difference"]["median"] == 33 - 247 / 3 and found["/wait_s/mean"]["b_less"] == 3
    assert found["/makespan_s"]["difference"]["high"] == -30
    assert answer["pairs"][0]["differs"] == [{"pointer": "/policy", "a": None, "b": "easy"}]
    assert "B - A" in run("compare", fifo, easy).stdout
    told_again(run("compare", fifo, easy, "--format", "json").stdout, ("table", run("compare", fifo, easy).stdout))
    rows = list(csv.DictReader(io.StringIO(run("compare", fifo, easy, "--format", "csv").stdout)))
    assert {row["quantity"] for row in rows} == set(found)
    same = json.loads(run("compare", "c4140-month", "c4140-month", "--seeds", 2, "--set-b", "/policy/backfill=none",
                          "--format", "json").stdout)["pairs"][0]
    assert next(it for it in same["quantities"] if it["quantity"] == "/wait_s/mean")["b_more"] == 2
    assert "is a fleet" in run("compare", fifo, "c4140-resnet50", status=2).stderr
    assert "did you mean 'two-queues'?" in run("compare", fifo, "two-queue", status=2).stderr
    assert "a fleet is compared with a fleet" in run("compare", "c4140-resnet50", fifo, status=2).stderr
    assert "--fail-below is for experiments" in run("compare", fifo, easy, "--fail-below", 1, status=2).stderr
    assert "--seeds is for fleets" in run("compare", "c4140-resnet50", "c4140-resnet50", "--seeds", 2, status=2).stderr
    run("fleet", fifo, "--out", folder / "kept")
    assert "without its seeds" in run("compare", folder / "kept/fleet.json", easy, status=2).stderr


def check_checks(folder):
    below = folder / "checked"
    below.mkdir()
    (below / "platform.json").write_text('{"format": "foretrain.platform/1"}')
    path = small(below, "mine.json", sweep={"/policy": ["fifo", "easy"]}, expect=[
        {"quantity": "/wait_s/mean", "point": {"/policy": "easy"}, "at_most": 33},
        {"quantity": "/wait_s/mean", "point": {"/policy": "easy"}, "than": {"/policy": "fifo"}, "at_most": 0.5}])
    assert "ok" in run("check", below).stdout
    path.write_text(path.read_text().replace("33", "32"))
    told = json.loads(run("check", path, "--format", "json", status=1).stdout)
    assert (told["passed"], told["failed"]) == (2, 1), told
    assert "is 33, expected at most 32" in told["files"][0]["cases"][1]["message"]
    assert told["files"][0]["experiment"] == "small" and told["files"][0]["cases"][1]["line"] == 1
    assert "<failure" in (run("check", path, "--junit", folder / "out.xml", status=1), (folder / "out.xml").read_text())[1]
    path.write_text(path.read_text().replace("wait_s/mean", "wait/mean"))
    assert "is no number or range of the answer" in run("check", path, status=2).stdout
    both = run("check", "two-queues", "c4140-month", "--seed", 3).stdout
    assert "3 passed" in both, both


def check_maintenance(folder):
    path = small(folder, "kept.json", policy="easy", maintenance=[{"from": "130 s", "length": "70 s", "first_node": 2}])
    rows = list(csv.DictReader(io.StringIO(run("fleet", path, "--format", "csv").stdout)))
    assert [row["start_s"] for row in rows] == ["0", "200", "2"] and rows[1]["waited_for"] == "maintenance", rows
    assert "/maintenance/0/nodes goes beyond the last node, 3" in run(
        "fleet", path, "--set", "/maintenance/0/nodes=3", status=2).stderr


def check_when(folder):
    path = small(folder, "when.json")
    answer = json.loads(run("fleet", path, "--when", 3, "--policy", "fifo", "--format", "json").stdout)
    holds(answer, schema("fleet-when-result"))
    assert (answer["start_s"]["median"], answer["wait_s"]["median"], answer["end_s"]["median"]) == (150, 148, 180)
    assert answer["waited_for"] == {"order": 1}
    assert "starts at" in run("fleet", path, "--when", 2).stdout
    assert "did you mean '48218'?" in run("fleet", "c4140-month", "--when", "482188", status=2).stderr
    assert "are drawn anew" in run("fleet", "two-queues", "--when", 3, status=2).stderr
    sweep = small(folder, "swept.json", sweep={"/policy": ["fifo", "easy"]})
    assert "--when is about one fleet" in run("fleet", sweep, "--when", 2, status=2).stderr
    assert "--when tells of one job" in run("fleet", path, "--when", 2, "--format", "csv", status=2).stderr


def plan_of(folder, fleet, goals, changes, **keys):
    path = folder / "plan.json"
    path.write_text(json.dumps({"name": "grow", "fleet": fleet, "goals": goals, "changes": changes, **keys}))
    return path


def check_plans(folder):
    fleet = str(small(folder, "today.json"))
    nodes = {"name": "nodes", "vary": "/cluster/nodes", "values": [4, 6, 8]}
    policy = {"name": "policy", "vary": "/policy", "values": ["fifo", "easy"]}
    wait = [{"wait_p90_at_most": "80 s"}]  # p90 of three waits lies 0.8 of the way from the second to the third
    plan = plan_of(folder, fleet, wait, [nodes, policy])
    answer = json.loads(run("plan", plan, "--format", "json").stdout)
    holds(answer, schema("fleet-plan-result"))
    best = answer["candidates"][answer["recommended"]]
    assert best["options"] == {"nodes": "4", "policy": "easy"} or best["options"]["nodes"] == "6", best
    assert [round(it["wait_p90_s"]["median"], 1) for it in answer["candidates"]] == [138.2, 79.2, 39.2, 39.2, 0, 0], answer
    assert answer["recommended"] == 1 and answer["recommended_by"] == "nodes"
    strict = plan_of(folder, fleet, [{"wait_p90_at_most": "40 s"}], [nodes, policy])
    assert json.loads(run("plan", strict, "--format", "json").stdout)["recommended"] == 2
    assert "6 nodes with spares, the fewest" in run("plan", strict).stdout.replace("\n    ", " ")
    none = plan_of(folder, fleet, [{"done_by": "90 s"}], [nodes, policy])
    told = run("plan", none, status=1).stdout
    assert "No candidate reaches the goals" in told and "The nearest" in told
    paid = plan_of(folder, fleet, wait, [nodes, policy], cost={"node": 100}, currency="EUR",
                   budget=500)
    answer = json.loads(run("plan", paid, "--format", "json", "--out", folder / "plan").stdout)
    assert answer["candidates"][1]["cost"] == 400 and answer["recommended"] == 1
    rows = list(csv.DictReader(io.StringIO((folder / "plan/plan.csv").read_text())))
    assert [row["recommended"] for row in rows].index("true") == 1 and rows[5]["cost"] == "800"
    assert "recommended" in (folder / "plan/report.html").read_text()
    told_again(json.dumps(answer), ("table", run("plan", paid).stdout),
               ("html", (folder / "plan/report.html").read_text()))
    assert "must not be given beside an experiment" in run(
        "plan", plan_of(folder, fleet, wait, [nodes], experiment="c4140-resnet50"), status=2).stderr
    assert "is for plans of an experiment" in run(
        "plan", plan_of(folder, fleet, [{"throughput_at_least": 1}], [nodes]), status=2).stderr
    assert "must have exactly one of wait_p90_at_most" in run(
        "plan", plan_of(folder, fleet, [{}], [nodes]), status=2).stderr
    assert "needs prices" in run("plan", plan_of(folder, fleet, wait, [nodes], budget=1), status=2).stderr
    assert "must be at least 1" in run(
        "plan", plan_of(folder, fleet, wait, [{"name": "n", "vary": "/cluster/nodes", "values": [0]}]), status=2).stderr
    assert "--seeds is for plans of a fleet" in run("plan", "c4140-growth", "--seeds", 2, status=2).stderr
    assert "--uncertainty is for experiments" in run("plan", plan, "--uncertainty", "steps", status=2).stderr


def check_interrupt():
    """Ctrl-C while speeds are simulated: SimGrid's engine, which would end with 1 and no word, leaves it to the fleet."""
    process = subprocess.Popen([PROGRAM, "fleet", "c4140-neighbours"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=120)
    assert process.returncode == 0 and "Interrupted: this is of what has happened so far." in told, (process.returncode, told[-300:])


def check_rows():
    rows = json.loads(run("validate", "fleet", "--format", "json").stdout)["rows"]
    missed = {row["id"] for row in rows if not row["holds"]}
    assert missed == ROWS_THAT_MISS, f"rows that miss: {missed}"
    assert all(row["reference"] in ("measured", "simulated", "formula") for row in rows)


with tempfile.TemporaryDirectory() as name:
    check_answer()
    check_files(pathlib.Path(name))
    check_exit_codes(pathlib.Path(name))
    check_sweeps(pathlib.Path(name))
    check_comparisons(pathlib.Path(name))
    check_checks(pathlib.Path(name))
    check_maintenance(pathlib.Path(name))
    check_when(pathlib.Path(name))
    check_plans(pathlib.Path(name))
    check_interrupt()
    check_rows()
print("fleets are as they should be")
