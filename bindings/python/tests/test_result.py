"""Results of fathom and of fio, whole and damaged."""

from __future__ import annotations

import html
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

import fathom

from .conftest import options, skip

FIOS = [path for path in (os.environ.get("FATHOM_TEST_FIO"), shutil.which("fio", path="/usr/bin:/usr/local/bin")) if path]


def test_what_is_saved_is_loaded() -> None:
    result = fathom.run(**options())
    result.save("result.json")
    again = fathom.Result.load("result.json")
    assert (again.jobs, again.groups, again.disks, again.raw) == (result.jobs, result.groups, result.disks, result.raw)
    assert "raw" not in repr(result) and len(repr(result)) < 10000


def test_a_full_disk_leaves_the_earlier_file(monkeypatch: pytest.MonkeyPatch) -> None:
    result = fathom.run(**options())
    result.save("result.json")
    before = Path("result.json").read_bytes()

    def full(self: Path, *_: Any, **__: Any) -> int:
        self.touch()
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(fathom.FathomError, match="result.json: .*No space"):
        result.save("result.json")
    assert Path("result.json").read_bytes() == before and sorted(os.listdir()) == ["data", "result.json"]


def test_a_job_on_a_full_file_system_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        skip("a full file system: needs root to mount one")
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(small)], capture_output=True, text=True)
    if mounted.returncode:
        skip(f"a full file system: {mounted.stderr.strip()}")
    try:
        with pytest.raises(fathom.FathomError, match="No space"):
            fathom.run(**options(filename=str(small / "data")))
        # The temporary files of the package do not fit there either.
        (small / "rest").write_bytes(b"")
        filled = subprocess.run(["dd", "if=/dev/zero", f"of={small}/rest", "bs=4k"], capture_output=True, text=True)
        assert "No space" in filled.stderr
        result = fathom.run(**options())
        monkeypatch.setattr(tempfile, "tempdir", str(small))
        with pytest.raises(fathom.FathomError, match="make room"):
            fathom.compare(result, result)
        # A run and its page need no disk space at all.
        assert "<html" in fathom.run(**options()).page()
        assert sorted(os.listdir(small)) == ["data", "rest"]
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.parametrize("form", ["json", "json+", "jsonl"])
def test_every_json_of_the_program_is_loaded(form: str) -> None:
    words = ["--name=a", "--rw=write", "--bs=4k", "--size=1m", "--filename=data", f"--output-format={form}", "--output=result"]
    subprocess.run([fathom.find_program(), *words], check=True, stderr=subprocess.PIPE)
    latency = fathom.Result.load("result").job("a").write.completion_latency
    assert latency is not None and latency.count == 256
    assert bool(latency.bins_ns) == (form != "json")


@pytest.mark.parametrize("fio", FIOS or [None])
@pytest.mark.parametrize("form", ["json", "json+"])
def test_results_of_fio_are_loaded(fio: str | None, form: str) -> None:
    if fio is None:
        skip("results of fio: no fio is installed")
    words = ["--name=a", "--rw=randrw", "--bs=4k", "--size=1m", "--filename=data", "--thread", f"--output-format={form}"]
    said = subprocess.run([fio, *words], check=True, stdout=subprocess.PIPE).stdout
    Path("fio.json").write_bytes(b"fio: a message before the document\n" + said)
    result = fathom.Result.load("fio.json")
    job = result.job("a")
    assert job.read.total_ios + job.write.total_ios == 256 and result.verdict is None and result.timeline == []
    latency = job.read.completion_latency
    assert latency is not None and latency.count == job.read.total_ios
    assert latency.min_ns <= latency.percentile_ns(50) <= latency.max_ns * 1.02
    assert {row["direction"] for row in result.rows()} == {"read", "write"}
    assert "fio-3" in result.raw["fio version"]
    assert "<html" in result.page()


def test_percentiles_come_from_the_report_or_the_histogram() -> None:
    latency = fathom.Latency(1000, 1, 4, 2, 1, {99.0: 3}, {1: 500, 2: 489, 3: 10, 4: 1})
    assert [latency.percentile_ns(percent) for percent in (0, 50, 50.1, 98.9, 99, 99.9, 99.91, 100)] == [1, 1, 2, 2, 3, 3, 4, 4]
    with pytest.raises(fathom.FathomError, match=r"json\+"):
        fathom.Latency(1000, 1, 4, 2, 1, {99.0: 3}, {}).percentile_ns(50)
    with pytest.raises(ValueError, match="101"):
        latency.percentile_ns(101)


