//! A way with what is still to be written to it, and what has come of the next frame: what both of its ends have in common.

use crate::frames::{Outgoing, Splitter};
use crate::pipe::Pipe;
use std::io;

/// Bytes that are read at once.
const AT_ONCE: usize = 64 << 10;

/// A way for frames.
pub(crate) struct Framed {
    /// The way.
    pub(crate) pipe: Box<dyn Pipe>,
    /// What has come.
    pub(crate) splitter: Splitter,
    /// What is to be written.
    pub(crate) queue: Outgoing,
}

/// What reading came to.
pub(crate) struct Taken {
    /// So many bytes have come.
    pub(crate) bytes: usize,
    /// Why nothing more will: the other side has ended it, or an error.
    pub(crate) end: Option<Result<(), io::Error>>,
}

impl Framed {
    /// Frames over this way; the bytes go first.
    pub(crate) fn new(pipe: Box<dyn Pipe>, first: Vec<u8>) -> Framed {
        Framed { pipe, splitter: Splitter::default(), queue: Outgoing::after(first) }
    }

    /// Something has not left this side yet. A way may have something to send before any frame.
    pub(crate) fn has_more(&self) -> bool {
        !self.queue.bytes.is_empty() || !self.pipe.is_flushed()
    }

    /// Writes what goes without waiting.
    pub(crate) fn write(&mut self) -> io::Result<()> {
        while self.has_more() {
            match self.pipe.write(&self.queue.bytes) {
                Ok(0) => break,
                Ok(count) => drop(self.queue.bytes.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads what is there, but leaves the rest once it is as much as this.
    pub(crate) fn read(&mut self, most: usize) -> Taken {
        let mut taken = Taken { bytes: 0, end: None };
        let mut bytes = vec![0; AT_ONCE];
        while taken.end.is_none() && taken.bytes < most {
            match self.pipe.read(&mut bytes) {
                Ok(0) => taken.end = Some(Ok(())),
                Ok(count) => {
                    taken.bytes += count;
                    self.splitter.add(&bytes[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => taken.end = Some(Err(error)),
            }
        }
        taken
    }
}
