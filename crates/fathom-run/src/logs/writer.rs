//! The log writer: removes records from the workers' rings and writes them to files until no worker runs any
//! longer.

use super::recording::Recording;
use super::{LogFile, LogRegion, OpenLogs, Ring, aggregate};
use crate::exhausted;
use crate::message::{Message, MessageSender};
use crate::plan::Plan;
use crate::plan::model::logs::LogPlan;
use crate::region::Region;
use fathom_logs::LogSet;
use fathom_logs::ring::Consumer;
use fathom_sys::Errno;
use fathom_sys::affinity;
use std::thread::Scope;
use std::time::{Duration, Instant};

/// A log is written once this many bytes are pending.
const WRITE_BYTES: usize = 128 << 10;
/// A log is also written at this interval, for readers who follow it during the run.
const WRITE_INTERVAL: Duration = Duration::from_millis(500);
/// Longest sleep; a worker whose ring fills up wakes the thread earlier.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);
/// After a round with more records than this, the next one follows immediately.
const BUSY_RECORDS: u64 = 4096;

/// The output produced from the records of a ring.
enum Content {
    Logs(Box<LogSet>),
    Recording(Recording),
}

/// One ring of a worker, as the writer sees it.
struct Keeper<'a> {
    consumer: Consumer<'a>,
    content: Content,
    files: Vec<LogFile>,
    cpus: Option<Vec<u32>>,
    thread: usize,
    done: bool,
}

/// Writes all logs of a run; returns when everything has been written.
pub(crate) fn write_logs(
    plan: &Plan,
    region: &Region,
    logs: &LogRegion,
    open: OpenLogs,
    messages: &MessageSender,
) {
    let mut by_thread: Vec<Vec<Keeper<'_>>> = (0..logs.threads()).map(|_| Vec::new()).collect();
    // With `log_compression_cpus`, each thread serves a single job, because the job's CPUs apply to the whole
    // thread.
    let mut bound = Vec::new();
    for (index, files) in open.of_workers.into_iter().enumerate() {
        let Some(plan) = &plan.workers[index].logs else { continue };
        let Some(keeper) = Keeper::new(logs, index, plan, files) else { continue };
        match keeper.cpus.is_some() {
            true => bound.push(vec![keeper]),
            false => by_thread[keeper.thread].push(keeper),
        }
    }
    for (index, file) in open.of_recordings.into_iter().enumerate() {
        let recording = || Recording::new(plan, &plan.workers[index]);
        let keeper = file.and_then(|file| Keeper::of_recording(logs, index, recording(), file));
        keeper.into_iter().for_each(|keeper| by_thread[keeper.thread].push(keeper));
    }
    std::thread::scope(|scope| {
        if !open.aggregate.is_empty() {
            let files = open.aggregate;
            start(scope, messages, move || aggregate::sample_bandwidth(plan, region, logs, files, messages));
        }
        for keepers in by_thread.into_iter().chain(bound).filter(|keepers| !keepers.is_empty()) {
            serve(scope, keepers, logs, messages);
        }
    });
}

/// Starts a thread. If that fails, the process exits and the supervisor notices; otherwise a log would have no
/// writer and its worker would wait forever.
fn start<'s>(scope: &'s Scope<'s, '_>, messages: &MessageSender, work: impl FnOnce() + Send + 's) {
    if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, work).map_err(Errno::from) {
        messages.send(&Message::Error(format!(
            "fathom: no thread to write logs with: {error}; {}",
            exhausted::processes(error)
        )));
        fathom_sys::process::exit_now(1);
    }
}

