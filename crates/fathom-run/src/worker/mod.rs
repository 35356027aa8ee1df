//! A worker: one clone of a job. It sets itself up, waits for the start gate, runs its loop, and cleans up. The
//! loop is generic over the engine and is selected once per job. From the start gate to the end of the run the
//! worker does not allocate, lock or print; its counters are in memory that the supervisor can read at any
//! moment.

mod accounts;
mod arena;
mod budget;
mod commands;
mod complete;
mod debug;
mod entry;
mod feature;
mod features;
pub(crate) mod files;
mod followers;
mod full;
mod gates;
mod holes;
mod issue;
mod loops;
mod next;
mod placement;
mod places;
mod ramp;
mod rules;
mod setup;
mod slots;
mod sources;
mod tally;

use crate::cause::Cause;
use crate::engine::{Buffers, Completions, Engine, EngineType};
use crate::exhausted;
use crate::files::FileError;
use crate::files::open::OpenFiles;
use crate::invariant::{self, Broken};
use crate::message::{Message, MessageSender};
use crate::payload::Payload;
use crate::plan::model::syncs::FinalSync;
use crate::plan::{Plan, WorkerPlan};
use crate::region::{Order, Region, Stage, WorkerBlock};
use crate::surroundings::Surroundings;
use crate::targets::Targets;
use crate::unit::Operation;
use arena::Arena;
use budget::Budget;
pub use entry::EngineEntry;
use fathom_stats::PerDirection;
use fathom_stats::samples::WorkerSamples;
use fathom_sys::clock::{Clock, Moment};
use fathom_sys::memory::Mapping;
use fathom_sys::usage::Usage;
use fathom_sys::{Errno, futex};
use fathom_verify::ledger::SyncKind;
use features::Features;
use next::Next;
use places::TargetPart;
use ramp::Ramp;
use rules::Rules;
use slots::Slots;
use std::any::Any;
use std::mem::ManuallyDrop;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The environment of a worker.
#[derive(Clone, Copy)]
pub struct WorkerContext<'a> {
    /// The run.
    pub plan: &'a Plan,
    /// Index of the worker in the plan.
    pub index: usize,
    /// Memory shared with the supervisor.
    pub region: &'a Region,
    /// Calibrated clock.
    pub clock: Clock,
    /// The engine of the worker's job.
    pub engine: EngineEntry,
    /// Sender of lines for the user.
    pub messages: &'a MessageSender,
}

impl<'a> WorkerContext<'a> {
    fn block(&self) -> &'a WorkerBlock {
        self.region.worker(self.index)
    }

    fn worker_plan(&self) -> &'a WorkerPlan {
        &self.plan.workers[self.index]
    }

    pub(crate) fn set_stage(&self, stage: Stage) {
        self.block().set_stage(stage);
        self.tell_stage(stage);
        self.messages.send(&Message::StageChanged);
    }

    /// Ends the job with an error, which is stored for the report and printed immediately in fio's wording.
    pub(crate) fn fail(&self, errno: Errno, cause: Cause) -> GivenUp {
        self.fail_in_words(errno, &cause.line(errno))
    }

    /// Like `fail`, with a custom message.
    pub(crate) fn fail_in_words(&self, errno: Errno, text: &str) -> GivenUp {
        let pid = self.block().pid.load(Relaxed);
        self.block().fail_in_words(errno, text);
        let line = format!("fio: pid={pid}, err={}/{text}", errno.0);
        // Before the worker has a process, the error belongs to the setup, which fio reports on standard error.
        self.messages.send(&if pid == 0 { Message::Error(line) } else { Message::Failure(line) });
        GivenUp
    }

    /// Like `fail`, if an earlier message has already explained the failure.
    pub(crate) fn fail_without_line(&self, errno: Errno) -> GivenUp {
        self.block().fail_in_words(errno, "");
        GivenUp
    }

    /// Handles a panic that has ended the worker: its payload replaces any other error of the job, and a
    /// message asks for a bug report.
    pub(crate) fn end_with_defect(&self, payload: &(dyn Any + Send)) {
        let errno = Errno(libc::EFAULT);
        let (what, text) = match payload.downcast_ref::<Broken>() {
            Some(broken) => {
                let error = Cause::INVARIANT.line(broken.invariant.sentence());
                (format!("broken invariant: {broken}"), error)
            }
            None => {
                let text = invariant::text_of(payload);
                (format!("internal error ({text})"), Cause::INTERNAL.line(errno))
            }
        };
        let name = &self.worker_plan().name;
        self.block().break_in_words(errno, &text);
        self.messages.send(&Message::Error(format!(
            "fathom: job {name}: {what}; its figures cannot be trusted, please report it with the job that caused it"
        )));
        let pid = self.block().pid.load(Relaxed);
        self.messages.send(&Message::Failure(format!("fio: pid={pid}, err={}/{text}", errno.0)));
    }

    /// Like `fail`, for unusable files.
    pub(crate) fn fail_with_files(&self, error: &FileError) -> GivenUp {
        match &error.text {
            Some(text) => self.fail_in_words(Errno(error.errno), text),
            None => self.fail_without_line(Errno(error.errno)),
        }
    }

    /// Like `fail`, for a thread that could not be created.
    pub(crate) fn fail_for_thread(&self, purpose: &str, error: &std::io::Error) -> GivenUp {
        let errno = Errno(error.raw_os_error().unwrap_or(libc::EAGAIN));
        self.messages.send(&Message::Error(format!(
            "fathom: job {}: no thread {purpose}: {errno}; {}",
            self.worker_plan().name,
            exhausted::processes(errno)
        )));
        self.fail(errno, Cause::THREAD)
    }
}

