//! The page of results: a comparison of all results, and a section for each.

use super::chart::{Figure, Series};
use super::charts;
use super::grid;
use super::hosts;
use super::shell::{Link, list, sentences, shell};
use crate::checks;
use crate::evidence::{Evidence, mounts};
use crate::explain;
use crate::figures;
use crate::hardware;
use crate::quick;
use crate::shapes::{self, Subject};
use crate::table::{Align, Table};
use fathom_results::RunResult;
use fathom_stats::Direction;
use maud::{Markup, html};

/// Maximum number of subjects that get charts; the table lists all subjects.
const MOST_CHARTED: usize = 24;
/// Number of lines that are distinguishable in one chart.
const STYLES: usize = 6;

/// The whole page.
pub(super) fn html(results: &[RunResult], title: &str) -> String {
    let body = html! {
        @if results.len() > 1 { (side_by_side(results)) }
        @for (number, run) in results.iter().enumerate() { (section(run, number)) }
    };
    shell(title, &links(results), &body)
}

fn links(results: &[RunResult]) -> Vec<Link> {
    let mut links = Vec::new();
    if results.len() > 1 {
        links.push(("side-by-side".to_owned(), "Side by side".to_owned()));
    }
    for (number, run) in results.iter().enumerate() {
        let lead = if results.len() > 1 { format!("{}: ", run.source) } else { String::new() };
        if run.hosts.is_some() {
            links.push((hosts_id(number), format!("{lead}Hosts")));
        }
        for (index, subject) in shapes::subjects(run).iter().enumerate().take(MOST_CHARTED) {
            links.push((subject_id(number, index), format!("{lead}{}", subject.name)));
        }
    }
    links
}

fn hosts_id(result: usize) -> String {
    format!("r{result}-hosts")
}

fn subject_id(result: usize, subject: usize) -> String {
    format!("r{result}-s{subject}")
}

/// The charts of all results. They are named after their jobs and, if there are several results, also after
/// these.
pub(super) fn all_charts(results: &[RunResult]) -> Vec<Figure> {
    let own = results.iter().flat_map(|run| {
        let lead = if results.len() > 1 { format!("{}:", run.source) } else { String::new() };
        let subjects = shapes::subjects(run).into_iter();
        subjects
            .flat_map(move |subject| charts::of(&subject, &format!("{lead}{}", subject.name.to_lowercase())))
    });
    let together = if results.len() > 1 { charts_side_by_side(results).1 } else { Vec::new() };
    together.into_iter().chain(own).collect()
}

/// The percentile curves of all results, with one chart per direction. Each result contributes all of its jobs
/// together or, if jobs ran one after the other, each job by name.
fn side_by_side(results: &[RunResult]) -> Markup {
    let (table, drawn) = charts_side_by_side(results);
    html! {
        section aria-labelledby="side-by-side" {
            h2 id="side-by-side" { "Side by side" }
            (table.html())
            (charts::charts(drawn))
        }
    }
}

/// The figures of all results, and the charts.
fn charts_side_by_side(results: &[RunResult]) -> (Table, Vec<Figure>) {
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
    let mut drawn = Vec::new();
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
            drawn.extend(charts::percentiles(&title, &series, &id));
        }
    }
    (table, drawn)
}

/// Names of the jobs that are shown side by side; `None` stands for the first subject of each result,
/// regardless of its name.
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

fn section(run: &RunResult, number: usize) -> Markup {
    let id = format!("r{number}");
    let subjects = shapes::subjects(run);
    let evidence = Evidence::all(run);
    html! {
        section aria-labelledby=(id) {
            @if let Some(report) = quick::GridReport::of(run) {
                h2 id=(id) { (report.title()) }
                (grid::html(&report))
                details { summary { "The machine and the tests" } (facts(run)) (summary(run, &subjects).html()) }
            } @else {
                h2 id=(id) { (run.source) }
                (facts(run)) (summary(run, &subjects).html()) (trust(run))
            }
            @if let Some(of_hosts) = &run.hosts { (hosts::html(of_hosts, &hosts_id(number))) }
            @if !run.disk_util.is_empty() { h3 { "Devices" } (devices(run).html()) }
            @if !run.notes.is_empty() { h3 { "Notes" } (sentences(&run.notes)) }
            @for (index, subject) in subjects.iter().enumerate().take(MOST_CHARTED) {
                (section_of(run, subject, subject.job.and_then(|job| evidence.get(job)), &subject_id(number, index)))
            }
            @if subjects.len() > MOST_CHARTED { p {
                "Charts of the other " (subjects.len() - MOST_CHARTED)
                " jobs are left out to keep the page small; the table has their figures."
            } }
            (options(run))
        }
    }
}

