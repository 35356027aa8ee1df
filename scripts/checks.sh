# Sourced by scripts that count checks; requires `scratch`, a directory for the output of a check.
# shellcheck shell=bash

passed=0 failed=0 skipped=0

# check TITLE COMMAND...: passes if the command succeeds.
check() {
    local title=$1
    shift
    if "$@" >"$scratch/log" 2>&1 </dev/null; then
        echo "ok      $title"
        passed=$((passed + 1))
    else
        echo "FAILED  $title"
        tail -20 "$scratch/log" | sed 's/^/        /'
        failed=$((failed + 1))
    fi
}

skip() {
    echo "SKIP    $1: $2"
    skipped=$((skipped + 1))
}
