#!/usr/bin/env bash
# Runs the tests, or the checks, one step after the other even when one fails, and ends with a summary. The last line is
# `N passed, N failed, N skipped`, and the exit status is 0 when nothing failed.
#
#   test.sh                     every test
#   test.sh --quick             what to run before each commit: formatting, lints, house rules, unit and simulated tests, a few runs
#   test.sh --checks            formatting, lints, documentation, other platforms, house rules; counts checks instead of tests
#   test.sh --servers           the tests of engines that talk to servers, and of mounts, also on servers that are large or start slowly
#   test.sh --lab [GROUP...]    the tests on real kernel devices
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/rust.sh
. scripts/set-up.sh
. scripts/steps.sh
. scripts/programs.sh
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

# Each script with all that it sources.
check_scripts() {
    local scripts file
    if ! command -v shellcheck >/dev/null; then
        echo "SKIP scripts: shellcheck is not installed" | tee -a "$FATHOM_SKIP_LOG"
        return
    fi
    mapfile -t scripts < <(git ls-files | while read -r file; do
        [[ $(head -c 64 "$file" 2>/dev/null | tr -d '\0' | head -n 1) =~ ^#!.*sh$ ]] && echo "$file"
    done)
    shellcheck --external-sources --check-sourced --severity=warning --source-path=SCRIPTDIR --source-path=. "${scripts[@]}"
}

# It is for developers, so private items are documented and may be linked to. The library has the name of the program, so its pages are
# made apart.
check_documentation() {
    export RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links"
    cargo doc --workspace --exclude fathom-api --no-deps --document-private-items --all-features --locked &&
        cargo doc --package fathom-api --no-deps --document-private-items --all-features --locked
}

# Packages are for two C libraries and two architectures, which differ in types. This builds no program: the C in dependencies only has to
# compile for something.
check_other_platform() {
    local platform=aarch64-unknown-linux-musl
    if ! rustup -q target add "$platform" 2>/dev/null; then
        echo "SKIP other platforms: no standard library for $platform through rustup" | tee -a "$FATHOM_SKIP_LOG"
        return
    fi
    CC_aarch64_unknown_linux_musl=cc cargo check --package fathom-io --locked --all-features --target "$platform"
}

# The unit tests and those on simulated devices compute, so one program at a time has all processors.
run_unit_tests() {
    local status=0 program
    while read -r program; do
        run_program "$program" --test-threads="$(nproc)" || status=1
    done < <(programs_of_tests | grep -v '/it-')
    # The examples in the documentation of the library.
    cargo test --quiet --doc --package fathom-api --locked 2>&1 | tee -a "$scratch/tests" || status=1
    return $status
}

# Those of the whole program wait for devices and for time more than they compute, so more of them run than there are processors. Those on
# real kernel devices run inside machines that have them.
run_program_tests() {
    run_program "$(programs_of_tests | grep '/it-')" --skip lab:: --test-threads=$(($(nproc) + 3)) "$@"
}

# The tests on real kernel devices wait for their machines, so they run next to all others. What they say comes at the end.
run_tests() {
    local status=0 lab
    build_tests || return 1
    with_tools
    mkdir "$scratch/lab"
    : >"$scratch/lab/skipped"
    (
        export FATHOM_SKIP_LOG=$scratch/lab/skipped
        trap 'kill $(jobs -p) 2>/dev/null; wait; exit 143' TERM
        lab_tests "$scratch/lab" $((($(nproc) + 1) / 2))
    ) >"$scratch/lab/said" 2>&1 &
    lab=$!
    run_unit_tests || status=1
    run_program_tests || status=1
    wait "$lab" || status=1
    cat "$scratch/lab/said"
    cat "$scratch/lab/tests" >>"$scratch/tests"
    cat "$scratch/lab/skipped" >>"$FATHOM_SKIP_LOG"
    return $status
}

run_lab_tests() {
    build_tests || return 1
    lab_tests "$scratch" "$(nproc)" "$@"
}

# Fewer cases of each property, and those runs of the program that take no time.
run_quick_tests() {
    local status=0
    build_tests || return 1
    export PROPTEST_CASES=${PROPTEST_CASES:-16}
    run_unit_tests || status=1
    run_program_tests bad_input:: effects_calls:: effects_engine_options:: effects_files:: effects_in_use:: effects_offsets:: effects_sizes:: \
        invariants:: killed:: parse_only:: printed:: published_scripts:: untouched:: || status=1
    return $status
}

# Servers share ports and memory, so few at a time.
run_server_tests() {
    build_tests || return 1
    with_tools
    run_program "$(programs_of_tests | grep '/it-')" --test-threads=2 \
        ceph:: gluster:: hdfs:: hosts::ssh:: http:: iscsi:: metrics:: mounts:: nbd:: nfs:: s3:: servers::
}

# A test that skips itself ends well as far as cargo can see, and counts as passed in its line `test result:`.
skipped_tests() {
    sed -n 's/^SKIP \([^ ]*\): .*/\1/p' "$FATHOM_SKIP_LOG" | sort -u | while read -r name; do
        grep -qF "test $name ... " "$scratch/tests" && echo "$name"
    done | wc -l
}

# The beginning of what each failed test said, without the calls that led there.
failures() {
    awk '/^---- .* stdout ----$/ { most = 12; calls = 0 }
        /^(failures:|test result:)/ { most = 0 }
        /^stack backtrace:/ { calls = 1 }
        most > 0 && !calls && NF { print substr($0, 1, 400); most-- }' "$scratch/tests"
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
    failures
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

# What compares and serves in tests is fetched while they are compiled.
get_tools() {
    install_s3_server
    use_reference_fio
    fetch_fio_examples "$scratch/examples"
    if [ "$what" = tests ]; then
        install_fio_plot "$scratch/fio-plot"
        install_scipy "$scratch/scipy"
        scripts/lab/lab --fetch || true
    fi
    # As exports: a declaration in a function would end with it.
    export -p | sed -nE 's/^declare -x ((FATHOM_TEST_[A-Z_]*|PATH)=)/export \1/p' >"$scratch/environment"
}

# with_tools: waits until they are there.
with_tools() {
    wait "$tools"
    cat "$scratch/tools"
    # shellcheck source=/dev/null
    . "$scratch/environment"
}

case ${1:-} in
--quick) what=quick ;;
--checks) what=checks ;;
--servers) what=servers ;;
--lab) what=lab ;;
*) what=tests ;;
esac
announce "$what"
[ "$what" = quick ] || install_missing_packages "$scratch/packages"
install_missing_components
case $what in
tests | servers)
    # The scripts of servers install what they need.
    [ "$what" = tests ] || export FATHOM_TEST_SERVERS=all INSTALL=1
    get_tools >"$scratch/tools" 2>&1 &
    tools=$!
    ;;
lab) use_reference_fio ;;
# Not fetched for a quick look.
quick) [ ! -x "$tools_cache/reference-fio/fio" ] || use_reference_fio ;;
esac
case $what in
checks | quick)
    step_with fmt formatting cargo fmt --all -- --check
    step_with clippy lints cargo clippy --workspace --all-targets --all-features --locked -- -D warnings
    ;;
tests) step_with fmt formatting cargo fmt --all -- --check ;;
esac
case $what in
checks)
    step documentation check_documentation
    step "other platforms" check_other_platform
    step "house rules" cargo run --quiet --locked -p xtask -- tidy
    step scripts check_scripts
    step manifests scripts/check-manifests.sh
    ;;
quick) step tests run_quick_tests ;;
tests) step tests run_tests ;;
servers) step tests run_server_tests ;;
lab) step "tests on real devices" run_lab_tests "${@:2}" ;;
esac
# By the program that has been built with the tests.
case $what in quick | tests) step "house rules" "$target_directory/debug/xtask" tidy ;; esac
summary
