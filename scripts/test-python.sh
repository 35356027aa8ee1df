#!/usr/bin/env bash
# Installs the Python package into fresh environments of the oldest and the newest Python there is, and runs mypy and its tests there with
# the program that FATHOM_PROGRAM names (else the one of the debug build). The exit status is 0 when nothing failed.
set -uo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d "${TMPDIR:-/tmp}/fathom-test-python.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export FATHOM_PROGRAM=${FATHOM_PROGRAM:-$PWD/target/debug/fathom} PYTHONDONTWRITEBYTECODE=1
if [ ! -x "$FATHOM_PROGRAM" ]; then
    echo "$FATHOM_PROGRAM: no such program; build it with cargo build -p fathom, or set FATHOM_PROGRAM"
    exit 1
fi
# Building writes next to the sources, so that is done on a copy.
cp -r bindings/python "$scratch/package"
mapfile -t pythons < <(for python in /usr/bin/python3.[0-9] /usr/bin/python3.[0-9][0-9] "$HOME"/.pyenv/versions/*/bin/python3 "$(command -v python3)"; do
    "$python" -c 'import sys, ensurepip; assert sys.version_info >= (3, 9); print("%d.%02d" % sys.version_info[:2], sys.executable)' 2>/dev/null
done | sort -u -k1,1 | sed -n '1p;$p' | uniq)
if [ ${#pythons[@]} -eq 0 ]; then
    echo "no Python 3.9 or newer with ensurepip was found; install python3-venv"
    exit 1
fi
failed=0
for entry in "${pythons[@]}"; do
    python=${entry#* }
    environment=$scratch/${entry%% *}
    printf '\n== %s\n' "$("$python" --version) ($python)"
    { "$python" -m venv "$environment" && "$environment/bin/pip" -q install "$scratch/package" pytest mypy; } || { failed=1; continue; }
    (cd "$scratch/package" && "$environment/bin/mypy" --strict --cache-dir="$scratch/mypy" fathom tests) || failed=1
    (cp -r bindings/python/tests "$environment/tests" && cd "$environment" && bin/python -m pytest -q -p no:cacheprovider tests) || failed=1
done
exit $failed
