#!/usr/bin/env bash
# Makes the wheels from a built program: `fathom-io`, which contains it, and `fathom-fio-compat`, which provides fio's names for it.
#
#   wheel.sh OUTPUT [PROGRAM [COPYRIGHT]]
#
# PROGRAM must be for the platform of the wheel; by default it is built for this machine. COPYRIGHT contains the licences of
# its contents. FATHOM_VERSION and SOURCE_DATE_EPOCH default to those of the commit. The wheels are reproducible.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 1; }
output=$(realpath -m "$1")
copyright=${3:-}
if [ $# -lt 2 ]; then
    . scripts/rust.sh
    cargo build --profile dist --locked -p fathom-io --features libhdfs
    program=$target_directory/dist/fathom
else
    program=$2
fi
. scripts/set-up.sh
. packaging/version.sh
scratch=$(mktemp -d "${TMPDIR:-/tmp}/fathom-wheel.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
umask 022
FATHOM_VERSION=${FATHOM_VERSION:-$(version_of_commit)}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
FATHOM_FIO_NAMES=$PWD/packaging/fio-names
FATHOM_WHEEL_PROGRAM=$(realpath "$program")
# The build must not depend on the environment.
export FATHOM_VERSION SOURCE_DATE_EPOCH FATHOM_FIO_NAMES FATHOM_WHEEL_PROGRAM PYTHONDONTWRITEBYTECODE=1
install_python_packages "$scratch/tools" "${wheel_tools[@]}" >&2 || { echo "the tools that make wheels could not be installed" >&2; exit 1; }
# The files of the commit, without untracked files; symbolic links become files.
mkdir "$scratch/source"
git ls-files -z bindings/python | xargs -0 cp -L --parents -t "$scratch/source"
source=$scratch/source/bindings/python
[ -z "$copyright" ] || cp "$copyright" "$source/copyright"
mkdir -p "$output"
for package in "$source" "$source/fio-compat"; do
    (cd "$package" && "$scratch/tools/bin/hatchling" build -t wheel -d "$output")
done
