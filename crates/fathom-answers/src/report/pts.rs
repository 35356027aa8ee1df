//! The page of a PTS test: setup, convergence, the measurement window, tables and plots.

use super::chart::heat::{self, shade_between};
use super::chart::places::Places;
use super::chart::scale::{Scale, Unit};
use super::chart::{self, Axis, Chart, Series};
use super::charts::charts;
use super::shell;
use crate::figures;
use crate::measures::Figure;
use crate::pts::definition::Ends;
use crate::pts::findings::{Findings, PartFindings, written_in};
use crate::pts::output::{course_of, facts, heading, sentences, shown_figures, tables, title};
use crate::pts::plan::PtsTest;
use crate::pts::record::RecordedTest;
use crate::pts::steady_state::{ROUNDS, Window};
use crate::results_file;
use crate::table::{Align, Table};
use fathom_command::Failure;
use maud::{Markup, html};
use std::path::Path;

/// Number of lines that are distinguishable in one chart.
const STYLES: usize = 8;

/// The page of a results file.
pub(super) fn page(path: &Path, given_title: Option<&str>) -> Result<String, Failure> {
    let recorded: RecordedTest = results_file::read(path)?;
    let findings = Findings::of(&recorded);
    let sentences = sentences(&findings);
    let mut all = facts(&findings);
    all.push(("written".to_owned(), figures::size(findings.written())));
    let parts = || findings.parts.iter().enumerate().map(|(number, part)| (format!("part-{number}"), part));
    let name = |part: &PartFindings<'_>| match &part.part.name {
        none if none.is_empty() => findings.plan.test.definition().title.to_owned(),
        name => name.clone(),
    };
    let body = html! {
        section aria-labelledby="test" {
            h2 id="test" { "Test" }
            @if !sentences.is_empty() { div.verdict { ul { @for line in sentences { li { (line) } } } } }
            (shell::list(&all))
            @for (id, part) in parts() {
                h3 id=(id) { (name(part)) }
                (shell::list(&course_of(&findings, part)))
                (part_html(&findings, part, &id))
            }
            @if findings.plan.test == PtsTest::Throughput && let Some(all) = throughput(&findings) {
                h3 id="all" { "All block sizes" } (charts([all]))
            }
        }
    };
    let mut links = vec![("test".to_owned(), "Test".to_owned())];
    links.extend(parts().map(|(id, part)| (id, name(part))));
    Ok(shell::shell(given_title.unwrap_or(&title(&findings)), &links, &body))
}

/// The charts of a results file.
pub(super) fn all_charts(path: &Path) -> Result<Vec<chart::Figure>, Failure> {
    let recorded: RecordedTest = results_file::read(path)?;
    let findings = Findings::of(&recorded);
    let parts = findings.parts.iter().enumerate();
    let of_parts = parts.flat_map(|(number, part)| part_charts(&findings, part, &format!("part-{number}")));
    let all = (findings.plan.test == PtsTest::Throughput).then(|| throughput(&findings)).flatten();
    Ok(of_parts.chain(all).collect())
}

fn part_html(findings: &Findings<'_>, part: &PartFindings<'_>, id: &str) -> Markup {
    let shown = shown_figures(findings.plan.test);
    html! {
        (charts(part_charts(findings, part, id)))
        @for (number, (caption, table)) in tables(findings, part, usize::MAX).into_iter().enumerate() {
            @match shown.get(number).filter(|_| !caption.is_empty()) {
                Some(figure) => (heat_map(part, *figure, &caption)),
                None => (table.html()),
            }
        }
    }
}

fn part_charts(findings: &Findings<'_>, part: &PartFindings<'_>, id: &str) -> Vec<chart::Figure> {
    if matches!(part.part.ends, Ends::Written { .. }) {
        return saturation(findings, part, id);
    }
    let figure = findings.plan.test.definition().figure;
    let of_window = part.window().map(|window| window_chart(window, figure, id));
    let plots = shown_figures(findings.plan.test).iter().enumerate();
    let plots = plots.filter_map(|(number, figure)| plot(part, *figure, &format!("{id}-plot-{number}")));
    convergence(part, figure, id).into_iter().chain(of_window).chain(plots).collect()
}

