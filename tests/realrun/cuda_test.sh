#!/usr/bin/env bash
# Tests of the CUDA program as processes: cuda_test.sh CASE REALRUN_CUDA REALRUN_RECORD MODELS
# With the emulated program every case runs anywhere; on a GPU those that need one.
set -u
case_name=$1 program=$2 record=$3 models=$4
work=$(mktemp -d)
export TMPDIR=$work
pids=()
cleanup() {
  for pid in "${pids[@]:-}"; do [ -n "$pid" ] && kill -9 "$pid" 2>/dev/null; done
  rm -rf "$work"
}
trap cleanup EXIT
fail() { echo "FAILED: $*"; cat "$work"/*.err 2>/dev/null; exit 1; }
small=(--set width=16 --set depth=1 --set image=16)

if [[ $case_name != no-* && $program != *emulated* ]]; then
  "$program" train "$models/mlp.json" "${small[@]}" --batch 2 --steps 5 --repetitions 1 \
    --out "$work/probe.json" 2>"$work/probe.err"
  grep -q "no CUDA device" "$work/probe.err" && { echo "SKIPPED: no CUDA device"; exit 77; }
fi

case $case_name in
loss)
  for model in "mlp fp32 8 40" "mlp fp16 8 40" "transformer bf16 2 12" "convnet fp16 8 40"; do
    read -r name precision batch steps <<<"$model"
    "$program" train "$models/$name.json" "${small[@]}" --set image=8 --set patch=4 --batch $batch \
      --set precision="$precision" --steps $steps --repetitions 1 --learning-rate 0.03 \
      --out "$work/r.json" 2>"$work/0.err" || fail "$model"
    "$record" check "$work/r.json" >/dev/null || fail "the record of $model is not valid"
    python3 - "$work/r.json" "$model" <<'PY' || fail "the loss of $model does not fall"
import json, sys
series = {s["name"]: s for s in json.load(open(sys.argv[1]))["series"] if not s["labels"]}
first, last = series["warmup_loss"]["repetitions"][0][0], series["loss"]["repetitions"][0][-5:]
print(sys.argv[2], "loss", first, "->", sum(last) / 5)
sys.exit(sum(last) / 5 > 0.7 * first)
PY
  done
  ;;
gradients)
  for model in mlp convnet transformer; do
    for overlap in on off; do
      pids=()
      for rank in 0 1; do
        # Two ranks on one GPU look like two hosts to NCCL.
        NCCL_HOSTID=realrun$rank NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 "$program" train \
          "$models/$model.json" "${small[@]}" --batch 4 --check-gradients --rank $rank --world 2 \
          --meet "$work/meet" --timeout "20 s" --overlap $overlap --bucket "4 KiB" \
          >"$work/$rank.out" 2>"$work/$rank.err" &
        pids+=($!)
      done
      for pid in "${pids[@]}"; do wait "$pid" || fail "$model overlap $overlap"; done
      grep "agree with" "$work/0.out" || fail "no verdict"
    done
  done
  ;;
killed)
  for rank in 0 1; do
    NCCL_HOSTID=realrun$rank NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 "$program" train \
      "$models/mlp.json" "${small[@]}" --batch 4 --steps 1000000 --rank $rank --world 2 \
      --meet "$work/meet" --timeout "10 s" >"$work/$rank.out" 2>"$work/$rank.err" &
    pids+=($!)
  done
  sleep 3
  kill -0 "${pids[0]}" || fail "rank 0 ended too early"
  kill -9 "${pids[1]}"
  for ((i = 0; i < 150; ++i)); do kill -0 "${pids[0]}" 2>/dev/null || break; sleep 0.1; done
  kill -0 "${pids[0]}" 2>/dev/null && fail "rank 0 still runs 15 s after rank 1 was killed"
  wait "${pids[0]}"
  [ $? = 3 ] || fail "rank 0 did not exit with 3"
  grep . "$work/0.err" || fail "rank 0 does not say why"
  ;;
micro)
  for curve in launch elementwise; do
    "$program" micro $curve --repetitions 1 --out "$work/$curve.json" || fail "$curve"
    "$record" check "$work/$curve.json" || fail "the record of $curve is not valid"
  done
  ;;
no-device)
  FAKE_DEVICES=0 CUDA_VISIBLE_DEVICES="" "$program" train "$models/mlp.json" 2>"$work/0.err"
  [ $? = 3 ] && grep "no CUDA device" "$work/0.err" || fail "no message without a device"
  ;;
memory)
  FAKE_MEMORY_MIB=10 "$program" train "$models/mlp.json" --set width=2048 --batch 4096 \
    2>"$work/0.err"
  [ $? = 3 ] && grep "out of device memory: asked for" "$work/0.err" || fail "no message"
  ;;
precision)
  FAKE_CAPABILITY=70 "$program" train "$models/mlp.json" --set precision=bf16 2>"$work/0.err"
  [ $? = 2 ] && grep "no bf16" "$work/0.err" || fail "bf16 on a V100"
  ;;
*) fail "no such case: $case_name" ;;
esac
