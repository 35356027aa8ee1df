//! A process that listens and forks one process for each authenticated controller. Separate processes are
//! required, because jobs need a single-threaded process, and because the failure of one controller's process
//! must not affect another's. Peers authenticate before the fork, so a silent connection only takes a socket
//! for a while and does not block a controller.

use crate::callers::{self, Caller};
use crate::keys::Keys;
use crate::links::Pipe;
use crate::links::identity;
use crate::links::tcp::{Listener, PlainPipe, Socket};
use crate::links::tls::TlsPipe;
use crate::strangers::{Stranger, Strangers};
use fathom_errors::plain;
use fathom_sys::process::{self, Ended, Fork};
use fathom_sys::signal::{self, SignalQueue};
use fathom_sys::socket::{Awaited, wait_for_any_of_many};
use std::io::{self, Write};
use std::time::Duration;

/// Longest poll interval.
const LOOK: Duration = Duration::from_millis(250);
/// Maximum number of controllers served at a time.
const MOST_CONTROLLERS: usize = 64;
/// Maximum number of peers that have not authenticated yet; a process may have 1024 files open by default.
const MOST_STRANGERS: usize = 512;

/// Which peers are served.
pub enum Entry {
    /// Peers with these keys.
    Keys(Box<Keys>),
    /// On this machine only: root and the user of this process, as identified by the kernel.
    OwnUser,
    /// Every peer.
    Anyone,
}

impl Entry {
    /// The holders of the keys if keys are given; otherwise this user, on this machine.
    pub fn of(keys: Option<Keys>) -> Entry {
        keys.map_or(Entry::OwnUser, |keys| Entry::Keys(Box::new(keys)))
    }
}

/// What happens to runs when the listening process is told to end. It waits for them in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtEnd {
    /// The runs are told to end as well.
    RunsAreStopped,
    /// The runs continue to their end.
    RunsEndThemselves,
}

/// The listening process.
struct Listening<'a> {
    listener: &'a Listener,
    signals: &'a SignalQueue,
    entry: &'a Entry,
    /// Processes that serve controllers.
    children: Vec<u32>,
    strangers: Strangers<TlsPipe>,
    /// Peers that have just authenticated as controllers.
    known: Vec<Stranger<TlsPipe>>,
    is_ending: bool,
}

/// A connection for which a process is forked.
enum Accepted {
    /// The peer has been authenticated.
    Known(Box<TlsPipe>),
    /// Authentication is not required; the peer's first bytes identify it.
    Plain(Socket),
}

impl Accepted {
    fn close(self) {
        match self {
            Accepted::Known(mut pipe) => pipe.close(),
            Accepted::Plain(socket) => socket.close(),
        }
    }
}

/// Exit status of a serving process whose controller asked the listener to quit.
pub const ALL_END: u8 = 99;

/// A function that serves a controller in its own process and returns that process's exit status.
pub type Serve<'a> = dyn FnMut(Box<dyn Pipe>, &str) -> i32 + 'a;

/// Listens until a signal arrives. `serve` handles one connection, in a new process. `say` receives a line
/// about each peer that cannot be served. The calling process must be single-threaded.
pub fn listen(
    listener: &Listener,
    entry: &Entry,
    signals: &SignalQueue,
    at_end: AtEnd,
    serve: &mut Serve<'_>,
    say: &mut dyn FnMut(&str),
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let strangers = Strangers::up_to(MOST_STRANGERS);
    let (children, known) = (Vec::new(), Vec::new());
    let mut own = Listening { listener, signals, entry, children, strangers, known, is_ending: false };
    let mut at_end = at_end;
    loop {
        while let Some((pid, ended, _)) = process::reap_one() {
            let count = own.children.len();
            own.children.retain(|child| *child != pid);
            if own.children.len() < count && ended == Ended::Exited(i32::from(ALL_END)) && !own.is_ending {
                say("a controller has told it to end");
                own.is_ending = true;
            }
        }
        if signals.asked_to_end().is_some() {
            own.is_ending = true;
            own.strangers.clear();
        }
        if own.is_ending && at_end == AtEnd::RunsAreStopped {
            at_end = AtEnd::RunsEndThemselves;
            own.children.iter().for_each(|child| process::kill(*child, libc::SIGTERM));
        }
        if own.is_ending && own.children.is_empty() {
            return Ok(());
        }
        own.accept(serve, say);
        own.hear_proofs(serve, say);
        own.wait();
    }
}

