"""Jobs in the forms that the program accepts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Union

from .program import FathomError
from .scratch import scratch_directory, write

Value = Union[str, int, float, bool, None]
Job = Union[str, "os.PathLike[str]", Mapping[str, object]]


def source(job: Job | None, options: Mapping[str, Value]) -> tuple[str, bytes]:
    """The argument that names the job, and the text for the program's standard input.

    A string with a line end is the text of a job file. Any other string or path names one, which the program reads itself, so
    that its `include` lines and relative names are those of the file. Mappings are one job (its section is its `name`) or
    sections with their options. Mappings and texts are passed through a pipe: other users can read a command line, but not a pipe.
    """
    if (job is None) == (not options):
        raise FathomError("fathom: give either a job or options as keyword arguments")
    if job is None:
        job = options
    if isinstance(job, Mapping):
        return "-", text_of_mapping(job).encode(errors="surrogateescape")
    if isinstance(job, str) and "\n" in job:
        return "-", job.encode(errors="surrogateescape")
    return path_argument(job), b""


@contextmanager
def as_file(job: Job | None, options: Mapping[str, Value]) -> Iterator[str]:
    """The path of the job as a file, for commands that do not read standard input. A file created here is readable only by its owner."""
    argument, text = source(job, options)
    if argument != "-":
        yield argument
        return
    with scratch_directory() as directory:
        yield write(directory / "job.fio", text)


def path_argument(path: str | os.PathLike[str]) -> str:
    """A path in a form that cannot be mistaken for an option or a command."""
    try:
        text = os.fspath(path)
    except TypeError as error:
        raise FathomError(f"fathom: {path!r}: neither a path nor a text nor a mapping") from error
    if not text or "\0" in text:
        raise FathomError(f"fathom: {text!r}: not the name of a file")
    return text if "/" in text else os.path.join(".", text)


def text_of_mapping(job: Mapping[str, object]) -> str:
    """The text of a job file. True is 1, False is 0, None an option without a value."""
    if not job:
        raise FathomError("job: no options; give at least rw and size")
    nested = [isinstance(value, Mapping) for value in job.values()]
    if any(nested) and not all(nested):
        raise FathomError("job: options and sections are mixed; put every option into a section")
    lines: list[str] = []
    for name, options in job.items() if all(nested) else [(job.get("name", "job"), job)]:
        assert isinstance(options, Mapping)
        lines.append(f"[{_single_line('name', name, ']')}]")
        for key, value in options.items():
            if key != "name":
                lines.append(_option(key, value))
    return "\n".join(lines) + "\n"


def _option(key: str, value: object) -> str:
    _single_line("option", key, "=[]#; ")
    if value is None:
        return key
    if isinstance(value, bool):
        value = int(value)
    if not isinstance(value, (str, int, float)) and not hasattr(value, "__fspath__"):
        raise FathomError(f"job: option {key}: {value!r} is no text and no number")
    return f"{key}={_single_line(key, value, '')}"


def _single_line(what: str, value: object, refused: str) -> str:
    text = str(value)
    if not text or any(character in text for character in "\r\n\0" + refused):
        # The value may be a password.
        raise FathomError(
            f"job: {what}: empty, or with a character that a job file cannot hold there (line ends, {refused or 'NUL'})"
        )
    return text
