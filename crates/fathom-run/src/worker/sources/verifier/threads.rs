//! `verify_async`: threads that check reads while the worker continues with the next I/O.

use super::Known;
use crate::invariant::{self, Invariant, broken, holds};
use crate::plan::model::verify::VerifyPlan;
use fathom_verify::check::Mismatch;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use thiserror::Error;

/// Number of pending reads per thread.
const WAITING_PER_THREAD: usize = 4;

/// A read to be checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    /// First byte in the file.
    pub(super) offset: u64,
    /// Index of the file.
    pub(super) file: u32,
    /// The expectations of the data.
    pub(super) known: Known,
    /// Number of the clone that wrote the data.
    pub(super) thread: u16,
}

/// Why a read cannot be checked; each is a defect in this program.
#[derive(Debug, Error)]
enum CheckerError {
    /// A thread panicked with this text.
    #[error("{0}")]
    Panicked(String),
    /// All threads have ended.
    #[error("no thread is left")]
    Gone,
}

/// A checked read.
pub(super) struct Checked {
    pub(super) task: Task,
    pub(super) data: Vec<u8>,
    pub(super) mismatches: Vec<Mismatch>,
}

/// The threads, and the channels to and from them.
pub(super) struct Checkers {
    tasks: Option<SyncSender<(Task, Vec<u8>)>>,
    results: Receiver<Result<Checked, CheckerError>>,
    threads: Vec<JoinHandle<()>>,
    /// Buffers into which reads are copied.
    buffers: Vec<Vec<u8>>,
    /// Number of reads that were handed over and not yet returned.
    under_way: usize,
}

impl Checkers {
    /// Starts all threads, or none if one of them fails.
    pub(super) fn start(count: u32, plan: &VerifyPlan) -> std::io::Result<Checkers> {
        let (tasks, task_queue) = sync_channel(count as usize * WAITING_PER_THREAD);
        let (result_sender, results) = channel();
        let task_queue = Arc::new(Mutex::new(task_queue));
        let mut checkers =
            Checkers { tasks: Some(tasks), results, threads: Vec::new(), buffers: Vec::new(), under_way: 0 };
        for _ in 0..count {
            let (tasks, results, plan) = (Arc::clone(&task_queue), result_sender.clone(), plan.clone());
            let thread = std::thread::Builder::new().spawn(move || run(&tasks, &results, &plan));
            checkers.threads.push(thread?);
        }
        Ok(checkers)
    }

    /// Hands a read over; waits while all threads are busy.
    pub(super) fn hand_over(&mut self, task: Task, data: &[u8]) {
        let mut buffer = self.buffers.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(data);
        let is_taken = self.tasks.as_ref().is_some_and(|tasks| tasks.send((task, buffer)).is_ok());
        holds!(is_taken, Checked, "no thread takes a read at {}", task.offset);
        self.under_way += 1;
    }

    /// The next result that is already available, if any.
    pub(super) fn ready(&mut self) -> Option<Checked> {
        let result = self.results.try_recv().ok()?;
        Some(self.back(result))
    }

    /// Waits for the next result; `None` if none is pending.
    pub(super) fn wait_for_one(&mut self) -> Option<Checked> {
        if self.under_way == 0 {
            return None;
        }
        let result = self.results.recv();
        Some(self.back(result.unwrap_or(Err(CheckerError::Gone))))
    }

    fn back(&mut self, result: Result<Checked, CheckerError>) -> Checked {
        self.under_way -= 1;
        result.unwrap_or_else(|why| broken(Invariant::Checked, format_args!("{why}")))
    }

    /// Takes back a buffer.
    pub(super) fn recycle(&mut self, buffer: Vec<u8>) {
        self.buffers.push(buffer);
    }
}

impl Drop for Checkers {
    fn drop(&mut self) {
        // Dropping the sender makes the threads end.
        self.tasks = None;
        for thread in self.threads.drain(..) {
            // A thread that panicked has already reported that.
            let _ = thread.join();
        }
    }
}

fn run(
    tasks: &Mutex<Receiver<(Task, Vec<u8>)>>,
    results: &Sender<Result<Checked, CheckerError>>,
    plan: &VerifyPlan,
) {
    if !plan.thread_cpus.is_empty() {
        // If these processors do not exist, the thread keeps its affinity.
        let _ = fathom_sys::affinity::bind(&plan.thread_cpus);
    }
    loop {
        let next = tasks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((task, mut data)) = next else { return };
        // The panic is caught, because it must reach the receiver of the result.
        let checked = catch_unwind(AssertUnwindSafe(|| task.check(plan, &mut data, None)));
        let result = match checked {
            Ok(mismatches) => Ok(Checked { task, data, mismatches }),
            Err(payload) => Err(CheckerError::Panicked(invariant::text_of(&*payload))),
        };
        if results.send(result).is_err() {
            return;
        }
    }
}
