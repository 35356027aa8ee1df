#!/usr/bin/env python3
# phoronix: the Phoronix Test Suite's profile of fio; finds rate and IOPS in the normal report by keywords.
# From: own pts/fio
# Compared: that each pattern finds exactly one line, and the form of its figure
"""The profile's job, with each of its engines."""

import re
from pathlib import Path

from consumer import fio, say

for engine in ("io_uring", "libaio", "posixaio", "sync"):
    for rw, word in (("randread", "READ"), ("randwrite", "WRITE"), ("read", "READ"), ("write", "WRITE")):
        job = f"[global]\nrw={rw}\nioengine={engine}\niodepth=64\nsize=16m\ndirect=0\nstartdelay=0\nramp_time=0\nruntime=20\ngroup_reporting=1\nnumjobs=1\n"
        job += "disk_util=0\nclat_percentiles=0\ndisable_lat=1\ndisable_clat=1\ndisable_slat=1\nfilename=fiofile\n[test]\nname=test\nbs=2m\nstonewall\n"
        Path("test.fio").write_text(job)
        lines = fio("test.fio").splitlines()
        rates = [line for line in lines if ": bw=" in line]
        operations = [line for line in lines if "IOPS=" in line]
        form = re.fullmatch(r"[0-9.]+([KMGT]iB/s)", rates[0].split("bw=")[1].split()[0]) is not None
        count = re.fullmatch(r"[0-9.]+k?,", operations[0].split("IOPS=")[1].split()[0]) is not None
        say(f"{engine} {rw}", (len(rates), rates[0].split(":")[0].strip() == word, form, len(operations), count))
