//! The page of one run: what `fathom history show` prints, and percentiles.

use super::super::show;
use super::HistoryQuery;
use crate::figures;
use crate::report::list;
use crate::table::{Align, Table};
use fathom_history::StoredRun;
use fathom_history::record::{Job, Record};
use maud::{Markup, html};

/// Maximum number of jobs whose percentiles and options are shown.
const MOST_JOBS: usize = 200;
/// Percentiles that have a column.
const PERCENTS: [f64; 10] = [1.0, 10.0, 50.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// The content; `report` is the address of the run's report.
pub(super) fn content(run: &StoredRun, report: Option<String>) -> Markup {
    let record = &run.record;
    let lines = show::lines(run);
    let (first, rest) = lines.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let same = HistoryQuery {
        conditions: vec![format!("fingerprint={}", record.fingerprint)],
        ..HistoryQuery::default()
    };
    html! {
        section aria-labelledby="run" {
            h3 id="run" { (first) }
            ul.notes { @for line in rest { li { (line) } } }
            p.row {
                @if let Some(address) = report { a href=(address) target="_blank" rel="noopener" { "Result" } }
                a href=(same.address("history", 0)) { "Runs of the same jobs" }
                a href=(same.address("history-changes", 0)) { "Their changes" }
            }
        }
        section aria-labelledby="figures" {
            h3 id="figures" { "Figures" }
            (show::table(shown(record)).html())
            @for job in shown(record).iter().filter(|job| job.error != 0) {
                p.verdict { (show::name_of(job)) ": error " (job.error) " " (job.error_message) }
            }
            @if record.jobs.len() > MOST_JOBS { p { (record.jobs.len() - MOST_JOBS) " more jobs: fathom history show " (run.id) } }
        }
        section aria-labelledby="percentiles" { h3 id="percentiles" { "Percentiles" } (percentiles(shown(record)).html()) }
        section aria-labelledby="options" {
            h3 id="options" { "Options" }
            @for job in shown(record) { details {
                summary { (show::name_of(job)) }
                (list(&job.options))
                @if !job.limits.is_empty() { p { "Limits of its control groups: " (job.limits) } }
            } }
        }
    }
}

fn shown(record: &Record) -> &[Job] {
    &record.jobs[..record.jobs.len().min(MOST_JOBS)]
}

/// A row per latency of a job and direction.
fn percentiles(jobs: &[Job]) -> Table {
    let names: Vec<String> = PERCENTS.iter().map(|percent| format!("p{percent}")).collect();
    let heading = [("job", Align::Name), ("", Align::Left), ("latency", Align::Left)];
    let columns: Vec<(&str, Align)> =
        heading.into_iter().chain(names.iter().map(|name| (name.as_str(), Align::Right))).collect();
    let mut table = Table::new(&columns);
    for job in jobs {
        for latency in job.latencies.iter().filter(|latency| !latency.percentiles.is_empty()) {
            let value = |percent: &f64| {
                show::at(Some(latency), *percent).map_or_else(|| "-".to_owned(), figures::duration)
            };
            let names = [show::name_of(job), latency.direction.to_owned(), latency.latency.to_owned()];
            table.row(names.into_iter().chain(PERCENTS.iter().map(value)).collect());
        }
    }
    table
}
