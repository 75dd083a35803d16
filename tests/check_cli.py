#!/usr/bin/env python3
"""The program as a user meets it: exit codes, messages, determinism, streams."""
import gzip
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
GOOD = {
    "cluster": {"platform": "c4140-v100-sxm2", "nodes": 2},
    "jobs": [{"name": "train", "model": "resnet50", "framework": "tensorflow-horovod", "batch_per_gpu": 64, "gpus": 8}],
}
failures = []


def run(*arguments, stdin=None):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=300, input=stdin)


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}")


def with_text(text):
    file = tempfile.NamedTemporaryFile("w", suffix=".json", delete=False)
    file.write(text)
    file.close()
    return file.name


def changed(**patch):
    experiment = json.loads(json.dumps(GOOD))
    for pointer, value in patch.get("put", {}).items():
        *parents, last = pointer.strip("/").split("/")
        at = experiment
        for step in parents:
            at = at[int(step)] if isinstance(at, list) else at.setdefault(step, {})
        at[last] = value
    return with_text(json.dumps(experiment, indent=2))


BAD = [  # (what, file, must be in the message)
    ("malformed", with_text('{ "cluster": '), "not valid JSON"),
    ("trailing comma", with_text('{ "jobs": [], }'), ":1:"),
    ("NaN", with_text('{ "jobs": NaN }'), "not valid JSON"),
    ("not an object", with_text("[]"), "must be"),
    ("empty", with_text(""), "error: is empty"),
    ("unknown key", changed(put={"/jobs/0/batchsize": 4}), "/jobs/0/batchsize is not a known key"),
    ("misspelt model", changed(put={"/jobs/0/model": "resnet5"}), "did you mean 'resnet50'?"),
    ("misspelt platform", changed(put={"/cluster/platform": "c4140-v100-sxm"}), "did you mean"),
    ("a GPU for a platform", changed(put={"/cluster/platform": "h20"}), "is a GPU, not a platform"),
    ("more GPUs than a platform has", changed(put={"/cluster": {"platform": "v100-pcie-4gpu"}, "/jobs/0/gpus": 8}),
     "has at most 1 node, and 2 are needed"),
    ("too many GPUs", changed(put={"/jobs/0/gpus": 9}), "only 8 GPUs are free on 2 nodes"),
    ("negative batch", changed(put={"/jobs/0/batch_per_gpu": -1}), "must be at least 1, got -1"),
    ("too many nodes", changed(put={"/cluster/nodes": 5000}), "has at most 1024 nodes"),
    ("no GPUs", changed(put={"/cluster/platform": "r740xd-head", "/cluster/nodes": 1}), "has no GPUs"),
    ("wrong precision", changed(put={"/jobs/0/precision": "tf32"}), "it has: fp32, fp16"),
    ("number without unit", changed(put={"/jobs/0/start": 5}), "needs a unit"),
    ("wrong unit", changed(put={"/jobs/0/start": "5 GB"}), "allowed units"),
    ("missing file", "no/such/file.json", "does not exist"),
    ("program without work", changed(put={"/jobs": [{"gpus": 1, "framework": "pytorch-ddp", "program": {"streams": ["compute"],
     "ranks": [{"device": 0}], "groups": [], "operations": [{"kind": "compute", "phase": "forward", "rank": 0,
     "stream": "compute", "time_s": 0}], "samples_per_step": 1}}]}), "/operations take no time at all"),
    ("name of a repository", changed(put={"/jobs/0/model": "meta-llama/Llama-3.1-8B"}), "did you mean 'llama-3.1-8b'?"),
    ("file that is missing inside", changed(put={"/jobs/0/model": "./nothing.json"}), "does not exist"),
    ("empty sweep", changed(put={"/sweep": {"/jobs/0/gpus": []}}), "must be a list of values"),
    ("sweep that leads nowhere", changed(put={"/sweep": {"/job/0/gpus": [1]}}), "did you mean 'jobs'?"),
    ("sweep with a wrong value", changed(put={"/sweep": {"/jobs/0/gpus": [1, "two"]}}), "must be a whole number"),
    ("anchor beyond reason", changed(put={"/jobs/0/anchor": {"samples_per_s": 1e9}}), "leaves no time"),
    ("network nobody can carry", changed(put={"/cluster/platform": "nthu-gtx1080", "/jobs/0/gpus": 4,
                                              "/stack": {"network": "rdma"}}), "/stack/network is"),
    ("its job's network", changed(put={"/cluster/platform": "nthu-gtx1080", "/jobs/0/gpus": 4,
                                       "/jobs/0/stack": {"network": "ipoib"}}), "it can use: calico"),
    ("number beyond all numbers", with_text('{ "seed": 1e400 }'), "number overflow parsing '1e400'"),
    ("directory as a preset", changed(put={"/jobs/0/model": "./"}), "names a directory"),
    ("expectation on nothing", changed(put={"/expect": [{"quantity": "speedup"}]}), "must be a JSON pointer"),
]
big = tempfile.NamedTemporaryFile("w", suffix=".json", delete=False)
big.write('{"a": "' + "x" * 100_000_000 + '"}')
big.close()
BAD.append(("100 MB", big.name, "larger than 16 MiB"))
loop = pathlib.Path(tempfile.mkdtemp())
(loop / "a.json").write_text('{"extends": "./b.json"}')
(loop / "b.json").write_text('{"extends": "./a.json"}')
BAD.append(("cyclic include", str(loop / "a.json"), "is a cycle"))

