//! Tests the supervisor with a crew that has neither processes nor shared memory: the test simulates workers as
//! if they were on another machine.

use super::{Observer, Options, Outcome, SliceRule, supervise};
use crate::crew::{
    Crew, Event, Figures, GroupFailure, IdlenessError, InFlight, LatencyKind, LayerKeeper, LogError,
    LogKeeper, LogLosses, LogState, Lost, Machine, Order, Refusal, SignsOfLife, Stage, Start, WorkerState,
};
use crate::message::{Envelope, Message};
use crate::plan::Plan;
use crate::unit::Operation;
use fathom_spec::engines::plain::PSYNC;
use fathom_spec::{SystemSource, parse};
use fathom_stats::Direction;
use fathom_stats::Histogram;
use fathom_stats::facts::RunFacts;
use fathom_stats::host::HostReport;
use fathom_stats::live::{LiveDetails, LiveDisk, LivePercentiles, LiveTick};
use fathom_stats::mounts::MountReport;
use fathom_stats::report::{CpuReport, DiskReport, IdlenessReport, JobError, RunReport};
use fathom_sys::Errno;
use fathom_sys::clock::monotonic_ns;
use fathom_sys::process::Ended;
use fathom_sys::task::{Task, TaskState};
use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::time::Duration;

/// Behaviour of a simulated worker.
#[derive(Clone, Copy)]
enum Fate {
    /// Reads this many bytes and ends.
    Reads(u64),
    /// Its process is killed.
    IsKilled,
    /// Runs until it is told to stop.
    Waits,
    /// Waits for an I/O past the end of its run time without making progress.
    Hangs,
    /// Cannot be started, because no process can be created.
    FindsNoProcess,
}

/// Workers that exist only in the test.
struct Elsewhere {
    fates: Vec<Fate>,
    states: Vec<WorkerState>,
    errors: Vec<Option<JobError>>,
    events: Vec<Event>,
    /// The requests that the supervisor made.
    asked: Vec<String>,
    always_readable: File,
}

impl Elsewhere {
    fn new(fates: &[Fate]) -> Elsewhere {
        Elsewhere {
            fates: fates.to_vec(),
            states: vec![WorkerState::default(); fates.len()],
            errors: vec![None; fates.len()],
            events: Vec::new(),
            asked: Vec::new(),
            always_readable: File::open("/dev/null").expect("every system has it"),
        }
    }

    fn ends(&mut self, worker: usize, lost: Option<Lost>) {
        let state = &mut self.states[worker];
        state.end_ns = monotonic_ns();
        if lost.is_none() {
            state.stage = Stage::Ended;
        }
        self.events.push(Event::Ended { worker, lost });
    }

    fn goes(&mut self, worker: usize) {
        let now = monotonic_ns();
        let state = &mut self.states[worker];
        (state.begin_ns, state.start_ns, state.epoch, state.stage) = (now, now, 1, Stage::Running);
        match self.fates[worker] {
            Fate::Reads(bytes) => {
                state.directions[Direction::Read].bytes = bytes;
                state.directions[Direction::Read].ios = bytes / 4096;
                state.directions[Direction::Read].latencies = bytes / 4096;
                let message = Message::Output(format!("worker {worker} has read"));
                self.events.push(Event::Said(Envelope { worker: Some(worker), message }));
                self.ends(worker, None);
            }
            Fate::IsKilled => {
                let cpu = CpuReport { user_us: 7, ..CpuReport::default() };
                let lost = Lost { ended: Ended::Killed(libc::SIGKILL), cpu, without_memory: None };
                self.ends(worker, Some(lost));
            }
            Fate::Hangs => (state.deadline_ns, state.stage) = (now, Stage::Draining),
            Fate::Waits | Fate::FindsNoProcess => {}
        }
    }
}

impl Crew for Elsewhere {
    fn lay_out(&mut self, workers: &[usize]) -> Result<u32, Refusal> {
        self.asked.push(format!("lay out {workers:?}"));
        self.events.push(Event::LayoutEnded(Ended::Exited(0)));
        Ok(1)
    }

