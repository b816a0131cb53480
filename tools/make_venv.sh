#!/bin/sh
# Makes the virtual environment that is the argument, with the newest Python on the PATH for which
# there is a wheel of the PyTorch in constraints.txt. The Makefile calls it.
set -eu
venv=$1
release=$(sed -n 's/^torch==\([0-9.]*\)\.\*$/\1/p' constraints.txt) # 2.13
passed_over=""

# Debian keeps venv in a package of its own.
need_venv() {
  "$1" -c 'import ensurepip, venv' 2>/dev/null && return
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y "$1-venv"
  else
    echo "$1 has no venv module; on Debian or Ubuntu: sudo apt-get install $1-venv" >&2
    exit 1
  fi
}

has_wheel() {
  "$venv/bin/python" -m pip index versions torch --only-binary=:all: 2>"$venv/pip.log" |
    grep -qF " $release."
}

minors=$(seq 30 -1 11)
for python in $(printf 'python3.%s ' $minors) python3; do
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
  need_venv "$python"
  version=$("$python" --version)
  "$python" -m venv --clear "$venv"
  if has_wheel; then
    echo "Making $venv with $version"
    exit 0
  fi
  echo "$version is passed over: pip finds no wheel of PyTorch $release for it" >&2
  passed_over="$passed_over $python"
  log=$(cat "$venv/pip.log")
  rm -rf "$venv"
done

if [ -n "$passed_over" ]; then
  printf '%s\n' "$log" >&2
  echo "pip finds no wheel of PyTorch $release for:$passed_over. Its reason is above; without a" \
    "connection it finds none, and a Python that is newer than PyTorch's wheels has to wait for them." >&2
else
  echo "StyleForge needs Python 3.11 or newer; none is on the PATH." >&2
fi
exit 1
