//! A crew on this machine. Workers are processes, or threads of one process, that share memory with the caller: their
//! counters and pending I/Os can be read at any moment, even if they were killed or hang. The memory is a [`Region`].
//! Submodules: children (`spawn`, `children`), reading the memory (`look`), external signs of progress (`life`), the log
//! writer (`log_writer`), and the machine (`machine`, `disks`, `stack`).

mod children;
mod disks;
mod facts;
mod identity;
mod layers;
mod life;
mod log_writer;
mod look;
mod machine;
mod spawn;
mod stack;
mod stops;

use super::{
    Crew, Event, Figures, InFlight, LatencyKind, Order, Refusal, SignsOfLife, Stage, Start, WorkerState,
};
use crate::cgroup::MadeGroups;
use crate::exhausted;
use crate::idleness::IdleProcess;
use crate::message::{self, MessageReceiver, MessageSender};
use crate::mounts::MountWatch;
use crate::plan::Plan;
use crate::region::Region;
use crate::worker::{EngineEntry, WorkerContext};
use disks::DiskWatch;
use facts::FactWatch;
use fathom_stats::Direction;
use fathom_stats::Histogram;
use fathom_sys::clock::Clock;
use fathom_sys::process;
use fathom_sys::{Errno, limits};
use log_writer::LogWriter;
pub(crate) use stack::backing_file;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use stops::StopWatch;

/// Workers on this machine, and the processes that serve them.
pub struct LocalCrew<'a> {
    plan: &'a Plan,
    /// The engine of each job, by job index.
    engines: Vec<EngineEntry>,
    clock: Clock,
    /// Signals that the caller handles; children do not block them.
    blocked_signals: Vec<i32>,
    region: Region,
    /// Message sender of the log writer and of each worker.
    sender: MessageSender,
    senders: Vec<MessageSender>,
    receiver: MessageReceiver,
    members: Vec<Member>,
    /// ID of the layout process.
    layout: Option<u32>,
    log_writer: LogWriter,
    /// ID of the process that records layers.
    layer_process: Option<u32>,
    idle: Option<IdleProcess>,
    disks: DiskWatch,
    mounts: MountWatch,
    /// Facts about the machine, once they are recorded.
    facts: Option<FactWatch>,
    /// The time at which workers were stopped.
    stops: StopWatch,
    /// The created control groups.
    groups: MadeGroups,
    /// Number of OOM kills that the kernel had counted in this control group before the run.
    memory_kills: u64,
}

/// State of a worker.
#[derive(Default)]
struct Member {
    /// Process that runs it (shared by the threads of a batch); `None` before its start and after its end.
    process: Option<u32>,
    /// True if the worker was started and has been neither reported as ended nor released.
    is_running: bool,
    /// True if the worker was released because it is stuck.
    is_stuck: bool,
    /// sysfs directories of the devices below the worker's files; filled in on first use.
    devices: Option<Vec<PathBuf>>,
}

impl<'a> LocalCrew<'a> {
    /// Creates a crew for all workers of a plan, none of them started. `engines` holds the engine of each job.
    /// The calling process must stay single-threaded as long as the crew exists. It blocks the signals
    /// `blocked_signals`; its children do not.
    pub fn new(
        plan: &'a Plan,
        engines: Vec<EngineEntry>,
        clock: Clock,
        blocked_signals: Vec<i32>,
    ) -> Result<LocalCrew<'a>, Errno> {
        let region = Region::for_plan(plan)?;
        let (sender, receiver) = message::channel()?;
        Ok(LocalCrew {
            plan,
            engines,
            clock,
            blocked_signals,
            region,
            senders: (0..plan.workers.len()).map(|index| sender.of_worker(index)).collect(),
            sender,
            receiver,
            members: plan.workers.iter().map(|_| Member::default()).collect(),
            layout: None,
            log_writer: LogWriter::None,
            layer_process: None,
            idle: None,
            disks: DiskWatch::default(),
            mounts: MountWatch::default(),
            facts: None,
            stops: StopWatch::default(),
            groups: MadeGroups::default(),
            memory_kills: limits::group_memory_kills(),
        })
    }

    fn context(&self, index: usize) -> WorkerContext<'_> {
        WorkerContext {
            plan: self.plan,
            index,
            region: &self.region,
            clock: self.clock,
            engine: self.engines[self.plan.workers[index].job],
            messages: &self.senders[index],
        }
    }

    fn is_thread(&self, index: usize) -> bool {
        self.plan.workers[index].is_thread
    }

    /// Records the process of a worker, if there is one.
    fn note_start(&mut self, worker: usize, started: Result<u32, Errno>) -> Start {
        let process = started.map_err(refused);
        if let Ok(pid) = process {
            self.members[worker].process = Some(pid);
            self.members[worker].is_running = true;
            self.region.worker(worker).pid.store(pid, Relaxed);
        }
        Start { worker, process }
    }

    /// Kills a process that has a stuck worker, unless another worker (a thread of the same process) still
    /// needs it.
    fn end_stuck_process(&self, pid: u32) {
        let members = || self.members.iter().filter(|member| member.process == Some(pid));
        if members().any(|member| member.is_stuck) && !members().any(|member| member.is_running) {
            process::kill(pid, libc::SIGKILL);
        }
    }
}

