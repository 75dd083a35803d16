#!/usr/bin/env python3
"""A sweep as a job array of a real Slurm, whose tasks are lost: the database ends as that of a run here.

    tests/check_slurm.py PROGRAM

Submits the sweep, kills one task (kill -9), cancels another and the job that collects, submits again, kills another
task, and lets Slurm collect. Exit code 77: there can be no Slurm here, with the reason.
"""
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import slurm_machine
from slurm_machine import wait

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
TASKS, POINTS = 4, 320
EXPERIMENT = {
    "name": "array",
    "cluster": {"platform": "c4140-v100-sxm2", "nodes": 2},
    "jobs": [{"name": "train", "model": "resnet50", "framework": "pytorch-horovod", "batch_per_gpu": 64}],
    "sweep": {"/jobs/0/gpus": [1, 2, 4, 8], "/jobs/0/batch_per_gpu": list(range(1, POINTS // 4 + 1))},
}
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {str(detail)[-600:]}")


def rows(store):
    """What is stored, but when and by which run."""
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
        return [connection.execute(sql).fetchall() for sql in (
            "SELECT key, experiment, version, seed, fidelity, error, result, checksum FROM points ORDER BY key",
            "SELECT * FROM jobs ORDER BY point", "SELECT * FROM settings ORDER BY point, pointer")]


def count(store):
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
            return connection.execute("SELECT count(*) FROM points WHERE error IS NULL").fetchone()[0]
    except sqlite3.OperationalError:  # not there yet, or its tables
        return 0


def submit(slurm, file, store):
    """Numbers of the array and of the job that collects."""
    told = slurm.run(PROGRAM, "sweep", file, "--db", store, "--launcher", "slurm", "--jobs", TASKS, "--sbatch=--partition=cpu")
    jobs = re.findall(r"^job (\d+):", told.stdout, re.MULTILINE)
    expect("submitted", told.returncode == 0 and len(jobs) == 2, told.stdout + told.stderr)
    return jobs


def process_of(part):
    """The process that writes a part, as a task of the array."""
    for entry in pathlib.Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0] == PROGRAM.encode() and part["option"].encode() in words and str(part["store"]).encode() in words:
            return int(entry.name)
    return 0


def part(store, task):
    return {"store": store, "option": f"{task}/{TASKS}", "file": pathlib.Path(f"{store}.part-{task}-of-{TASKS}")}


def begun(more_than, *tasks):
    """Processes of tasks that have finished more than so many points; they are stopped, lest they finish all of them."""
    held = {}

    def all_held():
        for task in tasks:
            if task["option"] not in held and count(task["file"]) > more_than and (process := process_of(task)):
                os.kill(process, signal.SIGSTOP)
                held[task["option"]] = process
        return len(held) == len(tasks)

    wait(all_held, 60)
    return [held[task["option"]] for task in tasks]


def lose_tasks(slurm, file, store):
    """Kills a task, cancels another and the collecting job; points that are left."""
    array, collecting = submit(slurm, file, store)
    killed, cancelled = part(store, 1), part(store, 2)
    os.kill(begun(5, killed, cancelled)[0], signal.SIGKILL)
    for job in (f"{array}_2", collecting):
        told = slurm.run("scancel", job)
        expect("scancel", told.returncode == 0, told.stderr)
    wait(lambda: slurm.ended(array) and slurm.ended(collecting), 120)
    states = slurm.states(array)
    expect("states", states == {0: "COMPLETED", 1: "FAILED", 2: "CANCELLED", 3: "COMPLETED"}, states)
    for lost in (killed, cancelled):
        expect("a lost task leaves what it had finished", 5 < count(lost["file"]) < POINTS / TASKS, count(lost["file"]))
    status = slurm.run(PROGRAM, "sweep", "--status", store)
    left = sum(count(part(store, k)["file"]) for k in range(TASKS))
    expect("--status before anything is collected", f"{left} points done" in status.stdout, (left, status.stdout, status.stderr))
    expect("--status tells who was lost", status.stdout.count("stopped") == 2, status.stdout)
    return left


def submit_again(slurm, file, store, left):
    """The second array runs what is missing; a task of it is lost, too, and the collecting job makes up for it."""
    array, collecting = submit(slurm, file, store)
    again = part(store, 2)
    os.kill(begun(count(again["file"]) + 3, again)[0], signal.SIGKILL)
    wait(lambda: slurm.ended(array) and slurm.ended(collecting), 120)
    expect("collected", slurm.states(collecting) == {None: "COMPLETED"}, slurm.states(collecting))
    log = pathlib.Path(f"{store}.slurm-{array}_0.log").read_text()
    expect("a finished task has nothing to do", f"{POINTS // TASKS} of {POINTS // TASKS} points are in" in log, log)
    log = pathlib.Path(f"{store}.slurm-collect.log").read_text()
    known = re.search(rf"(\d+) of {POINTS} points are in", log)
    expect("the collecting job runs what is missing", known and left < int(known[1]) < POINTS, log)


def seeds_of_a_fleet(slurm, folder):
    """A task of a fleet's array never starts; the job that collects simulates its seeds."""
    there, out = folder / "seeds", folder / "fleet"
    arguments = ["fleet", "c4140-month", "--seeds", "12", "--out"]
    told = slurm.run(PROGRAM, *arguments, out, "--keep", there, "--launcher", "slurm", "--jobs", TASKS, "--sbatch=--partition=cpu",
                     "--sbatch=--begin=now+2")
    jobs = re.findall(r"^job (\d+):", told.stdout, re.MULTILINE)
    expect("seeds submitted", told.returncode == 0 and len(jobs) == 2, told.stdout + told.stderr)
    slurm.run("scancel", f"{jobs[0]}_2")
    wait(lambda: slurm.ended(jobs[0]) and slurm.ended(jobs[1]), 120)
    expect("states of the seeds' tasks", slurm.states(jobs[0]).get(2, "CANCELLED") == "CANCELLED", slurm.states(jobs[0]))
    log = (there / "seeds.slurm-collect.log").read_text()
    expect("the collecting job simulates what is missing", "9 seeds were in" in log, log)
    subprocess.run([PROGRAM, *arguments, folder / "here"], check=True, capture_output=True, timeout=300)
    for file in ("fleet.json", "jobs.csv"):
        expect(f"{file} as here", (out / file).read_bytes() == (folder / "here" / file).read_bytes())


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        file, store, serial = folder / "array.json", folder / "results.db", folder / "serial.db"
        file.write_text(json.dumps(EXPERIMENT))
        begin = time.monotonic()
        try:
            slurm = slurm_machine.Slurm(folder / "slurm", TASKS)
        except slurm_machine.NoSlurm as reason:
            print(f"skipped: {reason}")
            sys.exit(77)
        with slurm:
            left = lose_tasks(slurm, file, store)
            submit_again(slurm, file, store, left)
            seeds_of_a_fleet(slurm, folder)
        here = subprocess.run([PROGRAM, "sweep", str(file), "--db", str(serial)], capture_output=True, text=True, timeout=300)
        expect("serial run", here.returncode == 0, here.stderr)
        for what, of_array, of_serial in zip(("points", "jobs", "settings"), rows(store), rows(serial)):
            expect(f"{what} as in a serial run", of_array == of_serial and len(of_serial) >= POINTS,
                   (len(of_array), len(of_serial)))
        clean = subprocess.run([PROGRAM, "sweep", "--clean", str(store)], capture_output=True, text=True, timeout=60)
        expect("--clean", f"{POINTS} points kept" in clean.stdout and not list(folder.glob("results.db.*")), clean.stdout)
    print("\n".join(failures) if failures else
          f"slurm ok: {left} of {POINTS} points when two tasks were lost, {time.monotonic() - begin:.0f} s")
    sys.exit(1 if failures else 0)


main()
