#!/bin/sh
# Compares change points with those of Apache Otava on the same made series: two tables. SERIES=number of each kind.
# Otava is installed in its own environment below target/.
set -eu
cd "$(dirname "$0")/.."
environment=target/otava
if ! [ -x "$environment/bin/otava" ]; then
    python3 -m venv "$environment" || { echo "skipped: compare-otava needs python3 with venv" >&2; exit 0; }
    "$environment/bin/pip" install --quiet apache-otava==0.8.0 || {
        rm -rf "$environment"
        echo "skipped: compare-otava cannot install apache-otava 0.8.0" >&2
        exit 0
    }
fi
cargo build --quiet --release -p fathom-changes --example proof
proof=target/release/examples/proof
"$proof" "${SERIES:-200}"
"$proof" series "${SERIES:-200}" | "$environment/bin/python" scripts/compare-otava.py
