//! Counters of a worker, for a report: plain data that merges exactly by addition.

use super::state::WorkerState;
use fathom_stats::PerDirection;
use fathom_stats::block_errors::BlockErrorReport;
use fathom_stats::latency::LatencyStats;
use fathom_stats::limits::GroupLimits;
use fathom_stats::report::{
    CpuReport, DEPTH_BUCKETS, DISTRIBUTION_BUCKETS, DirectionReport, JobError, ProcessorShares,
};
use fathom_sys::clock;
use fathom_verify::verdict::CLASSES;
use serde::{Deserialize, Serialize};

/// `job_start` in the report for a job that starts at this monotonic time, converted to the clock with this ID
/// (`job_start_clock_id`).
pub(crate) fn job_start_ms(now_ns: u64, clock_id: Option<u32>) -> u64 {
    let clock_id = clock_id.map_or(libc::CLOCK_REALTIME, |id| id as i32);
    clock::clock_at(clock_id, now_ns).unwrap_or(0) / 1_000_000
}

/// Counters of a worker at one moment. All figures belong to one epoch (see [`WorkerState::epoch`]), unless the
/// worker resets the counters faster than they can be read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Monotonic time of the reading, ns.
    pub taken_ns: u64,
    /// State of the worker.
    pub state: WorkerState,
    /// Process ID of the worker; 0 before it has one.
    pub process: u32,
    /// `job_start` of the report, ms.
    pub job_start_ms: u64,
    /// The error that ended its job.
    pub error: Option<JobError>,
    /// errno of the first error that did not end the job; 0 for none.
    pub first_tolerated_error: i32,
    /// Processor use; the worker reports it when it ends.
    pub cpu: CpuReport,
    /// Queue depth found by the `latency_target` search; 0 without a search.
    pub found_depth: u32,
    /// Number of zone resets.
    pub zone_resets: u64,
    /// Depth distribution of issued I/Os.
    pub depth_map: [u64; DEPTH_BUCKETS],
    /// Distribution of batch sizes per submission.
    pub submit_map: [u64; DEPTH_BUCKETS],
    /// Distribution of batch sizes per reap.
    pub complete_map: [u64; DEPTH_BUCKETS],
    /// Distribution of completion latencies over the buckets of the report.
    pub distribution: [u64; DISTRIBUTION_BUCKETS],
    /// Counters of each direction; the supervisor adds run time and samples.
    pub directions: PerDirection<DirectionReport>,
    /// Latency of syncs.
    pub sync: LatencyStats,
    /// Latencies by I/O priority: for each priority reads, then writes. Empty if the job sets no I/O priorities.
    pub priorities: Vec<LatencyStats>,
    /// Block states, with `block_error_percentiles`.
    pub block_errors: Option<BlockErrorReport>,
    /// Verification counters.
    pub checks: CheckFigures,
    /// How late entries of a replayed log were issued.
    pub lateness: LatencyStats,
    /// The state of the machine during the job.
    pub surroundings: SurroundingFigures,
}

/// Verification counters of a worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckFigures {
    /// Bytes of checked reads.
    pub bytes: u64,
    /// Duration of the read-back phase, ns.
    pub read_back_ns: u64,
    /// Number of wrong blocks in each class.
    pub classes: [u64; CLASSES.len()],
    /// Upper bound of the checked bytes that were served from the page cache rather than the device.
    pub from_memory_bytes: u64,
    /// Checked bytes whose source the kernel does not report.
    pub unknown_source_bytes: u64,
    /// True if blocks of any run are accepted, because the run that wrote the checked data is unknown.
    pub takes_any_run: bool,
    /// Blocks that should have been checked but were not; `None` while the worker is running.
    pub unchecked_blocks: Option<u64>,
}

/// Facts about the engine and the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SurroundingFigures {
    /// Kernel features that the worker's engine uses.
    pub engine_features: Vec<String>,
    /// Time spent runnable but waiting for a processor, ms.
    pub processor_wait_ms: Option<u64>,
    /// Utilisation of the machine's processors during the job.
    pub processors: Option<ProcessorShares>,
    /// Limits of the worker's control groups.
    pub limits: GroupLimits,
    /// Dirty bytes of the job's files in the page cache when the job ends; `None` if unknown.
    pub unwritten_bytes: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crew::Stage;
    use fathom_stats::Direction;

    #[test]
    fn figures_are_the_same_after_a_journey() {
        let mut sent = Figures {
            taken_ns: 1,
            process: 7,
            priorities: vec![LatencyStats::default()],
            ..Figures::default()
        };
        sent.state.stage = Stage::FinalSync;
        sent.directions[Direction::Write].clat.record(1 << 40);
        sent.distribution[31] = u64::MAX;
        sent.error = Some(JobError { code: 5, text: "file:fathom".to_owned() });
        let text = serde_json::to_string(&sent).expect("plain data");
        let arrived: Figures = serde_json::from_str(&text).expect("what was written");
        assert_eq!(arrived, sent);
    }
}
