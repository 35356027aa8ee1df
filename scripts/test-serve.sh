#!/usr/bin/env bash
# The tests of `fathom serve`: valid and malicious requests to its server, and the page in a browser from end
# to end, including lost connections and killed servers. The last line is `N passed, N failed, N skipped`; the
# exit status is 0 when nothing failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/rust.sh
. scripts/set-up.sh
. scripts/steps.sh
begin_steps fathom-test-serve
install_missing_packages "$scratch/packages"
# Other runs skip the slow tests.
export FATHOM_TEST_SERVE=all

unit_tests() {
    cargo test -q --package fathom-serve --locked 2>&1 | tee -a "$scratch/tests"
}

# Browsers need much memory, so only a few run concurrently.
program_tests() {
    cargo test --package fathom-io --test it --no-fail-fast --locked -- --test-threads=2 \
        serve:: serve_attacks:: serve_page:: serve_safety:: 2>&1 | tee -a "$scratch/tests"
}

step "tests of the crate" unit_tests
step "tests of the program" program_tests

printf '\n== summary\n'
skipped=$(grep -c . "$FATHOM_SKIP_LOG")
[ "$skipped" -eq 0 ] || { echo "skipped:"; sed 's/^SKIP /  /' "$FATHOM_SKIP_LOG"; }
failed=$(sum_of failed)
for title in "${failed_steps[@]}"; do
    echo "failed step: $title"
    [ "$failed" -gt 0 ] || failed=1
done
echo "$(($(sum_of passed) - skipped)) passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
