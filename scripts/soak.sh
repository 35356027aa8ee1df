#!/usr/bin/env bash
# Builds the release and makes random runs with it. Arguments go to `xtask soak`.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh
cargo build --release --locked -p fathom-io -p xtask
exec "$target_directory/release/xtask" soak "$@"
