//! The agent: runs jobs on a host for a controller, under its own supervisor.

mod channel;
mod logs;
mod observer;
pub mod rules;

pub use channel::{Channel, StreamPipe};

use crate::frames::FrameKind;
use crate::protocol::{Assignment, Done, FromAgent, Hello, Join, ToAgent};
use fathom_command::printer::{Letters, Printer};
use fathom_local::here;
use fathom_local::planning::{self, planned, read};
use fathom_run::plan::Plan;
use fathom_run::supervisor::{self, Options};
use fathom_spec::{EngineNotLoaded, RunSpec, Source};
use fathom_sys::clock::Calibration;
use logs::CollectedLogs;
use observer::{Remote, pong};
use rules::Rules;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// Maximum time for which a controller may be silent before and after a run.
const IDLE_PATIENCE: Duration = Duration::from_secs(30);
/// Maximum time for which a controller may leave a result unread.
const RESULT_PATIENCE: Duration = Duration::from_secs(60);

/// How an agent ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The controller received its result, or did not ask for one.
    Served,
    /// The controller asked the listener to end.
    Told,
    /// The controller disconnected, or the peer was not a controller; holds the reason.
    Alone(String),
}

/// Serves one controller until it is done. `machine` is this machine as the parser sees it. The calling process
/// must be single-threaded.
pub fn serve(channel: &mut Channel, rules: &Rules, machine: &dyn Source, join: Option<Join>) -> End {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
    let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    let version = env!("CARGO_PKG_VERSION").to_owned();
    channel.send(&FromAgent::Hello(Hello { host_name: host, version, system, join }));
    let mut has_run = false;
    loop {
        match channel.next(IDLE_PATIENCE) {
            Ok(Some(ToAgent::Ping(sent_ns))) => pong(channel, sent_ns),
            Ok(Some(ToAgent::Prepare(assignment))) if !has_run => {
                has_run = true;
                run(channel, rules, machine, &assignment);
            }
            Ok(Some(ToAgent::End)) => {
                channel.finish(RESULT_PATIENCE);
                return End::Served;
            }
            Ok(Some(ToAgent::Quit)) => {
                channel.send(&FromAgent::Leaving);
                channel.finish(RESULT_PATIENCE);
                return End::Told;
            }
            // A late or repeated message is ignored.
            Ok(Some(_)) => {}
            Ok(None) => return End::Alone(channel.fault().to_owned()),
            Err(mistake) => return End::Alone(format!("it is not a controller: {mistake}")),
        }
    }
}

/// This machine as a controller may see it by the rules: only allowed files, and no environment variables,
/// because these may hold secrets. External engines are visible only if programs may be run, because loading an
/// engine runs its code.
struct Machine<'a> {
    machine: &'a dyn Source,
    rules: &'a Rules,
}

impl fathom_spec::Machine for Machine<'_> {
    fn read_file(&self, path: &Path) -> io::Result<String> {
        self.rules.read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn read_bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.rules.read(path)
    }

    fn read_stdin(&self) -> io::Result<String> {
        self.machine.read_stdin()
    }

    fn variable(&self, name: &str) -> Option<String> {
        if self.rules.may_run_programs() { self.machine.variable(name) } else { None }
    }

    /// True for every path that is not allowed, so that the answer reveals nothing about it; the job is refused later.
    fn is_directory(&self, path: &Path) -> bool {
        !self.rules.allows(path) || self.machine.is_directory(path)
    }

    fn exists(&self, path: &Path) -> bool {
        !self.rules.allows(path) || self.machine.exists(path)
    }

    fn load_engine(&self, path: &Path) -> Result<&'static str, EngineNotLoaded> {
        match self.rules.may_run_programs() {
            true => self.machine.load_engine(path),
            false => Err(EngineNotLoaded::Forbidden("the agent was started without --allow-commands")),
        }
    }

    fathom_spec::ask_about_machine!(machine);
}

impl Source for Machine<'_> {
    fathom_spec::ask_source!(machine);
}

/// The jobs as planned for this machine, if the rules allow them; otherwise lines that say why not.
fn allowed(
    rules: &Rules,
    machine: &dyn Source,
    assignment: &Assignment,
) -> Result<(RunSpec, Plan), Vec<String>> {
    let machine = &Machine { machine, rules };
    let quotes_nothing = !rules.all && !assignment.invocation.remote_files.is_empty();
    let mut spec =
        read(&assignment.invocation, &assignment.place, machine).map_err(|lines| match quotes_nothing {
            true => keep_here(&lines),
            false => lines,
        })?;
    if quotes_nothing && !spec.messages.is_empty() {
        let lines: Vec<String> = spec.messages.drain(..).map(|message| message.text).collect();
        spec.messages.extend(keep_here(&lines).into_iter().map(fathom_spec::Message::stderr));
    }
    rules.check_options(&spec)?;
    let plan = planned(&spec)?;
    rules.check_plan(&plan)?;
    Ok((spec, plan))
}

/// Prints messages about a job file of this host here: they may quote the file, which the controller may not be
/// allowed to read. Returns the lines for the controller.
fn keep_here(lines: &[String]) -> Vec<String> {
    let mut errors = Printer::new(io::stderr(), Letters::of_environment());
    // A failure to print them is ignored.
    lines.iter().for_each(|line| drop(writeln!(errors, "fathom agent: --remote-config: {line}")));
    vec![format!(
        "fathom: --remote-config: {} on the job file, which the agent shows on its own standard error only",
        match lines.len() {
            1 => "there is a message".to_owned(),
            count => format!("there are {count} messages"),
        }
    )]
}

/// Runs an assignment and sends its result.
fn run(channel: &mut Channel, rules: &Rules, machine: &dyn Source, assignment: &Assignment) {
    let calibration = Calibration::start();
    let (spec, mut plan) = match allowed(rules, machine, assignment) {
        Ok(ready) => ready,
        Err(lines) => return channel.send(&FromAgent::Refused { lines }),
    };
    let logs = match CollectedLogs::redirect(&mut plan) {
        Ok(logs) => logs,
        Err(error) => return channel.send(&FromAgent::Refused { lines: vec![error.to_string()] }),
    };
    let opening =
        if assignment.opening { here::opening(&plan, &spec.messages) } else { spec.messages.clone() };
    channel.send(&FromAgent::Prepared { opening });
    let options = Options {
        tick: assignment.tick,
        live_view: assignment.details,
        slices: here::slices(&spec),
        ..planning::options(&spec.program)
    };
    let mut remote = Remote::new(channel, assignment.silence);
    let engines = here::engines(&plan);
    let outcome = supervisor::run(&plan, engines, calibration.finish(), options, &mut remote);
    let channel = remote.channel;
    let done = match outcome {
        Ok(outcome) => {
            channel.send_as(FrameKind::Result, &outcome.report);
            channel.finish(RESULT_PATIENCE);
            let lost_logs = outcome.lost_logs | !logs.send(channel, RESULT_PATIENCE);
            Done {
                failed_jobs: outcome.failed_jobs,
                is_broken: outcome.is_broken,
                lost_logs,
                not_started: None,
            }
        }
        Err(error) => Done { not_started: Some(here::why_not_started(&error)), ..Done::default() },
    };
    channel.send(&FromAgent::Done(done));
    channel.finish(RESULT_PATIENCE);
}
