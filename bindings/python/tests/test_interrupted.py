"""Runs that are interrupted: with a report, and without a process left behind (conftest.py looks after every test)."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

import fathom

from .conftest import children, endless, options


class Enough(Exception):
    pass


def test_stop_run_returns_what_was_measured() -> None:
    seen: list[fathom.Progress] = []

    def stop(progress: fathom.Progress) -> None:
        seen.append(progress)
        if len(seen) == 2:
            raise fathom.StopRun

    result = fathom.run(**endless(), on_progress=stop, interval_ms=200)
    assert [progress.number for progress in seen] == [1, 2]
    assert seen[1].start_ms == seen[0].end_ms and seen[0].write.total_ios > 0 and seen[0].bytes_per_second > 0
    assert result.job("a").write.total_ios >= sum(progress.write.total_ios for progress in seen)
    # The program writes the report when it is asked to end: a killed program leaves none.
    assert result.raw["final"] is True and "terminating" in result.notes


def test_an_exception_of_the_callback_is_raised_again_with_the_result() -> None:
    def fail(_: fathom.Progress) -> None:
        raise Enough("enough")

    with pytest.raises(Enough, match="enough") as raised:
        fathom.run(**endless(), on_progress=fail, interval_ms=200)
    result = fathom.result_of_interrupted(raised.value)
    assert result is not None and result.job("a").write.total_ios > 0 and result.raw["final"] is True
    assert fathom.result_of_interrupted(Enough()) is None


def interrupt_once_it_writes() -> None:
    """Presses Ctrl-C when the job of `endless` has begun to write."""
    # Until then, the allocated file contains only zeros.
    while not Path("data").exists() or not Path("data").read_bytes().strip(b"\0"):
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_is_raised_again_with_the_result() -> None:
    before = signal.getsignal(signal.SIGINT)
    threading.Thread(target=interrupt_once_it_writes).start()
    with pytest.raises(KeyboardInterrupt) as raised:
        fathom.run(**endless())
    result = fathom.result_of_interrupted(raised.value)
    assert result is not None and result.job("a").write.total_ios > 0
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_of_a_terminal_reaches_both_and_still_gives_a_result(tmp_path: Path) -> None:
    # On a terminal, every process in the foreground gets SIGINT: the program receives it directly and again
    # from the package.
    script = tmp_path / "script.py"
    script.write_text(
        "import fathom\n"
        "try:\n"
        "    fathom.run(name='a', rw='write', size='1m', filename='data', time_based=True, runtime=600, interval_ms=100,\n"
        "               on_progress=lambda progress: print('begun', flush=True))\n"
        "except KeyboardInterrupt as interrupt:\n"
        "    print('wrote', fathom.result_of_interrupted(interrupt).job('a').write.total_ios)\n"
    )
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, start_new_session=True)
    with process:
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        os.killpg(process.pid, signal.SIGINT)
        rest = process.stdout.read()
    assert process.returncode == 0 and int(rest.split("wrote ")[1]) > 0, rest


def test_a_run_ends_with_a_python_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import fathom\n"
        "from pathlib import Path\n"
        "def begun(_):\n"
        "    print(*(Path(task, 'children').read_text() for task in Path('/proc/self/task').iterdir()), flush=True)\n"
        "fathom.run(name='a', rw='write', size='1m', filename='data', time_based=True, runtime=600, interval_ms=100, on_progress=begun)\n"
    )
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        programs = [Path("/proc", pid) for pid in process.stdout.readline().split()]
        assert len(programs) == 1 and programs[0].exists()
        process.kill()
    deadline = time.monotonic() + 60
    while programs[0].exists():
        assert time.monotonic() < deadline, "the run goes on"
        time.sleep(0.05)


def test_a_second_ctrl_c_does_not_wait(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stubborn(monkeypatch, tmp_path)
    # After the first signal alone, the program would wait longer than any test may take.
    monkeypatch.setattr(sys.modules["fathom.program"], "PATIENCE_S", 3600)

    def twice() -> None:
        for _ in range(2):
            time.sleep(0.5)
            os.kill(os.getpid(), signal.SIGINT)

    interrupter = threading.Thread(target=twice)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        fathom.run(**endless())
    # If the first signal had been enough, the second would end this wait.
    interrupter.join()


def test_a_program_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stubborn(monkeypatch, tmp_path)
    monkeypatch.setattr(sys.modules["fathom.program"], "PATIENCE_S", 0.2)

    def stop(_: fathom.Progress) -> None:
        raise fathom.StopRun

    with pytest.raises(fathom.FathomError, match="SIGKILL"):
        fathom.run(**endless(), on_progress=stop)


def stubborn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A program that says one interval, and then hears no SIGINT."""
    program = tmp_path / "stubborn"
    none = '{"io_bytes":0,"total_ios":0,"bw_bytes":0,"iops":0}'
    jobs = f'{{"read":{none},"write":{none},"trim":{none}}}'
    program.write_text(
        f"#!{sys.executable}\nimport signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        f"""print('{{"interval":{{"number":1,"start_ms":0,"end_ms":1,"jobs":[{jobs}]}}}}', flush=True)\ntime.sleep(600)\n"""
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys.modules["fathom.program"], "find_program", lambda: str(program))


def end_children(number: int) -> None:
    for pid in children():
        # The process may have ended since.
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def test_a_killed_program_is_told() -> None:
    def kill(_: fathom.Progress) -> None:
        end_children(signal.SIGKILL)

    with pytest.raises(fathom.FathomError, match="SIGKILL") as failure:
        fathom.run(**endless(), on_progress=kill, interval_ms=200)
    assert failure.value.exit_status == -signal.SIGKILL and failure.value.result is None


def test_a_program_that_somebody_else_interrupts_has_a_result() -> None:
    def interrupt(_: fathom.Progress) -> None:
        end_children(signal.SIGINT)

    with pytest.raises(fathom.FathomError, match="terminating") as failure:
        fathom.run(**endless(), on_progress=interrupt, interval_ms=200)
    assert failure.value.result is not None and failure.value.result.job("a").write.total_ios > 0


def test_a_slow_callback_does_not_hold_up_the_run() -> None:
    seen: list[int] = []

    def slow(progress: fathom.Progress) -> None:
        seen.append(progress.number)
        time.sleep(1.0)

    result = fathom.run(**options(time_based=True, runtime=2), on_progress=slow, interval_ms=50)
    # The callback missed some intervals, but the run was as long as it should be; all intervals together would
    # have taken 40 seconds.
    assert len(seen) < seen[-1] and seen == sorted(seen)
    assert result.job("a").write.runtime_ms < 20000


def test_runs_in_threads_and_in_asyncio() -> None:
    async def both() -> list[fathom.Result]:
        loop = asyncio.get_running_loop()
        return list(
            await asyncio.gather(*(loop.run_in_executor(None, partial(fathom.run, options(filename=name))) for name in "ab"))
        )

    for result in asyncio.run(both()):
        assert result.job("a").write.total_ios == 256


def test_a_hundred_runs_in_threads() -> None:
    results: list[fathom.Result] = []
    failures: list[Exception] = []

    def one(number: int) -> None:
        try:
            results.append(fathom.run(name=f"n{number}", ioengine="null", size="64k", rw="read", bs="4k"))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sorted(result.jobs[0].name for result in results) == sorted(f"n{number}" for number in range(100))
    assert all(result.jobs[0].read.total_ios == 16 for result in results)


def test_a_run_in_a_fork() -> None:
    fathom.run(**options())
    child = os.fork()
    if child == 0:
        try:
            good = fathom.run(**options(filename="other")).jobs[0].write.total_ios == 256
        finally:
            os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_signals_of_the_caller_are_left_alone() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
        result = fathom.run(**options(time_based=True, runtime=1))
        assert heard == [signal.SIGTERM] and result.exit_status == 0
        # A caller that ignores the signal must not keep the program running.
        signal.signal(signal.SIGINT, signal.SIG_IGN)

        def stop(_: fathom.Progress) -> None:
            raise fathom.StopRun

        assert fathom.run(**endless(), on_progress=stop, interval_ms=100).raw["final"] is True
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.signal(signal.SIGINT, signal.default_int_handler)