def test_a_latency_that_is_not_there_is_none() -> None:
    document = fathom.run(**options()).raw
    for direction in ("read", "write", "trim"):
        del document["jobs"][0][direction]["clat_ns"]
    job = fathom.Result.from_document(document).job("a")
    assert job.write.completion_latency is None and job.write.total_latency is not None
    assert fathom.Result.from_document(document).rows()[0]["p99_ns"] is None
    without = fathom.run(**options(disable_clat=True)).job("a").write.completion_latency
    assert without is None or without.count == 0


def test_response_times_are_those_of_open_loops() -> None:
    open_loop = {"open_loop": 1, "rate_iops": 200, "time_based": True, "runtime": 1}
    job = fathom.run(**options(ioengine="io_uring", iodepth=4, **open_loop)).job("a")
    # I/Os still in flight at the end are counted in only one of the two.
    assert job.write.response_time is not None and abs(job.write.response_time.count - job.write.total_ios) <= 4
    assert job.write.total_ios > 0
    assert fathom.run(**options()).job("a").write.response_time is None


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "1", '"jobs"', "{}", '{"jobs": [{}]}', '{"jobs": 3}', '{"jobs": [3]}', "[" * 100000]
)
def test_other_documents_are_refused(text: str) -> None:
    Path("other.json").write_text(text)
    with pytest.raises(fathom.FathomError, match="other.json"):
        fathom.Result.load("other.json")


