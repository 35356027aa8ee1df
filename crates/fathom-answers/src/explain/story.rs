//! Explains a result in plain words, in the order of the report, with a verdict on each job.

use super::{hosts, job, verdict};
use crate::checks;
use crate::evidence::{Evidence, arrivals, layers, mounts};
use crate::figures;
use crate::quick;
use crate::shapes;
use fathom_results::model::DiskResult;
use fathom_results::{DirectionResult, LatencyResult, RunResult};
use fathom_stats::counted;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Maximum number of devices described in a run over several hosts.
const MOST_DEVICES: usize = 20;
/// Maximum number of jobs with the same name that are described individually.
const MOST_OF_A_NAME: usize = 3;

/// The complete text; the caller wraps long lines at this number of columns.
pub(super) fn tell(run: &RunResult, columns: usize) -> String {
    let mut text = opening(run);
    text.extend(quick::GridReport::of(run).map(|report| of_quick(&report, columns)));
    let mut told = BTreeMap::<&str, usize>::new();
    // Clones with separate report entries mostly have the same verdict, so further ones are counted by verdict.
    let mut others = BTreeMap::<(&str, &str), usize>::new();
    for evidence in Evidence::all(run) {
        let count = told.entry(&evidence.job.name).or_default();
        *count += 1;
        match *count <= MOST_OF_A_NAME {
            true => report_job(&evidence, &mut text),
            // In a run over several hosts, each host has its own verdict.
            false if run.hosts.is_some() => {}
            false => {
                let headline = verdict::of(&evidence).bottleneck.headline();
                *others.entry((&evidence.job.name, headline)).or_default() += 1;
            }
        }
    }
    for ((name, headline), count) in others {
        let _ = writeln!(text, "\n{} of {name}: {headline}", counted(count, "more clone"));
    }
    if run.jobs.is_empty() {
        text.push_str(
            "\nThe result holds no jobs: the run ended before one began, or every job had stats=0.\n",
        );
    }
    text.extend(run.hosts.as_ref().map(hosts::told));
    // The grid of `quick` already lists its doubts, so they are not repeated.
    if run.quick.is_none() && !run.jobs.is_empty() {
        text.push_str(&trust(run));
    }
    closing(run, &mut text);
    text
}

/// Sentences about the findings of the verdict.
fn trust(run: &RunResult) -> String {
    let verdict = checks::judge(run);
    let mut text = format!("\nCan these figures be trusted? Verdict: {}.\n", checks::summary(&verdict));
    for (severity, line) in checks::lines(&verdict) {
        let _ = writeln!(text, "  * {}: {line}.", severity.word());
    }
    if !verdict.not_checked.is_empty() {
        let _ = writeln!(
            text,
            "  * Not checked, because the result lacks the data: {}.",
            verdict.not_checked.join(", ")
        );
    }
    text
}

/// Describes the grid of `fathom quick` and its doubts, then its individual tests.
fn of_quick(report: &quick::GridReport<'_>, columns: usize) -> String {
    let mut text = format!("\n{}\n\n{}", report.headline(), report.grid(Some(columns)));
    let notes = report.notes();
    if !notes.is_empty() {
        text.push_str("\nDoubts:\n");
        text.extend(notes.iter().map(|note| format!("  * {note}\n")));
    }
    text
}

fn report_job(evidence: &Evidence<'_>, text: &mut String) {
    let _ = writeln!(text, "\nJob {}: {}", evidence.job.name, job::sentence(evidence));
    if let Some(description) = evidence.run.option(evidence.job, "description") {
        let _ = writeln!(text, "  * Description: {description}");
    }
    for (direction, figures) in evidence.job.active() {
        let (_, many) = verb(direction);
        let remarks = arrivals::told(many, figures).into_iter().chain(layers::told(many, figures));
        for sentence in
            rates(direction, figures).into_iter().chain(latencies(direction, figures)).chain(remarks)
        {
            let _ = writeln!(text, "  * {sentence}");
        }
    }
    for sentence in rest_of_job(evidence) {
        let _ = writeln!(text, "  * {sentence}");
    }
    if let Some(of_hosts) = &evidence.run.hosts {
        hosts::tell_verdicts(evidence, of_hosts, text);
        return;
    }
    let found = verdict::of(evidence);
    let _ = writeln!(text, "  Verdict: {}", found.bottleneck.headline());
    for reason in &found.reasons {
        let _ = writeln!(text, "  * {reason}");
    }
    for doubt in doubts_of(evidence) {
        let _ = writeln!(text, "  * Doubtful: {doubt}.");
    }
}

