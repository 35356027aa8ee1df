//! The supervisor: starts workers, watches them, takes signals, enforces deadlines, and gathers the result.
//!
//! It never touches a target: files are looked at, laid out and opened by other processes. So a hung device cannot hang
//! it, and whatever happens to a worker, everything counted so far is in the report.

mod details;
mod disks;
mod dump_request;
mod events;
mod gather;
mod host;
mod interval;
mod live;
mod logs;
mod patience;
mod progress;
mod replays;
mod schedule;
mod series;
mod slices;
mod spawn;
mod stack;
mod steady;
mod terminal;
mod timeline;
mod trigger;
mod watch;

use crate::cgroup::Groups;
use crate::idleness::IdleProcess;
use crate::message::{self, Message, MessageReceiver, MessageSender};
use crate::plan::Plan;
use crate::region::{Order, Region, Stage};
use crate::worker::WorkerContext;
use details::DetailWatch;
use disks::DiskWatch;
use dump_request::DumpWatch;
use fathom_stats::live::{LiveDetails, LiveTick};
use fathom_stats::report::{RunReport, StageReport};
use fathom_sys::Errno;
use fathom_sys::clock::{Clock, monotonic_ns};
use fathom_sys::limits;
use fathom_sys::process::Ended;
use fathom_sys::signal::SignalQueue;
use fathom_sys::usage::Usage;
use interval::IntervalWatch;
use logs::LogWriter;
use progress::Progress;
use series::Series;
pub use slices::SliceRule;
use slices::SliceWatch;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::time::Duration;
use steady::SteadyGroup;
use timeline::TimelineWatch;
use trigger::TriggerWatch;

/// Runs a worker with the engine of its job.
pub type RunWorker = fn(&WorkerContext<'_>);

/// What a caller wants to hear of a run while it goes on.
pub trait Observer {
    /// A line of a worker, or of the supervisor.
    fn message(&mut self, message: &Message);
    /// A moment of the run; called every [`Options::tick`], with details where [`Options::live_view`] asks for them.
    fn tick(&mut self, tick: &LiveTick, details: Option<&LiveDetails>);
    /// Called often while the run goes on: what is still to be written can be tried again.
    fn advance(&mut self) {}
    /// A report of the run so far: every [`Options::status_interval`], and on SIGUSR1.
    fn interim_report(&mut self, report: &RunReport);
    /// Something happened to the terminal; only with [`Options::live_view`].
    fn terminal(&mut self, _event: TerminalEvent) {}
    /// The descriptor on which a user asks for things, as long as there is one.
    fn input(&self) -> Option<RawFd> {
        None
    }
    /// Takes what there is to read from [`input`](Observer::input); what the user asks of the run.
    fn take_input(&mut self) -> Option<Request> {
        None
    }
}

/// What a user asks of a run while it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Stop it, as Ctrl-C does.
    Stop,
}

/// What happens to a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalEvent {
    /// It has another size.
    Resized,
    /// It belongs to others until [`Continued`](TerminalEvent::Continued): the program is about to be stopped.
    Suspending,
    /// The program goes on; others may have changed the terminal.
    Continued,
    /// A signal ends the program at once, without a report.
    Ending,
}

/// How to supervise.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Time between two ticks; `None` for no ticks.
    pub tick: Option<Duration>,
    /// The observer shows the run on a whole terminal: it gets details with every tick, even while files are laid out, and
    /// hears what happens to the terminal.
    pub live_view: bool,
    /// Time between two reports of the run so far; with it, every report tells what was done in its interval.
    pub status_interval: Option<Duration>,
    /// Measure how idle the processors are.
    pub idleness: Option<Idleness>,
    /// Tell the shares of slow reads by slices of time.
    pub slices: Option<SliceRule>,
    /// Keep the course of the run for the report.
    pub timeline: bool,
    /// How long I/O may make no progress after the end of its job before it is given up; `None` for 30 s, or 10 s once a signal
    /// has asked for the end.
    pub patience: Option<Duration>,
    /// Version for the report.
    pub version: &'static str,
}

/// How much of the processors' idleness the report shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idleness {
    /// The mean of all processors.
    System,
    /// Each processor too.
    PerCpu,
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// Everything that was counted.
    pub report: RunReport,
    /// Jobs that failed.
    pub failed_jobs: u32,
    /// The signal that ended the run early.
    pub signal: Option<i32>,
    /// Some log could not be written to its end.
    pub lost_logs: bool,
}

