//! Prints the table of a sweep: with bars for the terminal, in Markdown, as CSV and as JSON.

use super::file_systems::Volume;
use super::rows::{Best, Results, Row, RowVerdict};
use crate::bars::Ink;
use crate::columns;
use crate::figures;
use crate::measures::Figure;
use crate::table::{Align, Table};
use fathom_stats::inference::difference::Ratio;
use serde_json::{Map, Value as Json, json};

/// Minimum and maximum length of bars, in columns.
const BAR: std::ops::RangeInclusive<usize> = 10..=40;
/// Spaces before a bar.
const GAP: usize = 2;

/// Ratio from which a factor is clearer than a percentage.
const MANY_TIMES: f64 = 2.0;

/// Maximum number of columns for names in sentences on a terminal.
const NAME: usize = 20;

/// A table of medians, then for each figure its intervals and bars; lines fit into the columns if possible.
pub(super) fn text(results: &Results, ink: Ink, limit: Option<usize>) -> String {
    let mut text = medians(results).text(0, limit);
    let is_begun = results.rows.iter().any(|row| row.runs > 0);
    for figure in (0..results.figures.len()).filter(|_| is_begun) {
        text.push_str(&format!("\n{}\n", results.figures[figure].1));
        text.push_str(&bars(results, figure, ink, limit));
        for job in &results.jobs {
            text.push_str(&best_line(results, figure, job, limit));
        }
    }
    text.push('\n');
    text.push_str(&columns::wrapped(&remarks(results), limit.unwrap_or(usize::MAX)));
    text
}

/// Notes about rows, one line each.
fn notes(results: &Results) -> String {
    let mut text = String::new();
    for (index, row) in results.rows.iter().enumerate() {
        for note in &row.notes {
            let line = match results.name_of(index).as_str() {
                "" => format!("{note}\n"),
                name => format!("{name}: {note}\n"),
            };
            // The notes apply to all jobs of a cell, so they are printed once.
            if !text.contains(&line) {
                text.push_str(&line);
            }
        }
    }
    text
}

fn medians(results: &Results) -> Table {
    let is_uneven = results.rows.iter().any(|row| row.runs != results.repeats as usize);
    let mut headings: Vec<(&str, Align)> =
        results.options.iter().map(|name| (name.as_str(), Align::Name)).collect();
    headings.extend(results.figures.iter().map(|(_, heading)| (heading.as_str(), Align::Right)));
    if is_uneven {
        headings.push(("runs", Align::Right));
    }
    let mut table = Table::new(&headings);
    for row in &results.rows {
        let mut cells = row.names.clone();
        cells.extend((0..results.figures.len()).map(|figure| median(results, row, figure)));
        if is_uneven {
            cells.push(row.runs.to_string());
        }
        table.row(cells);
    }
    table
}

fn median(results: &Results, row: &Row, figure: usize) -> String {
    let summary = results.summary(row, figure);
    summary.map_or_else(
        || "-".to_owned(),
        |summary| results.figures[figure].0.figure.text_in_binary(summary.median),
    )
}

/// The median of a figure and its interval.
pub(super) fn texts_of(results: &Results, row: &Row, figure: usize) -> [String; 2] {
    [median(results, row, figure), interval(results, row, figure)]
}

/// Median, interval and verdict in one cell of a table.
pub(super) fn whole(results: &Results, row: &Row, figure: usize) -> String {
    let mut text = median(results, row, figure);
    let interval = interval(results, row, figure);
    if !interval.is_empty() {
        text.push_str(&format!(" ({interval})"));
    }
    let verdict = verdict_words(results, row, figure);
    if !verdict.is_empty() {
        text.push_str(&format!(", {verdict}"));
    }
    text
}

/// The verdict on a figure, such as `best` or `slower by 12.3 % (10.1–14.5 %)`; empty without a verdict.
fn verdict_words(results: &Results, row: &Row, figure: usize) -> String {
    let kind = results.figures[figure].0.figure;
    let Some(verdict) = row.verdicts.get(figure).copied().flatten() else { return String::new() };
    let ratio = match verdict {
        RowVerdict::Best => return "best".to_owned(),
        RowVerdict::NotDistinguishable => return "not distinguishable".to_owned(),
        RowVerdict::Worse(ratio) => ratio,
    };
    let (low, high) = (ratio.interval.low, ratio.interval.high);
    let shown = figures::three_figures;
    let percent = |ratio: f64| shown((ratio - 1.0).abs() * 100.0);
    if kind.more_is_better() {
        return format!("slower by {} % ({}–{} %)", percent(ratio.value), percent(high), percent(low));
    }
    let word = if kind == Figure::ProcessorTime { "costs more CPU" } else { "slower" };
    match ratio.value >= MANY_TIMES {
        true => format!("{word}, {}× ({}–{}×)", shown(ratio.value), shown(low), shown(high)),
        false => format!("{word} by {} % ({}–{} %)", percent(ratio.value), percent(low), percent(high)),
    }
}

