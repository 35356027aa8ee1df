//! A rank from start to end.
//!
//! Every rank always takes part in every collective step, in this order: the places, rank 0's orders, the
//! messages before the run, the decision to run, the rounds, the sums, the end. So no rank waits forever; if a
//! rank dies, MPI ends all others.

use crate::communicator::Ranks;
use crate::observer::Rank;
use crate::opening::Opening;
use crate::options::{self, Own};
use crate::orders::{Orders, Places, broadcast, written};
use crate::results::{RankResult, add_up};
use crate::rounds::Rounds;
use crate::snapshots::{self, Snapshots};
use fathom_hosts::frames;
use fathom_local::output::Output;
use fathom_local::planning::{self, check_hosts_of_jobs, files_of_hosts, read, understood};
use fathom_local::{exit, here};
use fathom_report::Chosen;
use fathom_run::plan::Plan;
use fathom_run::supervisor::{self, StartError};
use fathom_spec::hosts::Recording;
use fathom_spec::{Message, Outcome, RunSpec, Source};
use fathom_stats::hosts::{HostEnd, HostRunReport};
use fathom_sys::clock::{Calibration, wall_clock_ms};
use fathom_sys::forbidden::Refused;
use fathom_sys::signal::{OF_USERS, SignalQueue};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Name of the transport in reports.
pub(crate) const TRANSPORT: &str = "mpi";

/// Exit code of success.
const SUCCESS: u8 = 0;

/// Time limit for leaving MPI when all ranks do so.
const LEAVING: Duration = Duration::from_secs(10);

/// The command line and its context.
pub struct Typed<'a> {
    /// Name of the program.
    pub program_name: String,
    /// fathom's arguments.
    pub words: Vec<String>,
    /// The options of this program.
    pub own: Own,
    /// This machine.
    pub machine: &'a dyn Source,
    /// Calibration of this machine's clock.
    pub calibration: Calibration,
}

/// Signals that no thread of MPI may take from this one. They are therefore blocked before MPI is initialized.
pub fn take_signals() -> Result<SignalQueue, Refused> {
    SignalQueue::new(&[&OF_USERS[..], &[libc::SIGCHLD]].concat())
}

/// Runs this rank; returns its exit code. Only rank 0 may return a nonzero code, after all others have ended:
/// some launchers end all ranks when one fails.
pub fn run(ranks: Ranks, typed: Typed<'_>, signals: &SignalQueue) -> ExitCode {
    let places = Places::gather(&ranks);
    let first = places.map(|places| First::prepare(&typed, places));
    let (orders, mut output, ended) = match first {
        None => (None, Output::terminal(), None),
        Some(First::Ended(code)) => (None, Output::terminal(), Some(code)),
        Some(First::Runs { orders, output }) => (Some(*orders), *output, None),
    };
    // Without orders there is no run.
    let code = broadcast(&ranks, orders.as_ref())
        .and_then(|orders: Orders| run_orders(&ranks, &orders, typed, &mut output, signals));
    // Rank 0 may still be printing, and finalizing MPI busy-waits.
    ranks.barrier();
    let code = ended.or(code).unwrap_or(SUCCESS);
    leave(ranks, code);
    ExitCode::from(code)
}

/// Leaves MPI, or the process: with UCX and TCP, MPICH sometimes hangs in finalization and busy-waits forever.
fn leave(ranks: Ranks, code: u8) {
    // No process is forked from here on, so an additional thread is safe.
    let watch = std::thread::Builder::new().spawn(move || {
        std::thread::sleep(LEAVING);
        fathom_sys::process::exit_now(i32::from(code));
    });
    // Without the thread, the end may be delayed.
    drop(watch);
    drop(ranks);
}

/// Rank 0's interpretation of the command line.
enum First {
    /// Nothing to run.
    Ended(u8),
    Runs {
        orders: Box<Orders>,
        output: Box<Output>,
    },
}

