#!/usr/bin/env python3
"""model import as a user meets it: each kind of file by its content, and one clear line where something is missing.

    tests/check_import.py FORETRAIN
"""
import gzip
import io
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile

RECORDINGS = pathlib.Path(__file__).resolve().parent.parent / "experiments/validation/hardware/recordings"
problems = []


def run(*arguments):
    return subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, timeout=120)


def expect(name, condition, detail=""):
    if not condition:
        problems.append(f"{name}: {detail}")


def refused(name, result, words):
    """One line and a hint, exit 2."""
    expect(name, result.returncode == 2 and words in result.stderr and result.stderr.count("\n") <= 2, result.stderr)


def stage(rank):
    """A recording of one of two stages: rank 0 computes for 10 ms, sends, receives and computes for 10 ms; rank 1 for 20 in between."""
    events = []

    def kernel(name, launched, at, lasts, **args):
        call = len(events)
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": launched, "dur": 2,
                       "args": {"correlation": call}})
        events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at, "dur": lasts,
                       "args": {"correlation": call, "device": 0, "stream": 7, **args}})

    def message(kind, launched, at, lasts):
        kernel("ncclDevKernel_SendRecv", launched, at, lasts,
               **{"stream": 20, "Collective name": kind, "In msg nelems": 50000000, "Out msg nelems": 50000000, "dtype": "Half",
                  "Group size": 2, "Dst Rank" if kind == "send" else "Src Rank": 1 - rank})

    for step in range(3):
        t = 41000 * step
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": t, "dur": 40990,
                       "args": {}})
        if rank == 0:
            kernel("ampere_sgemm", t + 10, t + 20, 10000)
            message("send", t + 14, t + 10020, 480)
            message("recv", t + 18, t + 10500, 20480)
            kernel("ampere_sgemm", t + 22, t + 30980, 10000)
        else:
            message("recv", t + 10, t + 20, 10480)
            kernel("ampere_sgemm", t + 14, t + 10500, 20000)
            message("send", t + 18, t + 30500, 480)
    return {"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events}


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    rank0 = RECORDINGS / "param-dlrm-8xV100/rank0.json.gz"

    model = json.loads(run("model", "import", rank0).stdout)["measured"]
    expect("a rank alone keeps what it waited", any("waited" in e for e in model["exchanges"]))
    every = run("model", "import", RECORDINGS / "param-dlrm-8xV100", "--out", folder / "dlrm.json")
    model = json.loads((folder / "dlrm.json").read_text())["measured"]
    expect("a folder of ranks", [line["rank"] for line in model["lines"]] == list(range(8)), every.stderr)
    expect("their waiting follows", not any("waited" in e for e in model["exchanges"]))
    refused("one rank twice", run("model", "import", rank0, rank0), "is of rank 0, as is")
    refused("ranks of different jobs",
            run("model", "import", rank0, RECORDINGS / "hta-recsys-2xV100-rank1.json.gz"), "exchanges in")
    gradients = json.loads(run("model", "import", rank0, "--exchanges", "gradients").stdout)["measured"]
    expect("gradients alone", "exchanges" not in gradients)

    job = {"cluster": {"platform": "p3dn", "nodes": 2},
           "jobs": [{"model": "./dlrm.json", "framework": "pytorch-ddp", "batch_per_gpu": 1, "gpus": 12}]}
    (folder / "job.json").write_text(json.dumps(job))
    told = json.loads(run("predict", folder / "job.json", "--format", "json").stdout)["points"][0]
    expect("more GPUs than were recorded are told", "recorded on 8 GPUs" in json.dumps(told), told.keys())
    job["jobs"][0]["input"] = {"format": "tfrecord"}
    (folder / "job.json").write_text(json.dumps(job))
    refused("an input beside recorded exchanges", run("predict", folder / "job.json"), "/jobs/0/input")

    packed = folder / "ranks.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        data = gzip.decompress(rank0.read_bytes())
        member = tarfile.TarInfo("rank0.json")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    for command in (("model", "import"), ("trace", "show")):
        refused("a tar archive", run(*command, packed), "is a tar archive")
    (folder / "empty").mkdir()
    refused("an empty folder", run("model", "import", folder / "empty"), "holds no file ending in")
    (folder / "text.txt").write_text("hello\n")
    refused("some text", run("model", "import", folder / "text.txt"), "is no file that can be imported")

    table = folder / "table.csv"
    table.write_text("name,count,time_us\nsgemm,10,100\n")
    expect("a table", json.loads(run("model", "import", table).stdout)["measured"]["step"] == "1000 us")
    table.write_text("name,count,time_us\nsgemm,10,soon\n")
    refused("a wrong row", run("model", "import", table), "row 2")
    graph = {"schema": "1.1.0", "nodes": [
        {"id": 2, "name": "aten::linear", "ctrl_deps": 1, "inputs": {"values": [], "shapes": [[4, 8], [16, 8], [16]]},
         "outputs": {"values": [], "shapes": [[4, 16]]}}]}
    (folder / "et.json").write_text(json.dumps(graph))
    operators = json.loads(run("model", "import", folder / "et.json").stdout)["operators"]
    expect("an execution trace", operators[0]["gemm"] == [1, 1, 16, 8] and operators[0]["gradients"] == [128, 16], operators)

    for rank in (0, 1):
        (folder / f"stage{rank}.json").write_text(json.dumps(stage(rank)))
    alone = run("model", "import", folder / "stage0.json")
    expect("sends of a rank alone", "exchanges" not in json.loads(alone.stdout)["measured"]
           and "send kernels that are no collective" in alone.stderr, alone.stderr)
    both = run("model", "import", folder / "stage0.json", folder / "stage1.json", "--out", folder / "pipeline.json")
    expect("sends of both ranks", "2 sends among them" in both.stderr, both.stderr)
    job = {"cluster": {"platform": "dgx-a100"},
           "jobs": [{"model": "./pipeline.json", "framework": "pytorch-ddp", "batch_per_gpu": 1, "gpus": 2}]}
    (folder / "job.json").write_text(json.dumps(job))
    told = run("predict", folder / "job.json", "--format", "json")
    step = json.loads(told.stdout)["points"][0]["jobs"][0]
    # 20 ms of kernels on each stage, one after the other, and two sends of 100 MB; rank 0 waits 20 ms, rank 1 ten, then for the next step.
    expect("a pipeline's step", 40.5e-3 < step["step_time_s"]["median"] < 42e-3, step["step_time_s"])
    expect("a pipeline's bubble", 15e-3 < step["time_s"]["bubble"] < 16e-3, step["time_s"])

print("\n".join(problems) or "imports as documented")
sys.exit(bool(problems))
