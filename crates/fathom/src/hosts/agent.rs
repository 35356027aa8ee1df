//! `fathom agent`: runs jobs on this machine for a remote controller.

use super::quit;
use crate::exit;
use fathom_command::arguments::{self, text};
use fathom_command::printer::{Letters, Printer};
use fathom_command::{Failure, Streams};
use fathom_errors::plain;
use fathom_hosts::agent::rules::Rules;
use fathom_hosts::agent::{self, Channel, End, StreamPipe};
use fathom_hosts::keys::{Keys, Role};
use fathom_hosts::links::Pipe;
use fathom_hosts::links::tcp::Address;
use fathom_hosts::links::tls::TlsPipe;
use fathom_hosts::listening::{self, AtEnd, Entry};
use fathom_hosts::protocol::Join;
use fathom_local::source;
use fathom_sys::signal::{OF_USERS, SignalQueue};
use lexopt::Arg::Long;
use lexopt::Parser;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The subcommand.
pub(crate) const NAME: &str = "agent";

/// Output of `fathom agent --help`.
pub(crate) const HELP: &str = "\
Usage: fathom agent --stdio
       fathom agent --listen=ADDRESS [--keys=FILE] [--allow-...]
       fathom agent --join=ADDRESS --keys=FILE [--name=NAME] [--allow-...]
       fathom agent --quit [--hosts=LIST] [--keys=FILE]

Runs jobs on this machine for a remote controller (fathom --hosts=..., fathom --wait-for-hosts=...).

  --stdio                Use standard input and output as the connection, for ssh and other remote shells. The
                         controller may do everything that the agent's user may do
  --listen=ADDRESS       Listen for controllers: HOST, HOST:PORT, [ADDRESS]:PORT, :PORT; default port 8766. Without
                         keys only on the loopback interface, for its own user and root
  --join=ADDRESS         Connect to a controller that waits for hosts, run its jobs, and exit
  --quit                 Stop the agents that listen on the hosts of --hosts=LIST, and their runs; without a list, the
                         agent of this machine. Agents with keys require --keys=controller.keys
  --keys=FILE            agent.keys of fathom keys: TLS 1.3 with mutual authentication
  --name=NAME            Name to join under; default: the host name
  --group=NAME           Join as a member of this host group, for host= in jobs; may be repeated
  --join-timeout=TIME    How long to try to reach the controller; default 5m

A listening or joining agent allows jobs without files and network (ioengine=null, cpuio), and what these options add:

  --allow-path=PATH      Files below this directory, or this file; may be repeated. Relative names in jobs count from
                         the first of these directories
  --allow-device=PATH    This device; may be repeated
  --allow-commands       exec_prerun, exec_postrun, engines that run or load programs
  --allow-network        Engines that connect to servers or other hosts
";

/// The command's line in lists of commands.
pub(crate) const SUMMARY: &str = "Run jobs on this machine for a remote controller (fathom --hosts=...)";

/// Pause between two connection attempts, and the time limit of each.
const RETRY: Duration = Duration::from_millis(500);
const CONNECT: Duration = Duration::from_secs(10);
const JOIN_PATIENCE: Duration = Duration::from_secs(300);

/// The requested transport.
enum Way {
    Streams,
    Listen(Address),
    Join(Address),
    Quit,
}

/// The parsed arguments.
struct Asked {
    way: Option<Way>,
    keys: Option<PathBuf>,
    join: Join,
    patience: Duration,
    /// Lists of hosts whose agents should end.
    hosts: Vec<String>,
    rules: Rules,
}

/// Runs the command; returns the exit code.
pub(crate) fn run(words: &[OsString], streams: &mut Streams<'_>) -> u8 {
    fathom_command::call("fathom agent", Some(HELP), words, streams, |words, streams| {
        let mut asked = read(words)?;
        let role = if matches!(asked.way, Some(Way::Quit)) { Role::Controller } else { Role::Agent };
        let keys = match &asked.keys {
            Some(path) => Some(Keys::read(path, role).map_err(Failure::because)?),
            None => None,
        };
        match asked.way.take() {
            _ if !asked.hosts.is_empty() && role == Role::Agent => {
                Err(Failure::new("--hosts goes with --quit"))
            }
            None => Err(Failure::new("an agent needs a way to its controller: --stdio, --listen or --join")),
            Some(Way::Quit) => quit::run(&asked.hosts, keys.as_ref(), streams),
            Some(Way::Streams) => {
                asked.rules = Rules::everything();
                serve(Box::new(StreamPipe::take()?), &asked.rules, None)
            }
            Some(Way::Listen(address)) => listen(&address, keys, &asked.rules, streams),
            Some(Way::Join(address)) => join(&address, keys, asked, streams),
        }
    })
}

fn read(words: &[OsString]) -> Result<Asked, Failure> {
    let mut asked = Asked {
        way: None,
        keys: None,
        join: Join::default(),
        patience: JOIN_PATIENCE,
        hosts: Vec::new(),
        rules: Rules::default(),
    };
    let mut parser = Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Long("stdio") => asked.way = Some(Way::Streams),
            Long("listen") => asked.way = Some(Way::Listen(address(&mut parser, "--listen")?)),
            Long("join") => asked.way = Some(Way::Join(address(&mut parser, "--join")?)),
            Long("quit") => asked.way = Some(Way::Quit),
            Long("hosts") => asked.hosts.push(text(&mut parser, "--hosts")?),
            Long("keys") => asked.keys = Some(parser.value()?.into()),
            Long("name") => asked.join.name = text(&mut parser, "--name")?,
            Long("group") => asked.join.groups.push(text(&mut parser, "--group")?),
            Long("join-timeout") => {
                let ms = arguments::milliseconds(&mut parser, "--join-timeout")?;
                asked.patience = Duration::from_secs_f64(ms / 1000.0);
            }
            Long("allow-path") => asked.rules.paths.push(parser.value()?.into()),
            Long("allow-device") => asked.rules.devices.push(parser.value()?.into()),
            Long("allow-commands") => asked.rules.commands = true,
            Long("allow-network") => asked.rules.network = true,
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(asked)
}

