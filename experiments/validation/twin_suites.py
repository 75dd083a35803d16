#!/usr/bin/env python3
"""Makes the suites of the CPU twin from its records: twin, overlay and shared-machine.

    twin_suites.py FORETRAIN MACHINE                  writes the three suites of a machine
    twin_suites.py FORETRAIN MACHINE --calibration    prints the records that its profile is made of
    twin_suites.py FORETRAIN MACHINE --calibration --without KIND    the same without one kind of model

MACHINE names the records (realrun/records/MACHINE), the platform and the profile.

Which records calibrate is a rule, not a choice: of the runs on the loopback device every third by
name, beginning with the second, and of the iperf3 records those over a wire that takes segments.
"""
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MACHINES = {"vm-2core": "", "vm-2core-epyc": "-epyc"}  # -> how its suites end
MACHINE = sys.argv[2] if len(sys.argv) > 2 else ""
if MACHINE not in MACHINES:
    raise SystemExit(f"MACHINE must be one of {', '.join(MACHINES)}")
RECORDS = ROOT / "realrun" / "records" / MACHINE
PREFIX = "vm" + MACHINES[MACHINE] + "-"  # of the rows
IPERF3 = [f"net-{path}-mtu1500-r0-tso" for path in ("host", "route", "vxlan")]
SOURCE = f"realrun/records/{MACHINE}, measured with realrun (docs/realrun-results.md)"


def training_records():
    records = {path.stem: json.loads(path.read_text()) for path in sorted(RECORDS.glob("*.json"))}
    return {name: record for name, record in records.items() if record["kind"] == "training"}


def regime(settings):
    if settings.get("tenants", 1) > 1:
        return "contention"
    path = settings.get("path", "loopback")
    if path != "loopback" or settings.get("isolation") == "wire":
        return "overlay" if path == "vxlan" else "network"
    return "intra-node" if settings["world"] > 1 else "compute"


def twin(records):
    """Runs on the loopback device, without input."""
    return [name for name, record in records.items()
            if record["settings"].get("path") == "loopback"
            and record["settings"]["input"] == "synthetic"]


def calibration(records):
    names = twin(records)
    chosen = []
    for kind in ("compute", "intra-node"):
        chosen += [name for name in names if regime(records[name]["settings"]) == kind][1::3]
    return chosen


def throughput(record):
    for series in record["series"]:
        if series["name"] == "throughput" and not series["labels"]:
            return [sample for repetition in series["repetitions"] for sample in repetition]
    raise SystemExit(f"{record['name']}: no throughput")


def experiment(foretrain, name):
    made = subprocess.run([foretrain, "realrun-import", RECORDS / f"{name}.json",
                           "--platform", MACHINE, "--profile", MACHINE],
                          capture_output=True, text=True)
    if made.returncode:
        print(f"{name}: left out: {made.stderr.splitlines()[0]}", file=sys.stderr)
        return None
    return json.loads(made.stdout)


def suite(foretrain, records, description, names, extra):
    experiments, rows = {}, []
    for name in names:
        made = experiment(foretrain, name)
        if made is None:
            continue
        settings = records[name]["settings"]
        row = {"id": PREFIX + name, "experiment": name}
        if settings.get("tenants", 1) > 1:
            row["job"] = f"tenant{settings['tenant']}"
        row |= {"repetitions": throughput(records[name]), "regime": regime(settings),
                "part": records[name]["model"]["kind"]}
        row |= extra(name, settings)
        experiments[name] = made
        rows.append(row)
    return {"format": "foretrain.suite/1", "description": description, "source": SOURCE,
            "experiments": experiments, "rows": rows}


def write(name, content):
    lines = ["{"]
    for key in ("format", "description", "source"):
        lines.append(f"  {json.dumps(key)}: {json.dumps(content[key])},")
    lines.append('  "experiments": {')
    lines.append(",\n".join(f"    {json.dumps(key)}: {json.dumps(value)}"
                            for key, value in content["experiments"].items()))
    lines.append('  },\n  "rows": [')
    lines.append(",\n".join("    " + json.dumps(row) for row in content["rows"]))
    lines.append("  ]\n}\n")
    (Path(__file__).parent / f"{name}{MACHINES[MACHINE]}.json").write_text("\n".join(lines))


def main():
    foretrain = sys.argv[1]
    records = training_records()
    fitted = calibration(records)
    if "--calibration" in sys.argv:
        left_out = sys.argv[sys.argv.index("--without") + 1] if "--without" in sys.argv else ""
        for name in fitted + IPERF3:
            if name in IPERF3 or records[name]["model"]["kind"] != left_out:
                print(RECORDS / f"{name}.json")
        return

    def role(name, _):
        return {"role": "calibration"} if name in fitted else {}

    def over_plain(name, settings):
        plain = name.replace("vxlan", "host").replace("route", "host")
        return {"ratio_of": PREFIX + plain} if plain != name else {}

    def beside_alone(name, settings):
        if "tenant" not in settings or settings["tenants"] == 1:
            return {}
        return {"ratio_of": PREFIX + name.rsplit("-", 1)[0] + "-alone", "part": settings["isolation"]}

    wire = [name for name in records if "-wire1000-bucket" in name]
    shared = [name for name in records if name.startswith("shared-")]
    write("twin", suite(foretrain, records, "The CPU twin: batch, width, depth and ranks on one "
                        "machine, bucket sizes over a wire", twin(records) + wire, role))
    write("overlay", suite(foretrain, records, "The CPU twin between two hosts made of namespaces: "
                           "plain, routed, VXLAN; wire shaped to several rates",
                           [name for name in records if name.startswith("twin-")], over_plain))
    write("shared-machine", suite(foretrain, records, "Tenants of one machine: cores and a wire",
                                  shared, beside_alone))


if __name__ == "__main__":
    main()
