//! The page of a sweep: a heat map over two of the options and lines with intervals for each figure, and the
//! complete table.

use super::chart::heat::{self, shade_between};
use super::chart::places::Places;
use super::chart::scale::{Scale, Unit};
use super::chart::{Axis, Chart, Figure as Drawn, Series};
use super::charts::charts;
use super::shell;
use crate::measures::Figure;
use crate::sweep::rows::{Results, Row};
use crate::sweep::{results_in, texts_of, whole_text_of};
use crate::table::{Align, Table};
use fathom_command::Failure;
use maud::{Markup, html};
use std::path::Path;

/// Number of lines that are distinguishable in one chart.
const STYLES: usize = 6;

/// The page of a results file.
pub(super) fn page(path: &Path, title: Option<&str>) -> Result<String, Failure> {
    let title = title.map_or_else(|| format!("Sweep: {}", path.display()), str::to_owned);
    let results = results_in(path)?;
    let figures = || results.figures.iter().enumerate().map(|(figure, (_, heading))| (figure, heading));
    let body = html! {
        section aria-labelledby="sweep" {
            h2 id="sweep" { (path.display().to_string()) }
            p {
                (results.done.0) " of " (results.done.1) " runs are done. Medians of the runs; ranges are 95 % confidence \
                intervals."
            }
            @if !results.doubts.is_empty() { div.verdict { ul { @for doubt in &results.doubts { li { (doubt) } } } } }
            @if let Some(volume) = &results.volume { p {
                @for (number, line) in volume.remarks().iter().enumerate() { @if number > 0 { br; } (line) }
            } }
            @for (figure, heading) in figures() {
                h3 id=(id_of(figure)) { (heading) }
                @for (number, job) in results.jobs.iter().enumerate() {
                    (heat_maps(&results, figure, job))
                    @if let Some(drawn) = lines(&results, figure, job, &id_of_chart(figure, number)) { (charts([drawn])) }
                }
            }
            h3 { "All figures" }
            (table(&results).html())
        }
    };
    let links: Vec<shell::Link> =
        figures().map(|(figure, heading)| (id_of(figure), heading.clone())).collect();
    Ok(shell::shell(&title, &links, &body))
}

/// The charts of a results file.
pub(super) fn all_charts(path: &Path) -> Result<Vec<Drawn>, Failure> {
    let results = results_in(path)?;
    let figures = 0..results.figures.len();
    let all = figures.flat_map(|figure| (0..results.jobs.len()).map(move |number| (figure, number)));
    let drawn = all.filter_map(|(figure, number)| {
        lines(&results, figure, &results.jobs[number], &id_of_chart(figure, number))
    });
    Ok(drawn.collect())
}

fn id_of_chart(figure: usize, job: usize) -> String {
    format!("{}-{job}", id_of(figure))
}

fn id_of(figure: usize) -> String {
    format!("figure-{figure}")
}

/// Names of an option's values, in the order of the grid.
fn names_of(rows: &[&Row], option: usize) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for row in rows {
        if !names.contains(&row.names[option]) {
            names.push(row.names[option].clone());
        }
    }
    names
}

/// The rows of a job.
fn rows_of<'a>(results: &'a Results, job: &str) -> Vec<&'a Row> {
    results.rows.iter().filter(|row| row.job == job).collect()
}

/// The options that vary, except for the job, ordered by number of values; queue depth and block size come
/// first.
fn options_by_use(results: &Results, rows: &[&Row]) -> Vec<usize> {
    let count = if results.jobs.len() > 1 { results.options.len() - 1 } else { results.options.len() };
    let mut options: Vec<usize> = (0..count).filter(|&option| names_of(rows, option).len() > 1).collect();
    let is_usual = |option: usize| {
        ["iodepth", "bs", "blocksize", "numjobs"].contains(&results.option_names[option].as_str())
    };
    options.sort_by_key(|&option| (!is_usual(option), std::cmp::Reverse(names_of(rows, option).len())));
    options
}

/// Tables over two options, in which cells with larger figures are darker. Each combination of the other
/// options has a table. Empty if fewer than two options vary.
fn heat_maps(results: &Results, figure: usize, job: &str) -> Markup {
    let rows = rows_of(results, job);
    let [across, down, rest @ ..] = &options_by_use(results, &rows)[..] else { return Markup::default() };
    let mut others: Vec<Vec<&str>> = Vec::new();
    for row in &rows {
        let own: Vec<&str> = rest.iter().map(|&option| row.names[option].as_str()).collect();
        if !others.contains(&own) {
            others.push(own);
        }
    }
    let value = |row: &Row| results.summary(row, figure).map(|summary| summary.median);
    let all: Vec<f64> = rows.iter().filter_map(|row| value(row)).collect();
    let (low, high) =
        (all.iter().copied().fold(f64::INFINITY, f64::min), all.iter().copied().fold(0.0, f64::max));
    let columns = names_of(&rows, *across);
    let map = |other: &Vec<&str>| {
        let own =
            rest.iter().zip(other).map(|(&option, value)| format!("{}={value}: ", results.options[option]));
        let job = (results.jobs.len() > 1).then(|| format!("{job}: "));
        let name: String = job.into_iter().chain(own).collect();
        let caption = format!("{name}{} across, {} down", results.options[*across], results.options[*down]);
        let cell_at = |line: &str, column: &str| {
            let is_it = |row: &&&Row| {
                row.names[*across] == column
                    && row.names[*down] == line
                    && rest.iter().zip(other).all(|(&option, value)| row.names[option] == *value)
            };
            let row = rows.iter().find(is_it);
            row.map_or_else(|| html! { td {} }, |row| cell(results, row, figure, value(row), (low, high)))
        };
        let lines: Vec<(String, Vec<Markup>)> = names_of(&rows, *down)
            .into_iter()
            .map(|line| (line.clone(), columns.iter().map(|column| cell_at(&line, column)).collect()))
            .collect();
        heat::table(&caption, &columns, &lines)
    };
    html! { @for other in &others { (map(other)) } }
}

