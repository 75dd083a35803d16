#!/usr/bin/env python3
"""Answers that were wrong and looked right, one test each through the commands: all of them failed on version 0.2.

    tests/check_misleading.py FORETRAIN
"""
import csv
import io
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FORETRAIN = pathlib.Path(sys.argv[1]).resolve()


def run(*arguments, expect=0):
    done = subprocess.run([FORETRAIN, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert done.returncode == expect, f"{arguments[0]}: exit {done.returncode}\n{done.stderr}"
    return done.stdout if "--format" in arguments else done.stdout + done.stderr


def write(folder, name, content):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def experiment(job, cluster=None, **more):
    return {"name": "e", "cluster": {"platform": "hgx-h100", **(cluster or {})}, "jobs": [job], **more}


LARGE = {"model": "gpt3-18b", "framework": "megatron", "gpus": 8, "global_batch": 64, "micro_batch": 1, "parallel": {"tensor": 8}}
IMAGES = {"model": "resnet50", "framework": "tensorflow-horovod", "precision": "fp16", "batch_per_gpu": 128, "gpus": 4, "input": "tfrecord"}


def what_does_not_fit_is_told(folder):
    path = write(folder, "misfit.json", experiment({**LARGE, "parallel": {"tensor": 1}}, sweep={"/jobs/0/parallel/tensor": [1, 8]}))
    rows = list(csv.DictReader(io.StringIO(run("predict", path, "--format", "csv"))))
    assert [row["fits"] for row in rows[:2]] == ["false", "true"], rows
    run("check", path, expect=1)


def money_and_time(folder):
    path = write(folder, "price.json", experiment({**IMAGES, "epochs": 90}, {"platform": "c4140-k-v100-sxm2", "price_per_gpu_hour": 2}))
    job = json.loads(run("predict", path, "--format", "json"))["points"][0]["jobs"][0]
    hours = job["training_s"]["total"] / 3600
    assert abs(job["cost"]["median"] / (2 * 4 * hours) - 1) < 1e-6, job["cost"]
    plan = write(folder, "plan.json", {
        "name": "p", "experiment": experiment({**LARGE, "tokens": 1e11}), "cost": {"node_hour": 20}, "goals": [{"throughput_at_least": 1e-6}],
        "changes": [{"name": "nodes", "vary": "/jobs/0/gpus", "values": [8, 16]}]})
    costs = [it["cost"] for it in json.loads(run("plan", plan, "--format", "json"))["candidates"]]
    assert min(costs) > 100, costs


def epochs_after_the_first_count(folder):
    disks = [{"name": "as it is"}, {"name": "nvme", "set": {"/cluster/storage": "nvme"}}]
    job, cluster = {**IMAGES, "gpus": 32}, {"platform": "c4140-k-v100-sxm2", "storage": "nfs-nlsas"}
    path = write(folder, "epochs.json", {"name": "p", "experiment": experiment({**job, "epochs": 90}, cluster), "goals": [{"throughput_at_least": 1e-6}],
                                         "changes": [{"name": "disks", "options": disks}]})
    assert "instead of as it is: the same time to train" in run("plan", path)
    assert "first epoch, whose caches are cold" in " ".join(run("predict", write(folder, "first.json", experiment(job, cluster))).split())


def large_models_have_intervals(folder):
    path = write(folder, "large.json", experiment(LARGE))
    answer = json.loads(run("compare", path, path, "--set-b", "/jobs/0/micro_batch=2", "--format", "json"))
    for side in "ab":
        rate = answer["pairs"][0][side]["throughput_samples_per_s"]
        assert rate["low"] < 0.99 * rate["median"] and rate["high"] > 1.01 * rate["median"], rate


def kernels_of_other_libraries_exchange(folder):
    events = []
    for step in range(4):
        t = 20000 * step
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": t, "dur": 19990, "args": {}})
        for i, name in enumerate(["sm90_gemm", "void deep_ep::internode::dispatch<false, 8>", "sm90_gemm",
                                  "void deep_ep::internode::combine<8>"]):
            events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": t + 4 * i, "dur": 2,
                        "args": {"correlation": len(events)}}]
            events += [{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": t + 100 + 4900 * i, "dur": 4900,
                        "args": {"correlation": len(events) - 1, "device": 0, "stream": 7}}]
    text = run("trace", "show", write(folder, "deepep.json", {"traceEvents": events}))
    shares = {line.split("  ")[1]: float(line.split()[-2]) for line in text.splitlines() if line.startswith("  ") and line.endswith("%")}
    assert abs(shares["compute"] - 49) < 2 and abs(shares["exposed communication"] - 49) < 2, text


