#!/usr/bin/env bash
# Builds everything that users install into target/packages: for x86_64 and aarch64 a Debian package, an RPM package, a static program, a
# container image and wheels for Python; packages of links under fio's names; the list of everything inside (CycloneDX); and checksums. The
# same commit gives the same bytes.
#
#   packages.sh [--only=ARCHITECTURE]    x86_64 or aarch64 instead of both
#   packages.sh --again                  builds everything a second time elsewhere, and compares
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh
. scripts/set-up.sh
. packaging/build.sh
. packaging/formats.sh

architectures=(x86_64 aarch64)
again=no
for word in "$@"; do
    case $word in
    --only=x86_64 | --only=aarch64) architectures=("${word#--only=}") ;;
    --again) again=yes ;;
    *)
        sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
        exit 1
        ;;
    esac
done

# Permissions, sort order and times must not depend on the build machine.
umask 022
export LC_ALL=C TZ=UTC
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
version=$(version_of_commit)
target_directory=$(realpath -m "$target_directory")
output=$target_directory/packages
scratch=$(mktemp -d "${TMPDIR:-/tmp}/fathom-packages.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

get_build_tools
rm -rf "$output"
mkdir -p "$output"
echo "== fathom $version"
make_all "$output" "$target_directory/release-builds"
if [ "$again" = yes ]; then
    # In another directory, to show that the programs do not contain build paths.
    git clone -q . "$scratch/clone"
    mkdir "$scratch/again"
    (cd "$scratch/clone" && make_all "$scratch/again" "$scratch/builds")
    cmp "$output/SHA256SUMS" "$scratch/again/SHA256SUMS" || {
        diff "$output/SHA256SUMS" "$scratch/again/SHA256SUMS"
        exit 1
    }
    echo "the second build has the same bytes"
fi
cat "$output/SHA256SUMS"
