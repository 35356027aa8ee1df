"""The results of months: the store of `fathom history` as rows and data frames."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Union

from .pages import in_notebook, page_from
from .program import FathomError, call
from .sweeping import not_as_expected
from .tables import frame_of

if TYPE_CHECKING:
    import pandas

Store = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True, repr=False)
class History:
    """The figures of the runs in a store."""

    figures: list[dict[str, Any]]
    """A dict per run, job, direction and figure: `run`, `begun` (in UTC; None if unknown), `program`, `verdict`, `fingerprint`,
    `host`, `kernel`, `device`, `model`, `firmware`, `serial`, `tags`, `job`, `direction`, `figure` and `value`."""
    store: str | None = field(repr=False)
    where: dict[str, str] = field(repr=False)

    def rows(self) -> list[dict[str, Any]]:
        """The figures, with a key `tag.NAME` for each tag."""
        names = sorted({name for row in self.figures for name in row["tags"]})
        return [
            {
                **{key: value for key, value in row.items() if key != "tags"},
                **{f"tag.{name}": row["tags"].get(name) for name in names},
            }
            for row in self.figures
        ]

    def frame(self) -> pandas.DataFrame:
        """The rows as a pandas data frame; needs pandas."""
        return frame_of(self.rows())

    def page(self) -> str:
        """The page of `fathom history report`."""
        return page_from(["history", "report", *_selection(self.store, self.where), "--output=-"], b"")

    def __repr__(self) -> str:
        runs = len({row["run"] for row in self.figures})
        return f"<History: {len(self.figures)} figures of {runs} runs>"

    def _repr_html_(self) -> str:
        return in_notebook(self.page, "History")


def history(store: Store | None = None, *, where: Mapping[str, str] | None = None) -> History:
    """Reads the figures of all runs in a store that meet the conditions (docs/history.md).

    `store` is a file or a URL of PostgreSQL; by default that of `fathom history`: FATHOM_HISTORY, or the user's own. `where` has the
    conditions of `--where`, as in `{"job": "randread", "branch": "main"}`.
    """
    place = None if store is None else os.fspath(store)
    conditions = dict(where or {})
    _, output, _ = call(["history", "export", "--format=csv", *_selection(place, conditions)])
    try:
        rows = [_typed(row) for row in csv.DictReader(io.StringIO(output.decode(), newline=""))]
    except (KeyError, TypeError, ValueError) as error:
        raise not_as_expected("history", error) from error
    return History(rows, place, conditions)


def _selection(store: str | None, where: Mapping[str, str]) -> list[str]:
    for name in where:
        if "=" in name:
            raise FathomError(f"history: {name!r} is not a name of a property or a tag")
    return [*([] if store is None else [f"--store={store}"]), *(f"--where={name}={value}" for name, value in where.items())]


def _typed(row: dict[str, str]) -> dict[str, Any]:
    begun_ms = int(row["begun_ms"])
    typed: dict[str, Any] = {"run": int(row["run"])}
    typed["begun"] = datetime.fromtimestamp(begun_ms / 1000, timezone.utc) if begun_ms else None
    for name in ("program", "verdict", "fingerprint", "host", "kernel", "device", "model", "firmware", "serial"):
        typed[name] = row[name]
    typed["tags"] = json.loads(row["tags"])
    typed.update(job=row["job"], direction=row["direction"], figure=row["figure"], value=float(row["value"]))
    return typed
