//! The page: one file with everything in it.

use super::chart::Series;
use super::charts;
use super::grid;
use super::hosts;
use crate::checks;
use crate::evidence::{Evidence, mounts};
use crate::explain;
use crate::figures;
use crate::quick;
use crate::shapes::{self, Subject};
use crate::table::{Align, Table, escape};
use fathom_results::RunResult;
use fathom_stats::Direction;
use std::fmt::Write as _;

const STYLE: &str = include_str!("assets/style.css");
const SCRIPT: &str = include_str!("assets/cursor.js");
/// Subjects that get charts; of more, the table still has all.
const MOST_CHARTED: usize = 24;
/// Lines that one chart of several results can show apart.
const STYLES: usize = 6;

/// The whole page.
pub(super) fn html(results: &[RunResult], title: &str) -> String {
    let mut body = String::new();
    if results.len() > 1 {
        body.push_str(&side_by_side(results));
    }
    for (number, run) in results.iter().enumerate() {
        body.push_str(&section(run, number));
    }
    shell(title, &navigation(results), &body)
}

/// A page around a body: everything that it needs is in it.
pub(crate) fn shell(title: &str, navigation: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style></head>\n\
         <body><a class=\"skip\" href=\"#content\">Skip to the results</a>\n<header><h1>{title}</h1></header>\n{navigation}\
         <main id=\"content\">\n{body}</main>\n<footer><p>Made by fathom. Everything is in this file. Focus a chart and use the \
         arrow keys, Home and End to step through its values, Escape to leave; its figures are in a table below.</p></footer>\n\
         <script>\n{SCRIPT}</script></body></html>\n"
    )
}

fn navigation(results: &[RunResult]) -> String {
    let mut links = String::new();
    if results.len() > 1 {
        links.push_str("<li><a href=\"#side-by-side\">Side by side</a></li>");
    }
    for (number, run) in results.iter().enumerate() {
        if run.hosts.is_some() {
            let lead = if results.len() > 1 { format!("{}: ", run.source) } else { String::new() };
            let _ = write!(links, "<li><a href=\"#{}\">{}Hosts</a></li>", hosts_id(number), escape(&lead));
        }
        for (index, subject) in shapes::subjects(run).iter().enumerate().take(MOST_CHARTED) {
            let lead = if results.len() > 1 { format!("{}: ", run.source) } else { String::new() };
            let _ = write!(
                links,
                "<li><a href=\"#{}\">{}</a></li>",
                subject_id(number, index),
                escape(&format!("{lead}{}", subject.name))
            );
        }
    }
    format!("<nav aria-label=\"Results\"><ul>{links}</ul></nav>\n")
}

fn hosts_id(result: usize) -> String {
    format!("r{result}-hosts")
}

fn subject_id(result: usize, subject: usize) -> String {
    format!("r{result}-s{subject}")
}

