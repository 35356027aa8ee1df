//! The agent's side of the connection to its controller.

use crate::framed::{Framed, Taken};
use crate::frames::{self, Frame, FrameKind, Mistake, Splitter};
use crate::links::Pipe;
use crate::protocol::{FromAgent, ToAgent, greeting};
use fathom_errors::plain;
use fathom_sys::fifo;
use fathom_sys::process;
use fathom_sys::socket::{Awaited, wait_for_any};
use serde::Serialize;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::{Duration, Instant};

/// Number of pending bytes from which a controller that reads nothing gets no more ticks while jobs run.
const TICKS_UP_TO: usize = 1 << 20;

/// Standard input and output.
pub struct StreamPipe {
    input: File,
    output: File,
}

impl StreamPipe {
    /// Takes over standard input and output. No other code in this process may use them, because the output of
    /// a job's command must not end up among the frames.
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

    /// The descriptors are shared with a shell, so they stay in blocking mode and are polled before each use.
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

/// Framed connection to the controller.
pub struct Channel {
    way: Framed,
    is_over: bool,
    /// Why the connection failed, if known.
    fault: Option<String>,
    heard: Instant,
}

impl Channel {
    /// A channel over this connection, which begins with the agent's line.
    pub fn new(pipe: Box<dyn Pipe>) -> Channel {
        let most = if pipe.shows_keys() { frames::MOST_BYTES } else { frames::MOST_BYTES_WITHOUT_KEYS };
        let mut way = Framed::new(pipe, greeting().into_bytes());
        way.splitter = Splitter::up_to(most);
        Channel { way, is_over: false, fault: None, heard: Instant::now() }
    }

    /// The descriptor to poll; `None` at the end.
    pub fn descriptor(&self) -> Option<RawFd> {
        let first = || self.way.pipe.descriptors(false).first().map(|awaited| awaited.socket);
        if self.is_over { None } else { first() }
    }

    /// True if the controller is gone.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Why no message was received.
    pub fn fault(&self) -> &str {
        match (&self.fault, self.is_over) {
            (Some(fault), _) => fault,
            (None, true) => "it closed the connection",
            (None, false) => "it sent no data",
        }
    }

    /// Closes the connection.
    pub fn close(&mut self) {
        if !std::mem::replace(&mut self.is_over, true) {
            self.way.pipe.close();
        }
        self.way.queue.bytes.clear();
    }

    /// Time since the last byte was received.
    pub fn silence(&self) -> Duration {
        self.heard.elapsed()
    }

    /// The next message; waits for at most this long.
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

    /// Waits until the connection can be read, or written if output is pending.
    fn wait(&self, wait: Duration) {
        let awaited = self.way.pipe.descriptors(!self.way.queue.bytes.is_empty());
        // A failure of the wait shows at the next read.
        let _ = wait_for_any(&awaited, Some(wait));
    }

    /// Reads available bytes; false if there are none.
    fn receive(&mut self) -> bool {
        // One read per call, so that its frames are handled before more bytes are read.
        let Taken { bytes, end } = self.way.read(1);
        if bytes > 0 {
            self.heard = Instant::now();
        }
        if let Some(end) = end {
            self.is_over = true;
            self.fault = self.fault.take().or_else(|| end.err().map(|error| plain(&error)));
        }
        bytes > 0
    }

    /// Queues a message and sends as many bytes as possible.
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
            // A message that does not fit is replaced by a line of text, which always fits.
            let _ = self.way.queue.append(FrameKind::Word, &error);
        }
        self.write();
    }

    /// Writes as much as possible without waiting.
    pub fn write(&mut self) {
        if !self.is_over && self.way.write().is_err() {
            self.close();
        }
    }

    /// Writes all pending output, but waits for no longer than this.
    pub fn flush(&mut self, wait: Duration) {
        let deadline = Instant::now() + wait;
        self.write();
        while self.has_more() && Instant::now() < deadline {
            let awaited: Vec<Awaited> =
                self.way.pipe.descriptors(true).into_iter().filter(|awaited| awaited.to_send).collect();
            let _ = wait_for_any(&awaited, Some(deadline.saturating_duration_since(Instant::now())));
            self.write();
            // Reading also makes TLS send output that it holds back.
            if self.way.queue.bytes.is_empty() {
                self.receive();
            }
        }
    }

    fn has_more(&self) -> bool {
        !self.is_over && self.way.has_more()
    }

    /// Writes all pending output. Gives up if the controller reads nothing for `patience`.
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