for what, file, message in BAD:
    result = run("predict", file)
    expect(what, result.returncode == 2, f"exit code {result.returncode}: {result.stderr}")
    expect(what, message in result.stderr, f"'{message}' is not in: {result.stderr}")
    expect(what, result.stdout == "", "something on stdout")
pathlib.Path(big.name).unlink()

for arguments, message in [
    (["predikt"], "did you mean 'predict'?"),
    (["predict"], "EXPERIMENT"),
    (["predict", changed(), "--set", "nonsense"], "--set needs POINTER=VALUE"),
    (["predict", changed(), "--set", "/jobs/7/gpus=1"], "the list has 1 entry"),
    ([], "foretrain: a command is needed"),
    (["platform"], "foretrain: platform needs a command"),
    (["platform", "shwo", "dgx1-v100"], "did you mean 'show'?"),
    (["predict", changed(), "--fromat", "json"], "'--fromat' is not an option of predict\n  hint: did you mean '--format'?"),
    (["predict", changed(), "--formta=json"], "did you mean '--format'?"),
    (["predict", changed(), "--format", "xml"], "{table,json,csv}"),
    (["predict", changed(), "--set", "/jobs/0/modle=vgg16"], "did you mean 'model'?"),
    (["sweep", changed()], "sweep needs --db FILE"),
    (["compare", changed(), "nowhere.db"], "there is no file 'nowhere.db'"),
    (["report", "nowhere.db"], "there is no file 'nowhere.db'"),
    (["platform", "show", "dgx-a1"], "did you mean one of dgx-a100, dgx-a100-80gb"),
    (["predict", changed(), "--fidelity", "best"], "fidelity"),
    (["schema", "experimnt"], "did you mean 'experiment'?"),
    (["platform", "show", "c4140"], "did you mean"),
]:
    result = run(*arguments)
    expect(" ".join(arguments), result.returncode == 2, f"exit code {result.returncode}")
    expect(" ".join(arguments), message in result.stderr, result.stderr)
for command in (["predict"], ["explain"], ["compare", "c4140-resnet50"], ["plan"], ["model", "show"], ["platform", "show"]):
    told = run(*command, "nonsuch").stderr
    expect(f"{command}: an unknown name is told once", told.count("nonsuch") == 1 and "known " in told, told)

good = changed()
outputs = {hashlib.sha256(run("predict", good, "--format", "json").stdout.encode()).hexdigest() for _ in range(20)}
expect("same seed", len(outputs) == 1, "20 runs differ")
first = json.loads(run("predict", good, "--format", "json").stdout)
other = json.loads(run("predict", good, "--format", "json", "--seed", "2").stdout)
expect("other seed", first["points"][0]["jobs"][0]["step_time_s"] != other["points"][0]["jobs"][0]["step_time_s"])
expect("contract", set(first) >= {"experiment", "version", "seed", "fidelity", "points"})

result = json.loads(run("predict", changed(put={"/cluster/storage": "isilon-f800"}), "--format", "json").stdout)
expect("storage that nobody reads", "has no influence" in str(result["points"][0].get("warnings")), "no warning")

