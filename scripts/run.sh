#!/usr/bin/env bash
# Builds the release and runs the main job: random reads and writes of 4 KiB on a file of 64 MiB, for three seconds.
# The file lies in a temporary directory that is gone afterwards, however the run ends.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/rust.sh

cargo build --release --locked -p fathom
fathom=$(realpath "$target_directory")/release/fathom

directory=$(mktemp -d "${TMPDIR:-/tmp}/fathom-run.XXXXXX")
trap 'rm -rf "$directory"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$directory"

# Containers and hardened kernels forbid io_uring: one small read shows whether it may be used here.
engine=io_uring
if ! "$fathom" --name=probe --filename=probe --rw=read --size=4k --ioengine=io_uring >/dev/null 2>&1; then
    engine=psync
    echo "io_uring cannot be used here; the job runs with psync."
fi
rm -f probe

job=(--name=main --filename=data --rw=randrw --bs=4k --size=64m --ioengine="$engine" --iodepth=16
    --time_based --runtime=3)
echo "fathom ${job[*]}"
"$fathom" "${job[@]}"