fn unit_of(figure: Figure) -> Unit {
    match figure {
        Figure::Iops => Unit::Count,
        Figure::Bandwidth => Unit::Bandwidth,
        _ => Unit::Latency,
    }
}

fn label_of(figure: Figure) -> String {
    match figure {
        Figure::Bandwidth => "MB/s".to_owned(),
        other => heading(other),
    }
}

/// A chart with a table of its lines, which has a row for each category and a column for each line.
fn over_places(
    title: &str,
    names: &[String],
    first: &str,
    lines: &[Series],
    y: Axis,
    id: &str,
) -> chart::Figure {
    let unit = y.unit;
    let x = Axis { label: String::new(), scale: Scale::Linear { max: names.len() as f64 }, unit: Unit::Row };
    let mut columns = vec![(first, Align::Left)];
    columns.extend(lines.iter().map(|line| (line.name.as_str(), Align::Right)));
    let mut table = Table::new(&columns);
    for (place, name) in names.iter().enumerate() {
        let at =
            |line: &Series| line.points.iter().find(|point| point.0 == place as f64).map(|point| point.1);
        let mut row = vec![name.clone()];
        row.extend(
            lines.iter().map(|line| at(line).map_or_else(|| "-".to_owned(), |value| unit.text(value))),
        );
        table.row(row);
    }
    let mut chart = Chart::new(title, x, y);
    let lines: Vec<(Series, Vec<(f64, f64)>)> = lines
        .iter()
        .map(|line| (line.clone(), line.points.iter().map(|point| (point.1, point.1)).collect()))
        .collect();
    chart.lines_over(&Places::even(names.to_vec()), &lines);
    chart.figure(id, &table)
}

/// The writes of each block size over all rounds. Reads are included if the part has only one size.
fn convergence(part: &PartFindings<'_>, figure: Figure, id: &str) -> Option<chart::Figure> {
    let (blocks, _) = part.axes();
    let shown = |read_percent: u8| read_percent == 0 || blocks.len() == 1;
    let points = part.part.points.iter().enumerate().filter(|(_, point)| shown(point.read_percent));
    let lines: Vec<Series> = points
        .enumerate()
        .map(|(style, (number, point))| Series {
            name: if blocks.len() == 1 {
                format!("{} {}", point.block(), point.mix())
            } else {
                point.block()
            },
            style: style % STYLES,
            points: (0..part.rounds.len())
                .filter_map(|round| Some((round as f64, part.value(number, round, figure)?)))
                .collect(),
        })
        .filter(|line| !line.points.is_empty())
        .collect();
    if lines.is_empty() || part.rounds.len() < 2 {
        return None;
    }
    let values = || lines.iter().flat_map(|line| line.points.iter().map(|point| point.1));
    // Values of different block sizes differ by orders of magnitude, so the scale is logarithmic.
    let scale = if lines.len() > 2 { Scale::logarithmic(values()) } else { Scale::linear(values()) };
    let y = Axis { label: label_of(figure), scale, unit: unit_of(figure) };
    let names: Vec<String> = (1..=part.rounds.len()).map(|round| round.to_string()).collect();
    let of = if blocks.len() == 1 { "" } else { " of writes" };
    Some(over_places(
        &format!("Steady state convergence: {}{of} by round", heading(figure)),
        &names,
        "round",
        &lines,
        y,
        &format!("{id}-convergence"),
    ))
}

