//! The supervisor: decides when workers start, watches them, handles signals, enforces deadlines, and gathers
//! the result.
//!
//! It reaches the workers only through a [`Crew`]: it does not access their memory or create their processes.
//! It handles everything that concerns the user: signals, the terminal, requests by file, the trigger's
//! command, and all printed lines.
//!
//! It never touches a target: other processes examine, lay out and open files. A hung device therefore cannot
//! hang the supervisor, and the report contains all counts regardless of what happens to a worker.

mod details;
mod dump_request;
mod events;
mod facts;
mod gather;
mod interval;
mod layout;
mod live;
mod logs;
mod patience;
mod progress;
mod replays;
mod schedule;
mod series;
mod slices;
mod snapshots;
mod steady;
mod terminal;
#[cfg(test)]
mod tests;
mod timeline;
mod trigger;
mod watch;

use crate::cause::Cause;
use crate::crew::{Crew, LocalCrew, LogState, Order};
use crate::message::Message;
use crate::plan::Plan;
use crate::plan::model::report::ReportPlan;
use crate::regularly::Regularly;
use crate::worker::EngineEntry;
use details::DetailWatch;
use dump_request::DumpWatch;
use facts::FactTimer;
use fathom_stats::live::{LiveDetails, LiveTick};
use fathom_stats::report::{CpuReport, RunReport, StageReport};
use fathom_sys::Errno;
use fathom_sys::clock::{Clock, monotonic_ns};
use fathom_sys::forbidden::Refused;
use fathom_sys::process::Ended;
use fathom_sys::signal::SignalQueue;
use interval::IntervalWatch;
use progress::Progress;
use series::Series;
pub use slices::SliceRule;
use slices::SliceWatch;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::time::Duration;
use steady::SteadyGroup;
use timeline::TimelineWatch;
pub use trigger::TriggerSignal;
use trigger::TriggerWatch;

/// Receives the events of a run in progress.
pub trait Observer {
    /// A message of a worker or of the supervisor.
    fn message(&mut self, message: &Message);
    /// A tick of the run; called every [`Options::tick`], with details if [`Options::live_view`] is set.
    fn tick(&mut self, tick: &LiveTick, details: Option<&LiveDetails>);
    /// Called often during the run, so that pending output can be retried.
    fn advance(&mut self) {}
    /// A report of the run so far: every [`Options::status_interval`], and on SIGUSR1.
    fn interim_report(&mut self, report: &RunReport);
    /// A report every [`Options::snapshot`] that is not printed and does not close the interval.
    fn snapshot(&mut self, _report: &RunReport) {}
    /// True if the workers of this stage may be set up, which opens their files. Called again until it is.
    fn may_set_up(&mut self, _stage: u32) -> bool {
        true
    }
    /// Decides when the workers of a batch of this stage start, once all of them are ready. Called again until
    /// the gate is open.
    fn gate(&mut self, _stage: u32) -> Gate {
        Gate::Open
    }
    /// A terminal event; only with [`Options::live_view`].
    fn terminal(&mut self, _event: TerminalEvent) {}
    /// The descriptor that delivers user requests, if any.
    fn input(&self) -> Option<RawFd> {
        None
    }
    /// Reads available input from [`input`](Observer::input); returns the user's request.
    fn take_input(&mut self) -> Option<Request> {
        None
    }
}

/// A user's request during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Stop the run, as Ctrl-C does.
    Stop,
    /// A report of the run so far, by [`Observer::interim_report`].
    Report,
    /// Fire the plan's trigger.
    Trigger,
}

/// When the workers of a batch start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Now.
    Open,
    /// Start at this instant of [`monotonic_ns`].
    At(u64),
    /// Ask again when [`Observer::input`] is readable or a short time has passed.
    Closed,
}

/// Event of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalEvent {
    /// The terminal was resized.
    Resized,
    /// The program is about to be stopped; other programs may use the terminal until
    /// [`Continued`](TerminalEvent::Continued): the program is about to be stopped.
    Suspending,
    /// The program was continued; other programs may have changed the terminal.
    Continued,
    /// A signal ends the program immediately, without a report.
    Ending,
}

/// Settings of the supervisor.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Time between two ticks; `None` for no ticks.
    pub tick: Option<Duration>,
    /// True if the observer shows the run on a full screen. It then receives terminal events, and details with
    /// every tick, even while files are laid out.
    pub live_view: bool,
    /// Interval between reports of the run so far. If set, every report shows the figures of its interval.
    pub status_interval: Option<Duration>,
    /// Interval of snapshots of the run; `None` for none.
    pub snapshot: Option<Duration>,
    /// Whether and how to measure the processors' idleness.
    pub idleness: Option<Idleness>,
    /// Lists the shares of slow reads per slice of time in the report.
    pub slices: Option<SliceRule>,
    /// True to keep the timeline of the run and facts about the machine for the report.
    pub timeline: bool,
    /// How long I/O may make no progress after the end of its job before the job is given up; `None` for 30 s,
    /// or 10 s after a signal to end.
    pub patience: Option<Duration>,
    /// True if standard output is reserved for the report; the output of user commands then goes to standard
    /// error.
    pub report_alone: bool,
    /// Version of the program, for the report.
    pub version: &'static str,
}

