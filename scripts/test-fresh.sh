#!/usr/bin/env bash
# `make test` of the last commit in a new Debian that has only what the README asks for: Rust, a C compiler, make and
# git. It lacks everything that was installed on this machine by hand, so a step missing from scripts/set-up.sh makes
# the tests fail. As root; takes some minutes longer than `make test`. FATHOM_FRESH_COMMAND names another command to
# run; FATHOM_FRESH_TOOLS=1 also provides the tools that scripts/rust.sh names.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh
. scripts/set-up.sh
. scripts/apt-beside.sh
needed_packages=(debootstrap:debootstrap)
[ "$(id -u)" -eq 0 ] || { echo "test-fresh: as root only: it makes a Debian, and mounts" >&2; exit 1; }

# On the disk of the build directory, not in /tmp, which is a file system in memory on many systems.
mkdir -p "$target_directory"
root=$(mktemp -d "$(realpath "$target_directory")/fresh.XXXXXX")
trap 'rm -rf --one-file-system "$root"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
install_missing_packages "$root/log"
echo "making a Debian in $root"
debootstrap --variant=minbase --include=ca-certificates,gcc,git,libc6-dev,make,procps,python3 \
    "$(debian_release)" "$root" "$(debian_mirror)" >"$root/log" 2>&1 || { tail -3 "$root/log"; exit 1; }
# The servers that tests start run as other users, who need access.
chmod 755 "$root" "$root/root"
git clone -q . "$root/root/fathom"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
# The toolchain, cargo's downloads and the certificates are mounted from this machine.
lent=("${RUSTUP_HOME:-$HOME/.rustup}:/root/.rustup" "${CARGO_HOME:-$HOME/.cargo}:/root/.cargo" /etc/ssl:/etc/ssl)
[ -z "${FATHOM_FRESH_TOOLS:-}" ] || lent+=("$tools_cache:/root/.cache/fathom")
# In a mount namespace, so that the mounts disappear with it.
unshare --mount --propagation slave bash -s "$root" "${FATHOM_FRESH_COMMAND:-make test}" "${lent[@]}" <<'END'
root=$1 command=$2
shift 2
mount --bind "$root" "$root"
for place in proc sys dev run/udev lib/modules; do
    [ -d "/$place" ] && mkdir -p "$root/$place" && mount --rbind "/$place" "$root/$place"
done
for pair in "$@"; do
    mkdir -p "$root${pair#*:}"
    mount --bind "${pair%%:*}" "$root${pair#*:}"
done
exec env -i HOME=/root PATH=/root/.cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
    chroot "$root" sh -c "cd /root/fathom && $command" </dev/null
END
