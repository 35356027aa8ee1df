#!/usr/bin/env bash
# monitoring: plugins for Nagios, Zabbix and Checkmk; make a line of performance data from terse output with awk.
# From: own version 3 of terse output, by its documented columns
# Compared: count and kind of columns, for each direction
set -euo pipefail
for rw in randread randwrite randrw; do
    fio --name=check --rw="$rw" --size=8M --bs=4k --filename=data --ioengine=psync --minimal --terse-version=3 >line
    awk -F';' -v rw="$rw" 'BEGIN { OFS = " " } {
        print rw, (NF >= 130), $1, $3, $5, "read KiB", $6, "written KiB", $47,
            "bandwidth", ($7 > 0), ($48 > 0), "IOPS", ($8 > 0), ($49 > 0), "runtime", ($9 >= 0), "latency", ($40 > 0), ($81 > 0)
        for (i = 18; i <= 37; i++) { split($i, part, "="); printf "%s ", part[1] } print ""
        print "depths", $93, $94, $95, $96, $97, $98, $99
    }' line
done
