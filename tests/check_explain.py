#!/usr/bin/env python3
"""Is what `explain` names as the limit really the best single change? Random valid experiments; each resource is
doubled here, by values in its preset's file, and predicted anew.

    tests/check_explain.py PROGRAM [EXPERIMENTS] [SEED]     default 200 experiments

Every experiment has an anchor, so that twice the anchor is GPUs twice as fast. The named limit holds where nothing
changed here brings 1 % more than it does. Ends with 1 where fewer than 95 % hold.
Hosts launch in no time here: of an anchor that they limit twice the rate is a host twice as fast, and no GPU.
"""
import copy
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
WANTED = int(sys.argv[2]) if len(sys.argv) > 2 else 200
CHANCE = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 16)
MUCH = 0.01  # of throughput

# All of their PCIe links are of generation 3, of which the next is twice as fast.
PLATFORMS = ["c4140-v100-sxm2", "c4140-v100-pcie", "c4140-k-v100-sxm2", "dgx1-v100", "dgx1-p100", "c4130-p100-pcie",
             "v100-pcie-4gpu"]
MODELS = ["resnet18", "resnet50", "resnet152", "vgg16", "alexnet", "googlenet", "inception3", "densenet121", "bert-base"]
FRAMEWORKS = ["pytorch-horovod", "pytorch-ddp", "pytorch-horovod-wfbp", "pytorch-horovod-mgwfbp", "mxnet-horovod", "byteps",
              "tensorflow-horovod", "tensorflow-ps", "tensorflow-2-horovod"]
NETWORKS = ["rdma", "tcp", "ipoib", "flannel-vxlan"]
STORAGE = ["local-disk", "local-hdd", "nvme", "nfs-ssd", "nfs-nlsas", "isilon-f800", "lustre"]
FOLDERS = {"platform": "platforms", "gpu": "gpus", "cpu": "cpus", "nic": "nics", "disk": "disks", "fabric": "fabrics",
           "storage": "storage", "host": "hosts", "network": "transports", "framework": "frameworks",
           "library": "libraries"}


def preset(kind, name):
    """A bundled file, whole: what it extends is below it."""
    if isinstance(name, dict):
        own = copy.deepcopy(name)
    else:
        room = "models" if kind in ("framework", "library") else "platforms"
        for path in (ROOT / room / "data" / FOLDERS[kind]).glob("*.json"):
            own = json.loads(path.read_text())
            if path.stem == name or name in own.get("aliases", []):
                break
        else:
            raise SystemExit(f"no {kind} '{name}'")
    own.pop("aliases", None)
    base = own.pop("extends", None)
    return merged(preset(kind, base), own) if base else own


def merged(base, over):
    for key, value in over.items():
        if value is None:
            base.pop(key, None)
        elif isinstance(value, dict) and isinstance(base.get(key), dict):
            merged(base[key], value)
        else:
            base[key] = value
    return base


def times(value, factor):
    if isinstance(value, (int, float)):
        return type(value)(value * factor)
    number, unit = re.fullmatch(r"\s*([-+0-9.eE]+)\s*(.*)", value).groups()
    return f"{float(number) * factor!r} {unit}"


def scale(part, keys, factor, defaults=None):
    for key in keys:
        if key in part or (defaults or {}).get(key):
            part[key] = times(part.get(key) or defaults[key], factor)


def inline(experiment):
    """The same with every preset that is changed here in full."""
    e = copy.deepcopy(experiment)
    p = e["cluster"]["platform"] = preset("platform", e["cluster"]["platform"])
    node = p["node"]
    node["cpu"] = preset("cpu", node["cpu"])
    node["gpus"]["type"] = preset("gpu", node["gpus"]["type"])
    for kind, parts in (("nic", node.get("nics", [])), ("disk", node.get("disks", []))):
        for part in parts:
            part["type"] = preset(kind, part["type"])
    for network in p.get("networks", []):
        network["fabric"] = preset("fabric", network["fabric"])
    e["stack"] = {"host": preset("host", e["stack"]["host"]), "network": preset("network", e["stack"]["network"])}
    job = e["jobs"][0]
    job["framework"] = preset("framework", job["framework"])
    job["framework"].pop("launches", None)
    job["framework"]["library"] = preset("library", job["framework"].get("library", "nccl"))
    if "storage" in e["cluster"]:
        s = e["cluster"]["storage"] = preset("storage", e["cluster"]["storage"])
        if "servers" in s:
            for kind in {"cpu", "disk"} & s["servers"].keys():
                s["servers"][kind] = preset(kind, s["servers"][kind])
    return e


