#!/usr/bin/env bash
# SMPI's own ring all-reduce beside Foretrain's, on the same exported platform: simulated time of a call, wall seconds
# and peak memory of the whole process.
#   tests/bench/smpi.sh [PROGRAM]
set -euo pipefail
cd "$(dirname "$0")/../.."
program=${1:-build/release/foretrain}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
smpicc -O2 tests/bench/smpi_ring.c -o "$work/ring" 2>/dev/null
bytes=8388608

measure() { # prints simulated seconds, wall seconds, MB; "-" when it does not end in 120 s
  python3 - "$@" <<'PY'
import os, subprocess, sys, time
start = time.time()
child = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
try:
    out, _ = child.communicate(timeout=120)
except subprocess.TimeoutExpired:
    child.kill()
    print("- > 120 -")
    sys.exit()
wall = time.time() - start
import resource
memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
lines = [line for line in out.splitlines() if line and not line.startswith("#")]
value = float(lines[-1].split()[0]) if sys.argv[1] == "smpi" else float(lines[-1].split()[5]) / 1e6
print(f"{value:.4g} {wall:.2f} {memory}")
PY
}

printf '%-6s %-22s %12s %8s %8s\n' GPUs simulator "simulated s" "wall s" MB
for nodes in 2 4 16 64; do
  gpus=$((4 * nodes))
  "$program" platform export c4140-v100-sxm2 --nodes "$nodes" > "$work/platform.xml" 2>/dev/null
  grep -o '<host id="[^"]*"' "$work/platform.xml" | cut -d'"' -f2 > "$work/hosts"
  printf '%-6s %-22s %12s %8s %8s\n' $gpus "SMPI, ring (lr)" $(measure smpi smpirun -np $gpus -platform "$work/platform.xml" \
    -hostfile "$work/hosts" --cfg=smpi/allreduce:lr --cfg=network/model:CM02 --cfg=network/crosstraffic:no \
    --cfg=network/TCP-gamma:0 --cfg=smpi/simulate-computation:no "$work/ring" $((bytes / 4)) 1)
  for fidelity in chunks coupled; do
    printf '%-6s %-22s %12s %8s %8s\n' $gpus "Foretrain, $fidelity" $(measure foretrain "$program" nccl-tests all_reduce_perf \
      --platform c4140-v100-sxm2 --nodes "$nodes" -g 4 -b $bytes -e $bytes -f 2 --algorithm ring --fidelity $fidelity)
  done
done
