"""Shared parts of sweeps and curves."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from .job import Job, Value, as_file
from .pages import in_notebook, page_of_lines
from .program import FathomError, OnLine, call
from .scratch import scratch_directory
from .tables import frame_of

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

Vary = Mapping[str, Sequence[Value]]
ResultsFile = Union[str, "os.PathLike[str]", None]


@dataclass(frozen=True)
class Figure:
    """One figure of a cell, in `unit`: `bytes/s`, `1/s` or `ns`."""

    name: str
    unit: str
    median: float | None
    low: float | None
    """The 95 % confidence interval; None with a single run."""
    high: float | None
    verdict: str | None
    """`best`, `not_distinguishable` from it, `worse`, or None if the runs do not decide."""


@dataclass(frozen=True)
class Cell:
    """One combination of values."""

    options: dict[str, str]
    """The varied options, and `job` if there are several jobs."""
    runs: int
    figures: dict[str, Figure]
    notes: list[str]

    def figure(self, name: str) -> Figure:
        """Returns a figure by its heading (`mean lat`), or by its name in `figures=` (`lat`, `read-bw`)."""
        for figure in self.figures.values():
            if heading_of(figure.name) == heading_of(name):
                return figure
        raise FathomError(f"figure {name!r} is not one of {', '.join(self.figures)}")


@dataclass(frozen=True, repr=False)
class Sweep:
    """All cells of a sweep."""

    cells: list[Cell]
    runs_done: int
    raw: dict[str, Any] = field(repr=False)
    lines: bytes = field(repr=False)
    """The results file: the plan, and each run with its whole report."""

    @property
    def doubts(self) -> list[str]:
        """Why figures of runs are wrong or doubtful."""
        return list(self.raw["doubts"])

    def best(self, figure: str, job: str | None = None) -> Cell | None:
        """The best cell for a figure; None if the runs do not distinguish it from the second best."""
        known = [
            each for each in self.raw["best"] if heading_of(each["figure"]) == heading_of(figure) and job in (None, each["job"])
        ]
        if len(known) != 1:
            names = sorted({f"{each['figure']} of {each['job']}" for each in self.raw["best"]})
            raise FathomError(f"best: {figure!r} of job {job!r} is not one of {', '.join(names)}")
        row = known[0]["row"]
        return None if row is None else self.cells[row]

    def rows(self) -> list[dict[str, Any]]:
        """One row per cell and figure, as dicts."""
        return [
            {**cell.options, "runs": cell.runs, **{name: getattr(figure, name) for name in _FIGURE_COLUMNS}}
            for cell in self.cells
            for figure in cell.figures.values()
        ]

    def frame(self) -> pandas.DataFrame:
        """The rows as a pandas data frame; needs pandas."""
        return frame_of(self.rows())

    def plot(self, figure: str | None = None) -> list[Axes]:
        """Plots a figure (or every figure) against the option with the most values, one line per combination of the others;
        needs matplotlib."""
        from .plots import plot_sweep

        return plot_sweep(self, figure)

    def page(self) -> str:
        """The page of `fathom report`."""
        return page_of_lines(self.lines, "job.sweep.jsonl")

    def __repr__(self) -> str:
        return f"<Sweep of {len(self.cells)} cells, {self.runs_done} runs: {', '.join(self.cells[0].figures) if self.cells else ''}>"

    def _repr_html_(self) -> str:
        return in_notebook(self.page, "Sweep")


_FIGURE_COLUMNS = ("name", "unit", "median", "low", "high", "verdict")


def sweep(
    job: Job | None = None,
    *,
    vary: Vary,
    repeats: int | None = None,
    seed: int | None = None,
    figures: Sequence[str] = (),
    results: ResultsFile = None,
    on_run: OnLine = None,
    arguments: Sequence[str] = (),
    **options: Value,
) -> Sweep:
    """Runs a job with every combination of the values, several times each (default 3), in random order.

    `results` names the results file: an interrupted sweep resumes from it. Without one, nothing is stored on disk.
    `on_run` gets the line that the program prints for each run. `figures` are those of docs/sweep.md, such as `read-bw` or `p99`.
    `arguments` are additional command-line arguments, such as `--pause=5s`.
    """
    words = [*varied(vary), *arguments]
    if not vary:
        raise FathomError("sweep: nothing to vary; give vary={'iodepth': [1, 16]}")
    words += [f"--repeats={repeats}"] if repeats is not None else []
    words += [f"--seed={seed}"] if seed is not None else []
    words += [f"--figures={','.join(figures)}"] if figures else []
    document, lines = measure("sweep", job, options, words, results, on_run)
    try:
        cells = [_cell(row) for row in document["rows"]]
        return Sweep(cells, int(document["runs_done"]), document, lines)
    except (KeyError, TypeError, ValueError) as error:
        raise not_as_expected("sweep", error) from error


def heading_of(figure: str) -> str:
    """The heading of a figure, given the heading or the name used in `figures=`."""
    words = figure.lower().replace("-", " ").split()
    if words and words[-1] == "bw":
        words[-1] = "bandwidth"
    if words and words[-1] == "lat" and "mean" not in words:
        words.insert(len(words) - 1, "mean")
    return " ".join(words)


def _cell(row: dict[str, Any]) -> Cell:
    figures = {
        each["figure"]: Figure(each["figure"], each["unit"], each["median"], each["low"], each["high"], each["verdict"])
        for each in row["figures"]
    }
    return Cell(dict(row["options"]), int(row["runs"]), figures, list(row["notes"]))


def varied(vary: Vary) -> list[str]:
    """The arguments for the varied options."""
    words = []
    for name, values in vary.items():
        if isinstance(values, str) or not values:
            raise FathomError(f"vary: {name}: give a list of values, not {values!r}")
        texts = [str(int(value)) if isinstance(value, bool) else str(value) for value in values]
        if any(";" in text for text in texts):
            raise FathomError(f"vary: {name}: a value with a semicolon cannot be varied")
        # Semicolons, because values may contain commas; a single value has no separator.
        words.append(f"--vary={name}={';'.join(texts)}")
    return words


def measure(
    command: str, job: Job | None, options: Mapping[str, Value], words: Sequence[str], results: ResultsFile, on_run: OnLine
) -> tuple[dict[str, Any], bytes]:
    """Runs `fathom sweep` or `fathom curve`; returns its JSON output and its results file."""
    with scratch_directory() as directory, as_file(job, options) as file:
        kept = directory / f"job.{command}.jsonl" if results is None else Path(results)
        _, output, _ = call([command, file, *words, "--format=json", f"--output={kept}"], on_line=on_run)
        try:
            return dict(json.loads(output)), kept.read_bytes()
        except OSError as error:
            raise FathomError(f"{command}: results file {kept}: {error}") from error
        except ValueError as error:
            raise not_as_expected(command, error) from error


def not_as_expected(command: str, error: Exception) -> FathomError:
    """The error for output of a program of another version."""
    return FathomError(f"{command}: not as this package reads it ({error!r}); install the program that belongs to it")