impl First {
    fn prepare(typed: &Typed<'_>, places: Places) -> First {
        let failed = |line: &str| {
            Output::terminal().error_line(line);
            First::Ended(exit::SETUP_FAILED)
        };
        let recording = Recording::new(typed.machine, places.of_rank(0), &typed.program_name, &typed.words);
        let spec = match fathom_spec::parse(&typed.program_name, &typed.words, &recording) {
            Outcome::Run(spec) => spec,
            Outcome::Exit(reply) => {
                let mut output = Output::terminal();
                let told = |message: &&Message| !here::is_told_better(&message.text, &reply.messages);
                reply.messages.iter().filter(told).for_each(|message| output.say(message));
                if typed.words.iter().any(|word| word == "--help" || word == "-h") {
                    output.line(options::HELP);
                }
                return First::Ended(reply.exit);
            }
            _ => return failed("fathom-mpi: it runs jobs; everything else is fathom's: fathom --help"),
        };
        let program = &spec.program;
        let formats = Chosen::new(&program.formats, program.terse_version);
        if let Some(line) = options::refusal(program, &formats) {
            return failed(&line);
        }
        if let Err(error) = check_hosts_of_jobs(&spec, &places.list()) {
            return failed(&error.to_string());
        }
        if program.parse_only {
            let mut output = Output::terminal();
            spec.messages.iter().for_each(|message| output.say(message));
            return First::Ended(SUCCESS);
        }
        let mut output = match program.output.as_deref().map_or_else(|| Ok(Output::terminal()), Output::file)
        {
            Ok(output) => output,
            Err(error) => {
                return failed(&format!("fathom-mpi: cannot write to the file of --output: {error}"));
            }
        };
        output.only_report(!formats.are_for_people());
        if let Some(line) = options::without_effect(program) {
            output.error_line(line);
        }
        let orders = Orders {
            invocation: recording.finish(),
            places,
            snapshots: typed.own.snapshots.clone(),
            run: wall_clock_ms() << 16 | u64::from(std::process::id() & 0xffff),
        };
        match snapshots::begin(&orders) {
            Ok(()) => First::Runs { orders: Box::new(orders), output: Box::new(output) },
            Err(line) => failed(&line),
        }
    }
}

/// Runs the orders; returns the exit code on rank 0.
fn run_orders(
    ranks: &Ranks,
    orders: &Orders,
    typed: Typed<'_>,
    output: &mut Output,
    signals: &SignalQueue,
) -> Option<u8> {
    let place = orders.places.of_rank(ranks.rank());
    let name = place.name().to_owned();
    let planned = understood(&orders.invocation, &place, typed.machine).map(|(spec, mut plan)| {
        name_logs(&mut plan, &name);
        (spec, plan)
    });
    if !open(ranks, &name, &planned, output) {
        return (ranks.rank() == 0).then_some(exit::SETUP_FAILED);
    }
    let host = HostRunReport {
        host_name: orders.places.nodes.get(ranks.rank()).cloned().unwrap_or_default(),
        name,
        groups: orders.places.groups_of(ranks.rank()),
        transport: TRANSPORT.to_owned(),
        ..HostRunReport::default()
    };
    let mut formats = match &planned {
        Ok((spec, _)) => Chosen::new(&spec.program.formats, spec.program.terse_version),
        // Only rank 0's output matters, and it has parsed the same arguments.
        Err(_) => formats_of(orders, typed.machine),
    };
    let rank = Rank::new(Rounds::new(ranks), &mut *output, host, ranks.rank() == 0);
    let result = match rank {
        Ok(mut rank) => {
            rank.for_people = formats.are_for_people();
            rank.snapshots = Snapshots::of(orders, ranks.rank());
            run_plan(rank, planned.ok(), typed.calibration)
        }
        Err(error) => {
            Rounds::new(ranks).finish();
            never_began(RankResult::default(), &error.to_string())
        }
    };
    let sum = add_up(ranks, result)?;
    let jobs_on =
        |rank: u32| read(&orders.invocation, &orders.places.of_rank(rank as usize), typed.machine).ok();
    let mut outcome = sum.outcome();
    if let (Some(hosts), Some(spec)) = (&mut outcome.report.hosts, jobs_on(0)) {
        hosts.files = files_of_hosts(&spec, &orders.places.of_rank(0), &jobs_on);
    }
    for bytes in formats.write(&outcome.report) {
        output.bytes(&bytes);
    }
    let asked = output.finish(signals);
    Some(match output.report_lost() || outcome.lost_logs {
        true => exit::SETUP_FAILED,
        false => exit::number(&outcome, asked.is_some() || signals.asked_to_end().is_some()),
    })
}

type Planned = Result<(RunSpec, Plan), Vec<String>>;