/// The worker does not reach the start gate, because it was stopped or has failed; a failure has been reported
/// and stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GivenUp;

/// Runs a worker from beginning to end, with a loop that is compiled for this engine.
pub fn run<E: EngineType + 'static>(context: &WorkerContext<'_>) {
    run_with::<E>(context, |worker| conduct(context, worker));
}

/// Runs a worker with the shared loop, which calls any engine through a pointer.
pub fn run_indirectly<E: EngineType + 'static>(context: &WorkerContext<'_>) {
    run_with::<E>(context, |worker| conduct::<dyn Engine>(context, worker));
}

fn run_with<E: EngineType>(context: &WorkerContext<'_>, conduct: impl FnOnce(Box<Worker<'_, E>>)) {
    let block = context.block();
    block.pid.store(fathom_sys::process::own_pid(), Relaxed);
    block.thread_id.store(fathom_sys::process::own_thread_id(), Relaxed);
    context.set_stage(Stage::SettingUp);
    if let Ok(worker) = setup::set_up::<E>(context) {
        conduct(worker);
    }
    context.set_stage(Stage::Ended);
}

/// Conducts the worker from the start gate to the end.
fn conduct<E: Loop + ?Sized>(context: &WorkerContext<'_>, worker: Box<Worker<'_, E>>) {
    // Descriptors and buffers may be released only when no I/O is in flight, so a panic must not drop the
    // worker. Clones that are threads share one descriptor table and one address space: I/O left in flight by a
    // panic would hit whichever file or memory gets the same number or address next.
    let mut worker = ManuallyDrop::new(worker);
    context.set_stage(Stage::Ready);
    if wait_for_start(context) && worker.any().targets_are_free() && worker.any().meet() {
        worker.run();
    }
    worker.any().close();
    if worker.slots.handed_over() == 0 {
        drop(ManuallyDrop::into_inner(worker));
    }
}

/// Maximum age of the processor time in a report during the run.
const USAGE_EVERY_NS: u64 = 100_000_000;

/// Maximum age of the last check of the targets that is still valid at the start.
const CHECKED_LATELY: Duration = Duration::from_millis(250);

/// Waits at the gate and for the job's own delay; false if the run ended before it started.
fn wait_for_start(context: &WorkerContext<'_>) -> bool {
    let order = &context.block().order;
    while order.load(Relaxed) == Order::Wait as u32 {
        futex::wait_while(order, Order::Wait as u32, None);
    }
    let end = context.clock.monotonic_ns() + setup::start_delay(context).as_nanos() as u64;
    while order.load(Relaxed) == Order::Go as u32 {
        let now = context.clock.monotonic_ns();
        if now >= end {
            return true;
        }
        context.clock.wait_while(order, Order::Go as u32, Duration::from_nanos(end - now));
    }
    false
}

/// Which latencies are recorded, and which of them with a histogram.
#[derive(Clone, Copy, Debug)]
struct Recording {
    slat: bool,
    clat: bool,
    lat: bool,
    slat_bins: bool,
    clat_bins: bool,
    lat_bins: bool,
    batches: bool,
    /// True if submission and completion are separate, so that a submission latency exists.
    submission: bool,
}

