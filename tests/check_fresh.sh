#!/usr/bin/env bash
# Both commands of the README, as a newcomer has them: in a fresh minimal Debian 12, of which nothing is left behind.
#
#   tests/check_fresh.sh [first | second | both]     what is committed; default both
#
# The first takes about 4 minutes on two cores, the second about 20. Run it before a release: a clone on a machine on which
# the program was ever built hides what the install script forgot. Needs root or user namespaces, mmdebstrap and the
# package mirror (MIRROR, default deb.debian.org): exit code 77 and the reason where these are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
which=${1:-both}
case $which in first | second | both) ;; *) echo "check_fresh.sh: '$which' is none of first, second, both" >&2; exit 2 ;; esac
mirror=${MIRROR:-http://deb.debian.org/debian}
release=bookworm
seconds=5400

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
git clone -q . "$work/foretrain"
cat >"$work/inside.sh" <<'INSIDE'
set -euo pipefail
cd /home/foretrain
command_of() { # COMMAND
  local begin=$SECONDS
  $1 >/tmp/log 2>&1 || { tail -60 /tmp/log; echo "WRONG: $1 failed"; exit 1; }
  echo "$1: $((SECONDS - begin)) s, ends with: $(tail -1 /tmp/log)"
}
case $1 in first | both) command_of ./experiments/quickstart.sh; [ -s out/quickstart/report.html ] ;; esac
case $1 in second | both) command_of ./tests/run.sh ;; esac
INSIDE

if timeout "$seconds" mmdebstrap --quiet --variant=apt --dpkgopt=force-unsafe-io \
  --customize-hook="copy-in $work/foretrain /home" --customize-hook="copy-in $work/inside.sh /" \
  --customize-hook='env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root chroot "$1" bash /inside.sh '"$which" \
  "$release" /dev/null "$mirror" >"$work/log" 2>&1; then
  cat "$work/log"
else
  tail -80 "$work/log"
  echo "the README's commands fail in a fresh Debian"
  exit 1
fi
