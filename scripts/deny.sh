#!/usr/bin/env bash
# Licences, sources and bans of all dependencies. cargo-deny is built into the target directory when it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh
tools=$(realpath -m "$target_directory")/tools
PATH="$tools/bin:$PATH"
if ! cargo deny --version >/dev/null 2>&1; then
    cargo install --locked --root "$tools" cargo-deny
fi
cargo deny --all-features check bans licenses sources
# Crates outside the workspace have separate dependencies.
for apart in mpi bindings/jvm/native; do
    cargo deny --manifest-path "$apart/Cargo.toml" --config deny.toml --all-features check bans licenses sources
done