impl Recording {
    /// True for the default set of latencies, for which the loop has a fast path.
    fn is_usual(&self) -> bool {
        let is_split = self.slat && self.lat && !self.slat_bins && !self.lat_bins;
        self.clat && self.clat_bins && if self.submission { is_split } else { !self.lat }
    }
}

/// The state of a running worker. Code that runs for every I/O is compiled separately for each engine, as a
/// method of `Worker<'_, E>`; all other code is compiled once, as a method of `Worker<'_>`, which
/// [`any`](Worker::any) returns.
struct Worker<'a, E: ?Sized = dyn Engine> {
    context: WorkerContext<'a>,
    plan: &'a WorkerPlan,
    block: &'a WorkerBlock,
    samples: &'a WorkerSamples,
    clock: Clock,
    files: OpenFiles,
    /// Memory of the buffers.
    _arena: Arena,
    buffers: Buffers,
    /// Memory locked by `lockmem`.
    _locked_memory: Option<Mapping>,
    targets: Targets,
    payload: Payload,
    /// Features of the job's I/O.
    features: Features<'a>,
    /// True if writes need their buffer refilled.
    refreshes_payload: bool,
    /// True if an I/O needs further preparation, or has a priority, so that it takes a slower path to the
    /// engine.
    prepares_more: bool,
    /// True if a feature is notified of each submitted I/O.
    follows_issue: bool,
    recording: Recording,
    budget: Budget,
    /// True to print a line about each I/O (`--debug=io`).
    logs_ios: bool,
    /// How often rules decide about the next I/O, which then takes the slow path.
    rules: Rules,
    /// Number of targets returned before the current grant.
    given: PerDirection<u64>,
    /// The part of each file that I/Os may access, stored compactly because every I/O reads one.
    places: Box<[TargetPart]>,
    /// Latency limit in ns per direction (`max_latency`).
    latency_limit_ns: PerDirection<u64>,
    /// Latency below which an I/O is recorded the usual way: all three latencies, a histogram of clat, no
    /// pacing. 0 if the job needs more than that.
    usual_latency_ns: PerDirection<u64>,
    /// Latency below which a completion is only recorded. 0 if a feature follows completions.
    short_latency_ns: PerDirection<u64>,
    slots: Slots<'a>,
    /// Tick at which [`Worker::handle_event`] must read the clock again.
    next_event: u64,
    /// The thread's resource use when the run began.
    usage_before: Usage,
    /// Monotonic time at which the thread's resource use is next published for reports during the run, ns.
    usage_due_ns: u64,
    /// The ramp, while it lasts.
    ramp: Option<Ramp<'a>>,
    /// Set when no more I/O may be issued.
    stopping: bool,
    /// Set once a message has reported an unresponsive peer.
    has_given_up_waiting: bool,
    /// Set once a message has reported a read at the end of its file.
    has_read_nothing: bool,
    completions: Option<Box<Completions>>,
    /// The engine is the last field, so that a worker with any engine coerces to one with a `dyn Engine`.
    engine: E,
}

/// Type parameter of the loop: an engine, or any engine through a pointer.
trait Loop: Engine {
    /// The same worker, with its engine behind a pointer.
    fn erase<'w, 'a>(worker: &'w mut Worker<'a, Self>) -> &'w mut Worker<'a>;

    /// True if I/Os run one at a time. For most engines this is known at compile time, so the other loop is
    /// left out.
    fn is_synchronous(worker: &Worker<'_, Self>) -> bool;
}

impl<E: EngineType + 'static> Loop for E {
    fn erase<'w, 'a>(worker: &'w mut Worker<'a, Self>) -> &'w mut Worker<'a> {
        worker
    }

    fn is_synchronous(worker: &Worker<'_, Self>) -> bool {
        worker.engine.ends_at_once(E::DEFINITION)
    }
}

impl Loop for dyn Engine {
    fn erase<'w, 'a>(worker: &'w mut Worker<'a, Self>) -> &'w mut Worker<'a> {
        worker
    }

    fn is_synchronous(worker: &Worker<'_, Self>) -> bool {
        !worker.recording.submission
    }
}

impl<'a, E: Loop + ?Sized> Worker<'a, E> {
    /// The worker as seen by code that does not run for every I/O.
    #[inline(always)]
    fn any(&mut self) -> &mut Worker<'a> {
        E::erase(self)
    }
}

