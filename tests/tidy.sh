#!/usr/bin/env bash
# clang-tidy over the product, read as few files: most of its time goes into headers that all rooms include, which
# it would read, and check, anew in each. File-local names of a storey must differ therefore.
#   tests/tidy.sh BUILD    a folder in which the product was built
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

storey() { # NAME PATTERN: the product's sources whose path matches, and that no storey before has
  git ls-files {sim,platforms,calibration,models,experiments}/'*.cpp' | grep -vxFf "$folder/read" | grep -E "$2" >"$folder/now"
  sed 's/.*/#include "&"/' "$folder/now" >"$folder/$1.cpp"
  cat "$folder/now" >>"$folder/read"
}
touch "$folder/read"
storey ground '^(sim|platforms|calibration|models)/'
storey first '^experiments/(spec|run|learn)/'
storey second '^experiments/(answers|report|validate)/'
storey roof .
printf '%s\n' "$folder"/{ground,roof,second,first}.cpp | # the longest first
  xargs -P "$(nproc)" -I {} clang-tidy-14 --quiet --config-file=.clang-tidy {} \
    -- -std=c++20 -I. -I"$build/generated" -isystem /usr/include/eigen3 -DNDEBUG \
    -DFORETRAIN_VERSION='""' -DFORETRAIN_SOURCE_ROOT='""' -DFORETRAIN_INSTALLED_DATA='""' 2>/dev/null
