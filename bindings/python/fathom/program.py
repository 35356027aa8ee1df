"""Where the program `fathom` is."""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path


class FathomError(Exception):
    """A run that failed; the text is the program's own message."""

    def __init__(self, message: str, exit_status: int | None = None) -> None:
        super().__init__(message)
        self.exit_status = exit_status


def find_program() -> str:
    """The program next to the interpreter, else the one that FATHOM_PROGRAM names, else the one on the PATH."""
    beside = Path(sysconfig.get_path("scripts")) / "fathom"
    if os.access(beside, os.X_OK) and beside.is_file():
        return str(beside)
    named = os.environ.get("FATHOM_PROGRAM")
    if named:
        if not (os.path.isfile(named) and os.access(named, os.X_OK)):
            raise FathomError(f"FATHOM_PROGRAM={named}: not a program; name the executable fathom or unset the variable")
        return named
    found = shutil.which("fathom")
    if found is None:
        raise FathomError("fathom: program not found; set FATHOM_PROGRAM to its path or put it on the PATH")
    return found
