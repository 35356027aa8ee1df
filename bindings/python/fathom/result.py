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
    """The histogram: number of I/Os by the latency of their bin. Empty in plain `json` of fio or fathom."""

    def percentile_ns(self, percent: float) -> int:
        """The latency that this share of the I/Os did not exceed, from the report or else from the histogram."""
        if percent in self.percentiles_ns:
            return self.percentiles_ns[percent]
        if not 0 <= percent <= 100:
            raise ValueError(f"percentile {percent}: not between 0 and 100")
        due = percent / 100 * sum(self.bins_ns.values())
        passed = 0
        for latency in sorted(self.bins_ns):
            passed += self.bins_ns[latency]
            # Sums of halves are exact; a share such as 99.9 % of 1000 is not.
            if passed >= due - 1e-6:
                return min(latency, int(self.max_ns)) if self.max_ns else latency
        raise FathomError(f"percentile {percent}: the result has no histogram; use --output-format=json+")


@dataclass(frozen=True, repr=False)
class Direction:
    """What a job did in one direction. A latency is None where the result has none of the kind."""

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
    """From when an I/O was due, in jobs with `open_loop`."""

    @property
    def iops(self) -> float:
        """The same as `ios_per_second`, by the name that figures of comparisons and sweeps have."""
        return self.ios_per_second

    def __repr__(self) -> str:
        latency = self.completion_latency
        mean = f", mean {latency.mean_ns / 1000:.1f} µs" if latency and latency.count else ""
        return f"<{self.iops:.0f} IOPS, {self.bytes_per_second / 1e6:.1f} MB/s{mean}>"


@dataclass(frozen=True)
class Sync:
    """fsync and its relatives: how many, and how long they took."""

    total_ios: int
    latency: Latency | None


@dataclass(frozen=True, repr=False)
class JobResult:
    """A clone of a job, or all clones of a group with `group_reporting`."""

    name: str
    host: str | None
    """Where it ran, in runs with `--client`."""
    group: int
    """The number of its reporting group."""
    error: int
    """The errno that ended it; 0 for none."""
    elapsed_s: int
    options: dict[str, str] = field(repr=False)
    """Its own options, without those of `[global]`."""
    read: Direction
    write: Direction
    trim: Direction
    sync: Sync | None
    user_cpu_percent: float
    """Of one processor, in the program."""
    system_cpu_percent: float
    """Of one processor, in the kernel."""
    context_switches: int
    raw: dict[str, Any] = field(repr=False)
    """Its entry in the document."""

    def directions(self) -> dict[str, Direction]:
        """The directions that it did I/O in, by name."""
        all_of_them = {"read": self.read, "write": self.write, "trim": self.trim}
        return {name: each for name, each in all_of_them.items() if each.total_ios}

    def __repr__(self) -> str:
        did = "".join(f", {name} {each!r}" for name, each in self.directions().items())
        failed = f", error {self.error}" if self.error else ""
        return f"<job {self.name!r}{did}{failed}>"


@dataclass(frozen=True)
class GroupTotal:
    """What the jobs of a group did in one direction together."""

    io_bytes: int
    total_ios: int
    bytes_per_second: float
    """All bytes by the time of the slowest job, as in the report's `Run status group`."""
    ios_per_second: float
    runtime_ms: int
    """The longest of its jobs."""


@dataclass(frozen=True)
class Group:
    """A reporting group: the jobs that ran side by side (`stonewall` and `new_group` begin another)."""

    number: int
    jobs: list[JobResult] = field(repr=False)
    read: GroupTotal
    write: GroupTotal
    trim: GroupTotal


@dataclass(frozen=True)
class Disk:
    """What the kernel counted for a block device during the run."""

    name: str
    read_ios: int
    write_ios: int
    read_merges: int
    write_merges: int
    read_ticks_ms: int
    """Time that reads were in flight, summed over them."""
    write_ticks_ms: int
    in_queue_ms: int
    util_percent: float
    """Share of the time with at least one I/O in flight."""
    read_bytes: int | None
    """None in results of older versions of fio."""
    write_bytes: int | None


@dataclass(frozen=True)
class Point:
    """An interval of a job's timeline in one direction."""

    job: str
    direction: str
    start_ms: int
    """Since the jobs of the run were started."""
    end_ms: int
    io_bytes: int
    total_ios: int
    bytes_per_second: float
    ios_per_second: float
    latency_bins_ns: dict[int, int] = field(repr=False)
    """Number of I/Os by completion latency, with four bins per power of two."""


@dataclass(frozen=True)
class Finding:
    """A reason to doubt the figures, or something to know when reading them."""

    code: str
    severity: str
    """`wrong`, `doubtful` or `note`."""
    text: str
    advice: str | None
    job: str | None
    direction: str | None


@dataclass(frozen=True, repr=False)
class Result:
    """A run. `raw` is the whole document (docs/formats.md)."""

    jobs: list[JobResult]
    groups: list[Group]
    disks: list[Disk]
    raw: dict[str, Any] = field(repr=False)
    exit_status: int = 0
    notes: str = ""
    """What the program said on standard error."""

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
        """A result from a parsed document."""
        from .reading import result_of

        return result_of(document, exit_status, notes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the document to a file, for `load` and for `fathom report`, `show`, `explain` and `compare`."""
        # Written next to the file first: an existing one stays intact when the disk is full.
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
        """A row per job and direction with any I/O, as dicts; `frame` makes a table of them."""
        from .tables import rows_of

        return rows_of(self, percentiles)

    def frame(self, percentiles: Sequence[float] = (50.0, 99.0, 99.9)) -> pandas.DataFrame:
        """The rows as a pandas data frame; needs pandas."""
        from .tables import frame_of

        return frame_of(self.rows(percentiles))

    def timeline_frame(self) -> pandas.DataFrame:
        """The timeline as a pandas data frame, a row per point; needs pandas."""
        from .tables import frame_of, timeline_rows

        return frame_of(timeline_rows(self))

    def plot(self) -> list[Axes]:
        """Rates over time, where the result has a timeline, and latencies by percentile; needs matplotlib."""
        from .plots import plot

        return plot(self)

    def page(self) -> str:
        """The page of `fathom report`, a whole HTML document that loads nothing."""
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
