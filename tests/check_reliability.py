#!/usr/bin/env python3
"""What goes wrong on the way is told: full disks, settings that undo each other, files that are damaged, values
that no machine has. Each was taken silently, or as an internal error, by version 0.1."""
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
SOURCE = pathlib.Path(__file__).resolve().parent.parent
EXPERIMENT = {
    "cluster": {"platform": "c4140-v100-sxm2", "nodes": 1},
    "jobs": [{"name": "train", "model": "resnet50", "framework": "pytorch-horovod", "batch_per_gpu": 64, "gpus": 4}],
}
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {str(detail)[:600]}")


def run(*arguments, **more):
    more.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([PROGRAM, *map(str, arguments)], stderr=subprocess.PIPE, text=True, timeout=300, **more)


def refused(name, result, words=""):
    expect(name, result.returncode == 2 and words in result.stderr and "internal error" not in result.stderr,
           f"exit {result.returncode}, wanted 2 and '{words}': {result.stderr}")
    expect(name + ": short", len(result.stderr) < 3000, f"{len(result.stderr)} bytes of messages")


def outputs(folder, good):
    with open("/dev/full", "w") as full:
        for arguments in (["predict", good], ["predict", good, "--format", "json"], ["predict", good, "--format", "csv"],
                          ["sweep", good, "--db", folder / "full.db"], ["model", "list"], ["schema", "experiment"]):
            refused("full device: " + arguments[0], run(*arguments, stdout=full), "standard output")
    out = folder / "out"
    out.mkdir()
    for name in ("points.jsonl", "report.html"):
        (out / name).unlink(missing_ok=True)
        (out / name).symlink_to("/dev/full")
        told = run("predict", good, "--format", "json", "--out", out)
        refused("full disk: " + name, told, name)
        expect("full disk: the answer is on stdout", json.loads(told.stdout)["points"])
        (out / name).unlink()


def sweeps(write):
    job = EXPERIMENT["jobs"][0]
    for name, sweep in {
        "entry within another": {"/jobs/0/gpus": [1, 2], "/jobs/0": [{**job, "gpus": 4}]},
        "another within entry": {"/jobs/0": [{**job, "gpus": 4}], "/jobs/0/gpus": [1, 2]},
        "twice in one key": {"/jobs/0/gpus /jobs/0/gpus": [[1, 2]]},
        "in two keys": {"/jobs/0/gpus": [1, 2], "/jobs/0/batch_per_gpu /jobs/0/gpus": [[32, 1]]},
        "two names of an entry": {"/jobs/0/gpus": [1, 2], "/jobs/00/gpus": [4]},
    }.items():
        refused(name, run("predict", write("conflict.json", {**EXPERIMENT, "sweep": sweep})))
    stacks = write("stacks.json", {**EXPERIMENT, "sweep": {"/stack/host": ["bare-metal", "vm"]}})
    refused("--set above the sweep", run("predict", stacks, "--set", '/stack={"host":"vm"}'), "the sweep varies /stack/host")
    inside = write("inside.json", {**EXPERIMENT, "sweep": {"/stack": [{"host": "vm"}, {"host": "container"}]}})
    refused("--set below the sweep", run("predict", inside, "--set", "/stack/host=vm"), "the sweep varies /stack")
    refused("--set twice", run("predict", inside, "--set", "/jobs/0/gpus=1", "--set", "/jobs/0/gpus=2"), "twice")
    refused("a key of --set twice", run("predict", stacks, "--set", '/cluster={"platform":"dgx1-v100","platform":"dgx1-p100"}'),
            "twice")


