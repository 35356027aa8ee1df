"""The package and the program on real files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import fathom


def options(directory: Path) -> dict[str, Any]:
    return {"name": "a", "rw": "write", "bs": "4k", "size": "1m", "filename": str(directory / "data")}


def test_a_run_writes_the_file_and_counts_it(tmp_path: Path) -> None:
    result = fathom.run(**options(tmp_path))
    write = result.jobs[0].write
    assert (tmp_path / "data").stat().st_size == 1 << 20
    assert (result.jobs[0].name, write.io_bytes, write.total_ios) == ("a", 1 << 20, 256)
    assert sum(write.completion_latency.bins_ns.values()) == 256
    assert result.verdict in ("wrong", "doubtful", "no doubts")


def test_sections_text_and_path_are_the_same_job(tmp_path: Path) -> None:
    inner = options(tmp_path)
    name = inner.pop("name")
    text = f"[{name}]\n" + "".join(f"{key}={value}\n" for key, value in inner.items())
    (tmp_path / "a.fio").write_text(text)
    for job in ({name: inner}, text, tmp_path / "a.fio", str(tmp_path / "a.fio")):
        assert fathom.run(job).jobs[0].write.total_ios == 256


def test_failures_have_the_message_of_the_program(tmp_path: Path) -> None:
    with pytest.raises(fathom.FathomError, match="no_such_option"):
        fathom.run(**options(tmp_path), no_such_option=1)
    assert not (tmp_path / "data").exists()


def test_a_line_end_in_a_value_starts_no_option(tmp_path: Path) -> None:
    with pytest.raises(fathom.FathomError, match="cannot hold"):
        fathom.run({**options(tmp_path), "bs": "4k\nrw=read"})


def test_an_exception_in_the_callback_ends_the_run(tmp_path: Path) -> None:
    seen: list[fathom.Progress] = []

    def stop(progress: fathom.Progress) -> None:
        seen.append(progress)
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        fathom.run(**options(tmp_path), time_based=True, runtime=600, on_progress=stop)
    assert len(seen) == 1
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_load_reads_a_document_and_refuses_others(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text(json.dumps(fathom.run(**options(tmp_path)).raw))
    assert fathom.Result.load(file).jobs[0].write.total_ios == 256
    for text in ("", "[]", '{"jobs": [{}]}'):
        file.write_text(text)
        with pytest.raises(fathom.FathomError, match="result.json"):
            fathom.Result.load(file)
