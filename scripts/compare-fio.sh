#!/usr/bin/env bash
# Compares fathom with fio: the tables of crates/fathom/tests/it/same, then random jobs. compare-fio.sh [SECONDS [SEED]]; without
# SECONDS a few random jobs are made.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh
. scripts/set-up.sh
use_reference_fio "$target_directory/tools/reference-fio"
if [ -n "${1:-}" ]; then
    export COMPARE_SECONDS=$1 COMPARE_SEED=${2:-$RANDOM$RANDOM}
    echo "compare-fio: $COMPARE_SECONDS s of random jobs from seed $COMPARE_SEED"
fi
# Each of the random tests prints what it finds, and how many jobs it made.
exec cargo test --locked -p fathom --test it -- --nocapture same::
