//! Everything that a worker has counted, for a report: plain data that merges exactly by addition.

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

/// `job_start` of the report for a job that starts at this monotonic time: reported by the clock of this number
/// (`job_start_clock_id`).
pub(crate) fn job_start_ms(now_ns: u64, clock_id: Option<u32>) -> u64 {
    let clock_id = clock_id.map_or(libc::CLOCK_REALTIME, |id| id as i32);
    clock::clock_at(clock_id, now_ns).unwrap_or(0) / 1_000_000
}

/// What a worker has counted up to one moment. All figures are of one epoch (see [`WorkerState::epoch`]), unless it
/// begins them anew faster than they can be read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Monotonic ns when they were read.
    pub taken_ns: u64,
    /// Where the worker was.
    pub state: WorkerState,
    /// Its process; 0 before it has one.
    pub process: u32,
    /// `job_start` of the report, ms.
    pub job_start_ms: u64,
    /// The error that ended its job.
    pub error: Option<JobError>,
    /// errno of the first error that the job went on after; 0 for none.
    pub first_tolerated_error: i32,
    /// Processor use, as the worker itself says at its end.
    pub cpu: CpuReport,
    /// Depth that `latency_target` has come to; 0 without a search.
    pub found_depth: u32,
    /// Zones reset.
    pub zone_resets: u64,
    /// Depth distribution of issued I/Os.
    pub depth_map: [u64; DEPTH_BUCKETS],
    /// Batch sizes handed over per submission.
    pub submit_map: [u64; DEPTH_BUCKETS],
    /// Batch sizes per reap.
    pub complete_map: [u64; DEPTH_BUCKETS],
    /// Distribution of completion latency over the bounds of the report.
    pub distribution: [u64; DISTRIBUTION_BUCKETS],
    /// What is counted of each direction; run time and samples are the supervisor's to add.
    pub directions: PerDirection<DirectionReport>,
    /// Latency of syncs.
    pub sync: LatencyStats,
    /// Latencies by the priority of single I/Os: per priority those of reads, then of writes. Empty when its I/Os have none
    /// of their own.
    pub priorities: Vec<LatencyStats>,
    /// What became of its blocks, with `block_error_percentiles`.
    pub block_errors: Option<BlockErrorReport>,
    /// What was checked.
    pub checks: CheckFigures,
    /// How long after their time the entries of a replayed log were issued.
    pub lateness: LatencyStats,
    /// What was around it.
    pub surroundings: SurroundingFigures,
}

/// What a worker that verifies has checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckFigures {
    /// Bytes of the reads that were checked.
    pub bytes: u64,
    /// Nanoseconds that data was being read back.
    pub read_back_ns: u64,
    /// Blocks that were wrong, by class.
    pub classes: [u64; CLASSES.len()],
    /// Checked bytes that were in memory when reading began, at most.
    pub from_memory_bytes: u64,
    /// Checked bytes of which the kernel does not say where they came from.
    pub unknown_source_bytes: u64,
    /// Nothing says which run wrote what is checked.
    pub takes_any_run: bool,
    /// Blocks that were to be checked and were not; `None` until the worker has ended.
    pub unchecked_blocks: Option<u64>,
}

/// What the engine and the machine did for a worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SurroundingFigures {
    /// Which kernel features its engine uses.
    pub engine_features: Vec<String>,
    /// How long it was ready to run and had no processor, ms.
    pub processor_wait_ms: Option<u64>,
    /// Where the time of the machine's processors went meanwhile.
    pub processors: Option<ProcessorShares>,
    /// Limits that control groups set to it.
    pub limits: GroupLimits,
    /// What its files had in the page cache at its end that the storage did not have yet; `None` where that is not known.
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
