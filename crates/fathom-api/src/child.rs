//! The process of a run: this program, started again by [`crate::Runner`].

use crate::wire::{Order, Progress, Told};
use fathom_local::{defect, here};
use fathom_report::Chosen;
use fathom_report::header::layout_line;
use fathom_run::message::Message;
use fathom_run::plan::Plan;
use fathom_run::supervisor::{self, Observer, Request};
use fathom_stats::live::{LiveDetails, LiveTick};
use fathom_stats::report::RunReport;
use fathom_sys::clock::Calibration;
use fathom_sys::process;
use fathom_sys::socket::{Awaited, wait_for_any};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::{Duration, Instant};

/// Runs the plan read from standard input and writes its events to standard output.
pub(crate) fn perform() {
    let Ok((program, teller)) = take_streams() else { return };
    std::panic::set_hook(Box::new(|details| {
        // If standard error is closed, the line cannot be written, so the result is ignored.
        let _ = writeln!(io::stderr(), "{}", defect::line(details));
    }));
    let last = std::panic::catch_unwind(|| run(program, &teller))
        .unwrap_or_else(|_| Told::Defect("fathom: internal error; standard error has its place".to_owned()));
    teller.tell(&last);
}

/// Reserves standard input and output for the run, because the output of a job's command must not be mixed with
/// the events.
fn take_streams() -> io::Result<(BufReader<File>, Teller)> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    process::detach_stream(0);
    process::detach_stream(1);
    Ok((BufReader::new(input), Teller { output }))
}

fn run(mut program: BufReader<File>, teller: &Teller) -> Told {
    let refused = |reason: &dyn std::fmt::Display| Told::NotStarted(reason.to_string());
    match process::threads() {
        Ok(1) => {}
        Ok(_) => {
            return refused(
                &"the program had threads when it called Runner::begin(); call it first in main()",
            );
        }
        Err(errno) => return refused(&format_args!("/proc/self/task: {errno}")),
    }
    let mut line = String::new();
    let order: Order = match program.read_line(&mut line).map(|_| serde_json::from_str(&line)) {
        Ok(Ok(order)) => order,
        Ok(Err(error)) => return refused(&error),
        Err(error) => return refused(&error),
    };
    drop(line);
    if let Err(error) = load_engines(&order.plan) {
        return refused(&error);
    }
    let options = here::options(order.progress_every);
    let calibration = Calibration::start();
    let engines = here::engines(&order.plan);
    let mut events = Events { teller, program: Some(program.into_inner()), began: Instant::now() };
    match supervisor::run(&order.plan, engines, calibration.finish(), options, &mut events) {
        Ok(outcome) => ended(outcome),
        Err(error) => refused(&here::why_not_started(&error)),
    }
}

/// Loads engines in shared objects, which each process must load itself.
fn load_engines(plan: &Plan) -> Result<(), String> {
    let paths = plan.jobs.iter().filter_map(|job| job.engine.ioengine.external.as_ref());
    paths.map(|path| fathom_engines::load(path)).try_for_each(|loaded| match loaded {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    })
}

fn ended(mut outcome: supervisor::Outcome) -> Told {
    if outcome.is_broken {
        let errors = outcome.report.jobs.iter().filter_map(|job| job.error.as_ref());
        return Told::Defect(errors.map(|error| error.text.as_str()).collect::<Vec<_>>().join("; "));
    }
    if let Err(reason) = fathom_answers::judge(&mut outcome.report) {
        return Told::Defect(format!("the result cannot be judged: {reason}"));
    }
    let document = Chosen::new(&["json+".to_owned()], 3).write(&outcome.report).concat();
    Told::Ended {
        document: String::from_utf8_lossy(&document).into_owned(),
        failed_jobs: outcome.failed_jobs,
        is_stopped: outcome.signal.is_some(),
    }
}

/// The channel for events to the program. The end of the program is noticed on the input side, so an event
/// without a reader is dropped.
struct Teller {
    output: File,
}

impl Teller {
    fn tell(&self, told: &Told) {
        let Ok(mut line) = serde_json::to_vec(told) else { return };
        line.push(b'\n');
        let _ = (&self.output).write_all(&line);
    }

    /// Drops the line if the program does not read, so that the run is not delayed. The line is short enough
    /// for any writable pipe.
    fn tell_if_read(&self, told: &Told) {
        let awaited = [Awaited { socket: self.output.as_raw_fd(), to_send: true }];
        if wait_for_any(&awaited, Some(Duration::ZERO)) == Ok(true) {
            self.tell(told);
        }
    }
}

/// Reports events of the run to the program, and ends the run when the program requests it or has ended.
struct Events<'a> {
    teller: &'a Teller,
    /// Watches the pipe from the program until it is closed.
    program: Option<File>,
    began: Instant,
}

impl Observer for Events<'_> {
    fn message(&mut self, message: &Message) {
        let text = match message {
            Message::Output(text) | Message::Error(text) | Message::Failure(text) => text.clone(),
            Message::LayingOut { job, files, bytes } => layout_line(job, *files, *bytes),
            Message::Figures(_) | Message::StageChanged => return,
        };
        text.lines().for_each(|line| self.teller.tell(&Told::Message(line.to_owned())));
    }

    fn tick(&mut self, tick: &LiveTick, _: Option<&LiveDetails>) {
        self.teller.tell_if_read(&Told::Progress(Progress::of(tick, self.began.elapsed())));
    }

    /// Does nothing: SIGUSR1 requests an interim report, which the library does not offer.
    fn interim_report(&mut self, _: &RunReport) {}

    fn input(&self) -> Option<RawFd> {
        self.program.as_ref().map(File::as_raw_fd)
    }

    fn take_input(&mut self) -> Option<Request> {
        let program = self.program.as_mut()?;
        let awaited = [Awaited { socket: program.as_raw_fd(), to_send: false }];
        if wait_for_any(&awaited, Some(Duration::ZERO)) != Ok(true) {
            return None;
        }
        // No data follows the plan, so a read returns only at the end of the pipe.
        match program.read(&mut [0; 64]) {
            Ok(1..) => None,
            Ok(0) | Err(_) => {
                self.program = None;
                Some(Request::Stop)
            }
        }
    }
}
