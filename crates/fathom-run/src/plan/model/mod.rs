//! The plan as data: what the run needs to know of its jobs, in terms of the run.
//!
//! It depends on nothing of the run and can be written down. What is said of files and processors holds on any machine that has the
//! same.

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
    /// What ends the run early and what comes then.
    pub trigger: Option<Trigger>,
    /// Options written before any job.
    pub global_options: Vec<(String, String)>,
    /// The jobs, in definition order, for the private options of their engines.
    pub jobs: Vec<JobSpec>,
    /// One per clone, in definition order.
    pub workers: Vec<WorkerPlan>,
    /// Nothing may be written or laid out.
    pub readonly: bool,
    /// Prefix of the files for the bandwidth of the whole run.
    pub bandwidth_log: Option<PathBuf>,
    /// Events that a line is written about.
    pub debug: DebugOptions,
}

/// One clone of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerPlan {
    /// Index of the job in [`Plan::jobs`].
    pub job: usize,
    /// Name of the job.
    pub name: String,
    /// Number over the whole run, from 1.
    pub thread_number: u32,
    /// Number among the clones of its job, from 0.
    pub subjob: u32,
    /// Reporting group, from 0.
    pub group_id: u32,
    /// Stage, from 0: a stage begins when all workers of earlier stages have ended.
    pub stage: u32,
    /// Index of the job whose clones must have ended first.
    pub waits_for: Option<usize>,
    /// Name of its engine.
    pub engine: String,
    /// Where its data lies.
    pub storage: StorageKind,
    /// What it does to names, if it works on them and on no data.
    pub metadata: Option<Metadata>,
    /// Its engine changes files whatever the direction of the I/O.
    pub always_changes: bool,
    /// It is background load for others: it counts stretches of work, not bytes.
    pub background: Option<BackgroundLoad>,
    /// It is a thread beside others, not a process of its own.
    pub is_thread: bool,
    /// Where it runs, and as whom.
    pub placement: PlacementPlan,
    /// Its memory.
    pub memory: MemoryPlan,
    /// A command of the user that runs before its I/O.
    pub command_before: Option<String>,
    /// One that runs after it.
    pub command_after: Option<String>,
    /// Its files.
    pub files: FilesPlan,
    /// How much it is asked for, and where it begins.
    pub amounts: Amounts,
    /// How much of it comes when.
    pub budget: BudgetPlan,
    /// When it begins and ends.
    pub time: TimePlan,
    /// What holds its I/O back.
    pub pace: Option<PacePlan>,
    /// When its I/Os are due, whatever becomes of them.
    pub arrivals: Option<ArrivalsPlan>,
    /// Others that it keeps in proportion with.
    pub flow: Option<FlowPlan>,
    /// What is measured of each I/O.
    pub latency: LatencyPlan,
    /// I/Os in flight at most.
    pub depth: u32,
    /// How they are queued.
    pub queue: QueuePlan,
    /// Ranges of a trim.
    pub ranges: u32,
    /// When what was written must be on the device.
    pub syncs: SyncPlan,
    /// How its end and those of others hang together.
    pub exit: ExitPlan,
    /// It ends when its figures have settled.
    pub steady: Option<SteadyPlan>,
    /// What the report says of it.
    pub report: ReportPlan,
    /// Which errors do not end it.
    pub errors: ErrorPlan,
    /// Sequence of targets.
    pub target_plan: TargetPlan,
    /// Content of writes.
    pub payload: PayloadRule,
    /// Rules of zones, with `zonemode=zbd`.
    pub zones: Option<ZonePlan>,
    /// Bytes of a block of `block_error_percentiles`; the clone follows what trims and writes do to each.
    pub block_bytes: Option<u64>,
    /// Priorities of single I/Os.
    pub command_priorities: Option<CommandPriorities>,
    /// Logs to keep.
    pub logs: Option<LogPlan>,
    /// Verification of the data.
    pub verify: Option<VerifyPlan>,
    /// The log whose I/O it does.
    pub replay: Option<ReplayPlan>,
    /// Where it records what it issues.
    pub recording: Option<PathBuf>,
    /// Where it leaves behind what it wrote when a trigger ends it.
    pub triggered_state: Option<PathBuf>,
    /// What its random numbers begin with.
    pub seeds: Seeds,
    /// They are the same in every run, rather than drawn from the system.
    pub has_own_seeds: bool,
}

impl WorkerPlan {
    /// True when its data lies somewhere.
    pub fn has_storage(&self) -> bool {
        self.storage != StorageKind::None
    }

    /// True when targets may have to be made before the run; a volume of a server is there.
    pub fn may_make_targets(&self) -> bool {
        matches!(self.storage, StorageKind::Files | StorageKind::Server)
    }

    /// True when the job writes, trims, makes or removes names, or has its engine change something else: its targets are not the same afterwards.
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
        self.target_plan.directions != DirectionPlan::Read
    }

    /// True when the job reads.
    pub fn reads_data(&self) -> bool {
        if let Some(replay) = &self.replay {
            return replay.uses(Direction::Read);
        }
        self.target_plan.directions.reads()
    }

    /// True when the job writes.
    pub fn writes_data(&self) -> bool {
        if let Some(replay) = &self.replay {
            return replay.uses(Direction::Write);
        }
        self.target_plan.directions.writes()
    }
}

impl Plan {
    /// What `--debug` shows of the plan, in lines of the process with this number.
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

    /// The job of a worker.
    pub fn job_of(&self, worker: &WorkerPlan) -> &JobSpec {
        &self.jobs[worker.job]
    }

    /// True when any worker, or the run as a whole, keeps a log.
    pub(crate) fn keeps_logs(&self) -> bool {
        self.bandwidth_log.is_some()
            || self.workers.iter().any(|worker| worker.logs.is_some() || worker.recording.is_some())
    }
}
