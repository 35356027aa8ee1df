//! The plan as plain data: everything that the run needs to know about its jobs. It is serialisable and does
//! not depend on the run's code. It is valid on any machine that has the files and processors that it names.

pub mod amounts;
pub mod arrivals;
pub mod budget;
pub mod distribution;
pub mod errors;
pub mod exit;
pub mod files;
pub mod flow;
pub mod latency;
pub mod lengths;
pub mod logs;
pub mod memory;
pub mod pace;
pub mod payload;
pub mod placement;
pub mod priority;
pub mod queue;
pub mod replay;
pub mod report;
pub mod syncs;
pub mod targets;
pub mod time;
pub mod verify;
pub mod zones;

use crate::random::Seeds;
use amounts::Amounts;
use arrivals::ArrivalsPlan;
use budget::BudgetPlan;
use errors::ErrorPlan;
use exit::ExitPlan;
use fathom_spec::debug::{DebugClass, DebugOptions};
use fathom_spec::engines::metadata::Metadata;
use fathom_spec::engines::{BackgroundLoad, StorageKind};
use fathom_spec::{JobSpec, Trigger};
use fathom_stats::Direction;
use fathom_verify::method::Method;
use files::FilesPlan;
use flow::FlowPlan;
use latency::LatencyPlan;
use logs::LogPlan;
use memory::MemoryPlan;
use pace::PacePlan;
use payload::PayloadRule;
use placement::PlacementPlan;
use priority::CommandPriorities;
use queue::QueuePlan;
use replay::ReplayPlan;
use report::{ReportPlan, SteadyPlan};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use syncs::SyncPlan;
use targets::{DirectionPlan, TargetPlan};
use time::TimePlan;
use verify::VerifyPlan;
use zones::ZonePlan;

/// A whole run: its jobs and one worker per clone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The trigger that ends the run early, and the action that follows.
    pub trigger: Option<Trigger>,
    /// Global options given on the command line.
    pub global_options: Vec<(String, String)>,
    /// The jobs in the order of their definition; engines read their private options from them.
    pub jobs: Vec<JobSpec>,
    /// One worker per clone, in the order of the jobs.
    pub workers: Vec<WorkerPlan>,
    /// True with `--readonly`: nothing may be written or laid out.
    pub readonly: bool,
    /// Prefix of the names of the log files with the whole run's bandwidth.
    pub bandwidth_log: Option<PathBuf>,
    /// True with `--layers`: the layers that an I/O passes are recorded.
    pub layers: bool,
    /// Debug classes enabled by `--debug`.
    pub debug: DebugOptions,
}

/// One clone of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerPlan {
    /// Index of the job in [`Plan::jobs`].
    pub job: usize,
    /// Name of the job.
    pub name: String,
    /// Number of the worker in the whole run, from 1.
    pub thread_number: u32,
    /// Number of the worker among the clones of its job, from 0.
    pub subjob: u32,
    /// Reporting group, from 0.
    pub group_id: u32,
    /// Stage, from 0: a stage begins when all workers of earlier stages have ended.
    pub stage: u32,
    /// Index of the job whose clones must have ended first.
    pub waits_for: Option<usize>,
    /// Name of the job's engine.
    pub engine: String,
    /// Kind of storage that holds the job's data.
    pub storage: StorageKind,
    /// The metadata operation of a job that moves no data.
    pub metadata: Option<Metadata>,
    /// True if the engine changes files regardless of the direction of I/O.
    pub always_changes: bool,
    /// Set for a background load for other jobs, which counts units of work instead of bytes.
    pub background: Option<BackgroundLoad>,
    /// True if the worker is a thread instead of a process.
    pub is_thread: bool,
    /// Processors, memory and user of the worker.
    pub placement: PlacementPlan,
    /// Its memory.
    pub memory: MemoryPlan,
    /// A user command that runs before the job's I/O.
    pub command_before: Option<String>,
    /// A user command that runs after the job's I/O.
    pub command_after: Option<String>,
    /// Its files.
    pub files: FilesPlan,
    /// The amounts of I/O of the job, and its offset.
    pub amounts: Amounts,
    /// Passes over the files and limits on them.
    pub budget: BudgetPlan,
    /// Start and end times.
    pub time: TimePlan,
    /// Rate limits.
    pub pace: Option<PacePlan>,
    /// The schedule of the job's I/Os in an open loop.
    pub arrivals: Option<ArrivalsPlan>,
    /// The flow that the job shares with other jobs.
    pub flow: Option<FlowPlan>,
    /// Measured latencies.
    pub latency: LatencyPlan,
    /// Maximum number of I/Os in flight.
    pub depth: u32,
    /// Queuing rules.
    pub queue: QueuePlan,
    /// Number of ranges per trim.
    pub ranges: u32,
    /// Rules for syncing the job's data to the device.
    pub syncs: SyncPlan,
    /// How the end of the job affects other jobs.
    pub exit: ExitPlan,
    /// The steady-state criterion that ends the job.
    pub steady: Option<SteadyPlan>,
    /// Report settings.
    pub report: ReportPlan,
    /// Tolerated errors.
    pub errors: ErrorPlan,
    /// Which blocks the worker accesses, in which order.
    pub target_plan: TargetPlan,
    /// Content of writes.
    pub payload: PayloadRule,
    /// Rules of zones, with `zonemode=zbd`.
    pub zones: Option<ZonePlan>,
    /// Block size of `block_error_percentiles` in bytes; the clone tracks the trims and writes of each block.
    pub block_bytes: Option<u64>,
    /// Priorities of single I/Os.
    pub command_priorities: Option<CommandPriorities>,
    /// Logs that the worker keeps.
    pub logs: Option<LogPlan>,
    /// How the job's data is verified.
    pub verify: Option<VerifyPlan>,
    /// The log that the clone replays.
    pub replay: Option<ReplayPlan>,
    /// The file in which the clone's I/Os are recorded.
    pub recording: Option<PathBuf>,
    /// The file for the verification state if a trigger ends the clone.
    pub triggered_state: Option<PathBuf>,
    /// Seeds of the clone's random numbers.
    pub seeds: Seeds,
    /// True if the seeds are the same in every run instead of drawn from the system.
    pub has_own_seeds: bool,
}

