#!/usr/bin/env bash
# Makes the wheels from a built program, installs them into new environments of the oldest and the newest available Python, and runs the type checker and the
# tests there, with the example notebook and the examples of the pages. FATHOM_WHEEL_PROGRAM names the program, by default
# the debug build; PYTHONS names other interpreters. The last line is
# `N passed, N failed, N skipped`; the exit status is 0 when nothing failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/steps.sh
. packaging/version.sh
begin_steps fathom-test-python
program=${FATHOM_WHEEL_PROGRAM:-${CARGO_TARGET_DIR:-target}/debug/fathom}
if [ ! -x "$program" ]; then
    echo "$program: no such program; build it with cargo build -p fathom-io, or let FATHOM_WHEEL_PROGRAM name one"
    exit 1
fi
# Only the program in the wheel is tested.
unset FATHOM_PROGRAM FATHOM_WHEEL_PROGRAM
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 MPLBACKEND=Agg MPLCONFIGDIR=$scratch/matplotlib IPYTHONDIR=$scratch/ipython
export JUPYTER_CONFIG_DIR=$scratch/jupyter JUPYTER_DATA_DIR=$scratch/jupyter JUPYTER_RUNTIME_DIR=$scratch/jupyter
test_tools=(pytest pytest-timeout hatchling pyelftools pandas matplotlib nbclient nbformat ipykernel fio-plot==1.1.21)
check_tools=(mypy pandas-stubs "ruff==0.17.6")
results=()

# Version and path of the oldest and the newest supported Python on this machine.
oldest_and_newest() {
    local candidate
    local candidates=(python3 {,/usr/bin/,/usr/local/bin/}python3.{9..20} "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3
        "$HOME"/.local/share/uv/python/*/bin/python3)
    [ -z "${PYTHONS:-}" ] || read -ra candidates <<<"$PYTHONS"
    for candidate in "${candidates[@]}"; do
        command -v "$candidate" >/dev/null || continue
        "$candidate" - <<'PYTHON' 2>/dev/null
import sys, ensurepip
if sys.version_info >= (3, 9) and sys.version_info.releaselevel == "final":
    print("%d.%d.%d" % sys.version_info[:3], sys.executable)
PYTHON
    done | grep -E '^[0-9.]+ /' | sort -V -u -k1,1 | sed -n '1p;$p' | uniq
}

make_wheels() {
    # A debug build is mostly symbols, which no wheel needs.
    strip -o "$scratch/fathom" "$program" 2>/dev/null || cp "$program" "$scratch/fathom"
    scripts/wheel.sh "$scratch/wheels" "$scratch/fathom"
}

# The wheels are installed from files, not from an index.
install() {
    "$2" -m venv "$scratch/$1" && "$scratch/$1/bin/pip" -q install "$scratch"/wheels/*.whl "${test_tools[@]}" "${@:3}"
}

# Outside the source tree, so that the tests import the installed package.
copy_tests() {
    mkdir "$scratch/$1/copy" && cp -r bindings/python/{tests,examples} "$scratch/$1/copy" && cp README.md bindings/python/hatch_build.py "$scratch/$1/copy" &&
        cp docs/{python,guide}.md bindings/python/README.md "$scratch/$1/copy/tests"
}

type_check() {
    # mypy does not check the inside of an installed package, so it gets a copy of the sources; for the tests it uses the installed package.
    mkdir "$scratch/$1/types" && cp -r bindings/python/fathom "$scratch/$1/types" &&
        (cd "$scratch/$1/types" && ../bin/mypy --strict --cache-dir="$scratch/mypy" fathom) &&
        (cd "$scratch/$1/copy" && ../bin/mypy --strict --cache-dir="$scratch/mypy" tests)
}

lint() {
    local ruff=$scratch/$1/bin/ruff
    # The build hooks of the wheels are checked once, with the tools that build the wheels.
    (cd bindings/python && "$ruff" check -q --no-cache . && "$ruff" format --no-cache --check . && "${ruff%ruff}mypy" --strict --cache-dir="$scratch/mypy" \
        hatch_build.py && "${ruff%ruff}mypy" --strict --cache-dir="$scratch/mypy" fio-compat/hatch_build.py &&
        "$ruff" check -q --no-cache --config pyproject.toml ../../scripts/consumers && "$ruff" format --no-cache --config pyproject.toml --check \
        ../../scripts/consumers)
}

run_tests() {
    results+=("$scratch/$1.xml")
    (cd "$scratch/$1/copy" && PATH=$scratch/$1/bin:$PATH FATHOM_TEST_FIO=${FATHOM_TEST_FIO:-} timeout 1500 ../bin/python -m pytest -q \
        -p no:cacheprovider -W ignore -W error:::fathom --timeout=300 -rs --junit-xml="$scratch/$1.xml" --basetemp="$scratch/$1/basetemp" tests)
}

# Adds up an attribute of the reports of pytest.
sum_of_tests() {
    grep -ho "<testsuite [^>]*" "${results[@]}" /dev/null 2>/dev/null | grep -o " $1=\"[0-9]*\"" | tr -dc '0-9\n' | awk '{ sum += $1 } END { print sum + 0 }'
}

mapfile -t pythons < <(oldest_and_newest)
if [ ${#pythons[@]} -eq 0 ]; then
    echo "no Python 3.9 or newer with venv was found; install python3-venv, or let PYTHONS name one"
    exit 1
fi
# The reference fio if it has already been fetched; otherwise the tests use the installed one.
reference=${CARGO_TARGET_DIR:-target}/tools/reference-fio/fio
[ -n "${FATHOM_TEST_FIO:-}" ] || [ ! -x "$reference" ] || FATHOM_TEST_FIO=$(realpath "$reference")
step "wheels" make_wheels
newest=${pythons[-1]%% *}
for entry in "${pythons[@]}"; do
    version=${entry%% *}
    step "$version: installation (${entry#* })" install "$version" "${entry#* }" "${check_tools[@]}"
    [ -x "$scratch/$version/bin/pytest" ] || continue
    step "$version: copy of the tests" copy_tests "$version"
    step "$version: types" type_check "$version"
    step "$version: tests" run_tests "$version"
done
step "lints" lint "$newest"

printf '\n== summary\n'
failed=$(($(sum_of_tests failures) + $(sum_of_tests errors)))
skipped=$(($(sum_of_tests skipped) + $(grep -c . "$FATHOM_SKIP_LOG")))
passed=$(($(sum_of_tests tests) - failed - $(sum_of_tests skipped)))
for title in "${failed_steps[@]}"; do
    echo "failed step: $title"
    # Failing tests are counted individually; a test run that did not finish, and any other step, count as one.
    [[ $title == *": tests" && $failed -gt 0 ]] || failed=$((failed + 1))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
