"""Comparisons of results."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

from .pages import in_notebook, page_from
from .program import FathomError, call
from .result import Result
from .scratch import scratch_directory, write
from .tables import frame_of

if TYPE_CHECKING:
    import pandas

Side = Union[Result, str, "os.PathLike[str]", Sequence[Union[Result, str, "os.PathLike[str]"]]]


@dataclass(frozen=True)
class Difference:
    """One figure on both sides, in `unit`: `bytes/s`, `1/s` or `ns`. Values that the runs do not determine are None."""

    job: str
    direction: str | None
    figure: str
    unit: str
    a_median: float | None
    b_median: float | None
    a_runs: int
    b_runs: int
    change_percent: float | None
    """From A to B."""
    change_low: float | None
    """The 95 % confidence interval of the change, in percent."""
    change_high: float | None
    verdict: str
    """`faster`, `slower`, `not distinguishable`, `too few I/Os`, `not tested` and others of docs/compare.md."""
    raw: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Condition:
    """The result of a condition of `fail_if`."""

    limit: str
    job: str
    outcome: str
    """`met` if the condition is fulfilled and the comparison fails."""
    found: str


@dataclass(frozen=True)
class Comparison:
    """A comparison: two sides and their differences."""

    differences: list[Difference]
    conditions: list[Condition]
    warnings: list[str]
    notes: list[str]
    only_in_a: list[str]
    only_in_b: list[str]
    raw: dict[str, Any] = field(repr=False)
    _page: str = field(repr=False)

    @property
    def failed(self) -> bool:
        """True if a condition of `fail_if` is met."""
        return any(condition.outcome == "met" for condition in self.conditions)

    def frame(self) -> pandas.DataFrame:
        """The differences as a pandas data frame; needs pandas."""
        return frame_of(self.raw["comparisons"])

    def page(self) -> str:
        """The HTML page of `fathom compare -o`."""
        return self._page

    def _repr_html_(self) -> str:
        return in_notebook(self.page, "Comparison")


def compare(a: Side, b: Side, *, fail_if: Sequence[str] = (), strict: bool = False) -> Comparison:
    """Compares results: a Result, a file, a directory of runs, or several of them on each side.

    `fail_if` are conditions such as `p99 > +5%`; `Comparison.failed` says whether one is met. `strict` also counts differences
    that may be chance.
    """
    words = [f"--fail-if={condition}" for condition in ([fail_if] if isinstance(fail_if, str) else fail_if)]
    words += ["--strict"] if strict else []
    with _files(a, "A") as files_a, _files(b, "B") as files_b:
        sides = [*files_a, "--", *files_b]
        # Status 2 reports that a condition is met, which is not an error here.
        _, output, _ = call(["compare", "--format=json", *words, *sides], good=(0, 2))
        page = page_from(["compare", "--output=-", *sides], b"")
    return _comparison(output, page)


def _comparison(output: bytes, page: str) -> Comparison:
    try:
        document = json.loads(output)
        names = [name for name in Difference.__dataclass_fields__ if name != "raw"]
        return Comparison(
            [Difference(**{name: each[name] for name in names}, raw=each) for each in document["comparisons"]],
            [Condition(each["limit"], each["job"], each["outcome"], each["found"]) for each in document["fail_if"]],
            [str(each) for each in document["warnings"]],
            [str(each) for each in document["notes"]],
            [str(each) for each in document["only_in_a"]],
            [str(each) for each in document["only_in_b"]],
            document,
            page,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FathomError(
            f"compare: not as this package reads it ({error!r}); install the program that belongs to it"
        ) from error


@contextmanager
def _files(side: Side, name: str) -> Iterator[list[str]]:
    """The file names for the command line; results are written to temporary files for the duration of the command."""
    entries = [side] if isinstance(side, (Result, str, os.PathLike)) else list(side)
    if not entries:
        raise FathomError(f"compare: {name} has no results")
    with scratch_directory() as directory:
        paths = []
        for number, entry in enumerate(entries, 1):
            if isinstance(entry, Result):
                paths.append(write(directory / f"{name}-{number}.json", json.dumps(entry.raw).encode()))
            else:
                # A cell of a sweep is given as FILE:NAME=VALUE, so the argument is not always a file name.
                text = os.fspath(entry)
                paths.append(os.path.join(".", text) if text.startswith("-") else text)
        yield paths
