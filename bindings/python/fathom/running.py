"""Runs of jobs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Callable, Optional

from .job import Job, Value, source
from .program import Child, FathomError, Mailbox, how_it_ended, read_all, text_first, text_of
from .result import Result

# Without a listener, a single line at the end is enough; with an interval of a day there is rarely another.
NOBODY_ASKS_MS = 24 * 60 * 60 * 1000


class StopRun(Exception):
    """Raised by `on_progress` to end the run. `run` then returns the results so far."""


@dataclass(frozen=True)
class Rates:
    """The combined figures of all jobs in one direction and interval."""

    io_bytes: int
    total_ios: int
    bytes_per_second: float
    ios_per_second: float


@dataclass(frozen=True)
class Progress:
    """The progress of a run in one interval."""

    number: int
    """1, 2, 3, ... Numbers are skipped if a callback takes longer than an interval."""
    start_ms: int
    """Since the jobs of the run were started."""
    end_ms: int
    read: Rates
    write: Rates
    trim: Rates
    raw: dict[str, Any] = field(repr=False)
    """The figures and latencies of each job (docs/formats.md)."""

    @property
    def bytes_per_second(self) -> float:
        """Over all directions."""
        return self.read.bytes_per_second + self.write.bytes_per_second + self.trim.bytes_per_second

    @property
    def ios_per_second(self) -> float:
        """Of all directions."""
        return self.read.ios_per_second + self.write.ios_per_second + self.trim.ios_per_second


OnProgress = Optional[Callable[[Progress], None]]


def run(
    job: Job | None = None,
    *,
    on_progress: OnProgress = None,
    interval_ms: int = 1000,
    arguments: Sequence[str] = (),
    **options: Value,
) -> Result:
    """Runs a job: the path of a job file, its text, a mapping, or the options as keyword arguments.

    `on_progress` is called every `interval_ms`, in the thread of the caller. If it raises StopRun, the run ends and the results so far are returned. Any other exception, including Ctrl-C, also ends the run and is reraised; `result_of_interrupted` then returns the results so far. `arguments` are additional command-line arguments, such as `--readonly`.

    A run that fails raises FathomError with the program's message, and with a `result` if there is one.
    """
    named, given = source(job, options)
    if interval_ms < 1:
        raise FathomError(f"interval_ms={interval_ms}: at least 1")
    interval = NOBODY_ASKS_MS if on_progress is None else interval_ms
    mailbox = Mailbox(only_newest=True)
    output = _Output(mailbox)
    notes: list[bytes] = []
    command = ["--output-format=jsonl", f"--status-interval={interval}ms", *arguments, named]
    child = Child(command, given, mailbox, output.read, read_all(notes))
    try:
        for event in mailbox:
            if on_progress is not None:
                on_progress(_progress(event))
    except StopRun:
        child.end()
        return _finished(output, child.status(), text_of(notes), stopped=True)
    except BaseException as error:
        child.end()
        _attach(error, output, child.status(), text_of(notes))
        raise
    return _finished(output, child.status(), text_of(notes), stopped=False)


def result_of_interrupted(error: BaseException) -> Result | None:
    """The results of a run before this exception ended it; None if there were none, or if the exception did not end a run."""
    found = getattr(error, "fathom_result", None)
    return found if isinstance(found, Result) else None


class _Output:
    """Receives the JSON lines: the last one is the result, the others report intervals."""

    def __init__(self, mailbox: Mailbox) -> None:
        self.document: Any = None
        self.other_lines: list[bytes] = []
        self._mailbox = mailbox

    def read(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict) or not isinstance(document.get("interval"), dict):
            if len(self.other_lines) < 100:
                self.other_lines.append(line)
            return
        if document.get("final"):
            self.document = document
        self._mailbox.put(document["interval"])


def _finished(output: _Output, status: int, notes: str, stopped: bool) -> Result:
    document = output.document
    if document is None:
        said = notes or text_of(output.other_lines[-20:])
        if status == 0 or (stopped and not said):
            said = f"{how_it_ended(status) if status else 'fathom ended'} without a result. {said}".rstrip()
            said += "; if it is older than this package (fathom --version), install the one that belongs to it"
        raise FathomError(text_first(said) or how_it_ended(status), status)
    result = Result.from_document(document, status, notes)
    # A run that was asked to end reports this in its status.
    if status != 0 and not stopped:
        raise FathomError(notes or _failed_jobs(result) or how_it_ended(status), status, result)
    return result


def _failed_jobs(result: Result) -> str:
    failed = [f"{job.name}: error {job.error}" for job in result.jobs if job.error]
    return "; ".join(failed)


def _attach(error: BaseException, output: _Output, status: int, notes: str) -> None:
    try:
        result = _finished(output, status, notes, stopped=True)
        error.fathom_result = result  # type: ignore[attr-defined]
    except (FathomError, AttributeError, TypeError):
        pass  # Nothing was measured, or the exception does not accept attributes; it is reraised unchanged.


def _progress(interval: dict[str, Any]) -> Progress:
    try:
        read, write, trim = (_rates(interval["jobs"], name) for name in ("read", "write", "trim"))
        return Progress(
            int(interval["number"]), int(interval["start_ms"]), int(interval["end_ms"]), read, write, trim, interval
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FathomError(
            f"interval: not as this version of the package reads it ({error!r}); install the matching one"
        ) from error


def _rates(jobs: list[dict[str, Any]], direction: str) -> Rates:
    figures = [job[direction] for job in jobs if direction in job]
    return Rates(
        sum(int(each["io_bytes"]) for each in figures),
        sum(int(each["total_ios"]) for each in figures),
        float(sum(each["bw_bytes"] for each in figures)),
        float(sum(each["iops"] for each in figures)),
    )
