# Sourced by the scripts that end with `N passed, N failed, N skipped`: a scratch directory, steps that continue
# after a failure, and the test counts of cargo.

# begin_steps NAME: makes a scratch directory, which is removed when the script exits; NAME distinguishes it
# from the directories of other scripts.
begin_steps() {
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/$1.XXXXXX")
    # Steps may start background jobs, which do not receive an interrupt.
    trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$scratch"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    # Tests that cannot run on this machine add a line each to this file.
    export FATHOM_SKIP_LOG=${FATHOM_SKIP_LOG:-$scratch/skipped}
    : >"$FATHOM_SKIP_LOG"
    # Output of test programs, from which sum_of counts results.
    : >"$scratch/tests"
    failed_steps=()
    passed_steps=0
}

step() {
    local title=$1 began=$SECONDS
    shift
    printf '\n== %s\n' "$title"
    if "$@"; then
        passed_steps=$((passed_steps + 1))
    else
        failed_steps+=("$title")
    fi
    echo "-- $title: $((SECONDS - began)) s"
}

sum_of() {
    awk -v word="$1" '/^test result:/ { for (i = 2; i <= NF; i++) if ($i ~ "^" word) sum += $(i - 1) } END { print sum + 0 }' \
        "$scratch/tests"
}