/// The doubts of `fathom quick` about a test.
pub(super) fn doubts_of<'a>(evidence: &Evidence<'a>) -> impl Iterator<Item = &'a str> {
    let tests = evidence.run.quick.iter().flat_map(|quick| &quick.tests);
    let own = tests.filter(|test| test.jobname == evidence.job.name);
    own.flat_map(|test| test.doubts.iter().map(|doubt| doubt.text.as_str()))
}

pub(super) fn opening(run: &RunResult) -> String {
    let mut text = format!("{}: a run of {}", run.source, if run.is_of_fathom() { "fathom" } else { "fio" });
    if !run.is_of_fathom() && !run.version.is_empty() {
        let _ = write!(text, " ({})", run.version);
    }
    if !run.time.is_empty() {
        let _ = write!(text, " that ended on {}", run.time);
    }
    text.push('.');
    let servers = run.servers();
    if !servers.is_empty() {
        let _ = write!(text, " A client ran it on {}.", servers.join(", "));
    }
    if let Some(of_hosts) = &run.hosts {
        let _ = write!(text, " It ran on {}.", crate::hosts::counted(of_hosts));
    }
    if let Some(host) = &run.host {
        let _ = write!(
            text,
            " It ran on {} ({}, {} x {}).",
            host.name, host.kernel, host.processors, host.processor
        );
        for system in &host.file_systems {
            let _ = write!(text, " Its files were on {}.", mounts::told(system));
        }
    }
    text.push('\n');
    text
}

fn verb(direction: &str) -> (&'static str, &'static str) {
    match direction {
        "read" => ("Reads", "reads"),
        "write" => ("Writes", "writes"),
        "trim" => ("Trims", "trims"),
        _ => ("I/Os", "I/Os"),
    }
}

fn rates(direction: &str, figures: &DirectionResult) -> Vec<String> {
    let (many, _) = verb(direction);
    let mut sentences = vec![format!(
        "{many}: {} IOPS, {} (BW); {} in total, {}, in {}.",
        figures::count(figures.iops),
        figures::bandwidth(figures.bytes_per_second),
        figures::count(figures.total_ios as f64),
        figures::size(figures.io_bytes),
        figures::duration(figures.runtime_ms as f64 * 1e6),
    )];
    if figures.bw_samples > 2 && figures.bw_mean > 0.0 {
        let variation = 100.0 * figures.bw_dev / figures.bw_mean;
        let steadiness = match variation {
            share if share < 10.0 => "steady",
            share if share < 30.0 => "it varied",
            _ => "it varied a lot, so the average hides much",
        };
        sentences.push(format!(
            "Over time, the bandwidth per clone was between {} and {} (bw min and max), {} on average with a standard deviation of {}: \
             {steadiness}.",
            figures::bandwidth(figures.bw_min * 1024.0),
            figures::bandwidth(figures.bw_max * 1024.0),
            figures::bandwidth(figures.bw_mean * 1024.0),
            figures::percent(variation),
        ));
    }
    if figures.short_ios > 0 {
        sentences.push(format!(
            "{} were short: they moved less than requested.",
            figures::count(figures.short_ios as f64)
        ));
    }
    sentences
}

fn latencies(direction: &str, figures: &DirectionResult) -> Vec<String> {
    let (_, many) = verb(direction);
    let mut sentences = Vec::new();
    let latency = figures.latency();
    if figures.slat.mean_ns > 0.0 {
        sentences.push(format!(
            "Submission latency (slat) was {} on average, completion latency (clat) {}.",
            figures::duration(figures.slat.mean_ns),
            figures::duration(figures.clat.mean_ns)
        ));
    }
    if let (Some(median), Some(p99)) = (latency.percentile(50.0), latency.percentile(99.0)) {
        let mut sentence = format!(
            "Half of the {many} completed within {}, 99 % within {}",
            figures::duration(median),
            figures::duration(p99)
        );
        if let Some(p999) = latency.percentile(99.9) {
            let _ = write!(sentence, ", one in a thousand took longer than {}", figures::duration(p999));
        }
        let _ = write!(
            sentence,
            "; the slowest took {} (clat percentiles and max).",
            figures::duration(latency.max_ns)
        );
        sentences.push(sentence);
        sentences.extend(shape(latency, median, p99));
    } else if latency.mean_ns > 0.0 {
        sentences.push(format!(
            "A completion took {} on average, {} at most; there are no percentiles.",
            figures::duration(latency.mean_ns),
            figures::duration(latency.max_ns)
        ));
    }
    sentences
}