/// The tracking variable within its window, with the limits and the fitted line.
fn window_chart(window: &Window, figure: Figure, id: &str) -> chart::Figure {
    let places = || (0..ROUNDS).map(|place| place as f64);
    let level = |name: &str, style: usize, value: f64| Series {
        name: name.to_owned(),
        style,
        points: places().map(|place| (place, value)).collect(),
    };
    let lines = [
        Series { name: "measured".to_owned(), style: 0, points: places().zip(window.values).collect() },
        level("average", 2, window.average),
        level("110 % of the average", 4, 1.1 * window.average),
        level("90 % of the average", 5, 0.9 * window.average),
        Series {
            name: "best linear fit".to_owned(),
            style: 1,
            points: places().map(|place| (place, window.fit(window.first as f64 + place))).collect(),
        },
    ];
    let values = lines.iter().flat_map(|line| line.points.iter().map(|point| point.1));
    let y = Axis { label: label_of(figure), scale: Scale::linear(values), unit: unit_of(figure) };
    let names: Vec<String> = window.rounds().map(|round| format!("round {}", round + 1)).collect();
    over_places(
        &format!("Measurement window: {}", heading(figure)),
        &names,
        "round",
        &lines,
        y,
        &format!("{id}-window"),
    )
}

/// A figure by block size, with a line for each mix; `None` for a part with a single size.
fn plot(part: &PartFindings<'_>, figure: Figure, id: &str) -> Option<chart::Figure> {
    let (blocks, mixes) = part.axes();
    let lines: Vec<Series> = mixes
        .iter()
        .enumerate()
        .map(|(style, mix)| Series {
            name: format!("{mix}/{}", 100 - mix),
            style: style % STYLES,
            points: blocks
                .iter()
                .enumerate()
                .filter_map(|(place, block)| {
                    Some((place as f64, part.in_window(part.point_of(*block, *mix)?, figure)?))
                })
                .collect(),
        })
        .filter(|line| !line.points.is_empty())
        .collect();
    if blocks.len() < 2 || lines.is_empty() {
        return None;
    }
    let values = lines.iter().flat_map(|line| line.points.iter().map(|point| point.1));
    let y = Axis { label: label_of(figure), scale: Scale::logarithmic(values), unit: unit_of(figure) };
    let names: Vec<String> = blocks.iter().copied().map(figures::size).collect();
    Some(over_places(
        &format!("{} by block size and mix of reads and writes", heading(figure)),
        &names,
        "block",
        &lines,
        y,
        id,
    ))
}

/// The matrix of block sizes and mixes, in which higher values are darker: a readable form of the
/// three-dimensional plot.
fn heat_map(part: &PartFindings<'_>, figure: Figure, caption: &str) -> Markup {
    let (blocks, mixes) = part.axes();
    let value =
        |block: u64, mix: u8| part.point_of(block, mix).and_then(|point| part.in_window(point, figure));
    let all: Vec<f64> =
        blocks.iter().flat_map(|block| mixes.iter().filter_map(|mix| value(*block, *mix))).collect();
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    let high = all.iter().copied().fold(0.0, f64::max);
    let cell = |block: u64, mix: u8| match value(block, mix) {
        Some(value) => {
            html! { td class={ "right shade-" (shade_between(value, low, high)) } { (figure.text(value)) } }
        }
        None => html! { td.right { "-" } },
    };
    let across: Vec<String> = mixes.iter().map(|mix| format!("{mix}/{}", 100 - mix)).collect();
    let lines: Vec<(String, Vec<Markup>)> = blocks
        .iter()
        .map(|&block| (figures::size(block), mixes.iter().map(|mix| cell(block, *mix)).collect()))
        .collect();
    heat::table(&format!("{caption}; reads/writes across, blocks down"), &across, &lines)
}

