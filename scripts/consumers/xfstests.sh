#!/usr/bin/env bash
# xfstests: tests of file systems; ask fio whether it knows every option of a job, then run it and check its exit status and messages.
# From: own the tests' use of fio
# Compared: which jobs are supported, exit status of each run, and errors by number
set -uo pipefail
job() {
    local name=$1
    cat >"$name.fio"
    fio --warnings-fatal --showcmd "$name.fio" >"$name.known" 2>&1 && echo "$name: supported" || { echo "$name: not supported"; return; }
    fio --output="$name.out" "$name.fio" 2>"$name.errors"
    echo "$name: exit status $?, $(grep -c 'err= 0' "$name.out") without error, errors $(grep '(groupid=' "$name.out" | grep -o 'err=[ 0-9]*' | sort | uniq -c | tr -s ' \n' ' ')"
}
job verified <<JOB
[global]
directory=.
filesize=1m
size=1m
bs=4k
ioengine=libaio
iodepth=16
direct=0
[direct_writer]
rw=randwrite
verify=crc32c-intel
do_verify=1
nrfiles=4
numjobs=2
JOB
job mixed <<JOB
[global]
bsrange=1k-32k
size=1m
directory=.
fallocate=none
[buffered]
ioengine=sync
rw=randrw
fsync=8
[mapped]
ioengine=mmap
rw=randwrite
[falloc]
ioengine=falloc
rw=write
filename=falloc.0
JOB
job stale <<JOB
[global]
filename=stale
size=256k
bs=4k
ioengine=psync
[write]
rw=write
verify=crc32c
verify_pattern=0xa5
do_verify=0
[check]
stonewall
rw=read
verify=md5
JOB
job unknown <<JOB
[job]
rw=write
size=4k
no_such_option=1
JOB
job full <<JOB
[job]
rw=write
size=4k
filename=/dev/full
ioengine=psync
fallocate=none
JOB
