#!/usr/bin/env bash
# Builds the release and compares the figures that it reports with known true values (tests/it/accuracy.rs).
# Prints the table, and with --write stores it in docs/accuracy.md. Fails when a goal is missed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh

table=$(mktemp "${TMPDIR:-/tmp}/fathom-accuracy.XXXXXX")
trap 'rm -f "$table" "$table.log"' EXIT
cargo build --release --locked -p fathom-io
status=0
FATHOM_ACCURACY_TABLE=$table FATHOM_ACCURACY_PROGRAM=$(realpath "$target_directory/release/fathom") \
    cargo test --locked --package fathom-io --test it -- accuracy:: >"$table.log" 2>&1 || status=$?
if [ ! -s "$table" ]; then
    cat "$table.log"
    exit 1
fi
[ "$status" -eq 0 ] || grep -A20 '^failures:' "$table.log" || true
heading='| figure | truth | error | goal | met |
|---|---|---|---|---|'
printf '%s\n' "$heading"
cat "$table"
if [ "${1:-}" = --write ]; then
    awk -v heading="$heading" -v table="$table" -v date="$(date -u '+%F %H:%M UTC')" -v kernel="$(uname -sr)" \
        -v cpu="$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)" '
        /<!-- accuracy: end/ { skipping = 0 }
        !skipping { print }
        /<!-- accuracy: begin/ {
            skipping = 1
            printf "\n* Date: %s\n* CPU: %s\n* Kernel: %s\n\n%s\n", date, cpu, kernel, heading
            while ((getline line < table) > 0) print line
            print ""
        }' docs/accuracy.md >"$table.log" && cp "$table.log" docs/accuracy.md
fi
exit "$status"
