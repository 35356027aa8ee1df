#!/usr/bin/env python3
# gcsfuse: tests a file system on object storage; reads each job's start, end, options and figures from JSON into tables.
# From: own the columns of its tables
# Compared: the row of each job; start and end in their order
"""The rows, with parameters that may be global or belong to the job."""

from pathlib import Path

from consumer import document, fio, kind, say

Path("job.fio").write_text(
    "[global]\nioengine=libaio\ndirect=0\nfadvise_hint=0\nverify=0\niodepth=8\ninvalidate=1\nstartdelay=1\nramp_time=0\nnrfiles=2\nthread=1\nopenfiles=1\n"
    "group_reporting=1\nallrandrepeat=1\nfilename_format=$jobname.$jobnum/$filenum\n[1_thread]\nstonewall\ndirectory=.\nbs=16K\nfilesize=4M\nsize=8M\nrw=read\n"
    "numjobs=1\n[4_threads]\nstonewall\ndirectory=.\nbs=16K\nfilesize=4M\nsize=8M\nrw=randwrite\nnumjobs=4\n"
)
for name, count in {"1_thread": 1, "4_threads": 4}.items():
    for number in range(count):
        Path(f"{name}.{number}").mkdir()
result = document(fio("job.fio --lat_percentiles=1 --output-format=json"))
every = result["global options"]
for job in result["jobs"]:
    options = {**every, **job["job options"]}
    mode = "write" if "write" in options["rw"] else "read"
    each = job[mode]
    say(
        job["jobname"],
        (
            options["rw"],
            options["filesize"],
            options["numjobs"],
            options["startdelay"],
            options["nrfiles"],
            each["total_ios"],
            each["io_bytes"],
        ),
    )
    started, ended = job["job_start"] / 1000, result["timestamp_ms"] / 1000
    say("times", (ended - 60 < started <= ended, job["elapsed"] >= 1, type(job["job_runtime"]).__name__))
    say(
        "percentiles of the whole latency",
        [key for key in each["lat_ns"]["percentile"] if key in ("20.000000", "50.000000", "90.000000", "95.000000")],
    )
    say("figures", [kind(each[key]) for key in ("bw_bytes", "iops")] + [kind(each["lat_ns"][key]) for key in ("max", "mean")])