/// The section of a job, or of all jobs together.
fn section_of(run: &RunResult, subject: &Subject, evidence: Option<&Evidence<'_>>, id: &str) -> Markup {
    let remarks = subject.directions.iter().flat_map(|direction| direction.remarks.clone());
    let by_engine = evidence.map(Evidence::told_by_engine).unwrap_or_default();
    html! {
        h3 id=(id) { (subject.name) }
        @if let Some(evidence) = evidence { (verdict(evidence)) }
        (sentences(remarks.chain(by_engine)))
        (charts::charts(charts::of(subject, id)))
        (what_is_missing(run, subject))
    }
}

/// Date, machine and program of a result.
fn facts(run: &RunResult) -> Markup {
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
            let kind = hardware::kind(device);
            let scheduler = if device.scheduler.is_empty() { "none" } else { &device.scheduler };
            let model = if device.model.is_empty() { String::new() } else { format!(" {}", device.model) };
            let size = figures::size(device.size_bytes);
            ("device", format!("{}{model}, {size}, {kind}, scheduler {scheduler}", device.name))
        }));
    }
    facts.retain(|(_, value)| !value.is_empty());
    list(&facts)
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

/// The findings about the figures.
fn trust(run: &RunResult) -> Markup {
    let verdict = checks::judge(run);
    let mut told: Vec<String> = checks::lines(&verdict)
        .into_iter()
        .map(|(severity, line)| format!("{}: {line}", severity.word()))
        .collect();
    if !verdict.not_checked.is_empty() {
        told.push(format!(
            "not checked, because the result lacks the data: {}",
            verdict.not_checked.join(", ")
        ));
    }
    let headline = format!("Can these figures be trusted? {}", checks::summary(&verdict));
    html! { h3 { "Verdict on the figures" } (verdict_box(&headline, &told)) }
}

fn verdict(evidence: &Evidence<'_>) -> Markup {
    let found = explain::verdict_of(evidence);
    html! {
        p { (explain::sentence_of(evidence)) }
        @match &evidence.run.hosts {
            Some(of_hosts) => @for found in explain::verdicts_of_hosts(evidence, of_hosts) {
                (verdict_box(&found.told(), &found.reasons()))
            },
            None => (verdict_box(found.headline, &found.reasons)),
        }
    }
}

fn verdict_box(headline: &str, reasons: &[String]) -> Markup {
    html! { div.verdict { strong { (headline) } ul { @for reason in reasons { li { (reason) } } } } }
}

/// Explains why charts are missing.
fn what_is_missing(run: &RunResult, subject: &Subject) -> Markup {
    let why = match run.is_of_fathom() {
        true => "the job ran too short, or there were too many jobs to keep one each",
        false => "results of fio have none; fathom's --output-format=jsonl, json or json+ do",
    };
    html! {
        @if subject.directions.iter().any(|direction| direction.timeline.is_empty()) {
            p { "There is no timeline: " (why) "." }
        }
        @if subject.directions.iter().any(|direction| direction.curve.is_empty()) {
            p { "There are no percentiles: they need histograms (--output-format=json+) of every job." }
        }
    }
}

/// The options as the user wrote them.
fn options(run: &RunResult) -> Markup {
    let global = Some(("global", &run.global_options)).filter(|(_, options)| !options.is_empty());
    let jobs = run.jobs.iter().map(|job| (job.name.as_str(), &job.options));
    html! {
        details {
            summary { "Options of the jobs" }
            pre { @for (name, options) in global.into_iter().chain(jobs) {
                "[" (name) "]\n"
                @for (key, value) in options.iter().filter(|(key, _)| key != "name") {
                    (key) @if !value.is_empty() { "=" (value) } "\n"
                }
            } }
        }
    }
}
