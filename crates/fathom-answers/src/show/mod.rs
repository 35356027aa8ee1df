//! `fathom show`: shows a result as charts in the terminal.

mod charts;

use crate::Command;
use crate::bars::Ink;
use crate::checks::{self, Severity};
use crate::columns;
use crate::evidence::{Evidence, mounts};
use crate::figures;
use crate::hosts;
use crate::output;
use crate::quick;
use crate::runner::Runner;
use crate::shapes::{self, Subject};
use crate::table::{Align, Table};
use fathom_command::{Failure, Streams, arguments};
use fathom_results::{HostsResult, RunResult};
use lexopt::Arg::{Long, Value};
use std::ffi::OsString;
use std::path::PathBuf;

/// Minimum and maximum width of the output in columns.
const LEAST_WIDTH: usize = 40;
const MOST_WIDTH: usize = 160;

/// Number of columns in the table of hosts that are never dropped.
const LEAST_COLUMNS: usize = 5;
/// Maximum number of hosts without remarks that get a row.
const MOST_HOSTS: usize = 20;

pub(crate) const COMMAND: Command = Command {
    name: "show",
    arguments: "RESULT...",
    summary: "Show results as charts in the terminal",
    help: "\
Usage: fathom show [options] RESULT...

Draws results (JSON, JSON+ or JSONL, of fathom or fio) in the terminal: summary, latency percentiles and distribution, rates
and latencies over time, depth reached. JSON+ is best, because it holds the histograms. - is standard input. NO_COLOR or
TERM=dumb draws in ASCII instead of blocks. Output longer than the terminal goes through PAGER (less); PAGER=cat prints it
directly.

  --width=COLUMNS  columns to fill (default: the terminal's width)
  --job=NAME       only this job; may be repeated
  --summary        only the summary, without charts
",
    run,
};

fn run(words: &[OsString], streams: &mut Streams<'_>, _: &mut dyn Runner) -> Result<u8, Failure> {
    let (mut files, mut jobs, mut width, mut only_summary) = (Vec::new(), Vec::new(), None, false);
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("width") => {
                width = Some(arguments::number(&mut parser, "--width", LEAST_WIDTH as u64)? as usize);
            }
            Long("job") => jobs.push(arguments::text(&mut parser, "--job")?),
            Long("summary") => only_summary = true,
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    // Charts need a width even if the output is a pipe. Names are truncated there only if a width was
    // requested.
    let limit = width.or_else(columns::of_terminal);
    let width = limit.or_else(columns::told).unwrap_or(columns::USUAL);
    let screen = Screen { width: width.clamp(LEAST_WIDTH, MOST_WIDTH), limit, ink: Ink::of_environment() };
    let mut text = String::new();
    for file in arguments::some_files(files)? {
        let result = fathom_results::read(&file).map_err(|error| Failure::new(error.to_string()))?;
        check_names(&result, &jobs)?;
        text.push_str(&text_of(&result, &jobs, only_summary, screen));
    }
    output::print_long(streams, &text)?;
    Ok(0)
}

/// Note that follows a table with unknown percentiles.
const WITHOUT_PERCENTILES: &str =
    "-: unknown; combining several jobs needs their histograms, which --output-format=json+ writes";

/// Settings of the drawing.
#[derive(Clone, Copy, Debug)]
struct Screen {
    width: usize,
    /// Width to which names are truncated, in columns; `None` to keep them whole.
    limit: Option<usize>,
    ink: Ink,
}

fn check_names(result: &RunResult, jobs: &[String]) -> Result<(), Failure> {
    match jobs.iter().find(|name| !result.jobs.iter().any(|job| job.name == **name)) {
        None => Ok(()),
        Some(name) => {
            let known: Vec<&str> = result.jobs.iter().map(|job| job.name.as_str()).collect();
            Err(Failure::new(format!(
                "{}: there is no job {name}; it has {}",
                result.source,
                known.join(", ")
            )))
        }
    }
}

fn text_of(result: &RunResult, jobs: &[String], only_summary: bool, screen: Screen) -> String {
    let all = shapes::subjects(result);
    let wanted = |subject: &&Subject| jobs.is_empty() || jobs.contains(&subject.name);
    let shown: Vec<&Subject> = all.iter().filter(wanted).collect();
    let heading = columns::hanging(&heading(result), 2, screen.width);
    if result.jobs.is_empty() {
        let nothing = "The result holds no jobs: the run ended before one began, or every job had stats=0.";
        return heading + &columns::wrapped(nothing, screen.width);
    }
    let mut text = heading + "\n";
    if let Some(quick) = quick::GridReport::of(result).filter(|_| jobs.is_empty()) {
        text.push_str(&of_quick(&quick, screen));
    } else {
        text.push_str(&summary(result, &shown, screen));
        text.extend(result.hosts.as_ref().map(|hosts| of_hosts(hosts, screen)));
        text.push_str(&remarks(&shown, screen));
        text.push_str(&of_engines(result, &shown, screen));
        text.push_str(&trust(result, screen));
    }
    let lacks =
        |subject: &Subject| subject.directions.iter().any(|direction| direction.percentile(50.0).is_none());
    if shown.iter().any(|subject| lacks(subject)) {
        text.push_str(&columns::wrapped(WITHOUT_PERCENTILES, screen.width));
    }
    if only_summary {
        return text + "\n";
    }
    for subject in shown {
        let charts = charts::of(subject, screen);
        if !charts.is_empty() {
            text.push_str(&format!(
                "\n== {} ==\n{charts}",
                columns::cut_to(&subject.name, screen.limit.map(|limit| limit.saturating_sub(6)))
            ));
        }
    }
    text + "\n"
}

/// Sentences about open loops and layers.
fn remarks(shown: &[&Subject], screen: Screen) -> String {
    let mut text = String::new();
    for subject in shown {
        for sentence in subject.directions.iter().flat_map(|direction| &direction.remarks) {
            text.push_str(&columns::wrapped(&format!("  * {}: {sentence}", subject.name), screen.width));
        }
    }
    text
}

/// Counters and timings of engines.
fn of_engines(result: &RunResult, shown: &[&Subject], screen: Screen) -> String {
    let evidence = Evidence::all(result);
    let mut text = String::new();
    for subject in shown {
        let own = subject.job.and_then(|job| evidence.get(job));
        for sentence in own.iter().flat_map(|evidence| evidence.told_by_engine()) {
            text.push_str(&columns::wrapped(&format!("  * {}: {sentence}", subject.name), screen.width));
        }
    }
    text
}

/// The verdict, with everything that is wrong or doubtful.
fn trust(result: &RunResult, screen: Screen) -> String {
    let verdict = checks::judge(result);
    let mut text =
        columns::wrapped(&format!("\nVerdict on the figures: {}", checks::summary(&verdict)), screen.width);
    let told = checks::lines(&verdict).into_iter().filter(|(severity, _)| *severity > Severity::Note);
    text.extend(
        told.map(|(severity, line)| {
            columns::wrapped(&format!("  * {}: {line}", severity.word()), screen.width)
        }),
    );
    text
}

/// A result of `fathom quick`: its grid with bars, its doubts, and the machine.
fn of_quick(quick: &quick::GridReport<'_>, screen: Screen) -> String {
    quick.text_with_bars(screen.width, screen.ink)
}

/// The hosts of a run over several hosts.
fn of_hosts(hosts: &HostsResult, screen: Screen) -> String {
    let text_with = |count: usize| hosts::table(hosts, MOST_HOSTS, count).0.text(2, Some(screen.width));
    let fits = |text: &String| text.lines().all(|line| columns::width(line) <= screen.width);
    // Figures are dropped from the right until the table fits, as in the table of jobs.
    let fitting = (LEAST_COLUMNS..=hosts::COLUMNS).rev().map(text_with).find(fits);
    let table = fitting.unwrap_or_else(|| text_with(LEAST_COLUMNS));
    let (_, left_out) = hosts::table(hosts, MOST_HOSTS, LEAST_COLUMNS);
    let mut text = format!("\nHosts:\n{table}");
    if left_out > 0 {
        text.push_str(&format!("  and {left_out} more\n"));
    }
    let sentences = hosts::remarks(hosts).into_iter().chain(hosts::together(hosts));
    text.extend(sentences.map(|line| columns::wrapped(&format!("  * {line}"), screen.width)));
    text
}

fn heading(result: &RunResult) -> String {
    let program = if result.is_of_fathom() { "fathom" } else { &result.version };
    let mut text = format!("{}: {program}, {}", result.source, result.time);
    let servers = result.servers();
    if !servers.is_empty() {
        text.push_str(&format!(", on {}", servers.join(", ")));
    }
    if let Some(hosts) = &result.hosts {
        text.push_str(&format!(", on {}", hosts::counted(hosts)));
    }
    if let Some(host) = &result.host {
        text.push_str(&format!(", {} ({})", host.name, host.kernel));
        let mut places: Vec<String> = host.devices.iter().map(|device| device.name.clone()).collect();
        // These file systems have no block device.
        places.extend(host.file_systems.iter().filter(|system| mounts::matters(system)).map(mounts::told));
        if !places.is_empty() {
            text.push_str(&format!(", on {}", places.join(", ")));
        }
    }
    text
}

/// A table with a line per job and direction; columns that do not fit are dropped from the right.
fn summary(result: &RunResult, shown: &[&Subject], screen: Screen) -> String {
    let right = Align::Right;
    let headings = [
        ("job", Align::Name),
        ("", Align::Left),
        ("MB/s", right),
        ("IOPS", right),
        ("p50", right),
        ("p99", right),
        ("p99.9", right),
        ("mean", right),
        ("max", right),
        ("depth", right),
    ];
    let evidence = Evidence::all(result);
    let reached = |job: Option<usize>| {
        let found = evidence.get(job?)?;
        Some(format!("{} of {}", figures::three_figures(found.depth_reached()?), found.depth_asked()))
    };
    let mut rows = Vec::new();
    for subject in shown {
        for direction in &subject.directions {
            let percentile =
                |percent| direction.percentile(percent).map_or("-".to_owned(), figures::duration);
            rows.push(vec![
                subject.name.clone(),
                direction.name.to_owned(),
                figures::three_figures(direction.bytes_per_second / 1e6),
                figures::count(direction.iops),
                percentile(50.0),
                percentile(99.0),
                percentile(99.9),
                figures::duration(direction.mean_ns),
                figures::duration(direction.max_ns),
                reached(subject.job).unwrap_or_default(),
            ]);
        }
    }
    let with_columns = |count: usize| {
        let mut table = Table::new(&headings[..count]);
        rows.iter().for_each(|row| table.row(row[..count].to_vec()));
        table
    };
    // Long names never cause figures to be dropped, regardless of whether names are truncated.
    let fits = |table: &Table| {
        table.text(0, Some(screen.width)).lines().all(|line| columns::width(line) <= screen.width)
    };
    let fitting = (4..=headings.len()).rev().map(with_columns).find(fits);
    fitting.unwrap_or_else(|| with_columns(4)).text(0, screen.limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_of_one_name_have_their_own_depths() {
        let job = |iops: u32| {
            format!(
                r#"{{"jobname":"a","job options":{{"ioengine":"libaio","iodepth":"8"}},
                "read":{{"total_ios":9,"io_bytes":9,"iops":{iops},"lat_ns":{{"mean":1000000}}}}}}"#
            )
        };
        let text = format!(r#"{{"fio version":"fio-3.42","jobs":[{},{}]}}"#, job(2000), job(5000));
        let result = fathom_results::parse(&text, "text").expect("reads");
        let text = text_of(&result, &[], true, Screen { width: 160, limit: None, ink: Ink::Letters });
        let depths: Vec<&str> = text.lines().filter(|line| line.starts_with("a ")).collect();
        assert!(depths[0].ends_with("2.00 of 8") && depths[1].ends_with("5.00 of 8"), "{text}");
    }

    #[test]
    fn what_is_not_known_is_said() {
        let text = |latency: &str| {
            let job = format!(
                r#"{{"jobname":"a","read":{{"total_ios":9,"io_bytes":9,"iops":9,"clat_ns":{latency}}}}}"#
            );
            let result =
                fathom_results::parse(&format!(r#"{{"fio version":"fio-3.42","jobs":[{job}]}}"#), "text");
            let screen = Screen { width: 60, limit: None, ink: Ink::Letters };
            text_of(&result.expect("reads"), &[], true, screen)
        };
        let without = text(r#"{"mean":5,"N":9}"#);
        assert!(without.contains("\n-: unknown;") && without.contains("json+ writes\n"), "{without}");
        let with = text(r#"{"mean":5,"N":9,"percentile":{"50.000000":5,"99.000000":6}}"#);
        assert!(!with.contains("unknown"), "{with}");
    }

    #[test]
    fn hosts_fit_into_any_width() {
        let text = include_str!("../../tests/results/hosts.json");
        let result = fathom_results::parse(text, "r.json").expect("reads");
        let shown = |width: usize| {
            text_of(&result, &[], true, Screen { width, limit: Some(width), ink: Ink::Letters })
        };
        let wide = shown(120);
        for part in [
            "on 4 hosts: a1, a3, b4 and 1 more",
            "  a3    ok           read  1.47    360  60.7 µs  89.6 µs  1.27 ms  1.27 ms  +2.00 ms\n",
            "  * a3 was slower than the others: read rate 65% below the median.\n",
        ] {
            assert!(wide.contains(part), "{part}: {wide}");
        }
        for width in [40, 60, 80] {
            let text = shown(width);
            assert!(text.lines().all(|line| columns::width(line) <= width), "{width}: {text}");
            assert!(text.contains("  a3    ok           read  1.47"), "{text}");
        }
    }
}
