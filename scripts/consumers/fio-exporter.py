#!/usr/bin/env python3
# fio-exporter: a Prometheus exporter that runs one mixed job and reads columns of the minimal output.
# From: own the exporter's metrics
# Compared: the count of columns, and the metrics in them
"""Columns by their documented positions."""

from consumer import fio, kind, say

words = "--randrepeat=1 --ioengine=libaio --direct=0 --gtod_reduce=1 --name=test --filename=exporter.test --bs=4k --iodepth=32"
printed = fio(words + " --size=4M --readwrite=randrw --rwmixread=75 --minimal")
parts = printed.rstrip("\n").split(";")
say("columns without those of disks", len(parts) >= 121)
say("version, program, name, group, error", (parts[0], parts[1][:4], parts[2], parts[3], parts[4]))
for name, column in {"read KiB": 5, "written KiB": 46}.items():
    say(name, parts[column])
for name, column in {"read bandwidth": 6, "read IOPS": 7, "write bandwidth": 47, "write IOPS": 48}.items():
    say(name, kind(float(parts[column])))
