//! A run in progress, from the point of view of the program that started it.

use crate::error::RunError;
use crate::wire::{Progress, Told};
use fathom_results::RunResult;
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Interval between checks of the process: if it was killed, one of its workers may keep the pipe open.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Time that a dropped run may take to end before it is killed.
const PATIENCE: Duration = Duration::from_secs(30);

/// An event of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A message about a job: a failure, the layout of a file, or information from an engine.
    Message(String),
    /// The progress of the run; an unread report is replaced by the next.
    Progress(Progress),
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The result with its verdict, including the errors of failed jobs.
    pub result: RunResult,
    /// The result as a document, as printed by `fathom --output-format=json+`.
    pub document: String,
    /// Number of failed jobs.
    pub failed_jobs: u32,
    /// True if the run was ended early, by [`Stopper::stop`] or a signal; the figures cover the time until then.
    pub is_stopped: bool,
}

/// A run in progress. Dropping it ends the run and waits for at most half a minute before killing it.
#[derive(Debug)]
pub struct Running {
    process: Child,
    stopper: Stopper,
    inbox: Arc<Inbox>,
}

/// Ends a run early, from any thread.
#[derive(Clone, Debug)]
pub struct Stopper {
    /// The pipe to the run, until the run is asked to end.
    pipe: Arc<Mutex<Option<ChildStdin>>>,
}

impl Stopper {
    /// Asks the run to end. Its jobs finish their I/Os in flight, and [`Running::finish`] returns the results
    /// so far.
    pub fn stop(&self) {
        *locked(&self.pipe) = None;
    }
}

/// Events in transit from the thread that reads them.
#[derive(Debug, Default)]
struct Inbox {
    state: Mutex<Pending>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Pending {
    messages: VecDeque<String>,
    progress: Option<Progress>,
    end: Option<End>,
}

/// The last line of a run, if any.
#[derive(Debug)]
enum End {
    Told(Told),
    Lost,
}

impl Running {
    /// Follows the process of a run.
    pub(crate) fn of(mut process: Child) -> Result<Running, RunError> {
        let pipe = Arc::new(Mutex::new(process.stdin.take()));
        let output = process.stdout.take();
        let running = Running { process, stopper: Stopper { pipe }, inbox: Arc::default() };
        let inbox = Arc::clone(&running.inbox);
        let Some(output) = output else {
            return Err(RunError::Process(io::Error::other("its output has no pipe")));
        };
        let reader = std::thread::Builder::new().name("fathom-events".to_owned());
        reader.spawn(move || inbox.read(output)).map_err(RunError::Process)?;
        Ok(running)
    }

    /// Sends the plan.
    pub(crate) fn send(&mut self, line: &[u8]) -> Result<(), RunError> {
        let mut pipe = locked(&self.stopper.pipe);
        match pipe.as_mut().map_or(Ok(()), |pipe| pipe.write_all(line)) {
            // A broken pipe is ignored, because the exit status of the process is more informative.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(RunError::Process(error)),
            _ => Ok(()),
        }
    }

    /// The process of the run, for example to put it into a control group.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// A handle that ends the run early from another thread.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Waits for the next event; returns `None` once the run has ended.
    pub fn next_event(&mut self) -> Option<Event> {
        let inbox = Arc::clone(&self.inbox);
        let mut pending = locked(&inbox.state);
        loop {
            if let Some(event) = pending.take_event() {
                return Some(event);
            }
            if pending.end.is_some() {
                return None;
            }
            pending = self.wait(&inbox, pending);
        }
    }

    /// Waits for the end of the run and drops unread events.
    pub fn finish(mut self) -> Result<Outcome, RunError> {
        while self.next_event().is_some() {}
        let end = locked(&self.inbox.state).end.take();
        let status = self.process.wait().map_err(RunError::Process)?;
        match end {
            Some(End::Told(last)) => outcome(last),
            Some(End::Lost) | None => Err(RunError::Lost(status)),
        }
    }

    /// Waits for a change, or detects that the process has ended without a last line.
    fn wait<'i>(&mut self, inbox: &'i Inbox, pending: MutexGuard<'i, Pending>) -> MutexGuard<'i, Pending> {
        let had_ended = self.has_ended();
        let (mut pending, timeout) =
            inbox.changed.wait_timeout(pending, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner);
        // All output before the end of the process has been read by now, so no last line follows.
        if had_ended && timeout.timed_out() && pending.end.is_none() {
            pending.end = Some(End::Lost);
        }
        pending
    }

    fn has_ended(&mut self) -> bool {
        self.process.try_wait().is_ok_and(|status| status.is_some())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        let began = Instant::now();
        let inbox = Arc::clone(&self.inbox);
        let mut pending = locked(&inbox.state);
        while !self.has_ended() && began.elapsed() < PATIENCE {
            pending = match pending.end {
                // The process has sent its last line, so it ends without a request.
                Some(_) => break,
                None => self.wait(&inbox, pending),
            };
        }
        if pending.end.is_none() {
            // The result is ignored, because an error means that the process has ended meanwhile.
            let _ = self.process.kill();
        }
        drop(pending);
        let _ = self.process.wait();
    }
}

impl Inbox {
    /// Reads the events of a run until it ends.
    fn read(&self, output: ChildStdout) {
        let mut output = BufReader::new(output);
        let mut line = String::new();
        let end = loop {
            line.clear();
            let told = match output.read_line(&mut line) {
                Ok(1..) => serde_json::from_str(&line),
                Ok(0) | Err(_) => break End::Lost,
            };
            match told {
                Ok(Told::Message(message)) => self.change(|pending| pending.messages.push_back(message)),
                Ok(Told::Progress(progress)) => self.change(|pending| pending.progress = Some(progress)),
                Ok(last) => break End::Told(last),
                Err(_) => break End::Lost,
            }
        };
        self.change(|pending| pending.end = Some(end));
    }

    fn change(&self, change: impl FnOnce(&mut Pending)) {
        change(&mut locked(&self.state));
        self.changed.notify_all();
    }
}

impl Pending {
    fn take_event(&mut self) -> Option<Event> {
        let message = self.messages.pop_front().map(Event::Message);
        message.or_else(|| self.progress.take().map(Event::Progress))
    }
}

/// Interprets the last line of a run.
fn outcome(last: Told) -> Result<Outcome, RunError> {
    match last {
        Told::Ended { document, failed_jobs, is_stopped } => {
            let result = fathom_results::parse(&document, "the run")?;
            Ok(Outcome { result, document, failed_jobs, is_stopped })
        }
        Told::NotStarted(reason) => Err(RunError::NotStarted(reason)),
        Told::Defect(text) => Err(RunError::Defect(text)),
        Told::Message(_) | Told::Progress(_) => Err(RunError::Defect(
            "fathom: internal error: a run ended with an event; please report it".to_owned(),
        )),
    }
}

/// Locks a mutex, even a poisoned one: its data is valid, because no change leaves it inconsistent.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
