//! Ways from a controller to its agents: bytes in both directions that never wait.
//!
//! A way is one file that implements [`Pipe`]. [`Connection`] makes frames of its bytes.

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
use fathom_sys::socket::Awaited;
use std::io;
use std::time::Duration;

/// Most bytes before the line of an agent: what a login shell prints.
const MOST_NOISE: usize = 64 << 10;
/// Most characters of such a line that are shown.
const MOST_SHOWN: usize = 200;
/// Most bytes that are read before others have their turn.
const MOST_AT_A_TURN: usize = 4 << 20;

/// Frames to and from an agent.
pub struct Connection {
    way: Framed,
    is_greeted: bool,
    is_refused: bool,
    /// The last line that came before the greeting.
    noise: String,
    /// Why nothing more comes.
    end: Option<String>,
}

impl Connection {
    /// A connection over this way; it may still be on the way itself.
    pub fn new(pipe: Box<dyn Pipe>) -> Connection {
        Connection {
            way: Framed::new(pipe, Vec::new()),
            is_greeted: false,
            is_refused: false,
            noise: String::new(),
            end: None,
        }
    }

    /// The word for the way in reports.
    pub fn transport(&self) -> &'static str {
        self.way.pipe.transport()
    }

    /// How long the agent may take to answer at all.
    pub fn answers_within(&self) -> Option<Duration> {
        self.way.pipe.answers_within()
    }

    /// The address of this side, as the agent sees it.
    pub fn own_address(&self) -> Option<String> {
        self.way.pipe.own_address()
    }

    /// What to wait for; nothing once it is over.
    pub fn descriptors(&self) -> Vec<Awaited> {
        if self.end.is_some() {
            Vec::new()
        } else {
            self.way.pipe.descriptors(!self.way.queue.bytes.is_empty())
        }
    }

    /// Why nothing more comes; `None` while it may. Frames that came before are still to be taken.
    pub fn end(&self) -> Option<&str> {
        self.end.as_deref()
    }

    /// Sends a word, now or when there is room.
    pub fn send(&mut self, word: &ToAgent) {
        if self.end.is_some() {
            return;
        }
        let before = self.way.queue.bytes.len();
        if let Err(mistake) = self.way.queue.append(FrameKind::Word, word) {
            self.fail(format!("what it is to be told cannot be sent: {mistake}"));
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

    /// Writes and reads what can be; true if anything came.
    pub fn advance(&mut self) -> bool {
        self.write();
        if self.end.is_some() {
            return false;
        }
        let Taken { bytes, end } = self.way.read(MOST_AT_A_TURN);
        if !self.is_greeted {
            // What came before an end may say why.
            self.take_greeting();
        }
        match end {
            None => {}
            Some(Ok(())) => self.fail("it closed the connection".to_owned()),
            Some(Err(error)) => self.fail(error.to_string()),
        }
        bytes > 0
    }

    fn write(&mut self) {
        if self.end.is_some() {
            return;
        }
        match self.way.write() {
            Ok(()) => {}
            // What it said before is still to be read, and tells more.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.way.queue.bytes.clear(),
            Err(error) => self.fail(error.to_string()),
        }
    }

    /// Nothing more comes.
    fn fail(&mut self, reason: String) {
        let mut words = self.way.pipe.last_words();
        if words.is_empty() && !self.is_greeted && !self.noise.is_empty() {
            words.clone_from(&self.noise);
        }
        let reason = if words.is_empty() { reason } else { format!("{reason}: {words}") };
        self.end.get_or_insert(reason);
    }

    /// Ends it.
    pub fn close(&mut self) {
        self.end.get_or_insert_with(|| "it was given up".to_owned());
        self.way.pipe.close();
    }

    /// The next frame that has arrived.
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

    /// What this agent has sent was refused.
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Nothing that this agent sends is believed any more.
    pub fn refuse(&mut self, mistake: &Mistake) -> Option<Frame> {
        self.is_refused = true;
        self.end.get_or_insert_with(|| mistake.to_string());
        self.way.splitter = Splitter::default();
        self.way.pipe.close();
        None
    }

    /// Finds the line of the agent; what a login shell prints before it is left out.
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
                    "its fathom is {version} and this one {}, and they do not understand each other; install the same \
                     there, or give --push",
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
        self.end.get_or_insert(format!("what answers is no agent of fathom: {text:?}"));
        self.way.pipe.close();
    }
}