def faster_disk(disk):
    scale(disk, ["read", "write", "read_operations"], 2)
    scale(disk, ["latency"], 0.5, {"latency": "100 us"})


def double_gpu(e):
    e["jobs"][0]["anchor"]["samples_per_s"] *= 2
    scale(e["cluster"]["platform"]["node"]["gpus"]["type"], ["memory_bandwidth"], 2)


def double_nvlink(e):
    scale(e["cluster"]["platform"]["node"]["gpus"]["type"], ["nvlink_brick"], 2)


def double_pcie(e):
    node = e["cluster"]["platform"]["node"]
    for switch in node.get("pcie_switches", []):
        switch["generation"] = switch.get("generation", 3) + 1
    parts = [node["gpus"]["type"]] + [nic["type"] for nic in node.get("nics", [])]
    for part in parts:
        part["pcie_generation"] = part.get("pcie_generation", 3) + 1
    if "generation" in node["gpus"]:
        node["gpus"]["generation"] += 1
    scale(node["cpu"], ["socket_link"], 2)


def double_nic(e):
    for nic in e["cluster"]["platform"]["node"].get("nics", []):
        scale(nic["type"], ["rate"], 2)


def double_fabric(e):
    for network in e["cluster"]["platform"].get("networks", []):
        scale(network["fabric"], ["port_rate"], 2)


def double_memory(e):
    scale(e["cluster"]["platform"]["node"]["cpu"], ["memory_bandwidth"], 2)


def double_page_cache(e):
    scale(e["cluster"]["platform"]["node"], ["memory"], 2)


def double_cores(e):
    scale(e["cluster"]["platform"]["node"]["cpu"], ["cores"], 2)


def double_core_speed(e):
    scale(e["cluster"]["platform"]["node"]["cpu"], ["clock", "copy_rate"], 2, {"copy_rate": "10.5 GB/s"})
    transport = e["stack"]["network"]
    scale(transport, ["cpu_per_segment", "cpu_per_packet"], 0.5)
    scale(transport, ["copy_rate"], 2, {"copy_rate": "8 GB/s"})
    scale(e["stack"]["host"], ["cpu_per_packet", "cpu_per_disk_request"], 0.5)
    scale(e["cluster"].get("storage", {}), ["open_cpu"], 0.5, {"open_cpu": "20 us"} if "storage" in e["cluster"] else {})
    if "servers" in e["jobs"][0]["framework"]:
        scale(e["jobs"][0]["framework"]["servers"], ["sum_rate"], 2, {"sum_rate": "7 GB/s"})


def double_disk(e):
    for disk in e["cluster"]["platform"]["node"].get("disks", []):
        faster_disk(disk["type"])
    servers = e["cluster"].get("storage", {}).get("servers", {})
    scale(servers, ["rate", "operations"], 2)
    if "disk" in servers:
        faster_disk(servers["disk"])


def double_storage_network(e):
    scale(e["cluster"].get("storage", {}), ["gateway"], 2)
    scale(e["cluster"].get("storage", {}).get("servers", {}), ["link"], 2)


def double_storage_cpu(e):
    servers = e["cluster"].get("storage", {}).get("servers", {})
    scale(servers, ["cpu_per_operation", "cpu_per_metadata"], 0.5)
    scale(servers.get("cpu", {}), ["cores"], 2)


def double_mount(e):
    storage = e["cluster"].get("storage", {})
    scale(storage, ["connections"], 2, {"connections": 1} if storage else {})
    scale(storage, ["latency"], 0.5)


def double_connections(e):
    scale(e["stack"]["network"], ["connections"], 2, {"connections": 1})


def double_latency(e):
    p = e["cluster"]["platform"]
    scale(p["node"]["gpus"]["type"], ["copy_latency", "peer_latency", "host_hop_latency"], 0.5,
          {"copy_latency": "3.6 us", "peer_latency": "3 us", "host_hop_latency": "7.4 us"})
    for nic in p["node"].get("nics", []):
        scale(nic["type"], ["latency"], 0.5, {"latency": "1 us"})
    for network in p.get("networks", []):
        scale(network["fabric"], ["switch_latency"], 0.5, {"switch_latency": "100 ns"})
    scale(e["stack"]["network"], ["latency"], 0.5)
    scale(e["stack"]["host"], ["network_latency"], 0.5)
    for protocol in e["jobs"][0]["framework"]["library"]["protocols"]:
        scale(protocol, ["ring_base", "tree_base", "in_switch_base"], 0.5)
        for hop in ("ring_hop", "tree_hop"):
            scale(protocol.get(hop, {}), ["nvlink", "pcie", "network"], 0.5)