impl Listening<'_> {
    fn wait(&self) {
        let own = [self.listener.descriptor(), self.signals.descriptor()];
        let own = own.into_iter().map(|socket| Awaited { socket, to_send: false });
        let strangers = self.strangers.iter().flat_map(|stranger| stranger.way.descriptors(false));
        let awaited: Vec<Awaited> = own.chain(strangers).collect();
        wait_for_any_of_many(&awaited, LOOK);
    }

    fn accept(&mut self, serve: &mut Serve<'_>, say: &mut dyn FnMut(&str)) {
        loop {
            let (socket, from) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => {
                    match self.strangers.evict() {
                        Some(stranger) => turn_away(stranger, "there are too many open files", say),
                        // While the maximum is reached, new connections stay in the kernel's backlog.
                        None => return std::thread::sleep(LOOK),
                    }
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The peer left before its connection was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(_) => return std::thread::sleep(LOOK),
            };
            if self.is_ending {
                say(&format!("{from} was turned away: the agent is shutting down"));
                continue;
            }
            self.receive(socket, from, serve, say);
        }
    }

    /// Serves a peer that is already identified; other peers have to authenticate first.
    fn receive(&mut self, socket: Socket, from: String, serve: &mut Serve<'_>, say: &mut dyn FnMut(&str)) {
        match self.entry {
            Entry::Keys(keys) => {
                let address = socket.peer();
                match TlsPipe::accept(socket, keys) {
                    Ok(pipe) => {
                        if let Some(gone) = self.strangers.admit(pipe, from, address) {
                            turn_away(gone, "too many connections at a time", say);
                        }
                    }
                    Err(problem) => say(&format!("{from} cannot be served: {problem}")),
                }
            }
            Entry::OwnUser => match identity::check(&socket) {
                Ok(()) => self.begin(Accepted::Plain(socket), &from, serve, say),
                Err(reason) => {
                    say(&format!("{from} was turned away: {reason}"));
                    // The line is sent in place of the greeting: a controller that reads no valid greeting
                    // prints it as the reason.
                    let mut socket = socket;
                    let _ = writeln!(socket, "{reason}");
                    socket.end_output();
                    callers::drain(&mut socket, Duration::ZERO);
                }
            },
            Entry::Anyone => self.begin(Accepted::Plain(socket), &from, serve, say),
        }
    }

    /// Serves peers that have authenticated, and drops those that have failed to.
    fn hear_proofs(&mut self, serve: &mut Serve<'_>, say: &mut dyn FnMut(&str)) {
        for mut stranger in self.strangers.take() {
            match stranger.way.advance() {
                Ok(true) => self.known.push(stranger),
                Ok(false) if stranger.is_late() => turn_away(stranger, "it did not authenticate", say),
                Ok(false) => self.strangers.put_back(stranger),
                Err(error) => turn_away(stranger, &plain(&error), say),
            }
        }
        while let Some(stranger) = self.known.pop() {
            self.begin(Accepted::Known(Box::new(stranger.way)), &stranger.from, serve, say);
        }
    }

    /// Forks a process for a controller.
    fn begin(&mut self, accepted: Accepted, from: &str, serve: &mut Serve<'_>, say: &mut dyn FnMut(&str)) {
        if self.children.len() >= MOST_CONTROLLERS {
            say(&format!("{from} was turned away: {MOST_CONTROLLERS} controllers are being served"));
            return accepted.close();
        }
        match process::fork_without_threads() {
            Ok(Fork::Parent(pid)) => self.children.push(pid),
            Ok(Fork::Child) => {
                // The child closes its copies of these sockets: a connection ends only when the last process
                // closes it, and a port is free only when no process listens on it.
                self.strangers.clear();
                self.known.clear();
                process::detach_stream(self.listener.descriptor());
                process::detach_stream(0);
                signal::unblock(&signal::OF_USERS);
                process::exit_now(match accepted {
                    Accepted::Known(pipe) => serve(pipe, from),
                    Accepted::Plain(mut socket) => match callers::hear(&mut socket) {
                        Caller::Controller(first) => serve(Box::new(PlainPipe::new(socket, first)), from),
                        Caller::FioClient => {
                            say(&format!("{from} was turned away: it is fio's client"));
                            0
                        }
                    },
                })
            }
            Err(errno) => say(&format!("{from} cannot be served: fork failed: {errno}")),
        }
    }
}

fn turn_away(mut stranger: Stranger<TlsPipe>, reason: &str, say: &mut dyn FnMut(&str)) {
    say(&format!("{} was turned away: {reason}", stranger.from));
    stranger.way.close();
}
