#!/usr/bin/env python3
# cbt: the Ceph benchmarking tool; reads JSON with its global options, and in older releases terse lines that end in its own description.
# From: own what cbt reads
# Compared: options, kinds of figures, and columns
"""The options precede --name, so they are global options."""

from consumer import document, fio, kind, say

words = "--ioengine=psync --rw=randrw --rwmixread=70 --rwmixwrite=30 --bs=4096B --iodepth=1 --numjobs=2 --size=1M --runtime=30"
words += " --direct=0 --write_iops_log=output.0 --output-format=json --name=cbt"
result = document(fio(words))
say("options", result["global options"])
for job in result["jobs"]:
    for direction in ("read", "write"):
        each = job[direction]
        say(f"{job['jobname']} {direction}", (each["total_ios"], each["io_bytes"]))
        say(
            f"{job['jobname']} {direction} kinds",
            [kind(each[key]) for key in ("bw_bytes", "iops")] + [kind(each["clat_ns"][key]) for key in ("mean", "max")],
        )
parts = (
    fio("--name=t --rw=randread --filename=data --size=1M --output-format=terse --description=host;randread;4096;16;1")
    .rstrip("\n")
    .split(";")
)
say("description", parts[-5:])
say("columns", (parts[0], parts[2], parts[5], len(parts)))
