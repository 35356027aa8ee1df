//! The block of one job.

use super::latency::{append_line, append_percentiles, append_whole_percentiles};
use super::steady;
use super::{arrivals, block_errors, layers};
use crate::ctime::ctime;
use crate::scale::{Scale, duration};
use crate::shares;
use fathom_stats::Direction;
use fathom_stats::report::{
    DEPTH_BUCKETS, DISTRIBUTION_BUCKETS, DirectionReport, JobError, JobReport, RunReport, UnifiedReporting,
};
use fathom_stats::series::SampleStats;

/// Labels of the depth distribution.
const DEPTH_LABELS: [&str; DEPTH_BUCKETS] = ["1", "2", "4", "8", "16", "32", ">=64"];
/// Labels of the submit and complete distributions.
const BATCH_LABELS: [&str; DEPTH_BUCKETS] = ["0", "4", "8", "16", "32", "64", ">=64"];
/// Labels of the latency distribution.
const LATENCY_LABELS: [&str; 12] =
    ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];
/// Units of the parts of the latency distribution, with the buckets of each.
const LATENCY_PARTS: [(&str, std::ops::Range<usize>); 3] =
    [("nsec", 0..10), ("usec", 10..20), ("msec", 20..DISTRIBUTION_BUCKETS)];
/// Number of entries per line of the latency distribution.
const DISTRIBUTION_ENTRIES: usize = 5;
/// Maximum number of characters of a stored error in the first line.
const ERROR_TEXT_LIMIT: usize = 127;

/// Appends the block of all clients together, `total`. As in fio, it lacks figures that cannot be summed, and
/// has its own form of rates and percentiles.
pub(super) fn append_all_clients(text: &mut String, total: &JobReport, report: &RunReport) {
    let mut shown = String::new();
    append_block(&mut shown, total, report, Form::AllClients);
    *text += &shown;
}

/// The form of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Job,
    AllClients,
}

/// Appends the block of `job`.
pub(super) fn append(text: &mut String, job: &JobReport, report: &RunReport) {
    append_block(text, job, report, Form::Job);
}

fn append_block(text: &mut String, job: &JobReport, report: &RunReport, form: Form) {
    *text += &format!(
        "{}: (groupid={}, jobs={}): {}: pid={}: {}\n",
        job.name,
        job.group_id,
        job.clones,
        error_text(job.error.as_ref()),
        job.pid,
        ctime(report.timestamp_ms)
    );
    if let Some(description) = &job.description {
        *text += &format!("  Description  : [{description}]\n");
    }
    append_directions(text, job, report, form);
    append_distribution(text, job);
    append_syncs(text, job);
    append_fixed_lines(text, job, form);
    if let Some(blocks) = &job.block_errors {
        block_errors::append(text, blocks, &job.view.percentiles);
    }
    append_engine(text, job);
    if let Some(steady) = &job.steady_state {
        steady::append(text, steady, &scale_of(job));
    }
}

fn scale_of(job: &JobReport) -> Scale {
    Scale::new(job.view.kb_base, job.view.unit_base, job.view.significant_figures)
}

fn error_text(error: Option<&JobError>) -> String {
    match error {
        Some(error) => {
            let text: String = error.text.chars().take(ERROR_TEXT_LIMIT).collect();
            format!("err={:2} ({text})", error.code)
        }
        None => "err= 0".into(),
    }
}

fn append_directions(text: &mut String, job: &JobReport, report: &RunReport, form: Form) {
    let (group_rates, group_mixed_rate) = shares::group_rates(&report.groups, job.group_id);
    if job.view.unified != UnifiedReporting::Mixed {
        for direction in Direction::ALL {
            let resets = job.zone_resets.filter(|_| direction != Direction::Read);
            let (figures, rate) = (&job.directions[direction], group_rates[direction]);
            append_direction(text, direction.word(), job, figures, rate, resets, form);
        }
    }
    if job.view.unified != UnifiedReporting::Apart {
        append_direction(text, "mixed", job, &job.mixed(), group_mixed_rate, None, form);
    }
}

