#!/usr/bin/env bash
# etcd-fsync: etcd's disk check, the p99 of fdatasync after small appends, with jq and from the normal report.
# From: own etcd's documentation of disks
# Needs: jq
# Compared: the count of syncs, that the percentile is there, and the lines around it
set -euo pipefail
job=(--rw=write --ioengine=sync --fdatasync=1 --directory=. --size=230000 --bs=2300 --name=mytest)
fio "${job[@]}" --output-format=json >etcd.json
jq -r '.jobs[0] | "syncs \(.sync.lat_ns.N), writes \(.write.total_ios)"' etcd.json
jq -r '.jobs[0].sync.lat_ns.percentile["99.000000"] | if . > 0 and . == floor then "p99 is there" else "p99 is \(.)" end' etcd.json
jq -r '.jobs[0].sync.lat_ns.percentile | keys_unsorted | join(" ")' etcd.json
# The check as scripts write it, with a bound that every disk meets, and one that no disk meets.
for bound in 100000000000 1; do
    jq -r --argjson bound "$bound" '.jobs[0].sync.lat_ns.percentile["99.000000"] | if . < $bound then "fast" else "slow" end' etcd.json
done
fio "${job[@]}" >etcd.txt
# As read by the guide: the lines after this title.
sed -n '/fsync\/fdatasync/,/99.99th/p' etcd.txt | grep -oE 'sync percentiles \(|99\.00th=\[|fdatasync' | sort | uniq -c
