"""What consumers in Python share: running fio, and printing conclusions that two runs can have in common."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from typing import Any, NoReturn

# A consumer that is ended takes away what it has made.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def fio(words: str, *more: str) -> str:
    """What `fio` prints to standard output; it has to end well."""
    return subprocess.run(["fio", *words.split(), *more], check=True, stdout=subprocess.PIPE, text=True).stdout


def say(name: str, value: object) -> None:
    """A conclusion that has to be equal, whatever made it: a count, a name, a verdict."""
    print(f"{name} = {value}", flush=True)


def kind(value: object) -> str:
    """What can be said of a measured value: its type, and whether there was anything to measure."""
    if isinstance(value, bool) or value is None or isinstance(value, (str, list, dict)):
        return type(value).__name__
    sign = "zero" if not value else "positive" if value > 0 else "negative"  # type: ignore[operator]
    return f"{sign} {type(value).__name__}"


def figure(name: str, value: object) -> None:
    """A conclusion about something measured."""
    say(name, kind(value))


# What the newest fio prints in another way than the one that is compared with.
RELEASES = {
    "; 0 zone resets": "",
    "fsync/fdatasync/sync_file_range:": "fsync/fdatasync/sync_file_range/syncfs:",
    "target=0, window=0,": "target=0.00ns, window=0.00ns,",
}


def figures(text: str) -> str:
    """A text with its measured figures replaced: `N` for a number above zero, `0` for zero, without prefixes of units; one blank for several."""
    for old, new in RELEASES.items():
        text = text.replace(old, new)
    number = r"\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]\d+)?(?:[kKMGT](?![A-Za-z])| ?[kKMGT]i?(?=B)| (?=B\b))?"
    text = re.sub(number, lambda found: "N" if re.search("[1-9]", found.group()) else "0", text)
    return re.sub(r"[ \t]+", " ", re.sub(r"[num]sec\b", "sec", text))


def tree(value: Any, path: str = "") -> list[str]:
    """Every key of a document and the kind of its value."""
    if isinstance(value, dict):
        return [line for key, each in value.items() for line in tree(each, f"{path}/{key}")]
    if isinstance(value, list):
        return [line for number, each in enumerate(value) for line in tree(each, f"{path}/{number}")]
    return [f"{path} = {value if isinstance(value, str) else kind(value)}"]


def document(text: str) -> Any:
    """JSON that fio printed, and nothing else."""
    return json.loads(text)


def skip(reason: str) -> NoReturn:
    """Ends a consumer that this machine cannot run."""
    print(reason, file=sys.stderr)
    sys.exit(77)