fn cell(results: &Results, row: &Row, figure: usize, value: Option<f64>, (low, high): (f64, f64)) -> Markup {
    let [median, interval] = texts_of(results, row, figure);
    let interval = Some(interval).filter(|interval| !interval.is_empty());
    html! {
        @match value {
            Some(value) => td class={ "right shade-" (shade_between(value, low, high)) } title=[interval] { (median) },
            None => td.right { "-" },
        }
    }
}

/// A chart over the values of the first option, with a line per value of the second. `None` if a chart cannot
/// hold this many lines; the heat map shows them.
fn lines(results: &Results, figure: usize, job: &str, id: &str) -> Option<Drawn> {
    let rows = rows_of(results, job);
    let options = options_by_use(results, &rows);
    let (&across, rest) = options.split_first()?;
    let names = names_of(&rows, across);
    let value_of =
        |name: &String| rows.iter().find(|row| row.names[across] == *name).map(|row| &row.values[across]);
    let numbers: Vec<Option<f64>> =
        names.iter().map(|name| fathom_spec::value::parse_amount(value_of(name)?, 1024)).collect();
    let places = Places::spaced(names.clone(), &numbers);
    // Bandwidths are in MiB/s, as in the tables.
    let (unit, scale) = match results.figures[figure].0.figure {
        Figure::Bandwidth => (Unit::Mebibytes, 1.0 / f64::from(1 << 20)),
        Figure::Iops => (Unit::Count, 1.0),
        _ => (Unit::Latency, 1.0),
    };
    let mut lines: Vec<(Series, Vec<(f64, f64)>)> = Vec::new();
    for row in &rows {
        let Some(summary) = results.summary(row, figure) else { continue };
        let own: Vec<String> =
            rest.iter().map(|&option| format!("{}={}", results.options[option], row.names[option])).collect();
        let name = if own.is_empty() { results.figures[figure].1.clone() } else { own.join(" ") };
        let place = names.iter().position(|name| *name == row.names[across]).unwrap_or(0) as f64;
        let ends = summary.interval.map_or((summary.median, summary.median), |ends| (ends.low, ends.high));
        let index = lines.iter().position(|(line, _)| line.name == name).unwrap_or_else(|| {
            lines.push((Series { name, style: lines.len() % STYLES, points: Vec::new() }, Vec::new()));
            lines.len() - 1
        });
        lines[index].0.points.push((place, summary.median * scale));
        lines[index].1.push((ends.0 * scale, ends.1 * scale));
    }
    if lines.is_empty() || lines.len() > STYLES || names.len() < 2 {
        return None;
    }
    for (line, ends) in &mut lines {
        sort_by_place(&places, line, ends);
    }
    let highest = lines.iter().flat_map(|(_, ends)| ends.iter().map(|ends| ends.1));
    let heading = &results.figures[figure].1;
    let x = Axis {
        label: format!("{}{}", results.options[across], places.remark),
        scale: Scale::Linear { max: 1.0 },
        unit: Unit::Row,
    };
    let label = if unit == Unit::Mebibytes { "MiB/s".to_owned() } else { heading.clone() };
    let y = Axis { label, scale: Scale::linear(highest), unit };
    let lead = if results.jobs.len() > 1 { format!("{job}: ") } else { String::new() };
    let mut chart = Chart::new(&format!("{lead}{heading} over {}", results.options[across]), x, y);
    let mut table = Table::new(&[
        ("line", Align::Left),
        ("at", Align::Right),
        ("median", Align::Right),
        ("interval", Align::Right),
    ]);
    for (line, ends) in &lines {
        for (point, (low, high)) in line.points.iter().zip(ends) {
            table.row(vec![
                line.name.clone(),
                names[point.0 as usize].clone(),
                unit.text(point.1),
                format!("{} to {}", unit.text(*low), unit.text(*high)),
            ]);
        }
    }
    chart.lines_over(&places, &lines);
    Some(chart.figure(id, &table))
}

/// Orders the points of a line from left to right, regardless of their order in the grid.
fn sort_by_place(places: &Places, line: &mut Series, ends: &mut Vec<(f64, f64)>) {
    let mut both: Vec<((f64, f64), (f64, f64))> =
        line.points.iter().copied().zip(ends.iter().copied()).collect();
    both.sort_by(|one, other| places.at(one.0.0 as usize).total_cmp(&places.at(other.0.0 as usize)));
    (line.points, *ends) = both.into_iter().unzip();
}

/// A table of all cells with all figures.
fn table(results: &Results) -> Table {
    let mut headings: Vec<(&str, Align)> =
        results.options.iter().map(|name| (name.as_str(), Align::Left)).collect();
    headings.extend(results.figures.iter().map(|(_, heading)| (heading.as_str(), Align::Right)));
    headings.push(("runs", Align::Right));
    let has_notes = results.rows.iter().any(|row| !row.notes.is_empty());
    if has_notes {
        headings.push(("notes", Align::Left));
    }
    let mut table = Table::new(&headings);
    for row in &results.rows {
        let mut cells = row.names.clone();
        cells.extend((0..results.figures.len()).map(|figure| whole_text_of(results, row, figure)));
        cells.push(row.runs.to_string());
        if has_notes {
            cells.push(row.notes.join("; "));
        }
        table.row(cells);
    }
    table
}
