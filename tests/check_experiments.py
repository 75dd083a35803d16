#!/usr/bin/env python3
"""Every bundled experiment runs and meets its expectations; outputs obey the public contract."""
import json
import pathlib
import subprocess
import sys

program, root = sys.argv[1], pathlib.Path(sys.argv[2])
PARTS = ("compute", "exposed_communication", "input_stall", "host_to_device", "straggler_wait", "framework")
failed = 0
for path in sorted((root / "experiments/data").glob("*.json")):
    # Intervals of parameters are those of goldens and other tests: here they would take nine tenths of the time.
    run = subprocess.run([program, "predict", path, "--uncertainty", "steps", "--format", "json"], capture_output=True, text=True)
    problems = [] if run.returncode == 0 else [f"exit code {run.returncode}", run.stderr.strip()]
    points = json.loads(run.stdout)["points"] if run.stdout else []
    for point in points:
        for job in point.get("jobs", []):
            at = f"{point['settings']} {job['name']}"
            total, step = sum(job["time_s"][p] for p in PARTS), job["step_time_s"]
            if not step["low"] * 0.98 <= total <= step["high"] * 1.02:
                problems.append(f"{at}: parts add up to {total}, the step takes {step['median']}")
            if not job["bottleneck"]["resource"] or not job["bottleneck"]["why"]:
                problems.append(f"{at}: no named bottleneck")
            rate = job["throughput_samples_per_s"]
            if not 0 < rate["low"] <= rate["median"] <= rate["high"]:
                problems.append(f"{at}: interval out of order")
    print(f"{path.name}: {len(points)} points, " + ("ok" if not problems else "; ".join(problems)))
    failed += bool(problems)
sys.exit(failed > 0)