    fn end_layout(&mut self) {}

    fn start(&mut self, workers: &[usize]) -> Vec<Start> {
        self.asked.push(format!("start {workers:?}"));
        let mut starts = Vec::new();
        for &worker in workers {
            let process = match self.fates[worker] {
                Fate::FindsNoProcess => {
                    Err(Refusal { errno: Errno(libc::EAGAIN), limits: "one is the limit".to_owned() })
                }
                _ => Ok(100 + worker as u32),
            };
            self.states[worker].stage = if process.is_ok() { Stage::Ready } else { Stage::NotStarted };
            starts.push(Start { worker, process });
        }
        starts
    }

    fn order(&mut self, worker: usize, order: Order) {
        self.asked.push(format!("{order:?} {worker}"));
        match order {
            Order::Go => self.goes(worker),
            Order::Stop if self.states[worker].stage == Stage::Running => self.ends(worker, None),
            _ => {}
        }
    }

    fn fail(&mut self, worker: usize, errno: Errno, text: &str) {
        self.states[worker].has_failed = true;
        self.errors[worker].get_or_insert(JobError { code: errno.0, text: text.to_owned() });
    }

    fn release(&mut self, worker: usize, is_stuck: bool) {
        let how = if is_stuck { " as stuck" } else { "" };
        self.asked.push(format!("release {worker}{how}"));
    }

    fn descriptors(&self) -> Vec<RawFd> {
        vec![self.always_readable.as_raw_fd()]
    }

    fn poll(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn state(&self, worker: usize) -> WorkerState {
        self.states[worker]
    }

    /// All I/Os of the first worker take 0.9 ms, those of the second 1.8 ms, and so on.
    fn latencies(&self, worker: usize, direction: Direction, _: LatencyKind) -> Histogram {
        let mut histogram = Histogram::default();
        for _ in 0..self.states[worker].directions[direction].ios {
            histogram.record((worker as u64 + 1) * 900_000);
        }
        histogram
    }

    fn in_flight(&self, worker: usize) -> Vec<InFlight> {
        let operation = Operation::Read;
        match self.fates[worker] {
            Fate::Hangs => vec![InFlight { operation, file: 0, offset: 4096, length: 512, age_ns: 3 << 30 }],
            _ => Vec::new(),
        }
    }

    fn awaited_bytes(&self, _: usize) -> u64 {
        0
    }

    fn signs_of_life(&mut self, _: usize) -> SignsOfLife {
        let task = Task { state: TaskState::Waiting, used_ticks: 7, turns: None };
        SignsOfLife { task: Some(task), devices: 1, logs: 1, in_flight: true }
    }

    fn figures(&self, worker: usize) -> Figures {
        let state = self.states[worker];
        let mut figures = Figures { taken_ns: monotonic_ns(), state, ..Figures::default() };
        figures.error.clone_from(&self.errors[worker]);
        figures.directions[Direction::Read].io_bytes = state.bytes();
        figures.directions[Direction::Read].total_ios = state.directions[Direction::Read].ios;
        figures
    }
}

impl LogKeeper for Elsewhere {
    fn open_logs(&mut self, _: &mut dyn FnMut(&Path) -> bool) -> Result<(), LogError> {
        Ok(())
    }

    fn log_state(&self) -> LogState {
        LogState::Done
    }

    fn finish_logs(&mut self) {}

    fn give_up_logs(&mut self) -> Ended {
        Ended::Exited(0)
    }

    fn log_losses(&self) -> LogLosses {
        LogLosses::default()
    }
}

impl LayerKeeper for Elsewhere {}

impl Machine for Elsewhere {
    fn make_control_groups(&mut self) -> Vec<GroupFailure> {
        Vec::new()
    }

    fn remove_control_groups(&mut self) -> Vec<String> {
        Vec::new()
    }

    fn measure_idleness(&mut self, _: &mut dyn FnMut() -> bool) -> Result<(), IdlenessError> {
        Ok(())
    }

    fn idleness(&self, _: bool) -> Option<IdlenessReport> {
        None
    }

