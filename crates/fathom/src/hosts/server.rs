//! `--server`: serves clients (`--client`). As in fio, clients may do everything that the user who started the server may; so
//! without keys it is reachable only from this machine, by that user and root, unless `--insecure` is given.

use super::{agent, ways};
use crate::output::Output;
use crate::refusal::Refusal;
use fathom_errors::plain;
use fathom_hosts::agent::rules::Rules;
use fathom_hosts::keys::Role;
use fathom_hosts::links::Pipe;
use fathom_hosts::links::tcp::{Address, Listener};
use fathom_hosts::listening::{self, AtEnd, Entry};
use fathom_spec::ProgramOptions;
use fathom_sys::process;
use fathom_sys::signal::SignalQueue;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use thiserror::Error;

/// Default port of servers.
pub(super) const PORT: u16 = 8765;
/// Environment variable of the background server, which then detaches from the terminal.
const IN_BACKGROUND: &str = "FATHOM_SERVER_IN_BACKGROUND";

/// Not a valid port.
#[derive(Debug, PartialEq, Error)]
#[error("bad server port {0}; expected HOST,PORT with a port from 1 to 65535")]
pub(super) struct BadPort(String);

/// An address in fio's syntax: `HOST[,PORT]`, `,PORT`, `:PORT`, `ip:`, `ip4:` and `ip6:` before it,
/// `sock:PATH`. The host is empty if none is named.
pub(super) fn address(text: &str) -> Result<Address, BadPort> {
    if let Some(path) = text.strip_prefix("sock:") {
        return Ok(Address::Unix(PathBuf::from(path)));
    }
    let is_six = text.starts_with("ip6:");
    let text = ["ip:", "ip4:", "ip6:"].iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text);
    let (host, port) = match text.rsplit_once(',') {
        Some((host, port)) => (host, Some(port)),
        None if !is_six && text.starts_with(':') && !text.starts_with("::") => ("", Some(&text[1..])),
        None => (text, None),
    };
    let port = match port {
        None => PORT,
        Some(port) => {
            port.parse().ok().filter(|&port: &u16| port > 0).ok_or_else(|| BadPort(port.to_owned()))?
        }
    };
    Ok(Address::Network { host: host.to_owned(), port })
}

/// Runs a server until a signal ends it.
pub(crate) fn run(program: &ProgramOptions) -> ExitCode {
    let mut output = Output::terminal();
    let done = match &program.daemonize {
        Some(file) if std::env::var_os(IN_BACKGROUND).is_none() => start_in_background(file, &mut output),
        _ => serve(program, &mut output),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => refusal.tell(&mut output),
    }
}

fn serve(program: &ProgramOptions, output: &mut Output) -> Result<(), Refusal> {
    let text = program.server.as_deref().unwrap_or("");
    let mut address = address(text).map_err(|error| Refusal::new(format!("fio: {error}")))?;
    if program.keys.is_none() && !program.insecure {
        address = within_this_machine(address, output)?;
    }
    let entry = match ways::keys_of(program, Role::Agent)? {
        None if program.insecure => Entry::Anyone,
        keys => Entry::of(keys),
    };
    let signals = ways::signals_of_users()?;
    let listener = address.listen().map_err(|error| {
        Refusal::new(format!(
            "fio: bind: {error}\nfathom: option --server={text}: cannot listen on {}",
            shown(&address),
            error = plain(&error)
        ))
    })?;
    let _socket = SocketFile::of(&address);
    let pid_file = program.daemonize.as_deref().map(PidFile::write).transpose()?;
    output.line(&format!("fio: server listening on {}", shown(&address)));
    if pid_file.is_some() {
        process::new_session();
        (0..=2).for_each(process::detach_stream);
    }
    wait_for_clients(&entry, &listener, &signals, output)
}

fn wait_for_clients(
    entry: &Entry,
    listener: &Listener,
    signals: &SignalQueue,
    output: &mut Output,
) -> Result<(), Refusal> {
    let mut serve = |pipe: Box<dyn Pipe>, from: &str| {
        agent::serve_one(pipe, &Rules::everything())
            .map_or_else(|failure| agent::ended_alone(from, &failure), i32::from)
    };
    let mut say = |line: &str| output.error_line(&format!("fathom: {line}"));
    listening::listen(listener, entry, signals, AtEnd::RunsEndThemselves, &mut serve, &mut say)
        .map_err(|error| Refusal::because("the server cannot continue", error))
}

