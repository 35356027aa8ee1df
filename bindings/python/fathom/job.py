"""Jobs as the text of a job file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Union

from .program import FathomError

Value = Union[str, int, float, bool, None]
Job = Union[str, Path, Mapping[str, Value], Mapping[str, Mapping[str, Value]]]


def job_text(job: Job) -> str:
    """The text of a job file.

    A string with a line end is such a text, any other string or a Path names a file. A dict is one job, whose section is its
    `name`, or sections with their options. True is 1, False is 0, None an option without a value.
    """
    if isinstance(job, str) and "\n" in job:
        return job
    if isinstance(job, (str, Path)):
        try:
            return Path(job).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise FathomError(f"job file {job}: {error}; name a readable job file") from error
    if not job:
        raise FathomError("job: no options; give at least rw and size")
    nested = [isinstance(value, Mapping) for value in job.values()]
    if any(nested) and not all(nested):
        raise FathomError("job: options and sections are mixed; put every option into a section")
    lines: list[str] = []
    for name, options in (job.items() if all(nested) else [(job.get("name", "job"), job)]):
        assert isinstance(options, Mapping)
        lines.append(f"[{_single_line('name', name, ']')}]")
        for key, value in options.items():
            if key != "name":
                lines.append(_option(key, value))
    return "\n".join(lines) + "\n"


def _option(key: str, value: object) -> str:
    _single_line("option", key, "=[]#;")
    if value is None:
        return key
    if isinstance(value, bool):
        value = int(value)
    return f"{key}={_single_line(key, value, '')}"


def _single_line(what: str, value: object, refused: str) -> str:
    text = str(value)
    if any(character in text for character in "\r\n\0" + refused):
        raise FathomError(f"job: {what} {text!r}: has a character that a job file cannot hold there; remove it")
    return text
