#!/usr/bin/env python3
# genfio: writes job files that test disks one after the other or all together.
# From: debian fio newest
# Compared: exit status and counts of what it wrote
"""Runs the installed program and its jobs."""

import subprocess
from pathlib import Path

from consumer import document, fio, say

for name in ("one", "two"):
    Path(name).write_bytes(bytes(1 << 20))
files = f"{Path('one').absolute()},{Path('two').absolute()}"
for way in ("-s", "-p"):
    command = [
        "genfio",
        way,
        "-d",
        files,
        "-z",
        "1m",
        "-b",
        "4k,64k",
        "-r",
        "0",
        "-c",
        "-m",
        "write,randread,read",
        "-x",
        f"jobs{way}/",
    ]
    Path(f"jobs{way}").mkdir()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for path in sorted(Path(f"jobs{way}").iterdir()):
        title = path.name.partition("-")[2]
        printed = fio(f"{path} --output-format=json")
        counts = [(job["error"], job["read"]["total_ios"], job["write"]["total_ios"]) for job in document(printed)["jobs"]]
        say(f"{way} {title}", counts)