/// The curves of all results, a chart per direction of what they have in common: all jobs together, or where these ran one after
/// the other, each job by its name.
fn side_by_side(results: &[RunResult]) -> String {
    let mut text =
        String::from("<section aria-labelledby=\"side-by-side\"><h2 id=\"side-by-side\">Side by side</h2>\n");
    let mut table = Table::new(&[
        ("result", Align::Left),
        ("job", Align::Left),
        ("direction", Align::Left),
        ("MB/s", Align::Right),
        ("IOPS", Align::Right),
        ("p50", Align::Right),
        ("p99", Align::Right),
        ("p99.9", Align::Right),
    ]);
    let all: Vec<(&RunResult, Vec<Subject>)> =
        results.iter().map(|run| (run, shapes::subjects(run))).collect();
    let mut charts_text = String::new();
    for (number, name) in compared(&all).iter().enumerate() {
        for direction_name in Direction::ALL.map(Direction::word).into_iter().chain(["mixed"]) {
            let mut series = Vec::new();
            for (style, (run, subjects)) in all.iter().enumerate() {
                let own = match name {
                    Some(name) => subjects.iter().find(|subject| subject.name == *name),
                    None => subjects.first(),
                };
                let directions = own.into_iter().flat_map(|subject| &subject.directions);
                for direction in directions.filter(|direction| direction.name == direction_name) {
                    let percentile =
                        |percent| direction.percentile(percent).map_or("-".to_owned(), figures::duration);
                    table.row(vec![
                        run.source.clone(),
                        own.map_or(String::new(), |subject| subject.name.clone()),
                        direction_name.to_owned(),
                        figures::three_figures(direction.bytes_per_second / 1e6),
                        figures::count(direction.iops),
                        percentile(50.0),
                        percentile(99.0),
                        percentile(99.9),
                    ]);
                    series.push(Series {
                        name: format!("{} {direction_name}", run.source),
                        style: style % STYLES,
                        points: direction.curve.clone(),
                    });
                }
            }
            let title = match name {
                Some(name) => format!("{name}: latency by percentile"),
                None => "Latency by percentile".to_owned(),
            };
            let id = match name {
                Some(_) => format!("side-by-side-{number}-{direction_name}"),
                None => format!("side-by-side-{direction_name}"),
            };
            charts_text.extend(charts::percentiles(&title, &series, &id));
        }
    }
    let _ = writeln!(text, "{}\n<div class=\"charts\">\n{charts_text}</div>\n</section>", table.html());
    text
}

/// The names of the jobs shown side by side; `None` for the first subject of each result, whatever its name.
fn compared<'a>(all: &'a [(&RunResult, Vec<Subject>)]) -> Vec<Option<&'a str>> {
    if all.iter().all(|(_, subjects)| {
        subjects.first().is_none_or(|subject| subject.job.is_none() || subjects.len() == 1)
    }) {
        return vec![None];
    }
    let mut names: Vec<Option<&str>> = Vec::new();
    for subject in all.iter().flat_map(|(_, subjects)| subjects) {
        let results =
            all.iter().filter(|(_, subjects)| subjects.iter().any(|own| own.name == subject.name)).count();
        if results > 1 && names.len() < MOST_CHARTED && !names.contains(&Some(subject.name.as_str())) {
            names.push(Some(&subject.name));
        }
    }
    if names.is_empty() { vec![None] } else { names }
}

fn section(run: &RunResult, number: usize) -> String {
    let mut text =
        format!("<section aria-labelledby=\"r{number}\"><h2 id=\"r{number}\">{}</h2>\n", escape(&run.source));
    let subjects = shapes::subjects(run);
    match quick::GridReport::of(run) {
        Some(report) => {
            text.push_str(&grid::html(&report));
            let _ = write!(text, "<h3>The machine</h3>\n{}", facts(run));
            let _ = write!(text, "<h3>Details</h3>\n{}", summary(run, &subjects).html());
        }
        None => {
            text.push_str(&facts(run));
            text.push_str(&summary(run, &subjects).html());
            text.push_str(&trust(run));
        }
    }
    if let Some(of_hosts) = &run.hosts {
        text.push_str(&hosts::html(of_hosts, &hosts_id(number)));
    }
    if !run.disk_util.is_empty() {
        let _ = write!(text, "<h3>Devices</h3>\n{}", devices(run).html());
    }
    if !run.notes.is_empty() {
        let notes: String = run.notes.iter().map(|note| format!("<li>{}</li>", escape(note))).collect();
        let _ = writeln!(text, "<h3>Notes</h3><ul class=\"notes\">{notes}</ul>");
    }
    let evidence = Evidence::all(run);
    for (index, subject) in subjects.iter().enumerate().take(MOST_CHARTED) {
        let id = subject_id(number, index);
        let _ = writeln!(text, "<h3 id=\"{id}\">{}</h3>", escape(&subject.name));
        if let Some(evidence) = subject.job.and_then(|job| evidence.get(job)) {
            text.push_str(&verdict(evidence));
        }
        let arrivals = subject.directions.iter().flat_map(|direction| direction.arrivals.clone());
        let by_engine = subject.job.and_then(|job| evidence.get(job)).map(Evidence::told_by_engine);
        let sentences: String = arrivals
            .chain(by_engine.unwrap_or_default())
            .map(|sentence| format!("<li>{}</li>", escape(&sentence)))
            .collect();
        if !sentences.is_empty() {
            let _ = writeln!(text, "<ul class=\"notes\">{sentences}</ul>");
        }
        text.push_str(&charts::of(subject, &id));
        text.push_str(&what_is_missing(run, subject));
    }
    if subjects.len() > MOST_CHARTED {
        let _ = writeln!(
            text,
            "<p>Charts of the other {} jobs are left out to keep the page small; the table has their figures.</p>",
            subjects.len() - MOST_CHARTED
        );
    }
    let _ = writeln!(text, "{}</section>", options(run));
    text
}

