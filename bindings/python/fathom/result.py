"""Results of runs as typed objects. Times are nanoseconds (`_ns`), milliseconds (`_ms`) or seconds (`_s`), sizes are bytes."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .program import FathomError

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Latency:
    """A distribution of latencies, all in nanoseconds."""

    count: int
    """Number of I/Os; 0 where the job recorded none (`disable_clat`, `gtod_reduce`)."""
    min_ns: float
    max_ns: float
    mean_ns: float
    stddev_ns: float
    percentiles_ns: dict[float, int] = field(repr=False)
    """The percentiles that the run reports (`percentile_list`), such as 99.0."""
    bins_ns: dict[int, int] = field(repr=False)
    """The histogram: number of I/Os by the latency of the bin. Empty in plain `json` of fio or fathom."""

    def percentile_ns(self, percent: float) -> int:
        """The latency not exceeded by this percentage of the I/Os, from the report or otherwise from the histogram."""
        if percent in self.percentiles_ns:
            return self.percentiles_ns[percent]
        if not 0 <= percent <= 100:
            raise ValueError(f"percentile {percent}: not between 0 and 100")
        due = percent / 100 * sum(self.bins_ns.values())
        passed = 0
        for latency in sorted(self.bins_ns):
            passed += self.bins_ns[latency]
            # Fractions such as one half are exact in binary; a share such as 99.9 % of 1000 is not.
            if passed >= due - 1e-6:
                return min(latency, int(self.max_ns)) if self.max_ns else latency
        raise FathomError(f"percentile {percent}: the result has no histogram; use --output-format=json+")


@dataclass(frozen=True, repr=False)
class Direction:
    """The results of a job in one direction. A latency is None if the result does not contain it."""

    io_bytes: int
    total_ios: int
    bytes_per_second: float
    ios_per_second: float
    runtime_ms: int
    short_ios: int
    dropped_ios: int
    submission_latency: Latency | None
    """From the preparation of an I/O to its submission."""
    completion_latency: Latency | None
    """From the submission of an I/O to its completion."""
    total_latency: Latency | None
    """Submission and completion."""
    response_time: Latency | None
    """From the scheduled time of an I/O, in jobs with `open_loop`."""

    @property
    def iops(self) -> float:
        """Alias of `ios_per_second`, as figures are named in comparisons and sweeps."""
        return self.ios_per_second

    def __repr__(self) -> str:
        latency = self.completion_latency
        mean = f", mean {latency.mean_ns / 1000:.1f} µs" if latency and latency.count else ""
        return f"<{self.iops:.0f} IOPS, {self.bytes_per_second / 1e6:.1f} MB/s{mean}>"


@dataclass(frozen=True)
class Sync:
    """fsync and similar operations: their number and durations."""

    total_ios: int
    latency: Latency | None


@dataclass(frozen=True, repr=False)
class JobResult:
    """A clone of a job, or all clones of a group with `group_reporting`."""

    name: str
    host: str | None
    """The host, in runs with `--client`."""
    group: int
    """The number of its reporting group."""
    error: int
    """The errno with which it ended; 0 for success."""
    elapsed_s: int
    options: dict[str, str] = field(repr=False)
    """Its own options, without those of `[global]`."""
    read: Direction
    write: Direction
    trim: Direction
    sync: Sync | None
    user_cpu_percent: float
    """User CPU time in percent of one CPU."""
    system_cpu_percent: float
    """System CPU time in percent of one CPU."""
    context_switches: int
    raw: dict[str, Any] = field(repr=False)
    """The job's entry in the document."""

    def directions(self) -> dict[str, Direction]:
        """The directions with I/O, by name."""
        all_of_them = {"read": self.read, "write": self.write, "trim": self.trim}
        return {name: each for name, each in all_of_them.items() if each.total_ios}

    def __repr__(self) -> str:
        did = "".join(f", {name} {each!r}" for name, each in self.directions().items())
        failed = f", error {self.error}" if self.error else ""
        return f"<job {self.name!r}{did}{failed}>"


@dataclass(frozen=True)
class GroupTotal:
    """The combined results of a group's jobs in one direction."""

    io_bytes: int
    total_ios: int
    bytes_per_second: float
    """All bytes divided by the time of the slowest job, as in the report's `Run status group`."""
    ios_per_second: float
    runtime_ms: int
    """Run time of the longest job."""


@dataclass(frozen=True)
class Group:
    """A reporting group: jobs that ran concurrently (`stonewall` and `new_group` start a new group)."""

    number: int
    jobs: list[JobResult] = field(repr=False)
    read: GroupTotal
    write: GroupTotal
    trim: GroupTotal


