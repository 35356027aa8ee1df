"""Results, read from the JSON of fathom or fio."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .program import FathomError


@dataclass(frozen=True)
class Latency:
    """Completion latencies. All values are nanoseconds."""

    count: int
    min_ns: float
    max_ns: float
    mean_ns: float
    stddev_ns: float
    percentiles_ns: dict[float, int]
    bins_ns: dict[int, int]
    """Number of I/Os by the latency of their bin."""


@dataclass(frozen=True)
class Direction:
    """What a job did in one direction: bytes, I/Os, and both per second."""

    io_bytes: int
    total_ios: int
    bytes_per_second: float
    ios_per_second: float
    completion_latency: Latency


@dataclass(frozen=True)
class JobResult:
    """A job, or a group of clones with group_reporting."""

    name: str
    error: int
    read: Direction
    write: Direction
    trim: Direction


@dataclass(frozen=True)
class Result:
    """A run: its jobs, the whole document (`raw`), the exit status and what the program said besides (`notes`)."""

    jobs: list[JobResult]
    raw: dict[str, Any]
    exit_status: int = 0
    notes: str = ""

    @property
    def verdict(self) -> str | None:
        """`wrong`, `doubtful` or `no doubts`; None in a result of fio."""
        found = self.raw.get("fathom verdict")
        return str(found["verdict"]) if isinstance(found, dict) and "verdict" in found else None

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Reads the output of `--output-format=json` or `json+` of fathom or fio."""
        try:
            return cls.from_document(json.loads(Path(path).read_text()))
        except (OSError, ValueError) as error:
            raise FathomError(f"result {path}: {error}; give a file of --output-format=json") from error
        except FathomError as error:
            raise FathomError(f"result {path}: {error}") from error

    @classmethod
    def from_document(cls, document: Any, exit_status: int = 0, notes: str = "") -> Result:
        """A result from a parsed document."""
        try:
            jobs = [_job(job) for job in document["jobs"]]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FathomError(f"not a result of fathom or fio ({error!r}); give the output of --output-format=json") from error
        return cls(jobs, document, exit_status, notes)


def _job(job: Any) -> JobResult:
    read, write, trim = (_direction(job[name]) for name in ("read", "write", "trim"))
    return JobResult(str(job["jobname"]), int(job.get("error", 0)), read, write, trim)


def _direction(figures: Any) -> Direction:
    latency = figures["clat_ns"] if "clat_ns" in figures else figures["lat_ns"]
    return Direction(
        int(figures["io_bytes"]),
        int(figures["total_ios"]),
        float(figures["bw_bytes"]),
        float(figures["iops"]),
        Latency(
            int(latency.get("N", figures["total_ios"])),
            float(latency["min"]),
            float(latency["max"]),
            float(latency["mean"]),
            float(latency["stddev"]),
            {float(key): int(value) for key, value in latency.get("percentile", {}).items()},
            {int(key): int(value) for key, value in latency.get("bins", {}).items()},
        ),
    )