/// Why a run could not start.
#[derive(Debug)]
pub enum StartError {
    /// The system refused memory, a process, or a descriptor.
    System(Errno),
    /// This signal asked for the end before anything had begun.
    Signal(i32),
    /// A log file could not be opened.
    Log {
        /// The file.
        path: PathBuf,
        /// Why.
        errno: Errno,
    },
}

impl From<Errno> for StartError {
    fn from(errno: Errno) -> Self {
        StartError::System(errno)
    }
}

/// Where the supervisor stands with a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Not started.
    Waiting,
    /// Started, in the batch with this number.
    Started { batch: u32 },
    /// Over; nothing more will come.
    Over,
}

/// What the supervisor keeps per worker.
struct Tracked {
    standing: Standing,
    /// Process that runs it (shared by the threads of a batch).
    process: u32,
    /// How its process ended, if it ended before the worker was done.
    killed: Option<Ended>,
    /// Given up on: its I/O is stuck.
    stuck: bool,
    /// Monotonic ns when it was over, for workers that could not say so themselves.
    over_ns: u64,
    /// Processor use as the kernel counted it for a process that was killed.
    usage: Option<Usage>,
    progress: Progress,
    /// Monotonic ns when it was first seen to have been told to stop.
    told_to_stop_ns: Option<u64>,
    /// Where sysfs tells about the devices below its files, once that is of interest.
    devices: Option<Vec<PathBuf>>,
    series: Series,
}

struct Supervisor<'a, O> {
    plan: &'a Plan,
    engines: Vec<RunWorker>,
    clock: Clock,
    options: Options,
    observer: &'a mut O,
    region: Region,
    /// What the log writer says its lines with, and each worker.
    sender: MessageSender,
    senders: Vec<MessageSender>,
    receiver: MessageReceiver,
    signals: SignalQueue,
    tracked: Vec<Tracked>,
    disks: DiskWatch,
    live: live::LiveView,
    details: Option<DetailWatch>,
    intervals: Option<IntervalWatch>,
    idle: Option<IdleProcess>,
    steady: Vec<SteadyGroup>,
    slices: Option<SliceWatch>,
    timeline: Option<TimelineWatch>,
    notes: Vec<String>,
    started_ns: u64,
    batch: u32,
    /// Batches whose start gate is still closed.
    closed_batches: Vec<u32>,
    stage: u32,
    /// Stages that are over.
    stages: Vec<StageReport>,
    signal: Option<i32>,
    /// Control groups that the run has made.
    groups: Groups,
    log_writer: LogWriter,
    dump_watch: DumpWatch,
    trigger: Option<TriggerWatch<'a>>,
    /// Monotonic ns since when everything has been told to stop.
    stopping_since: Option<u64>,
    /// When to say again what is waited for.
    waiting_lines: watch::WaitingLines,
    /// How often the kernel had killed in this control group for want of memory.
    memory_kills: u64,
}

