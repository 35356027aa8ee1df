"""Runs of the program on real files."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

import fathom

from .conftest import options


def test_a_run_writes_the_file_and_counts_it() -> None:
    result = fathom.run(**options())
    write = result.jobs[0].write
    assert Path("data").stat().st_size == 1 << 20
    assert (result.jobs[0].name, write.io_bytes, write.total_ios) == ("a", 1 << 20, 256)
    assert write.completion_latency is not None
    assert sum(write.completion_latency.bins_ns.values()) == write.completion_latency.count == 256
    assert result.verdict in ("wrong", "doubtful", "no doubts")
    assert list(result.job("a").directions()) == ["write"]
    assert result.disks == [] or result.disks[0].util_percent >= 0
    assert result.exit_status == 0


def test_sections_text_and_path_are_the_same_job() -> None:
    inner = options()
    name = inner.pop("name")
    text = f"[{name}]\n" + "".join(f"{key}={value}\n" for key, value in inner.items())
    Path("a.fio").write_text(text)
    for job in (options(), {name: inner}, text, Path("a.fio"), "a.fio"):
        assert fathom.run(job).job("a").write.total_ios == 256


def test_a_job_file_is_read_where_it_is() -> None:
    Path("jobs").mkdir()
    Path("jobs/common.fio").write_text("bs=8k\n")
    # `report` is also a command of the program, and `-a.fio` looks like an option.
    for name in ("jobs/a.fio", "report", "-a.fio", "ünï köde ☃.fio"):
        include = "common.fio" if "/" in name else "jobs/common.fio"
        Path(name).write_text(f"[global]\ninclude {include}\n[b]\nrw=write\nsize=1m\nfilename=data\n")
        assert fathom.run(name).job("b").write.total_ios == 128


def test_names_may_be_of_any_script() -> None:
    result = fathom.run(name="größe ☃", rw="write", size="64k", filename="данные")
    assert result.job("größe ☃").write.io_bytes == Path("данные").stat().st_size == 65536


def test_values_are_written_as_options() -> None:
    result = fathom.run(
        {"global": {"bs": 4096, "group_reporting": None, "size": "64k"}, "x": {"rw": "write", "numjobs": 2, "unlink": True}}
    )
    assert result.job("x").write.total_ios == 32
    assert not list(Path(".").iterdir()), "unlink=True did nothing"


def test_failures_have_the_message_of_the_program() -> None:
    with pytest.raises(fathom.FathomError, match="no_such_option") as failure:
        fathom.run(**options(), no_such_option=1)
    assert (failure.value.exit_status, failure.value.result) == (1, None)
    assert not Path("data").exists()
    with pytest.raises(fathom.FathomError, match="missing.fio"):
        fathom.run("missing.fio")


def test_an_error_of_the_text_begins_with_the_text() -> None:
    text = "[first]\nrw=read\nsize=64k\nfilename=data\nbs=four\n"
    with pytest.raises(fathom.FathomError) as failure:
        fathom.run(text)
    lines = str(failure.value).splitlines()
    assert lines[0] == "bs=four"
    assert lines[1].startswith("^^^^^^^ line 5 of the job: expected a whole number"), lines
    assert any("job first dropped" in line for line in lines[2:])
    Path("own.fio").write_text(text)
    with pytest.raises(fathom.FathomError, match=r"\Abs=four\n\^{7} \./own\.fio, line 5: expected"):
        fathom.run("own.fio")
    with pytest.raises(fathom.FathomError, match=r"\Aiodeth=3\n\^{8} .*did you mean iodepth"):
        fathom.run({"name": "first", **options(), "iodeth": 3})
    with pytest.raises(fathom.FathomError, match=r"\Afathom: -:1: section \[a has no closing bracket"):
        fathom.run("[a\nrw=read\n")
    # Messages that do not concern the text are passed on unchanged.
    with pytest.raises(fathom.FathomError, match=r"missing\.fio"):
        fathom.run("missing.fio")


def test_a_failed_job_has_a_result() -> None:
    jobs = {
        "good": {"rw": "write", "size": "64k", "filename": "data"},
        "bad": {"rw": "write", "size": "64k", "filename": "/dev/full"},
    }
    with pytest.raises(fathom.FathomError, match="full") as failure:
        fathom.run(jobs)
    result = failure.value.result
    assert result is not None and result.job("good").write.io_bytes == 65536
    assert result.job("bad").error != 0 and failure.value.exit_status == result.exit_status != 0


def test_a_value_starts_no_other_option() -> None:
    for job in (
        options(bs="4k\nrw=read"),
        options(bs="4k\r"),
        options(**{"bs=4k\nrw": "read"}),
        options(name="a]\n[b"),
        options(bs=""),
        options(bs=[4096]),
        {"a": options(), "bs": "4k"},
        {},
    ):
        with pytest.raises(fathom.FathomError, match=r"job"):
            fathom.run(job)
    for nothing in ("", "a\0b", 3):
        with pytest.raises(fathom.FathomError, match="fathom: "):
            fathom.run(nothing)  # type: ignore[arg-type]
    with pytest.raises(fathom.FathomError, match="either"):
        fathom.run()
    with pytest.raises(fathom.FathomError, match="either"):
        fathom.run("a.fio", rw="read")
    assert not Path("data").exists()


def test_further_arguments_reach_the_program() -> None:
    with pytest.raises(fathom.FathomError, match="readonly"):
        fathom.run(**options(), arguments=["--readonly"])
    assert not Path("data").exists()


def test_groups_are_those_of_the_report() -> None:
    text = """[global]
