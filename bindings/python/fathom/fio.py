"""fathom under the names of fio and its tools, for programs that start those: `python -m fathom.fio --version`.

The package fathom-fio-compat installs these names as commands.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from .program import FathomError, find_program


def become(name: str, arguments: list[str]) -> NoReturn:
    """Replaces this process by the program under this name, so signals and the exit status are its own."""
    try:
        program = find_program()
        os.execv(program, [name, *arguments])
    except (FathomError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        raise SystemExit(1) from error


def main() -> NoReturn:
    """The command of fathom-fio-compat: which program it is, its own name says."""
    become(os.path.basename(sys.argv[0]), sys.argv[1:])


if __name__ == "__main__":
    become("fio", sys.argv[1:])
