#!/usr/bin/env python3
# stressant: stresses a machine; its disk test passes a job file and options to fio.
# From: pypi stressant 0.8.0
# Compared: its verdicts, and the lines of the report in its log
"""stressant's original disk test with a job file that checks its data."""

import logging
import os
import runpy
from pathlib import Path

from consumer import figures, say

names = runpy.run_path(str(Path(os.environ["CONSUMER"]) / "bin/stressant"), run_name="stressant")
lines: list[str] = []


class Keep(logging.Handler):
    """Collects its log messages."""

    def emit(self, record: logging.LogRecord) -> None:
        """One line."""
        lines.append(f"{record.levelname} {record.getMessage()}")


logging.OUTPUT = logging.INFO + 1  # type: ignore[attr-defined]
logging.addLevelName(logging.INFO + 1, "OUTPUT")
logging.basicConfig(level=logging.INFO, handlers=[Keep()])
Path("job.fio").write_text(
    "[global]\nfilename=/dev/null\nrw=randwrite\nverify=crc32c\nbs=4k\nioengine=psync\n[checked]\nsize=4M\n"
)
commands: list[list[str]] = []
own = names["testDrive"]
# Tools other than fio (dd, hdparm) are slow and irrelevant here.
own.__globals__["collectCmd"] = commands.append
own(writeSize="8M", diskRuntime="30s", smart=False, directory="made", jobFile="job.fio")
say("errors", [line.split(" '")[0] for line in lines if line.startswith(("ERROR", "WARNING"))])
report = [
    line
    for line in lines
    if "IOPS=" in line
    or "issued rwts" in line
    or line.removeprefix("OUTPUT").lstrip().startswith(("READ:", "WRITE:", "checked:"))
]
for line in report:
    print(figures(line) if "issued" not in line else line)
