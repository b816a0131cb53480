#!/usr/bin/env bash
# Runs the README's two commands on a bare Debian of a release, as somebody who has nothing else.
#
#   sudo tools/fresh_machine.sh bookworm|trixie|forky|... [FOLDER]
#
# debootstrap makes a root with make, git and Python in FOLDER (a temporary folder if none is given),
# which is kept for a look. The commits of this checkout are cloned into it, without what is not
# committed. `make run` opens the window on a virtual screen of this machine and closes it after 20
# pictures; `make test` runs the suite. Both times and both last lines are printed at the end, and the
# exit status is 0 if both commands succeeded. ARGS goes to `make test`.
#
# It needs root, debootstrap and Xvfb.
set -euo pipefail

suite=${1:?usage: sudo $0 SUITE [FOLDER]}
root=$(realpath -m "${2:-$(mktemp -d)/$suite}")
checkout=$(git -C "$(dirname "$0")/.." rev-parse --show-toplevel)
mirror=${DEBIAN_MIRROR:-} # empty: debootstrap's own
home=/opt/styleforge

[ "$(id -u)" = 0 ] || { echo "$0 needs root: debootstrap and chroot do" >&2; exit 1; }
# The mounts below go with the process.
[ -n "${APART:-}" ] || APART=1 exec unshare --mount --propagation private "$0" "$suite" "$root"

scripts=/usr/share/debootstrap/scripts
[ -e "$scripts/$suite" ] || ln -s sid "$scripts/$suite" # a release newer than this debootstrap
debootstrap --variant=minbase --include=make,git,python3,ca-certificates \
  "$suite" "$root" ${mirror:+"$mirror"} >"$root.debootstrap.log" || { tail -n 5 "$root.debootstrap.log" >&2; exit 1; }

# The network of this machine: its name servers, the authorities that it trusts, and a mirror that
# may lag behind what it was signed for.
cp /etc/resolv.conf "$root/etc/resolv.conf"
# Debian's installer writes both names; PyTorch and chromedriver look them up.
printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$(hostname)" >>"$root/etc/hosts"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/mirror"

mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs tmpfs "$root/tmp"
mkdir -p "$root/tmp/.X11-unix"

# The window's screen: the machine under test has a socket to it, and no X server of its own.
exec 3>"$root.display"
Xvfb -displayfd 3 -screen 0 1280x800x24 -nolisten tcp >"$root.screen.log" 2>&1 &
screen=$!
trap 'kill $screen 2>/dev/null || true' EXIT
until [ -s "$root.display" ]; do sleep 0.1; kill -0 $screen; done
mount --bind /tmp/.X11-unix "$root/tmp/.X11-unix"

# Runs a command in the root with the variables of a login and nothing of this machine's.
inside() {
  chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 DISPLAY=":$(cat "$root.display")" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# Runs a step, keeps what it prints, and notes its time, its status and its last lines.
report=""
failed=0
step() {
  local log="$root.$1.log" began=$SECONDS status=0
  shift
  inside "$@" 2>&1 | tee "$log" || status=$?
  [ "$status" = 0 ] || failed=1
  report+=$(printf '\n%s: %d s, exit status %d' "$*" $((SECONDS - began)) "$status"; echo
    tail -n 4 "$log" | cut -c1-200 | sed 's/^/    /')$'\n'
}

git clone --quiet --no-hardlinks "$checkout" "$root$home"
commit=$(git -C "$checkout" rev-parse --short HEAD) # of the clone; the checkout may move on
python=$(inside python3 --version)
step run make -C "$home" run ARGS="--source scene --pictures 20"
step test make -C "$home" test ARGS="${ARGS:-}"

printf '\n%s of Debian %s, %s cores, commit %s\n%s\n' "$python" "$suite" "$(nproc)" "$commit" \
  "$report"
exit $failed
