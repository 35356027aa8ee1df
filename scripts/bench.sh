#!/usr/bin/env bash
# Builds the release and compares it with the installed fio. Arguments go to `xtask bench`.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh
# Where the tests on real devices have their kernel, too.
export LAB_CACHE=${LAB_CACHE:-$(realpath -m "$target_directory")/tools/lab}
cargo build --release --locked -p fathom -p xtask
exec "$target_directory/release/xtask" bench "$@"
