#!/usr/bin/env python3
# bench-fio: runs fio for each queue depth and number of jobs, and stores JSON and logs for fio-plot.
# From: pypi fio-plot 1.1.21
# Compared: the names of its results, and the jobs in them
"""The parameter sweep of bench-fio."""

import json
import os
import subprocess
from pathlib import Path

from consumer import kind, say

# It keeps its job file in /tmp, under the name of its target.
target = Path(f"fathom-swept-{os.getpid()}")
target.write_bytes(bytes(4 << 20))
words = "--type file --size 4M --mode randread randrw --rwmixread 75 --output out --iodepth 1 4 --numjobs 1 2 --runtime 1 --time-based --engine libaio"
words += " --direct 0 --destructive --loginterval 100 --quiet"
try:
    subprocess.run(["bench-fio", "--target", target, *words.split()], check=True, stdout=subprocess.DEVNULL)
finally:
    Path(f"/tmp/{target}-tmpjobfile.fio").unlink(missing_ok=True)
names = sorted(str(path.relative_to(Path("out") / target)) for path in Path("out").rglob("*") if path.is_file())
say("results", len(names))
for name in names:
    if name.endswith(".json"):
        jobs = json.loads((Path("out") / target / name).read_text())["jobs"]
        say(
            name,
            [(job["jobname"], job["error"], kind(job["read"]["io_bytes"]), kind(job["write"]["io_bytes"])) for job in jobs],
        )
    else:
        say(name, "a log")