def double_framework(e):
    framework = e["jobs"][0]["framework"]
    scale(framework, ["step_overhead", "coordination", "coordination_per_rank", "fusion_cycle"], 0.5)
    scale(framework["library"], ["host_launch"], 0.5)
    scale(framework.get("servers", {}), ["message"], 0.5)
    scale(framework.get("servers", {}), ["verbs_rate"], 2)


def double_files(e):
    scale(e["jobs"][0]["framework"].get("input", {}), ["file_time"], 0.5)


def double_variation(e):
    scale(e["jobs"][0]["framework"], ["step_variation"], 0.5, {"step_variation": 0.01})


CHANGES = {name[len("double_"):].replace("_", "-"): change for name, change in list(globals().items())
           if name.startswith("double_")}


def random_experiment():
    pick = CHANCE.choice
    job = {"name": "train", "model": pick(MODELS), "framework": pick(FRAMEWORKS), "precision": pick(["fp32", "fp16"]),
           "batch_per_gpu": pick([8, 32, 64, 128]), "gpus": pick([1, 2, 4, 8, 16]), "steps": 6, "warmup_steps": 1,
           "anchor": {"samples_per_s": CHANCE.choice([50.0, 150.0, 400.0, 1200.0])}}
    cluster = {"platform": pick(PLATFORMS)}
    if CHANCE.random() < 0.6:
        job["input"] = pick(["tfrecord", "jpeg", "raw"])
        cluster["storage"] = pick(STORAGE)
    return {"name": "random", "cluster": cluster, "jobs": [job],
            "stack": {"host": pick(["bare-metal", "container", "vm"]), "network": pick(NETWORKS)}}


def told(command, experiment, folder):
    path = folder / "experiment.json"
    path.write_text(json.dumps(experiment))
    run = subprocess.run([PROGRAM, command, str(path), "--format", "json"] +
                         (["--no-swaps"] if command == "explain" else ["--uncertainty", "steps"]),
                         capture_output=True, text=True, timeout=600)
    return json.loads(run.stdout) if run.returncode == 0 else run.stderr


def throughput(experiment, folder):
    answer = told("predict", experiment, folder)
    if isinstance(answer, str):
        return answer
    return answer["points"][0]["jobs"][0]["throughput_samples_per_s"]["median"]


def examine(experiment, folder):
    """The named limit, gains found here, and why it does not count ("" where it does)."""
    whole = inline(experiment)
    base = throughput(whole, folder)
    if isinstance(base, str):
        return None, {}, base
    limit = told("explain", whole, folder)
    if isinstance(limit, str):
        return None, {}, limit
    limit = limit["jobs"][0]["limited_by"]
    gains = {}
    for name, change in CHANGES.items():
        changed = copy.deepcopy(whole)
        change(changed)
        rate = throughput(changed, folder)
        if not isinstance(rate, str):
            gains[name] = rate / base - 1
    return limit["lever"] if limit else None, gains, ""


def main():
    right = tried = refused = 0
    named = {}
    with tempfile.TemporaryDirectory() as name:
        while tried < WANTED and refused < 20 * WANTED:
            experiment = random_experiment()
            limit, gains, problem = examine(experiment, pathlib.Path(name))
            if problem:
                refused += 1
                continue
            tried += 1
            named[limit] = named.get(limit, 0) + 1
            best = max(gains, key=gains.get)
            holds = gains[best] <= MUCH + (gains.get(limit, 0) if limit else 0)
            right += holds
            if not holds:
                print(f"{limit} {gains.get(limit, 0):.3f}, but {best} {gains[best]:.3f}: {json.dumps(experiment)}", flush=True)
    if tried == 0:
        sys.exit("no valid experiment")
    print(f"{right} of {tried} experiments ({100 * right / tried:.1f} %): the named limit is the best single change; "
          f"named {named}; {refused} drawn experiments were not valid")
    sys.exit(0 if right >= 0.95 * tried else 1)


if __name__ == "__main__":
    main()
