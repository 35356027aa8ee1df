#!/usr/bin/env python3
# disk-bench: runs seven jobs on one command line with gtod_reduce, and reads JSON.
# From: pypi disk-bench 0.2.1 sh==1.14.3
# Compared: the columns of its table, and that nothing is on standard error
"""disk-bench's original command and figures."""

from consumer import figure, figures, say
from diskbench.cli import format_stats
from diskbench.fio import fio

stats = fio(".", "64M", "16M", False)
print(format_stats(stats, "csv").splitlines()[0])
for stat in stats:
    say(f"{stat.name} bandwidth", figures(f"{stat.bw:.6f}"))
    figure(f"{stat.name} IOPS", stat.iops)
    say(f"{stat.name} processor", (type(stat.usr_cpu).__name__, type(stat.sys_cpu).__name__))
