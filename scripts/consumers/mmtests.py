#!/usr/bin/env python3
# mmtests: Mel Gorman's kernel benchmarks; reads the normal report, JSON and latency logs.
# From: own what the extracts print
# Compared: figures per job and direction, and the samples of each log
"""One job per thread, with logs per thread."""

import re
from pathlib import Path

from consumer import document, fio, kind, say

words = "--name=randrw --rw=randrw --size=2M --bs=4k --numjobs=3 --directory=. --ioengine=sync --fallocate=none --write_lat_log=fio --write_bw_log=fio"
text = fio(words + " --output-format=normal,json")
before, _, rest = text.partition("{")
document_text, _, normal = rest.rpartition("\n}")
say("text before the document", before.count("\n"))
for line in re.findall(r"^  (read|write): IOPS=([^,]+), BW=(\S+) \(\S+\)\((\S+)/\d+msec\)", normal, re.MULTILINE):
    say(
        f"normal {line[0]}",
        (bool(re.fullmatch(r"[\d.]+[kM]?", line[1])), bool(re.fullmatch(r"[\d.]+[KMG]?i?B/s", line[2])), line[3]),
    )
result = document("{" + document_text + "}")
for number, job in enumerate(result["jobs"]):
    for direction in ("read", "write"):
        each = job[direction]
        say(f"{number} {direction}", (each["total_ios"], each["io_kbytes"], kind(each["iops"]), kind(each["lat_ns"]["mean"])))
for path in sorted(Path(".").glob("fio_*.log")):
    rows = [[part.strip() for part in row.split(",")] for row in path.read_text().splitlines()]
    counts = {each: sum(row[2] == each for row in rows) for each in ("0", "1")} if "_bw" not in path.name else "samples"
    say(path.name, (counts, sorted({(len(row), row[3]) for row in rows})))
