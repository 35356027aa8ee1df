//! From a job's options to its logs.

use crate::plan::Plan;
use crate::priority::Priority;
use fathom_logs::{Columns, LogKind, LogRules, WindowValue};
use fathom_spec::JobSpec;
use fathom_spec::options::measurement::LogWindowValue;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Bytes of records in a compressed chunk, unless `log_compression` says otherwise.
const USUAL_CHUNK: usize = 256 << 10;

/// The logs of one worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogPlan {
    /// What the logs hold, and how.
    pub rules: LogRules,
    /// One file per entry of `rules.kinds`.
    pub paths: Vec<PathBuf>,
    /// All clones write to the same files, after what is there already.
    pub shared_files: bool,
    /// Records that the worker may be ahead of the writer; `None` for a share of the usual memory.
    pub ring_records: Option<usize>,
    /// Processors for the thread that writes these logs.
    pub cpus: Option<Vec<u32>>,
    /// Clock (`CLOCK_*`) whose reading at the start is added to all times.
    pub epoch_clock: Option<i32>,
    /// The kernel's `ioprio` value of the job's I/O.
    pub priority: u16,
}

impl LogPlan {
    /// The same logs in other places.
    pub(crate) fn moved(mut self, place: impl Fn(&PathBuf) -> PathBuf) -> LogPlan {
        self.paths = self.paths.iter().map(place).collect();
        self
    }
}

/// The logs of one clone; `None` when it keeps none. `thread_number` counts from 1 over the run.
pub(crate) fn plan_logs(job: &JobSpec, thread_number: u32, directions: [bool; 3]) -> Option<LogPlan> {
    let options = &job.measurement;
    let wanted = [
        (LogKind::Bandwidth, &options.write_bw_log, true),
        (LogKind::Iops, &options.write_iops_log, true),
        (LogKind::SubmissionLatency, &options.write_lat_log, !options.disable_slat),
        (LogKind::CompletionLatency, &options.write_lat_log, !options.disable_clat),
        (LogKind::Latency, &options.write_lat_log, !options.disable_lat),
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
    let paths = files.iter().map(|(kind, prefix)| path(job, prefix, *kind, thread_number)).collect();
    Some(LogPlan {
        rules: rules(job, files.iter().map(|(kind, _)| *kind).collect(), directions),
        paths,
        shared_files,
        ring_records: job.is_set("log_entries").then_some(options.log_entries as usize),
        cpus: options.log_compression_cpus.as_ref().map(|cpus| cpus.0.clone()),
        epoch_clock: epoch_clock(job),
        priority: Priority::of_job(job).0,
    })
}

fn path(job: &JobSpec, prefix: &str, kind: LogKind, thread_number: u32) -> PathBuf {
    let number = if job.measurement.per_job_logs { format!(".{thread_number}") } else { String::new() };
    let compressed = job.measurement.log_store_compressed && kind != LogKind::Histogram;
    let suffix = if compressed { ".fz" } else { "" };
    PathBuf::from(format!("{prefix}_{}{number}.log{suffix}", kind.word()))
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

impl Plan {
    /// True when any worker, or the run as a whole, keeps a log.
    pub(crate) fn keeps_logs(&self) -> bool {
        self.bandwidth_log.is_some()
            || self.workers.iter().any(|worker| worker.logs.is_some() || worker.recording.is_some())
    }
}
