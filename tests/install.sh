#!/usr/bin/env bash
# Installs what Foretrain is built with, from Debian's packages, if anything is missing. Works as root
# and with sudo; otherwise says what to install.
set -euo pipefail

packages=(g++ cmake ninja-build pkg-config libsimgrid-dev libboost-graph-dev libboost-context-dev nlohmann-json3-dev
  libeigen3-dev libfmt-dev libcli11-dev libpugixml-dev libsqlite3-dev zlib1g-dev libyaml-cpp-dev libcpp-httplib-dev catch2 libbenchmark-dev
  libjpeg-dev make python3)
[ "${1:-}" = "--ci" ] && packages+=(clang-14 libclang-rt-14-dev clang-format-14 clang-tidy-14 python3-pandas python3-matplotlib python3-tqdm
  python3-nbconvert python3-ipykernel python3-setuptools python3-pip mypy pydocstyle
  chromium chromium-driver python3-selenium)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root=()
elif command -v sudo >/dev/null; then
  as_root=(sudo)
else
  echo "please install as root: apt-get install ${missing[*]}" >&2
  exit 1
fi
echo "installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