fn serve<'s, 'a: 's>(
    scope: &'s Scope<'s, '_>,
    mut keepers: Vec<Keeper<'a>>,
    logs: &'a LogRegion,
    messages: &'a MessageSender,
) {
    start(scope, messages, move || {
        if let Some(cpus) = keepers.first().and_then(|keeper| keeper.cpus.as_ref())
            && let Err(errno) = affinity::bind(cpus)
        {
            let text = format!("fathom: log_compression_cpus: cannot bind to these processors: {errno}");
            messages.send(&Message::Error(text));
        }
        let mut written = Instant::now();
        while !keepers.iter().all(|keeper| keeper.done) {
            let taken: u64 = keepers.iter_mut().map(|keeper| keeper.take(logs, messages)).sum();
            if written.elapsed() >= WRITE_INTERVAL {
                keepers.iter_mut().for_each(|keeper| keeper.write(0, logs, messages));
                written = Instant::now();
            }
            if taken <= BUSY_RECORDS && !logs.is_finished() {
                logs.thread(keepers[0].thread).sleep(LONGEST_SLEEP);
            }
        }
    });
}

impl<'a> Keeper<'a> {
    fn new(logs: &'a LogRegion, index: usize, plan: &LogPlan, files: Vec<LogFile>) -> Option<Keeper<'a>> {
        Some(Keeper {
            consumer: logs.consumer(Ring::Logs, index)?,
            content: Content::Logs(Box::new(LogSet::new(&plan.rules))),
            files,
            cpus: plan.cpus.clone(),
            thread: logs.thread_of(Ring::Logs, index)?,
            done: false,
        })
    }

    fn of_recording(
        logs: &'a LogRegion,
        index: usize,
        recording: Recording,
        file: LogFile,
    ) -> Option<Keeper<'a>> {
        Some(Keeper {
            consumer: logs.consumer(Ring::Recording, index)?,
            content: Content::Recording(recording),
            files: vec![file],
            cpus: None,
            thread: logs.thread_of(Ring::Recording, index)?,
            done: false,
        })
    }

    /// Removes the available records from the ring; returns their number.
    fn take(&mut self, logs: &LogRegion, messages: &MessageSender) -> u64 {
        if self.done {
            return 0;
        }
        // The flag is read first: every record pushed before the ring was closed is then removed below.
        let closed = self.consumer.header().is_closed();
        let epoch_ms = self.consumer.header().epoch_ms();
        let mut total = 0;
        loop {
            let files = &mut self.files;
            let taken = match &mut self.content {
                Content::Logs(set) => {
                    set.set_epoch_ms(epoch_ms);
                    let mut spill =
                        |number: usize, bytes: &mut Vec<u8>| write_to(files, number, bytes, logs, messages);
                    self.consumer.drain(|record| set.add(record, &mut spill))
                }
                Content::Recording(recording) => self.consumer.drain(|record| {
                    recording.add(record);
                    if recording.bytes.len() >= WRITE_BYTES {
                        write_to(files, 0, &mut recording.bytes, logs, messages);
                    }
                }),
            };
            total += taken;
            self.write(WRITE_BYTES, logs, messages);
            if taken == 0 {
                break;
            }
        }
        if closed {
            if let Content::Logs(set) = &mut self.content {
                let files = &mut self.files;
                let mut spill =
                    |number: usize, bytes: &mut Vec<u8>| write_to(files, number, bytes, logs, messages);
                set.finish(self.consumer.header().end_ns(), &mut spill);
            }
            self.write(0, logs, messages);
            self.done = true;
        }
        total
    }

    /// Writes every log with at least this many pending bytes.
    fn write(&mut self, at_least: usize, logs: &LogRegion, messages: &MessageSender) {
        let set = match &mut self.content {
            Content::Logs(set) => set,
            Content::Recording(recording) => {
                if recording.bytes.len() >= at_least {
                    write_to(&mut self.files, 0, &mut recording.bytes, logs, messages);
                }
                return;
            }
        };
        for (output, file) in set.outputs().iter_mut().zip(&mut self.files) {
            if output.bytes.len() >= at_least {
                file.write(&mut output.bytes, logs, messages);
            }
        }
    }
}

/// Collects the writes to one of several logs.
fn write_to(
    files: &mut [LogFile],
    number: usize,
    bytes: &mut Vec<u8>,
    logs: &LogRegion,
    messages: &MessageSender,
) {
    match files.get_mut(number) {
        Some(file) => file.write(bytes, logs, messages),
        None => bytes.clear(),
    }
}
