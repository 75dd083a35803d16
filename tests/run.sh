#!/usr/bin/env bash
# Installs what is missing, builds everything, and runs all tests.
#   --ci   warnings as errors, formatting, clang-tidy, unit tests and the fuzzers' seeds under the sanitizers, and whether
#          they notice what is broken in sim
set -euo pipefail
cd "$(dirname "$0")/.."

ci=OFF
[ "${1:-}" = "--ci" ] && ci=ON
tests/install.sh "${1:-}"
if [ "$ci" = ON ]; then # what takes a second comes first
  git ls-files '*.cpp' '*.hpp' | grep -v '^realrun/cuda' | xargs clang-format-14 --dry-run --Werror
fi
cmake --preset release -DBUILD_TESTING=ON -DFORETRAIN_WERROR=$ci >/dev/null
cmake --build --preset release
ctest --preset release -j "$(($(nproc) + 1))" # pages and servers wait more than they compute

if [ "$ci" = ON ]; then
  tests/tidy.sh build/release
  cmake --preset asan-ubsan >/dev/null
  cmake --build --preset asan-ubsan
  # SimGrid keeps its engine until the process ends.
  ASAN_OPTIONS=detect_leaks=0 ctest --preset asan-ubsan -j "$(nproc)"
  tests/check_mutations.py --rooms sim # a sample: docs/house.md
fi
