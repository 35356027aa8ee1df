#!/usr/bin/env python3
# fio2gnuplot: converts logs to gnuplot files with statistics.
# From: debian fio newest
# Compared: the files that it makes, and their texts but for the figures
"""The installed program, with bandwidth and IOPS logs."""

import subprocess
from pathlib import Path

from consumer import figures, fio, say

words = "--name=a --rw=write --size=2M --bs=64k --filename=data --ioengine=psync --rate_iops=32 --log_avg_msec=250 --write_bw_log=a --write_iops_log=a"
fio(words)
for option in ("-b", "-i"):
    done = subprocess.run(
        ["fio2gnuplot", option, "-v", "-k", "-d", "out" + option], capture_output=True, text=True, check=False
    )
    say(option, done.returncode)
    print(figures(done.stdout).replace("0", "N"))
for path in sorted(Path(".").rglob("out*/*")):
    # The number of windows differs (docs/compatibility.md), but not the format of their lines.
    say(str(path), sorted(set(figures(path.read_text()).replace("0", "N").splitlines())))
