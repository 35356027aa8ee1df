//! Connections from a controller to its agents: non-blocking byte streams in both directions. Each transport is one file that
//! implements [`Pipe`]; [`Connection`] adds framing.

pub(crate) mod identity;
pub mod shell;
pub mod tcp;
pub mod tls;

use crate::callers;
use crate::framed::{Framed, Taken};
use crate::frames::{Frame, FrameKind, MOST_BYTES_WITHOUT_KEYS, Mistake, Splitter};
pub use crate::pipe::Pipe;
use crate::protocol::{GREETING, PROTOCOL, ToAgent};
use crate::texts;
use fathom_errors::plain;
use fathom_sys::socket::Awaited;
use std::io;
use std::time::Duration;

/// Maximum number of bytes before the agent's first line, such as the output of a login shell.
const MOST_NOISE: usize = 64 << 10;
/// Maximum number of characters of such output that a message shows.
const MOST_SHOWN: usize = 200;
/// Maximum number of bytes that are read from one host before other hosts have their turn.
const MOST_AT_A_TURN: usize = 4 << 20;

/// Framed connection to an agent.
pub struct Connection {
    way: Framed,
    is_greeted: bool,
    is_refused: bool,
    /// Last line received before the greeting.
    noise: String,
    /// Why no more frames will arrive, if so.
    end: Option<String>,
}

impl Connection {
    /// Creates a connection over this transport, which may still be connecting.
    pub fn new(pipe: Box<dyn Pipe>) -> Connection {
        Connection {
            way: Framed::new(pipe, Vec::new()),
            is_greeted: false,
            is_refused: false,
            noise: String::new(),
            end: None,
        }
    }

    /// Name of the transport in reports.
    pub fn transport(&self) -> &'static str {
        self.way.pipe.transport()
    }

    /// Deadline for the agent's first answer, if the transport has one.
    pub fn answers_within(&self) -> Option<Duration> {
        self.way.pipe.answers_within()
    }

    /// Address of this side, as the agent sees it.
    pub fn own_address(&self) -> Option<String> {
        self.way.pipe.own_address()
    }

    /// Descriptors to poll; none once the connection is over.
    pub fn descriptors(&self) -> Vec<Awaited> {
        if self.end.is_some() {
            Vec::new()
        } else {
            self.way.pipe.descriptors(!self.way.queue.bytes.is_empty())
        }
    }

    /// Why no more frames will arrive; `None` if more may. Frames received earlier are still returned.
    pub fn end(&self) -> Option<&str> {
        self.end.as_deref()
    }

    /// Queues a message and sends as many bytes as possible.
    pub fn send(&mut self, word: &ToAgent) {
        if self.end.is_some() {
            return;
        }
        let before = self.way.queue.bytes.len();
        if let Err(mistake) = self.way.queue.append(FrameKind::Word, word) {
            self.fail(format!("its instructions cannot be sent: {mistake}"));
        }
        let length = self.way.queue.bytes.len() - before;
        if length > MOST_BYTES_WITHOUT_KEYS && !self.way.pipe.shows_keys() {
            self.fail(format!(
                "the jobs and the files they name have {length} bytes, and without keys an agent takes \
                {MOST_BYTES_WITHOUT_KEYS}; give --keys=FILE on both sides (fathom keys makes it)"
            ));
            self.way.queue.bytes.clear();
        }
        self.write();
    }

    /// Writes and reads as many bytes as possible; true if any arrived.
    pub fn advance(&mut self) -> bool {
        self.write();
        if self.end.is_some() {
            return false;
        }
        let Taken { bytes, end } = self.way.read(MOST_AT_A_TURN);
        if !self.is_greeted {
            // The data that arrived before the end may contain the reason.
            self.take_greeting();
        }
        match end {
            None => {}
            Some(Ok(())) => self.fail("it closed the connection".to_owned()),
            Some(Err(error)) => self.fail(plain(&error)),
        }
        bytes > 0
    }

    fn write(&mut self) {
        if self.end.is_some() {
            return;
        }
        match self.way.write() {
            Ok(()) => {}
            // The agent's last message has yet to be read and contains the reason.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.way.queue.bytes.clear(),
            Err(error) => self.fail(plain(&error)),
        }
    }

    /// Ends the connection for this reason.
    fn fail(&mut self, reason: String) {
        let mut words = self.way.pipe.last_words();
        if words.is_empty() && !self.is_greeted && !self.noise.is_empty() {
            words.clone_from(&self.noise);
        }
        let reason = if words.is_empty() { reason } else { format!("{reason}: {words}") };
        self.end.get_or_insert(reason);
    }

    /// Closes the connection.
    pub fn close(&mut self) {
        self.end.get_or_insert_with(|| "it was given up".to_owned());
        self.way.pipe.close();
    }

    /// The next received frame.
    pub fn next_frame(&mut self) -> Option<Frame> {
        if !self.is_greeted && !self.take_greeting() {
            return None;
        }
        match self.way.splitter.next_frame() {
            Ok(Some(mut frame)) => {
                texts::clean(&mut frame.body, frame.kind != FrameKind::Word);
                Some(frame)
            }
            Ok(None) => None,
            Err(mistake) => self.refuse(&mistake),
        }
    }

    /// True if data from this agent was refused.
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Refuses all further data from this agent.
    pub fn refuse(&mut self, mistake: &Mistake) -> Option<Frame> {
        self.is_refused = true;
        self.end.get_or_insert_with(|| mistake.to_string());
        self.way.splitter = Splitter::default();
        self.way.pipe.close();
        None
    }

    /// Finds the agent's first line; any output of a login shell before it is skipped.
    fn take_greeting(&mut self) -> bool {
        loop {
            let pending = self.way.splitter.pending();
            if callers::is_server(pending) {
                self.end.get_or_insert_with(|| callers::FIO_SERVER.to_owned());
                self.way.pipe.close();
                return false;
            }
            let Some(length) = pending.iter().position(|&byte| byte == b'\n') else {
                if pending.len() > MOST_NOISE {
                    self.not_an_agent();
                }
                return false;
            };
            let line = String::from_utf8_lossy(&pending[..length]).into_owned();
            self.way.splitter.skip(length + 1);
            let Some(rest) = line.trim_end().strip_prefix(GREETING) else {
                self.noise = line.trim_end().chars().take(MOST_SHOWN).collect();
                continue;
            };
            let mut words = rest.split_whitespace();
            let (protocol, version) = (words.next().unwrap_or(""), words.next().unwrap_or("of no version"));
            if protocol.parse() != Ok(PROTOCOL) {
                self.end.get_or_insert(format!(
                    "it runs fathom {version} and this is fathom {}; they are incompatible: install the same \
                    version on both, or give --push",
                    env!("CARGO_PKG_VERSION")
                ));
                self.way.pipe.close();
                return false;
            }
            self.is_greeted = true;
            return true;
        }
    }

    fn not_an_agent(&mut self) {
        let text: String = String::from_utf8_lossy(self.way.splitter.pending()).chars().take(60).collect();
        self.end.get_or_insert(format!("not an agent of fathom, but: {text:?}"));
        self.way.pipe.close();
    }
}
