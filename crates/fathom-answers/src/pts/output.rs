//! Prints the report as text, Markdown, CSV and JSON.

use super::definition::Ends;
use super::estimate::{threads, time};
use super::findings::{Findings, PartFindings, written_in};
use super::plan::{PRECONDITION_BLOCK, PtsTest};
use super::step::{Figures, PERCENTILES};
use crate::columns;
use crate::figures;
use crate::measures::Figure;
use crate::table::{Align, Table};
use serde_json::{Value as Json, json};

/// Width of the label column.
const NAMES: usize = 16;
/// Maximum number of timeline rows in text output; CSV and JSON have all rows.
const ROWS: usize = 30;

/// The heading.
pub(crate) fn title(findings: &Findings<'_>) -> String {
    format!(
        "SNIA SSS PTS 2.0.2, {} test of {}",
        findings.plan.test.definition().title,
        findings.plan.target.told()
    )
}

/// Labels and values that describe the setup of the test.
pub(crate) fn facts(findings: &Findings<'_>) -> Vec<(String, String)> {
    let plan = findings.plan;
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    let (target, host) = (&plan.target, &plan.host);
    fact("serial number", target.serial.clone());
    fact("firmware", target.firmware.clone());
    fact("write cache", target.write_cache.clone());
    fact("sector", figures::size(target.sector));
    fact("active range", format!("100 %, {}", figures::size(target.bytes)));
    fact("data", "random, new in each write".to_owned());
    let direct = if plan.direct { "direct I/O" } else { "through the page cache" };
    fact("load", format!("{} × depth {}, {}, {direct}", threads(plan.threads), plan.depth, plan.engine));
    fact("each point", time(plan.point_time().as_secs_f64()));
    fact("host", host.name.clone());
    fact("system", host.kernel.clone());
    if host.processors > 0 {
        fact("processors", format!("{} × {}", host.processors, host.processor));
        fact("memory", figures::size(host.memory_bytes));
    }
    for system in &host.file_systems {
        if !target.is_device() {
            fact("file system", format!("{} on {}", system.kind, system.source));
        }
    }
    fact("fathom", plan.version.clone());
    facts.retain(|(_, value)| !value.is_empty());
    facts
}

/// Labels and values that describe how each part went.
pub(crate) fn course_of(findings: &Findings<'_>, part: &PartFindings<'_>) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> = Vec::new();
    if let Some((purge, seconds)) = part.purge {
        let took = if purge.starts_with("none") { String::new() } else { format!(", {}", time(seconds)) };
        facts.push(("purge".to_owned(), format!("{purge}{took}")));
    }
    let (bytes, seconds) =
        part.passes.iter().fold((0u64, 0.0), |sum, pass| (sum.0.saturating_add(pass.0), sum.1 + pass.1));
    if bytes > 0 {
        facts.push((
            "precondition".to_owned(),
            format!(
                "{} × {} in sequence by {}, {} at {}",
                part.passes.len(),
                figures::size(bytes / part.passes.len() as u64),
                figures::size(PRECONDITION_BLOCK),
                time(seconds),
                figures::bandwidth(bytes as f64 / seconds.max(1e-9))
            ),
        ));
    }
    facts.push(("steady state".to_owned(), part.verdict(findings.plan.test.definition().figure)));
    if let Some(window) = part.window() {
        let (figure, at_zero) = (findings.plan.test.definition().figure, window.intercept - window.slope);
        let line = format!("y = {} x + {} {}", number(window.slope), number(at_zero), figure.unit());
        facts.push(("best linear fit".to_owned(), format!("{line}, x is the number of the round")));
    }
    facts
}

/// A number with four significant figures, because plots are drawn from it.
fn number(value: f64) -> String {
    let digits = (3 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 9);
    format!("{value:.*}", digits as usize)
}

/// The figures shown in the tables of a test.
pub(crate) fn shown_figures(test: PtsTest) -> &'static [Figure] {
    match test {
        PtsTest::Iops => &[Figure::Iops],
        PtsTest::Throughput => &[Figure::Bandwidth],
        PtsTest::Latency => &[Figure::LatencyMean, Figure::LatencyMax, Figure::Percentile(99.999)],
        PtsTest::Saturation => &[
            Figure::Iops,
            Figure::Bandwidth,
            Figure::LatencyMean,
            Figure::Percentile(99.999),
            Figure::LatencyMax,
        ],
    }
}

/// Heading of a figure in these reports.
pub(crate) fn heading(figure: Figure) -> String {
    match figure {
        Figure::Iops => "IOPS".to_owned(),
        Figure::Bandwidth => "Throughput".to_owned(),
        Figure::LatencyMean => "Average latency".to_owned(),
        Figure::LatencyMax => "Maximum latency".to_owned(),
        Figure::Percentile(percent) => format!("{percent} % latency"),
        Figure::ProcessorTime => "CPU time".to_owned(),
    }
}