swept = changed(put={"/sweep": {"/jobs/0/precision /jobs/0/batch_per_gpu": [["fp32", 32], ["fp16", 64]], "/jobs/0/gpus": [1, 2]}})
points = json.loads(run("predict", swept, "--format", "json", "--set", "/jobs/0/gpus=4", "--set",
                        "/jobs/0/batch_per_gpu=16").stdout)["points"]
expect("--set fixes what the sweep varies", len(points) == 2 and all(p["jobs"][0]["gpus"] == 4 for p in points), str(len(points)))

about = changed(put={"/expect": [{"quantity": "/speedup", "point": {"/jobs/0/gpus": 8}, "at_least": 100}]})
expect("expectation about a value of the file", run("predict", about).returncode == 1)
expect("expectation about another point", run("predict", about, "--set", "/jobs/0/gpus=4").returncode == 0)

failing = changed(put={"/expect": [{"quantity": "/speedup", "at_least": 100}]})
result = run("predict", failing)
expect("expectation", result.returncode == 1 and "expectation not met" in result.stderr, result.stderr)

profile = with_text(json.dumps({"parameters": [
    {"kind": "framework", "preset": "tensorflow-horovod", "pointer": "/step_overhead", "value": "50 ms", "source": "a test"},
    {"kind": "gpu", "preset": "k80", "pointer": "/kernel_launch", "value": "9 us"}]}))
profiled = json.loads(run("predict", good, "--format", "json", "--profile", profile).stdout)
gain = profiled["points"][0]["jobs"][0]["step_time_s"]["median"] - first["points"][0]["jobs"][0]["step_time_s"]["median"]
expect("profile", abs(gain - 0.049) < 1e-3, f"step time grew by {gain}")
named = [p for p in profiled["points"][0]["parameters"] if profile in p["source"]]
expect("profile in the parameters", [p["value"] for p in named] == ["50 ms"] and "a test" in named[0]["source"], str(named))
expect("profile without use", "gpu k80 /kernel_launch" in str(profiled.get("warnings")), str(profiled.get("warnings")))

iperf3 = with_text(json.dumps({
    "start": {"connecting_to": {"host": "b"}, "tcp_mss_default": 1448,
              "test_start": {"protocol": "TCP", "num_streams": 1, "reverse": 0}},
    "intervals": [],
    "end": {"sum_sent": {"seconds": 2, "bytes": 2e9, "bits_per_second": 8e9},
            "sum_received": {"seconds": 2, "bytes": 2e9, "bits_per_second": 8e9},
            "cpu_utilization_percent": {"host_total": 60, "remote_total": 95}}}))
result = run("calibrate", iperf3, "--network", "flannel-vxlan", "--dry-run")
expect("calibrate", result.returncode == 0 and "network flannel-vxlan /cpu_per_packet" in result.stdout, result.stderr)
learnt = tempfile.mktemp(suffix=".json")
result = run("calibrate", iperf3, "--network", "flannel-vxlan", "--out", learnt, "--name", "lab")
expect("calibrate --out", result.returncode == 0 and json.loads(pathlib.Path(learnt).read_text())["name"] == "lab", result.stderr)
vxlan = changed(put={"/stack": {"network": "flannel-vxlan"}})
result = json.loads(run("predict", vxlan, "--format", "json", "--profile", learnt).stdout)
expect("a profile that was learnt", any("iperf3" in p["source"] for p in result["points"][0]["parameters"]), "not used")
logs = pathlib.Path(__file__).resolve().parent.parent / "calibration/data/logs"
result = run("calibrate", str(logs / "c4140-p2p.log"), "--platform", "c4140-k-v100-sxm2", "--dry-run")
expect("bundled p2p log", "/nvlink_copy_efficiency" in result.stdout and "Outliers" in result.stdout, result.stderr)
result = run("calibrate", str(logs / "dgx1-v100-nccl.log"), "--platform", "dgx1-v100", "--library", "nccl-2.4", "--dry-run")
expect("bundled nccl-tests log", "/nvlink_collective_efficiency" in result.stdout, result.stderr)
result = run("parameters", "transport")
expect("parameters of no kind", result.returncode == 2 and "is not a kind" in result.stderr, result.stderr)
aliased = run("parameters", "gpu", "h100")
expect("parameters of an alias", aliased.returncode == 0 and aliased.stdout == run("parameters", "gpu", "h100-sxm5-80gb").stdout, aliased.stderr)
expect("parameters", len(json.loads(run("parameters", "library", "--format", "json").stdout)) > 20)

