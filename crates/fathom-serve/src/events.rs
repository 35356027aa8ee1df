//! Events of a run, each a line of JSON. The run's process writes them, and browsers read them.

use fathom_stats::live::{LiveDetails, LiveJob, LivePercentiles, LiveTick, RunState};
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Number of ticks that are all written. Afterwards only every tenth tick is written, because viewers of a run
/// of hours do not need every second.
const EACH: u64 = 3600;
const LATER: u64 = 10;
/// Maximum number of jobs, and of devices, in a tick.
const MOST_LISTED: usize = 200;
/// Maximum number of messages of jobs. The number is limited because a job may print any number.
const MOST_MESSAGES: u64 = 1000;

/// One event.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub(crate) enum Event<'a> {
    /// A tick. Rates are those of the preceding interval: read, write, trim.
    Tick {
        at_ms: u64,
        percent: Option<f64>,
        to_go_s: Option<u64>,
        bytes_per_second: [u64; 3],
        iops: [u64; 3],
        latency: Option<LivePercentiles>,
        /// I/Os in flight, and the requested queue depth.
        depth: Option<(u64, u64)>,
        jobs: Vec<JobTick<'a>>,
        disks: Vec<DiskTick<'a>>,
        /// Number of jobs and devices that are left out.
        further_jobs: usize,
        further_disks: usize,
    },
    /// A message of a worker or of the supervisor.
    Message { text: &'a str },
}

/// A job in a tick.
#[derive(Debug, Serialize)]
pub(crate) struct JobTick<'a> {
    name: &'a str,
    state: &'static str,
    running: usize,
    clones: usize,
    bytes_per_second: u64,
    iops: u64,
    p99_ns: Option<u64>,
    errors: u64,
}

/// A device in a tick.
#[derive(Debug, Serialize)]
pub(crate) struct DiskTick<'a> {
    name: &'a str,
    is_member: bool,
    util_percent: f64,
    bytes_per_second: [u64; 2],
    iops: [u64; 2],
}

impl<'a> Event<'a> {
    pub(crate) fn tick(at_ms: u64, tick: &LiveTick, details: Option<&'a LiveDetails>) -> Event<'a> {
        let of_disk = |disk: &'a fathom_stats::live::LiveDisk| DiskTick {
            name: &disk.name,
            is_member: disk.is_member,
            util_percent: disk.util_percent,
            bytes_per_second: disk.bytes_per_second,
            iops: disk.iops,
        };
        Event::Tick {
            at_ms,
            // For a command, this percentage would be the progress of only one of its runs.
            percent: details.and(tick.percent_done),
            to_go_s: details.and(tick.eta_seconds),
            bytes_per_second: tick.bytes_per_second.into_array(),
            iops: tick.iops.into_array(),
            latency: details.and_then(|details| details.latency),
            depth: details.map(LiveDetails::depth),
            jobs: details
                .map_or(Vec::new(), |details| details.jobs.iter().take(MOST_LISTED).map(job).collect()),
            disks: details
                .map_or(Vec::new(), |details| details.disks.iter().take(MOST_LISTED).map(of_disk).collect()),
            further_jobs: details.map_or(0, |details| details.jobs.len().saturating_sub(MOST_LISTED)),
            further_disks: details.map_or(0, |details| details.disks.len().saturating_sub(MOST_LISTED)),
        }
    }
}

fn job(job: &LiveJob) -> JobTick<'_> {
    let running = job.states.iter().filter(|state| state.is_under_way()).count();
    // Of all clones, a running one says most about the job, so its state is shown.
    let shown = job.states.iter().find(|state| state.is_under_way()).or(job.states.first());
    JobTick {
        name: &job.name,
        state: shown.map_or("waiting", |state| word(*state)),
        running,
        clones: job.states.len(),
        bytes_per_second: job.bytes_per_second.values().sum(),
        iops: job.iops.values().sum(),
        p99_ns: job.latency.map(|latency| latency.p99_ns),
        errors: job.errors,
    }
}

fn word(state: RunState) -> &'static str {
    match state {
        RunState::NotStarted => "waiting",
        RunState::Created | RunState::Initialising => "set-up",
        RunState::PreReading => "pre-read",
        RunState::Ramping => "ramp",
        RunState::Reading { .. } => "reading",
        RunState::Writing { .. } => "writing",
        RunState::Mixed { .. } => "reading and writing",
        RunState::Trimming { .. } => "trimming",
        RunState::Verifying => "verifying",
        RunState::FinalSync => "fsync",
        RunState::Finishing => "finishing",
        RunState::Exited | RunState::Reaped => "done",
        RunState::Failed => "failed",
        RunState::Killed => "killed",
    }
}

/// Writes events to the run's file.
pub(crate) struct Events {
    file: File,
    ticks: u64,
    messages: u64,
}

impl Events {
    pub(crate) fn create(path: &Path) -> io::Result<Events> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        Ok(Events { file, ticks: 0, messages: 0 })
    }

    /// Writes a tick, unless it can be left out because enough were written.
    pub(crate) fn tick(&mut self, event: &Event<'_>) {
        self.ticks += 1;
        if self.ticks <= EACH || self.ticks.is_multiple_of(LATER) {
            self.write(event);
        }
    }

    pub(crate) fn message(&mut self, text: &str) {
        self.messages += 1;
        match self.messages {
            ..=MOST_MESSAGES => self.write(&Event::Message { text }),
            number if number == MOST_MESSAGES + 1 => {
                self.write(&Event::Message { text: "further messages are in stderr.txt" });
            }
            _ => {}
        }
    }

    /// Writes a line with a single call. If the disk of the results is full, viewers lose events, but the run
    /// is not affected.
    fn write(&mut self, event: &Event<'_>) {
        if let Ok(mut line) = serde_json::to_vec(event) {
            line.push(b'\n');
            let _ = self.file.write_all(&line);
        }
    }
}