/// A caption and a table for each figure that a part measured.
pub(crate) fn tables(
    findings: &Findings<'_>,
    part: &PartFindings<'_>,
    most_rows: usize,
) -> Vec<(String, Table)> {
    let figures = shown_figures(findings.plan.test);
    if matches!(part.part.ends, Ends::Written { .. }) {
        return vec![(String::new(), course_table(findings, part, most_rows))];
    }
    let rounds = part.counted_rounds();
    let counted = match rounds.len() {
        0 => "no whole round yet".to_owned(),
        1 => format!("round {}", rounds.end),
        _ => format!("rounds {} to {}", rounds.start + 1, rounds.end),
    };
    let tables =
        figures.iter().map(|&figure| (format!("{}, {counted}", heading(figure)), matrix(part, figure)));
    tables.collect()
}

/// A table with one row per block size and one column per mix of reads and writes.
fn matrix(part: &PartFindings<'_>, figure: Figure) -> Table {
    let (blocks, mixes) = part.axes();
    let names: Vec<String> = mixes.iter().map(|mix| format!("{mix}/{}", 100 - mix)).collect();
    let mut columns = vec![("read/write", Align::Left)];
    columns.extend(names.iter().map(|name| (name.as_str(), Align::Right)));
    let mut table = Table::new(&columns);
    for block in blocks {
        let mut row = vec![figures::size(block)];
        row.extend(mixes.iter().map(|mix| {
            let value = part.point_of(block, *mix).and_then(|point| part.in_window(point, figure));
            value.map_or_else(|| "-".to_owned(), |value| figure.text(value))
        }));
        table.row(row);
    }
    table
}

/// A table with one row per minute of a write saturation test.
fn course_table(findings: &Findings<'_>, part: &PartFindings<'_>, most_rows: usize) -> Table {
    let shown = shown_figures(findings.plan.test);
    let headings: Vec<String> = shown.iter().map(|figure| heading(*figure)).collect();
    let mut columns = vec![("round", Align::Right), ("time", Align::Right), ("written", Align::Right)];
    columns.extend(headings.iter().map(|name| (name.as_str(), Align::Right)));
    let mut table = Table::new(&columns);
    let step = part.rounds.len().div_ceil(most_rows.max(1)).max(1);
    let mut written = 0u64;
    for (round, points) in part.rounds.iter().enumerate() {
        written = written_in(points).saturating_add(written);
        if round % step != 0 && round + 1 != part.rounds.len() {
            continue;
        }
        let seconds = findings.plan.point_time().as_secs_f64() * (round + 1) as f64;
        let mut row = vec![(round + 1).to_string(), time(seconds), figures::size(written)];
        row.extend(shown.iter().map(|figure| {
            part.value(0, round, *figure).map_or_else(|| "-".to_owned(), |value| figure.text(value))
        }));
        table.row(row);
    }
    table
}

/// For people.
pub(super) fn text(findings: &Findings<'_>, limit: Option<usize>) -> String {
    let width = limit.unwrap_or_else(columns::of_text);
    let mut text = columns::hanging(&title(findings), 2, width);
    for line in sentences(findings) {
        text.push_str(&columns::hanging(&line, 2, width));
    }
    text.push('\n');
    let fact = |(name, value): (String, String)| {
        columns::hanging(&format!("{}{value}", columns::left(&name, NAMES)), NAMES, width)
    };
    text.extend(facts(findings).into_iter().map(fact));
    text.push_str(&fact(("written".to_owned(), figures::size(findings.written()))));
    for part in &findings.parts {
        text.push('\n');
        if !part.part.name.is_empty() {
            text.push_str(&format!("{}\n", part.part.name));
        }
        text.extend(course_of(findings, part).into_iter().map(fact));
        for (caption, table) in tables(findings, part, ROWS) {
            text.push('\n');
            if !caption.is_empty() {
                text.push_str(&format!("{caption}\n"));
            }
            text.push_str(&table.text(0, limit));
        }
    }
    text
}

/// Sentences that readers must see before the figures.
pub(crate) fn sentences(findings: &Findings<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    if !findings.why_not.is_empty() {
        lines.push(format!("This is not a PTS result: {}.", findings.why_not.join("; ")));
    }
    lines.extend(findings.remarks.iter().cloned());
    lines
}

/// The report in Markdown, for web pages and issues.
pub(super) fn markdown(findings: &Findings<'_>) -> String {
    let mut text = format!("**{}**\n\n", title(findings));
    for line in sentences(findings) {
        text.push_str(&format!("{line}\n\n"));
    }
    let mut table = Table::new(&[("set-up", Align::Left), ("value", Align::Left)]);
    facts(findings).into_iter().for_each(|(name, value)| table.row(vec![name, value]));
    text.push_str(&table.markdown());
    for part in &findings.parts {
        let heading = if part.part.name.is_empty() { "course" } else { &part.part.name };
        let mut table = Table::new(&[(heading, Align::Left), ("value", Align::Left)]);
        course_of(findings, part).into_iter().for_each(|(name, value)| table.row(vec![name, value]));
        text.push_str(&format!("\n{}", table.markdown()));
        for (caption, table) in tables(findings, part, ROWS) {
            text.push_str(&match caption.is_empty() {
                true => "\n".to_owned(),
                false => format!("\n{caption}:\n\n"),
            });
            text.push_str(&table.markdown());
        }
    }
    text
}

