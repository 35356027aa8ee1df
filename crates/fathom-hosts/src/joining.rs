//! Agents that join by themselves: the controller listens and waits until the requested number has joined. A
//! launcher can then start the agents anywhere, for example as Slurm steps or indexed Kubernetes jobs. An
//! agent's key proves that it belongs to the user, and its token proves that it belongs to this run.

use crate::frames::{self, FrameKind};
use crate::keys::Keys;
use crate::links::Connection;
use crate::links::tcp::Listener;
use crate::links::tls::TlsPipe;
use crate::protocol::{FromAgent, Hello, Join, ToAgent};
use crate::strangers::Strangers;
use fathom_errors::plain;
use fathom_stats::counted;
use fathom_sys::clock::monotonic_ns;
use fathom_sys::socket::{Awaited, wait_for_any_of_many};
use sha2::{Digest, Sha256};
use std::io;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Maximum time between two polls of the listener.
const LOOK: Duration = Duration::from_millis(250);
/// Interval of greetings to agents that wait, so that they know that the controller is alive.
const GREET_EVERY: Duration = Duration::from_secs(5);
/// Maximum number of peers that have not introduced themselves yet.
const MOST_STRANGERS: usize = 1024;

/// Why the required number of agents did not join.
#[derive(Debug, Error)]
pub enum GatherError {
    /// The system does not allow this program to listen.
    #[error("{}", plain(.0))]
    NotListening(#[from] io::Error),
    /// A signal arrived before all agents had joined.
    #[error("the run was stopped when {joined} of {} had joined", counted(*wanted, "host"))]
    Stopped {
        /// Number of agents that have joined.
        joined: usize,
        /// Number of expected agents.
        wanted: usize,
    },
    /// Some agents did not join.
    #[error("only {joined} of {} joined within {seconds} s", counted(*wanted, "host"))]
    TooFew {
        /// Number of agents that have joined.
        joined: usize,
        /// Number of expected agents.
        wanted: usize,
        /// Time for which the controller waited, s.
        seconds: u64,
    },
}

/// Why a peer is refused.
#[derive(Debug, Error)]
enum Refusal {
    /// The peer is silent, or is not an agent.
    #[error("it did not identify itself")]
    Nameless,
    /// The peer's message cannot be decoded.
    #[error(transparent)]
    Unreadable(#[from] frames::Mistake),
    /// The peer is an agent that was not started to join.
    #[error("it is not an agent that joins")]
    NotJoining,
    /// The peer is an agent left over from another run.
    #[error("it has the token of another run")]
    OtherRun,
    /// Another agent has already joined under this name.
    #[error("{0} has joined already; a second agent on one host needs --name")]
    SameName(String),
    /// The run already has the expected number of agents.
    #[error("every host has joined: {0}")]
    Full(usize),
    /// The connection has ended, for this reason.
    #[error("{0}")]
    Ended(String),
}

/// An agent that has joined.
pub struct Joined {
    /// The connection to it.
    pub connection: Connection,
    /// Its introduction.
    pub hello: Hello,
    /// The name and rank under which it joined.
    pub join: Join,
}

/// Waits until the requested number of agents has joined, and returns them in the order of their ranks; agents
/// without a rank follow in the order of their names. `say` receives lines about refused peers.
pub fn gather(
    listener: &Listener,
    keys: &Keys,
    wanted: usize,
    patience: Duration,
    interrupted: &mut dyn FnMut() -> bool,
    say: &mut dyn FnMut(&str),
) -> Result<Vec<Joined>, GatherError> {
    listener.set_nonblocking(true)?;
    let begun = Instant::now();
    let mut greeted = Instant::now();
    let (mut strangers, mut joined): (Strangers<Connection>, Vec<Joined>) =
        (Strangers::up_to(MOST_STRANGERS), Vec::new());
    while joined.len() < wanted {
        if interrupted() {
            return Err(GatherError::Stopped { joined: joined.len(), wanted });
        }
        if begun.elapsed() > patience {
            let seconds = patience.as_secs();
            return Err(GatherError::TooFew { joined: joined.len(), wanted, seconds });
        }
        while let Ok((socket, from)) = listener.accept() {
            let address = socket.peer();
            let gone = match TlsPipe::accept(socket, keys) {
                Ok(pipe) => strangers.admit(Connection::new(Box::new(pipe)), from, address),
                Err(problem) => {
                    say(&format!("fathom: {from} was refused: {problem}"));
                    None
                }
            };
            if let Some(mut gone) = gone {
                say(&format!("fathom: {} was refused: too many connections at a time", gone.from));
                gone.way.close();
            }
        }
        introduce(&mut strangers, &mut joined, keys, wanted, say);
        drop_those_who_left(&mut joined, say);
        if greeted.elapsed() > GREET_EVERY {
            greeted = Instant::now();
            joined.iter_mut().for_each(|agent| agent.connection.send(&ToAgent::Ping(monotonic_ns())));
        }
        wait(listener, &strangers, &joined);
    }
    joined.sort_by(|a, b| {
        let key = |agent: &Joined| (agent.join.rank.unwrap_or(u32::MAX), agent.join.name.clone());
        key(a).cmp(&key(b))
    });
    Ok(joined)
}

fn wait(listener: &Listener, strangers: &Strangers<Connection>, joined: &[Joined]) {
    let own = Awaited { socket: listener.descriptor(), to_send: false };
    let strangers = strangers.iter().flat_map(|stranger| stranger.way.descriptors());
    let joined = joined.iter().flat_map(|agent| agent.connection.descriptors());
    let awaited: Vec<Awaited> = [own].into_iter().chain(strangers).chain(joined).collect();
    wait_for_any_of_many(&awaited, LOOK);
}

/// Lets peers that have introduced themselves join.
fn introduce(
    strangers: &mut Strangers<Connection>,
    joined: &mut Vec<Joined>,
    keys: &Keys,
    wanted: usize,
    say: &mut dyn FnMut(&str),
) {
    for mut stranger in strangers.take() {
        stranger.way.advance();
        let frame = stranger.way.next_frame();
        let from = &stranger.from;
        let refused = match frame {
            Some(frame) => {
                match hello_of(&frame).and_then(|hello| is_welcome(&hello, joined, keys, wanted)) {
                    Ok((hello, join)) => {
                        joined.push(Joined { connection: stranger.way, hello, join });
                        continue;
                    }
                    Err(reason) => reason,
                }
            }
            None => match stranger.way.end() {
                Some(end) => Refusal::Ended(end.to_owned()),
                None if stranger.is_late() => Refusal::Nameless,
                None => {
                    strangers.put_back(stranger);
                    continue;
                }
            },
        };
        say(&format!("fathom: {from} was refused: {refused}"));
        stranger.way.close();
    }
}

fn hello_of(frame: &frames::Frame) -> Result<Hello, Refusal> {
    match frame.kind {
        FrameKind::Word => match frames::read::<FromAgent>(&frame.body)? {
            FromAgent::Hello(hello) => Ok(hello),
            _ => Err(Refusal::Nameless),
        },
        _ => Err(Refusal::Nameless),
    }
}

fn is_welcome(
    hello: &Hello,
    joined: &[Joined],
    keys: &Keys,
    wanted: usize,
) -> Result<(Hello, Join), Refusal> {
    let mut join = hello.join.clone().ok_or(Refusal::NotJoining)?;
    // Name and groups are printed inside the controller's own lines, so control characters are removed.
    let texts = join.groups.iter_mut().chain([&mut join.name]);
    texts.for_each(|text| text.retain(|letter| !letter.is_control()));
    // Digests are compared instead of tokens, because the time of that comparison reveals nothing about the
    // token.
    if Sha256::digest(&join.token) != Sha256::digest(&keys.token) {
        return Err(Refusal::OtherRun);
    }
    let is_same = |other: &&Joined| other.join.name == join.name && other.join.rank == join.rank;
    if joined.iter().any(|other| is_same(&other)) {
        return Err(Refusal::SameName(join.name));
    }
    if joined.len() >= wanted {
        return Err(Refusal::Full(wanted));
    }
    Ok((hello.clone(), join))
}

/// Drops agents that left before the run, which makes room for others.
fn drop_those_who_left(joined: &mut Vec<Joined>, say: &mut dyn FnMut(&str)) {
    joined.retain_mut(|agent| {
        agent.connection.advance();
        // These frames are replies to the greetings, which need no handling.
        while agent.connection.next_frame().is_some() {}
        let end = agent.connection.end();
        if let Some(reason) = end {
            say(&format!("fathom: host {} has left before the run: {reason}", agent.join.name));
        }
        agent.connection.end().is_none()
    });
}
