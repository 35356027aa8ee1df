#!/usr/bin/env bash
# reference-fio.sh DIRECTORY: installs the reference fio and its libraries into DIRECTORY, separate from the system, and prints the path
# of a program that runs it. It comes from Debian's unstable suite, so apt-get and
# dpkg-deb are needed; packages are verified with Debian's keys, as in any other installation.
set -euo pipefail
. "$(dirname "$0")/apt-beside.sh"
directory=$(realpath -m "${1:?usage: reference-fio.sh DIRECTORY}")
if [ -x "$directory/fio" ]; then
    echo "$directory/fio"
    exit
fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/fathom-fio.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/root"
begin_apt_beside "$scratch" sid >&2
apt_beside "$scratch" apt-get -qq --no-install-recommends --download-only -y install fio >&2
for package in "$scratch"/cache/archives/*.deb; do
    dpkg-deb -x "$package" "$scratch/root"
done

libraries=$(dirname "$(find "$scratch/root/usr/lib" -name 'libc.so.6' | head -n 1)")
libraries=${libraries#"$scratch/root/"}
loader=$(find "$scratch/root/$libraries" -name 'ld-linux*.so.*' -printf '%f\n' | head -n 1)
cat >"$scratch/fio" <<END
#!/bin/sh
root=\$(dirname "\$(readlink -f "\$0")")/root
libraries=\$root/$libraries
exec "\$libraries/$loader" --argv0 fio --library-path "\$libraries:\$libraries/ceph:\$root/usr/lib" "\$root/usr/bin/fio" "\$@"
END
chmod +x "$scratch/fio"
"$scratch/fio" --version >&2
# Moved into place in one step, so that an interrupted run leaves nothing that looks complete.
rm -rf "$directory"
mkdir -p "$directory"
mv "$scratch/root" "$scratch/fio" "$directory"
echo "$directory/fio"
