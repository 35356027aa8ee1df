"""fathom under the names of fio and its tools, for programs that start fio: `python -m fathom.fio --version`.

The package fathom-fio-compat installs these names as commands.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from .program import FathomError, find_program


def become(name: str, arguments: list[str]) -> NoReturn:
    """Replaces this process by the program under this name, so that signals and the exit status pass through directly."""
    try:
        program = find_program()
        os.execv(program, [name, *arguments])
    except (FathomError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        raise SystemExit(1) from error


def main() -> NoReturn:
    """Entry point of the fathom-fio-compat commands; the name of the command selects the program."""
    become(os.path.basename(sys.argv[0]), sys.argv[1:])


if __name__ == "__main__":
    become("fio", sys.argv[1:])
