//! The agent's end of the way to its controller, and the frames that go through it.

use crate::framed::{Framed, Taken};
use crate::frames::{self, Frame, FrameKind, Mistake, Splitter};
use crate::links::Pipe;
use crate::protocol::{FromAgent, ToAgent, greeting};
use fathom_sys::fifo;
use fathom_sys::process;
use fathom_sys::socket::{Awaited, wait_for_any};
use serde::Serialize;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::{Duration, Instant};

/// A controller that takes nothing for as long as the jobs go on gets no more ticks from here on.
const TICKS_UP_TO: usize = 1 << 20;

/// Standard input and output.
pub struct StreamPipe {
    input: File,
    output: File,
}

impl StreamPipe {
    /// Nothing else of the process reads or writes them from now on: what a command of a job prints must not stand among frames.
    pub fn take() -> io::Result<StreamPipe> {
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        process::detach_stream(0);
        process::detach_stream(1);
        Ok(StreamPipe { input, output })
    }
}

impl Pipe for StreamPipe {
    fn transport(&self) -> &'static str {
        "streams"
    }

    fn shows_keys(&self) -> bool {
        true
    }

    fn descriptors(&self, to_send: bool) -> Vec<Awaited> {
        let output = to_send.then(|| Awaited { socket: self.output.as_raw_fd(), to_send });
        [Awaited { socket: self.input.as_raw_fd(), to_send: false }].into_iter().chain(output).collect()
    }

    /// The descriptors belong to a shell as well, so they are left as they are, and asked before they are used.
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let awaited = [Awaited { socket: self.input.as_raw_fd(), to_send: false }];
        match wait_for_any(&awaited, Some(Duration::ZERO)) {
            Ok(true) => self.input.read(bytes),
            _ => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match fifo::write_some(&self.output, bytes, Duration::ZERO)? {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }

    fn last_words(&mut self) -> String {
        String::new()
    }

    fn close(&mut self) {}
}

/// Frames to and from the controller.
pub struct Channel {
    way: Framed,
    is_over: bool,
    /// Why, where that is known.
    fault: Option<String>,
    heard: Instant,
}

impl Channel {
    /// A channel over this way. It begins with the agent's line.
    pub fn new(pipe: Box<dyn Pipe>) -> Channel {
        let most = if pipe.shows_keys() { frames::MOST_BYTES } else { frames::MOST_BYTES_WITHOUT_KEYS };
        let mut way = Framed::new(pipe, greeting().into_bytes());
        way.splitter = Splitter::up_to(most);
        Channel { way, is_over: false, fault: None, heard: Instant::now() }
    }

    /// The descriptor to wait for; `None` when nothing will come any more.
    pub fn descriptor(&self) -> Option<RawFd> {
        let first = || self.way.pipe.descriptors(false).first().map(|awaited| awaited.socket);
        if self.is_over { None } else { first() }
    }

    /// The controller is gone.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Why nothing came.
    pub fn fault(&self) -> &str {
        match (&self.fault, self.is_over) {
            (Some(fault), _) => fault,
            (None, true) => "it went away",
            (None, false) => "it said nothing",
        }
    }

    /// Gives the controller up.
    pub fn close(&mut self) {
        if !std::mem::replace(&mut self.is_over, true) {
            self.way.pipe.close();
        }
        self.way.queue.bytes.clear();
    }

    /// How long nothing has come.
    pub fn silence(&self) -> Duration {
        self.heard.elapsed()
    }

    /// The next word that has arrived; waits for one at most this long.
    pub fn next(&mut self, wait: Duration) -> Result<Option<ToAgent>, Mistake> {
        let deadline = Instant::now() + wait;
        loop {
            match self.way.splitter.next_frame()? {
                Some(Frame { kind: FrameKind::Word, body }) => return frames::read(&body).map(Some),
                Some(frame) => return Err(Mistake::UnknownKind(frame.kind as u8)),
                None => {}
            }
            self.write();
            if self.receive() {
                continue;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if self.is_over || left.is_zero() {
                return Ok(None);
            }
            self.wait(left);
        }
    }

    /// Waits until something has come, or can be written if something is to be.
    fn wait(&self, wait: Duration) {
        let awaited = self.way.pipe.descriptors(!self.way.queue.bytes.is_empty());
        // What fails shows when it is read.
        let _ = wait_for_any(&awaited, Some(wait));
    }

    /// Reads what has come; false if that is nothing.
    fn receive(&mut self) -> bool {
        // A turn is one piece: what it holds is handled before more is asked for.
        let Taken { bytes, end } = self.way.read(1);
        if bytes > 0 {
            self.heard = Instant::now();
        }
        if let Some(end) = end {
            self.is_over = true;
            self.fault = self.fault.take().or_else(|| end.err().map(|error| error.to_string()));
        }
        bytes > 0
    }

    /// Sends a word, now or later.
    pub fn send(&mut self, word: &FromAgent) {
        if matches!(word, FromAgent::Tick(..)) && self.way.queue.bytes.len() > TICKS_UP_TO {
            return;
        }
        self.send_as(FrameKind::Word, word);
    }

    /// Sends a report.
    pub fn send_as<T: Serialize>(&mut self, kind: FrameKind, value: &T) {
        if self.is_over {
            return;
        }
        if let Err(mistake) = self.way.queue.append(kind, value) {
            let text = format!("fathom: an answer cannot be sent: {mistake}");
            let error = FromAgent::Said(fathom_run::message::Message::Error(text));
            // A line of text can be.
            let _ = self.way.queue.append(FrameKind::Word, &error);
        }
        self.write();
    }

    /// Writes what goes without waiting.
    pub fn write(&mut self) {
        if !self.is_over && self.way.write().is_err() {
            self.close();
        }
    }

    /// Writes everything, but waits no longer than this.
    pub fn flush(&mut self, wait: Duration) {
        let deadline = Instant::now() + wait;
        self.write();
        while self.has_more() && Instant::now() < deadline {
            let awaited: Vec<Awaited> =
                self.way.pipe.descriptors(true).into_iter().filter(|awaited| awaited.to_send).collect();
            let _ = wait_for_any(&awaited, Some(deadline.saturating_duration_since(Instant::now())));
            self.write();
            // What TLS holds back goes out as things are read.
            if self.way.queue.bytes.is_empty() {
                self.receive();
            }
        }
    }

    fn has_more(&self) -> bool {
        !self.is_over && self.way.has_more()
    }

    /// Writes everything, unless the controller takes nothing for so long.
    pub fn finish(&mut self, patience: Duration) {
        while self.has_more() {
            let before = self.way.queue.bytes.len();
            self.flush(patience);
            if self.has_more() && self.way.queue.bytes.len() == before {
                self.close();
            }
        }
    }
}
