#!/usr/bin/env bash
# Measures what an overlay network costs, on one machine, between two hosts made of namespaces.
#
#   sudo realrun/overlay/measure.sh BUILD OUT [iperf3|twin|all]
#
# BUILD holds realrun-cpu and realrun-record; records go to OUT. Bounded in time (each command has a
# timeout); namespaces are removed on any exit. Nothing outside the namespaces is changed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$1 out=$2 what=${3:-all}
seconds=${REALRUN_SECONDS:-2} repetitions=${REALRUN_REPETITIONS:-3}
only=${REALRUN_ONLY:-.} # a regular expression: measure only settings whose name matches
. "$here/hosts.sh"
work=$(mktemp -d -p "$build")
trap 'hosts_down; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
[ "$(id -u)" = 0 ] || { echo "needs root to make network namespaces" >&2; exit 77; }
for tool in ip tc bridge ethtool iperf3; do
  command -v $tool >/dev/null || { echo "needs $tool (iproute2, ethtool, iperf3)" >&2; exit 77; }
done
mkdir -p "$out/iperf3"

# measure_iperf3 NAME PATH MTU RATE OFFLOAD [MSS]
measure_iperf3() {
  local name=$1 path=$2 mtu=$3 rate=$4 offload=$5 mss=${6:-0} i runs=() options=()
  [[ $name =~ $only ]] || return 0
  hosts_up "$path" "$mtu" "$rate" "$offload" || return 1
  [ "$mss" != 0 ] && options=(--set-mss "$mss")
  for ((i = 0; i < repetitions; ++i)); do
    local run=$work/$name.$i
    mkdir -p "$run"
    on "$path" 1 timeout 60 iperf3 --server --one-off --json >/dev/null 2>&1 &
    local server=$!
    sleep 0.3
    wire_count >"$run/wire.before"
    head -1 /proc/stat >"$run/stat.before"
    on "$path" 0 timeout 30 iperf3 --client "$(address_of "$path" 1)" --time "$seconds" --interval 0 --json \
      "${options[@]}" >"$run/iperf3.json" 2>"$run/error"
    head -1 /proc/stat >"$run/stat.after"
    wire_count >"$run/wire.after"
    wait $server
    cp "$run/iperf3.json" "$out/iperf3/$name.$i.json"
    runs+=("run=$run")
  done
  "$build/realrun-record" iperf3 "${runs[@]}" --name "$name" --out "$out/$name.json" \
    --label path="$path" --label mtu="$mtu" --label link_rate_Mb_per_s="$rate" \
    --label offload="$offload" --label set_mss="$mss" --label seconds="$seconds" || return 1
  echo "$name"
}

# measure_twin NAME PATH RATE MODEL OPTIONS...: two ranks, one on each host, pinned to CPUs 0 and 1.
measure_twin() {
  local name=$1 path=$2 rate=$3 model=$4 rank pids=() failed=0
  shift 4
  [[ $name =~ $only ]] || return 0
  hosts_up "$path" 1500 "$rate" on || return 1
  for rank in 0 1; do
    on "$path" "$rank" timeout 120 taskset -c "$((rank % $(nproc)))" "$build/realrun-cpu" train \
      "$here/../models/$model.json" --rank "$rank" --world 2 --root "$(address_of "$path" 0):29400" \
      --timeout "20 s" --name "$name" --out "$out/$name.json" --seconds "$seconds s" \
      --repetitions "$repetitions" --label path="$path" --label mtu=1500 \
      --label link_rate_Mb_per_s="$rate" --label pinned=yes "$@" &
    pids+=($!)
  done
  for rank in 0 1; do wait "${pids[$rank]}" || failed=1; done
  [ $failed = 0 ] && echo "$name"
}

if [ "$what" != twin ]; then
  for path in host route vxlan; do
    measure_iperf3 "net-$path-mtu1500-r0-tso" $path 1500 0 on || exit 1
    measure_iperf3 "net-$path-mtu1500-r0-packets" $path 1500 0 off || exit 1
    measure_iperf3 "net-$path-mtu9000-r0-packets" $path 9000 0 off || exit 1
    measure_iperf3 "net-$path-mtu1500-r1000-packets" $path 1500 1000 off || exit 1
    measure_iperf3 "net-$path-mss536-r0-packets" $path 1500 0 off 536 || exit 1
  done
fi
if [ "$what" != iperf3 ]; then
  # The paths of one setting follow each other, so that what else the machine does meets all alike.
  for rate in 200 1000 5000 0; do
    for path in host route vxlan; do
      measure_twin "twin-$path-r$rate-mlp" $path $rate mlp --batch 32 || exit 1
    done
  done
  for path in host route vxlan; do
    measure_twin "twin-$path-r1000-mlp-nooverlap" $path 1000 mlp --batch 32 --overlap off || exit 1
  done
  for path in host route vxlan; do
    measure_twin "twin-$path-r1000-convnet" $path 1000 convnet --batch 16 || exit 1
  done
fi