fn address(parser: &mut Parser, option: &str) -> Result<Address, Failure> {
    Address::read(&text(parser, option)?).map_err(|problem| Failure::new(format!("{option}: {problem}")))
}

/// Serves one controller. The error says why it was rejected, or how it was lost.
fn serve(pipe: Box<dyn Pipe>, rules: &Rules, join: Option<Join>) -> Result<u8, Failure> {
    let mut channel = Channel::new(pipe);
    match agent::serve(&mut channel, rules, &source::machine(), join) {
        End::Served | End::Told => Ok(0),
        End::Alone(reason) => Err(Failure::new(reason)),
    }
}

/// Serves one controller in a process forked by the listener; returns its exit status.
pub(super) fn serve_one(pipe: Box<dyn Pipe>, rules: &Rules) -> Result<u8, Failure> {
    let mut channel = Channel::new(pipe);
    match agent::serve(&mut channel, rules, &source::machine(), None) {
        End::Served => Ok(0),
        End::Told => Ok(listening::ALL_END),
        End::Alone(reason) => Err(Failure::new(reason)),
    }
}

/// Relative file names of jobs, and files that jobs leave behind, belong in an allowed directory.
fn enter_first_directory(rules: &Rules) -> Result<(), Failure> {
    let Some(directory) = rules.paths.iter().find(|path| path.is_dir()) else { return Ok(()) };
    std::env::set_current_dir(directory).map_err(|error| {
        Failure::new(format!("--allow-path={}: {error}", directory.display(), error = plain(&error)))
    })
}

fn listen(
    address: &Address,
    keys: Option<Keys>,
    rules: &Rules,
    streams: &mut Streams<'_>,
) -> Result<u8, Failure> {
    if keys.is_none() && !address.is_of_this_machine() {
        return Err(Failure::new(format!(
            "--listen={address}: anyone who can reach this address could run jobs here; make keys (fathom keys) and give --keys=FILE, \
             or listen on 127.0.0.1"
        )));
    }
    let signals = SignalQueue::new(&OF_USERS)
        .map_err(|errno| Failure::new(format!("cannot wait for signals: {errno}")))?;
    let listener = address.listen().map_err(|error| {
        Failure::new(format!("cannot listen on {address}: {error}", error = plain(&error)))
    })?;
    let shown = match (address, listener.port()) {
        (Address::Network { host, .. }, Some(port)) => Address::Network { host: host.clone(), port },
        (other, _) => other.clone(),
    };
    writeln!(streams.out, "fathom agent: listening on {shown}")?;
    streams.out.flush()?;
    let mut serve_one = |pipe: Box<dyn Pipe>, from: &str| {
        let served = enter_first_directory(rules).and_then(|()| serve_one(pipe, rules));
        served.map_or_else(|failure| ended_alone(from, &failure), i32::from)
    };
    let mut say = |line: &str| {
        // Failure to write the log does not affect the service.
        let _ = writeln!(streams.err, "fathom agent: {line}");
    };
    listening::listen(
        &listener,
        &Entry::of(keys),
        &signals,
        AtEnd::RunsAreStopped,
        &mut serve_one,
        &mut say,
    )?;
    Ok(0)
}

/// Reports why a controller was rejected or lost; returns the exit status of its process.
pub(super) fn ended_alone(from: &str, reason: &Failure) -> i32 {
    let mut errors = Printer::new(std::io::stderr(), Letters::of_environment());
    // Failure to write the log does not matter.
    let _ = writeln!(errors, "fathom agent: {from}: {reason}");
    i32::from(exit::SETUP_FAILED)
}

fn join(
    address: &Address,
    keys: Option<Keys>,
    asked: Asked,
    streams: &mut Streams<'_>,
) -> Result<u8, Failure> {
    let Some(keys) = keys else {
        return Err(Failure::new(
            "--join: an agent that joins proves that it belongs to the run: give --keys=FILE",
        ));
    };
    let mut join = asked.join;
    if join.name.is_empty() {
        join.name =
            std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
    }
    join.rank = rank();
    join.token.clone_from(&keys.token);
    let deadline = Instant::now() + asked.patience;
    let socket = loop {
        match address.connect(CONNECT) {
            Ok(socket) => break socket,
            Err(error) if Instant::now() >= deadline => {
                return Err(Failure::new(format!(
                    "--join={address}: {error}, for {} s",
                    asked.patience.as_secs(),
                    error = plain(&error)
                )));
            }
            Err(_) => std::thread::sleep(RETRY),
        }
    };
    let pipe = TlsPipe::connect(socket, &keys).map_err(Failure::because)?;
    enter_first_directory(&asked.rules)?;
    match serve(Box::new(pipe), &asked.rules, Some(join)) {
        Ok(code) => Ok(code),
        Err(reason) => {
            writeln!(streams.err, "fathom agent: the controller at {address}: {reason}")?;
            Ok(exit::SETUP_FAILED)
        }
    }
}

/// The rank that a launcher assigned to this process.
fn rank() -> Option<u32> {
    ["SLURM_PROCID", "JOB_COMPLETION_INDEX", "PMI_RANK", "OMPI_COMM_WORLD_RANK"]
        .iter()
        .find_map(|name| std::env::var(name).ok()?.parse().ok())
}
