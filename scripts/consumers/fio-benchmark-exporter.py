#!/usr/bin/env python3
# fio-benchmark-exporter: a Prometheus exporter that follows a run line by line, in terse version 5, with percentiles of total latency.
# From: own the exporter's metrics
# Compared: lines and columns, percentages and their kinds, and that they say what JSON says
"""Every column that becomes a metric, with the corresponding figure in JSON."""

from pathlib import Path

from consumer import document, fio, kind, say

words = "--name=latency --numjobs=1 --ioengine=libaio --direct=0 --bs=4k --iodepth=1 --readwrite=randrw --directory=. --size=4M --runtime=3"
words += " --time_based --terse-version=5 --lat_percentiles=1 --clat_percentiles=0 --group_reporting"
lines = fio(words + " --status-interval=1 --output-format=terse").splitlines()
say("lines", (len(lines) >= 3, all(line.startswith("5;fio-") for line in lines)))
fio(words + " --output-format=terse,json --output=both")
both = Path("both").read_text()
parts = both.splitlines()[0].split(";")
job = document(both[both.index("{") :])["jobs"][0]
for direction, first in (("read", 5), ("write", 52)):
    figures = job[direction]
    say(f"{direction} rates", (int(parts[first + 1]) == figures["bw"], int(parts[first + 2]) == int(figures["iops"])))
    for column in range(first + 13, first + 33):
        name, equals, value = parts[column].partition("=")
        if not equals:
            continue
        known = figures["lat_ns"].get("percentile", {}).get(f"{float(name.rstrip('%')):.6f}")
        say(f"{direction} {name}", kind(int(value)) if known is None else int(value) == known // 1000)
    least, most, mean = (float(parts[column]) for column in range(first + 34, first + 37))
    say(f"{direction} whole latency", (kind(least), kind(most), kind(mean)))
    for column, key in {36: "bw_min", 37: "bw_max", 39: "bw_mean", 42: "iops_min", 43: "iops_max", 44: "iops_mean"}.items():
        say(f"{direction} {key}", abs(float(parts[first + column]) - figures[key]) <= 0.01)
say("processor", abs(float(parts[146].strip("%")) - job["usr_cpu"]) <= 0.01)
say("depths sum to 100", abs(sum(float(part.strip("%")) for part in parts[151:158]) - 100) < 0.5)
