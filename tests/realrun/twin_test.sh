#!/usr/bin/env bash
# Tests of the CPU twin as processes: twin_test.sh CASE REALRUN_CPU REALRUN_RECORD MODELS
set -u
case_name=$1 twin=$2 record=$3 models=$4
work=$(mktemp -d)
pids=()
cleanup() {
  for pid in "${pids[@]:-}"; do [ -n "$pid" ] && kill -9 "$pid" 2>/dev/null; done
  rm -rf "$work"
}
trap cleanup EXIT

fail() { echo "FAILED: $*"; cat "$work"/*.err 2>/dev/null; exit 1; }

# start WORLD ARGUMENTS...: starts the ranks in the background, pids in $pids.
start() {
  local world=$1 rank
  shift
  pids=()
  for ((rank = 0; rank < world; ++rank)); do
    "$twin" --rank "$rank" --world "$world" --meet "$work/meet" --timeout "20 s" "$@" \
      >"$work/$rank.out" 2>"$work/$rank.err" &
    pids+=($!)
  done
}

# ended PID SECONDS: waits until it has ended; its exit code is in $code.
ended() {
  local tries=$(($2 * 20))
  while kill -0 "$1" 2>/dev/null && [ $tries -gt 0 ]; do sleep 0.05; tries=$((tries - 1)); done
  kill -0 "$1" 2>/dev/null && return 1
  wait "$1"
  code=$?
}

# A long run of three ranks that is well into its steps.
start_long_run() {
  start 3 train "$models/mlp.json" --steps 100000 --batch 4 "$@"
  local tries=200
  while [ -e "$work/meet" ] || ! grep -q . /proc/"${pids[0]}"/cmdline; do
    sleep 0.05
    tries=$((tries - 1))
    [ $tries -gt 0 ] || fail "the ranks did not meet"
  done
  sleep 1
}

case $case_name in
loss)
  "$twin" train "$models/convnet.json" --steps 150 --repetitions 1 --batch 16 --out "$work/r.json" ||
    fail "training failed"
  "$record" check "$work/r.json" || fail "the record is not valid"
  python3 - "$work/r.json" <<'PY' || fail "the loss does not fall"
import json, sys
series = {s["name"]: s for s in json.load(open(sys.argv[1]))["series"] if not s["labels"]}
first, last = series["warmup_loss"]["repetitions"][0][0], series["loss"]["repetitions"][0][-5:]
print("loss", first, "->", sum(last) / 5)
sys.exit(sum(last) / 5 > 0.7 * first)
PY
  ;;
gradients)
  for model in mlp convnet transformer; do
    for world in 1 2 4; do
      start $world train "$models/$model.json" --batch 4 --check-gradients --bucket "32 KiB"
      for pid in "${pids[@]}"; do wait "$pid" || fail "$model on $world ranks"; done
      cat "$work/0.out"
      grep -q "$world rank.*agree with" "$work/0.out" || fail "no verdict"
    done
  done
  ;;
killed)
  start_long_run
  kill -9 "${pids[1]}"
  for rank in 0 2; do
    ended "${pids[$rank]}" 8 || fail "rank $rank still runs 8 s after rank 1 was killed"
    [ "$code" = 3 ] || fail "rank $rank ended with $code, not 3"
    grep -q "lost rank" "$work/$rank.err" || fail "rank $rank does not say why"
    cat "$work/$rank.err"
  done
  ;;
frozen)
  start_long_run --timeout "2 s"
  kill -STOP "${pids[1]}"
  for rank in 0 2; do
    ended "${pids[$rank]}" 15 || fail "rank $rank waits for ever for a stopped rank"
    [ "$code" = 3 ] || fail "rank $rank ended with $code, not 3"
    cat "$work/$rank.err"
  done
  grep -q "no progress with rank 1" "$work"/*.err || fail "nobody names the stopped rank"
  ;;
missing)
  "$twin" train "$models/mlp.json" --rank 0 --world 2 --meet "$work/meet" --timeout "1 s" \
    2>"$work/0.err" && fail "ran without rank 1"
  grep -q "rank 1" "$work/0.err" || fail "does not name the missing rank"
  ;;
files)
  "$twin" make-data "$work/raw" encoding=raw count=64 side=64 || fail "make-data raw"
  "$twin" train "$models/mlp.json" --input raw --data "$work/raw" --steps 5 --repetitions 2 \
    --out "$work/r.json" || fail "training from raw files"
  "$record" check "$work/r.json" || fail "the record is not valid"
  if ! "$twin" make-data "$work/jpeg" encoding=jpeg count=64 side=64 2>"$work/jpeg.err"; then
    grep -q "no JPEG support" "$work/jpeg.err" || fail "make-data jpeg"
    echo "SKIPPED: this build has no JPEG support"
    exit 77
  fi
  "$twin" train "$models/mlp.json" --input jpeg --data "$work/jpeg" --decode-threads 2 --cold on \
    --steps 5 --repetitions 1 --out "$work/j.json" || fail "training from JPEG files"
  grep -q input_decode "$work/j.json" || fail "decode times are missing"
  ;;
wrong)
  "$twin" train "$models/mlp.json" --set width=0 2>"$work/0.err"
  [ $? = 2 ] && grep -q "/width" "$work/0.err" || fail "width 0"
  "$twin" train "$models/mlp.json" --set precision=bf16 2>"$work/0.err"
  [ $? = 2 ] && grep -q fp32 "$work/0.err" || fail "bf16"
  "$twin" train /nonexistent.json 2>"$work/0.err"
  [ $? = 2 ] || fail "missing model"
  "$twin" tarin 2>"$work/0.err"
  [ $? = 2 ] && grep -q train "$work/0.err" || fail "verb"
  "$twin" train "$models/mlp.json" --out /nonexistent/r.json --steps 5 --repetitions 1 2>"$work/0.err"
  [ $? = 3 ] && grep -q "cannot write" "$work/0.err" || fail "unwritable record"
  ;;
*) fail "no such case: $case_name" ;;
esac
