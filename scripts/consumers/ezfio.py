#!/usr/bin/env python3
# ezfio: tests NVMe drives and fills in a spreadsheet, using JSON+, latency bins and logs.
# From: own what ezfio reads
# Compared: that bins add up to I/Os, and the form of each log
"""A small version of ezfio's job."""

from pathlib import Path

from consumer import document, fio, kind, say

job = "[test-data]\nreadwrite=randrw\nrwmixwrite=30\nbs=4096\ninvalidate=1\nend_fsync=0\ngroup_reporting=1\ndirect=0\nfilename=data\nsize=8M\n"
job += "time_based=1\nruntime=2\nioengine=libaio\nnumjobs=2\niodepth=4\nnorandommap=1\nrandrepeat=0\nthread=1\nexitall=1\noffset=0G\n"
Path("job").write_text(job + "write_iops_log=out\nwrite_lat_log=out\nlog_avg_msec=500\nlog_unix_epoch=0\n")
text = fio("job --output-format=json+")
say("text before the document", text.index("{"))
client = document(text[text.index("{") :])["jobs"][0]
for direction in ("read", "write"):
    each = client[direction]
    bins = each["clat_ns"]["bins"]
    say(
        direction,
        (
            kind(each["iops"]),
            kind(each["lat_ns"]["mean"]),
            sum(bins.values()) == each["total_ios"],
            all(int(latency) > 0 for latency in bins),
        ),
    )
for what in ("iops", "clat", "slat", "lat"):
    for file in sorted(Path(".").glob(f"out_{what}.*log")):
        entries = [[part.strip() for part in line.split(",")] for line in file.read_text().splitlines()]
        times = [int(entry[0]) for entry in entries]
        say(
            file.name,
            (
                {len(entry) for entry in entries},
                sorted({entry[2] for entry in entries}),
                {entry[3] for entry in entries},
                times == sorted(times),
            ),
        )