/// The throughput of reads and writes of all block sizes, side by side.
fn throughput(findings: &Findings<'_>) -> Option<chart::Figure> {
    let mut names = Vec::new();
    let mut values = Vec::new();
    for part in &findings.parts {
        for (number, point) in part.part.points.iter().enumerate() {
            let Some(value) = part.in_window(number, Figure::Bandwidth) else { continue };
            names.push(format!(
                "{} {}",
                point.block(),
                if point.read_percent == 0 { "write" } else { "read" }
            ));
            values.push(value);
        }
    }
    if values.is_empty() {
        return None;
    }
    let x = Axis { label: String::new(), scale: Scale::Linear { max: 1.0 }, unit: Unit::Row };
    let y = Axis {
        label: "MB/s".to_owned(),
        scale: Scale::linear(values.iter().copied()),
        unit: Unit::Bandwidth,
    };
    let mut chart = Chart::new("Throughput of all block sizes", x, y);
    chart.bars(&names, &values, 0);
    let mut table = Table::new(&[("workload", Align::Left), ("throughput", Align::Right)]);
    for (name, value) in names.into_iter().zip(values) {
        table.row(vec![name, figures::bandwidth(value)]);
    }
    Some(chart.figure("all-throughput", &table))
}

/// Rates and latencies over time, and rates over the written amount.
fn saturation(findings: &Findings<'_>, part: &PartFindings<'_>, id: &str) -> Vec<chart::Figure> {
    let step = findings.plan.point_time().as_secs_f64();
    let mut written = 0u64;
    let gigabytes: Vec<f64> = part
        .rounds
        .iter()
        .map(|round| {
            written = written_in(round).saturating_add(written);
            written as f64 / 1e9
        })
        .collect();
    let seconds: Vec<f64> = (1..=part.rounds.len()).map(|round| round as f64 * step).collect();
    let series = |places: &[f64], name: &str, style: usize, figure: Figure| Series {
        name: name.to_owned(),
        style,
        points: places
            .iter()
            .enumerate()
            .filter_map(|(round, place)| Some((*place, part.value(0, round, figure)?)))
            .collect(),
    };
    let time = ("seconds of writing", Unit::Seconds);
    let rate = |places: &[f64]| [series(places, "IOPS", 0, Figure::Iops)];
    let latencies = [
        series(&seconds, "average", 0, Figure::LatencyMean),
        series(&seconds, "99.999 %", 1, Figure::Percentile(99.999)),
        series(&seconds, "maximum", 4, Figure::LatencyMax),
    ];
    let charts = [
        along("IOPS over time", time, &rate(&seconds), Figure::Iops, &format!("{id}-iops")),
        along("Latency over time", time, &latencies, Figure::LatencyMean, &format!("{id}-latency")),
        along(
            "IOPS over the amount written",
            ("written, GB", Unit::Gigabytes),
            &rate(&gigabytes),
            Figure::Iops,
            &format!("{id}-written"),
        ),
    ];
    charts.into_iter().flatten().collect()
}

/// A chart of lines along a numeric axis.
fn along(
    title: &str,
    (label, unit): (&str, Unit),
    lines: &[Series],
    figure: Figure,
    id: &str,
) -> Option<chart::Figure> {
    let points = || lines.iter().flat_map(|line| &line.points);
    if points().count() == 0 {
        return None;
    }
    let x = Axis { label: label.to_owned(), scale: Scale::up_to_last(points().map(|point| point.0)), unit };
    let scale = match lines.len() {
        1 => Scale::linear(points().map(|point| point.1)),
        _ => Scale::logarithmic(points().map(|point| point.1)),
    };
    let name = if lines.len() == 1 { label_of(figure) } else { "latency".to_owned() };
    let mut chart = Chart::new(title, x, Axis { label: name, scale, unit: unit_of(figure) });
    chart.lines(lines, false);
    let mut columns = vec![(label, Align::Right)];
    columns.extend(lines.iter().map(|line| (line.name.as_str(), Align::Right)));
    let mut table = Table::new(&columns);
    let first = &lines[0].points;
    for (row, place) in
        first.iter().enumerate().step_by(first.len().div_ceil(super::charts::TABLE_ROWS).max(1))
    {
        let mut cells = vec![unit.text(place.0)];
        cells.extend(lines.iter().map(|line| {
            line.points.get(row).map_or_else(|| "-".to_owned(), |point| unit_of(figure).text(point.1))
        }));
        table.row(cells);
    }
    Some(chart.figure(id, &table))
}
