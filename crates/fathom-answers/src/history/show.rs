//! `fathom history show`: all that is kept of a run.

use super::{Named, failed, open, tags, time};
use crate::table::{Align, Table};
use crate::{columns, figures, output};
use fathom_command::arguments::Format;
use fathom_command::{Failure, Streams};
use fathom_history::record::{Job, Latency};
use fathom_history::{Access, StoredRun};
use fathom_stats::counted;
use lexopt::Parser;

pub(super) fn run(parser: Parser, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let Named { ids, store, format } = Named::read(parser)?;
    let mut store = open(store.as_ref(), Access::Read)?;
    let runs: Vec<StoredRun> =
        ids.into_iter().map(|id| store.run(id)).collect::<Result<_, _>>().map_err(failed)?;
    match format {
        Format::Json => streams.out.write_all(output::json(&runs)?.as_bytes())?,
        _ => output::print_long(streams, &runs.iter().map(text).collect::<Vec<_>>().join("\n"))?,
    }
    Ok(0)
}

fn text(run: &StoredRun) -> String {
    let jobs = &run.record.jobs;
    lines(run).join("\n") + "\n\n" + &table(jobs).text(0, columns::of_terminal()) + &errors(jobs)
}

/// What the run was and what it was on, before its figures.
pub(super) fn lines(run: &StoredRun) -> Vec<String> {
    let record = &run.record;
    let mut lines = vec![format!("run {}: {}, {}", run.id, time(record.begun_ms), record.program)];
    // A run that stored itself need not have a file.
    lines.extend((!record.source.is_empty()).then(|| format!("from {}", record.source)));
    lines.push(format!("fingerprint {}", record.fingerprint));
    let is_one = record.hosts.len() == 1;
    lines.extend(record.hosts.iter().map(|host| {
        let name = match is_one || host.label == host.name {
            true => host.name.clone(),
            false => format!("{} ({})", host.label, host.name),
        };
        let processors = (host.processors > 0).then(|| counted(host.processors, "processor"));
        let known = [host.kernel.clone(), processors.unwrap_or_default(), host.processor.clone()];
        let known: Vec<String> = known.into_iter().filter(|text| !text.is_empty()).collect();
        format!("host {name}{}{}", if known.is_empty() { "" } else { ": " }, known.join(", "))
    }));
    lines.extend(record.devices.iter().map(|device| {
        let known = [("", &device.model), ("firmware ", &device.firmware), ("serial ", &device.serial)];
        let known = known.into_iter().filter(|(_, text)| !text.is_empty());
        let parts: Vec<String> = known.map(|(word, text)| format!("{word}{text}")).collect();
        let size = (device.size_bytes > 0).then(|| figures::size(device.size_bytes));
        let all: Vec<String> = parts.into_iter().chain(size).collect();
        let at = if device.host.is_empty() || is_one { "" } else { &format!("{}:", device.host) };
        format!("device {at}{}{}{}", device.name, if all.is_empty() { "" } else { ": " }, all.join(", "))
    }));
    lines.extend(
        record
            .file_systems
            .iter()
            .map(|system| format!("file system {}: {} ({})", system.directory, system.kind, system.source)),
    );
    if !record.tags.is_empty() {
        lines.push(format!("tags {}", tags(&record.tags)));
    }
    lines.push(format!("verdict: {}", record.verdict));
    lines.extend(record.findings.iter().map(|finding| format!("  {}: {}", finding.severity, finding.text)));
    lines
}

fn errors(jobs: &[Job]) -> String {
    let failed = jobs.iter().filter(|job| job.error != 0);
    failed.map(|job| format!("{}: error {} {}\n", name_of(job), job.error, job.error_message)).collect()
}

/// A row per job and direction.
pub(super) fn table(jobs: &[Job]) -> Table {
    let right = Align::Right;
    let mut table = Table::new(&[
        ("job", Align::Name),
        ("", Align::Left),
        ("bandwidth", right),
        ("IOPS", right),
        ("mean", right),
        ("p50", right),
        ("p99", right),
        ("p99.9", right),
        ("max", right),
    ]);
    for job in jobs {
        for direction in ["read", "write", "trim", "mixed", "sync"] {
            let figure = |name: &str| {
                let is_it = |figure: &&fathom_history::record::Figure| {
                    figure.direction == direction && figure.name == name
                };
                job.figures.iter().find(is_it).map(|figure| figure.value)
            };
            if figure("ios").is_none() {
                continue;
            }
            let percentile = |percent: f64| {
                let main = |kind: &str| {
                    job.latencies.iter().find(|own| own.direction == direction && own.latency == kind)
                };
                at(main("clat"), percent).or_else(|| at(main("lat"), percent))
            };
            let told = |value: Option<f64>, form: fn(f64) -> String| value.map_or("-".to_owned(), form);
            table.row(vec![
                name_of(job),
                direction.to_owned(),
                told(figure("bytes_per_second"), figures::bandwidth),
                told(figure("iops"), figures::count),
                told(figure("latency_mean_ns"), figures::duration),
                told(percentile(50.0), figures::duration),
                told(percentile(99.0), figures::duration),
                told(percentile(99.9), figures::duration),
                told(figure("latency_max_ns"), figures::duration),
            ]);
        }
    }
    table
}

/// Name of a job, with its host in a run over several.
pub(super) fn name_of(job: &Job) -> String {
    match job.host.as_str() {
        "" => job.name.clone(),
        host => format!("{} on {host}", job.name),
    }
}

pub(super) fn at(latency: Option<&Latency>, percent: f64) -> Option<f64> {
    let found = latency?.percentiles.iter().find(|(own, _)| (own - percent).abs() < 1e-6)?;
    Some(found.1 as f64)
}
