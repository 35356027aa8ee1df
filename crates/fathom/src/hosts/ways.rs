//! Transports to the hosts of a run: a remote shell, listening agents, joining agents.

use crate::refusal::Refusal;
use fathom_hosts::controller::Seat;
use fathom_hosts::joining;
use fathom_hosts::keys::{Keys, Role};
use fathom_hosts::links::shell::Shell;
use fathom_hosts::links::tcp::{Address, ConnectError, PlainPipe};
use fathom_hosts::links::tls::TlsPipe;
use fathom_hosts::links::{Connection, Pipe};
use fathom_run::message::Message;
use fathom_run::supervisor::Observer;
use fathom_spec::ProgramOptions;
use fathom_spec::hosts::{HostEntry, HostList, Invocation};
use fathom_stats::counted;
use fathom_sys::signal::{OF_USERS, SignalQueue};
use std::fmt::Display;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Limit of open files for many hosts: three each.
const MOST_OPEN_FILES: u64 = 1 << 20;
/// Time limit of connecting to a host.
const CONNECT: Duration = Duration::from_secs(10);
/// Number of concurrent connection attempts.
const AT_A_TIME: usize = 64;
/// Time limit for agents to join, unless `--host-timeout` is set.
const JOIN_PATIENCE: Duration = Duration::from_secs(600);

/// Connects to each host.
pub(super) fn seats(
    list: &HostList,
    program: &ProgramOptions,
    observer: &mut dyn Observer,
) -> Result<Vec<Seat>, Refusal> {
    fathom_sys::file::raise_open_file_limit(MOST_OPEN_FILES);
    let keys = keys_of(program, Role::Controller)?;
    if program.wait_for_hosts > 0 {
        return joined(program, keys, observer);
    }
    let is_agent = |entry: &HostEntry| keys.is_some() || has_port(&entry.name);
    if list.0.iter().any(is_agent) {
        return Ok(agents(list, keys.as_ref()));
    }
    let (command, there) = (program.remote_shell.as_deref(), program.remote_program.as_deref());
    let shell = Shell::new(command, there, program.push).map_err(of_fathom)?;
    let seat = |entry: &HostEntry| Seat {
        entry: entry.clone(),
        connection: shell
            .connect(&entry.name)
            .map(|pipe| Connection::new(Box::new(pipe)))
            .map_err(ConnectError::Shell),
        hello: None,
        invocation: None,
    };
    Ok(list.0.iter().map(seat).collect())
}

fn of_fathom(error: impl Display) -> Refusal {
    Refusal::new(format!("fathom: {error}"))
}

/// The keys of this role that the options name.
pub(super) fn keys_of(program: &ProgramOptions, role: Role) -> Result<Option<Keys>, Refusal> {
    let read = |path| Keys::read(path, role).map_err(|error| Refusal::because("option --keys", error));
    program.keys.as_deref().map(read).transpose()
}

/// The users' signals, which end a wait.
pub(super) fn signals_of_users() -> Result<SignalQueue, Refusal> {
    SignalQueue::new(&OF_USERS).map_err(|errno| Refusal::because("cannot wait for signals", errno))
}

/// Connects to each of a client's servers, with its inputs.
pub(super) fn to_servers(
    list: &HostList,
    addresses: &[Address],
    invocations: &[Invocation],
    program: &ProgramOptions,
) -> Result<Vec<Seat>, Refusal> {
    fathom_sys::file::raise_open_file_limit(MOST_OPEN_FILES);
    let keys = keys_of(program, Role::Controller)?;
    let connections = in_parallel(addresses, &|address| connect(address, keys.as_ref()));
    let seats = list.0.iter().zip(connections).zip(invocations).map(|((entry, connection), invocation)| {
        Seat { entry: entry.clone(), connection, hello: None, invocation: Some(invocation.clone()) }
    });
    Ok(seats.collect())
}

