"""Response times as a function of the load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .job import Job, Value
from .pages import in_notebook, page_of_lines
from .program import OnLine
from .sweeping import ResultsFile, Vary, measure, not_as_expected, varied
from .tables import frame_of

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Response:
    """A percentile of the response times at one load, in nanoseconds: the median over the runs and its 95 % interval."""

    median: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Step:
    """One load. Rates are in I/Os per second."""

    rate: float
    """Asked for."""
    offered_iops: float
    served_iops: float
    sustained: bool
    """False where the backlog grows: response times then depend on the length of the run."""
    backlog_mean: float
    response_mean_ns: float
    response_ns: dict[str, Response]
    """Percentiles by name: `p50`, `p99`, `p99.9`."""
    runs: int


@dataclass(frozen=True)
class Line:
    """The loads for one combination of the varied options."""

    options: dict[str, str]
    steps: list[Step]
    knee: float | None
    """The rate with the highest ratio of rate to mean response time."""
    highest: Any
    """The highest rate that meets the `slo`, as the program reports it; None if no `slo` was given (docs/curve.md)."""


@dataclass(frozen=True)
class Curve:
    """Response times as a function of the load."""

    lines: list[Line]
    limits: list[str]
    failed_runs: int
    raw: dict[str, Any] = field(repr=False)
    results: bytes = field(repr=False)
    """The results file: the plan, and each run with its complete report."""

    @property
    def doubts(self) -> list[str]:
        """Reasons why the figures of runs are wrong or doubtful."""
        return list(self.raw["doubts"])

    def rows(self) -> list[dict[str, Any]]:
        """One row per load, as dicts."""
        rows = []
        for line in self.lines:
            for step in line.steps:
                row: dict[str, Any] = dict(line.options)
                names = ("rate", "offered_iops", "served_iops", "sustained", "backlog_mean", "response_mean_ns", "runs")
                row.update((name, getattr(step, name)) for name in names)
                row.update((f"{name}_ns", each.median) for name, each in step.response_ns.items())
                rows.append(row)
        return rows

    def frame(self) -> pandas.DataFrame:
        """The rows as a pandas data frame; needs pandas."""
        return frame_of(self.rows())

    def plot(self) -> list[Axes]:
        """Plots response times against the served load; needs matplotlib."""
        from .plots import plot_curve

        return plot_curve(self)

    def page(self) -> str:
        """The HTML page of `fathom report`."""
        return page_of_lines(self.results, "job.curve.jsonl")

    def _repr_html_(self) -> str:
        return in_notebook(self.page, "Curve")


def curve(
    job: Job | None = None,
    *,
    rates: Sequence[int | float | str] = (),
    slo: str | None = None,
    time: str | None = None,
    most_runs: int | None = None,
    vary: Vary | None = None,
    seed: int | None = None,
    results: ResultsFile = None,
    on_run: OnLine = None,
    arguments: Sequence[str] = (),
    **options: Value,
) -> Curve:
    """Applies increasing load with a job in an open loop (docs/curve.md).

    `rates` are I/Os per second; without them the program chooses the loads. `slo` are limits such as `p99<2ms`. `time` is the
    length of a run with its unit. `results` names the results file: a curve that was interrupted resumes from it. Without one, nothing is stored on disk. `on_run` gets the line that the program prints for each run.
    """
    words = [*varied(vary or {}), *arguments]
    words += [f"--rates={','.join(str(rate) for rate in rates)}"] if rates else []
    given = {"slo": slo, "time": time, "most-runs": most_runs, "seed": seed}
    words += [f"--{name}={value}" for name, value in given.items() if value is not None]
    document, lines = measure("curve", job, options, words, results, on_run)
    try:
        found = [_line(each) for each in document["curves"]]
        return Curve(found, list(document["limits"]), int(document["failed_runs"]), document, lines)
    except (KeyError, TypeError, ValueError) as error:
        raise not_as_expected("curve", error) from error


def _line(line: dict[str, Any]) -> Line:
    return Line(dict(line["options"]), [_step(step) for step in line["steps"]], line["knee"], line["highest"])


def _step(step: dict[str, Any]) -> Step:
    response = {
        name: Response(each["ns"], each["low"], each["high"])
        for name, each in step["response"].items()
        if each is not None and each["ns"] is not None
    }
    return Step(
        rate=step["rate"],
        offered_iops=step["offered_iops"],
        served_iops=step["served_iops"],
        sustained=bool(step["sustained"]),
        backlog_mean=step["backlog_mean"],
        response_mean_ns=step["response_mean_ns"],
        response_ns=response,
        runs=int(step["runs"]),
    )
