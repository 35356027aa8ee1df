#!/usr/bin/env bash
# cloud-guides: commands that AWS, Google, Azure and Oracle recommend for measuring their disks, and the lines that they tell readers to look at.
# From: own the providers' guides
# Compared: that each command runs, and the lines by which its result is read
set -euo pipefail
read_by() {
    echo "$1"
    shift
    fio "$@" | grep -E '^ +(read|write|trim): IOPS=|^ +(READ|WRITE): bw=|^ +lat \([mun]sec\): min|issued rwts' | sed -E 's/; 0 zone resets//; s/-[0-9.]+[kKMGT]?i?B/-N/; s/[num]sec/sec/g' |
        sed -E '/issued/!s/[0-9][0-9.]*[kKMGT]?i?/N/g; s/= +N/=N/g'
}
small=(--filename=data --size=8M --direct=0)
read_by aws "${small[@]}" --name=fio-test --ioengine=libaio --rw=randrw --bs=16k --rwmixread=50 --numjobs=2 --iodepth=32 --group_reporting --randrepeat=1 \
    --loops=2
read_by "google, write" "${small[@]}" --name=write_iops_test --ioengine=libaio --verify=0 --bs=4K --iodepth=64 --rw=randwrite --group_reporting=1
read_by "google, read" "${small[@]}" --name=read_bandwidth_test --numjobs=4 --ioengine=libaio --verify=0 --bs=1M --iodepth=64 --rw=read \
    --group_reporting=1 --iodepth_batch_submit=64 --iodepth_batch_complete_max=64 --offset_increment=25%
cat >azure.ini <<JOBS
[global]
size=2m
direct=0
iodepth=64
ioengine=libaio
bs=4k
numjobs=2
[writer1]
rw=randwrite
directory=.
[reader1]
rw=randread
directory=.
JOBS
read_by azure azure.ini
read_by oracle "${small[@]}" --rw=randrw --bs=64k --ioengine=libaio --iodepth=64 --numjobs=2 --group_reporting --name=throughput-test-job
