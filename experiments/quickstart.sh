#!/usr/bin/env bash
# Installs what is missing, builds, and predicts ResNet-50 on 1 to 8 GPUs of a C4140 cluster.
set -euo pipefail
cd "$(dirname "$0")/.."

tests/install.sh
cmake --preset release -DBUILD_TESTING=OFF >/dev/null
cmake --build --preset release --target foretrain
build/release/foretrain predict experiments/data/c4140-resnet50.json --out out/quickstart
