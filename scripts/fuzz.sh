#!/usr/bin/env bash
# Fuzzes each target of fuzz/ for this many seconds: fuzz.sh [SECONDS [TARGET...]]. Findings are stored in
# fuzz/findings/TARGET, and the tests replay them; the corpus stays in the target directory. cargo-fuzz is
# built into the target directory when it is missing. A nightly Rust is used if installed, with the address
# sanitizer; stable Rust runs without it.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh
seconds=${1:-60}
[ $# -eq 0 ] || shift
tools=$(realpath -m "$target_directory")/tools
PATH="$tools/bin:$PATH"
if ! command -v c++ >/dev/null; then
    echo "The fuzzer's library is built with a C++ compiler, and no c++ was found: install one (Debian: apt-get install g++)." >&2
    exit 1
fi
if ! cargo fuzz --version >/dev/null 2>&1; then
    cargo install --locked --root "$tools" cargo-fuzz
fi
all=(job_language command_line io_log block_trace file_trace result verify_state ledger histogram_log frames)
[ $# -gt 0 ] || set -- "${all[@]}"
fuzz=(cargo fuzz run --features fuzzer --target-dir "$(realpath -m "$target_directory")/fuzz")
if rustup run nightly rustc --version >/dev/null 2>&1 && [ -z "${FUZZ_STABLE:-}" ]; then
    export RUSTUP_TOOLCHAIN=nightly
else
    export RUSTC_BOOTSTRAP=1
    fuzz+=(--sanitizer none)
fi
corpus=$(realpath -m "$target_directory")/corpus
mkdir -p "$corpus"
CARGO_TARGET_DIR="$target_directory/fuzz" cargo run -q --manifest-path fuzz/Cargo.toml --bin seeds -- "$corpus"
failed=()
for target in "$@"; do
    mkdir -p "fuzz/findings/$target" "$corpus/$target"
    echo "fuzz: $target for $seconds s"
    "${fuzz[@]}" "$target" "$corpus/$target" -- -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
        -print_final_stats=1 -artifact_prefix="fuzz/findings/$target/" || failed+=("$target")
done
rmdir --ignore-fail-on-non-empty fuzz/findings/* 2>/dev/null || true
if [ ${#failed[@]} -gt 0 ]; then
    echo "fuzz: found something in: ${failed[*]}; see fuzz/findings" >&2
    exit 1
fi
echo "fuzz: nothing found"
