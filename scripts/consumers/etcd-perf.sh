#!/usr/bin/env bash
# etcd-perf: OpenShift's container that measures a node for etcd; extracts the 99th percentile from JSON with jq and compares it with 10 ms.
# From: own what the container prints
# Needs: jq bc
# Compared: its verdict under a bound of a minute, and the kinds of figures
set -euo pipefail
fio --rw=write --ioengine=sync --fdatasync=1 --directory=. --size=100k --bs=1k --name=etcd_perf --output-format=json --runtime=60 >cleanfsynclat.json
fsync=$(jq '.jobs[0].sync.lat_ns.percentile["99.000000"]' cleanfsynclat.json)
echo "in milliseconds: $(echo "scale=3; $fsync / 1000000 > 0" | bc -l)"
awk -v fsync="$fsync" 'BEGIN { print (fsync > 60 * 10 ^ 9) ? "not fast enough" : "fast enough" }'
jq -c '[.jobs[0].sync.lat_ns.N, .jobs[0].write.io_bytes, .jobs[0].write.total_ios]' cleanfsynclat.json
