//! Parts shared by all commands that run jobs on this machine: the engines of the jobs, the lines printed
//! before the run, and messages for a run that could not start.

use fathom_report::header::{JobHeader, starting_line};
use fathom_run::EngineEntry;
use fathom_run::exhausted;
use fathom_run::plan::{Plan, WorkerPlan};
use fathom_run::supervisor::{Options, SliceRule, StartError};
use fathom_spec::options::description::KbBase;
use fathom_spec::{JobSpec, Message, RunSpec};
use fathom_stats::Direction;
use std::time::Duration;

/// fio version reported to programs that expect one.
pub const COMPATIBLE_VERSION: &str = "fio-3.42";

/// The engine of each job.
pub fn engines(plan: &Plan) -> Vec<EngineEntry> {
    let engine =
        |job: &JobSpec| Some(fathom_engines::for_job(fathom_engines::find(&job.engine.ioengine.name)?, job));
    plan.jobs.iter().filter_map(engine).collect()
}

/// Supervision settings for a run whose result is processed by code: with a timeline, and without display.
/// `tick` is the time between two progress reports.
pub fn options(tick: Option<Duration>) -> Options {
    Options {
        tick,
        live_view: false,
        status_interval: None,
        snapshot: None,
        idleness: None,
        slices: None,
        timeline: true,
        patience: None,
        report_alone: true,
        version: COMPATIBLE_VERSION,
    }
}

/// Message for a run that could not start.
pub fn why_not_started(error: &StartError) -> String {
    match error {
        StartError::Signal(signal) => format!("signal {signal} ended the run before it began"),
        StartError::Layers(why) => format!("--layers: {why}; nothing was run"),
        StartError::Log { path, errno } => {
            format!("cannot write the log {}: {errno}; nothing was run", path.display())
        }
        StartError::Signals(refused) => match refused.advice() {
            None => why_not_started(&StartError::System(refused.errno)),
            Some(_) => format!("the run cannot start: {refused}"),
        },
        StartError::System(errno) => format!(
            "the run cannot start: {errno}; {}",
            match errno.0 {
                libc::EMFILE | libc::ENFILE => exhausted::open_files(*errno).unwrap_or_default(),
                libc::ENOMEM => exhausted::memory(),
                _ => exhausted::processes(*errno),
            }
        ),
    }
}

/// Returns the rule for `--profile=act`, which judges a device by each hour of its test.
pub fn slices(spec: &RunSpec) -> Option<SliceRule> {
    let length = Duration::from_secs(3600);
    let longest = spec.jobs.iter().map(|job| job.time.runtime).max()?;
    let count = longest.as_nanos().div_ceil(length.as_nanos()).max(1) as u64;
    (spec.program.profile.as_deref() == Some("act")).then_some(SliceRule { length, count })
}

/// The lines before a run. The parser's messages about a job precede the line of the job.
pub fn opening(plan: &Plan, messages: &[Message]) -> Vec<Message> {
    let of_job = |job| messages.iter().filter(move |message| message.job == job).cloned();
    let mut lines = Vec::new();
    for (index, job) in plan.jobs.iter().enumerate() {
        lines.extend(of_job(Some(index)));
        if let Some(worker) =
            plan.workers.iter().find(|worker| worker.job == index && worker.background.is_none())
        {
            lines.push(Message::stdout(header(job, worker).lines().trim_end_matches('\n')));
        }
    }
    lines.push(Message::stdout(COMPATIBLE_VERSION));
    let threads = plan.workers.iter().filter(|worker| worker.is_thread).count();
    lines.push(Message::stdout(starting_line(plan.workers.len() - threads, threads)));
    for load in plan.workers.iter().filter_map(|worker| worker.background.as_ref()) {
        lines.push(Message::stdout(&load.header));
    }
    lines.extend(of_job(None));
    lines
}

/// True for fio's lines on an unknown option if one of fathom's messages contains the same information: the
/// option, its location, and a suggestion.
pub fn is_redundant(line: &str, all: &[Message]) -> bool {
    let is_own = |message: &Message| {
        message.text.starts_with("fathom: ") && message.text.contains("there is no such option")
    };
    let is_fio = line.contains(": unrecognized option '")
        || line.starts_with("Bad option <")
        || line.starts_with("Did you mean ");
    is_fio && all.iter().any(is_own)
}

fn header(job: &JobSpec, worker: &WorkerPlan) -> JobHeader {
    let sizes = |direction| {
        let lengths = &worker.target_plan.lengths[direction];
        (lengths.min(), lengths.max())
    };
    JobHeader {
        name: job.name.clone(),
        group_id: worker.group_id,
        workload: job.io_type.rw.rw.to_string(),
        read_block_size: sizes(Direction::Read),
        write_block_size: sizes(Direction::Write),
        trim_block_size: sizes(Direction::Trim),
        sequential_and_random: job.block_size.bs_is_seq_rand,
        engine: job.engine.ioengine.name.clone(),
        queue_depth: job.asked_iodepth,
        clones: job.job_description.numjobs,
        kb_base: if job.job_description.kb_base == KbBase::Decimal { 1000 } else { 1024 },
        significant_figures: job.measurement.significant_figures,
    }
}
