#!/usr/bin/env python3
"""Readers of foreign files under libFuzzer with the address and undefined-behaviour sanitizers: a count for each.

    cmake --preset fuzz && cmake --build --preset fuzz --target fuzz_readers
    tests/fuzz/run.py --runs 1000000                 # each reader; what was found stays in build/fuzz/corpus
    tests/fuzz/run.py --runs 20000 onnx kineto       # some

Seeds are those of tests/fuzz/seeds and files of the repository. Ends with 1 where an input ended in anything but an
answer or an error of the file; it is then told, and kept in build/fuzz/found.
"""
import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SEEDS = ROOT / "tests/fuzz/seeds"
MEMORY = pathlib.Path("/dev/shm")  # where inputs become files, as far as there is such a folder
READERS = {  # its name: files of the repository that it reads, beside those of tests/fuzz/seeds
    "kineto": [], "gzip": [], "chakra": [], "nsys": [], "execution-trace": [], "onnx": [], "operator-table": [],
    "hf-config": ["docs/stories/*-config.json"], "topology": ["tests/platforms/data/*.xml", "tests/platforms/data/*.txt"],
    "nccl-tests": ["calibration/data/logs/*nccl*"], "nvbandwidth": [], "p2p": ["calibration/data/logs/*p2p*"],
    "perftest": [], "fio": [], "iperf3": [], "mlperf": [],
    "sacct": [], "sacct-unfinished": [], "swf": ["experiments/validation/fleet/shortest.swf"], "batsim": [], "philly": [], "helios": [], "acme": [],
    "openb": [], "kueue": [], "faults": [], "leases": []}


def run(binary, reader, options):
    corpus = options.build / "corpus" / reader
    found = options.build / "found"
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(exist_ok=True)
    files = [*(SEEDS / reader).glob("*"), *(file for pattern in READERS[reader] for file in ROOT.glob(pattern))]
    for file in files:
        shutil.copy(file, corpus)
    longest = options.longest or max([2048, *(2 * file.stat().st_size for file in files if file.stat().st_size < 8192)])
    with tempfile.TemporaryDirectory(prefix="foretrain-fuzz-", dir=MEMORY if MEMORY.is_dir() else None) as inputs:
        process = subprocess.run(
            [binary, corpus, f"-runs={options.runs}", f"-max_total_time={options.seconds}", f"-max_len={longest}", "-timeout=20",
             "-rss_limit_mb=3000", "-print_final_stats=1", f"-artifact_prefix={found / reader}-", f"-seed={options.seed}"],
            env=dict(os.environ, FORETRAIN_READER=reader, TMPDIR=inputs,
                     ASAN_OPTIONS="detect_leaks=0:quarantine_size_mb=16:malloc_context_size=2"),
            text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    count = re.search(r"number_of_executed_units: (\d+)", process.stdout)
    coverage = re.findall(r"cov: (\d+)", process.stdout)
    print(f"{reader:16} {int(count[1]) if count else 0:9,} executions, {coverage[-1] if coverage else 0} branches seen, "
          + ("no finding" if process.returncode == 0 else "FOUND:"), flush=True)
    if process.returncode != 0:
        print(process.stdout[-3000:], flush=True)
    return process.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("readers", nargs="*", help=" ".join(READERS))
    parser.add_argument("--runs", type=int, default=1_000_000, help="executions of each")
    parser.add_argument("--seconds", type=int, default=0, help="at most for each; 0: no limit")
    parser.add_argument("--longest", type=int, default=0, help="bytes of an input; 0: twice the longest seed, at least 2048")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/fuzz")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the folder of inputs goes, too
    unknown = set(options.readers) - set(READERS)
    if unknown:
        parser.error(f"no reader {', '.join(sorted(unknown))}")
    fine = [run(options.build / "fuzz_readers", reader, options) for reader in options.readers or READERS]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