/// The verdict in short form, such as `-12.3 %` or `8.12×`.
fn verdict_in_short(results: &Results, row: &Row, figure: usize) -> String {
    match row.verdicts.get(figure).copied().flatten() {
        Some(RowVerdict::Worse(ratio)) if ratio.value >= MANY_TIMES => {
            format!("{}×", figures::three_figures(ratio.value))
        }
        Some(RowVerdict::Worse(ratio)) => {
            let change = (ratio.value - 1.0) * 100.0;
            let sign = if change < 0.0 { "-" } else { "+" };
            format!("{sign}{} %", figures::three_figures(change.abs()))
        }
        Some(RowVerdict::NotDistinguishable) => "may be chance".to_owned(),
        _ => verdict_words(results, row, figure),
    }
}

/// Both ends of the interval as text; empty without an interval.
fn interval(results: &Results, row: &Row, figure: usize) -> String {
    let ends = results.summary(row, figure).and_then(|summary| summary.interval);
    ends.map_or_else(String::new, |ends| {
        results.figures[figure].0.figure.range_in_binary(ends.low, ends.high)
    })
}

/// A table with a row for each cell and job that has the figure. If a line is too long, verdicts are shortened
/// first; if that does not suffice, bars are dropped.
fn bars(results: &Results, figure: usize, ink: Ink, limit: Option<usize>) -> String {
    let fits =
        |text: &String| limit.is_none_or(|limit| text.lines().all(|line| columns::width(line) <= limit));
    let none: OfRow = |_, _, _| String::new();
    let attempts: [(OfRow, bool); 3] =
        [(verdict_words, true), (verdict_in_short, true), (verdict_in_short, false)];
    let attempts = attempts
        .into_iter()
        .map(|(verdict, has_bars)| chart(results, figure, verdict, ink, (limit, has_bars)));
    let mut attempts = attempts.filter(fits);
    attempts.next().unwrap_or_else(|| chart(results, figure, none, ink, (limit, true)))
}

/// Text about a figure in a row.
type OfRow = fn(&Results, &Row, usize) -> String;

fn chart(
    results: &Results,
    figure: usize,
    verdict: OfRow,
    ink: Ink,
    (limit, has_bars): (Option<usize>, bool),
) -> String {
    let mut headings: Vec<(&str, Align)> =
        results.options.iter().map(|name| (name.as_str(), Align::Name)).collect();
    let has_figure = |row: &&Row| results.summary(row, figure).is_some();
    let rows: Vec<&Row> = results.rows.iter().filter(has_figure).collect();
    let has_intervals = rows.iter().any(|row| !interval(results, row, figure).is_empty());
    headings.push(("median", Align::Right));
    if has_intervals {
        headings.push(("95 % interval", Align::Left));
    }
    let has_verdicts = rows.iter().any(|row| !verdict(results, row, figure).is_empty());
    if has_verdicts {
        headings.push(("against the best", Align::Left));
    }
    let mut table = Table::new(&headings);
    for row in &rows {
        let mut cells = row.names.clone();
        cells.push(median(results, row, figure));
        if has_intervals {
            cells.push(interval(results, row, figure));
        }
        if has_verdicts {
            cells.push(verdict(results, row, figure));
        }
        table.row(cells);
    }
    if !has_bars {
        return table.text(2, limit);
    }
    // The table must leave space for the shortest bar.
    let text = table.text(2, limit.map(|limit| limit.saturating_sub(BAR.start() + GAP)));
    let used = text.lines().map(columns::width).max().unwrap_or(0);
    let width = limit.unwrap_or(columns::USUAL).saturating_sub(used + GAP).clamp(*BAR.start(), *BAR.end());
    let values: Vec<f64> =
        rows.iter().map(|row| results.summary(row, figure).map_or(0.0, |summary| summary.median)).collect();
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(*value));
    let mut lines = text.lines();
    let mut drawn = lines.next().unwrap_or_default().to_owned() + "\n";
    for (line, value) in lines.zip(values) {
        let bar = if largest > 0.0 { ink.bar(value / largest, width) } else { String::new() };
        drawn.push_str(format!("{}  {bar}", columns::left(line, used)).trim_end());
        drawn.push('\n');
    }
    drawn
}