def work(write, folder):
    refused("sizes without end", run("nccl-tests", "all_reduce_perf", "--platform", "dgx1-v100", "-g", "8", "-b", "8",
                                     "-e", "1G", "-f", "1.0000001"), "sizes")
    many = {**EXPERIMENT, **{f"unknown_key_{i}": i for i in range(100_000)}}
    refused("100,000 unknown keys", run("predict", write("many.json", many)), "keys")
    host = {"host": {"extends": "vm", "cpu_per_packet": "1e308 us"}}
    refused("time beyond all limits", run("predict", write("host.json", {**EXPERIMENT, "stack": host})))
    refused("copies", run("predict", write("copies.json", {**EXPERIMENT, "jobs": [
        {**EXPERIMENT["jobs"][0], "framework": {"extends": "tensorflow-ps", "servers": {"copies": 1e308}}}]})), "copies")
    loop = folder / "loop.json"
    loop.symlink_to(loop)
    refused("a link to itself", run("predict", loop))
    refused("a long name", run("predict", "x" * 300 + ".json"))
    refused("a long name of a preset", run("predict", "x" * 300))
    refused("--stack with a list", run("nccl-tests", "all_reduce_perf", "--platform", "dgx1-v100", "-g", "8", "--stack",
                                       write("list.json", [1, 2])), "object")
    gpu = {"extends": "c4140-v100-sxm2",
           "node": {"gpus": {"type": {"extends": "v100-sxm2-16gb", "nvlink_brick": "0 GB/s"}}}}
    refused("NVLink of 0 GB/s", run("predict", write("brick.json", {**EXPERIMENT, "cluster": {"platform": gpu}})), "0 GB/s")
    refused("long values", run("predict", write("long.json", {**EXPERIMENT, "name": ["x" * 300_000]})))
    refused("long keys", run("predict", write("long.json", {**EXPERIMENT, "k" * 300_000: 1})))
    refused("long --set", run("predict", write("good.json", EXPERIMENT), "--set", "/" + "a" * 100_000 + "=1"))


def values(write):
    def job(**patch):
        return write("job.json", {**EXPERIMENT, "jobs": [{**EXPERIMENT["jobs"][0], **patch}]})
    refused("node of 33 bits", run("predict", job(placement=[[2**32, 0], [0, 1]], gpus=2)), "placement")
    refused("--interval nan", run("predict", job(), "--interval", "nan"))
    refused("--seed 2^63", run("predict", job(), "--seed", str(2**63)))
    two = {**EXPERIMENT, "cluster": {"platform": "c4140-v100-sxm2", "nodes": 2}, "jobs": [
        {**EXPERIMENT["jobs"][0], "gpus": 8, "framework": "tensorflow-local-ps"}]}
    refused("one process on two nodes", run("predict", write("local.json", two)), "one process")
    pasted = json.loads((SOURCE / "platforms/data/platforms/c4140-m-v100-sxm2.json").read_text())
    inline = run("predict", write("pasted.json", {**EXPERIMENT, "cluster": {"platform": pasted, "nodes": 1}}), "--format", "json")
    expect("a bundled preset, pasted", inline.returncode == 0, inline.stderr)

    def profile(spread, **more):
        return write("profile.json", {"parameters": [
            {"kind": "gpu", "preset": "*", "pointer": "/kernel_launch", "value": "5 us", "spread": spread}], **more})
    refused("a spread of another unit", run("predict", job(), "--profile", profile("1 GB")), "kind of the value")
    expect("a spread in another unit of time", run("predict", job(), "--profile", profile("1000 ns")).returncode == 0)
    three = {"parameters": [{"kind": "gpu", "preset": "*", "pointer": f"/{p}", "value": 0.5, "spread": 0.01}
                            for p in ("memory_efficiency", "a", "b")],
             "correlations": [{"a": 0, "b": 1, "value": 0.9}, {"a": 1, "b": 2, "value": 0.9}, {"a": 0, "b": 2, "value": -0.9}]}
    refused("impossible correlations", run("predict", job(), "--profile", write("three.json", three)), "correlations")

    def suite(**row):
        return write("suite.json", {"name": "s", "experiments": {"e": EXPERIMENT}, "rows": [
            {"id": "r", "experiment": "e", "measured": 1, "regime": "compute", **row}]})
    refused("a rate in seconds", run("validate", suite(unit="ms")), "unit")
    refused("a ratio of itself", run("validate", suite(ratio_of="r")), "itself")
    named = run("predict", job(name="=cmd|' /C calc'!A0"), "--format", "csv")
    expect("no formula in CSV", ",=cmd" not in named.stdout and "'=cmd" in named.stdout, named.stdout)
    escaped = run("predict", job(name="\x1b[31mred"), "--format", "csv")
    expect("no escape in CSV", "\x1b" not in escaped.stdout, escaped.stdout)


