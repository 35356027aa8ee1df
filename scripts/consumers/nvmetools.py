#!/usr/bin/env python3
# nvmetools: tests NVMe drives; reads JSON from --output and latencies from logs.
# From: pypi nvmetools 0.8.0
# Compared: what was done, that each figure is there, and the lines of its files
"""nvmetools' original runner. It expects fio at a fixed path, where it finds ours."""

import shutil
from pathlib import Path

from consumer import figure, say
from nvmetools.apps import fio as own

own.FIO_EXEC = shutil.which("fio")
Path("data").write_bytes(bytes(4 << 20))
words = "--direct=0 --thread --numjobs=1 --rw=randrw --rwmixread=50 --bs=4096 --iodepth=1 --size=4M --filename=data --output=fio.json"
words += " --output-format=json+ --write_lat_log=raw --name=burst --disk_util=0"
run = own.RunFio(words.split(), str(Path.cwd()), str(Path.cwd()), timeout=60)
say("return code and errors", (run.return_code, run.io_errors, run.corruption_errors, run.verify_failures))
say("I/Os", (run.read_ios, run.write_ios))
for name in (
    "read_bw_gb",
    "write_bw_gb",
    "read_mean_latency_ms",
    "write_max_latency_us",
    "delayed_mean_read_latency_us",
    "trimmed_mean_write_latency_us",
):
    figure(name, getattr(run, name))
run.split_log("raw_lat.1.log")
for name in ("raw_read.csv", "raw_write.csv"):
    say(name, len(Path(name).read_text().splitlines()))
# Corruption, which it counts by the lines of fio.
words = (
    "--direct=0 --thread --rw=read --bs=4096 --size=1M --filename=data --output=bad.json --output-format=json --verify=crc32c"
)
words += " --verify_interval=4096 --verify_state_save=0 --continue_on_error=verify --name=check"
run = own.RunFio(words.split(), str(Path.cwd()), str(Path.cwd()), timeout=60, file="bad")
say("errors of damage", run.io_errors > 0)
say("return code of damage", run.return_code)
