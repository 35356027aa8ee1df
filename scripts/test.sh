#!/usr/bin/env bash
# Every check and every test, one after the other even when one fails, and a summary at the end. The last line is
# `N passed, N failed, N skipped`, of tests, or of checks with --checks-only; the exit status is 0 when nothing failed. With --servers:
# the tests of engines that talk to servers, and of mounts, on all servers there are, also those that are large or start slowly. With
# --lab [GROUP...]: those on real kernel devices alone.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh
. scripts/set-up.sh
. scripts/steps.sh
. scripts/lab/tests.sh
begin_steps fathom-test

# A check whose tool is missing counts as skipped.
step_with() {
    local tool=$1 title=$2
    if cargo "$tool" --version >/dev/null 2>&1; then
        step "${@:2}"
    else
        echo "SKIP $title: cargo $tool is not installed" | tee -a "$FATHOM_SKIP_LOG"
    fi
}

# Packages are for two C libraries and two architectures, which differ in types. This builds no program: the C in dependencies only has to
# compile for something.
check_other_platform() {
    local platform=aarch64-unknown-linux-musl
    if ! rustup -q target add "$platform" 2>/dev/null; then
        echo "SKIP other platforms: no standard library for $platform through rustup" | tee -a "$FATHOM_SKIP_LOG"
        return
    fi
    CC_aarch64_unknown_linux_musl=cc cargo check --package fathom-io --locked --target "$platform"
}

run_tests() {
    # Those on real kernel devices run inside a machine that has them. The others wait for devices and for time more than they compute, so
    # there are more of them at a time than processors.
    cargo test --workspace --no-fail-fast --locked -- --skip lab:: --test-threads=$(($(nproc) + 3)) 2>&1 | tee "$scratch/tests"
}

# Servers share ports and memory, so few at a time.
run_server_tests() {
    cargo test --package fathom-io --test it --no-fail-fast --locked -- --test-threads=2 \
        ceph:: gluster:: hdfs:: http:: iscsi:: mounts:: nbd:: nfs:: s3:: servers:: 2>&1 | tee "$scratch/tests"
}

# A test that skips itself ends well as far as cargo can see, and counts as passed in its line `test result:`.
skipped_tests() {
    sed -n 's/^SKIP \([^ ]*\): .*/\1/p' "$FATHOM_SKIP_LOG" | sort -u | while read -r name; do
        grep -qF "test $name ... " "$scratch/tests" && echo "$name"
    done | wc -l
}

summary() {
    local passed failed skipped
    passed=$(($(sum_of passed) - $(skipped_tests)))
    # Without the tests, the checks are what is counted.
    [ "$what" != checks ] || passed=$passed_steps
    failed=$(sum_of failed)
    skipped=$(($(grep -c . "$FATHOM_SKIP_LOG") + $(sum_of ignored)))
    printf '\n== summary\n'
    grep '^test result:' "$scratch/tests"
    grep -E '^test .* \.\.\. FAILED$' "$scratch/tests"
    [ "$skipped" -eq 0 ] || { echo "skipped:"; sed 's/^SKIP /  /' "$FATHOM_SKIP_LOG"; }
    local title
    for title in "${failed_steps[@]}"; do
        echo "failed step: $title"
        # Failing tests are counted one by one. A step without any, such as one that does not build, counts as one.
        if [[ $title != tests* ]] || [ "$(sum_of failed)" -eq 0 ]; then
            failed=$((failed + 1))
        fi
    done
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
}

case ${1:-} in
--checks-only) what=checks ;;
--servers) what=servers ;;
--lab) what=lab ;;
*) what=tests ;;
esac
announce "$what"
install_missing_packages "$scratch/packages"
install_missing_components
[ "$what" = checks ] || [ "$what" = lab ] || install_s3_server "$target_directory/tools"
if [ "$what" = lab ]; then
    use_reference_fio "$target_directory/tools/reference-fio"
    step "tests on real devices" lab_tests "$scratch" "${@:2}"
    summary
    exit
fi
if [ "$what" = servers ]; then
    # The scripts install what they need.
    export FATHOM_TEST_SERVERS=all INSTALL=1
    use_reference_fio "$target_directory/tools/reference-fio"
    fetch_fio_examples "$scratch/examples"
    step tests run_server_tests
    summary
    exit
fi
if [ "$what" = tests ]; then
    install_fio_plot "$scratch/fio-plot"
    install_scipy "$scratch/scipy"
    fetch_fio_examples "$scratch/examples"
    use_reference_fio "$target_directory/tools/reference-fio"
fi
step_with fmt formatting cargo fmt --all -- --check
step_with clippy lints cargo clippy --workspace --all-targets --locked -- -D warnings
# Its readers work on the code, so private items have their pages and may be linked to.
step documentation env RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" \
    cargo doc --workspace --no-deps --document-private-items --locked
step "other platforms" check_other_platform
step "house rules" cargo run --quiet --locked -p xtask -- tidy
if [ "$what" = tests ]; then
    step tests run_tests
    step "tests on real devices" lab_tests "$scratch"
fi
summary