def test_cut_and_changed_documents_are_results_or_refused() -> None:
    fathom.run(**options()).save("whole.json")
    whole = Path("whole.json").read_text()
    for length in range(0, len(whole.rstrip()), max(1, len(whole) // 200)):
        Path("cut.json").write_text(whole[:length])
        with pytest.raises(fathom.FathomError, match="cut.json"):
            fathom.Result.load("cut.json")
    chance = random.Random(7)
    for _ in range(300):
        document = json.loads(whole)
        damage(document, chance)
        Path("changed.json").write_text(json.dumps(document))
        try:
            result = fathom.Result.load("changed.json")
            result.rows()
            _ = (result.findings, result.timeline, result.verdict, repr(result))
        except fathom.FathomError:
            pass


def damage(node: Any, chance: random.Random) -> None:
    """Replaces one value somewhere below by something else."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = chance.choice(keys)
        if isinstance(node[key], (dict, list)) and chance.random() < 0.8:
            node = node[key]
            continue
        if chance.random() < 0.3:
            del node[key]
        else:
            node[key] = chance.choice([None, "x", -1, 1e308, float("nan"), [], {}, [1], {"a": 1}, True])
        return


def test_a_cut_run_of_lines_is_refused() -> None:
    words = ["--name=a", "--rw=write", "--size=1m", "--filename=data", "--time_based", "--runtime=1", "--status-interval=300ms"]
    program = [fathom.find_program(), "--output-format=jsonl", "--output=lines", *words]
    subprocess.run(program, check=True, stderr=subprocess.PIPE)
    lines = Path("lines").read_text()
    assert lines.count("\n") >= 3 and fathom.Result.load("lines").raw["final"] is True
    Path("lines").write_text(lines[:-100])
    with pytest.raises(fathom.FathomError, match="lines"):
        fathom.Result.load("lines")


def test_jobs_of_clients_are_jobs() -> None:
    document = fathom.run(**options(numjobs=2)).raw
    entries = [dict(job, hostname=host, port=8765) for job, host in zip(document["jobs"], ("one", "two"))]
    total = dict(document["jobs"][0], jobname="All clients")
    found = fathom.Result.from_document({"fio version": "fio-3.42", "client_stats": [*entries, total], "disk_util": []})
    assert [(job.name, job.host) for job in found.jobs] == [("a", "one"), ("a", "two")]
    assert found.groups[0].write.total_ios == 512


def test_a_large_result() -> None:
    jobs = {"global": {"ioengine": "null", "size": "64k", "rw": "randrw", "bs": "4k"}}
    result = fathom.run({**jobs, "many": {"numjobs": 200}})
    assert len(result.jobs) == 200 and sum(job.read.total_ios + job.write.total_ios for job in result.jobs) == 200 * 16
    assert len(result.groups) == 1 and result.groups[0].read.total_ios + result.groups[0].write.total_ios == 200 * 16
    result.save("large.json")
    assert len(fathom.Result.load("large.json").jobs) == 200


def test_a_result_is_shown_in_a_few_lines() -> None:
    result = fathom.run(
        {"global": {"ioengine": "null", "size": "64k", "bs": "4k"}, "r": {"rw": "read", "numjobs": 20}, "w": {"rw": "write"}}
    )
    lines = repr(result).splitlines()
    assert len(lines) == 10 and lines[0].startswith("<Result, verdict: ") and lines[-1] == "  and 13 more jobs>"
    assert "<job 'r', read <" in lines[1] and " IOPS, " in lines[1]
    read = result.job("r").read
    assert read.iops == read.ios_per_second
    assert fathom.__version__[0].isdigit()


def test_frames_plots_and_pages() -> None:
    pandas = pytest.importorskip("pandas")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    result = fathom.run(name="a", ioengine="null", size="64m", rw="randrw", rate_iops="2000,1000", time_based=True, runtime=2)
    frame = result.frame(percentiles=[50, 99.5])
    assert isinstance(frame, pandas.DataFrame) and list(frame["direction"]) == ["read", "write"]
    assert frame["total_ios"].sum() == result.job("a").read.total_ios + result.job("a").write.total_ios
    assert (frame["p99.5_ns"] >= frame["p50_ns"]).all()
    times = result.timeline_frame()
    assert len(times) == len(result.timeline) and (times["end_ms"] > times["start_ms"]).all()
    rates, latencies = result.plot()
    assert [line.get_label() for line in rates.get_lines()] == ["a read", "a write"]
    drawn: Any = rates.get_lines()[0].get_ydata()
    assert list(drawn) == [point.bytes_per_second / 1e6 for point in result.timeline if point.direction == "read"]
    assert len(latencies.get_lines()) == 2
    pyplot.savefig("plot.png")
    assert Path("plot.png").read_bytes().startswith(b"\x89PNG")
    # Results of fio have no timeline.
    document = {key: value for key, value in result.raw.items() if not key.startswith("fathom")}
    assert len(fathom.Result.from_document(document).plot()) == 1
    pyplot.close("all")
    assert ">Storage test: a</h1>" in result.page(), "the page has a name"
    shown = result._repr_html_()
    assert (
        shown.startswith("<iframe srcdoc=")
        and shown.count("<") == 2
        and "&lt;svg" in shown
        and "allow-same-origin" not in shown
    )


def test_without_pandas_and_matplotlib_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    result = fathom.run(**options())
    for name in ("pandas", "matplotlib"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(fathom.FathomError, match="pip install pandas"):
        result.frame()
    with pytest.raises(fathom.FathomError, match="pip install matplotlib"):
        result.plot()


def test_names_in_a_notebook_start_no_markup() -> None:
    name = "<script>alert(1)</script>\"'&"
    result = fathom.run(name=name, rw="write", size="64k", filename="data")
    assert result.jobs[0].name == name
    assert "<script" not in result._repr_html_()
    # Without the program there are no charts, but no traceback in the notebook either.
    document = dict(result.raw, jobs=[])
    shown = fathom.Result.from_document(document)._repr_html_()
    assert shown.startswith(("<pre>no charts: ", "<iframe"))


def test_a_notebook_shows_the_charts_first() -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        skip("needs chromium")
    jobs = {
        "one": {"rw": "write", "size": "64k", "filename": "data"},
        "two": {"stonewall": None, "rw": "read", "size": "64k", "filename": "data"},
    }
    shown = fathom.run(jobs)._repr_html_()
    frame = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts" title="fathom: [^"]+" [^>]*></iframe>', shown)
    assert frame is not None
    Path("frame.html").write_text(html.unescape(frame[1]))
    arguments = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", Path("frame.html").resolve().as_uri()]
    page = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=True).stdout
    title, charts, facts = (page.index(part) for part in ("<h1>Storage test: one, two</h1>", 'class="charts"', 'class="facts"'))
    assert title < page.index("<h3>one</h3>") < charts < page.index("<h3>two</h3>") < facts
    assert page.count('class="charts"') == 2
    assert ">The run</h2>" in page
