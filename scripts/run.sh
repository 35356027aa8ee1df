#!/usr/bin/env bash
# Builds the release, measures the disk of the build directory with `fathom quick`, and writes an HTML page of the result:
# quick.html in the build directory. Arguments are passed to `fathom quick`. No other files remain.
#
# FATHOM_RUN_PROGRAM names, by its full path, a program that is built already, which tests of this script need.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh

mkdir -p "$target_directory"
fathom=${FATHOM_RUN_PROGRAM:-}
if [ -z "$fathom" ]; then
    cargo build --release --locked -p fathom-io
    fathom=$(realpath "$target_directory")/release/fathom
fi

# Not below /tmp, which is a file system in memory on many systems.
directory=$(mktemp -d "$target_directory/quick.XXXXXX")
trap 'rm -rf "$directory"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

page=$target_directory/quick.html
"$fathom" quick --size=512m --time=2s --save="$directory/quick.json" "$@" "$target_directory"
# Run inside the directory, so that the page does not name a path that no longer exists.
page_path=$(realpath "$target_directory")/quick.html
(cd "$directory" && "$fathom" report --force --title="How fast is this disk?" -o "$page_path" quick.json)
printf '\nOpen the report in a browser: xdg-open %q\n' "$page"