# A file that another command reads: which one.
recording = with_text('{"schemaVersion": 1, "deviceProperties": [], "traceEvents": []}')
mlperf = with_text(':::MLLOG {"namespace": "", "time_ms": 1, "key": "submission_benchmark", "value": "resnet"}\n')
transformer = with_text('{"model_type": "llama", "hidden_size": 4096}')
nccl = str(logs / "dgx1-v100-nccl.log")
for arguments, message in [
    (["calibrate", recording, "--dry-run"], f"it is a recording of a profiler: foretrain trace show {recording}"),
    (["calibrate", mlperf, "--dry-run"], f"it is a result log of MLPerf: foretrain mlperf-import {mlperf}"),
    (["calibrate", transformer, "--dry-run"], f"it is a transformer's configuration: foretrain model import {transformer}"),
    (["trace", "show", nccl], f"it is a log of a measurement: foretrain calibrate {nccl}"),
    (["trace", "show", mlperf], "foretrain mlperf-import"),
    (["model", "import", nccl, "--out", "never.json"], f"foretrain calibrate {nccl}"),
]:
    told = run(*arguments)
    expect("which command reads it: " + " ".join(arguments), told.returncode == 2 and message in told.stderr, told.stderr)

for arguments, message in [
    (["calibrate", iperf3], "--out PROFILE.json"),
    (["calibrate", good, "--dry-run"], "is not a log that is known here"),
    (["calibrate", "no/such.log", "--dry-run"], "no/such.log"),
    (["calibrate", iperf3, iperf3, "--dry-run"], "counts once"),
    (["predict", good, "--profile", iperf3], "/start is not a known key"),
]:
    result = run(*arguments)
    expect(" ".join(arguments), result.returncode == 2 and message in result.stderr, result.stderr)

plain = run("nccl-tests", "all_reduce_perf", "--platform", "hgx-h100", "-g", "8", "-b", "16M", "-e", "16M",
            "--algorithm", "in-switch").stdout
real = run("nccl-tests", "all_reduce_perf", "--platform", "hgx-h100", "-g", "8", "-b", "16MB", "-e", "16MiB",
           "--algorithm", "NVLS", "-c", "0", "-z", "0", "-o", "sum", "-G", "0", "-m", "1", "-N", "1").stdout
expect("nccl-tests takes the flags and words of the real one", real == plain and "16777216" in real, real)
guest = run("nccl-tests", "all_reduce_perf", "--platform", "p4de", "-g", "8", "--host", "vm").stdout
expect("nccl-tests tells what it assumes", "# assumed: 'p4de' is told as its guests see it" in guest, guest)
shown = run("nccl-tests", "all_reduce_perf", "--platform", "dgx1-v100", "--nodes", "2", "-g", "8", "-b", "1M", "-e", "1G",
            "-f", "4", "--explain")
expect("the choice is explained", "LL128: latency" in shown.stdout and "Simple: latency" in shown.stdout, shown.stdout)
back = run("nccl-tests", "all_reduce_perf", "--platform", "dgx1-v100", "--nodes", "2", "-g", "8", "--diff",
           with_text(shown.stdout))
expect("its own output is read back", "mean error 0.0 %" in back.stdout, back.stdout + back.stderr)
for layout in (["-g", "8"], ["-t", "2", "-g", "4"], ["-t", "1", "-g", "8"]):  # small calls depend on who launches them
    shown = run("nccl-tests", "all_reduce_perf", "--platform", "dgx1-v100", *layout, "-b", "1K", "-e", "16K", "-f", "4")
    back = run("nccl-tests", "all_reduce_perf", "--platform", "dgx1-v100", "--diff", with_text(shown.stdout))
    expect(f"small calls of {layout} are read back", "maximum 0." in back.stdout, back.stdout + back.stderr)
expect("negative seed", run("predict", changed(), "--seed", "-1").returncode == 2)
REMARKS = [  # (what, patch, must be among the warnings)
    ("slow adapter", {"/stack": {"network": "tcp"}}, "the nodes also have ib0 (12.5 GB/s)"),
    ("cores", {"/jobs/0/cores": 4000}, "is given 4000 cores of each node"),
    ("memory", {"/jobs/0/memory": "100 TB"}, "is given 100 TB of main memory"),
    ("too little memory", {"/jobs/0/memory": "1 GB"}, "and may use 1 GB"),
    ("GPU memory", {"/jobs": [{**GOOD["jobs"][0], "name": name, "gpus": 1, "batch_per_gpu": 128, "placement": [[0, 0]]}
                              for name in ("a", "b")]}, "a, b: on one GPU they need about"),
]
for what, patch, wanted in REMARKS:
    answer = json.loads(run("predict", changed(put=patch), "--format", "json", "--uncertainty", "steps").stdout)
    told = answer["points"][0].get("warnings", [])
    expect(f"warning about {what}", any(wanted in line for line in told), told)
