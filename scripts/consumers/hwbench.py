#!/usr/bin/env python3
# hwbench: rates a machine; its disk test runs four jobs one after the other, and reads JSON.
# From: pypi hwbench 0.8.0
# Compared: which rates it finds, and the duration in whole seconds
"""hwbench's original command and parser, on a file in this directory."""

import subprocess
from pathlib import Path

from consumer import figure, say
from hwbench.benchmarks.base import BenchOptions
from hwbench.benchmarks.external import fio as own

own.RUN_SECONDS = 1
benchmark = own.Fio(BenchOptions(disk_size=own.parse_size("64M"), disk_path=Path.cwd()))
done = subprocess.run(benchmark.command("data"), stdout=subprocess.PIPE, text=True, check=True)
found = own.parse_output(done.stdout)
say("rates", list(found.rates))
for name, rate in found.rates.items():
    figure(name, rate)
say("version", type(found.version).__name__)
say("duration", round(found.duration_s))
