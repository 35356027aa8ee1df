#!/usr/bin/env bash
# Builds the release and compares it with the installed fio. Arguments go to `xtask bench`.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh
. scripts/lab/tests.sh
cargo build --release --locked -p fathom-io -p xtask
exec "$target_directory/release/xtask" bench "$@"
