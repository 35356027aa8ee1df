#!/usr/bin/env bash
# yabs: a popular script for rating rented servers; reads four columns of the minimal output.
# From: own the script's documented tests
# Compared: exit status, and that its columns agree with each other
set -euo pipefail
fio --name=setup --ioengine=libaio --rw=read --bs=64k --iodepth=64 --numjobs=2 --size=16M --runtime=1 --gtod_reduce=1 --filename=./test.fio \
    --direct=0 --minimal &>/dev/null
for size in 4k 64k 512k 1m; do
    line=$(timeout 35 fio --name="rand_rw_$size" --ioengine=libaio --rw=randrw --rwmixread=50 --bs="$size" --iodepth=64 --numjobs=2 --size=16M \
        --runtime=30 --gtod_reduce=1 --direct=0 --filename=./test.fio --group_reporting --minimal 2>/dev/null | grep "rand_rw_$size")
    echo "$line" | awk -F';' -v size="$size" '{
        ratio_read = $7 / $8; ratio_write = $48 / $49
        print size, ($7 > 0), ($48 > 0), int(log(ratio_read) / log(2) + 0.5), int(log(ratio_write) / log(2) + 0.5)
    }'
done