fn best_line(results: &Results, figure: usize, own: &str, limit: Option<usize>) -> String {
    let name = |row: usize| columns::cut_to(&results.name_of(row), limit.map(|_| NAME));
    let (of_job, job) = match results.jobs.len() {
        1 => (String::new(), String::new()),
        _ => (format!(" of {own}"), format!("{own}: ")),
    };
    let line = match results.best(figure, own) {
        Best::Found { row, second, ratio } => {
            let is_rate = results.figures[figure].0.figure.more_is_better();
            format!("  best{of_job}: {}, {}", name(row), ahead(&ratio, is_rate, &name(second)))
        }
        Best::Undecided { row, second } => {
            format!("  {job}{} and {} are not distinguishable", name(row), name(second))
        }
        Best::None => return String::new(),
    };
    columns::wrapped(&line, limit.unwrap_or(usize::MAX))
}

/// How far the best row is ahead: `9.70× the rate of 1 (95 % CI 2.60–36.0×)`, or in percent for small ratios:
/// `12.3 % above 1 (95 % CI 10.1–14.5 %)`. For latencies, it is the percentage by which the best row is lower.
fn ahead(ratio: &Ratio, is_rate: bool, second: &str) -> String {
    let (low, high) = (ratio.interval.low, ratio.interval.high);
    let shown = figures::three_figures;
    if is_rate && ratio.value >= MANY_TIMES {
        return format!(
            "{}× the rate of {second} (95 % CI {}–{}×)",
            shown(ratio.value),
            shown(low),
            shown(high)
        );
    }
    let percent = |ratio: f64| shown((ratio - 1.0).abs() * 100.0);
    let (word, ends) = if is_rate { ("above", [low, high]) } else { ("below", [high, low]) };
    let [low, high] = ends.map(percent);
    format!("{} % {word} {second} (95 % CI {low}–{high} %)", percent(ratio.value))
}

/// Explanations of the figures.
fn remarks(results: &Results) -> String {
    let counts = || results.rows.iter().map(|row| row.runs).filter(|runs| *runs > 0);
    let (fewest, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let runs = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
    let intervals = match (fewest, most) {
        (_, ..6) => "95 % confidence intervals (Student's t)",
        (6.., _) => "intervals of at least 95 % between runs",
        _ => "intervals of 95 %",
    };
    let mut text = match most {
        0 => String::new(),
        1 => "One run of each: the variation between runs is unknown.\n".to_owned(),
        _ if results.option_names.iter().all(|name| name == "job") => {
            format!("Medians of {runs} runs; {intervals}.\n")
        }
        _ => format!("Medians of {runs} runs in random order; {intervals}.\n"),
    };
    if results.done.0 < results.done.1 {
        text.push_str(&format!("{} of {} runs are done.\n", results.done.0, results.done.1));
    }
    if results.further > 0 {
        text.push_str(&format!(
            "Last requested: {} of each; {} earlier runs beyond that also count.\n",
            results.repeats, results.further
        ));
    }
    for line in results.volume.iter().flat_map(Volume::remarks) {
        text.push_str(&format!("{line}\n"));
    }
    text.push_str(&notes(results));
    text.extend(results.doubts.iter().map(|line| format!("{line}\n")));
    text
}

/// A single table, with intervals and verdicts after the medians.
pub(super) fn markdown(results: &Results, has_intervals: bool) -> String {
    let mut headings: Vec<(&str, Align)> =
        results.options.iter().map(|name| (name.as_str(), Align::Left)).collect();
    headings.extend(results.figures.iter().map(|(_, heading)| (heading.as_str(), Align::Right)));
    let has_notes = results.rows.iter().any(|row| !row.notes.is_empty());
    if has_notes {
        headings.push(("notes", Align::Left));
    }
    let mut table = Table::new(&headings);
    for row in &results.rows {
        let mut cells = row.names.clone();
        let of_figure: OfRow = if has_intervals { whole } else { median };
        cells.extend((0..results.figures.len()).map(|figure| of_figure(results, row, figure)));
        if has_notes {
            cells.push(row.notes.join("; "));
        }
        table.row(cells);
    }
    let mut text = table.markdown();
    let remarks: Vec<String> =
        results.volume.iter().flat_map(Volume::remarks).chain(results.doubts.iter().cloned()).collect();
    if !remarks.is_empty() {
        text.push_str(&format!("\n* {}\n", remarks.join("\n* ")));
    }
    text
}

/// One line per row, with seven fields per figure, in bytes/s, I/Os per second and ns.
pub(super) fn csv(results: &Results) -> String {
    let mut headings: Vec<String> = results.option_names.clone();
    if results.volume.is_some() {
        headings.push("device".to_owned());
    }
    headings.push("runs".to_owned());
    for (figure, _) in &results.figures {
        let plain = figure.to_string().replace(' ', "_");
        let unit = figure.figure.unit().replace("1/s", "per_s").replace("bytes/s", "bytes_per_s");
        headings.extend(["median", "low", "high"].map(|part| format!("{plain}_{unit}_{part}")));
        let against = ["verdict", "of_best", "of_best_low", "of_best_high"];
        headings.extend(against.map(|part| format!("{plain}_{part}")));
    }
    headings.push("notes".to_owned());
    let headings: Vec<(&str, Align)> =
        headings.iter().map(|heading| (heading.as_str(), Align::Left)).collect();
    let mut table = Table::new(&headings);
    for row in &results.rows {
        let mut cells = row.values.clone();
        cells.extend(results.volume.iter().map(Volume::told));
        cells.push(row.runs.to_string());
        for index in 0..results.figures.len() {
            let summary = results.summary(row, index);
            let ends = summary.and_then(|summary| summary.interval);
            let fields = [
                summary.map(|summary| summary.median),
                ends.map(|ends| ends.low),
                ends.map(|ends| ends.high),
            ];
            let text = |field: Option<f64>| field.map_or_else(String::new, |value| value.to_string());
            cells.extend(fields.map(text));
            cells.push(verdict_word(row, index).unwrap_or_default().to_owned());
            cells.extend(of_best(row, index).map(text));
        }
        cells.push(row.notes.join("; "));
        table.row(cells);
    }
    table.csv()
}

/// The verdict as a word, for programs.
fn verdict_word(row: &Row, figure: usize) -> Option<&'static str> {
    row.verdicts.get(figure).copied().flatten().map(|verdict| match verdict {
        RowVerdict::Best => "best",
        RowVerdict::NotDistinguishable => "not_distinguishable",
        RowVerdict::Worse(_) => "worse",
    })
}