/// The same address, restricted to this machine. An explicit other address is refused, not changed.
fn within_this_machine(address: Address, output: &mut Output) -> Result<Address, Refusal> {
    match address {
        Address::Network { host, port } if host.is_empty() => {
            output.error_line(
                "fathom: this server has no keys, so only this machine reaches it; give --keys=FILE (fathom keys makes it), or \
                 --insecure to let anyone run anything here",
            );
            Ok(Address::Network { host: "127.0.0.1".to_owned(), port })
        }
        other if other.is_of_this_machine() => Ok(other),
        other => Err(Refusal::new(format!(
            "fathom: option --server: anyone who can reach {} could run anything here as this user; give \
            --keys=FILE (fathom keys makes it), or --insecure if that is intended",
            shown(&other)
        ))),
    }
}

/// An address in fio's format.
fn shown(address: &Address) -> String {
    match address {
        Address::Unix(path) => path.display().to_string(),
        Address::Network { host, port } if host.is_empty() => format!("{},{port}", Ipv4Addr::UNSPECIFIED),
        Address::Network { host, port } => match host.parse::<Ipv6Addr>() {
            Ok(six) => format!("{six},{port}"),
            Err(_) => format!("{host},{port}"),
        },
    }
}

/// Starts the server as a separate process; returns when it listens.
fn start_in_background(file: &Path, output: &mut Output) -> Result<(), Refusal> {
    if let Some(pid) = PidFile::pid_in(file).filter(|&pid| process::exists(pid)) {
        output.line(&format!("fio: pidfile {} exists and server appears alive", file.display()));
        output.error_line(&format!("fathom: nothing was started: process {pid} exists"));
        return Ok(());
    }
    let mut child = Command::new("/proc/self/exe")
        .args(std::env::args_os().skip(1))
        .env(IN_BACKGROUND, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| Refusal::because("option --daemonize: cannot start the server process", error))?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        // An unreadable line counts as no process ID.
        let _ = BufReader::new(stdout).read_line(&mut line);
    }
    match line.is_empty() {
        false => Ok(()),
        // The server has reported the reason on standard error.
        true => Err(Refusal::new("fathom: the server was not started")),
    }
}

/// The background server's PID file, which is removed with it.
struct PidFile(PathBuf);

impl PidFile {
    fn pid_in(path: &Path) -> Option<u32> {
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    }

    fn write(path: &Path) -> Result<PidFile, Refusal> {
        std::fs::write(path, format!("{}\n", std::process::id())).map_err(|error| {
            Refusal::new(format!(
                "fio: failed opening pid file {0}\nfathom: option --daemonize={0}: {error}",
                path.display(),
                error = plain(&error)
            ))
        })?;
        Ok(PidFile(path.to_path_buf()))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // The PID file of another process is left alone.
        if PidFile::pid_in(&self.0) == Some(std::process::id()) {
            let _ = std::fs::remove_file(&self.0);
        }
    }
}

/// The file of a socket, which is removed with the server.
struct SocketFile(PathBuf);

impl SocketFile {
    fn of(address: &Address) -> Option<SocketFile> {
        match address {
            Address::Unix(path) => Some(SocketFile(path.clone())),
            Address::Network { .. } => None,
        }
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_fio() {
        let read = |text: &str| address(text).map(|address| shown(&address));
        assert_eq!(read(""), Ok("0.0.0.0,8765".to_owned()));
        assert_eq!(read(",9000"), Ok("0.0.0.0,9000".to_owned()));
        assert_eq!(read(":9000"), Ok("0.0.0.0,9000".to_owned()));
        assert_eq!(read("a"), Ok("a,8765".to_owned()));
        assert_eq!(read("ip4:127.0.0.2,9"), Ok("127.0.0.2,9".to_owned()));
        assert_eq!(read("ip6:::1,9024"), Ok("::1,9024".to_owned()));
        assert_eq!(read("ip6:::1"), Ok("::1,8765".to_owned()));
        assert_eq!(read("sock:/tmp/x"), Ok("/tmp/x".to_owned()));
        assert!(read("a,0").is_err() && read("a,99999").is_err() && read(",x").is_err());
    }
}
