//! Builds the logs of a job from its options.

use super::priority::job_priority;
use super::{Subject, beside};
use crate::plan::model::Plan;
use crate::plan::model::logs::LogPlan;
use fathom_logs::{Columns, LogKind, LogRules, WindowValue};
use fathom_spec::options::measurement::LogWindowValue;
use fathom_spec::{JobSpec, RunSpec};
use std::path::PathBuf;

/// Default size of a chunk of compressed records, in bytes.
const USUAL_CHUNK: usize = 256 << 10;

/// The logs of one clone; `None` without logs.
pub(super) fn log_plan(subject: &Subject<'_>) -> Option<LogPlan> {
    let job = subject.job;
    let options = &job.measurement;
    let wanted = [
        (LogKind::Bandwidth, &options.write_bw_log, true),
        (LogKind::Iops, &options.write_iops_log, true),
        (LogKind::SubmissionLatency, &options.write_lat_log, !options.disable_slat),
        (LogKind::CompletionLatency, &options.write_lat_log, !options.disable_clat),
        (LogKind::Latency, &options.write_lat_log, !options.disable_lat),
        (LogKind::Response, &options.write_lat_log, job.rate.open_loop),
        (LogKind::Histogram, &options.write_hist_log, true),
    ];
    let files: Vec<(LogKind, &str)> = wanted
        .into_iter()
        .filter(|(_, _, measured)| *measured)
        .filter_map(|(kind, prefix, _)| Some((kind, prefix.as_deref()?)))
        .map(|(kind, prefix)| (kind, if prefix.is_empty() { job.name.as_str() } else { prefix }))
        .collect();
    if files.is_empty() {
        return None;
    }
    let shared_files = !options.per_job_logs;
    let path = |(kind, prefix): &(LogKind, &str)| {
        subject.beside(path(job, prefix, *kind, subject.place.thread_number))
    };
    Some(LogPlan {
        rules: rules(job, files.iter().map(|(kind, _)| *kind).collect(), subject.directions()),
        paths: files.iter().map(path).collect(),
        shared_files,
        ring_records: job.is_set("log_entries").then_some(options.log_entries as usize),
        cpus: options.log_compression_cpus.as_ref().map(|cpus| cpus.0.clone()),
        epoch_clock: epoch_clock(job),
        priority: job_priority(job).0,
    })
}

impl Plan {
    /// Prefixes of the names of all logs of a run, before `_` and the kind of log.
    pub fn log_prefixes(spec: &RunSpec) -> Vec<PathBuf> {
        let mut prefixes: Vec<PathBuf> =
            spec.program.bandwidth_log.iter().map(|prefix| beside(spec, prefix)).collect();
        for job in &spec.jobs {
            let options = &job.measurement;
            let wanted = [
                &options.write_bw_log,
                &options.write_iops_log,
                &options.write_lat_log,
                &options.write_hist_log,
            ];
            let named = wanted.into_iter().flatten().map(|prefix| match prefix.is_empty() {
                true => beside(spec, &job.name),
                false => beside(spec, prefix),
            });
            prefixes.extend(named);
        }
        prefixes
    }
}

fn path(job: &JobSpec, prefix: &str, kind: LogKind, thread_number: u32) -> String {
    let number = if job.measurement.per_job_logs { format!(".{thread_number}") } else { String::new() };
    let compressed = job.measurement.log_store_compressed && kind != LogKind::Histogram;
    let suffix = if compressed { ".fz" } else { "" };
    format!("{prefix}_{}{number}.log{suffix}", kind.word())
}

fn rules(job: &JobSpec, kinds: Vec<LogKind>, directions: [bool; 3]) -> LogRules {
    const NS_PER_MS: u64 = 1_000_000;
    let options = &job.measurement;
    LogRules {
        kinds,
        window_ns: u64::from(options.log_avg_msec) * NS_PER_MS,
        window_value: match options.log_window_value {
            LogWindowValue::Average => WindowValue::Mean,
            LogWindowValue::Maximum => WindowValue::Maximum,
            LogWindowValue::Both => WindowValue::Both,
        },
        histogram_window_ns: u64::from(options.log_hist_msec) * NS_PER_MS,
        coarseness: options.log_hist_coarseness,
        columns: Columns {
            maximum: options.log_window_value == LogWindowValue::Both,
            offset: options.log_offset,
            whole_priority: options.log_prio,
            issue_time: options.log_issue_time,
        },
        directions,
        runtime_ns: u64::try_from(job.time.runtime.as_nanos()).unwrap_or(u64::MAX),
        compressed_chunk: options
            .log_store_compressed
            .then(|| options.log_compression.map_or(USUAL_CHUNK, |bytes| bytes as usize)),
    }
}

fn epoch_clock(job: &JobSpec) -> Option<i32> {
    let options = &job.measurement;
    let clock = options.log_alternate_epoch_clock_id.map_or(libc::CLOCK_REALTIME, |clock| clock as i32);
    options.log_alternate_epoch.then_some(clock)
}
