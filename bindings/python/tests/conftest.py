"""What the tests share."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import pytest


@pytest.fixture(autouse=True)
def _directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test has its own directory and leaves no process behind."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    yield
    assert children() == [], "a process was left behind"


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c() -> None:
    """Shells start what runs in the background deaf to SIGINT, and Python leaves it so; the tests interrupt themselves."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def children() -> list[int]:
    """Child processes of this one, including unreaped ones."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        # A thread may end in the meantime.
        with suppress(OSError):
            found += [int(pid) for pid in (task / "children").read_text().split()]
    return found


def options(**more: Any) -> dict[str, Any]:
    """A job that writes a mebibyte into a file."""
    return {"name": "a", "rw": "write", "bs": "4k", "size": "1m", "filename": "data", **more}


def endless(**more: Any) -> dict[str, Any]:
    """The same for longer than any test."""
    return options(time_based=True, runtime=600, **more)


def skip(reason: str) -> NoReturn:
    """Skips a test that this machine cannot run, with the reason in the summary."""
    pytest.skip(reason)