impl<E: Loop + ?Sized> Worker<'_, E> {
    fn run(&mut self) {
        let surroundings = Surroundings::look(self.plan.subjob == 0);
        self.usage_before = Usage::of_thread();
        self.any().begin();
        let is_synced = match self.features.verifier.is_some() {
            true => self.run_passes(),
            false => {
                self.run_engine();
                false
            }
        };
        self.any().check_end();
        self.any().close_arrivals();
        self.any().save_triggered_state();
        self.any().leave_zones();
        // Data that is not durable yet does not count as written, so the final sync is part of the run time.
        if !is_synced {
            self.any().final_sync();
        }
        self.any().close_ledger();
        self.any().look_at_unwritten();
        let end_ns = self.clock.monotonic_ns();
        self.block.end_ns.store(end_ns, Relaxed);
        if let Some(log) = &self.features.log {
            log.close(end_ns);
        }
        if let Some(log) = &mut self.features.issue_log {
            log.end(&self.files);
        }
        self.any().store_usage();
        surroundings.store(&self.block.surroundings);
    }

    /// Runs until nothing more can be issued and everything issued has completed.
    fn run_engine(&mut self) {
        if E::is_synchronous(self) {
            self.run_synchronous();
        } else {
            self.run_queued();
        }
    }
}