/// Level of detail of the processors' idleness in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idleness {
    /// The mean of all processors.
    System,
    /// The mean and each processor.
    PerCpu,
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// The complete report.
    pub report: RunReport,
    /// Number of jobs that failed.
    pub failed_jobs: u32,
    /// True if a defect in fathom has ended some jobs, whose figures cannot be trusted.
    pub is_broken: bool,
    /// The signal that ended the run early, if one did.
    pub signal: Option<i32>,
    /// True if a log is incomplete.
    pub lost_logs: bool,
}

/// Why a run could not start.
#[derive(Debug)]
pub enum StartError {
    /// The system refused memory, a process, or a descriptor.
    System(Errno),
    /// The system refused to queue signals.
    Signals(Refused),
    /// A signal to end arrived before anything had started.
    Signal(i32),
    /// The layers cannot be recorded, for this reason.
    Layers(String),
    /// A log file could not be opened.
    Log {
        /// The file.
        path: PathBuf,
        /// The error.
        errno: Errno,
    },
}

impl From<Refused> for StartError {
    fn from(refused: Refused) -> Self {
        StartError::Signals(refused)
    }
}

impl From<Errno> for StartError {
    fn from(errno: Errno) -> Self {
        StartError::System(errno)
    }
}

/// State of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Not started.
    Waiting,
    /// Started in the batch with this number.
    Started { batch: u32 },
    /// Ended; no more events will follow.
    Over,
}

/// The supervisor's own data about a worker.
struct Tracked {
    standing: Standing,
    /// Process ID of the worker; the threads of a batch share one.
    process: u32,
    is_told_to_stop: bool,
    /// How the worker's process ended, if it ended before the worker was done.
    killed: Option<Ended>,
    /// True if the worker was given up because its I/O is stuck.
    stuck: bool,
    /// `job_start` of a job that has no work and therefore does not start; 0 for other jobs.
    job_start_ms: u64,
    /// End time (monotonic ns) as seen by the supervisor, for workers that died before recording it.
    over_ns: u64,
    /// Processor use as the kernel counted it for a process that was killed.
    cpu: Option<CpuReport>,
    progress: Progress,
    /// The worker's deadline at the last check, monotonic ns; 0 for none.
    deadline_ns: u64,
    /// Monotonic time at which the worker was first seen with the order to stop, ns.
    told_to_stop_ns: Option<u64>,
    /// The figures of the worker's engine, as received so far.
    engine_figures: String,
    series: Series,
}

struct Supervisor<'a> {
    plan: &'a Plan,
    crew: &'a mut dyn Crew,
    options: Options,
    observer: &'a mut dyn Observer,
    signals: SignalQueue,
    tracked: Vec<Tracked>,
    live: live::LiveView,
    details: Option<DetailWatch>,
    intervals: Option<IntervalWatch>,
    steady: Vec<SteadyGroup>,
    slices: Option<SliceWatch>,
    timeline: Option<TimelineWatch>,
    facts: Option<FactTimer>,
    snapshots: Regularly,
    notes: Vec<String>,
    started_ns: u64,
    batch: u32,
    /// Batches whose start gate is still closed.
    closed_batches: Vec<u32>,
    /// Monotonic ns when the next of these gates opens, if known.
    gate_opens_ns: Option<u64>,
    stage: u32,
    /// Stages that are over.
    stages: Vec<StageReport>,
    signal: Option<i32>,
    dump_watch: DumpWatch,
    trigger: Option<TriggerWatch<'a>>,
    /// Monotonic ns when all workers were told to stop.
    stopping_since: Option<u64>,
    /// When to report again what the run is waiting for.
    waiting_lines: watch::WaitingLines,
}

