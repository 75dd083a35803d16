#!/usr/bin/env python3
"""How far measured calls of collectives are from predicted ones: the spreads of call_time, _pcie and _between_nodes.

    call_spread.py FORETRAIN

Reads the suites nccl-modern and calls (reference rows whose role is calibration). Calls above 1 MiB and up to 128 MiB count, the
buckets of training; smaller ones are held by the spread of latencies. Each table is one machine's answer: their rms count alike.
"""
import json
import math
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

SMALLEST, LARGEST = 1 << 20, 128 << 20
OVER_PCIE = {"cesga-1n2g", "vidur-a100_pairs-all_reduce-4"}


def residuals(program, suite):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "validate", suite, "--out", folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for line in (Path(folder) / "rows.jsonl").read_text().splitlines():
            row = json.loads(line)
            table, size = row["id"].rsplit("-", 1)
            if SMALLEST < int(size) <= LARGEST:
                yield table, row["regime"], math.log(row["measured"] / row["predicted"])


def rms(values):
    return math.sqrt(sum(v * v for v in values) / len(values))


tables = defaultdict(lambda: defaultdict(list))
for suite in ("nccl-modern", "calls"):
    for table, regime, residual in residuals(sys.argv[1], suite):
        where = "between nodes" if regime == "network" else "over PCIe" if table in OVER_PCIE else "over NVLink"
        tables[where][table].append(residual)
for where, found in tables.items():
    for table, values in found.items():
        print(f"{where:14} {table:32} {len(values):3} rows  rms {rms(values):.3f}  mean {sum(values) / len(values):+.3f}")
    print(f"{where}: {rms([rms(values) for values in found.values()]):.3f}, {len(found)} tables, {sum(map(len, found.values()))} rows\n")
