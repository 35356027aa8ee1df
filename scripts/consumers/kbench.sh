#!/usr/bin/env bash
# kbench: Longhorn's benchmark; reads IOPS, bandwidth, latency and CPU idleness of three job files from JSON with jq.
# From: own the tables that it prints
# Needs: jq
# Compared: that each cell of its table has a number, and the idleness of processors
set -euo pipefail
for what in iops bandwidth latency; do
    case $what in iops) size=4k depth=64 ;; bandwidth) size=128K depth=16 ;; latency) size=4k depth=1 ;; esac
    {
        printf '[global]\nbs=%s\niodepth=%s\ndirect=0\nioengine=libaio\ngroup_reporting\ntime_based\nruntime=1\nnumjobs=1\nname=raw-%s\nnorandommap=1\n' \
            "$size" "$depth" "$what"
        for rw in randread randwrite read write; do printf '[%s-%s]\nrw=%s\nstonewall\n' "$what" "$rw" "$rw"; done
    } >"$what.fio"
    fio "$what.fio" --idle-prof=percpu --output-format=json --filename=data --size=4M --output="$what.json"
    sed -n '/^{/,/^}/p' "$what.json" | jq -r '.jobs[] | "\(.jobname) \([.read.iops, .write.iops, .read.bw, .write.bw, .read.lat_ns.mean, .write.lat_ns.mean] |
        map(if . > 0 then "N" else "0" end) | join(" "))"'
done
sed -n '/^{/,/^}/p' iops.json | jq -c 'keys_unsorted | map(select(startswith("fathom ") | not))'
jq -c '.cpu_idleness? | if . then keys_unsorted[0:1] else "no idleness" end' <(sed -n '/^{/,/^}/p' iops.json)