fn append_direction(
    text: &mut String,
    label: &str,
    job: &JobReport,
    direction: &DirectionReport,
    group_rate: u64,
    zone_resets: Option<u64>,
    form: Form,
) {
    // If no I/O of a direction completed, there are no figures, and its error is in the first line.
    if direction.is_idle() {
        return;
    }
    let scale = scale_of(job);
    let rate = direction.bytes_per_second();
    let (rate, other_rate) = (scale.rate(rate), scale.other_rate(rate));
    let unit = if form == Form::AllClients { "B/s" } else { "" };
    *text += &format!(
        "  {label}: IOPS={}, BW={} ({})({}/{}msec)",
        scale.count(direction.iops() as u64),
        rate.trim_end_matches(unit),
        other_rate.trim_end_matches(unit),
        scale.size(direction.io_bytes),
        direction.runtime_ms.max(1)
    );
    if let Some(resets) = zone_resets {
        *text += &format!("; {resets} zone resets");
    }
    if let Some(cache) = &direction.cache {
        *text += &format!("; Cachehit={:3.2}%", cache.hit_percent());
    }
    text.push('\n');
    append_line(text, "slat", &direction.slat);
    append_line(text, "clat", &direction.clat);
    append_line(text, "lat", &direction.lat);
    if let Some(arrivals) = &direction.arrivals {
        append_line(text, "resp", &arrivals.response);
    }
    append_priority_lines(text, job, direction);
    append_direction_percentiles(text, job, direction, form);
    if let Some(arrivals) = &direction.arrivals {
        arrivals::append(text, arrivals, &scale);
    }
    if let Some(layers) = &direction.layers {
        layers::append(text, layers);
    }
    append_samples(text, job, direction, group_rate);
    // Parsers of fio's report expect latencies immediately after the first line.
    if let Some(operations) = &job.view.operations {
        *text += &format!(
            "    {operations:<8} : {}/s, {} in all\n",
            scale.count(direction.iops() as u64),
            direction.total_ios
        );
    }
}

/// Returns the name of the latency that is reported per priority.
fn priority_word(job: &JobReport) -> &'static str {
    if job.view.lat_percentiles { "lat" } else { "clat" }
}

fn append_priority_lines(text: &mut String, job: &JobReport, direction: &DirectionReport) {
    if direction.priorities.len() < 2 {
        return;
    }
    for priority in &direction.priorities {
        let word = priority_word(job);
        let label = format!("    {word} prio {}/{}/{}", priority.class, priority.level, priority.hint);
        append_line(text, &label, &priority.latency);
    }
}

fn append_direction_percentiles(text: &mut String, job: &JobReport, direction: &DirectionReport, form: Form) {
    let view = &job.view;
    let tables = [
        (view.slat_percentiles, "slat", &direction.slat),
        (view.clat_percentiles, "clat", &direction.clat),
        (view.lat_percentiles, "lat", &direction.lat),
    ];
    let response = direction.arrivals.as_ref().map(|arrivals| (true, "resp", &arrivals.response));
    for (_, title, stats) in tables.into_iter().chain(response).filter(|(shown, ..)| *shown) {
        match form {
            Form::Job => append_percentiles(text, title, stats, &view.percentiles),
            Form::AllClients => append_whole_percentiles(text, title, stats, &view.percentiles),
        }
    }
    if direction.priorities.len() < 2 || !(view.clat_percentiles || view.lat_percentiles) {
        return;
    }
    let total: u64 = direction.priorities.iter().map(|priority| priority.latency.count).sum();
    for priority in &direction.priorities {
        let share = 100.0 * priority.latency.count as f64 / total.max(1) as f64;
        let title = format!(
            "{} prio {}/{}/{} ({share:.2}% of IOs)",
            priority_word(job),
            priority.class,
            priority.level,
            priority.hint
        );
        append_percentiles(text, &title, &priority.latency, &view.percentiles);
    }
}

fn append_samples(text: &mut String, job: &JobReport, direction: &DirectionReport, group_rate: u64) {
    let (bw, iops) = (&direction.bw, &direction.iops);
    if bw.samples > 0 {
        let share = shares::of_group(bw.mean(), group_rate);
        let (unit, divisor) = sample_unit(job.view.kb_base, bw);
        *text += &format!(
            "   bw ({unit:>5}/s): min={:5}, max={:5}, per={share:3.2}%, avg={:5.2}, stdev={:5.2}, samples={}\n",
            (bw.min as f64 / divisor) as u64,
            (bw.max as f64 / divisor) as u64,
            bw.mean() / divisor,
            bw.stddev() / divisor,
            bw.samples
        );
    }
    if iops.samples > 0 {
        *text += &format!(
            "   iops        : min={:5}, max={:5}, avg={:5.2}, stdev={:5.2}, samples={}\n",
            iops.min,
            iops.max,
            iops.mean(),
            iops.stddev(),
            iops.samples
        );
    }
}

/// Returns the unit of the `bw` line, and the divisor that converts a sample from KiB/s.
fn sample_unit(kb_base: u32, samples: &SampleStats) -> (&'static str, f64) {
    let (small, large, kilobyte, thousand) = match kb_base {
        1000 => ("kB", "MB", 1000.0 / 1024.0, 1000.0),
        _ => ("KiB", "MiB", 1.0, 1024.0),
    };
    if samples.mean() / kilobyte > thousand * thousand {
        (large, kilobyte * thousand)
    } else {
        (small, kilobyte)
    }
}

fn append_distribution(text: &mut String, job: &JobReport) {
    let shares = shares::distribution(job);
    for (unit, buckets) in LATENCY_PARTS {
        let entries: Vec<String> = LATENCY_LABELS
            .iter()
            .zip(&shares[buckets])
            .filter(|&(_, &share)| share > 0.0)
            .map(|(label, share)| format!("{label}={share:3.2}%"))
            .collect();
        for line in entries.chunks(DISTRIBUTION_ENTRIES) {
            *text += &format!("  lat ({unit})   : {}\n", line.join(", "));
        }
    }
}