/// Describes why a process could not be created.
fn refused(errno: Errno) -> Refusal {
    Refusal { errno, limits: exhausted::processes(errno) }
}

impl Crew for LocalCrew<'_> {
    fn lay_out(&mut self, workers: &[usize]) -> Result<u32, Refusal> {
        let pid = self.start_layout(workers).map_err(refused)?;
        self.layout = Some(pid);
        Ok(pid)
    }

    fn end_layout(&mut self) {
        if let Some(pid) = self.layout {
            process::kill(pid, libc::SIGKILL);
        }
    }

    fn start(&mut self, workers: &[usize]) -> Vec<Start> {
        for &index in workers {
            self.region.worker(index).set_stage(Stage::Created);
        }
        let (threads, processes): (Vec<usize>, Vec<usize>) =
            workers.iter().partition(|&&index| self.is_thread(index));
        let mut starts = Vec::with_capacity(workers.len());
        for index in processes {
            let started = self.start_process(index);
            starts.push(self.note_start(index, started));
        }
        if !threads.is_empty() {
            let started = self.start_threads(&threads);
            starts.extend(threads.into_iter().map(|index| self.note_start(index, started)));
        }
        starts
    }

    fn order(&mut self, worker: usize, order: Order) {
        self.region.worker(worker).send(order);
    }

    fn fail(&mut self, worker: usize, errno: Errno, text: &str) {
        self.region.worker(worker).fail_in_words(errno, text);
    }

    fn release(&mut self, worker: usize, is_stuck: bool) {
        self.close_logs_of(worker);
        let member = &mut self.members[worker];
        member.is_running = false;
        member.is_stuck |= is_stuck;
        if let Some(pid) = member.process {
            self.end_stuck_process(pid);
        }
    }

    fn descriptors(&self) -> Vec<RawFd> {
        vec![self.receiver.descriptor()]
    }

    fn poll(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        self.take_messages(&mut events);
        self.reap(&mut events);
        self.collect_ended_threads(&mut events);
        // A process that has ended may have left messages in the pipe, so they are read before its end is
        // reported.
        self.take_messages(&mut events);
        events
    }

    fn state(&self, worker: usize) -> WorkerState {
        look::state(&self.region, worker)
    }

    fn latencies(&self, worker: usize, direction: Direction, kind: LatencyKind) -> Histogram {
        let samples = &self.region.worker(worker).samples;
        match kind {
            LatencyKind::Completion => samples.directions[direction].clat.snapshot().histogram,
            LatencyKind::Total => samples.lat(direction).histogram,
            LatencyKind::Response => {
                let arrivals = self.region.arrivals(worker).map(|arrivals| &arrivals[direction]);
                arrivals.map(|arrivals| arrivals.response.snapshot().histogram).unwrap_or_default()
            }
        }
    }

    fn in_flight(&self, worker: usize) -> Vec<InFlight> {
        look::in_flight(self.region.units(worker), self.clock)
    }

    fn awaited_bytes(&self, worker: usize) -> u64 {
        self.bytes_awaited_by(worker)
    }

    fn signs_of_life(&mut self, worker: usize) -> SignsOfLife {
        self.look_for_life(worker)
    }

    fn figures(&self, worker: usize) -> Figures {
        look::figures(&self.region, worker)
    }
}
