#!/usr/bin/env python3
"""What a call of the Python module costs beyond the command: medians of calls that take turns.

    tests/bench/python_overhead.py build/release/foretrain [CALLS]
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

os.environ["FORETRAIN"] = program = str(pathlib.Path(sys.argv[1]).resolve())
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "experiments/python"))
start = time.perf_counter()
import foretrain as ft  # noqa: E402

imported = time.perf_counter() - start
EXPERIMENT = {
    "cluster": {"platform": "c4140-v100-sxm2", "nodes": 2},
    "jobs": [{"model": "resnet50", "framework": "tensorflow-horovod", "batch_per_gpu": 64, "gpus": 8}],
}
TEXT = json.dumps(EXPERIMENT).encode()


def by_command():
    """The program alone, started by os.posix_spawn through subprocess, its answer not even read."""
    subprocess.run([program, "predict", "-", "--format=json"], input=TEXT, stdout=subprocess.PIPE, close_fds=False, check=True)


def by_module():
    """The same through the module, its answer as an object."""
    ft.predict(EXPERIMENT).only().throughput_samples_per_s.median


times = {by_command: [], by_module: []}
own = []  # CPU time of this process in the module's calls: what others do on the machine does not count
for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 100):
    for call, taken in times.items():
        begin, busy = time.perf_counter(), time.process_time()
        call()
        taken.append(time.perf_counter() - begin)
        if call is by_module:
            own.append(time.process_time() - busy)
command, module = (1000 * statistics.median(taken) for taken in times.values())
best = 1000 * (min(times[by_module]) - min(times[by_command]))
print(f"import {1000 * imported:.0f} ms; command {command:.1f} ms, module {module:.1f} ms: {module - command:.1f} ms more "
      f"(of the quickest calls {best:.1f} ms); {1000 * statistics.median(own):.1f} ms of CPU in Python")