fn append_syncs(text: &mut String, job: &JobReport) {
    if job.sync.count == 0 || job.view.hides_sync_latency {
        return;
    }
    *text += "  fsync/fdatasync/sync_file_range/syncfs:\n";
    append_line(text, "sync", &job.sync);
    append_percentiles(text, "sync", &job.sync, &job.view.percentiles);
}

fn append_fixed_lines(text: &mut String, job: &JobReport, form: Form) {
    let (user, system) = shares::processor(job);
    let cpu = &job.cpu;
    *text += &format!(
        "  cpu          : usr={user:3.2}%, sys={system:3.2}%, ctx={}, majf={}, minf={}\n",
        cpu.context_switches, cpu.major_faults, cpu.minor_faults
    );
    append_shares(text, "  IO depths    : ", &DEPTH_LABELS, &shares::depths(job));
    append_shares(text, "     submit    : ", &BATCH_LABELS, &shares::batches(&job.submit_map));
    append_shares(text, "     complete  : ", &BATCH_LABELS, &shares::batches(&job.complete_map));
    append_issued(text, job);
    if let Some(errors) = &job.tolerated_errors {
        let text_of_first = error_description(errors.first);
        *text += &format!(
            "     errors    : total={}, first_error={}/<{text_of_first}>\n",
            errors.total, errors.first
        );
    }
    if form == Form::AllClients {
        return;
    }
    let goal = &job.latency_goal;
    *text += &format!(
        "     latency   : target={}, window={}, percentile={:.2}%, depth={}\n",
        duration(goal.target_ns),
        duration(goal.window_ns),
        goal.percentile,
        goal.depth
    );
}

/// Appends the engine's own counters and timers.
fn append_engine(text: &mut String, job: &JobReport) {
    let counts: Vec<String> =
        job.engine.counts.iter().map(|(what, count)| format!("{what}={count}")).collect();
    for line in counts.chunks(DISTRIBUTION_ENTRIES) {
        *text += &format!("  engine       : {}\n", line.join(", "));
    }
    for (what, stats) in &job.engine.times {
        append_line(text, &format!("    {what}"), stats);
    }
}

fn append_issued(text: &mut String, job: &JobReport) {
    let figures: [fn(&DirectionReport) -> u64; 3] = [|d| d.issued, |d| d.short_ios, |d| d.drop_ios];
    let [issued, short, dropped] = match job.view.unified {
        // If all directions are reported as one, their I/Os are counted as reads.
        UnifiedReporting::Mixed => figures.map(|figure| [figure(&job.mixed()), 0, 0]),
        _ => figures.map(|figure| job.directions.each_ref().map(figure).into_array()),
    };
    let list = |figures: [u64; 3]| figures.map(|figure| figure.to_string()).join(",");
    *text += &format!(
        "     issued rwts: total={},{} short={},0 dropped={},0\n",
        list(issued),
        job.sync.count,
        list(short),
        list(dropped)
    );
}

fn append_shares(text: &mut String, label: &str, labels: &[&str], shares: &[f64]) {
    let entries: Vec<String> =
        labels.iter().zip(shares).map(|(label, share)| format!("{label}={share:3.1}%")).collect();
    *text += &format!("{label}{}\n", entries.join(", "));
}

/// Returns the system's text for an errno.
fn error_description(code: i32) -> String {
    fathom_errors::plain(&std::io::Error::from_raw_os_error(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_codes_have_two_columns() {
        let error = |code| JobError { code, text: "file:a.rs:1".into() };
        assert_eq!(error_text(None), "err= 0");
        assert_eq!(error_text(Some(&error(5))), "err= 5 (file:a.rs:1)");
        assert_eq!(error_text(Some(&error(84))), "err=84 (file:a.rs:1)");
    }

    #[test]
    fn long_errors_are_cut() {
        let text = error_text(Some(&JobError { code: 5, text: "é".repeat(200) }));
        assert_eq!(text.chars().count(), "err= 5 ()".len() + ERROR_TEXT_LIMIT);
    }

    #[test]
    fn error_texts_are_the_systems() {
        assert_eq!(error_description(0), "Success");
        assert_eq!(error_description(28), "No space left on device");
    }

    #[test]
    fn fast_samples_are_shown_in_mebibytes() {
        let mut samples = SampleStats::default();
        samples.record(1024 * 1024);
        assert_eq!(sample_unit(1024, &samples).0, "KiB");
        samples.record(1024 * 1024 + 2);
        assert_eq!(sample_unit(1024, &samples), ("MiB", 1024.0));
        assert_eq!(sample_unit(1000, &samples).0, "MB");
    }
}
