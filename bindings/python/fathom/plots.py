"""Charts with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .program import FathomError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .curving import Curve
    from .result import Point, Result
    from .sweeping import Cell, Sweep

PERCENTS = (1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99)


def _axes(count: int, width: float) -> list[Axes]:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise FathomError(f"plot: {error}; pip install matplotlib") from error
    _, grid = pyplot.subplots(1, count, figsize=(width * count, 4.0), squeeze=False, layout="constrained")
    return list(grid[0])


def plot(result: Result) -> list[Axes]:
    """Rates over time, where there is a timeline, then latencies by percentile."""
    lines: dict[str, list[Point]] = {}
    for point in result.timeline:
        lines.setdefault(f"{point.job} {point.direction}", []).append(point)
    axes = _axes(2 if lines else 1, 6.0)
    if lines:
        _rates(axes[0], lines)
    _percentiles(axes[-1], result)
    return axes


def _rates(axes: Axes, lines: dict[str, list[Point]]) -> None:
    for label, points in lines.items():
        times = [(point.start_ms + point.end_ms) / 2000 for point in points]
        axes.plot(times, [point.bytes_per_second / 1e6 for point in points], label=label)
    axes.set(xlabel="time (s)", ylabel="MB/s", title="rate")
    axes.set_ylim(bottom=0)
    axes.legend()


def _percentiles(axes: Axes, result: Result) -> None:
    for job in result.jobs:
        for name, direction in job.directions().items():
            latency = direction.completion_latency
            if latency is None or latency.count == 0:
                continue
            known = latency.percentiles_ns
            if latency.bins_ns:
                known = {percent: latency.percentile_ns(percent) for percent in PERCENTS}
            # A logarithmic axis of the share of slower I/Os, so that the far tail is visible.
            percents = [percent for percent in sorted(known) if percent < 100]
            values = [known[percent] / 1000 for percent in percents]
            axes.plot([1 - percent / 100 for percent in percents], values, marker=".", label=f"{job.name} {name}")
    axes.set(xlabel="percentile", ylabel="µs", title="completion latency")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.invert_xaxis()
    ticks = {0.5: "p50", 0.1: "p90", 0.01: "p99", 0.001: "p99.9", 0.0001: "p99.99"}
    axes.set_xticks(list(ticks), labels=list(ticks.values()))
    axes.minorticks_off()
    if axes.get_lines():
        axes.legend()


def plot_curve(curve: Curve) -> list[Axes]:
    """Response times against load, without loads that the storage does not sustain, where response times are meaningless."""
    (axes,) = _axes(1, 7.0)
    for line in curve.lines:
        steps = [step for step in line.steps if step.sustained]
        options = " ".join(f"{name}={value}" for name, value in line.options.items())
        for name in ("p50", "p99", "p99.9"):
            known = [(step.served_iops, step.response_ns[name].median / 1e6) for step in steps if name in step.response_ns]
            axes.plot([x for x, _ in known], [y for _, y in known], marker=".", label=f"{options} {name}".strip())
    axes.set(xlabel="served (IOPS)", ylabel="response time (ms)", yscale="log")
    axes.legend()
    return [axes]


_UNITS = {"bytes/s": ("MiB/s", 1 / 1048576), "1/s": ("IOPS", 1.0), "ns": ("µs", 1 / 1000)}


def plot_sweep(sweep: Sweep, figure: str | None) -> list[Axes]:
    """One chart per figure, with the intervals of the medians."""
    if not sweep.cells:
        raise FathomError("plot: the sweep has no cells")
    first = sweep.cells[0]
    names = [first.figure(figure).name] if figure is not None else list(first.figures)
    values: dict[str, list[str]] = {}
    for cell in sweep.cells:
        for name, value in cell.options.items():
            if value not in values.setdefault(name, []):
                values[name].append(value)
    across = max((name for name in values if name != "job"), key=lambda name: len(values[name]))
    axes = _axes(len(names), 6.0)
    for place, name in zip(axes, names):
        _figure_over(place, sweep.cells, name, across, values[across])
    return axes


def _figure_over(axes: Axes, cells: list[Cell], name: str, across: str, values: list[str]) -> None:
    lines: dict[str, list[Cell]] = {}
    for cell in cells:
        others = " ".join(f"{option}={value}" for option, value in cell.options.items() if option != across)
        lines.setdefault(others, []).append(cell)
    unit, factor = _UNITS.get(cells[0].figures[name].unit, (cells[0].figures[name].unit, 1.0))
    for number, (label, own) in enumerate(lines.items()):
        # Shift each line slightly, so that error bars of different lines do not overlap.
        shift = (number - (len(lines) - 1) / 2) * 0.04
        places, medians, below, above = [], [], [], []
        for cell in own:
            figure = cell.figures[name]
            if figure.median is None:
                continue
            low = figure.median if figure.low is None else figure.low
            high = figure.median if figure.high is None else figure.high
            places.append(values.index(cell.options[across]) + shift)
            medians.append(figure.median * factor)
            below.append(max(0.0, figure.median - low) * factor)
            above.append(max(0.0, high - figure.median) * factor)
        axes.errorbar(places, medians, yerr=[below, above], marker=".", capsize=3, label=label or name)
    axes.set(xlabel=across, ylabel=unit, title=name)
    axes.set_xticks(range(len(values)), labels=values)
    axes.set_ylim(bottom=0)
    axes.legend()
