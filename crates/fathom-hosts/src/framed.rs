//! A framed connection: pending output plus the partially received next frame. Controller and agent both use
//! it.

use crate::frames::{Outgoing, Splitter};
use crate::pipe::Pipe;
use std::io;

/// Maximum size of one read in bytes.
const AT_ONCE: usize = 64 << 10;

/// A framed connection.
pub(crate) struct Framed {
    /// The underlying connection.
    pub(crate) pipe: Box<dyn Pipe>,
    /// Received bytes, split into frames.
    pub(crate) splitter: Splitter,
    /// Pending output.
    pub(crate) queue: Outgoing,
}

/// Result of one read.
pub(crate) struct Taken {
    /// Bytes received.
    pub(crate) bytes: usize,
    /// Why no more bytes will arrive: `Ok` if the peer closed the connection, otherwise an error.
    pub(crate) end: Option<Result<(), io::Error>>,
}

impl Framed {
    /// Creates a framed connection; `first` is sent before any frame.
    pub(crate) fn new(pipe: Box<dyn Pipe>, first: Vec<u8>) -> Framed {
        Framed { pipe, splitter: Splitter::default(), queue: Outgoing::after(first) }
    }

    /// True if output is pending. The underlying connection may have bytes to send even before any frame.
    pub(crate) fn has_more(&self) -> bool {
        !self.queue.bytes.is_empty() || !self.pipe.is_flushed()
    }

    /// Writes as much as possible without waiting.
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

    /// Reads available bytes, up to `most`.
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