def stores(write, folder):
    file = write("sweep.json", {**EXPERIMENT, "sweep": {"/jobs/0/gpus": [1, 2, 4], "/jobs/0/batch_per_gpu": [32, 64]}})
    store = folder / "store.db"
    first = run("sweep", file, "--db", store, "--format", "json")
    with sqlite3.connect(store) as connection:
        keys = [row[0] for row in connection.execute("SELECT key FROM points ORDER BY key")]
        connection.execute("UPDATE points SET result = '{' WHERE key = ?", keys[:1])
        connection.execute("UPDATE points SET result = '{}' WHERE key = ?", keys[1:2])
        connection.execute("UPDATE points SET result = replace(result, 'median\":', 'median\":1') WHERE key = ?", keys[2:3])
    again = run("sweep", file, "--db", store, "--format", "json")
    expect("damaged rows are run again", again.returncode == 0 and "3 points" in again.stderr and "damaged" in again.stderr
           and "3 of 6 points are in" in again.stderr, again.stderr)
    expect("and answer as before", again.stdout == first.stdout)
    expect("and are whole then", "6 of 6 points are in" in run("sweep", file, "--db", store).stderr)

    for k in range(2):
        expect("part", run("sweep", file, "--db", folder / "parts.db", f"--part={k}/2").returncode == 0)
    (folder / "parts.db.part-0-of-2").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    collected = run("sweep", file, "--db", folder / "parts.db")
    expect("a bad part file leaves the others", collected.returncode == 0 and "not collected" in collected.stderr
           and "3 of 6 points are in" in collected.stderr, collected.stderr)

    # Intervals: what shapes them belongs to the key.
    root = folder / "root"
    root.mkdir()
    for part in ("platforms", "models", "calibration", "experiments"):
        (root / part).mkdir()
        shutil.copytree(SOURCE / part / "data", root / part / "data", ignore=shutil.ignore_patterns("traces"))
    moved = {**os.environ, "FORETRAIN_ROOT": str(root)}
    same = run("sweep", file, "--db", store, env=moved)
    expect("the same data elsewhere", "6 of 6 points are in" in same.stderr, same.stderr)
    spreads = root / "calibration/data/spreads.json"
    table = json.loads(spreads.read_text())
    table["spreads"][0]["spread"] *= 1.5
    spreads.write_text(json.dumps(table))
    changed = run("sweep", file, "--db", store, env=moved)
    expect("another table of spreads, other points", "points are in" not in changed.stderr, changed.stderr)

    def learnt(spread, mean, rho):
        return write("learnt.json", {"parameters": [
            {"kind": "gpu", "preset": "*", "pointer": "/kernel_launch", "value": "5 us", "spread": spread,
             "residuals": {"measurements": 3, "mean": mean, "maximum": 0.2}},
            {"kind": "gpu", "preset": "*", "pointer": "/memory_efficiency", "value": 0.8, "spread": 0.01}],
            "correlations": [{"a": 0, "b": 1, "value": rho}]})
    profiled = folder / "profiled.db"
    run("sweep", file, "--db", profiled, "--profile", learnt("1 us", 0.1, 0.5))
    for what, values_ in {"spread": ("2 us", 0.1, 0.5), "residuals": ("2 us", 0.15, 0.5), "correlation": ("2 us", 0.15, 0.2)}.items():
        later = run("sweep", file, "--db", profiled, "--profile", learnt(*values_))
        expect(f"another {what} of a profile, other points", "points are in" not in later.stderr, later.stderr)


def records(folder):
    record = SOURCE / "realrun/records/vm-2core/convnet-b4.json"
    document = json.loads(record.read_text())
    document["name"] = "../../escaped"
    (folder / "record.json").write_text(json.dumps(document))
    out = folder / "deep" / "er"
    imported = run("realrun-import", folder / "record.json", "--out", out)
    written = [p for p in folder.rglob("*escaped*.json")]
    expect("a record's file lies in the directory", imported.returncode != 0 or
           (written and all(p.parent == out for p in written)), (imported.stderr, written))


with tempfile.TemporaryDirectory() as name:
    place = pathlib.Path(name)

    def write(file, content):
        path = place / file
        path.write_text(json.dumps(content))
        return path

    outputs(place, write("good.json", EXPERIMENT))
    sweeps(write)
    work(write, place)
    values(write)
    stores(write, place)
    records(place)

print("\n".join(failures) if failures else "reliability ok")
sys.exit(1 if failures else 0)
