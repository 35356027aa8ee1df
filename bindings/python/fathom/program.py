"""Finds the program `fathom` and runs it as a child process that is never left behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sysconfig
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Callable, Optional

if TYPE_CHECKING:
    from .result import Result

# Time that the program may take to write its report after SIGINT. A hung device can exceed any limit.
PATIENCE_S = 30.0


class FathomError(Exception):
    """A failure, with the program's message.

    `exit_status` is the program's, None if it was not run or was killed. `result` is the result up to the failure, None if there is none.
    """

    def __init__(self, message: str, exit_status: int | None = None, result: Result | None = None) -> None:
        super().__init__(message)
        self.exit_status = exit_status
        self.result = result


# The position at which the program rejects an option of a job: a job file and its line, the option as written,
# and the expected value.
_WRONG_OPTION = re.compile(r"^fathom: (?P<place>.*?):(?P<line>[0-9]+): option (?P<option>.+?): (?P<reason>.*)$")
_WRONG_LINE = re.compile(r"^fathom: .*?:[0-9]+: ")


def text_first(said: str) -> str:
    """The program's messages about a rejected job, starting with the errors in the user's text.

    The option is shown as the program quotes it, not as it stands in the text, because some values are secret.
    """
    lines = said.splitlines()
    first = next((line for line in lines if _WRONG_LINE.match(line)), None)
    if first is None:
        return said
    lines.remove(first)
    wrong = _WRONG_OPTION.match(first)
    if wrong:
        option, place = wrong["option"], wrong["place"]
        where = f"line {wrong['line']} of the job" if place == "-" else f"{place}, line {wrong['line']}"
        lines[:0] = [option, f"{'^' * len(option)} {where}: {wrong['reason']}"]
    else:
        lines.insert(0, first)
    return "\n".join(lines)


def find_program() -> str:
    """The path of the program: next to the interpreter, otherwise the one named by FATHOM_PROGRAM, otherwise the one on the PATH."""
    beside = Path(sysconfig.get_path("scripts")) / "fathom"
    if beside.is_file() and os.access(beside, os.X_OK):
        return str(beside)
    named = os.environ.get("FATHOM_PROGRAM")
    if named:
        if not (os.path.isfile(named) and os.access(named, os.X_OK)):
            raise FathomError(f"FATHOM_PROGRAM={named}: not a program; name the executable fathom or unset the variable")
        return named
    found = shutil.which("fathom")
    if found is None:
        raise FathomError(
            "fathom: program not found; install a wheel that holds it, set FATHOM_PROGRAM to its path, or put it on the PATH"
        )
    return found


class Mailbox:
    """Passes the program's output from the reading threads to the waiting one.

    With `only_newest` it drops unread items, so that a slow consumer does not block the readers.
    """

    def __init__(self, only_newest: bool) -> None:
        self._items: deque[Any] = deque(maxlen=1 if only_newest else None)
        self._changed = threading.Condition()
        self._closed = False

    def put(self, item: Any) -> None:
        with self._changed:
            self._items.append(item)
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def wait_until_closed(self, timeout_s: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._closed, timeout_s)

    def __iter__(self) -> Iterator[Any]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or len(self._items) > 0)
                if not self._items:
                    return
                item = self._items.popleft()
            yield item


class Child:
    """A running program. Threads read its output, so it never waits for the caller."""

    def __init__(
        self,
        arguments: Sequence[str],
        given: bytes,
        mailbox: Mailbox,
        read_output: Callable[[IO[bytes]], None],
        read_notes: Callable[[IO[bytes]], None],
    ) -> None:
        program = find_program()
        try:
            self._process = subprocess.Popen(
                [program, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # It ends with this process, even if this process is killed. The thread that starts it waits for
                # its end.
                env={**os.environ, "FATHOM_END_WITH_PARENT": str(os.getpid())},
            )
        except (OSError, ValueError) as error:
            raise FathomError(f"{program}: {error}; check that it is a program for this machine") from error
        self._mailbox = mailbox
        self._attendant = threading.Thread(target=self._attend, args=(given, read_output, read_notes), daemon=True)
        try:
            self._attendant.start()
        except BaseException:
            self._process.kill()
            self._process.communicate()
            raise

    def _attend(self, given: bytes, read_output: Callable[[IO[bytes]], None], read_notes: Callable[[IO[bytes]], None]) -> None:
        process = self._process
        assert process.stdin and process.stdout and process.stderr
        readers = [
            threading.Thread(target=reader, args=(stream,), daemon=True)
            for reader, stream in ((read_output, process.stdout), (read_notes, process.stderr))
        ]
        try:
            for reader in readers:
                reader.start()
            try:
                with process.stdin as stdin:
                    stdin.write(given)
            except BrokenPipeError:
                pass  # The program ended before it had read all input; its message gives the reason.
            process.wait()
            for reader in readers:
                # A process that inherited the pipes can keep them open after the program has ended.
                reader.join(5)
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            self._mailbox.close()

    def status(self) -> int:
        """The exit status, available once the mailbox is closed; negative for a signal."""
        status = self._process.wait()
        # Even a thread about to end would make the caller multithreaded when it forks.
        self._attendant.join(5)
        return status

    def end(self) -> None:
        """Asks the program to end and to report its results so far; kills it if that takes too long or is interrupted again."""
        self._send(signal.SIGINT)
        try:
            in_time = self._mailbox.wait_until_closed(PATIENCE_S)
        except BaseException:
            self._send(signal.SIGKILL)
            self._process.wait()
            raise
        if not in_time:
            self._send(signal.SIGKILL)
            self._process.wait()

    def _send(self, number: signal.Signals) -> None:
        # send_signal first checks whether the process still exists, so it cannot signal another process with a
        # reused ID.
        self._process.send_signal(number)


def read_all(into: list[bytes]) -> Callable[[IO[bytes]], None]:
    """Reads all output."""

    def read(stream: IO[bytes]) -> None:
        with stream:
            into.append(stream.read())

    return read


def read_lines(into: list[bytes], each: Callable[[str], None]) -> Callable[[IO[bytes]], None]:
    """Reads all output and passes on every line as soon as it arrives."""

    def read(stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                into.append(line)
                each(text_of([line]))

    return read


def text_of(parts: list[bytes]) -> str:
    """The program's messages without surrounding whitespace."""
    return b"".join(parts).decode(errors="replace").strip()


OnLine = Optional[Callable[[str], None]]


def call(
    arguments: Sequence[str], given: bytes = b"", on_line: OnLine = None, good: Sequence[int] = (0,)
) -> tuple[int, bytes, str]:
    """Returns exit status, output and messages of a command; raises FathomError with the messages for a status not in `good`.

    `on_line` receives each line of the messages in the caller's thread. An exception from it ends the program and is reraised.
    """
    mailbox = Mailbox(only_newest=False)
    output: list[bytes] = []
    notes: list[bytes] = []
    child = Child(arguments, given, mailbox, read_all(output), read_lines(notes, mailbox.put))
    try:
        for line in mailbox:
            if on_line is not None:
                on_line(line)
    except BaseException:
        child.end()
        raise
    status = child.status()
    if status not in good:
        raise FathomError(text_first(text_of(notes)) or how_it_ended(status), status)
    return status, b"".join(output), text_of(notes)


def how_it_ended(status: int) -> str:
    """A sentence for a program that ended without a message."""
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        return f"fathom was ended by {name}"
    return f"fathom ended with status {status} and said nothing"
