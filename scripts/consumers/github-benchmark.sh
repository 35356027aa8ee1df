#!/usr/bin/env bash
# github-benchmark: results as the entries that github-action-benchmark tracks, as mountpoint-s3 derives them from JSON with jq.
# From: own the action's documented entries
# Needs: jq
# Compared: names, units and order of the entries, and that each has a number
set -euo pipefail
cat >jobs.fio <<JOBS
[global]
filename=data
size=16M
bs=64k
ioengine=sync
fallocate=none
[sequential_read]
rw=read
[random_read_4_threads]
rw=randread
numjobs=4
group_reporting
stonewall
[sequential_write]
rw=write
stonewall
JOBS
fio --thread --output=results.json --output-format=json --eta=never jobs.fio
jq -s '[.[].jobs[] | if ."job options".rw == "read" or ."job options".rw == "randread" then {name: .jobname, value: (.read.bw / 1024), unit: "MiB/s"}
    elif ."job options".rw == "randwrite" or ."job options".rw == "write" then {name: .jobname, value: (.write.bw / 1024), unit: "MiB/s"}
    else {name: .jobname, value: "invalid", unit: "invalid"} end] | {benchmarks: .}' results.json >benchmark.json
jq -r '.benchmarks[] | "\(.name) \(.unit) \(.value | type) \(.value > 0)"' benchmark.json
# Tail latencies are tracked with a range.
jq -r '.jobs[] | "\(.jobname) \(if .read.total_ios > 0 then .read else .write end | [.clat_ns.percentile["99.000000"], .clat_ns.stddev, .lat_ns.mean] | map(type) | join(","))"' results.json
