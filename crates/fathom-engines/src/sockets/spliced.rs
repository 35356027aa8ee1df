//! `netsplice`: moves blocks between a stream and their buffers through a pipe, with `splice` and `vmsplice`.

use super::endpoint::peers;
use super::transfer::{Side, without_data};
use fathom_run::engine::{Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::files::FileError;
use fathom_run::storage::Storage;
use fathom_run::unit::Operation;
use fathom_spec::JobSpec;
use fathom_spec::engines::{self, EngineDef};
use fathom_spec::options::verification::VerifyMethod;
use fathom_sys::{Errno, network, pipe};
use std::os::fd::{AsRawFd, OwnedFd};

/// `SPLICE_F_MOVE` and `SPLICE_F_MORE` of linux/splice.h.
const MOVE: u32 = 1;
const MORE: u32 = 4;
/// Capacity that is requested for the pipe; users without privileges may get less.
const PIPE_BYTES: i32 = 1 << 20;
/// Page size: a block need not be page-aligned, so it may occupy one page more than its size.
const PAGE: usize = 4096;

/// The engine.
pub(crate) struct NetSplice {
    side: Side,
    reader: OwnedFd,
    writer: OwnedFd,
    /// Maximum number of bytes in the pipe.
    most: usize,
    /// True if blocks are copied into the pipe, because their buffers are refilled while sent data may still be
    /// in transit.
    copies: bool,
    pingpong: bool,
    progress: Progress,
}

/// Progress of the current block across interrupted waits.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// Number of bytes moved of the block, and of its echo.
    moved: [usize; 2],
    /// Number of bytes in the pipe.
    held: usize,
}

impl EngineType for NetSplice {
    const DEFINITION: &'static EngineDef = &engines::net::SPLICED;

    fn storage(job: &JobSpec) -> Box<dyn Storage> {
        peers(job)
    }

    fn new(setup: &Setup<'_>) -> Result<NetSplice, SetupError> {
        let side = Side::new(setup)?;
        let (reader, writer) = pipe::pipe().map_err(|errno| SetupError::new(errno, "pipe"))?;
        let held =
            pipe::widen(&writer, PIPE_BYTES).map_err(|errno| SetupError::new(errno, "F_SETPIPE_SZ"))?;
        let pingpong = side.opened.settings.options.pingpong;
        Ok(NetSplice {
            side,
            reader,
            writer,
            most: held.saturating_sub(PAGE).max(PAGE),
            copies: setup.job.verification.verify != VerifyMethod::None,
            pingpong,
            progress: Progress::default(),
        })
    }
}

impl Engine for NetSplice {
    fn waits_for_peers(&self) -> bool {
        true
    }

    fn meet(&mut self, stopped: &dyn Fn() -> bool, say: &dyn Fn(&str)) -> Result<(), FileError> {
        self.side.meet(stopped, say)
    }

    fn queue(&mut self, _slot: u32, io: &Io) -> Queued {
        let length = io.length() as usize;
        let reads = match io.operation() {
            Operation::Read => true,
            Operation::Write => false,
            other => return Queued::Done(without_data(other)),
        };
        let halves = if self.pingpong { 2 } else { 1 };
        let mut wanted = length;
        for half in 0..halves {
            while self.progress.moved[half] < wanted {
                let done = self.progress.moved[half];
                // SAFETY: `done` is less than the length of the buffer.
                let rest = (unsafe { io.buffer().add(done) }, wanted - done);
                let receives = reads == (half == 0);
                let result = if receives { self.receive(io, rest) } else { self.send(io, rest) };
                if result <= 0 {
                    return Queued::Done(self.interrupted(result, half));
                }
                self.progress.moved[half] += result as usize;
                if self.side.opened.settings.datagrams {
                    break;
                }
            }
            if half == 0 {
                wanted = self.progress.moved[0];
            }
        }
        self.progress = Progress::default();
        Queued::Done(wanted as i64)
    }

    fn is_at_end(&self) -> bool {
        self.side.is_at_end
    }

    fn protocol_status(&mut self, _slot: u32) -> Option<String> {
        self.side.protocol_status()
    }

    fn remarks(&mut self) -> Vec<String> {
        self.side.remarks()
    }
}

impl NetSplice {
    /// The result of a block that cannot continue now: it waits, has ended, or has failed.
    #[cold]
    fn interrupted(&mut self, result: i64, half: usize) -> i64 {
        if result == -i64::from(libc::EAGAIN) {
            return result;
        }
        let done = std::mem::take(&mut self.progress).moved[half];
        // Bytes received before the end count as data.
        if result == 0 && half == 0 { done as i64 } else { result }
    }

    /// Receives available data, up to the end of the block; returns the result of the I/O, or of a part of it.
    fn receive(&mut self, io: &Io, (bytes, length): (*mut u8, usize)) -> i64 {
        let socket = self.side.socket(io);
        if self.side.opened.settings.datagrams {
            // SAFETY: the loop gives a buffer of at least `length` bytes that nothing else uses during the call.
            return match unsafe { network::receive(socket, (bytes, length), libc::MSG_TRUNC) } {
                Ok(count) => self.side.received(bytes, length, count),
                Err(errno) => -i64::from(errno.0),
            };
        }
        let held = match pipe::splice(socket, self.writer.as_raw_fd(), length.min(self.most), MOVE) {
            Ok(held) => held,
            Err(errno) => return -i64::from(errno.0),
        };
        let mut taken = 0;
        while taken < held {
            // SAFETY: `held` is at most the length of the buffer, which is not used elsewhere during the
            // call.
            let result = unsafe {
                pipe::splice_memory(self.reader.as_raw_fd(), (bytes.add(taken), held - taken), MOVE)
            };
            match result {
                Ok(0) => return -i64::from(libc::EIO),
                Ok(count) => taken += count,
                Err(Errno(libc::EINTR)) => {}
                Err(errno) => return -i64::from(errno.0),
            }
        }
        self.side.received(bytes, length, held)
    }

    /// Sends the content of the pipe, or the next part of a block through it; returns the number of bytes sent.
    fn send(&mut self, io: &Io, (bytes, length): (*mut u8, usize)) -> i64 {
        let socket = self.side.socket(io);
        if self.side.opened.settings.datagrams {
            // SAFETY: the loop provides a buffer of at least `length` bytes.
            return match unsafe { network::send(socket, (bytes, length), 0, self.side.peer()) } {
                Ok(count) => count as i64,
                Err(errno) => -i64::from(errno.0),
            };
        }
        if self.progress.held == 0 {
            let part = length.min(self.most);
            let writer = self.writer.as_raw_fd();
            // SAFETY: the loop provides a buffer of at least `length` bytes. If it is refilled, its bytes are
            // copied.
            let filled = unsafe {
                match self.copies {
                    true => pipe::fill(writer, (bytes, part)),
                    false => pipe::splice_memory(writer, (bytes, part), MOVE),
                }
            };
            match filled {
                Ok(count) => self.progress.held = count,
                Err(errno) => return -i64::from(errno.0),
            }
        }
        let more = if self.side.follow_on(io) || self.progress.held < length { MORE } else { 0 };
        match pipe::splice(self.reader.as_raw_fd(), socket, self.progress.held, MOVE | more) {
            Ok(count) => {
                self.progress.held -= count;
                count as i64
            }
            Err(errno) => -i64::from(errno.0),
        }
    }
}
