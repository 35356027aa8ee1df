#!/usr/bin/env bash
# Builds the release, measures the disk that holds the build directory with `fathom quick`, and makes a page of the result:
# quick.html in the build directory. The words given to the script go to `fathom quick`. Nothing else is left behind.
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
# From within the directory, so that the page does not name a path that is gone.
page_path=$(realpath "$target_directory")/quick.html
(cd "$directory" && "$fathom" report --force --title="How fast is this disk?" -o "$page_path" quick.json)
printf '\nOpen the report in a browser: xdg-open %q\n' "$page"
