"""Where the program is, what happens without it, and its names of fio."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path

import pytest

import fathom

from .conftest import endless, options, skip

SCRIPTS = Path(sysconfig.get_path("scripts"))


def test_the_program_is_that_of_the_wheel() -> None:
    assert fathom.find_program() == str(SCRIPTS / "fathom")


def without_wheel(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(directory))


def test_without_the_wheel_the_program_is_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = fathom.find_program()
    without_wheel(monkeypatch, tmp_path)
    other = tmp_path / "bin"
    other.mkdir()
    (other / "fathom").symlink_to(real)
    monkeypatch.setenv("PATH", str(other))
    assert fathom.find_program() == str(other / "fathom")
    monkeypatch.setenv("FATHOM_PROGRAM", real)
    assert fathom.find_program() == real
    for wrong in (str(tmp_path), str(tmp_path / "missing"), __file__):
        monkeypatch.setenv("FATHOM_PROGRAM", wrong)
        with pytest.raises(fathom.FathomError, match="FATHOM_PROGRAM"):
            fathom.run(**options())
    monkeypatch.delenv("FATHOM_PROGRAM")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(fathom.FathomError, match="not found.*FATHOM_PROGRAM.*PATH"):
        fathom.run(**options())


def script(tmp_path: Path, text: str) -> str:
    path = tmp_path / "program"
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#!/bin/sh\necho 'fathom: --output-format=jsonl: unknown' >&2; exit 1\n", "jsonl: unknown"),
        ("#!/bin/sh\necho version 0\n", r"without a result.*version 0.*fathom --version"),
        ("#!/bin/sh\nexit 3\n", "status 3"),
        ("#!/bin/sh\nkill -SEGV $$\n", "SIGSEGV"),
        ("#!/bin/sh\nexec head -c 100000000 /dev/zero\n", "without a result"),
        ('#!/bin/sh\necho \'{"interval": {}, "final": true}\'\n', "not a result"),
        ("#!/missing\n", "check that it is a program"),
        ("\x7fELF nothing", "check that it is a program"),
    ],
)
def test_another_program_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, message: str) -> None:
    without_wheel(monkeypatch, tmp_path)
    monkeypatch.setenv("FATHOM_PROGRAM", script(tmp_path, text))
    with pytest.raises(fathom.FathomError, match=f"(?s){message}"):
        fathom.run(**options())
    # The program may end without reading its job, however long that is. No thread complains either.
    complaints: list[object] = []
    monkeypatch.setattr(threading, "excepthook", complaints.append)
    with pytest.raises(fathom.FathomError, match=f"(?s){message}"):
        fathom.run("[a]\n" + "# nothing\n" * 100000)
    assert complaints == []


def test_passwords_are_on_no_command_line() -> None:
    seen: list[bytes] = []

    def look(_: fathom.Progress) -> None:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                seen.append(path.read_bytes())
            except OSError:
                continue
        raise fathom.StopRun

    fathom.run(**endless(description="hunter2"), on_progress=look, interval_ms=100)
    assert any(b"--output-format=jsonl" in line for line in seen) and not any(b"hunter2" in line for line in seen)


def test_the_environment_reaches_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAME_OF_FILE", "from-the-environment")
    fathom.run(**options(filename="${NAME_OF_FILE}"))
    assert Path("from-the-environment").stat().st_size == 1 << 20


def test_fio_is_the_program_under_its_name() -> None:
    words = ["--name=a", "--rw=write", "--size=64k", "--filename=data", "--output-format=json"]
    for fio in ([str(SCRIPTS / "fio")], [sys.executable, "-m", "fathom.fio"]):
        assert subprocess.run([*fio, "--version"], check=True, stdout=subprocess.PIPE).stdout.startswith(b"fio-3.")
        said = subprocess.run([*fio, *words], check=True, stdout=subprocess.PIPE).stdout
        assert json.loads(said)["jobs"][0]["write"]["io_bytes"] == 65536
        assert subprocess.run([*fio, "--nonsense"], stderr=subprocess.PIPE).returncode == 1
    dedupe = subprocess.run([str(SCRIPTS / "fio-dedupe"), "data"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert b"dedup" in dedupe.stdout.lower() or b"unique" in dedupe.stdout.lower(), dedupe.stdout


def test_fio_has_the_signals_of_the_program() -> None:
    words = ["--name=a", "--rw=write", "--size=1m", "--filename=data", "--time_based", "--runtime=600", "--output-format=json"]
    with subprocess.Popen([str(SCRIPTS / "fio"), *words, "--status-interval=1"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline()
        process.terminate()
        process.stdout.read()
    assert process.returncode == 128


def test_bench_fio_runs_unchanged() -> None:
    bench, plot = SCRIPTS / "bench-fio", SCRIPTS / "fio-plot"
    if not bench.exists():
        skip("bench-fio: the package fio-plot is not installed")
    Path("data").write_bytes(os.urandom(1 << 20) * 16)
    environment = {**os.environ, "PATH": f"{SCRIPTS}:/usr/bin:/bin"}
    words = "--target data --type file --size 16M --mode randread --output out --iodepth 1 4 --numjobs 1 --runtime 1"
    words += " --engine libaio --direct 0 --time-based --loginterval 200 --quiet"
    sweep = subprocess.run([str(bench), *words.split()], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    result = Path("out/data/4k/randread-4-1.json")
    assert result.exists(), sweep.stdout.decode()
    assert fathom.Result.load(result).jobs[0].read.total_ios > 0 and fathom.Result.load(result).verdict is not None
    words = "-i out/data/4k -L -r randread -t iops -T title -o chart.png"
    chart = subprocess.run([str(plot), *words.split()], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert Path("chart.png").exists(), chart.stdout.decode()