impl Worker<'_> {
    /// Checks the targets again after a wait, because one of them may have come into use.
    fn targets_are_free(&mut self) -> bool {
        if self.files.since_check() < CHECKED_LATELY {
            return true;
        }
        let checked = self.files.check_again(self.plan);
        checked.map_err(|error| files::report(&self.context, &error)).is_ok()
    }

    /// Connects to the peer, for engines with peers; false if the job ended before it started.
    fn meet(&mut self) -> bool {
        let (context, messages) = (self.context, self.context.messages);
        let stopped = || context.block().should_stop();
        let say = |line: &str| messages.send(&Message::Output(line.to_owned()));
        match self.engine.meet(&stopped, &say) {
            Ok(()) => !stopped(),
            Err(_) if stopped() => false,
            Err(error) => {
                files::report(&context, &error);
                false
            }
        }
    }

    /// Starts the job's clock.
    fn begin(&mut self) {
        let now = self.clock.moment();
        if let Some(pace) = &mut self.features.pace {
            pace.start(now.ticks);
        }
        if let Some(timed) = &mut self.features.timed {
            timed.start(now.ticks);
        }
        self.block.begin_ns.store(now.ns, Relaxed);
        self.block.set_job_start(now.ns, self.plan.time.start_clock);
        if let Some(log) = &mut self.features.issue_log {
            log.begin(now, &self.files);
        }
        match &self.plan.time.ramp {
            Some(ramp) => {
                self.ramp = Some(Ramp::new(ramp, now.ns));
                self.block.set_stage(Stage::Ramping);
                self.context.tell_stage(Stage::Ramping);
            }
            None => self.begin_recording(now),
        }
        self.next_event = 0;
    }

    /// Starts recording: all I/Os count from this moment on.
    fn begin_recording(&mut self, now: Moment) {
        self.samples.reset();
        if let Some(priority) = &self.features.command_priority {
            priority.reset();
        }
        let runtime = self.plan.time.runtime;
        if let Some(timed) = &mut self.features.timed {
            self.block.lateness.reset();
            if let Some(open_loop) = &mut timed.open_loop {
                open_loop.begin_recording(now);
                if !runtime.is_zero() {
                    open_loop.ends_by(now.ticks + self.clock.ticks_of_ns(runtime.as_nanos() as u64));
                }
            }
        }
        self.ramp = None;
        if let Some(log) = &mut self.features.log {
            log.begin(now);
        }
        if let Some(layers) = &mut self.features.layers {
            layers.anchor(now);
        }
        self.block.start_ns.store(now.ns, Relaxed);
        if !runtime.is_zero() {
            let deadline = now.ns + runtime.as_nanos() as u64;
            self.block.deadline_ns.store(deadline, Relaxed);
        }
        self.block.set_stage(Stage::Running);
        self.context.tell_stage(Stage::Running);
    }

    /// Periodic checks: end of the ramp, end of the run time, minimum rates. Called when
    /// [`Worker::next_event`] has passed, at most about a thousand times per second.
    #[cold]
    fn handle_event(&mut self, tick: u64) {
        const LONGEST_PAUSE_NS: u64 = 10_000_000;
        self.debug_check_accounts();
        let moment = self.clock.moment();
        let now = moment.ns;
        if self.ramp.as_ref().is_some_and(|ramp| ramp.is_over(now, &self.context)) {
            self.begin_recording(moment);
        }
        if let Some(log) = &mut self.features.log {
            log.anchor(moment);
        }
        if let Some(layers) = self.features.layers.as_mut().filter(|layers| layers.has_begun()) {
            layers.anchor(moment);
        }
        if let Some(log) = &mut self.features.issue_log {
            log.anchor(moment);
        }
        let deadline = self.block.deadline_ns.load(Relaxed);
        if deadline != 0 && now >= deadline {
            self.stopping = true;
        }
        if self.block.should_stop() {
            self.stopping = true;
        }
        self.check_minimum_rates(now);
        if now >= self.usage_due_ns {
            self.usage_due_ns = now + USAGE_EVERY_NS;
            self.store_usage();
        }
        let search_ns = self.follow_latency_target(now);
        // The tick counter's calibration may be off by a few parts per million, so the exact end is approached
        // in steps that are checked with the system clock.
        let ramp_look = self.ramp.as_ref().map(|ramp| ramp.next_look_ns(now));
        let next = [ramp_look, (deadline != 0).then_some(deadline), search_ns]
            .into_iter()
            .flatten()
            .map(|end| end.saturating_sub(now))
            .fold(LONGEST_PAUSE_NS, u64::min);
        // A loop that never waits does not read the clock, so an event that is due immediately must not depend
        // on the tick.
        self.next_event = if next == 0 { 0 } else { tick + self.clock.ticks_of_ns(next).max(1) };
    }

    /// `end_fsync`, `fsync_on_close` and `end_syncfs`.
    fn final_sync(&mut self) {
        let Some(wanted) = self.plan.syncs.at_end else { return };
        self.context.set_stage(Stage::FinalSync);
        let kind = match wanted {
            FinalSync::Files => SyncKind::Sync,
            FinalSync::FileSystems => SyncKind::FileSystem,
        };
        for index in 0..self.files.list.len() {
            if !self.files.list[index].handle.is_open() {
                continue;
            }
            if let Some(log) = &mut self.features.issue_log {
                log.issue(Operation::Sync as u8, index as u32, 0, 0);
            }
            if let Err(errno) = self.sync_recorded(kind, index as u32) {
                self.sync_failed(index as u32, errno);
                let name = &self.files.list[index].name;
                let line = format!("fio: end_fsync failed for file {name}");
                self.context.messages.send(&Message::Error(line));
            }
        }
    }

    /// Determines the job's dirty bytes in the page cache, and errors of earlier writeback, without waiting.
    fn look_at_unwritten(&mut self) {
        let is_cached = self.plan.files.are_mapped || !self.plan.files.opening.direct;
        if !is_cached || !self.plan.writes_data() {
            return;
        }
        let mut sum = Some(0u64);
        for index in 0..self.files.list.len() {
            if !self.files.list[index].handle.is_open() {
                continue;
            }
            match self.files.unwritten(index) {
                Ok(bytes) => sum = sum.zip(bytes).map(|(sum, bytes)| sum.saturating_add(bytes)),
                failed => self.take_late_error(index as u32, failed.map(|_| ())),
            }
        }
        if let Some(bytes) = sum {
            self.block.unwritten_bytes.store(bytes + 1, Relaxed);
        }
    }

    /// Closes the files. An error that is reported only when a file is closed is an error of the job as well.
    fn close_files(&mut self) {
        if self.slots.handed_over() > 0 {
            return;
        }
        for index in 0..self.files.list.len() {
            if self.files.list[index].handle.is_open() {
                let closed = self.files.close(index);
                self.take_late_error(index as u32, closed);
            }
        }
    }

    fn close(&mut self) {
        if self.engine.may_be_over() {
            self.context.set_stage(Stage::PostRun);
            self.engine.end();
        }
        setup::pass_on_remarks(&self.context, &mut self.engine);
        let figures = self.engine.figures();
        if !figures.is_empty() {
            self.context.messages.send_figures(&figures);
        }
        self.close_files();
        commands::after(&self.context);
        self.context.set_stage(Stage::Finishing);
        if self.plan.files.are_removed {
            for errno in self.files.remove(&self.plan.files.names) {
                self.context.fail(errno, Cause::UNLINK);
            }
        }
        self.block.open_files.store(0, Relaxed);
    }

    fn store_usage(&self) {
        let usage = Usage::of_thread().since(self.usage_before);
        let values =
            [usage.user_us, usage.system_us, usage.context_switches, usage.major_faults, usage.minor_faults];
        for (place, value) in self.block.usage.iter().zip(values) {
            place.store(value, Relaxed);
        }
    }
}