impl WorkerPlan {
    /// True if the job has storage.
    pub fn has_storage(&self) -> bool {
        self.storage != StorageKind::None
    }

    /// True if targets may have to be created before the run; a server's volume exists already.
    pub fn may_make_targets(&self) -> bool {
        matches!(self.storage, StorageKind::Files | StorageKind::Server)
    }

    /// True if the job changes its targets: it writes, trims, creates or removes names, or its engine makes
    /// other changes.
    pub fn changes_data(&self) -> bool {
        if let Some(metadata) = self.metadata {
            return metadata.changes_names();
        }
        if self.always_changes {
            return true;
        }
        if let Some(replay) = &self.replay {
            return replay.uses(Direction::Write) || replay.uses(Direction::Trim);
        }
        self.target_plan.directions != DirectionPlan::Read && !self.only_checks()
    }

    /// True if the job only checks data that it would otherwise write (`verify_only`).
    pub fn only_checks(&self) -> bool {
        self.verify.as_ref().is_some_and(|verify| verify.only_checks)
    }

    /// True if the job verifies data of an earlier run, which must stay unchanged.
    pub fn keeps_data(&self) -> bool {
        let verifies = |verify: &VerifyPlan| !verify.writes && verify.rule.method != Method::Null;
        self.only_checks() || !self.changes_data() && self.verify.as_ref().is_some_and(verifies)
    }

    /// True if the job reads.
    pub fn reads_data(&self) -> bool {
        if let Some(replay) = &self.replay {
            return replay.uses(Direction::Read);
        }
        self.target_plan.directions.reads() || self.only_checks()
    }

    /// True if the job writes.
    pub fn writes_data(&self) -> bool {
        if let Some(replay) = &self.replay {
            return replay.uses(Direction::Write);
        }
        self.target_plan.directions.writes() && !self.only_checks()
    }
}

impl Plan {
    /// The lines about the plan that `--debug` prints, for the process with this ID.
    pub fn debug_lines(&self, pid: u32) -> Vec<String> {
        let shown =
            self.workers.iter().filter(|worker| self.debug.shows(DebugClass::Random, worker.thread_number));
        let lines = shown.flat_map(|worker| {
            let from_system = (!worker.has_own_seeds).then(|| "using system RNG for random seeds".to_owned());
            let values = worker.seeds.values();
            let count = format!("FIO_RAND_NR_OFFS={}", values.len());
            let seeds = values.iter().enumerate().map(|(index, seed)| format!("rand_seeds[{index}]={seed}"));
            from_system.into_iter().chain([count]).chain(seeds).collect::<Vec<String>>()
        });
        lines.map(|text| DebugClass::Random.line(pid, &text)).collect()
    }

    /// The worker's job.
    pub fn job_of(&self, worker: &WorkerPlan) -> &JobSpec {
        &self.jobs[worker.job]
    }

    /// True if any worker, or the run as a whole, keeps a log.
    pub(crate) fn keeps_logs(&self) -> bool {
        self.bandwidth_log.is_some()
            || self.workers.iter().any(|worker| worker.logs.is_some() || worker.recording.is_some())
    }
}