/// When, on what, by what.
fn facts(run: &RunResult) -> String {
    let mut facts: Vec<(&str, String)> = Vec::new();
    let program = if run.is_of_fathom() { "fathom".to_owned() } else { run.version.clone() };
    facts.push(("program", program));
    facts.push(("ended", run.time.clone()));
    facts.push(("servers", run.servers().join(", ")));
    if let Some(of_hosts) = &run.hosts {
        facts.push(("hosts", crate::hosts::counted(of_hosts)));
    }
    if let Some(host) = &run.host {
        facts.push((
            "host",
            format!("{}, {}, {} x {}", host.name, host.kernel, host.processors, host.processor),
        ));
        facts.extend(host.file_systems.iter().map(|system| {
            ("file system", format!("{}, mounted with {}", mounts::told(system), system.options))
        }));
        facts.extend(host.devices.iter().map(|device| {
            let kind = if device.rotational { "rotational" } else { "not rotational" };
            let scheduler = if device.scheduler.is_empty() { "none" } else { &device.scheduler };
            let model = if device.model.is_empty() { String::new() } else { format!(" {}", device.model) };
            let size = figures::size(device.size_bytes);
            ("device", format!("{}{model}, {size}, {kind}, scheduler {scheduler}", device.name))
        }));
    }
    let rows: String = facts
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>", escape(value)))
        .collect();
    format!("<dl class=\"facts\">{rows}</dl>\n")
}

fn summary(run: &RunResult, subjects: &[Subject]) -> Table {
    let right = Align::Right;
    let mut table = Table::new(&[
        ("job", Align::Left),
        ("direction", Align::Left),
        ("MB/s", right),
        ("IOPS", right),
        ("p50", right),
        ("p99", right),
        ("p99.9", right),
        ("mean", right),
        ("max", right),
        ("depth", right),
        ("usr", right),
        ("sys", right),
        ("error", right),
    ]);
    let evidence = Evidence::all(run);
    for subject in subjects {
        let evidence = subject.job.and_then(|job| evidence.get(job));
        for direction in &subject.directions {
            let percentile =
                |percent| direction.percentile(percent).map_or("-".to_owned(), figures::duration);
            let mut row = vec![
                subject.name.clone(),
                direction.name.to_owned(),
                figures::three_figures(direction.bytes_per_second / 1e6),
                figures::count(direction.iops),
                percentile(50.0),
                percentile(99.0),
                percentile(99.9),
                figures::duration(direction.mean_ns),
                figures::duration(direction.max_ns),
            ];
            row.extend(match evidence {
                Some(evidence) => {
                    let reached = evidence.depth_reached().map_or("-".to_owned(), figures::three_figures);
                    let (user, system) = evidence.processor();
                    [
                        format!("{reached} of {}", evidence.depth_asked()),
                        figures::percent(user),
                        figures::percent(system),
                        evidence.job.error.to_string(),
                    ]
                }
                None => [String::new(), String::new(), String::new(), String::new()],
            });
            table.row(row);
        }
    }
    table
}

