//! `fathom agent --quit`: ends listening agents. It needs the same permission as running jobs.

use super::ways;
use fathom_command::{Failure, Streams};
use fathom_hosts::frames::{self, FrameKind};
use fathom_hosts::keys::Keys;
use fathom_hosts::links::Connection;
use fathom_hosts::links::tcp::ConnectError;
use fathom_hosts::protocol::{FromAgent, ToAgent};
use fathom_spec::hosts::HostList;
use fathom_sys::socket::{Awaited, wait_for_any_of_many};
use std::time::{Duration, Instant};

/// Time limit for an agent's answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// Longest poll interval.
const LOOK: Duration = Duration::from_millis(250);
/// The agent of this machine.
const HERE: &str = "127.0.0.1";

/// An agent that is asked to end.
struct Ending {
    name: String,
    connection: Result<Connection, ConnectError>,
    /// Its confirmation, or the reason of its refusal.
    outcome: Option<Result<(), String>>,
}

impl Ending {
    fn new(name: String, mut connection: Result<Connection, ConnectError>) -> Ending {
        let outcome = match &mut connection {
            Ok(connection) => {
                connection.send(&ToAgent::Quit);
                None
            }
            Err(error) => Some(Err(error.to_string())),
        };
        Ending { name, connection, outcome }
    }

    /// Processes its messages.
    fn advance(&mut self) {
        let (None, Ok(connection)) = (&self.outcome, &mut self.connection) else { return };
        connection.advance();
        while let Some(frame) = connection.next_frame() {
            let word = (frame.kind == FrameKind::Word).then(|| frames::read::<FromAgent>(&frame.body));
            if let Some(Ok(FromAgent::Leaving)) = word {
                self.outcome = Some(Ok(()));
            }
        }
        if let (None, Some(reason)) = (&self.outcome, connection.end()) {
            self.outcome = Some(Err(reason.to_owned()));
        }
    }
}

/// Ends the agents on these hosts; returns the exit code.
pub(super) fn run(lists: &[String], keys: Option<&Keys>, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let mut hosts = HostList::default();
    let file = |path: &str| std::fs::read_to_string(path);
    for list in lists {
        hosts.add(list, &file).map_err(|error| Failure::new(format!("--hosts={list}: {error}")))?;
    }
    let names = if lists.is_empty() { vec![HERE.to_owned()] } else { hosts.names() };
    let connections = ways::to_agents(&names, keys);
    let mut agents: Vec<Ending> =
        names.into_iter().zip(connections).map(|(name, connection)| Ending::new(name, connection)).collect();
    let deadline = Instant::now() + PATIENCE;
    loop {
        agents.iter_mut().for_each(Ending::advance);
        let open = agents.iter().filter(|agent| agent.outcome.is_none());
        let awaited: Vec<Awaited> = open
            .filter_map(|agent| agent.connection.as_ref().ok())
            .flat_map(Connection::descriptors)
            .collect();
        if awaited.is_empty() || Instant::now() >= deadline {
            break;
        }
        wait_for_any_of_many(&awaited, LOOK);
    }
    let mut code = 0;
    for Ending { name, outcome, .. } in agents {
        match outcome.unwrap_or_else(|| Err(format!("it has not answered in {} s", PATIENCE.as_secs()))) {
            Ok(()) => writeln!(streams.out, "{name}: the agent ends")?,
            Err(reason) => {
                writeln!(streams.err, "fathom agent: {name}: {reason}")?;
                code = crate::exit::SETUP_FAILED;
            }
        }
    }
    Ok(code)
}
