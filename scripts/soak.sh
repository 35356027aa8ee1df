#!/usr/bin/env bash
# Simulates SIMULATED_IOS I/Os (default 10 million) of random jobs on random devices with every assertion of the run loop, then builds the release
# and makes random runs with it. Arguments go to `xtask soak`.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh
FATHOM_SIMULATED_IOS=${SIMULATED_IOS:-10000000} cargo test --locked -p fathom-testing --test simulated no_random_job -- --nocapture
cargo build --release --locked -p fathom-io -p xtask
exec "$target_directory/release/xtask" soak "$@"
