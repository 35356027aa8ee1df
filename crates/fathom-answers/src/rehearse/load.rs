//! Expresses a rehearsal at a scale as a job file.

use super::plan::{RehearsalPlan, Source};
use crate::job_text::{self, Section};
use crate::loads::series::seed_of_run;
use crate::running::as_option;
use fathom_command::Failure;
use fathom_spec::{JobSpec, RunSpec};
use fathom_stats::PerDirection;
use std::path::Path;

/// Memory for the blocks of a replay in bytes, which limits its depth.
const BLOCKS: u64 = 512 << 20;
/// Depth of a replay: its minimum and its maximum.
const LEAST_DEPTH: u64 = 16;
const MOST_DEPTH: u64 = 512;

/// Maximum number of I/Os that are due together and submitted together, so that the kernel can merge them as it did
/// when they were recorded: what it writes back from the page cache comes in neighbouring pieces.
const BATCH: u64 = 16;

/// Options of jobs that name their files.
const OF_FILES: [&str; 8] = [
    "filename",
    "directory",
    "filename_format",
    "nrfiles",
    "opendir",
    "unique_filename",
    "file_service_type",
    "openfiles",
];

/// How a trace is replayed.
pub(super) struct Replayed<'a> {
    /// The trace.
    pub(super) trace: &'a str,
    /// The target.
    pub(super) target: &'a str,
    /// Value of `replay_map`.
    pub(super) map: String,
    /// Keep the dependencies of programs instead of the times.
    pub(super) depends: bool,
    pub(super) engine: &'a str,
    /// The depth, if the user gave one.
    pub(super) depth: Option<u64>,
    /// The largest read or write in bytes.
    pub(super) largest: u64,
}

/// The job file that replays a trace at the scale 1.
pub(super) fn of_trace(replayed: &Replayed<'_>) -> String {
    let depth = (BLOCKS / replayed.largest.max(1)).clamp(LEAST_DEPTH, MOST_DEPTH);
    let pace = if replayed.depends { "replay_dependencies" } else { "open_loop" };
    let options = [
        ("ioengine", replayed.engine.to_owned()),
        ("direct", "1".to_owned()),
        ("iodepth", replayed.depth.unwrap_or(depth).to_string()),
        ("iodepth_batch", BATCH.to_string()),
        ("read_iolog", as_option(Path::new(replayed.trace))),
        ("replay_redirect", replayed.target.to_owned()),
        ("replay_map", replayed.map.clone()),
        (pace, "1".to_owned()),
    ];
    let mut options = options.map(|(name, value)| (name.to_owned(), value)).to_vec();
    if replayed.depends {
        // Without a schedule, the total latency is the response time.
        options.push(("lat_percentiles".to_owned(), "1".to_owned()));
    }
    job_text::text(&[Section { name: "rehearsal".to_owned(), options }])
}

/// The job file of jobs on a target at the scale 1.
pub(super) fn of_jobs(sections: &[Section], target: &str) -> String {
    let mut sections = sections.to_vec();
    for section in &mut sections {
        section.options.retain(|(name, _)| !OF_FILES.contains(&name.as_str()));
    }
    job_text::put(&mut sections, "filename", &as_option(Path::new(target)));
    job_text::text(&sections)
}

/// Refuses jobs that a scale would not change.
pub(super) fn check_rates(spec: &RunSpec) -> Result<(), Failure> {
    if let Some(job) = spec.jobs.iter().find(|job| job.replay.read_iolog.is_some()) {
        return Err(Failure::new(format!(
            "job {}: it replays a log; name that log itself: fathom rehearse LOG --on=TARGET",
            job.name
        )));
    }

    let unlimited = spec.jobs.iter().find(|job| {
        job.rate.rate_iops.values().all(|&rate| rate == 0) && job.rate.rate.values().all(|&rate| rate == 0)
    });
    match unlimited {
        None => Ok(()),
        Some(job) => Err(Failure::new(format!(
            "job {}: it has no rate that could be scaled; give it rate_iops= or rate=, or use fathom curve, which finds the rate",
            job.name
        ))),
    }
}

/// The job file at a scale, for run `number` (from 0) of this scale. `spec` is the plan's job file, parsed.
pub(super) fn at_scale(plan: &RehearsalPlan, scale: f64, number: usize, spec: &RunSpec) -> String {
    let mut sections = job_text::read(&plan.job);
    let own = sections.iter_mut().filter(|section| section.name != "global");
    for (section, job) in own.zip(&spec.jobs) {
        let options = &mut section.options;
        match plan.source {
            Source::Replay | Source::Dependencies => {
                set(options, "replay_time_scale", ((scale * 100.0).round() as u64).max(1).to_string());
            }
            Source::Jobs => {
                scale_rates(options, job, scale);
                set(options, "randseed", seed_of_run(plan.seed, number).to_string());
                set(options, "open_loop", "1".to_owned());
            }
        }
        if let Some(time_ms) = plan.time_ms {
            // Jobs keep their length, and the part of a log is over sooner.
            let time = match plan.source {
                Source::Jobs => time_ms,
                Source::Replay | Source::Dependencies => ((time_ms as f64 / scale).ceil() as u64).max(1),
            };
            set(options, "runtime", format!("{time}ms"));
        }
    }
    job_text::text(&sections)
}

fn set(options: &mut Vec<(String, String)>, name: &str, value: String) {
    options.retain(|(own, _)| own != name);
    options.push((name.to_owned(), value));
}

/// Multiplies the rates of a job; a rate that is set is at least 1.
fn scale_rates(options: &mut Vec<(String, String)>, job: &JobSpec, scale: f64) {
    let scaled = |rates: &PerDirection<u64>| {
        let one = |rate: u64| if rate == 0 { 0 } else { ((rate as f64 * scale).round() as u64).max(1) };
        rates.values().map(|&rate| one(rate).to_string()).collect::<Vec<_>>().join(",")
    };
    for (name, rates) in [("rate", &job.rate.rate), ("rate_iops", &job.rate.rate_iops)] {
        if rates.values().any(|&rate| rate > 0) {
            set(options, name, scaled(rates));
        }
    }
}