/// True if an agent listens there.
fn has_port(name: &str) -> bool {
    let (host, port) = name.rsplit_once(':').unwrap_or((name, ""));
    !host.contains('@') && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// Connections to listening agents.
fn agents(list: &HostList, keys: Option<&Keys>) -> Vec<Seat> {
    let connections = to_agents(&list.names(), keys);
    let entries = list.0.iter().cloned().zip(connections);
    entries.map(|(entry, connection)| Seat { entry, connection, hello: None, invocation: None }).collect()
}

/// Connections to the agents that listen on these hosts, in order.
pub(super) fn to_agents(names: &[String], keys: Option<&Keys>) -> Vec<Result<Connection, ConnectError>> {
    in_parallel(names, &|name| {
        let address = Address::read(name)?;
        if keys.is_none() && !address.is_of_this_machine() {
            return Err(ConnectError::NoKeys(address));
        }
        connect(&address, keys)
    })
}

/// Connects to many agents concurrently; results are in the order of the places.
fn in_parallel<T: Sync>(
    places: &[T],
    connect: &(dyn Fn(&T) -> Result<Connection, ConnectError> + Sync),
) -> Vec<Result<Connection, ConnectError>> {
    let next = AtomicUsize::new(0);
    let connect_some = || {
        let mut connections = Vec::new();
        loop {
            let index = next.fetch_add(1, Relaxed);
            let Some(place) = places.get(index) else { return connections };
            connections.push((index, connect(place)));
        }
    };
    let mut connections: Vec<(usize, Result<Connection, ConnectError>)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..places.len().min(AT_A_TIME)).map(|_| scope.spawn(connect_some)).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).flatten().collect()
    });
    connections.sort_by_key(|(index, _)| *index);
    connections.into_iter().map(|(_, connection)| connection).collect()
}

fn connect(address: &Address, keys: Option<&Keys>) -> Result<Connection, ConnectError> {
    let socket = address
        .connect(CONNECT)
        .map_err(|error| ConnectError::NotConnected { address: address.clone(), error })?;
    let pipe: Box<dyn Pipe> = match keys {
        Some(keys) => Box::new(TlsPipe::connect(socket, keys)?),
        None => Box::new(PlainPipe::connect(socket)),
    };
    Ok(Connection::new(pipe))
}

/// Agents that join.
fn joined(
    program: &ProgramOptions,
    keys: Option<Keys>,
    observer: &mut dyn Observer,
) -> Result<Vec<Seat>, Refusal> {
    let wanted = program.wait_for_hosts as usize;
    let keys = keys.ok_or_else(|| {
        Refusal::new(
            "fathom: option --wait-for-hosts: joining hosts must authenticate: give --keys=FILE (fathom keys makes it)",
        )
    })?;
    let text = program.join_address.as_deref().unwrap_or(":");
    let failed = |error: &dyn Display| Refusal::because(format_args!("option --join-address={text}"), error);
    let address = Address::read(text).map_err(|error| failed(&error))?;
    let listener = address.listen().map_err(|error| failed(&error))?;
    keys.use_up().map_err(|error| Refusal::because("option --keys", error))?;
    let signals = signals_of_users()?;
    let port = listener.port().map_or_else(String::new, |port| format!(" on port {port}"));
    observer
        .message(&Message::Error(format!("fathom: waiting for {} to join{port}", counted(wanted, "host"))));
    let patience = program.host_timeout.unwrap_or(JOIN_PATIENCE);
    let mut interrupted = || signals.asked_to_end().is_some();
    let mut say = |line: &str| observer.message(&Message::Error(line.to_owned()));
    let agents =
        joining::gather(&listener, &keys, wanted, patience, &mut interrupted, &mut say).map_err(of_fathom)?;
    let mut seats: Vec<Seat> = Vec::new();
    for agent in agents {
        let taken = seats.iter().filter(|seat| seat.entry.name == agent.join.name).count();
        let name = match (taken, agent.join.rank) {
            (0, _) => agent.join.name.clone(),
            (_, Some(rank)) => format!("{}.{rank}", agent.join.name),
            (taken, None) => format!("{}.{taken}", agent.join.name),
        };
        seats.push(Seat {
            entry: HostEntry { name, groups: agent.join.groups },
            connection: Ok(agent.connection),
            hello: Some(agent.hello),
            invocation: None,
        });
    }
    Ok(seats)
}

#[cfg(test)]
mod tests {
    use super::has_port;

    #[test]
    fn a_port_tells_an_agent_from_a_host_of_a_shell() {
        assert!(has_port("a:8766") && has_port("[::1]:1"));
        assert!(!has_port("a") && !has_port("root@a") && !has_port("a:") && !has_port("user@a:1"));
    }
}
