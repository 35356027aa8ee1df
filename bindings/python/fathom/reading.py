"""Reads the JSON of fathom and fio."""

from __future__ import annotations

import json
from typing import Any

from .program import FathomError
from .result import Direction, Disk, Finding, Group, GroupTotal, JobResult, Latency, Point, Result, Sync

SECTOR_BYTES = 512
DIRECTIONS = ("read", "write", "trim")
ADVICE = "give a whole file of --output-format=json, json+ or jsonl"


def document_of(text: str) -> Any:
    """The document in an output: JSON, possibly after lines of messages as from fio, or the last line of JSON lines."""
    lines = [line for line in text.split("\n") if line.strip()]
    if any(line.startswith('{"interval"') for line in lines):
        text = lines[-1]
    begin = 0 if text.startswith("{") else text.find("\n{") + 1
    try:
        document, _ = json.JSONDecoder().raw_decode(text, begin)
    except (ValueError, RecursionError) as error:
        raise FathomError(f"not JSON ({error}); {ADVICE}") from error
    return document


def result_of(document: Any, exit_status: int, notes: str) -> Result:
    """Converts a document to a result."""
    try:
        jobs = [_job(job) for job in _entries(document)]
        disks = [_disk(disk) for disk in document.get("disk_util", [])]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise FathomError(f"not a result of fathom or fio ({error!r}); {ADVICE}") from error
    numbers = sorted({job.group for job in jobs})
    groups = [_group(number, [job for job in jobs if job.group == number]) for number in numbers]
    return Result(jobs, groups, disks, document, exit_status, notes)


def _entries(document: Any) -> Any:
    """The jobs; with `--client` they are under another key, together with their sum, which is not a job."""
    if "client_stats" in document and "jobs" not in document:
        return [entry for entry in document["client_stats"] if entry["jobname"] != "All clients"]
    return document["jobs"]


def _job(job: Any) -> JobResult:
    read, write, trim = (_direction(job[name]) for name in DIRECTIONS)
    sync = job.get("sync")
    return JobResult(
        name=str(job["jobname"]),
        host=str(job["hostname"]) if "hostname" in job else None,
        group=int(job.get("groupid", 0)),
        error=int(job.get("error", 0)),
        elapsed_s=int(job.get("elapsed", 0)),
        options={str(key): str(value) for key, value in job.get("job options", {}).items()},
        read=read,
        write=write,
        trim=trim,
        sync=None if sync is None else Sync(int(sync["total_ios"]), _latency(sync, "lat_ns", sync["total_ios"])),
        user_cpu_percent=float(job.get("usr_cpu", 0)),
        system_cpu_percent=float(job.get("sys_cpu", 0)),
        context_switches=int(job.get("ctx", 0)),
        raw=job,
    )


def _direction(figures: Any) -> Direction:
    count = figures["total_ios"]
    return Direction(
        io_bytes=int(figures["io_bytes"]),
        total_ios=int(count),
        bytes_per_second=float(figures["bw_bytes"]),
        ios_per_second=float(figures["iops"]),
        runtime_ms=int(figures["runtime"]),
        short_ios=int(figures.get("short_ios", 0)),
        dropped_ios=int(figures.get("drop_ios", 0)),
        submission_latency=_latency(figures, "slat_ns", count),
        completion_latency=_latency(figures, "clat_ns", count),
        total_latency=_latency(figures, "lat_ns", count),
        response_time=_latency(figures, "resp_ns", count),
    )


def _latency(figures: Any, key: str, count: int) -> Latency | None:
    latency = figures.get(key)
    if latency is None:
        return None
    return Latency(
        # Old versions of fio have no separate count of latencies.
        count=int(latency.get("N", count)),
        min_ns=float(latency["min"]),
        max_ns=float(latency["max"]),
        mean_ns=float(latency["mean"]),
        stddev_ns=float(latency["stddev"]),
        # The report contains the centre of a bin, which may exceed the maximum latency in it.
        percentiles_ns={
            float(percent): _at_most(int(value), latency["max"]) for percent, value in latency.get("percentile", {}).items()
        },
        bins_ns={int(value): int(number) for value, number in latency.get("bins", {}).items()},
    )


def _at_most(percentile: int, maximum: float) -> int:
    return min(percentile, int(maximum)) if maximum else percentile


def _group(number: int, jobs: list[JobResult]) -> Group:
    totals = []
    for name in DIRECTIONS:
        each: list[Direction] = [getattr(job, name) for job in jobs]
        longest = max(direction.runtime_ms for direction in each)
        io_bytes = sum(direction.io_bytes for direction in each)
        total_ios = sum(direction.total_ios for direction in each)
        seconds = longest / 1000
        rates = (io_bytes / seconds, total_ios / seconds) if longest else (0.0, 0.0)
        totals.append(GroupTotal(io_bytes, total_ios, *rates, longest))
    return Group(number, jobs, *totals)


def _disk(disk: Any) -> Disk:
    sectors = [disk.get(name) for name in ("read_sectors", "write_sectors")]
    read_bytes, write_bytes = (None if each is None else int(each) * SECTOR_BYTES for each in sectors)
    return Disk(
        name=str(disk["name"]),
        read_ios=int(disk["read_ios"]),
        write_ios=int(disk["write_ios"]),
        read_merges=int(disk["read_merges"]),
        write_merges=int(disk["write_merges"]),
        read_ticks_ms=int(disk["read_ticks"]),
        write_ticks_ms=int(disk["write_ticks"]),
        in_queue_ms=int(disk["in_queue"]),
        util_percent=float(disk["util"]),
        read_bytes=read_bytes,
        write_bytes=write_bytes,
    )


def findings_of(document: dict[str, Any]) -> list[Finding]:
    """The findings of the verdict in a document."""
    try:
        return [
            Finding(each["code"], each["severity"], each["text"], each.get("advice"), each.get("job"), each.get("direction"))
            for each in document.get("fathom verdict", {}).get("findings", [])
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise FathomError(f"fathom verdict: not as this version writes it ({error!r}); {ADVICE}") from error


def timeline_of(document: dict[str, Any]) -> list[Point]:
    """The timeline of a document as points, ordered by job and direction."""
    try:
        points = []
        for job in document.get("fathom timeline", {}).get("jobs", []):
            for direction in DIRECTIONS:
                start = 0
                for point in job["points"]:
                    if direction in point:
                        # Versions before 0.1 wrote `jobname`.
                        name = job.get("job", job.get("jobname", "all"))
                        points.append(_point(name, direction, start, point))
                    start = point["end_ms"]
        return points
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise FathomError(f"fathom timeline: not as this version writes it ({error!r}); {ADVICE}") from error


def _point(job: str, direction: str, start_ms: int, point: dict[str, Any]) -> Point:
    figures = point[direction]
    seconds = (point["end_ms"] - start_ms) / 1000
    io_bytes, total_ios = figures["io_bytes"], figures["total_ios"]
    rates: tuple[float, float] = (io_bytes / seconds, total_ios / seconds) if seconds > 0 else (0.0, 0.0)
    bins = {int(value): int(number) for value, number in figures.get("clat_bins", {}).items()}
    return Point(job, direction, start_ms, point["end_ms"], io_bytes, total_ios, *rates, bins)
