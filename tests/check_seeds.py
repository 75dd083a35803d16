#!/usr/bin/env python3
"""Seeds of a fleet that are kept: killed (kill -9) and taken up again, and as a job array, the answer is that of a run
that nobody disturbed.

    tests/check_seeds.py PROGRAM
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import stand_in_slurm

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
SEEDS = 24
KILLS = 5
FLEET = {
    "name": "many", "cluster": {"nodes": 128, "gpus_per_node": 8}, "policy": "easy", "seeds": SEEDS,
    "arrivals": {"per_hour": 60, "until": "3 d", "mix": [
        {"gpus": 8, "run_time": "6 h", "law": "exponential"}, {"gpus": 64, "run_time": "10 h", "law": "exponential"}]},
    "failures": {"per_1000_node_days": 5, "repair": {"median": "2 h", "mean": "9 h"}},
}
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {str(detail)[-600:]}")


def fleet(file, *options, **more):
    return subprocess.run([PROGRAM, "fleet", str(file), "--format", "json", *map(str, options)], capture_output=True,
                          text=True, timeout=300, **more)


def kept(folder):
    return len(list(folder.glob("*.seed"))) if folder.exists() else 0


def kill_again_and_again(file, folder, serial):
    """How many seeds were there after each kill."""
    chance = random.Random(16)
    counts = [0]
    for _ in range(KILLS):
        process = subprocess.Popen([PROGRAM, "fleet", str(file), "--keep", str(folder)], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            process.wait(chance.uniform(0.02, 2.5 * serial / KILLS))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        counts.append(kept(folder))
    return counts


def check_kills(folder, file, whole, serial):
    counts = kill_again_and_again(file, folder / "kept", serial)
    expect("nothing that was kept is lost", counts == sorted(counts) and counts[-1] > 0, counts)
    last = fleet(file, "--keep", folder / "kept")
    expect("the same answer after kills", last.stdout == whole, last.stderr)
    if counts[-1] > 0:
        expect("what was kept is taken", f"{counts[-1]} seeds were in" in last.stderr, (counts, last.stderr))
    again = fleet(file, "--keep", folder / "kept")
    expect("all are taken", again.stdout == whole and f"{SEEDS} seeds were in" in again.stderr, again.stderr)
    return counts


def check_array(folder, file, whole):
    bin_folder = folder / "bin"
    stand_in_slurm.write(bin_folder)
    path = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    there = folder / "an array's"
    launched = fleet(file, "--keep", there, "--launcher", "slurm", "--jobs", 5, "--out", folder / "out", env=path)
    expect("submitted", launched.returncode == 0 and f"job 41: {SEEDS} seeds in 5 tasks" in launched.stdout and
           "job 42: collects" in launched.stdout, launched.stdout + launched.stderr)
    expect("each seed once", kept(there) == SEEDS, kept(there))
    expect("collected", (folder / "out/fleet.json").read_text() == whole)
    expect("collected from what tasks left", f"{SEEDS} seeds were in" in launched.stderr, launched.stderr)
    alone = fleet(file, "--keep", there, "--launcher", "slurm", env={**os.environ, "PATH": "/usr/bin:/bin"})
    expect("no Slurm", alone.returncode == 2 and "--launcher local" in alone.stderr, alone.stderr)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        file = folder / "fleet.json"
        file.write_text(json.dumps(FLEET))
        begin = time.monotonic()
        whole = fleet(file)
        serial = time.monotonic() - begin
        expect("undisturbed", whole.returncode == 0, whole.stderr)
        counts = check_kills(folder, file, whole.stdout, serial)
        check_array(folder, file, whole.stdout)
        for options, words in ((["--part", "0/2"], "needs --keep DIR"), (["--launcher", "slurm"], "needs --keep DIR"),
                               (["--keep", folder / "k", "--part", "2/2"], "K from 0 to N - 1"),
                               (["--keep", file], "cannot make the directory"),
                               (["--keep", folder / "k", "--policy-command", "cat"], "--policy-command")):
            wrong = fleet(file, *options)
            expect(f"refused: {options}", wrong.returncode == 2 and words in wrong.stderr, wrong.stderr)
    print("\n".join(failures) if failures else
          f"seeds ok: {SEEDS} in {serial:.1f} s undisturbed; {KILLS} kills left {counts[1:]}")
    sys.exit(1 if failures else 0)


main()
