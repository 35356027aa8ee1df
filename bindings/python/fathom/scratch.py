"""Temporary files for the duration of a command. Only their owner can read them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .program import FathomError

ADVICE = "make room, or let TMPDIR name another directory"


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """A temporary directory that is removed at the end of the block. Exceptions raised inside the block pass unchanged."""
    try:
        directory = tempfile.mkdtemp(prefix="fathom-")
    except OSError as error:
        raise FathomError(f"temporary directory: {error}; {ADVICE}") from error
    try:
        yield Path(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def write(path: Path, content: bytes) -> str:
    """Writes a file and returns its name."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise FathomError(f"temporary file: {error}; {ADVICE}") from error
    return str(path)