    fn watch_disks(&mut self, _: usize) {}

    fn disks(&self) -> Vec<DiskReport> {
        Vec::new()
    }

    fn mounts(&self) -> Vec<MountReport> {
        Vec::new()
    }

    fn end_stage_of_mounts(&mut self) -> Vec<MountReport> {
        Vec::new()
    }

    fn end_stage_of_disks(&mut self) -> Vec<DiskReport> {
        Vec::new()
    }

    fn look_at_disks(&mut self) -> Vec<LiveDisk> {
        Vec::new()
    }

    fn devices_of(&self, _: usize) -> BTreeSet<String> {
        BTreeSet::new()
    }

    fn host(&self) -> HostReport {
        HostReport { name: "elsewhere".to_owned(), ..HostReport::default() }
    }

    fn begin_facts(&mut self) {}

    fn look_at_facts(&mut self, _: u64) {}

    fn facts(&self) -> Option<RunFacts> {
        None
    }
}

/// Records the messages of a run, and the details that a view would show.
#[derive(Default)]
struct Lines(Vec<String>, Vec<LiveDetails>);

impl Observer for Lines {
    fn message(&mut self, message: &Message) {
        self.0.extend(match message {
            Message::Output(text) | Message::Error(text) | Message::Failure(text) => Some(text.clone()),
            _ => None,
        });
    }

    fn tick(&mut self, _: &LiveTick, details: Option<&LiveDetails>) {
        self.1.extend(details.cloned());
    }