/// Prints the messages before the run and decides whether to run: not if no rank can run its jobs.
fn open(ranks: &Ranks, name: &str, planned: &Planned, output: &mut Output) -> bool {
    let (lines, own) = match planned {
        Ok((spec, plan)) => {
            (spec.messages.iter().map(|message| message.text.clone()).collect(), Some((spec, plan)))
        }
        Err(lines) => (lines.clone(), None),
    };
    let opening = Opening::of(name, &lines, own.is_none());
    let add = |opening: &mut Opening, bytes: Vec<u8>| opening.merge(frames::read(&bytes).unwrap_or_default());
    let opening = ranks.fold(opening, add, written);
    let runs = opening.map(|opening| {
        let mut said = Vec::new();
        if let Some((spec, plan)) = own {
            let formats = Chosen::new(&spec.program.formats, spec.program.terse_version);
            let messages = match formats.are_for_people() {
                true => here::opening(plan, &spec.messages),
                false => spec.messages.clone(),
            };
            for message in messages {
                output.say(&message);
                said.push(message.text);
            }
        }
        let lines = opening.lines(ranks.size(), &said);
        lines.iter().for_each(|line| output.error_line(line));
        opening.refused < ranks.size()
    });
    broadcast(ranks, runs.as_ref()).unwrap_or(false)
}

fn formats_of(orders: &Orders, machine: &dyn Source) -> Chosen {
    let program = fathom_spec::program_options("", &orders.invocation.words, machine).unwrap_or_default();
    Chosen::new(&program.formats, program.terse_version)
}

/// Runs a plan, or nothing, and takes part in all rounds.
fn run_plan(mut rank: Rank<'_>, planned: Option<(RunSpec, Plan)>, calibration: Calibration) -> RankResult {
    let ended = match planned {
        Some((spec, plan)) => {
            let options = planning::options(&spec.program);
            // It forks although MPI has threads in this process. They sleep and hold nothing that a child
            // needs: a child does not call MPI and ends by _exit, so that no MPI code runs in it.
            let ended =
                supervisor::run(&plan, here::engines(&plan), calibration.finish(), options, &mut rank);
            ended.map_err(|error| {
                let (reason, signal) = (here::why_not_started(&error), signal_of(&error));
                if signal.is_none() {
                    rank.output.error_line(&format!("<{}> fathom-mpi: {reason}", rank.host.name));
                }
                (reason, signal)
            })
        }
        // The reason was printed before the run.
        None => Err(("its jobs cannot be run there".to_owned(), None)),
    };
    let base = match ended {
        Ok(outcome) => {
            let host = rank.host_with(Some(outcome.report));
            let (failed_jobs, is_broken) = (outcome.failed_jobs, outcome.is_broken);
            let (signal, lost_logs) = (outcome.signal, outcome.lost_logs);
            RankResult { host, failed_jobs, is_broken, signal, lost_logs }
        }
        Err((reason, signal)) => {
            let host = rank.host_with(None);
            never_began(RankResult { host, signal, ..RankResult::default() }, &reason)
        }
    };
    if rank.snapshots.is_some() {
        rank.keep(base.clone(), true);
    }
    rank.rounds.finish();
    // The clock has been measured again by now.
    let report = base.host.report.map(|report| *report);
    let host = HostRunReport { end: base.host.end, ..rank.host_with(report) };
    RankResult { host, ..base }
}

fn never_began(mut result: RankResult, reason: &str) -> RankResult {
    result.host.end = HostEnd::NeverBegan { reason: reason.to_owned() };
    result
}

fn signal_of(error: &StartError) -> Option<i32> {
    match error {
        StartError::Signal(signal) => Some(*signal),
        _ => None,
    }
}

/// Ranks may share a directory, so each has separate logs: `NAME.RANK`, as for hosts.
fn name_logs(plan: &mut Plan, name: &str) {
    let named = |path: &Path| {
        let mut text = path.as_os_str().to_owned();
        text.push(format!(".{}", name.replace('/', "_")));
        PathBuf::from(text)
    };
    for worker in &mut plan.workers {
        let paths = worker.logs.iter_mut().flat_map(|logs| &mut logs.paths);
        paths.for_each(|path| *path = named(path));
    }
    plan.bandwidth_log.iter_mut().for_each(|prefix| *prefix = named(prefix));
}
