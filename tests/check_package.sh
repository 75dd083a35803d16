#!/usr/bin/env bash
# The Debian packages, installed with apt in a fresh minimal Debian 12, of which nothing is left behind.
#
#   tests/check_package.sh [BUILD]     BUILD: a build made with -DBUILD_TESTING=OFF (default build/package, made if missing)
#
# Checks: what apt installs beside it, predict, the man page, completion, --version; then the Python module, the notebooks and, in
# Debian's browser, the page of `serve`; then the C++ example, built with the library's package and Debian's compiler; then that
# removing it leaves nothing. Needs root or user namespaces,
# mmdebstrap and the package mirror (MIRROR, default deb.debian.org): exit code 77 and the reason where these are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/package}
mirror=${MIRROR:-http://deb.debian.org/debian}
release=bookworm
seconds=1800

skip() {
  echo "skipped: $*"
  exit 77
}
command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed (apt-get install mmdebstrap)"
python3 -c "import sys, urllib.request as u; u.urlopen(sys.argv[1], timeout=20)" "$mirror/dists/$release/Release" 2>/dev/null ||
  skip "no packages from $mirror"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
[ -f "$build/CMakeCache.txt" ] || cmake --preset release -B "$build" -DBUILD_TESTING=OFF >/dev/null
cmake --build "$build" >"$work/build.log" 2>&1 || { tail -40 "$work/build.log"; exit 1; }
(cd "$build" && cpack -B "$work/packages" >"$work/cpack.log" 2>&1) || { cat "$work/cpack.log"; exit 1; }
mkdir "$work/in"
cp "$work"/packages/*.deb "$work/in/"
cp -r docs/examples/cpp "$work/in/example"
mkdir "$work/in/tree" "$work/in/tree/tests" # without experiments/python: what is installed is imported
cp -r docs "$work/in/tree/"
cp tests/check_notebooks.py tests/check_page.py "$work/in/tree/tests/"

# Runs inside; prints what it measured, ends at the first thing that is wrong.
cat >"$work/in/inside.sh" <<'INSIDE'
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
wrong() { echo "WRONG: $*"; exit 1; }
installed() {
  apt-get install -y -qq --no-install-recommends "$@" >/tmp/apt.log 2>&1 || { tail -20 /tmp/apt.log; wrong "apt install $*"; }
}
count() { dpkg-query -W | wc -l; }
grep -q localhost /etc/hosts 2>/dev/null || echo "127.0.0.1 localhost" >>/etc/hosts # as every installed Debian has it
cd /in

before=$(count)
installed ./foretrain_*.deb
echo "foretrain installed, with $(($(count) - before - 1)) packages that it needs"
dpkg -V foretrain || wrong "files differ from the package"
ldd /usr/bin/foretrain | grep "not found" && wrong "a library is missing"
foretrain --version
cd /tmp
foretrain predict c4140-resnet50 --out /tmp/report >/tmp/answer
grep -q "samples/s" /tmp/answer || wrong "no answer"
grep -q "</html>" /tmp/report/report.html || wrong "no report"
grep -q '"source": "platforms/data' /tmp/report/result.json || wrong "data of another place"
foretrain predict nonsuch 2>/tmp/error && wrong "an unknown experiment was taken"
grep -q c4140-resnet50 /tmp/error || wrong "an unknown experiment does not tell the known: $(cat /tmp/error)"
echo "predict: $(grep -m 1 compute /tmp/answer)"

timeout 20 foretrain serve --no-browser >/tmp/link 2>/dev/null &
for _ in $(seq 50); do [ -s /tmp/link ] && break; sleep 0.1; done
cat >/tmp/get.sh <<'GET'
IFS=/ read -r _ _ at token _ </tmp/link
exec 3<>"/dev/tcp/${at%:*}/${at#*:}"
printf 'GET /%s/ HTTP/1.0\r\nHost: localhost\r\n\r\n' "$token" >&3
cat <&3
GET
bash /tmp/get.sh | grep -q "main.js" || wrong "serve does not answer"
kill %1
echo "the page answers"

installed man-db bash-completion
for page in foretrain foretrain-sweep; do
  man "$page" >/tmp/page
  grep -q "^NAME" /tmp/page || wrong "no man page $page"
done
cat >/tmp/complete.sh <<'COMPLETE'
source /usr/share/bash-completion/bash_completion
_completion_loader foretrain
COMP_WORDS=(foretrain swe); COMP_CWORD=1
_foretrain
echo "${COMPREPLY[@]}"
COMPLETE
[ "$(bash /tmp/complete.sh)" = sweep ] || wrong "completion: $(bash /tmp/complete.sh)"
echo "man pages and completion are found"

installed /in/python3-foretrain_*.deb
cat >/tmp/ask.py <<'PYTHON'
import foretrain as ft

job = ft.predict("c4140-resnet50", set={"/sweep": {"/jobs/0/gpus": [8]}}).only()
print(f"Python: {job.throughput_samples_per_s} samples/s")
PYTHON
python3 /tmp/ask.py >/tmp/python || wrong "the Python module"
cat /tmp/python

installed python3-nbconvert python3-ipykernel python3-pandas python3-matplotlib python3-tqdm
python3 /in/tree/tests/check_notebooks.py /usr/bin/foretrain >/tmp/notebooks 2>/tmp/notebooks.err || { cat /tmp/notebooks*; wrong "the notebooks"; }
cat /tmp/notebooks
installed chromium chromium-driver python3-selenium
python3 /in/tree/tests/check_page.py /usr/bin/foretrain >/tmp/browser 2>&1 || { cat /tmp/browser; wrong "the page in a browser"; }
echo "in the browser: $(tail -1 /tmp/browser)"

installed /in/libforetrain-dev_*.deb g++ cmake make
cmake -S /in/example -B /tmp/example >/tmp/cmake.log 2>&1 || { tail -20 /tmp/cmake.log; wrong "find_package(Foretrain)"; }
cmake --build /tmp/example >/tmp/cmake.log 2>&1 || { tail -20 /tmp/cmake.log; wrong "the example does not build"; }
/tmp/example/ask >/tmp/asked
[ "$(grep -c samples/s /tmp/asked)" = 3 ] || wrong "the example: $(cat /tmp/asked)"
echo "C++ example: $(tail -1 /tmp/asked)"

apt-get purge -y -qq foretrain libforetrain-dev python3-foretrain >/dev/null 2>&1
left=$(find / -xdev -ipath '*foretrain*' -not -path '/in/*' -not -path '/tmp/*' -not -path '/proc/*' -not -path '/var/*' || true)
[ -z "$left" ] || wrong "left behind: $left"
echo "removed, nothing is left"
INSIDE

begin=$SECONDS
if timeout "$seconds" mmdebstrap --quiet --variant=apt --dpkgopt=force-unsafe-io --customize-hook="copy-in $work/in /" \
  --customize-hook='env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root chroot "$1" bash /in/inside.sh' \
  "$release" /dev/null "$mirror" >"$work/log" 2>&1; then
  cat "$work/log"
  echo "package ok, $((SECONDS - begin)) s"
else
  tail -40 "$work/log"
  echo "the package fails in a fresh Debian"
  exit 1
fi