def all_reduce_log(gpu, rate):
    """As nccl-tests prints it, of eight GPUs; rate: bus bandwidth in GB/s."""
    rows = "".join(f"  {size:12} {size // 4:12}  float  {'sum':>4}  -1  {size * 1.75 / rate / 1e3:9.1f} {rate / 1.75:7.2f} {rate:7.2f}   0"
                   f"  {size * 1.75 / rate / 1e3:9.1f} {rate / 1.75:7.2f} {rate:7.2f}   0\n" for size in (2**20 << k for k in range(8)))
    ranks = "".join(f"#  Rank {i} Group 0 Pid 1 on node device {i} [0x{i:02x}] {gpu}\n" for i in range(8))
    return (f"# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 8 minBytes 1048576 maxBytes 134217728 step: 2(factor)\n#\n# Using devices\n{ranks}#\n"
            "#       size         count    type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
            "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n" + rows)


def logs_of_something_else_are_refused(folder):
    log = write(folder, "all-reduce.log", all_reduce_log("NVIDIA A100-SXM4-40GB", 230))
    run("nccl-tests", "all_reduce_perf", "--platform", "dgx-a100", "-g", 8, "--diff", log)
    assert "all_reduce" in run("nccl-tests", "all_gather_perf", "--platform", "dgx-a100", "-g", 8, "--diff", log, expect=2)
    assert "A100" in run("nccl-tests", "all_reduce_perf", "--platform", "dgx1-v100", "-g", 8, "--diff", log, expect=2)


def profiles_of_other_gpus_are_not_written(folder):
    log = ROOT / "calibration/data/logs/dgx1-v100-nccl.log"
    text = run("calibrate", log, "--platform", "dgx-a100", "--out", folder / "profile.json", expect=1)
    assert not (folder / "profile.json").exists() and "V100" in text, text


def imported_switches_reduce(folder):
    path = folder / "imported.json"
    run("platform", "import", ROOT / "tests/platforms/data/hgx-h100-paste.txt", "--nvlink", "hgx-h100", "--gpu", "h100-sxm5-80gb", "--nic", "connectx7-ndr",
        "--cpu", "xeon-platinum-8480c", "--fabric", "qm9700-ndr", "--nodes", 4, "--memory", "2 TB", "--out", path)
    rates = []
    for platform in (path, "hgx-h100"):
        text = run("nccl-tests", "all_reduce_perf", "--platform", platform, "-g", 8, "-b", "1G", "-e", "1G")
        rates.append(float(next(line for line in text.splitlines() if line.split()[:1] == ["1073741824"]).split()[7]))
    assert abs(rates[0] / rates[1] - 1) < 0.05 and rates[0] > 420, rates


def what_a_gpu_cannot_do_is_refused(folder):
    path = write(folder, "mxfp8.json", experiment({**LARGE, "precision": "mxfp8"}))
    assert "mxfp8" in run("predict", path, expect=2)


# Numbers in pages, the tenth of them, are those of tests/check_readme.py.
CHECKS = [what_does_not_fit_is_told, money_and_time, epochs_after_the_first_count, large_models_have_intervals, kernels_of_other_libraries_exchange,
          logs_of_something_else_are_refused, profiles_of_other_gpus_are_not_written, imported_switches_reduce, what_a_gpu_cannot_do_is_refused]


def main():
    problems = []
    for check in CHECKS:
        with tempfile.TemporaryDirectory(prefix="foretrain-misleading-") as folder:
            try:
                check(pathlib.Path(folder))
            except Exception as problem:  # whatever it is, the answer is not as it should be
                problems.append(f"{check.__name__.replace('_', ' ')}: {type(problem).__name__} {str(problem)[:400]}")
    print("\n".join(problems) or f"{len(CHECKS)} answers are not misleading")
    return 1 if problems else 0


sys.exit(main())