shown = run("predict", changed(put={"/jobs/0/batch_per_gpu": 100000}), "--uncertainty", "steps").stdout
expect("what does not fit is said first", "In short\n  - It does not fit as it is" in shown, shown)
twice = run("predict", changed(put={"/jobs/0/anchor": {"samples_per_s": 1e9}, "/sweep": {"/jobs/0/gpus": [1, 2]}}))
expect("equal errors are told once", twice.stderr.count("leaves no time") == 1, twice.stderr)
quiet = json.loads(run("predict", changed(), "--format", "json").stdout)["points"][0]
expect("no warning without cause", "warnings" not in quiet, quiet.get("warnings"))

def width(*arguments):
    job = json.loads(run("predict", good, "--format", "json", *arguments).stdout)["points"][0]["jobs"][0]
    return job["throughput_samples_per_s"]["high"] / job["throughput_samples_per_s"]["low"], job["uncertainty"]["method"]


expect("--uncertainty", width("--uncertainty", "steps")[0] < width()[0] and width()[1] == "linear", str(width()))
table = run("predict", "c4140-resnet50").stdout
steps = run("predict", "c4140-resnet50", "--uncertainty", "steps").stdout
expect("intervals of steps alone are called so", "steps' 90 % int." in steps and "(steps' 90 % interval" in steps and
       "  90 % int." in table and "steps'" not in table, steps)
expect("--interval", width("--interval", "0.5")[0] < width("--interval", "0.95")[0])
samples = [width("--uncertainty", "monte-carlo", "--samples", "20") for _ in range(2)]
expect("monte-carlo", samples[0] == samples[1] and samples[0][1] == "monte-carlo", str(samples))
expect("too few samples", run("predict", good, "--uncertainty", "monte-carlo", "--samples", "2").returncode == 2)

with tempfile.TemporaryDirectory() as out:
    result = run("predict", good, "--out", out, "--trace", "--format", "csv", "--set", "/jobs/0/gpus=4")
    files = {p.name for p in pathlib.Path(out).iterdir()}
    expect("out", files == {"result.json", "result.csv", "report.html", "points.jsonl", "trace-0.json"}, str(files))
    trace = json.loads((pathlib.Path(out) / "trace-0.json").read_text())["traceEvents"]
    expect("trace", sum(e["name"].startswith("ncclDevKernel_AllReduce") for e in trace) > 0, "no collectives")
    expect("trace", len({e["pid"] for e in trace}) == 4, "not one process per GPU")
    page = (pathlib.Path(out) / "report.html").read_text()
    expect("report", "<html" in page and 'src="http' not in page and "@import" not in page, "not self-contained")

# Points that end in another order than they are asked in are kept in that order.
with tempfile.TemporaryDirectory() as out:
    asked = [8, 1, 4, 2]
    run("predict", changed(put={"/sweep": {"/jobs/0/gpus": asked}}), "--out", out, "--jobs", "4")
    lines = [json.loads(line) for line in (pathlib.Path(out) / "points.jsonl").read_text().splitlines()]
    expect("points.jsonl is in order", [line["settings"]["/jobs/0/gpus"] for line in lines] == asked, lines)

for kind in ("experiment", "platform", "model", "framework"):
    schema = json.loads(run("schema", kind).stdout)
    forms = schema.get("anyOf", [schema])
    expect(f"schema {kind}", all(f["type"] == "object" and f["properties"] for f in forms), "empty")

# --stack: words, an object, and the two options it stands for.
def bandwidth(*options):
    shown = run("nccl-tests", "all_reduce_perf", "--platform", "c4140-v100-sxm2", "--nodes", "2", "-g", "4", *options)
    return [line for line in shown.stdout.splitlines() if not line.startswith("#")], shown


