#!/usr/bin/env bash
# Builds what packages hold and compares it with the installed fio. Arguments go to `xtask bench`.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh
. scripts/lab/tests.sh
cargo build --profile dist --locked -p fathom-io --features libhdfs
cargo build --release --locked -p xtask
exec "$target_directory/release/xtask" bench "$@"
