#!/usr/bin/env bash
# Builds what packages hold and compares it with the installed fio. Arguments go to `xtask bench`.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh
. scripts/lab/tests.sh
# Together, so that what both need is built once.
cargo build --profile dist --locked -p fathom-io -p fathom-engines --features fathom-io/libhdfs --bin fathom --example floor
cargo build --release --locked -p xtask
exec "$target_directory/release/xtask" bench "$@"
