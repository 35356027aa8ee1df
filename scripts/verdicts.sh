#!/usr/bin/env bash
# Builds the release and judges ordinary runs of it. Arguments go to `xtask verdicts`.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh
cargo build --release --locked -p fathom-io -p xtask
exec "$target_directory/release/xtask" verdicts "$@"
