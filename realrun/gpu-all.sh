#!/usr/bin/env bash
# Builds realrun on a GPU node and measures everything that one node can tell, in one command.
#
#   realrun/gpu-all.sh OUT [PART...]
#
#   OUT   folder for the records, e.g. realrun/records/my-gpu-node; logs go to OUT/logs
#   PART  build test micro batch size precision input sharing ranks overlay; default: all of them
#
# Needs a CUDA toolkit, NCCL and nlohmann-json. Eigen (CPU twin, tests against it), Catch2 (tests),
# libjpeg (JPEG input) and root (overlay: namespaces, iproute2, ethtool) are used where present.
# REALRUN_BUILD (default build-gpu), REALRUN_ARCH (default native; e.g. 70 for V100, 90 for H200),
# REALRUN_SECONDS (per repetition, 1), REALRUN_REPETITIONS (3), REALRUN_ONLY (regular expression on
# names), REALRUN_PRECISION (bf16; fp16 on GPUs before Ampere, chosen by itself).
# Each command has a timeout. A part that fails is reported at the end, the others still run.
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n '2,/^set/p' "$0" | grep '^#' | cut -c3-; exit 2; }
mkdir -p "$1/logs"
out=$(realpath "$1")
shift
parts=("$@")
[ ${#parts[@]} = 0 ] && parts=(build test micro batch size precision input sharing ranks overlay)
build=${REALRUN_BUILD:-$here/../build-gpu}
seconds=${REALRUN_SECONDS:-1} repetitions=${REALRUN_REPETITIONS:-3} only=${REALRUN_ONLY:-.}
program=$build/realrun-cuda
models=$here/models
. "$here/overlay/hosts.sh"
work=$(mktemp -d)
trap 'hosts_down; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
failures=()

gpus=$(nvidia-smi --query-gpu=index --format=csv,noheader 2>/dev/null | wc -l)
[ "$gpus" -ge 1 ] || { echo "no GPU: nvidia-smi lists none" >&2; exit 3; }
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
precision=${REALRUN_PRECISION:-$([ "$capability" -ge 80 ] && echo bf16 || echo fp16)}

report() { # report RESULT NAME
  [ "$1" = 0 ] && echo "$2" || { echo "$2 FAILED" >&2; failures+=("$2"); }
}

part_build() {
  {
    nvidia-smi -q
    nvidia-smi topo -m
    lscpu
    uname -a
  } >"$out/logs/machine.txt" 2>&1
  cmake -S "$here" -B "$build" -DCMAKE_BUILD_TYPE=Release -DREALRUN_NATIVE=ON \
    -DCMAKE_CUDA_ARCHITECTURES="${REALRUN_ARCH:-$capability}" >"$out/logs/build.txt" 2>&1 &&
    cmake --build "$build" -j "$(nproc)" >>"$out/logs/build.txt" 2>&1
  report $? build
}

part_test() {
  (cd "$build" && timeout 550 ctest -L 'gpu|realrun' --output-on-failure) >"$out/logs/ctest.txt" 2>&1
  local result=$?
  tail -n 25 "$out/logs/ctest.txt"
  report $result test
}

# run NAME COMMAND...: one process, bounded; its messages are kept.
run() {
  local name=$1
  shift
  [[ $name =~ $only ]] || return 0
  timeout 180 "$program" "$@" --name "$name" --repetitions "$repetitions" --out "$out/$name.json" \
    2>"$out/logs/$name.txt"
  report $? "$name"
}

train() { # train NAME MODEL OPTIONS...
  local name=$1 model=$2
  shift 2
  run "$name" train "$models/$model.json" --set precision="$precision" --seconds "$seconds s" "$@"
}

part_micro() {
  local curve
  for curve in gemm elementwise copy launch; do run "gpu-micro-$curve" micro $curve; done
}

part_batch() {
  local batch
  for batch in 32 128 512 2048; do train "gpu-mlp-b$batch" gpu-mlp --batch $batch; done
  for batch in 16 64 256 1024; do train "gpu-convnet-b$batch" gpu-convnet --batch $batch; done
  for batch in 8 32 128; do train "gpu-transformer-b$batch" gpu-transformer --batch $batch; done
}

part_size() {
  local size
  for size in 512 1024 2048 8192; do
    train "gpu-mlp-w$size" gpu-mlp --batch 256 --set width=$size
  done
  for size in 1 2 8; do train "gpu-mlp-d$size" gpu-mlp --batch 256 --set depth=$size; done
  for size in 16 32 128; do
    train "gpu-convnet-w$size" gpu-convnet --batch 128 --set width=$size
  done
  for size in 1 3; do train "gpu-convnet-d$size" gpu-convnet --batch 128 --set depth=$size; done
  for size in 192 384 1536; do
    train "gpu-transformer-w$size" gpu-transformer --batch 32 --set width=$size
  done
  for size in 2 6; do
    train "gpu-transformer-d$size" gpu-transformer --batch 32 --set depth=$size
  done
}

part_precision() {
  local model kind kinds=(fp32 fp16)
  [ "$capability" -ge 80 ] && kinds+=(tf32 bf16)
  for model in gpu-mlp gpu-convnet gpu-transformer; do
    for kind in "${kinds[@]}"; do
      train "$model-$kind" $model --batch 64 --set precision=$kind
    done
  done
}

part_input() {
  local encoding threads
  for encoding in raw jpeg; do
    if ! "$program" make-data "$work/$encoding" encoding=$encoding count=1024 side=256 \
      classes=1000 2>"$out/logs/make-data-$encoding.txt"; then
      echo "$encoding: skipped, $(cat "$out/logs/make-data-$encoding.txt")"
      continue
    fi
    for threads in 1 4 8; do
      train "gpu-convnet-$encoding-t$threads" gpu-convnet --batch 128 --input $encoding \
        --data "$work/$encoding" --decode-threads $threads --prefetch 4
    done
  done
}

# together NAME COUNT COMMAND...: COUNT processes on the first GPU at once; records in $work.
together() {
  local name=$1 count=$2 tenant pids=() result=0 start
  shift 2
  start=$(date +%s.%N -d '+4 seconds') # CUDA takes its time to start
  for ((tenant = 0; tenant < count; ++tenant)); do
    timeout 180 "$program" "$@" --device 0 --name "$name" --repetitions "$repetitions" \
      --start-at "$start" --label tenants="$count" --label tenant="$tenant" \
      --label isolation=unpinned --out "$work/$name.$tenant.json" 2>>"$out/logs/$name.txt" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || result=1; done
  return $result
}

# share NAME COUNT MODEL OPTIONS...: alone, then with neighbours, and the slowdown of each.
share() {
  local name=$1 count=$2 model=$3 tenant tenants=()
  shift 3
  [[ $name =~ $only ]] || return 0
  local command=(train "$models/$model.json" --set precision="$precision" --seconds "$seconds s" "$@")
  together "$name-alone" 1 "${command[@]}" && together "$name" "$count" "${command[@]}" || {
    report 1 "$name"
    return 0
  }
  cp "$work/$name-alone.0.json" "$out/$name-alone.json"
  for ((tenant = 0; tenant < count; ++tenant)); do
    cp "$work/$name.$tenant.json" "$out/$name-tenant$tenant.json"
    tenants+=("tenant=$out/$name-tenant$tenant.json")
  done
  "$build/realrun-record" slowdown alone="$out/$name-alone.json" "${tenants[@]}" --name "$name" \
    --label isolation=unpinned --out "$out/$name.json"
  report $? "$name"
}

part_sharing() {
  local count tenant
  for count in 2 3 4; do
    share "gpu-shared-convnet-$count" $count gpu-convnet --batch 64
    share "gpu-shared-mlp-$count" $count gpu-mlp --batch 128
  done
  share gpu-shared-transformer-2 2 gpu-transformer --batch 16
  # The PCIe link: the copy curves of two processes at once, beside the curve of one (part micro).
  if [[ gpu-shared-copy-2 =~ $only ]]; then
    together gpu-shared-copy-2 2 micro copy
    report $? gpu-shared-copy-2
    for tenant in 0 1; do
      [ -e "$work/gpu-shared-copy-2.$tenant.json" ] &&
        cp "$work/gpu-shared-copy-2.$tenant.json" "$out/gpu-shared-copy-2-tenant$tenant.json"
    done
  fi
}

# The environment of rank RANK of WORLD: with fewer GPUs than ranks, ranks share a GPU and must
# look like separate hosts to NCCL, which then talks over sockets.
rank_environment() {
  environment=(NCCL_DEBUG=WARN)
  [ "$gpus" -ge "$2" ] && return 0
  environment+=("NCCL_HOSTID=realrun$1" NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1)
}

# ranks NAME WORLD COMMAND...: WORLD ranks on this node.
ranks() {
  local name=$1 world=$2 rank pids=() result=0
  shift 2
  [[ $name =~ $only ]] || return 0
  for ((rank = 0; rank < world; ++rank)); do
    rank_environment "$rank" "$world"
    env "${environment[@]}" timeout 180 "$program" "$@" --rank "$rank" --world "$world" \
      --meet "$work/meet.$name" --timeout "60 s" --name "$name" --repetitions "$repetitions" \
      --label gpus="$gpus" --label path=node --out "$out/$name.json" \
      >>"$out/logs/$name.txt" 2>&1 &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || result=1; done
  report $result "$name"
}

part_ranks() {
  local world model
  for world in 2 4; do
    for model in gpu-mlp gpu-convnet gpu-transformer; do
      ranks "$model-r$world-check" $world train "$models/$model.json" --set precision="$precision" \
        --batch 8 --check-gradients
      ranks "$model-r$world" $world train "$models/$model.json" --set precision="$precision" \
        --batch 32 --seconds "$seconds s" --bucket "16 MiB"
      ranks "$model-r$world-nooverlap" $world train "$models/$model.json" \
        --set precision="$precision" --batch 32 --seconds "$seconds s" --bucket "16 MiB" --overlap off
    done
    ranks "gpu-all-reduce-r$world" $world micro all-reduce
  done
}

# Two ranks on two hosts made of namespaces, plain and over VXLAN: NCCL over TCP.
part_overlay() {
  local path rate rank name pids result interface
  [ "$(id -u)" = 0 ] || { echo "overlay: skipped, needs root"; return 0; }
  for path in host route vxlan; do
    for rate in 0 10000; do
      if ! hosts_up $path 1500 $rate on 2>"$out/logs/overlay-$path.txt"; then
        echo "overlay $path: skipped, this kernel does not have what it needs"
        break
      fi
      interface=$([ $path = host ] && echo wire || echo eth0)
      for name in "gpu-net-$path-r$rate" "gpu-twin-$path-r$rate"; do
        [[ $name =~ $only ]] || continue
        pids=() result=0
        local command=(train "$models/gpu-convnet.json" --set precision="$precision" --batch 64
          --seconds "$seconds s" --bucket "4 MiB")
        [[ $name = gpu-net-* ]] && command=(micro all-reduce)
        for rank in 0 1; do
          on $path $rank env NCCL_HOSTID=realrun$rank NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 \
            NCCL_IB_DISABLE=1 NCCL_SOCKET_IFNAME="$interface" timeout 120 "$program" "${command[@]}" \
            --rank $rank --world 2 --root "$(address_of $path 0):29400" --timeout "60 s" \
            --name "$name" --repetitions "$repetitions" --label path=$path \
            --label link_rate_Mb_per_s=$rate --out "$out/$name.json" >>"$out/logs/$name.txt" 2>&1 &
          pids+=($!)
        done
        for pid in "${pids[@]}"; do wait "$pid" || result=1; done
        report $result "$name"
      done
    done
  done
  hosts_down
}

for part in "${parts[@]}"; do
  declare -F "part_$part" >/dev/null || { echo "no such part: $part" >&2; exit 2; }
  "part_$part"
done
shopt -s nullglob
records=("$out"/*.json)
[ ${#records[@]} -gt 0 ] && { "$build/realrun-record" check "${records[@]}" || failures+=(check); }
if [ ${#failures[@]} -gt 0 ]; then
  echo "FAILED (see $out/logs): ${failures[*]}" >&2
  exit 1
fi