/// One row for each point in each round.
pub(super) fn csv(findings: &Findings<'_>) -> String {
    let mut columns: Vec<String> = [
        "part",
        "round",
        "block_bytes",
        "read_percent",
        "counts",
        "ios",
        "bytes",
        "written_bytes",
        "iops",
        "bytes_per_s",
    ]
    .map(str::to_owned)
    .into();
    columns.extend(["lat_mean_ns", "lat_max_ns"].map(str::to_owned));
    columns.extend(PERCENTILES.map(|percent| format!("lat_p{percent}_ns")));
    let columns: Vec<(&str, Align)> = columns.iter().map(|name| (name.as_str(), Align::Left)).collect();
    let mut table = Table::new(&columns);
    for part in &findings.parts {
        let counted = part.counted_rounds();
        for (round, points) in part.rounds.iter().enumerate() {
            for (point, measured) in part.part.points.iter().zip(points) {
                let all = &measured.all;
                let mut row = vec![
                    part.part.name.clone(),
                    (round + 1).to_string(),
                    point.block_bytes.to_string(),
                    point.read_percent.to_string(),
                    u8::from(counted.contains(&round)).to_string(),
                    all.ios.to_string(),
                    all.bytes.to_string(),
                    measured.write.as_ref().map_or(0, |write| write.bytes).to_string(),
                    all.iops.to_string(),
                    all.bytes_per_second.to_string(),
                    all.mean_ns.to_string(),
                    all.max_ns.to_string(),
                ];
                row.extend(all.percentiles_ns.iter().map(f64::to_string));
                table.row(row);
            }
        }
    }
    table.csv()
}

/// The complete report.
pub(super) fn json(findings: &Findings<'_>) -> String {
    let figure = findings.plan.test.definition().figure;
    let parts = findings.parts.iter().map(|part| {
        let points = part.part.points.iter().enumerate().map(|(number, point)| {
            let in_window = |figure| part.in_window(number, figure);
            json!({
                "random": point.is_random,
                "block_bytes": point.block_bytes,
                "read_percent": point.read_percent,
                "tracked": number == part.part.tracked,
                "iops": in_window(Figure::Iops),
                "bytes_per_s": in_window(Figure::Bandwidth),
                "lat_mean_ns": in_window(Figure::LatencyMean),
                "lat_max_ns": in_window(Figure::LatencyMax),
                "lat_p99.999_ns": in_window(Figure::Percentile(99.999)),
                "rounds": part.rounds.iter().filter_map(|round| round.get(number)).map(|measured| json!({
                    "all": figures_of(&measured.all),
                    "read": measured.read.as_ref().map(figures_of),
                    "write": measured.write.as_ref().map(figures_of),
                })).collect::<Vec<Json>>(),
            })
        });
        let points: Vec<Json> = points.collect();
        let counted = part.counted_rounds();
        json!({
            "name": part.part.name,
            "purge": part.purge.map(|(how, seconds)| json!({"how": how, "seconds": seconds})),
            "preconditioning": part.passes.iter().map(|(bytes, seconds)| json!({"bytes": bytes, "seconds": seconds})).collect::<Vec<Json>>(),
            "rounds": part.complete_rounds(),
            "counted_rounds": [counted.start + 1, counted.end],
            "steady": matches!(part.ending, Some(super::sequence::Ending::Steady(_))),
            "verdict": part.verdict(figure),
            "window": part.window().map(|window| json!({
                "first_round": window.first + 1,
                "values": window.values,
                "average": window.average,
                "range": window.range,
                "range_share": window.range_share(),
                "slope": window.slope,
                "slope_share": window.slope_share(),
                "intercept": window.intercept,
            })),
            "points": points,
        })
    });
    let parts: Vec<Json> = parts.collect();
    let document = json!({
        "specification": "SNIA SSS PTS 2.0.2",
        "pts_result": findings.why_not.is_empty(),
        "why_not": findings.why_not,
        "remarks": findings.remarks,
        "finished": findings.is_finished,
        "ended": findings.ended,
        "written_bytes": findings.written(),
        "plan": findings.plan,
        "parts": parts,
    });
    format!("{document:#}\n")
}

fn figures_of(figures: &Figures) -> Json {
    let percentiles: serde_json::Map<String, Json> = PERCENTILES
        .iter()
        .zip(&figures.percentiles_ns)
        .map(|(percent, ns)| (percent.to_string(), json!(ns)))
        .collect();
    json!({
        "ios": figures.ios,
        "bytes": figures.bytes,
        "iops": figures.iops,
        "bytes_per_s": figures.bytes_per_second,
        "lat_mean_ns": figures.mean_ns,
        "lat_max_ns": figures.max_ns,
        "lat_percentiles_ns": percentiles,
    })
}
