"""How fast is this disk? Are its syncs fast enough for a log?"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from .pages import in_notebook, page_of_result
from .program import FathomError, call
from .result import Result
from .scratch import scratch_directory
from .sweeping import not_as_expected
from .tables import frame_of

if TYPE_CHECKING:
    import pandas

Directory = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class QuickTest:
    """One of the eight tests; figures are None if it was not run. With several runs they are medians."""

    name: str
    """Such as `read-rand-4k-d32`."""
    direction: str
    random: bool
    block_size: str
    depth: int
    bytes_per_second: float | None
    iops: float | None
    p50_ns: float | None
    p99_ns: float | None
    p999_ns: float | None
    intervals: dict[str, tuple[float, float]]
    """95 % confidence intervals between the runs, by the name of the figure; empty with a single run."""
    doubts: list[str]


@dataclass(frozen=True, repr=False)
class Quick:
    """The answer of `fathom quick`."""

    headline: str
    """The answer in a sentence or two."""
    place: str
    tests: list[QuickTest]
    doubts: list[str]
    """Doubts about all tests; those about one are with it."""
    results: list[Result] = field(repr=False)
    """The full result of each run."""
    raw: dict[str, Any] = field(repr=False)

    def test(self, name: str) -> QuickTest:
        """The test of this name."""
        for test in self.tests:
            if test.name == name:
                return test
        raise FathomError(f"no test {name!r}; there are {', '.join(test.name for test in self.tests)}")

    def rows(self) -> list[dict[str, Any]]:
        """A row per test, as dicts."""
        names = [name for name in QuickTest.__dataclass_fields__ if name not in ("intervals", "doubts")]
        return [{**{name: getattr(test, name) for name in names}, "doubtful": bool(test.doubts)} for test in self.tests]

    def frame(self) -> pandas.DataFrame:
        """The rows as a pandas data frame; needs pandas."""
        return frame_of(self.rows())

    def page(self) -> str:
        """The page of `fathom report` of the first run."""
        return page_of_result(self.results[0])

    def __repr__(self) -> str:
        return f"<Quick of {self.place}: {self.headline}>"

    def _repr_html_(self) -> str:
        return in_notebook(self.page, "Quick")


@dataclass(frozen=True)
class FsyncCheck:
    """The answer of `fathom fsync-check`."""

    fast_enough: bool | None
    """None without an answer: too few syncs, or figures that are wrong."""
    percentile: float
    value_ns: int
    """The latency of fdatasync at the percentile."""
    threshold_ns: int
    syncs: int
    syncs_per_second: float
    min_ns: int
    mean_ns: float
    max_ns: int
    percentiles_ns: dict[float, int] = field(repr=False)
    """The percentiles that the number of syncs supports."""
    reasons: list[str]
    """Reasons to doubt the answer."""
    result: Result = field(repr=False)
    """The full result of the run."""
    raw: dict[str, Any] = field(repr=False)


def quick(
    directory: Directory = ".",
    *,
    size: str | None = None,
    time: str | None = None,
    repeats: int | None = None,
    arguments: Sequence[str] = (),
) -> Quick:
    """Measures the storage under a directory with eight tests (docs/quick.md), on an unnamed file that leaves nothing behind.

    `time` is the length of each test with its unit (default 5s), `size` that of the file (default 1g). `repeats` runs all tests
    several times: medians, and intervals between the runs.
    """
    given = {"size": size, "time": time, "repeats": repeats}
    document, results = _answer("quick", directory, given, arguments, good=(0,))
    try:
        tests = [_test(each) for each in document["tests"]]
        doubts = [str(each) for each in document["doubts"]]
        return Quick(str(document["headline"]), str(document["place"]), tests, doubts, results, document)
    except (KeyError, TypeError, ValueError) as error:
        raise not_as_expected("quick", error) from error


def fsync_check(
    directory: Directory = ".",
    *,
    threshold: str | None = None,
    percentile: float | None = None,
    bs: str | int | None = None,
    size: str | None = None,
    arguments: Sequence[str] = (),
) -> FsyncCheck:
    """Are syncs under a directory fast enough for the log of a database (docs/fsync-check.md)?

    `threshold` is the slowest fdatasync that is fast enough (default 10ms), at the `percentile` (default 99). Records of `bs` bytes
    are appended, `size` in all.
    """
    given = {"threshold": threshold, "percentile": percentile, "bs": bs, "size": size}
    # Status 2 means too slow; status 1 with a document means no answer.
    document, results = _answer("fsync-check", directory, given, arguments, good=(0, 1, 2))
    try:
        names = (
            "fast_enough",
            "percentile",
            "value_ns",
            "threshold_ns",
            "syncs",
            "syncs_per_second",
            "min_ns",
            "mean_ns",
            "max_ns",
        )
        return FsyncCheck(
            **{name: document[name] for name in names},
            percentiles_ns={float(name[1:]): int(ns) for name, ns in document["percentiles_ns"].items()},
            reasons=[str(each) for each in document["reasons"]],
            result=results[0],
            raw=document,
        )
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise not_as_expected("fsync-check", error) from error


def _answer(
    command: str, directory: Directory, given: dict[str, Any], arguments: Sequence[str], good: Sequence[int]
) -> tuple[dict[str, Any], list[Result]]:
    """The document that a command prints, and the results that it saves."""
    words = [f"--{name}={value}" for name, value in given.items() if value is not None]
    with scratch_directory() as scratch:
        saved = scratch / "results"
        place = os.path.join(os.fspath(directory), "")
        status, output, notes = call([command, "--format=json", f"--save={saved}", *words, *arguments, place], good=good)
        if not output.strip():
            raise FathomError(notes or f"{command}: no answer", status)
        files = sorted(saved.iterdir()) if saved.is_dir() else [saved]
        results = [Result.load(file) for file in files if Path(file).is_file()]
    document = json.loads(output)
    return document, results


def _test(test: dict[str, Any]) -> QuickTest:
    return QuickTest(
        name=str(test["name"]),
        direction=str(test["direction"]),
        random=bool(test["random"]),
        block_size=str(test["block_size"]),
        depth=int(test["depth"]),
        bytes_per_second=test.get("bytes_per_second"),
        iops=test.get("iops"),
        p50_ns=test.get("p50_ns"),
        p99_ns=test.get("p99_ns"),
        p999_ns=test.get("p99.9_ns"),
        intervals={name.replace("p99.9", "p999"): (low, high) for name, (low, high) in test.get("intervals", {}).items()},
        doubts=[str(each) for each in test["doubts"]],
    )
