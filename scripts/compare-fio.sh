#!/usr/bin/env bash
# Compares fathom with fio: the tables of crates/fathom/tests/it/same, then random jobs. compare-fio.sh [SECONDS [SEED]]; without SECONDS only a few random jobs are run.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh
. scripts/set-up.sh
use_reference_fio
if [ -n "${1:-}" ]; then
    export COMPARE_SECONDS=$1 COMPARE_SEED=$RANDOM$RANDOM
fi
if [ -n "${2:-}" ]; then
    export COMPARE_SEED=$2
fi
echo "compare-fio: random jobs from seed ${COMPARE_SEED:-1}"
# Each random test prints its findings and the number of its jobs.
exec cargo test --locked --workspace --test it -- --nocapture same::