fn devices(run: &RunResult) -> Table {
    let right = Align::Right;
    let mut table = Table::new(&[
        ("device", Align::Left),
        ("utilisation", right),
        ("reads", right),
        ("writes", right),
        ("merged", right),
        ("read time", right),
        ("write time", right),
    ]);
    let mean = |ticks: u64, ios: u64| match ios {
        0 => "-".to_owned(),
        ios => figures::duration(ticks as f64 * 1e6 / ios as f64),
    };
    for disk in &run.disk_util {
        table.row(vec![
            disk.name.clone(),
            figures::percent(disk.util),
            figures::count(disk.read_ios as f64),
            figures::count(disk.write_ios as f64),
            figures::count((disk.read_merges + disk.write_merges) as f64),
            mean(disk.read_ticks, disk.read_ios),
            mean(disk.write_ticks, disk.write_ios),
        ]);
    }
    table
}

/// What speaks against the figures.
fn trust(run: &RunResult) -> String {
    let verdict = checks::judge(run);
    let mut told: Vec<String> = checks::lines(&verdict)
        .into_iter()
        .map(|(severity, line)| format!("{}: {line}", severity.word()))
        .collect();
    if !verdict.not_checked.is_empty() {
        told.push(format!(
            "not checked, because the result does not tell: {}",
            verdict.not_checked.join(", ")
        ));
    }
    let headline = format!("Can these figures be trusted? {}", checks::summary(&verdict));
    format!("<h3>Verdict on the figures</h3>\n{}", verdict_box(&headline, &told))
}

fn verdict(evidence: &Evidence<'_>) -> String {
    let sentence = escape(&explain::sentence_of(evidence));
    if let Some(of_hosts) = &evidence.run.hosts {
        let verdicts = explain::verdicts_of_hosts(evidence, of_hosts);
        let boxes = verdicts.iter().map(|found| verdict_box(&found.told(), &found.reasons()));
        return format!("<p>{sentence}</p>\n{}", boxes.collect::<String>());
    }
    let found = explain::verdict_of(evidence);
    format!("<p>{sentence}</p>\n{}", verdict_box(found.headline, &found.reasons))
}

fn verdict_box(headline: &str, reasons: &[String]) -> String {
    let reasons: String = reasons.iter().map(|reason| format!("<li>{}</li>", escape(reason))).collect();
    format!("<div class=\"verdict\"><strong>{}</strong><ul>{reasons}</ul></div>\n", escape(headline))
}

/// Says why a chart is not there, where something was not kept.
fn what_is_missing(run: &RunResult, subject: &Subject) -> String {
    let mut text = String::new();
    if subject.directions.iter().any(|direction| direction.timeline.is_empty()) {
        let why = match run.is_of_fathom() {
            true => "the job ran too short, or there were too many jobs to keep one each",
            false => "results of fio have none; fathom's --output-format=jsonl, json or json+ do",
        };
        let _ = writeln!(text, "<p>There is no timeline: {why}.</p>");
    }
    if subject.directions.iter().any(|direction| direction.curve.is_empty()) {
        text.push_str(
            "<p>There are no percentiles: they need histograms (--output-format=json+) of every job.</p>\n",
        );
    }
    text
}

/// The options as written.
fn options(run: &RunResult) -> String {
    let mut text = String::from("<details><summary>Options of the jobs</summary><pre>");
    let mut list = |name: &str, options: &[(String, String)]| {
        let _ = writeln!(text, "[{}]", escape(name));
        for (key, value) in options.iter().filter(|(key, _)| key != "name") {
            let _ = match value.is_empty() {
                true => writeln!(text, "{}", escape(key)),
                false => writeln!(text, "{}={}", escape(key), escape(value)),
            };
        }
    };
    if !run.global_options.is_empty() {
        list("global", &run.global_options);
    }
    run.jobs.iter().for_each(|job| list(&job.name, &job.options));
    text.push_str("</pre></details>\n");
    text
}