/// Runs a plan. `engines` gives, for each job of the plan, the function that runs its workers. The calling process must
/// have one thread.
pub fn run<O: Observer>(
    plan: &Plan,
    engines: Vec<RunWorker>,
    clock: Clock,
    options: Options,
    observer: &mut O,
) -> Result<Outcome, StartError> {
    let region = Region::for_plan(plan)?;
    let (sender, receiver) = message::channel()?;
    let signals = SignalQueue::new(&events::signals(options.live_view))?;
    let tracked = plan.workers.iter().map(|worker| Tracked::new(plan.job_of(worker))).collect();
    let mut supervisor = Supervisor {
        plan,
        engines,
        clock,
        options,
        observer,
        region,
        senders: (0..plan.workers.len()).map(|index| sender.of_worker(index)).collect(),
        sender,
        receiver,
        signals,
        tracked,
        disks: DiskWatch::default(),
        live: live::LiveView::default(),
        details: options.live_view.then(|| DetailWatch::begin(plan.workers.len(), monotonic_ns())),
        intervals: None,
        idle: None,
        steady: steady::groups(plan),
        slices: options.slices.and_then(|rule| SliceWatch::of(rule, plan)),
        timeline: None,
        notes: Vec::new(),
        started_ns: monotonic_ns(),
        batch: 0,
        closed_batches: Vec::new(),
        stage: 0,
        stages: Vec::new(),
        signal: None,
        groups: Groups::default(),
        log_writer: LogWriter::None,
        dump_watch: DumpWatch::default(),
        trigger: plan.trigger.as_ref().map(TriggerWatch::new),
        stopping_since: None,
        waiting_lines: watch::WaitingLines::default(),
        memory_kills: limits::group_memory_kills(),
    };
    supervisor.start_log_writer()?;
    supervisor.make_control_groups();
    supervisor.prepare_files();
    supervisor.start_idle_process();
    supervisor.intervals = options
        .status_interval
        .map(|length| IntervalWatch::begin(length, plan.workers.len(), monotonic_ns()));
    supervisor.timeline = options.timeline.then(|| supervisor.begin_timeline(monotonic_ns()));
    supervisor.run_all();
    supervisor.remove_control_groups();
    supervisor.finish_logs();
    supervisor.say_stuck();
    Ok(supervisor.outcome())
}

impl<O: Observer> Supervisor<'_, O> {
    /// Starts what may start and handles what happens, until nothing is left.
    fn run_all(&mut self) {
        loop {
            self.start_runnable();
            self.open_gates();
            if self.everything_is_over() && !self.has_trigger_left() {
                return;
            }
            self.wait_for_events();
            self.handle_events();
            self.watch_workers();
        }
    }

    fn everything_is_over(&self) -> bool {
        let none_running =
            self.tracked.iter().all(|worker| !matches!(worker.standing, Standing::Started { .. }));
        let none_waiting = self.tracked.iter().all(|worker| worker.standing == Standing::Over);
        none_running && (none_waiting || self.stopping_since.is_some())
    }

    fn context(&self, index: usize) -> WorkerContext<'_> {
        WorkerContext {
            plan: self.plan,
            index,
            region: &self.region,
            clock: self.clock,
            messages: &self.senders[index],
        }
    }

    fn indices_started(&self) -> Vec<usize> {
        (0..self.tracked.len())
            .filter(|&index| matches!(self.tracked[index].standing, Standing::Started { .. }))
            .collect()
    }

    /// Tells every worker to stop; those that have not begun never will.
    fn stop_everything(&mut self) {
        self.tell_all(Order::Stop);
    }

    fn tell_all(&mut self, order: Order) {
        self.stopping_since.get_or_insert_with(monotonic_ns);
        for index in 0..self.tracked.len() {
            self.region.worker(index).send(order);
        }
    }

    /// A worker is over: note when, and let `exitall` do its work.
    fn mark_over(&mut self, index: usize) {
        if self.tracked[index].standing == Standing::Over {
            return;
        }
        self.tracked[index].standing = Standing::Over;
        self.tracked[index].over_ns = monotonic_ns();
        self.close_logs_of(index);
        self.end_stuck_process(self.tracked[index].process);
        let failed = self.has_failed(index);
        self.apply_exitall(index, failed);
        self.dismiss_company();
    }

    fn has_failed(&self, index: usize) -> bool {
        self.region.worker(index).error().is_some()
    }

    fn outcome(mut self) -> Outcome {
        self.note_log_losses();
        let report = self.final_report();
        let failed_jobs = (0..self.tracked.len()).filter(|&index| self.has_failed(index)).count() as u32;
        Outcome { report, failed_jobs, signal: self.signal, lost_logs: self.lost_logs() }
    }
}

impl Tracked {
    fn new(job: &fathom_spec::JobSpec) -> Tracked {
        Tracked {
            standing: Standing::Waiting,
            process: 0,
            killed: None,
            stuck: false,
            over_ns: 0,
            usage: None,
            progress: Progress::default(),
            told_to_stop_ns: None,
            devices: None,
            series: Series::of(job),
        }
    }

    fn is_started(&self) -> bool {
        matches!(self.standing, Standing::Started { .. })
    }
}

/// True for stages in which I/O is under way.
fn does_io(stage: Stage) -> bool {
    matches!(stage, Stage::Ramping | Stage::Running | Stage::Verifying | Stage::Draining)
}