both = bandwidth("--host", "vm", "--network", "ipoib")[0]
expect("--stack words", bandwidth("--stack", "vm+ipoib")[0] == both and both)
expect("--stack object", bandwidth("--stack", '{"network": "ipoib", "host": "vm"}')[0] == both)
expect("--network overrides", bandwidth("--stack", "vm+rdma", "--network", "ipoib")[0] == both)
for platform, library, hint in (("mi300x-8", "nccl", "rccl"), ("hgx-h100", "rccl", "nccl")):
    for command in (["nccl-tests", "all_reduce_perf", "--platform", platform, "-g", "8"],
                    ["platform", "show", platform, "--graphs"], ["calibrate", str(logs / "dgx1-v100-nccl.log"), "--platform", platform, "--dry-run"]):
        told = run(*command, "--library", library)
        expect(f"{command[0]} --library {library} on {platform}", told.returncode == 2 and
               f"--library: '{library}' runs on GPUs of" in told.stderr and f"hint: {hint} runs on" in told.stderr, told.stderr)
wrong = bandwidth("--stack", "vm+ipob")[1]
expect("--stack misspelt", wrong.returncode == 2 and "did you mean 'ipoib'" in wrong.stderr, wrong.stderr)

# Plans: found by name, answered, and refused.
answer = run("plan", "c4140-growth", "--format", "json")
plan = json.loads(answer.stdout)
expect("plan", answer.returncode == 0 and plan["recommended"] in plan["frontier"], answer.stderr)
expect("plan: its cheapest is told", all(
    c["cost"] >= plan["candidates"][plan["recommended"]]["cost"] for c in plan["candidates"] if c["probability"] >= 0.9))
expect("plan: in words", "One change at a time" in run("plan", "c4140-growth").stdout)
short = run("plan", "c4140-growth", "--set", "/budget=10", "--uncertainty", "steps")
expect("plan: out of reach", short.returncode == 1 and "No candidate within the budget" in short.stdout, short.stdout)
unknown = run("plan", "c4140-grwth")
expect("plan: misspelt", unknown.returncode == 2 and "did you mean 'c4140-growth'" in unknown.stderr, unknown.stderr)

# An experiment through a pipe is the same as from a file.
piped = run("predict", "-", "--format", "json", stdin=json.dumps(GOOD))
filed = run("predict", with_text(json.dumps(GOOD)), "--format", "json")
expect("standard input", piped.returncode == 0 and
       json.loads(piped.stdout)["points"] == json.loads(filed.stdout)["points"], piped.stderr)
broken = run("predict", "-", stdin="{")
expect("standard input, broken", broken.returncode == 2 and "standard input:1:2: error" in broken.stderr, broken.stderr)

# So is one through a descriptor, whose paths are beside the folder one is in; and one in YAML, with its places.
with tempfile.TemporaryDirectory() as folder:
    here = pathlib.Path(folder)
    (here / "mine.json").write_text(json.dumps({**GOOD, "cluster": {"platform": "machine.yaml", "nodes": 2}}))
    (here / "machine.yaml").write_text("extends: c4140-v100-sxm2\nname: mine\n")
    (here / "mine.yaml").write_text("cluster: {platform: c4140-v100-sxm2, nodes: 2}\njobs:\n  - &job\n    name: train\n    model: "
                                    "resnet50\n    framework: tensorflow-horovod\n    batch_per_gpu: 64\n    gpus: 8\n")
    shell = subprocess.run(["bash", "-c", f"cd {folder}; cat mine.json | {pathlib.Path(PROGRAM).resolve()} predict /dev/fd/0 --format json"],
                           capture_output=True, text=True)
    rates = [json.loads(told)["points"][0]["jobs"][0]["throughput_samples_per_s"] if told else None for told in
             (filed.stdout, shell.stdout, run("predict", here / "mine.yaml", "--format", "json").stdout,
              run("predict", "-", "--format", "json", stdin=(here / "mine.yaml").read_text()).stdout)]
    expect("descriptors and YAML", rates[0] is not None and rates == rates[:1] * 4, f"{rates} {shell.stderr}")
    (here / "packed.json.gz").write_bytes(gzip.compress(json.dumps(GOOD).encode()))
    packed = subprocess.run([pathlib.Path(PROGRAM).resolve(), "predict", "packed.json.gz", "--format", "json"],
                            capture_output=True, text=True, cwd=here)
    expect("gzipped, by its name alone", packed.returncode == 0 and
           json.loads(packed.stdout)["points"] == json.loads(filed.stdout)["points"], packed.stderr)
    (here / "wrong.yaml").write_text((here / "mine.yaml").read_text().replace("gpus", "gpu"))
    wrong = run("predict", here / "wrong.yaml")
    expect("YAML: place", wrong.returncode == 2 and f"wrong.yaml:8:5: error: /jobs/0/gpu is not a known key\n  hint: did you mean 'gpus'?"
           in wrong.stderr, wrong.stderr)

