#!/usr/bin/env python3
"""A sweep that is killed (kill -9) again and again at random moments, and taken up again: its rows are those of a run
that nobody disturbed.

    tests/check_kills.py PROGRAM [KILLS] [POINTS]     default 20 kills of 1000 points; the last run may end by itself
"""
import json
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
POINTS = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
EXPERIMENT = {
    "name": "killed",
    "cluster": {"platform": "c4140-v100-sxm2", "nodes": 2},
    "jobs": [{"name": "train", "model": "resnet50", "framework": "pytorch-horovod", "batch_per_gpu": 64}],
    "sweep": {"/jobs/0/gpus": [1, 2, 4, 8], "/jobs/0/batch_per_gpu": list(range(1, POINTS // 4 + 1))},
}


def rows(store):
    with sqlite3.connect(store) as connection:
        return connection.execute("SELECT key, experiment, version, seed, fidelity, error, result, checksum FROM points "
                                  "ORDER BY key").fetchall()


def count(store):
    try:
        with sqlite3.connect(f"file:{store}?mode=rw", uri=True) as connection:  # a journal that was left is played back
            return connection.execute("SELECT count(*) FROM points").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def sweep(file, store):
    return [PROGRAM, "sweep", str(file), "--db", str(store), "--format", "csv", "--uncertainty", "steps"]


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    file, store, whole = folder / "sweep.json", folder / "killed.db", folder / "whole.db"
    file.write_text(json.dumps(EXPERIMENT))
    begin = time.monotonic()
    subprocess.run(sweep(file, whole), check=True, capture_output=True, timeout=600)
    serial = time.monotonic() - begin
    chance = random.Random(16)
    done = [0]
    for _ in range(KILLS):
        # In a group of its own: workers of a killed sweep must not write on.
        process = subprocess.Popen(sweep(file, store), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        try:
            process.wait(chance.uniform(0.02, 3.0 * serial / KILLS))
        except subprocess.TimeoutExpired:
            if chance.random() < 0.5:
                os.kill(process.pid, signal.SIGKILL)  # the sweep alone: its workers are left to see that it is gone
            else:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        done.append(count(store))
    last = subprocess.run(sweep(file, store), check=True, capture_output=True, text=True, timeout=600)
    same = rows(store) == rows(whole)
    answer = subprocess.run(sweep(file, whole), check=True, capture_output=True, text=True, timeout=600).stdout == last.stdout
    moved = sum(a < b for a, b in zip(done, done[1:]))
    print(f"{len(rows(whole))} points in {serial:.1f} s undisturbed; {KILLS} kills, {moved} of them after new points, left "
          f"{done[1:]}; {'identical' if same else 'DIFFERENT'} rows, {'the same' if answer else 'ANOTHER'} answer")
    sys.exit(0 if same and answer and moved >= 2 and len(rows(whole)) == POINTS else 1)
