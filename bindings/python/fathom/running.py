"""Runs of the program."""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Optional

from .job import Job, Value, job_text
from .program import FathomError, find_program
from .result import Result


@dataclass(frozen=True)
class Progress:
    """An interval of a run; the times are milliseconds since its jobs were started."""

    number: int
    start_ms: int
    end_ms: int
    bytes_per_second: float
    ios_per_second: float
    raw: dict[str, Any]


OnProgress = Optional[Callable[[Progress], None]]


def run(job: Job | None = None, *, on_progress: OnProgress = None, **options: Value) -> Result:
    """Runs a job file (its path or text), a dict, or the job that the keyword arguments describe.

    `on_progress` is called once a second. An exception from it ends the run gently and is raised again afterwards. A run that
    fails raises FathomError with the program's message. The job reaches the program through a pipe, not the command line.
    """
    if (job is None) == (not options):
        raise FathomError("run: give either a job or options as keyword arguments")
    text = job_text(options if job is None else job)
    command = [find_program(), "--output-format=jsonl", "--status-interval=1s", "-"]
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as errors:
        source.write(text.encode())
        source.seek(0)
        try:
            process = subprocess.Popen(command, stdin=source, stdout=subprocess.PIPE, stderr=errors, text=True)
        except OSError as error:
            raise FathomError(f"{command[0]}: {error}; check that it is a program for this machine") from error
        with process:
            try:
                document = _follow(process, on_progress)
            except BaseException:
                _end(process)
                raise
            status = process.wait()
        errors.seek(0)
        notes = errors.read().decode(errors="replace").strip()
    if document is None or status != 0:
        raise FathomError(notes or f"fathom ended with status {status} and said nothing", status)
    return Result.from_document(document, status, notes)


def _follow(process: subprocess.Popen[str], on_progress: OnProgress) -> Any:
    final = None
    assert process.stdout is not None
    for line in process.stdout:
        try:
            document = json.loads(line)
        except ValueError:
            continue  # a line that the program prints besides its documents
        if not isinstance(document, dict):
            continue
        if document.get("final"):
            final = document
        if on_progress is not None and "interval" in document:
            on_progress(_progress(document["interval"]))
    return final


def _progress(interval: dict[str, Any]) -> Progress:
    figures = [job[name] for job in interval["jobs"] for name in ("read", "write", "trim") if name in job]
    return Progress(
        interval["number"],
        interval["start_ms"],
        interval["end_ms"],
        sum(each["bw_bytes"] for each in figures),
        sum(each["iops"] for each in figures),
        interval,
    )


def _end(process: subprocess.Popen[str]) -> None:
    """SIGINT, and SIGKILL for a program that does not end in half a minute."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=30)
    except BaseException as error:
        process.kill()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