ioengine=null
size=64m
[one]
rw=randread
numjobs=2
[two]
stonewall
rw=write
"""
    Path("groups.fio").write_text(text)
    result = fathom.run("groups.fio")
    assert [(group.number, [job.name for job in group.jobs]) for group in result.groups] == [(0, ["one", "one"]), (1, ["two"])]
    assert result.groups[0].read.total_ios == 2 * 16384 and result.groups[1].write.io_bytes == 64 << 20
    assert result.groups[0].write.bytes_per_second == 0
    # The slowest job determines the time.
    document = json.loads(json.dumps(result.raw))
    document["jobs"][0]["read"]["runtime"] = 10000
    assert fathom.Result.from_document(document).groups[0].read.bytes_per_second == (2 * 64 << 20) / 10
    # The rate of a group equals that in the report of the same run.
    subprocess.run(
        [fathom.find_program(), "--output-format=normal,json", "--output=both", "groups.fio"],
        check=True,
        stderr=subprocess.PIPE,
    )
    both = Path("both").read_text()
    line = re.search(r"READ: bw=\S+ \(([0-9.]+)([kMG])B/s\)", both)
    assert line is not None, both
    printed = float(line[1]) * {"k": 1e3, "M": 1e6, "G": 1e9}[line[2]]
    Path("part.json").write_text(both[both.index("\n{") : both.rindex("\n}") + 2])
    assert fathom.Result.load("part.json").groups[0].read.bytes_per_second == pytest.approx(printed, rel=0.01)


def test_the_timeline_adds_up() -> None:
    result = fathom.run(name="a", ioengine="null", size="1g", rw="randrw", time_based=True, runtime=2, rate_iops="2000,1000")
    points = [point for point in result.timeline if point.direction == "read"]
    assert len(points) >= 4 and points[0].start_ms == 0
    assert all(before.end_ms == after.start_ms for before, after in zip(points, points[1:]))
    counted = sum(point.total_ios for point in points)
    # A last point shorter than an eighth of a second is dropped.
    assert 0.8 * result.job("a").read.total_ios <= counted <= result.job("a").read.total_ios
    assert sum(sum(point.latency_bins_ns.values()) for point in points) == counted
    assert {finding.severity for finding in result.findings} <= {"wrong", "doubtful", "note"}
