#!/usr/bin/env bash
# clang-tidy over the product, read as few files: most of its time goes into headers that all rooms include, which
# it would read, and check, anew in each. File-local names of a storey must differ therefore.
#   tests/tidy.sh BUILD    a folder in which the product was built
set -euo pipefail
shopt -s globstar
cd "$(dirname "$0")/.."
build=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

storey() { # NAME SOURCE...
  local name=$1
  shift
  printf '#include "%s"\n' "$@" >"$folder/$name.cpp"
}
storey ground sim/**/*.cpp platforms/*.cpp calibration/*.cpp models/**/*.cpp
storey first experiments/{spec,learn}/*.cpp experiments/run/**/*.cpp
storey second experiments/{answers,report,validate}/*.cpp
storey roof experiments/{fleet,api,serve,cli}/*.cpp
printf '%s\n' "$folder"/{ground,roof,second,first}.cpp | # the longest first
  xargs -P "$(nproc)" -I {} clang-tidy-14 --quiet --config-file=.clang-tidy --checks=-bugprone-suspicious-include \
    --header-filter='(sim|platforms|models|calibration|experiments)/.*[.][ch]pp$' {} \
    -- -std=c++20 -I. -I"$build/generated" -isystem /usr/include/eigen3 -DNDEBUG \
    -DFORETRAIN_VERSION='""' -DFORETRAIN_SOURCE_ROOT='""' -DFORETRAIN_INSTALLED_DATA='""' 2>/dev/null
