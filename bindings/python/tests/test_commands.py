"""compare, sweep, curve, quick, fsync_check and history."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

import fathom

NULL = {"name": "a", "ioengine": "null", "size": "1m", "rw": "randread", "bs": "4k"}


@pytest.fixture(scope="module")
def runs() -> tuple[list[fathom.Result], list[fathom.Result]]:
    def some(rate: int) -> list[fathom.Result]:
        return [fathom.run(NULL | {"rate_iops": rate, "time_based": True, "runtime": "500ms"}) for _ in range(3)]

    return some(4000), some(1000)


Runs = tuple[list[fathom.Result], list[fathom.Result]]


def test_a_slower_side_is_found(runs: Runs) -> None:
    before, after = runs
    comparison = fathom.compare(before, after, fail_if=["iops < -10%"])
    iops = next(each for each in comparison.differences if each.figure == "IOPS" and each.direction == "read")
    assert (iops.a_runs, iops.b_runs, iops.verdict, iops.unit) == (3, 3, "slower", "1/s")
    assert iops.change_low is not None and iops.change_high is not None and iops.change_percent is not None
    assert iops.change_low <= iops.change_percent <= iops.change_high and -80 < iops.change_percent < -70
    assert comparison.failed and [each.outcome for each in comparison.conditions] == ["met"]
    assert not fathom.compare(before, after, fail_if="iops < -99%").failed
    assert not fathom.compare(before, before).failed
    assert comparison._repr_html_().startswith("<iframe srcdoc=")
    pytest.importorskip("pandas")
    assert len(comparison.frame()) == len(comparison.differences)


def test_sides_are_results_files_and_directories(runs: Runs) -> None:
    Path("-before").mkdir()
    for number, result in enumerate(runs[0]):
        result.save(f"-before/{number}.json")
    sides: list[Any] = ["-before", Path("-before"), [Path("-before/0.json"), runs[0][1], "-before/2.json"]]
    for side in sides:
        assert fathom.compare(side, runs[1]).differences[0].a_runs == 3
    with pytest.raises(fathom.FathomError, match="missing"):
        fathom.compare("missing", runs[0][0])
    with pytest.raises(fathom.FathomError, match="A has no results"):
        fathom.compare([], runs[0])
    with pytest.raises(fathom.FathomError, match="speed"):
        fathom.compare(runs[0], runs[1], fail_if=["speed < 3"])


def test_a_sweep_measures_every_combination() -> None:
    lines: list[str] = []
    job = NULL | {"rate_iops": 1000}
    sweep = fathom.sweep(job, vary={"bs": ["4k", "64k"], "rw": ["read", "randread"]}, repeats=2, seed=3, on_run=lines.append)
    assert [cell.options for cell in sweep.cells] == [
        {"bs": bs, "rw": rw} for bs in ("4k", "64k") for rw in ("read", "randread")
    ]
    assert sweep.runs_done == 8 and len([line for line in lines if line.startswith("run ")]) == 8
    figure = sweep.cells[0].figures["bandwidth"]
    assert figure.unit == "bytes/s" and figure.median is not None and figure.median > 0
    assert len(sweep.rows()) == sum(len(cell.figures) for cell in sweep.cells)
    assert sweep.lines.count(b"\n") == 9
    assert not os.listdir(), "nothing is kept without results="
    assert sweep._repr_html_().startswith("<iframe srcdoc=")
    assert repr(sweep) == "<Sweep of 4 cells, 8 runs: bandwidth, IOPS, mean lat, p99>"
    # Figures use the names of `figures=`.
    cell = sweep.cells[0]
    assert [cell.figure(name).name for name in ("bw", "iops", "lat", "p99")] == list(cell.figures)
    with pytest.raises(fathom.FathomError, match="is not one of bandwidth"):
        cell.figure("speed")
    with pytest.raises(fathom.FathomError, match="bandwidth of a"):
        sweep.best("speed")


def test_the_best_cell_is_one_only_if_the_runs_tell() -> None:
    sweep = fathom.sweep(NULL, vary={"rate_iops": [500, 4000]}, repeats=2, arguments=["--figures=iops"])
    best = sweep.best("IOPS")
    assert best is not None and best.options == {"rate_iops": "4000"} and best.figures["IOPS"].verdict == "best"
    same = fathom.sweep(NULL, vary={"rate_iops": [1000, 1000.0]}, repeats=1, figures=["iops"])
    assert same.best("IOPS") is None


def test_a_sweep_is_drawn_with_its_intervals() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    sweep = fathom.sweep(NULL | {"rate_iops": 1000}, vary={"iodepth": [1, 2, 4], "bs": ["4k", "8k"]}, repeats=3)
    (axes,) = sweep.plot("iops")
    assert axes.get_xlabel() == "iodepth" and [text.get_text() for text in axes.get_xticklabels()] == ["1", "2", "4"]
    legend = axes.get_legend()
    assert legend is not None and [text.get_text() for text in legend.get_texts()] == ["bs=4k", "bs=8k"]
    drawn: Any = axes.get_lines()[0].get_ydata()
    assert list(drawn) == [cell.figure("iops").median for cell in sweep.cells if cell.options["bs"] == "4k"]
    assert len(sweep.plot()) == 4
    pyplot.close("all")


def test_a_value_with_a_comma_is_one_value() -> None:
    sweep = fathom.sweep(NULL | {"rw": "randrw"}, vary={"bs": ["4k,8k", "8k,4k"]}, repeats=1)
    assert [cell.options["bs"] for cell in sweep.cells] == ["4k,8k", "8k,4k"]


def test_an_interrupted_sweep_resumes() -> None:
    job: dict[str, Any] = NULL | {"time_based": True, "runtime": "300ms"}
    vary = {"iodepth": [1, 2, 3]}

    def interrupt(line: str) -> None:
        if line.startswith("run 1 "):
            threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()

    with pytest.raises(KeyboardInterrupt):
        fathom.sweep(job, vary=vary, repeats=1, results="kept.sweep.jsonl", on_run=interrupt)
    kept = Path("kept.sweep.jsonl").read_bytes().count(b"\n")
    assert 2 <= kept < 4
    lines: list[str] = []
    sweep = fathom.sweep(job, vary=vary, repeats=1, results="kept.sweep.jsonl", on_run=lines.append)
    assert sweep.runs_done == 3 and len([line for line in lines if line.startswith("run ")]) == 4 - kept
    with pytest.raises(ZeroDivisionError):
        fathom.sweep(job, vary=vary, repeats=1, on_run=lambda line: print(1 // 0))


def test_what_cannot_be_varied_is_refused() -> None:
    refused: list[Any] = [{}, {"bs": "4k"}, {"bs": []}, {"bs": ["4k;8k"]}]
    for vary in refused:
        with pytest.raises(fathom.FathomError, match="vary"):
            fathom.sweep(NULL, vary=vary)
    with pytest.raises(fathom.FathomError, match="no_such_option"):
        fathom.sweep(NULL, vary={"no_such_option": [1, 2]})


def test_a_job_with_a_password_is_a_file_of_its_owner_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[list[str], int, int]] = []
    module = __import__("sys").modules["fathom.sweeping"]
    real = module.call

    def watch(arguments: list[str], **more: Any) -> Any:
        directory = Path(arguments[1]).parent
        seen.append((list(arguments), directory.stat().st_mode & 0o777, len(list(directory.iterdir()))))
        return real(arguments, **more)

    monkeypatch.setattr(module, "call", watch)
    fathom.sweep(NULL | {"description": "hunter2"}, vary={"iodepth": [1, 2]}, repeats=1)
    ((arguments, mode, _),) = seen
    assert mode == 0o700 and not any("hunter2" in word for word in arguments)
    assert not Path(arguments[1]).exists()


def test_a_curve_has_the_answer() -> None:
    job = {"name": "a", "ioengine": "io_uring", "iodepth": 8, "size": "1m", "rw": "randread", "bs": "4k", "filename": "data"}
    lines: list[str] = []
    curve = fathom.curve(job, rates=[200, 400], slo="p99<100ms", time="300ms", most_runs=1, on_run=lines.append)
    (line,) = curve.lines
    assert [step.rate for step in line.steps] == [200, 400]
    # A busy machine may not sustain the loads; the program then reports this.
    assert all(isinstance(step.sustained, bool) for step in line.steps)
    assert (
        line.highest is not None and curve.limits == ["p99<100ms"] and len([text for text in lines if "offered" in text]) == 2
    )
    first = line.steps[0]
    assert 20 < first.served_iops < 1000 and first.response_ns["p99"].median >= first.response_ns["p50"].median > 0
    assert os.listdir() == ["data"]
    assert curve._repr_html_().startswith("<iframe srcdoc=")
    assert curve.rows()[1]["rate"] == 400
    pytest.importorskip("matplotlib")
    (axes,) = curve.plot()
    assert [text.get_label() for text in axes.get_lines()] == ["p50", "p99", "p99.9"]
    with pytest.raises(fathom.FathomError, match="slo"):
        fathom.curve(job, rates=[200], slo="p99>1ms")


def test_quick_answers_in_a_sentence_and_leaves_nothing_behind() -> None:
    quick = fathom.quick(size="16m", time="50ms")
    assert "read" in quick.headline and repr(quick) == f"<Quick of {quick.place}: {quick.headline}>"
    assert len(quick.tests) == 8 and len(quick.results) == 1 and not os.listdir()
    test = quick.test("read-rand-4k-d1")
    assert (test.direction, test.random, test.block_size, test.depth, test.intervals) == ("read", True, "4k", 1, {})
    assert test.iops is not None and test.bytes_per_second == pytest.approx(test.iops * 4096, rel=0.01)
    assert test.p50_ns is not None and test.p99_ns is not None and test.p50_ns <= test.p99_ns
    assert any("only" in doubt for doubt in test.doubts), "50 ms are too short"
    assert [row["name"] for row in quick.rows()] == [job.name for job in quick.results[0].jobs][-8:]
    assert quick._repr_html_().startswith("<iframe srcdoc=")
    with pytest.raises(fathom.FathomError, match="there are read-seq"):
        quick.test("speed")
    pytest.importorskip("pandas")
    assert len(quick.frame()) == 8


def test_quick_repeats_and_has_intervals() -> None:
    quick = fathom.quick(size="16m", time="50ms", repeats=2)
    low, high = quick.test("write-seq-1m-d1").intervals["iops"]
    assert len(quick.results) == 2 and low < high


def test_syncs_are_fast_enough_or_too_slow_or_unknown() -> None:
    fast = fathom.fsync_check(size="3m", threshold="60s")
    assert (fast.fast_enough, fast.percentile, fast.threshold_ns) == (True, 99.0, 60_000_000_000)
    assert fast.syncs > 1000 and 0 < fast.value_ns <= fast.max_ns and fast.percentiles_ns[50.0] <= fast.value_ns
    assert fast.result.jobs[0].sync is not None and not os.listdir()
    slow = fathom.fsync_check(size="256k", threshold="1us")
    assert slow.fast_enough is False and slow.value_ns > slow.threshold_ns
    few = fathom.fsync_check(size="64k", threshold="60s")
    assert few.fast_enough is None and few.syncs < 1000


def test_what_cannot_be_measured_is_an_error() -> None:
    for function in (fathom.quick, fathom.fsync_check):
        with pytest.raises(fathom.FathomError, match="missing"):
            function("missing")
        with pytest.raises(fathom.FathomError, match="size"):
            function(size="much")


def test_a_history_is_a_frame(runs: Runs) -> None:
    for number, result in enumerate(runs[0]):
        result.save(f"{number}.json")
        tag = f'--tag=note=two words, and "quotes" {number}'
        subprocess.run([fathom.find_program(), "history", "add", f"{number}.json", "--store=h.db", tag], check=True)
    history = fathom.history("h.db")
    assert repr(history).endswith(" of 3 runs>")
    iops = [row for row in history.figures if (row["direction"], row["figure"]) == ("read", "iops")]
    assert [row["value"] for row in iops] == pytest.approx(
        [result.job("a").read.ios_per_second for result in runs[0]], rel=1e-6
    )
    assert all(row["begun"].year > 2020 and row["job"] == "a" for row in iops)
    note = 'two words, and "quotes" 1'
    assert next(row["tag.note"] for row in history.rows() if row["run"] == 2) == note
    assert {row["run"] for row in fathom.history("h.db", where={"note": note}).figures} == {2}
    assert fathom.history(Path("h.db"), where={"note": "none"}).figures == []
    assert "<!doctype html>" in history.page().lower()[:100]
    with pytest.raises(fathom.FathomError, match="no history there yet"):
        fathom.history("none.db")
    with pytest.raises(fathom.FathomError, match="not a name"):
        fathom.history("h.db", where={"a=b": "c"})
    pytest.importorskip("pandas")
    frame = history.frame()
    assert str(frame.begun.dtype).startswith("datetime64") and set(frame["tag.note"]) == {f"{note[:-1]}{n}" for n in range(3)}
