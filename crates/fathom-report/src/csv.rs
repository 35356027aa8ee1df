//! `csv`: one row per job and direction in fixed units, with a header line, for spreadsheets and data frames.
//! Times are in nanoseconds and sizes in bytes regardless of the job's units, and the columns are the same for
//! all runs, so that tables of several runs can be joined. A cell without a value is empty, because a value
//! that was not measured is not 0.

use crate::{Format, shares};
use fathom_spec::FormatDeclaration;
use fathom_stats::report::{DirectionReport, JobReport, RunReport, UnifiedReporting};
use fathom_stats::{Direction, LatencyStats};
use std::io;

/// The percentiles that have their own columns.
const PERCENTILES: [(f64, &str); 6] =
    [(50.0, "p50"), (90.0, "p90"), (95.0, "p95"), (99.0, "p99"), (99.9, "p99_9"), (99.99, "p99_99")];

/// `--output-format=csv`.
pub(crate) struct Csv;

impl Format for Csv {
    fn declaration(&self) -> &'static FormatDeclaration {
        const {
            &FormatDeclaration {
                name: "csv",
                stands_alone: Some("its output is one table"),
                verdict: true,
                ..FormatDeclaration::BLANK
            }
        }
    }

    fn write(&self, report: &RunReport, out: &mut dyn io::Write) -> io::Result<()> {
        let blank = row(report, None, &JobReport::default(), "", &DirectionReport::default());
        csv::Writer::from_writer(&mut *out).write_record(blank.0.iter().map(|(heading, _)| heading))?;
        self.write_next(report, out)
    }

    /// Continues the table.
    fn write_next(&self, report: &RunReport, out: &mut dyn io::Write) -> io::Result<()> {
        let mut table = csv::Writer::from_writer(out);
        let of_hosts = report.hosts.iter().flat_map(|hosts| &hosts.hosts);
        let own = of_hosts.filter_map(|host| Some((Some(host.name.as_str()), host.report.as_deref()?)));
        for (host, part) in std::iter::once((None, report)).chain(own) {
            for job in &part.jobs {
                for (word, figures) in directions(job) {
                    table.write_record(
                        row(report, host, job, word, &figures).0.iter().map(|(_, cell)| cell),
                    )?;
                }
            }
        }
        table.flush()
    }
}

/// Returns the directions with I/O. A job without I/O has one row, which shows its error.
fn directions(job: &JobReport) -> Vec<(&'static str, DirectionReport)> {
    let sync = DirectionReport {
        total_ios: job.sync.count,
        lat: job.sync.clone(),
        runtime_ms: job.directions.values().map(|direction| direction.runtime_ms).max().unwrap_or(0),
        ..Default::default()
    };
    let words = [(Direction::Read, "read"), (Direction::Write, "write"), (Direction::Trim, "trim")];
    let apart = words.map(|(direction, word)| (word, job.directions[direction].clone()));
    let shown = match job.view.unified {
        UnifiedReporting::Apart => apart.into_iter().chain([("sync", sync)]).collect::<Vec<_>>(),
        UnifiedReporting::Mixed => vec![("mixed", job.mixed())],
        UnifiedReporting::Both => apart.into_iter().chain([("sync", sync), ("mixed", job.mixed())]).collect(),
    };
    let mut done: Vec<_> =
        shown.into_iter().filter(|(_, figures)| !figures.is_empty() || figures.total_ios > 0).collect();
    if done.is_empty() {
        done.push(("", DirectionReport::default()));
    }
    done
}

/// Headings, each with its cell.
#[derive(Default)]
struct Row(Vec<(String, String)>);

impl Row {
    fn cell(&mut self, heading: &str, value: impl ToString) {
        self.0.push((heading.to_owned(), value.to_string()));
    }

    fn number(&mut self, heading: &str, value: f64) {
        self.cell(heading, format!("{value:.3}"));
    }

    /// Adds the columns of a latency. The cells are empty if there are no values for a mean or a percentile.
    fn latency(&mut self, name: &str, stats: &LatencyStats) {
        let some = |value: String| if stats.count == 0 { String::new() } else { value };
        self.cell(&format!("{name}_min_ns"), some(stats.min_ns.to_string()));
        self.cell(&format!("{name}_mean_ns"), some(format!("{:.3}", stats.mean_ns())));
        self.cell(&format!("{name}_stddev_ns"), some(format!("{:.3}", stats.stddev_ns())));
        self.cell(&format!("{name}_max_ns"), some(stats.max_ns.to_string()));
    }

    fn percentiles(&mut self, name: &str, stats: &LatencyStats) {
        let values = stats.percentiles(&PERCENTILES.map(|(percentile, _)| percentile));
        for (index, (_, word)) in PERCENTILES.iter().enumerate() {
            let value = values.get(index).map(u64::to_string);
            self.cell(&format!("{name}_{word}_ns"), value.unwrap_or_default());
        }
    }
}

fn row(
    run: &RunReport,
    host: Option<&str>,
    job: &JobReport,
    direction: &str,
    figures: &DirectionReport,
) -> Row {
    let mut row = Row::default();
    row.cell("timestamp_ms", run.timestamp_ms);
    row.cell("verdict", run.verdict.as_ref().map_or("", |verdict| verdict.word()));
    row.cell("host", host.unwrap_or_default());
    row.cell("job", &job.name);
    row.cell("group", job.group_id);
    row.cell("clones", job.clones);
    row.cell("direction", direction);
    row.cell("error", job.error.as_ref().map_or(0, |error| error.code));
    row.cell("error_message", job.error.as_ref().map(|error| error.message()).unwrap_or_default());
    row.cell("ios", figures.issued.max(figures.total_ios));
    row.cell("short_ios", figures.short_ios);
    row.cell("dropped_ios", figures.drop_ios);
    row.cell("bytes", figures.io_bytes);
    row.cell("runtime_ns", u128::from(figures.runtime_ms) * 1_000_000);
    row.cell("bytes_per_second", figures.bytes_per_second());
    row.number("iops", figures.iops());
    for (name, stats) in [("slat", &figures.slat), ("clat", &figures.clat), ("lat", &figures.lat)] {
        row.latency(name, stats);
    }
    row.percentiles("clat", &figures.clat);
    row.percentiles("lat", &figures.lat);
    let (user, system) = shares::processor(job);
    row.number("user_cpu_percent", user);
    row.number("system_cpu_percent", system);
    row.cell("context_switches", job.cpu.context_switches);
    row
}
