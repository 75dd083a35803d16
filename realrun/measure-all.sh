#!/usr/bin/env bash
# Repeats every CPU-twin, overlay and shared-machine measurement and writes the records.
#
#   sudo realrun/measure-all.sh BUILD OUT [PART...]
#
#   BUILD  folder with realrun-cpu and realrun-record
#          (cmake -S realrun -B BUILD -DREALRUN_NATIVE=ON && cmake --build BUILD)
#   OUT    folder the records go to, e.g. realrun/records/my-machine
#   PART   micro batch size ranks bucket input iperf3 overlay shared; default: all of them
#
# About ten minutes on two cores. REALRUN_SECONDS (per repetition, default 1), REALRUN_REPETITIONS
# (default 3), REALRUN_ONLY (regular expression on names) shorten it. Parts that need root
# (iperf3, overlay, shared) are skipped with a message without it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 2 ] || { sed -n '2,/^set/p' "$0" | grep '^#' | cut -c3-; exit 2; }
build=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
shift 2
parts=("$@")
[ ${#parts[@]} = 0 ] && parts=(micro batch size ranks bucket input iperf3 overlay shared)
export REALRUN_SECONDS=${REALRUN_SECONDS:-1} REALRUN_REPETITIONS=${REALRUN_REPETITIONS:-3}
only=${REALRUN_ONLY:-.}
twin=$build/realrun-cpu
work=$(mktemp -d -p "$build")
. "$here/overlay/hosts.sh"
trap 'hosts_down; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# train NAME WORLD MODEL OPTIONS...: ranks on the loopback device, rank r pinned to CPU r mod cores.
train() {
  local name=$1 world=$2 model=$3 rank pids=() failed=0
  shift 3
  [[ $name =~ $only ]] || return 0
  for ((rank = 0; rank < world; ++rank)); do
    timeout 120 taskset -c "$((rank % $(nproc)))" "$twin" train "$here/models/$model.json" \
      --name "$name" --rank "$rank" --world "$world" --meet "$work/meet" --timeout "30 s" \
      --seconds "$REALRUN_SECONDS s" --repetitions "$REALRUN_REPETITIONS" --out "$out/$name.json" \
      --label path=loopback --label link_rate_Mb_per_s=0 --label pinned=yes "$@" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  [ $failed = 0 ] && echo "$name" || { echo "$name FAILED" >&2; exit 1; }
}

# micro NAME CURVE OPTIONS...
micro() {
  local name=$1 curve=$2
  shift 2
  [[ $name =~ $only ]] || return 0
  timeout 120 taskset -c 0 "$twin" micro "$curve" --name "$name" \
    --repetitions "$REALRUN_REPETITIONS" --out "$out/$name.json" "$@" && echo "$name"
}

part_micro() {
  local world rank pids
  micro micro-gemm gemm || exit 1
  micro micro-elementwise elementwise || exit 1
  micro micro-copy copy || exit 1
  for world in 2 4; do
    [[ micro-all-reduce-r$world =~ $only ]] || continue
    pids=()
    for ((rank = 0; rank < world; ++rank)); do
      timeout 120 taskset -c "$((rank % $(nproc)))" "$twin" micro all-reduce --rank "$rank" \
        --world "$world" --name "micro-all-reduce-r$world" --meet "$work/meet$world" \
        --repetitions "$REALRUN_REPETITIONS" --out "$out/micro-all-reduce-r$world.json" \
        --label path=loopback --label pinned=yes &
      pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || exit 1; done
    echo "micro-all-reduce-r$world"
  done
  make_data
  micro micro-input-raw input --data "$work/raw" || exit 1
  micro micro-input-jpeg input --data "$work/jpeg" || exit 1
  micro micro-input-raw-cold input --data "$work/raw" --cold on || exit 1
}

part_batch() {
  local batch
  for batch in 8 16 32 64 128; do train "mlp-b$batch" 1 mlp --batch $batch; done
  for batch in 4 8 16 32; do train "convnet-b$batch" 1 convnet --batch $batch; done
  for batch in 4 8 16 32; do train "transformer-b$batch" 1 transformer --batch $batch; done
}

part_size() {
  local size
  for size in 64 128 512 1024; do train "mlp-w$size" 1 mlp --batch 32 --set width=$size; done
  for size in 8 32; do train "convnet-w$size" 1 convnet --batch 16 --set width=$size; done
  for size in 32 128; do train "transformer-w$size" 1 transformer --batch 16 --set width=$size; done
  for size in 1 2 6; do train "mlp-d$size" 1 mlp --batch 32 --set depth=$size; done
  for size in 1 3; do train "convnet-d$size" 1 convnet --batch 16 --set depth=$size; done
  for size in 1 4; do train "transformer-d$size" 1 transformer --batch 16 --set depth=$size; done
}

part_ranks() {
  local model world
  for model in mlp convnet transformer; do
    for world in 2 4; do
      train "$model-r$world" $world $model --batch 16
      train "$model-r$world-nooverlap" $world $model --batch 16 --overlap off
    done
  done
}

# Bucket sizes over a wire of 1 Gb/s between two hosts.
part_bucket() {
  local bucket name rank pids
  for bucket in 64KiB 256KiB 4MiB 64MiB; do
    name=mlp-r2-wire1000-bucket$bucket
    [[ $name =~ $only ]] || continue
    if ! hosts_up host 1500 1000 on 2>/dev/null; then
      echo "$name: skipped, this machine does not allow network namespaces"
      continue
    fi
    pids=()
    for rank in 0 1; do
      on host "$rank" timeout 120 taskset -c "$((rank % $(nproc)))" "$twin" train \
        "$here/models/mlp.json" --batch 32 --bucket "${bucket%?iB} ${bucket: -3}" --rank "$rank" \
        --world 2 --root "$(address_of host 0):29400" --name "$name" --timeout "30 s" \
        --seconds "$REALRUN_SECONDS s" --repetitions "$REALRUN_REPETITIONS" \
        --out "$out/$name.json" --label path=host --label link_rate_Mb_per_s=1000 \
        --label pinned=yes &
      pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || exit 1; done
    echo "$name"
  done
  hosts_down
}

make_data() {
  [ -e "$work/raw" ] || "$twin" make-data "$work/raw" encoding=raw count=512 side=128 || exit 1
  [ -e "$work/jpeg" ] || "$twin" make-data "$work/jpeg" encoding=jpeg count=512 side=128 ||
    rm -rf "$work/jpeg"
}

part_input() {
  local encoding threads
  make_data
  for encoding in raw jpeg; do
    [ -e "$work/$encoding" ] || { echo "$encoding: skipped, no JPEG support in this build"; continue; }
    for threads in 1 2; do
      train "mlp-$encoding-t$threads" 1 mlp --batch 16 --input $encoding --data "$work/$encoding" \
        --decode-threads $threads --label cpus=1
    done
    train "mlp-$encoding-cold" 1 mlp --batch 16 --input $encoding --data "$work/$encoding" --cold on
    train "convnet-$encoding" 1 convnet --batch 16 --input $encoding --data "$work/$encoding"
  done
}

needs_root() {
  [ "$(id -u)" = 0 ] && return 0
  echo "$1: skipped, needs root" && return 1
}
part_iperf3() { needs_root iperf3 && { "$here/overlay/measure.sh" "$build" "$out" iperf3 || exit 1; }; }
part_overlay() { needs_root overlay && { "$here/overlay/measure.sh" "$build" "$out" twin || exit 1; }; }
part_shared() { needs_root shared && { "$here/shared/measure.sh" "$build" "$out" || exit 1; }; }

# Records hold the load average, so that one can tell later; better to know before.
read -r load _ </proc/loadavg
awk "BEGIN { exit !($load > 0.3) }" &&
  echo "warning: other work runs on this machine (load average $load): times will be too long" >&2

for part in "${parts[@]}"; do
  declare -F "part_$part" >/dev/null || { echo "no such part: $part" >&2; exit 2; }
  "part_$part"
done
"$build/realrun-record" check "$out"/*.json
