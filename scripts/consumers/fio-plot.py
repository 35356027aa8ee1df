#!/usr/bin/env python3
# fio-plot: draws charts of JSON and logs.
# From: pypi fio-plot 1.1.21
# Compared: whether each kind of chart can be drawn
"""Every kind of chart, from results in the directory layout of bench-fio."""

import subprocess
from pathlib import Path

from consumer import fio, say

Path("data").write_bytes(bytes(4 << 20))
Path("out").mkdir()
for depth in 1, 4:
    for jobs in 1, 2:
        name = f"randread-iodepth-{depth}-numjobs-{jobs}"
        logs = " ".join(f"--write_{kind}_log=out/{name}" for kind in ("bw", "lat", "iops"))
        text = fio(
            f"--name=iotest --rw=randread --bs=4k --size=4M --filename=data --iodepth={depth} --numjobs={jobs} --group_reporting --ioengine=libaio"
            f" --time_based --runtime=1 --log_avg_msec=100 {logs} --output-format=json"
        )
        Path(f"out/randread-{depth}-{jobs}.json").write_text(text)
charts = {
    "three dimensions": "-L -t iops",
    "by depth": "-l",
    "by number of jobs": "-N -d 4",
    "histogram": "-H -d 4 -n 1",
    "lines": "-g -t bw iops lat -d 1 4 -n 1 2",
    "submission and completion": "-g -t slat clat -d 4 -n 2",
}
for number, (name, words) in enumerate(charts.items()):
    image = Path(f"chart{number}.png")
    command = ["fio-plot", "-i", "out", "-r", "randread", "-T", "title", "-o", str(image), *words.split()]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    say(name, (done.returncode, image.exists() and image.read_bytes().startswith(b"\x89PNG")))
