#!/usr/bin/env python3
"""Predicted all-reduce times against published nccl-tests tables: error per table, no row left out.

usage: nccl_tables.py [PROGRAM] [-v]     (-v prints every row)
"""
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
arguments = [a for a in sys.argv[1:] if a != "-v"]
program = arguments[0] if arguments else HERE.parent.parent / "build/release/foretrain"


def predicted_us(table, size):
    run = subprocess.run(
        [program, "nccl-tests", "all_reduce_perf", "--platform", table["platform"], "--nodes", str(table["nodes"]),
         "-g", str(table["gpus_per_node"]), "--network", table["network"], "--algorithm", table["algorithm"],
         "--library", table["library"],
         "-b", str(size), "-e", str(size), "-f", "2"], capture_output=True, text=True, check=True)
    return float([line for line in run.stdout.splitlines() if not line.startswith("#")][0].split()[5])


def summary(errors):
    if not errors:
        return "-"
    return (f"{100 * sum(map(abs, errors)) / len(errors):.0f} % / {100 * max(map(abs, errors)):.0f} %"
            f" / {100 * sum(errors) / len(errors):+.0f} % ({len(errors)})")


print("| table | above 1 MiB: mean / max / bias (rows) | up to 1 MiB |\n| --- | --- | --- |")
for table in json.loads((HERE / "nccl_tables.json").read_text()):
    large, small = [], []
    for size, measured in table["all_reduce_bytes_and_us"]:
        time = predicted_us(table, size)
        (large if size > 1 << 20 else small).append(time / measured - 1)
        if "-v" in sys.argv:
            print(f"  {size:12d} B  measured {measured:10.1f} us  predicted {time:10.1f} us  {100 * (time / measured - 1):+.0f} %")
    print(f"| `{table['id']}` | {summary(large)} | {summary(small)} |")
