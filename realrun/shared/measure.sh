#!/usr/bin/env bash
# Measures what tenants on one machine cost each other: each setting alone, then with neighbours.
#
#   sudo realrun/shared/measure.sh BUILD OUT
#
# Cores: unpinned, a core each, all on one core, half a core each (cgroup quota). Disk: files read
# cold under one shared read limit (cgroup). Network: two pairs of ranks over one shaped wire
# (network namespaces). Settings this machine does not allow are skipped with a message.
# Bounded in time; cgroups, namespaces and files are removed on any exit.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$1 out=$2
seconds=${REALRUN_SECONDS:-2} repetitions=${REALRUN_REPETITIONS:-3}
only=${REALRUN_ONLY:-.}
models=$here/../models
. "$here/limits.sh"
. "$here/../overlay/hosts.sh"
work=$(mktemp -d -p "${REALRUN_DATA:-$build}")
trap 'hosts_down; limits_down; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
mkdir -p "$out"

# run_tenants NAME COUNT ISOLATION MODEL OPTIONS...: COUNT tenants at once, a record of each in $work.
run_tenants() {
  local name=$1 count=$2 isolation=$3 model=$4 tenant pids=() failed=0 start
  shift 4
  start=$(date +%s.%N -d '+1 second')
  for ((tenant = 0; tenant < count; ++tenant)); do
    prefix_for "$isolation" "$tenant" "$work" || return 1
    timeout 120 "${prefix[@]}" "$build/realrun-cpu" train "$models/$model.json" --name "$name" \
      --seconds "$seconds s" --repetitions "$repetitions" --start-at "$start" \
      --label tenants="$count" --label tenant="$tenant" --label isolation="$isolation" \
      --out "$work/$name.$tenant.json" "$@" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  limits_down
  return $failed
}

# share NAME COUNT ISOLATION MODEL OPTIONS...
share() {
  local name=$1 count=$2 isolation=$3 model=$4
  shift 4
  [[ $name =~ $only ]] || return 0
  if ! prefix_for "$isolation" 0 "$work" 2>/dev/null; then
    echo "$name: skipped, this machine does not allow '$isolation'"
    return 0
  fi
  run_tenants "$name-alone" 1 "$isolation" "$model" "$@" || return 1
  run_tenants "$name" "$count" "$isolation" "$model" "$@" || return 1
  compare "$name" "$count" "$isolation"
}

# compare NAME COUNT ISOLATION: keeps all records and writes the one with the slowdowns.
compare() {
  local name=$1 count=$2 isolation=$3 tenant tenants=()
  cp "$work/$name-alone.0.json" "$out/$name-alone.json"
  for ((tenant = 0; tenant < count; ++tenant)); do
    cp "$work/$name.$tenant.json" "$out/$name-tenant$tenant.json"
    tenants+=("tenant=$out/$name-tenant$tenant.json")
  done
  "$build/realrun-record" slowdown alone="$out/$name-alone.json" "${tenants[@]}" --name "$name" \
    --label isolation="$isolation" --out "$out/$name.json"
}

# pairs NAME COUNT RATE: COUNT tenants of two ranks each, one rank on each host, over one wire.
pairs() {
  local name=$1 count=$2 rate=$3 tenant rank pids=() failed=0 start
  start=$(date +%s.%N -d '+1 second')
  for ((tenant = 0; tenant < count; ++tenant)); do
    for rank in 0 1; do
      on host "$rank" timeout 120 taskset -c "$((rank % $(nproc)))" "$build/realrun-cpu" train \
        "$models/mlp.json" --batch 32 --rank "$rank" --world 2 --timeout "20 s" \
        --root "$(address_of host 0):$((29400 + tenant))" --name "$name" --seconds "$seconds s" \
        --repetitions "$repetitions" --start-at "$start" --label tenants="$count" \
        --label tenant="$tenant" --label isolation=wire --label link_rate_Mb_per_s="$rate" \
        --out "$work/$name.$tenant.json" &
      pids+=($!)
    done
  done
  for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  return $failed
}

# share_wire NAME RATE: one pair, then two pairs.
share_wire() {
  local name=$1 rate=$2
  [[ $name =~ $only ]] || return 0
  if ! hosts_up host 1500 "$rate" on 2>/dev/null; then
    echo "$name: skipped, this machine does not allow network namespaces"
    return 0
  fi
  pairs "$name-alone" 1 "$rate" && pairs "$name" 2 "$rate" && compare "$name" 2 wire
  local result=$?
  hosts_down
  return $result
}

for model in mlp convnet; do
  share "shared-$model-unpinned-2" 2 unpinned $model --batch 16 || exit 1
  share "shared-$model-pinned-2" 2 pinned $model --batch 16 || exit 1
  share "shared-$model-same-core-2" 2 same-core $model --batch 16 || exit 1
  share "shared-$model-unpinned-3" 3 unpinned $model --batch 16 || exit 1
  share "shared-$model-quota50-2" 2 quota50 $model --batch 16 || exit 1
done
"$build/realrun-cpu" make-data "$work/raw" encoding=raw count=1024 side=128 || exit 1
# A fixed number of steps: the limit lets a first burst through, which would mislead the warm-up.
share "shared-disk20MB-raw-2" 2 disk:20000000 mlp --batch 16 --input raw --data "$work/raw" \
  --cold on --decode-threads 2 --steps 50 || exit 1
share "shared-disk80MB-raw-2" 2 disk:80000000 mlp --batch 16 --input raw --data "$work/raw" \
  --cold on --decode-threads 2 --steps 200 || exit 1
share_wire "shared-wire1000-2" 1000 || exit 1
share_wire "shared-wire5000-2" 5000 || exit 1
