#!/usr/bin/env python3
# fio_jsonplus_clat2csv: makes latency tables from the bins of JSON+. From: debian fio newest Compared: the files and
# columns that it makes, and how many I/Os are in each
"""The installed program, which checks its tables against the JSON itself."""

import csv
import subprocess
from pathlib import Path

from consumer import fio, say

words = "--name=a --rw=randrw --size=1M --bs=4k --filename=data --numjobs=2 --ioengine=psync --fsync=16 --output-format=json+ --output=out.json"
for name, more in (("each", ""), ("group", " --group_reporting")):
    fio(words + more)
    for more in ([], ["--validate"]):
        done = subprocess.run(
            ["fio_jsonplus_clat2csv", *more, "out.json", f"{name}.csv"], capture_output=True, text=True, check=False
        )
        say(f"{name} {more}", (done.returncode, done.stdout.splitlines()))
    for path in sorted(Path(".").glob(f"{name}*.csv")):
        rows = list(csv.reader(path.open()))
        counts = {}
        for column, title in enumerate(rows[0]):
            last = [row[column].strip() for row in rows[1:] if row[column].strip()]
            if "cumulative" in title and last:
                counts[title.strip()] = last[-1]
        say(path.name, ([title.strip() for title in rows[0]], counts))
