#!/usr/bin/env bash
# dbench: measures a Kubernetes volume; extracts IOPS, bandwidth and average latency from normal reports with grep.
# From: own the container's printed results
# Compared: that each pattern finds exactly one figure
set -euo pipefail
find_in() {
    grep -E "$2 ?:" <<<"$3" | grep -Eoi "$4" | cut -d= -f2 | sed "s/^/$1 /"
}
common=(--randrepeat=0 --verify=0 --ioengine=libaio --direct=0 --gtod_reduce=1 --filename=fiotest --size=8M --time_based --ramp_time=1s --runtime=1s)
for rw in randread randwrite; do
    word=${rw#rand}
    out=$(fio "${common[@]}" --name="${word}_iops" --bs=4K --iodepth=64 --readwrite="$rw")
    find_in "$word IOPS" "$word" "$out" 'IOPS=[0-9k.]+'
    out=$(fio "${common[@]}" --name="${word}_bw" --bs=128K --iodepth=64 --readwrite="$rw")
    find_in "$word bandwidth" "$word" "$out" 'BW=[0-9GMKiBs/.]+'
    out=$(fio "${common[@]/--gtod_reduce=1/--gtod_reduce=0}" --name="${word}_latency" --bs=4K --iodepth=4 --readwrite="$rw")
    grep ' lat.*avg' <<<"$out" | grep -Eoi 'avg=[ 0-9.]+' | cut -d= -f2 | sed "s/^/$word latency /"
done | figures
out=$(fio "${common[@]}" --name=rw_mix --bs=4k --iodepth=64 --readwrite=randrw --rwmixread=75)
for word in read write; do find_in "mixed $word" "$word" "$out" 'IOPS=[0-9k.]+' | figures; done
