"""Results as rows, and rows as data frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .program import FathomError

if TYPE_CHECKING:
    import pandas

    from .result import Latency, Result


def rows_of(result: Result, percentiles: Sequence[float]) -> list[dict[str, Any]]:
    """One row per job and direction with I/O. Latencies are completion latencies, or None."""
    rows = []
    for job in result.jobs:
        for name, direction in job.directions().items():
            latency = direction.completion_latency
            row: dict[str, Any] = {
                "job": job.name,
                "group": job.group,
                "direction": name,
                "error": job.error,
                "io_bytes": direction.io_bytes,
                "total_ios": direction.total_ios,
                "runtime_ms": direction.runtime_ms,
                "bytes_per_second": direction.bytes_per_second,
                "ios_per_second": direction.ios_per_second,
                "mean_ns": latency.mean_ns if latency and latency.count else None,
            }
            row.update((f"p{percent:g}_ns", _percentile(latency, percent)) for percent in percentiles)
            row["max_ns"] = latency.max_ns if latency and latency.count else None
            rows.append(row)
    return rows


def _percentile(latency: Latency | None, percent: float) -> int | None:
    if latency is None or latency.count == 0:
        return None
    try:
        return latency.percentile_ns(percent)
    except FathomError:
        return None


def timeline_rows(result: Result) -> list[dict[str, Any]]:
    """One row per point of the timeline."""
    return [
        {
            "job": point.job,
            "direction": point.direction,
            "start_ms": point.start_ms,
            "end_ms": point.end_ms,
            "io_bytes": point.io_bytes,
            "total_ios": point.total_ios,
            "bytes_per_second": point.bytes_per_second,
            "ios_per_second": point.ios_per_second,
        }
        for point in result.timeline
    ]


def frame_of(rows: list[dict[str, Any]]) -> pandas.DataFrame:
    """A data frame of the rows."""
    try:
        import pandas
    except ImportError as error:
        raise FathomError(f"frame: {error}; pip install pandas, or use rows()") from error
    frame: pandas.DataFrame = pandas.DataFrame(rows)
    return frame
