#!/usr/bin/env bash
# reference-fio.sh DIRECTORY: puts the fio whose behaviour is followed into DIRECTORY, with the libraries it needs, beside the system
# and without touching it, and prints the path of a program that runs it. It comes from Debian's unstable suite, so apt-get and
# dpkg-deb are needed; packages are checked by Debian's keys, as with any other installation.
set -euo pipefail
. "$(dirname "$0")/set-up.sh"
directory=$(realpath -m "${1:?usage: reference-fio.sh DIRECTORY}")
if [ -x "$directory/fio" ]; then
    echo "$directory/fio"
    exit
fi

mirror=$(debian_mirror)
if [ -z "$mirror" ]; then
    echo "reference-fio.sh: apt knows no mirror of Debian" >&2
    exit 1
fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/fathom-fio.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/lists/partial" "$scratch/cache/archives/partial" "$scratch/root"
# Nothing counts as installed, so all libraries come along.
: >"$scratch/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" >"$scratch/sources.list"
unstable() {
    apt-get -qq -o Dir::Etc::sourcelist="$scratch/sources.list" -o Dir::Etc::sourceparts=- -o Dir::Etc::Preferences=/dev/null \
        -o Dir::Etc::PreferencesParts=/dev/null -o Dir::State="$scratch" -o Dir::State::status="$scratch/status" \
        -o Dir::State::lists="$scratch/lists" -o Dir::Cache="$scratch/cache" -o APT::Sandbox::User="$(id -un)" \
        -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false "$@"
}
unstable update >&2
unstable --no-install-recommends --download-only -y install fio >&2
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
# All at once, so that an interrupted run leaves nothing that looks complete.
rm -rf "$directory"
mkdir -p "$directory"
mv "$scratch/root" "$scratch/fio" "$directory"
echo "$directory/fio"