    fn interim_report(&mut self, _: &RunReport) {}
}

/// Runs jobs with this behaviour; returns the outcome, the requests to the crew, and the messages.
fn run(words: &str, fates: &[Fate]) -> (Outcome, Vec<String>, Vec<String>) {
    let (outcome, asked, lines) = run_with_ticks(words, fates, None);
    (outcome, asked, lines.0)
}

/// Like [`run`], with a view that is updated at this interval.
fn run_with_ticks(words: &str, fates: &[Fate], tick: Option<Duration>) -> (Outcome, Vec<String>, Lines) {
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let fathom_spec::Outcome::Run(spec) = parse("fathom", &words, &SystemSource::new(4096)) else {
        panic!("{words:?}")
    };
    let plan = Plan::new(&spec, |_| Some(PSYNC)).expect("a plan");
    let options = Options {
        tick,
        live_view: tick.is_some(),
        status_interval: None,
        snapshot: None,
        idleness: None,
        slices: Some(SliceRule { length: Duration::from_secs(3600), count: 2 }),
        timeline: false,
        patience: Some(Duration::from_millis(100)),
        report_alone: false,
        version: "test",
    };
    let mut crew = Elsewhere::new(fates);
    let mut lines = Lines::default();
    let outcome = supervise(&plan, &mut crew, options, &mut lines).expect("nothing to refuse");
    (outcome, crew.asked, lines)
}

#[test]
fn stages_follow_each_other_and_their_figures_are_reported() {
    let words = "--ioengine=psync --size=1m --rw=read --name=a --name=b --name=c --stonewall";
    let (outcome, asked, lines) = run(words, &[Fate::Reads(8192), Fate::Reads(4096), Fate::Reads(1 << 20)]);
    let expected = [
        "lay out [0, 1, 2]",
        "start [0, 1]",
        "Go 0",
        "Go 1",
        "release 0",
        "release 1",
        "start [2]",
        "Go 2",
        "release 2",
    ];
    assert_eq!(asked, expected);
    assert_eq!(lines, ["worker 0 has read", "worker 1 has read", "worker 2 has read"]);
    let bytes: Vec<u64> =
        outcome.report.jobs.iter().map(|job| job.directions[Direction::Read].io_bytes).collect();
    assert_eq!(bytes, [8192, 4096, 1 << 20]);
    assert_eq!(outcome.failed_jobs, 0);
    assert_eq!(outcome.report.host.expect("a machine").name, "elsewhere");
    // The reads are 2 of 0.9 ms, 1 of 1.8 ms and 256 of 2.7 ms; reads above 1 ms are slow.
    let slices = outcome.report.slices.expect("there are readers").slices;
    assert_eq!(slices.iter().map(|slice| (slice.reads, slice.above[0])).collect::<Vec<_>>(), [(259, 257)]);
}

/// A view gets all latencies, regardless of the tick in which they occur, because the totals of several hosts
/// are computed from them.
#[test]
fn details_hold_the_histograms_of_their_percentiles() {
    let words = "--ioengine=psync --size=1m --rw=read --name=a --name=b --name=c";
    let fates = [Fate::Reads(3 * 4096), Fate::Reads(2 * 4096), Fate::Hangs];
    let (_, _, lines) = run_with_ticks(words, &fates, Some(Duration::from_millis(1)));
    let (mut all, mut of_jobs) = (Histogram::default(), [(); 3].map(|()| Histogram::default()));
    for details in &lines.1 {
        assert_eq!(LivePercentiles::of(&details.histogram), details.latency);
        all.merge(&details.histogram);
        for (own, job) in of_jobs.iter_mut().zip(&details.jobs) {
            assert_eq!(LivePercentiles::of(&job.histogram), job.latency);
            own.merge(&job.histogram);
        }
    }
    assert_eq!((all.count(), of_jobs.map(|job| job.count())), (5, [3, 2, 0]));
}

#[test]
fn a_worker_that_is_lost_ends_those_that_should_end_with_it() {
    let words =
        "--ioengine=psync --size=1m --rw=read --name=a --exitall_on_error --name=b --name=c --stonewall";
    let (outcome, asked, lines) = run(words, &[Fate::IsKilled, Fate::Waits, Fate::Reads(4096)]);
    assert_eq!(asked[1..6], ["start [0, 1]", "Go 0", "Go 1", "release 0", "Stop 1"]);
    assert_eq!(lines, ["fio: pid=100, got signal=9"]);
    let report = &outcome.report;
    assert_eq!(report.jobs[0].error.as_ref().map(|error| error.code), Some(libc::EINTR));
    assert_eq!(report.jobs[0].cpu.user_us, 7);
    assert_eq!(report.jobs[1].error, None);
    assert!(report.jobs[2].never_ran, "what has not begun never does");
    assert_eq!(outcome.failed_jobs, 1);
    let note = "job a (pid 100) was killed by signal 9; its figures are those up to that moment";
    assert!(report.notes.iter().any(|said| said == note), "{:?}", report.notes);
}

#[test]
fn without_a_process_a_job_fails_and_the_others_run() {
    let words = "--ioengine=psync --size=1m --rw=read --name=a --name=b";
    let (outcome, asked, lines) = run(words, &[Fate::FindsNoProcess, Fate::Reads(4096)]);
    assert_eq!(asked[1..], ["start [0, 1]", "release 0", "Go 1", "release 1"]);
    let refused = "fathom: no process for job a: Resource temporarily unavailable; one is the limit";
    assert_eq!(lines, [refused, "worker 1 has read"]);
    assert_eq!(outcome.failed_jobs, 1);
    assert_eq!(outcome.report.jobs[0].error.as_ref().map(|error| error.code), Some(libc::EAGAIN));
}

#[test]
fn what_hangs_is_named_and_given_up() {
    let words = "--ioengine=psync --size=1m --rw=read --name=a --filename=f --name=b --stonewall";
    let (outcome, asked, lines) = run(words, &[Fate::Hangs, Fate::Reads(4096)]);
    assert_eq!(asked[1..], ["start [0]", "Go 0", "release 0 as stuck", "start [1]", "Go 1", "release 1"]);
    assert!(lines.iter().any(|line| line.starts_with("fio: pid=100, err=110/")), "{lines:?}");
    let stuck = "job a (pid 100) is stuck: 1 I/O does not return: read f offset=4096 length=512 for 3.2 s; ";
    let notes = &outcome.report.notes;
    assert!(notes.iter().any(|note| note.starts_with(stuck)), "{notes:?}");
    assert_eq!(outcome.failed_jobs, 1);
}
