#!/usr/bin/env python3
# perfkit: Google's cloud benchmarks; make samples from JSON, one for each figure, named job:direction:figure.
# From: own its documented metrics
# Compared: names and units of the samples, and the kind of each value
"""A small version of its job file, with a fill before the measurement."""

from pathlib import Path

from consumer import document, fio, kind, say

Path("fio.job").write_text(
    "[global]\nioengine=libaio\ninvalidate=1\ndirect=0\nruntime=30\nfilename=fio-temp-file\ndo_verify=0\nverify_fatal=0\ngroup_reporting=1\npercentile_list=1:5:10:20:25:30:40:50:60:70:75:80:90:95:99:99.5:99.9:99.95:99.99\nrandrepeat=0\nsize=16M\n\n"
    "[sequential_write-io-depth-64-num-jobs-1]\nstonewall\nrw=write\nblocksize=512k\niodepth=64\nnumjobs=1\n\n"
    "[random_read-io-depth-4-num-jobs-2]\nstonewall\nrw=randread\nblocksize=4k\niodepth=4\nnumjobs=2\n\n"
    "[random_read_write-io-depth-1-num-jobs-1]\nstonewall\nrw=randrw\nrwmixread=90\nblocksize=4k\niodepth=1\nnumjobs=1\n"
)
result = document(fio("--output-format=json --random_generator=tausworthe64 fio.job"))
for job in result["jobs"]:
    options = job["job options"]
    say(job["jobname"], sorted(options.items()))
    for mode in ("read", "write"):
        each = job[mode]
        if not each["io_bytes"]:
            continue
        samples = {
            "bandwidth": each["bw"],
            "iops": each["iops"],
            **{f"bandwidth_{key}": each[f"bw_{key}"] for key in ("min", "max", "mean", "dev")},
        }
        samples |= {f"latency {key}": each["clat_ns"][key] / 1000 for key in ("min", "max", "mean", "stddev")}
        # The division of a mix into reads and writes depends on the seed.
        count = kind(each["total_ios"]) if options["rw"] == "randrw" else each["total_ios"]
        say(f"{job['jobname']}:{mode}", (count, [f"p{float(key):g}" for key in each["clat_ns"]["percentile"]]))
        for name in ("bandwidth", "iops", "latency max", "latency mean"):
            say(f"{job['jobname']}:{mode}:{name}", kind(samples[name]))
