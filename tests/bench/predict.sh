#!/usr/bin/env bash
# Whole-process cost of predictions: best of five, wall seconds and peak memory.
#   tests/bench/predict.sh [PROGRAM]
set -euo pipefail
cd "$(dirname "$0")/../.."
program=${1:-build/release/foretrain}

measure() { # label, arguments...
  local label=$1 best="" line
  shift
  for _ in 1 2 3 4 5; do
    line=$(/usr/bin/env python3 - "$program" "$@" <<'PY'
import os, subprocess, sys, time
start = time.time()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
print(f"{time.time() - start:.3f} {usage.ru_maxrss // 1024}")
sys.exit(status != 0)
PY
    )
    if [ -z "$best" ] || [ "$(printf '%s\n%s\n' "$line" "$best" | sort -n | head -1)" = "$line" ]; then best=$line; fi
  done
  printf '%-48s %s s  %s MB\n' "$label" ${best}
}

point=(predict experiments/data/c4140-scale.json --format json)
one=(--set /sweep='{"/jobs/0/warmup_steps":[0]}')
measure "8 GPUs" "${point[@]}" "${one[@]}" --set /jobs/0/gpus=8
measure "64 GPUs" "${point[@]}" "${one[@]}" --set /jobs/0/gpus=64
measure "1024 GPUs, 1 step" "${point[@]}" "${one[@]}" --set /jobs/0/gpus=1024 --set /jobs/0/steps=1
measure "4096 GPUs, 1 step" "${point[@]}" "${one[@]}" --set /jobs/0/gpus=4096 --set /jobs/0/steps=1
measure "4096 GPUs, 11 steps" "${point[@]}" "${one[@]}" --set /jobs/0/gpus=4096 --set /jobs/0/steps=11
measure "sweep of 1000 points of 8 GPUs" "${point[@]}" --set /jobs/0/gpus=8 \
  --set /sweep="{\"/jobs/0/batch_per_gpu\":[$(seq -s, 1 1000)]}"