/// The figure of a row as a multiple of the best row's, with both ends of its interval.
fn of_best(row: &Row, figure: usize) -> [Option<f64>; 3] {
    match row.verdicts.get(figure).copied().flatten() {
        Some(RowVerdict::Worse(ratio)) => [ratio.value, ratio.interval.low, ratio.interval.high].map(Some),
        _ => [None; 3],
    }
}

/// The complete table.
pub(super) fn json(results: &Results) -> String {
    let rows = results.rows.iter().map(|row| {
        let options: Map<String, Json> =
            results.option_names.iter().cloned().zip(row.values.iter().map(|value| json!(value))).collect();
        let names: Map<String, Json> =
            results.options.iter().cloned().zip(row.names.iter().map(|name| json!(name))).collect();
        let figures = results.figures.iter().enumerate().map(|(index, (figure, heading))| {
            let summary = results.summary(row, index);
            let ends = summary.and_then(|summary| summary.interval);
            json!({
                "figure": figure.to_string(),
                "heading": heading,
                "unit": figure.figure.unit(),
                "median": summary.map(|summary| summary.median),
                "low": ends.map(|ends| ends.low),
                "high": ends.map(|ends| ends.high),
                "verdict": verdict_word(row, index),
                "of_best": of_best(row, index),
            })
        });
        json!({
            "options": options,
            "names": names,
            "runs": row.runs,
            "figures": figures.collect::<Vec<Json>>(),
            "notes": row.notes,
        })
    });
    let best_of = |figure: usize, job: &String| {
        let row = match results.best(figure, job) {
            Best::Found { row, .. } => json!(row),
            _ => Json::Null,
        };
        json!({"figure": results.figures[figure].0.to_string(), "job": job, "row": row})
    };
    let best = (0..results.figures.len())
        .flat_map(|figure| results.jobs.iter().map(move |job| (figure, job)))
        .map(|(figure, job)| best_of(figure, job));
    let document = json!({
        "runs_done": results.done.0,
        "runs": results.done.1,
        "further_runs": results.further,
        "rows": rows.collect::<Vec<Json>>(),
        "best": best.collect::<Vec<Json>>(),
        "volume": results.volume,
        "doubts": results.doubts,
    });
    format!("{document:#}\n")
}
