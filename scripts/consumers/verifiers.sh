#!/usr/bin/env bash
# verifiers: burn-in and driver tests that write with checksums and learn from the exit status whether data is intact (avocado, LTP, blktests).
# From: own these suites' use of fio
# Compared: exit status and words for whole, damaged and stale data, with each engine
set -uo pipefail
for engine in psync libaio io_uring mmap; do
    words=(--name=v --filename="$engine.data" --size=256k --bs=4k --ioengine="$engine" --direct=0 --verify=crc32c --verify_fatal=1)
    fio "${words[@]}" --rw=randwrite --do_verify=1 >/dev/null 2>&1; echo "$engine: written and checked: $?"
    fio "${words[@]}" --rw=randread --verify_only >/dev/null 2>&1; echo "$engine: checked again: $?"
    printf 'damage' | dd of="$engine.data" bs=1 seek=70000 conv=notrunc status=none
    fio "${words[@]}" --rw=read >out 2>errors; echo "$engine: damaged: $?"
    cat out errors | grep -oE 'verify failed at file [^ ]* offset [0-9]+, length [0-9]+' | sort -u | sed -E "s/file [^ ]*/file/"
    grep -oE 'err=[ 0-9]+' out | sort -u
done
