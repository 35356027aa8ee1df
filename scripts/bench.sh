#!/usr/bin/env bash
# Builds the program as in packages (profile dist) and compares it with the installed fio. Arguments go to `xtask bench`.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh
. scripts/lab/tests.sh
# One command, so that common dependencies are built once.
cargo build --profile dist --locked -p fathom-io -p fathom-engines --features fathom-io/libhdfs --bin fathom --example floor
cargo build --release --locked -p xtask
exec "$target_directory/release/xtask" bench "$@"