@dataclass(frozen=True)
class Disk:
    """The kernel's statistics for a block device during the run."""

    name: str
    read_ios: int
    write_ios: int
    read_merges: int
    write_merges: int
    read_ticks_ms: int
    """Time in flight, summed over all reads."""
    write_ticks_ms: int
    in_queue_ms: int
    util_percent: float
    """Share of the time with at least one I/O in flight."""
    read_bytes: int | None
    """None in results of older fio versions."""
    write_bytes: int | None


@dataclass(frozen=True)
class Point:
    """One interval of a job's timeline in one direction."""

    job: str
    direction: str
    start_ms: int
    """Time since the start of the run's jobs."""
    end_ms: int
    io_bytes: int
    total_ios: int
    bytes_per_second: float
    ios_per_second: float
    latency_bins_ns: dict[int, int] = field(repr=False)
    """Number of I/Os by completion latency, with four bins per power of two."""


@dataclass(frozen=True)
class Finding:
    """A reason to doubt the figures, or a note for their interpretation."""

    code: str
    severity: str
    """`wrong`, `doubtful` or `note`."""
    text: str
    advice: str | None
    job: str | None
    direction: str | None


@dataclass(frozen=True, repr=False)
class Result:
    """The result of a run. `raw` is the complete document (docs/formats.md)."""

    jobs: list[JobResult]
    groups: list[Group]
    disks: list[Disk]
    raw: dict[str, Any] = field(repr=False)
    exit_status: int = 0
    notes: str = ""
    """The program's standard error output."""

    @property
    def verdict(self) -> str | None:
        """`wrong`, `doubtful` or `no doubts`; None in a result of fio."""
        found = self.raw.get("fathom verdict")
        return str(found["verdict"]) if isinstance(found, dict) and "verdict" in found else None

    @property
    def findings(self) -> list[Finding]:
        """The findings of the verdict."""
        from .reading import findings_of

        return findings_of(self.raw)

    @property
    def timeline(self) -> list[Point]:
        """Rates and latencies over time, per job and direction; empty in a result of fio."""
        from .reading import timeline_of

        return timeline_of(self.raw)

    def job(self, name: str) -> JobResult:
        """The job of this name; the first of several clones."""
        for job in self.jobs:
            if job.name == name:
                return job
        raise FathomError(f"no job {name!r}; there are {', '.join(sorted({repr(job.name) for job in self.jobs}))}")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Reads a file of `--output-format=json`, `json+` or `jsonl` of fathom, or `json` or `json+` of fio."""
        from .reading import document_of

        try:
            return cls.from_document(document_of(Path(path).read_text(encoding="utf-8", errors="replace")))
        except (OSError, FathomError) as error:
            raise FathomError(f"result {os.fspath(path)}: {error}") from error

    @classmethod
    def from_document(cls, document: Any, exit_status: int = 0, notes: str = "") -> Result:
        """Creates a result from a parsed document."""
        from .reading import result_of

        return result_of(document, exit_status, notes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the document to a file, for `load` and for `fathom report`, `show`, `explain` and `compare`."""
        # Written to a temporary file in the same directory first: an existing file stays intact if the disk is
        # full.
        beside = Path(f"{os.fspath(path)}.{os.getpid()}.part")
        try:
            try:
                beside.write_text(json.dumps(self.raw, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
                os.replace(beside, path)
            except BaseException:
                beside.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise FathomError(f"result {os.fspath(path)}: {error}") from error

    def rows(self, percentiles: Sequence[float] = (50.0, 99.0, 99.9)) -> list[dict[str, Any]]:
        """One row per job and direction with I/O, as dicts; `frame` converts them to a data frame."""
        from .tables import rows_of

        return rows_of(self, percentiles)

    def frame(self, percentiles: Sequence[float] = (50.0, 99.0, 99.9)) -> pandas.DataFrame:
        """The rows as a pandas data frame; needs pandas."""
        from .tables import frame_of

        return frame_of(self.rows(percentiles))

    def timeline_frame(self) -> pandas.DataFrame:
        """The timeline as a pandas data frame, one row per point; needs pandas."""
        from .tables import frame_of, timeline_rows

        return frame_of(timeline_rows(self))

    def plot(self) -> list[Axes]:
        """Plots rates over time, if the result has a timeline, and latencies by percentile; needs matplotlib."""
        from .plots import plot

        return plot(self)

    def page(self) -> str:
        """The page of `fathom report`, a self-contained HTML document."""
        from .pages import page_of_result

        return page_of_result(self)

    def __repr__(self) -> str:
        most = 8
        jobs = [f"  {job!r}" for job in self.jobs[:most]]
        if len(self.jobs) > most:
            jobs.append(f"  and {len(self.jobs) - most} more jobs")
        return "\n".join([f"<Result, verdict: {self.verdict or 'unknown'}", *jobs]) + ">"

    def _repr_html_(self) -> str:
        from .pages import in_notebook

        return in_notebook(self.page, "Result of a run")