expect("FORETRAIN_DATA in --help", "FORETRAIN_DATA" in run("--help").stdout)

# A kept answer in the forms that its command has.
for command, forms in ((["predict", good], ("table", "csv")), (["explain", good], ("table",)), (["plan", "c4140-growth"], ("table", "csv")),
                       (["compare", good, good], ("table", "csv")), (["fleet", "c4140-month", "--seeds", "1"], ("table",))):
    kept = run(*command, "--format", "json").stdout
    for form in forms:
        expect(f"report: {command[0]} as {form}", run("report", "-", "--format", form, stdin=kept).stdout ==
               run(*command, "--format", form).stdout)
with tempfile.TemporaryDirectory() as folder:
    run("predict", good, "--out", folder + "/first")
    again = run("report", folder + "/first/result.json", "--out", folder + "/again")
    expect("report of a result.json", again.returncode == 0 and (pathlib.Path(folder) / "first/report.html").read_text() ==
           (pathlib.Path(folder) / "again/report.html").read_text(), again.stderr)
for text, message in (("{}", "is no answer of foretrain"), ("", "is no answer of foretrain"), ('{"points": [{}]}', "/points/0/settings is missing"), ('{"pairs": [{}]}', "/pairs/0/settings is missing"),
                      ('{"fleet": "x"}', "is missing")):
    told = run("report", "-", stdin=text)
    expect(f"report of {text}", told.returncode == 2 and message in told.stderr, told.stderr)
told = run("report", "-", "--format", "csv", stdin=run("explain", good, "--no-swaps", "--format", "json").stdout)
expect("report: a form that there is not", told.returncode == 2 and "an answer of explain has no form as csv" in told.stderr, told.stderr)
bundled = sorted(path.stem for path in (pathlib.Path(__file__).resolve().parents[1] / "experiments/data").glob("*.json"))
expect("schema --presets", run("schema", "experiment", "--presets").stdout.split() == bundled)
told = subprocess.run([PROGRAM, "predict", swept, "--format", "json"], capture_output=True, text=True,
                      env={**os.environ, "FORETRAIN_PROGRESS": "lines"}).stderr
expect("progress by lines", re.fullmatch(r"(progress: \d/4 points\n)+", told) and told.endswith("progress: 4/4 points\n"), told)

# What does not fit is told beside every format.
large = changed(put={"/jobs/0/batch_per_gpu": 4096})
for format in ("table", "json", "csv"):
    told = run("predict", large, "--format", format)
    expect("does not fit: " + format, told.returncode == 0 and "does not fit in device memory" in told.stderr, told.stderr)
expect("does not fit: check", run("check", large).returncode == 1)

# An anchor is of the job's own plan: other plans take the kernels that it found, not its rate.
anchored = with_text(json.dumps({"cluster": {"platform": "hgx-h100"}, "jobs": [{
    "model": "gpt3-1.7b", "framework": "megatron", "precision": "bf16", "global_batch": 64, "gpus": 8,
    "anchor": {"samples_per_s": 40}, "parallel": {"zero": 1}}]}))
with tempfile.TemporaryDirectory() as folder:
    best = folder + "/best.json"
    tuned = run("tune", anchored, "--top", "3", "--format", "json", "--out", best)
    rates = [plan["tokens_per_s"]["median"] for plan in json.loads(tuned.stdout)["plans"]]
    again = json.loads(run("predict", best, "--uncertainty", "steps", "--format", "json").stdout)
    again = again["points"][0]["jobs"][0]["tokens_per_s"]["median"]
expect("tune: plans of an anchored job differ", rates[0] > 1.05 * 40 * 2048 and len(set(rates)) == 3, rates)
expect("tune: the best plan's experiment has its rate", abs(again / rates[0] - 1) < 1e-3, (again, rates))

print("\n".join(failures) or f"{len(BAD)} wrong inputs refused, outputs as promised")
sys.exit(bool(failures))
