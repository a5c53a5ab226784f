#!/usr/bin/env bash
# Installs what `npm run test:full` needs beyond Node, on Debian and its kin: a browser, moved clocks, system calls
# that can be watched, Python. Run as root. What is there already is left alone.
set -euo pipefail

declare -A packages=(
  [chromium]=chromium
  [faketime]=faketime
  [strace]=strace
  [python3]=python3
  [setpriv]=util-linux
  [systemd-analyze]=systemd
)
missing=()
for program in "${!packages[@]}"; do
  command -v "$program" > /dev/null || missing+=("${packages[$program]}")
done
# Python may be there without what makes an environment of its own.
python3 -c 'import ensurepip' 2> /dev/null || missing+=(python3-venv)
if [ "${#missing[@]}" -gt 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
fi
echo "proof tools: ${!packages[*]}"
