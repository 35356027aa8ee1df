"""Shared code of Python consumers: running fio, and printing conclusions that are comparable between two runs."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from typing import Any, NoReturn

# A consumer that is terminated removes the files that it created.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def fio(words: str, *more: str) -> str:
    """The standard output of `fio`, which must succeed."""
    return subprocess.run(["fio", *words.split(), *more], check=True, stdout=subprocess.PIPE, text=True).stdout


def say(name: str, value: object) -> None:
    """A conclusion that must be equal for both programs: a count, a name, a verdict."""
    print(f"{name} = {value}", flush=True)


def kind(value: object) -> str:
    """The comparable properties of a measured value: its type, and whether it is zero."""
    if isinstance(value, bool) or value is None or isinstance(value, (str, list, dict)):
        return type(value).__name__
    sign = "zero" if not value else "positive" if value > 0 else "negative"  # type: ignore[operator]
    return f"{sign} {type(value).__name__}"


def figure(name: str, value: object) -> None:
    """A conclusion about a measured value."""
    say(name, kind(value))


# Output that differs between the newest fio and the one used for comparison.
RELEASES = {
    "; 0 zone resets": "",
    "fsync/fdatasync/sync_file_range:": "fsync/fdatasync/sync_file_range/syncfs:",
    "target=0, window=0,": "target=0.00ns, window=0.00ns,",
}


def figures(text: str) -> str:
    """A text with its measured figures replaced: `N` for a number above zero, `0` for zero, without unit prefixes; several spaces become one."""
    for old, new in RELEASES.items():
        text = text.replace(old, new)
    number = r"\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]\d+)?(?:[kKMGT](?![A-Za-z])| ?[kKMGT]i?(?=B)| (?=B\b))?"
    text = re.sub(number, lambda found: "N" if re.search("[1-9]", found.group()) else "0", text)
    return re.sub(r"[ \t]+", " ", re.sub(r"[num]sec\b", "sec", text))


def tree(value: Any, path: str = "") -> list[str]:
    """Every key of a document with the type of its value."""
    if isinstance(value, dict):
        return [line for key, each in value.items() for line in tree(each, f"{path}/{key}")]
    if isinstance(value, list):
        return [line for number, each in enumerate(value) for line in tree(each, f"{path}/{number}")]
    return [f"{path} = {value if isinstance(value, str) else kind(value)}"]


def document(text: str) -> Any:
    """Parses fio's output, which must be nothing but JSON."""
    return json.loads(text)


def skip(reason: str) -> NoReturn:
    """Ends a consumer that cannot run on this machine."""
    print(reason, file=sys.stderr)
    sys.exit(77)
