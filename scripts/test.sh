#!/usr/bin/env bash
# Runs the tests or the checks step by step, continues after failures, and ends with a summary. The last line is
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

# Checks each script together with the files that it sources.
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

# The pages are for developers, so they document and link private items. The library and the program have the
# same name, so they need separate commands.
check_documentation() {
    export RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links"
    cargo doc --workspace --exclude fathom-api --no-deps --document-private-items --all-features --locked &&
        cargo doc --package fathom-api --no-deps --document-private-items --all-features --locked
}

# Packages exist for two C libraries and two architectures with different types. This is only a type check, so
# any C compiler will do for the C code in dependencies.
check_other_platform() {
    local platform=aarch64-unknown-linux-musl
    if ! rustup -q target add "$platform" 2>/dev/null; then
        echo "SKIP other platforms: no standard library for $platform through rustup" | tee -a "$FATHOM_SKIP_LOG"
        return
    fi
    CC_aarch64_unknown_linux_musl=cc cargo check --package fathom-io --locked --all-features --target "$platform"
}

# Unit tests and tests on simulated devices are CPU-bound, so one program runs at a time, on all processors.
run_unit_tests() {
    local status=0 program
    while read -r program; do
        run_program "$program" --test-threads="$(nproc)" || status=1
    done < <(unit_tests)
    # Examples in the library's documentation.
    cargo test --quiet --doc --workspace --locked "${all_engines[@]}" 2>&1 | tee -a "$scratch/tests" || status=1
    return $status
}

# Tests of the whole program mostly wait, so more of them run concurrently than there are processors. Tests on
# real kernel devices run in virtual machines.
run_program_tests() {
    run_program "$(program_tests)" --skip lab:: --test-threads=$(($(nproc) + 3)) "$@"
}

# The tests on real kernel devices mostly wait for their virtual machines, so they run concurrently with all
# others. Their output is printed at the end.
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

# Fewer cases per property test, and only fast runs of the program.
run_quick_tests() {
    local status=0
    build_tests || return 1
    export PROPTEST_CASES=${PROPTEST_CASES:-16}
    run_unit_tests || status=1
    run_program_tests bad_input:: effects_calls:: effects_engine_options:: effects_files:: effects_in_use:: effects_offsets:: effects_sizes:: \
        invariants:: killed:: parse_only:: printed:: published_scripts:: untouched:: || status=1
    return $status
}

# Servers compete for ports and memory, so only a few tests run concurrently.
run_server_tests() {
    build_tests || return 1
    with_tools
    run_program "$(program_tests)" --test-threads=2 \
        ceph:: gluster:: hdfs:: hosts::ssh:: http:: iscsi:: metrics:: mounts:: nbd:: nfs:: s3:: servers::
}

# Cargo counts a test that skips itself as passed in its line `test result:`.
skipped_tests() {
    sed -n 's/^SKIP \([^ ]*\): .*/\1/p' "$FATHOM_SKIP_LOG" | sort -u | while read -r name; do
        grep -qF "test $name ... " "$scratch/tests" && echo "$name"
    done | wc -l
}

# The first lines of each failed test's output, without the backtrace.
failures() {
    awk '/^---- .* stdout ----$/ { most = 12; calls = 0 }
        /^(failures:|test result:)/ { most = 0 }
        /^stack backtrace:/ { calls = 1 }
        most > 0 && !calls && NF { print substr($0, 1, 400); most-- }' "$scratch/tests"
}

summary() {
    local passed failed skipped
    passed=$(($(sum_of passed) - $(skipped_tests)))
    # Without tests, checks are counted.
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
        # Failing tests are counted individually. A failed step without any, such as a failed build, counts as one.
        if [[ $title != tests* ]] || [ "$(sum_of failed)" -eq 0 ]; then
            failed=$((failed + 1))
        fi
    done
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
}

# Fetches reference programs and servers while the tests are compiled.
get_tools() {
    install_s3_server
    use_reference_fio
    fetch_fio_examples "$scratch/examples"
    if [ "$what" = tests ]; then
        install_fio_plot "$scratch/fio-plot"
        install_scipy "$scratch/scipy"
        scripts/lab/lab --fetch || true
    fi
    # As `export`: a `declare` in a function would be local to it.
    export -p | sed -nE 's/^declare -x ((FATHOM_TEST_[A-Z_]*|PATH)=)/export \1/p' >"$scratch/environment"
}

# with_tools COMMAND...: waits for get_tools, then runs the command with its environment.
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
    # The server scripts install the packages that they need.
    [ "$what" = tests ] || export FATHOM_TEST_SERVERS=all INSTALL=1
    get_tools >"$scratch/tools" 2>&1 &
    tools=$!
    ;;
lab) use_reference_fio ;;
# A quick check uses the reference fio only if it has already been fetched.
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
# Runs the xtask that was built with the tests.
case $what in quick | tests) step "house rules" "$target_directory/debug/xtask" tidy ;; esac
summary
