#!/usr/bin/env python3
# snafu: Red Hat's benchmark wrapper; writes and runs job files, and sends JSON and logs to a search engine.
# From: own the documents that it indexes
# Compared: the fields of each document
"""A job file with several jobs, JSON output to a file, and a log per thread."""

from pathlib import Path

from consumer import document, fio, say, tree

job = "[global]\ndirectory=.\nfilename_format=f.$jobnum.$filenum\nwrite_iops_log=log\nwrite_bw_log=log\nwrite_lat_log=log\nclocksource=clock_gettime\n"
job += "kb_base=1000\nunit_base=8\nioengine=libaio\nsize=1MiB\nrate_iops=500\nbs=4KiB\niodepth=4\ndirect=0\nnumjobs=2\nlog_avg_msec=100\nlog_hist_msec=100\nwrite_hist_log=log\n"
Path("fiojob").write_text(job + "[write]\nrw=write\nfsync_on_close=1\ncreate_on_open=1\n[randread]\nstonewall\nrw=randread\n")
fio("fiojob --output-format=json --output=fio-result.json")
result = document(Path("fio-result.json").read_text())
say("options", {key: value for key, value in result["global options"].items()})
for job_result in result["jobs"]:
    options = job_result.pop("job options")
    say(
        job_result["jobname"], (options, job_result["error"], job_result["read"]["total_ios"], job_result["write"]["total_ios"])
    )
    flat = {
        key: job_result[key]
        for key in ("read", "write", "trim", "sync", "latency_us", "iodepth_level", "usr_cpu", "ctx", "elapsed")
    }
    say("fields", sorted(line.split(" = ")[0] for line in tree(flat)))
logs = sorted(path.name for path in Path(".").glob("log_*"))
say("logs", logs)
say(
    "bins of histograms",
    sorted({len(row.split(",")) for path in Path(".").glob("log_clat_hist*") for row in path.read_text().splitlines()}),
)