/// A sentence that compares mean, median and tail of the latencies.
fn shape(latency: &LatencyResult, median: f64, p99: f64) -> Option<String> {
    if median > 0.0 && latency.mean_ns > 1.5 * median {
        return Some(format!(
            "The mean of {} is {} times the median: a few slow I/Os dominate it, so look at percentiles, not at the mean.",
            figures::duration(latency.mean_ns),
            figures::three_figures(latency.mean_ns / median)
        ));
    }
    (median > 0.0 && p99 > 20.0 * median).then(|| {
        format!(
            "The 99th percentile is {} times the median: a long tail.",
            figures::three_figures(p99 / median)
        )
    })
}

fn rest_of_job(evidence: &Evidence<'_>) -> Vec<String> {
    let job = evidence.job;
    let mut sentences = Vec::new();
    if job.syncs() > 0 {
        sentences.push(format!(
            "Syncs: {}, {} each on average.",
            figures::count(job.syncs() as f64),
            figures::duration(job.sync_latency().mean_ns)
        ));
    }
    sentences.extend(evidence.told_by_engine());
    let (user, system) = evidence.processor();
    let ios: u64 = job.active().iter().map(|(_, direction)| direction.total_ios).sum();
    let mut sentence = format!(
        "CPU (cpu): {} of a CPU in the program (usr) and {} in the kernel (sys) per clone",
        figures::percent(user),
        figures::percent(system)
    );
    if ios > 0 && job.runtime_ms > 0 {
        let ns = (user + system) / 100.0 * job.runtime_ms as f64 * 1e6 / ios as f64;
        let _ = write!(sentence, ", {} per I/O", figures::duration(ns));
    }
    let _ = write!(sentence, "; {} context switches (ctx).", figures::count(job.context_switches as f64));
    sentences.push(sentence);
    if let Some(wait) = evidence.processor_wait() {
        if wait.is_worth_telling() {
            sentences.push(format!("Each clone {}.", wait.told()));
        }
        if wait.is_stolen_from() {
            sentences.push(format!("The {} (stolen_ms).", wait.told_of_stolen()));
        }
    }
    sentences.extend(evidence.throttled().map(|found| format!("Limit: {}.", found.told())));
    sentences.extend(evidence.io_limited().map(|found| format!("Limit: {}.", found.told())));
    let deepest =
        job.iodepth_level.iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, share)| *share > 0.0);
    if let Some((level, share)) = deepest {
        let reached = evidence.depth_reached().map_or(String::new(), |reached| {
            format!(", {} on average, from rate and latency", figures::three_figures(reached))
        });
        sentences.push(format!(
            "Depth (IO depths): {} of the I/Os were issued with {} in flight{reached}.",
            // Depths include syncs, which are not among the I/Os, so the share may exceed 100 %.
            figures::percent(share.min(100.0)),
            shapes::depth_range(level)
        ));
    }
    for direction in [0, 1] {
        let Some(trend) = evidence.trend(direction).filter(|trend| trend.fell() || trend.rose()) else {
            continue;
        };
        sentences.push(format!(
            "The {} rate {} from {} in the first third to {} in the last: the average does not show what the storage sustains.",
            ["read", "write"][direction],
            if trend.fell() { "fell" } else { "rose" },
            figures::bandwidth(trend.first),
            figures::bandwidth(trend.last)
        ));
    }
    sentences
}

/// Appends devices and notes, which concern the whole run.
fn closing(run: &RunResult, text: &mut String) {
    if !run.disk_util.is_empty() {
        text.push_str("\nDevices (Disk stats), counted by the kernel for all jobs together:\n");
    }
    let mut disks: Vec<&DiskResult> = run.disk_util.iter().collect();
    // The devices of many hosts would hide the rest of the text.
    if run.hosts.is_some() && disks.len() > MOST_DEVICES {
        disks.sort_by(|a, b| b.util.total_cmp(&a.util));
        let _ = writeln!(text, "  The {MOST_DEVICES} busiest of {}:", disks.len());
        disks.truncate(MOST_DEVICES);
    }
    for disk in disks {
        let mean = |ticks: u64, ios: u64| match ios {
            0 => "none".to_owned(),
            ios => format!(
                "{} of {} each",
                figures::count(ios as f64),
                figures::duration(ticks as f64 * 1e6 / ios as f64)
            ),
        };
        let _ = writeln!(
            text,
            "  * {}: busy for {} of the time; reads: {}, writes: {} (time in queue and device).",
            disk.name,
            figures::percent(disk.util),
            mean(disk.read_ticks, disk.read_ios),
            mean(disk.write_ticks, disk.write_ios)
        );
    }
    if !run.notes.is_empty() {
        text.push_str("\nNotes:\n");
        run.notes.iter().for_each(|note| {
            let _ = writeln!(text, "  * {note}");
        });
    }
}
