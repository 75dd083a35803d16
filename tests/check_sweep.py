#!/usr/bin/env python3
"""foretrain sweep as a user meets it: results in SQLite, taken up again after Ctrl-C, and as a job array."""
import json
import os
import pathlib
import pty
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import stand_in_slurm

PROGRAM = sys.argv[1]
EXPERIMENT = {
    "name": "sizes",
    "cluster": {"platform": "c4140-v100-sxm2", "nodes": 2},
    "jobs": [{"name": "train", "model": "resnet50", "framework": "pytorch-horovod", "batch_per_gpu": 64}],
    "sweep": {"/jobs/0/gpus": [1, 2, 4, 8], "/jobs/0/batch_per_gpu": [32, 64, 128]},
}
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}")


def run(*arguments, **more):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300, **more)


def select(store, sql):
    with sqlite3.connect(store) as connection:
        return connection.execute(sql).fetchall()


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    file = folder / "sizes.json"
    file.write_text(json.dumps(EXPERIMENT))
    predicted = run("predict", file, "--format", "json")

    store = folder / "results.db"
    first = run("sweep", file, "--db", store, "--format", "json")
    expect("first run", first.returncode == 0, first.stderr)
    expect("same answer as predict", json.loads(first.stdout) == json.loads(predicted.stdout))
    again = run("sweep", file, "--db", store, "--format", "json")
    expect("second run says so", "12 of 12 points are in" in again.stderr, again.stderr)
    expect("same answer from the file", again.stdout == first.stdout)

    rows = select(store, "SELECT gpus, throughput_samples_per_s, bottleneck_resource FROM jobs ORDER BY gpus")
    expect("a row for each job", len(rows) == 12 and rows[0][0] == 1 and rows[-1][0] == 8, rows)
    expect("numbers are those of the JSON", {round(r[1], 6) for r in rows} == {
        round(p["jobs"][0]["throughput_samples_per_s"]["median"], 6) for p in json.loads(first.stdout)["points"]})
    settings = select(store, "SELECT value, count(*) FROM settings WHERE pointer = '/jobs/0/gpus' GROUP BY value")
    expect("settings can be asked", settings == [(1, 3), (2, 3), (4, 3), (8, 3)], settings)

    told = run("report", store, "--format", "json", "--out", folder / "stored")
    expect("a report without simulating is the same", told.returncode == 0 and told.stdout == first.stdout, told.stderr)
    run("predict", file, "--format", "json", "--out", folder / "predicted")
    for name in ("report.html", "result.json", "result.csv"):
        expect(f"its {name} too", (folder / "stored" / name).read_bytes() == (folder / "predicted" / name).read_bytes())
    with sqlite3.connect(store) as connection:
        keys = [key for key, in connection.execute("SELECT key FROM points ORDER BY key")]
        connection.execute("UPDATE points SET result = replace(result, 'median', 'mediam') WHERE key = ?", keys[:1])
        connection.execute("DELETE FROM points WHERE key = ?", keys[1:2])
    told = run("report", store, "--format", "json")
    expect("damaged rows are told", len(json.loads(told.stdout)["points"]) == 10 and "2 of 12 points are damaged" in told.stderr,
           told.stderr)
    told = run("report", store, "--experiment", "sises")
    expect("the nearest name", told.returncode == 2 and "sizes" in told.stderr, told.stderr)
    expect("run again", run("sweep", file, "--db", store, "--format", "json").stdout == first.stdout)

    EXPERIMENT["sweep"]["/jobs/0/gpus"].append(3)
    file.write_text(json.dumps(EXPERIMENT))
    grown = run("sweep", file, "--db", store)
    expect("a grown sweep runs what is new", "12 of 15 points are in" in grown.stderr, grown.stderr)
    other = run("sweep", file, "--db", store, "--seed", "2")
    expect("another seed is another point", "points are in" not in other.stderr, other.stderr)
    expect("--anew runs all", "points are in" not in run("sweep", file, "--db", store, "--anew").stderr)

    # A screen is shown the first rows; a pipe has all.
    crossed = "SELECT a.point FROM jobs a, jobs b LIMIT 100"
    try:
        leader, follower = pty.openpty()
    except OSError as error:  # a root without /dev/pts
        print(f"not tried: sql on a screen ({error})")
    else:
        subprocess.run([PROGRAM, "sql", store, crossed], stdout=follower, timeout=60)
        os.close(follower)
        screen = ""
        try:
            while more := os.read(leader, 65536):
                screen += more.decode()
        except OSError:  # the other end is closed
            pass
        os.close(leader)
        expect("sql on a screen", screen.count("\n") == 22 and "and 80 more rows" in screen, screen)
    expect("sql in a pipe", run("sql", store, crossed).stdout.count("\n") == 101)

    # Stopped in the middle, and taken up again.
    large = folder / "large.json"
    EXPERIMENT["sweep"]["/jobs/0/batch_per_gpu"] = list(range(1, 201))
    large.write_text(json.dumps(EXPERIMENT))
    stopped = folder / "stopped.db"
    process = subprocess.Popen([PROGRAM, "sweep", str(large), "--db", str(stopped)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    done = 0
    for _ in range(600):
        time.sleep(0.1)
        if stopped.exists():
            try:
                done = select(stopped, "SELECT count(*) FROM points")[0][0]
            except sqlite3.OperationalError:  # tables are being made
                continue
        if done > 20:
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    kept = select(stopped, "SELECT count(*) FROM points")[0][0]
    expect("Ctrl-C keeps what is done", 20 < kept < 1000 and process.returncode == 130, (kept, process.returncode))
    told = run("sweep", "--status", stopped)
    expect("it stopped, it did not end", f"{kept} of {len(EXPERIMENT['sweep']['/jobs/0/gpus']) * 200} points, stopped" in
           told.stdout, told.stdout)
    told = run("report", stopped, "--format", "json")
    shown = json.loads(told.stdout)
    expect("the report of a stopped sweep tells what is missing", len(shown["points"]) == kept and shown["interrupted"] and
           f"{1000 - kept} of 1000 points are missing" in told.stderr, told.stderr)
    expect("each of them whole", select(stopped, "SELECT count(*) FROM jobs")[0][0] == kept)

    # A job array, with a stand-in for Slurm.
    bin_folder = folder / "bin"
    stand_in_slurm.write(bin_folder)
    array = folder / "it's an array.db"
    path = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    launched = run("sweep", file, "--db", array, "--launcher", "slurm", "--jobs", "4", "--set",
                   '/jobs/0/model="vgg16"', env=path)
    expect("submitted", launched.returncode == 0 and "job 41: 15 points in 4 tasks" in launched.stdout and
           "job 42: collects" in launched.stdout, launched.stdout + launched.stderr)
    expect("all collected", select(array, "SELECT count(*) FROM points")[0][0] == 15)
    here = run("sweep", file, "--db", folder / "here.db", "--set", '/jobs/0/model="vgg16"', "--format", "json")
    there = run("sweep", file, "--db", array, "--set", '/jobs/0/model="vgg16"', "--format", "json")
    expect("as here", there.stdout == here.stdout and "15 of 15" in there.stderr, there.stderr)
    refused = run("sweep", file, "--db", array, "--launcher", "slurm", env={**os.environ, "PATH": "/usr/bin:/bin"})
    expect("no Slurm", refused.returncode == 2 and "--launcher local" in refused.stderr, refused.stderr)

    for name in ("", ":memory:"):
        wrong = run("sweep", file, "--db", name)
        expect(f"--db '{name}'", wrong.returncode == 2 and "name of a file" in wrong.stderr, wrong.stderr)
    EXPERIMENT["sweep"] = {"/jobs/0/gpus": [8, 9]}
    partial = folder / "partial.json"
    partial.write_text(json.dumps(EXPERIMENT))
    partly = run("sweep", partial, "--db", folder / "partly.db")
    expect("a point that fails leaves the others", partly.returncode == 2 and "only 8 GPUs" in partly.stderr and
           select(folder / "partly.db", "SELECT gpus FROM jobs") == [(8,)], partly.stderr)

    expect("in SQL too", "only 8 GPUs" in run("sql", folder / "partly.db", "failed").stdout)
    told = run("sweep", "--status", folder / "partly.db")
    expect("it has ended", "2 of 2 points, 1 failed, ended" in told.stdout, told.stdout)
    told = run("report", folder / "partly.db", "--out", folder / "partly")
    expect("failed points are told", told.returncode == 0 and "1 of 2 points failed" in told.stderr and
           "only 8 GPUs" in (folder / "partly/report.html").read_text(), told.stderr)

    with sqlite3.connect(folder / "foreign.db") as connection:
        connection.execute("CREATE TABLE mine (a)")
    foreign = run("sweep", file, "--db", folder / "foreign.db")
    expect("foreign database", foreign.returncode == 2 and "something else" in foreign.stderr, foreign.stderr)
    task = run("sweep", file, "--db", folder / "tasks.db", "--part=0/2", "--set", '/jobs/0/model="vgg16"')
    told = run("sweep", "--status", folder / "tasks.db")
    expect("status of tasks before they are collected", task.returncode == 0 and told.returncode == 0 and
           " points done" in told.stdout and "tasks.db.part-" in told.stdout, told.stdout + told.stderr)
    told = run("report", folder / "tasks.db")
    expect("report before tasks are collected", told.returncode == 2 and "collects them" in told.stderr, told.stderr)
    (folder / "noise.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    told = run("report", folder / "noise.db")
    expect("report of a damaged file", told.returncode == 2 and "noise.db" in told.stderr, told.stderr)
    for folder_name in ("nowhere.db", "no-folder/nowhere.db"):
        told = run("sweep", "--status", folder / folder_name)
        expect("status of nothing", told.returncode == 2 and "there is no file" in told.stderr, told.stderr)
    for part in ("3/3", "x", "1", "1/0", "-1/2", "1/2/3", "1/2 "):
        wrong = run("sweep", file, "--db", store, f"--part={part}")
        expect(f"--part {part}", wrong.returncode == 2 and "K/N" in wrong.stderr, wrong.stderr)

print("\n".join(failures) if failures else "sweeps ok")
sys.exit(1 if failures else 0)