/// Runs a plan with workers on this machine. `engines` holds the engine of each job of the plan. The calling
/// process must be single-threaded.
pub fn run(
    plan: &Plan,
    engines: Vec<EngineEntry>,
    clock: Clock,
    options: Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, StartError> {
    let mut crew = LocalCrew::new(plan, engines, clock, events::signals(true))?;
    supervise(plan, &mut crew, options, observer)
}

/// Runs a plan with the workers of a crew, none of which has been started.
pub fn supervise(
    plan: &Plan,
    crew: &mut dyn Crew,
    options: Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, StartError> {
    let signals = SignalQueue::new(&events::signals(options.live_view))?;
    let tracked = plan.workers.iter().map(|worker| Tracked::new(&worker.report)).collect();
    let mut supervisor = Supervisor {
        plan,
        crew,
        options,
        observer,
        signals,
        tracked,
        live: live::LiveView::default(),
        details: options.live_view.then(|| DetailWatch::begin(plan.workers.len(), monotonic_ns())),
        intervals: None,
        steady: steady::groups(plan),
        slices: options.slices.and_then(|rule| SliceWatch::of(rule, plan)),
        timeline: None,
        facts: None,
        snapshots: Regularly::at_once(options.snapshot, monotonic_ns()),
        notes: Vec::new(),
        started_ns: monotonic_ns(),
        batch: 0,
        closed_batches: Vec::new(),
        gate_opens_ns: None,
        stage: 0,
        stages: Vec::new(),
        signal: None,
        dump_watch: DumpWatch::default(),
        trigger: plan.trigger.as_ref().map(TriggerWatch::new),
        stopping_since: None,
        waiting_lines: watch::WaitingLines::default(),
    };
    supervisor.open_logs()?;
    supervisor.crew.begin_layers().map_err(StartError::Layers)?;
    supervisor.make_control_groups();
    supervisor.prepare_files();
    supervisor.measure_idleness();
    supervisor.intervals = options
        .status_interval
        .map(|length| IntervalWatch::begin(length, plan.workers.len(), monotonic_ns()));
    supervisor.timeline = options.timeline.then(|| supervisor.begin_timeline(monotonic_ns()));
    supervisor.facts = options.timeline.then(|| supervisor.begin_facts(monotonic_ns()));
    supervisor.run_all();
    let groups_that_stay = supervisor.crew.remove_control_groups();
    supervisor.notes.extend(groups_that_stay);
    supervisor.crew.finish_layers();
    supervisor.finish_logs();
    supervisor.say_stuck();
    Ok(supervisor.outcome())
}

impl Supervisor<'_> {
    /// Starts workers and handles events until all have ended.
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
        let none_running = !self.tracked.iter().any(Tracked::is_started);
        let none_waiting = self.tracked.iter().all(|worker| worker.standing == Standing::Over);
        none_running && (none_waiting || self.stopping_since.is_some())
    }

    fn indices_started(&self) -> Vec<usize> {
        (0..self.tracked.len()).filter(|&index| self.tracked[index].is_started()).collect()
    }

    /// Tells every worker to stop; those that have not started never will.
    fn stop_everything(&mut self) {
        self.order_all(Order::Stop);
    }

    fn order_all(&mut self, order: Order) {
        self.stopping_since.get_or_insert_with(monotonic_ns);
        for index in 0..self.tracked.len() {
            self.tell(index, order);
        }
    }

    fn tell(&mut self, index: usize, order: Order) {
        self.tracked[index].is_told_to_stop |= matches!(order, Order::Stop | Order::StopAndSave);
        self.crew.order(index, order);
    }

    /// Records the end of a worker and applies `exitall`.
    fn mark_over(&mut self, index: usize) {
        if self.tracked[index].standing == Standing::Over {
            return;
        }
        self.tracked[index].standing = Standing::Over;
        self.tracked[index].over_ns = monotonic_ns();
        self.crew.release(index, self.tracked[index].stuck);
        let failed = self.has_failed(index);
        self.apply_exitall(index, failed);
        self.stop_background_load();
    }

    fn has_failed(&self, index: usize) -> bool {
        self.crew.state(index).has_failed
    }

    /// Creates the control groups of all jobs. A job whose group cannot be created fails.
    fn make_control_groups(&mut self) {
        for failure in self.crew.make_control_groups() {
            self.observer.message(&Message::Error(failure.message));
            for index in 0..self.tracked.len() {
                if self.plan.workers[index].job == failure.job {
                    self.crew.fail(index, failure.errno, &Cause::CGROUP.line(failure.errno));
                }
            }
        }
    }

    /// Starts measuring the processors' idleness, if requested.
    fn measure_idleness(&mut self) {
        if self.options.idleness.is_none() || self.signal.is_some() {
            return;
        }
        let mut signal = None;
        let mut interrupted = || {
            signal = self.signals.asked_to_end();
            signal.is_some()
        };
        if let Err(reason) = self.crew.measure_idleness(&mut interrupted) {
            self.notes.push(format!("the idleness of the processors is not measured: {reason}"));
        }
        if let Some(signal) = signal {
            self.end_by_signal(signal);
        }
    }

    fn outcome(mut self) -> Outcome {
        let losses = self.crew.log_losses();
        self.note_log_losses(&losses);
        let report = self.final_report();
        let failed_jobs = (0..self.tracked.len()).filter(|&index| self.has_failed(index)).count() as u32;
        let is_broken = (0..self.tracked.len()).any(|index| self.crew.state(index).is_broken);
        let lost_logs = losses.failed_files > 0 || self.crew.log_state() == LogState::Lost;
        Outcome { report, failed_jobs, is_broken, signal: self.signal, lost_logs }
    }
}

impl Tracked {
    fn new(plan: &ReportPlan) -> Tracked {
        Tracked {
            standing: Standing::Waiting,
            process: 0,
            is_told_to_stop: false,
            killed: None,
            stuck: false,
            job_start_ms: 0,
            over_ns: 0,
            cpu: None,
            progress: Progress::default(),
            deadline_ns: 0,
            told_to_stop_ns: None,
            engine_figures: String::new(),
            series: Series::of(plan),
        }
    }

    fn is_started(&self) -> bool {
        matches!(self.standing, Standing::Started { .. })
    }
}
