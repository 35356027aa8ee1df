//! `net`: one block at a time, with `send` and `recv`.

use super::endpoint::{Opened, peers};
use super::wire::{GOODBYE, HELLO};
use fathom_run::engine::{Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::files::FileError;
use fathom_run::storage::Storage;
use fathom_run::storage::nowhere::Nowhere;
use fathom_run::unit::Operation;
use fathom_spec::JobSpec;
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::Errno;
use fathom_sys::network::{self, Address};
use std::any::Any;
use std::os::fd::RawFd;

/// End of the used part of a file, after which no block follows immediately.
pub(crate) type End = u64;

/// State of a clone that several engines share.
pub(crate) struct Side {
    pub(crate) opened: Opened,
    /// By file.
    pub(crate) sockets: Vec<RawFd>,
    ends: Vec<End>,
    job: String,
    /// True if the peer has sent a goodbye message.
    pub(crate) is_at_end: bool,
    /// True if the peer disconnected without a goodbye.
    is_gone: bool,
    /// Number of truncated datagrams, and of the bytes lost with them.
    cut: (u64, u64),
}

impl Side {
    pub(crate) fn new(setup: &Setup<'_>) -> Result<Side, SetupError> {
        let storage: &dyn Any = setup.storage;
        let opened = storage
            .downcast_ref::<Nowhere<Opened>>()
            .and_then(Nowhere::take)
            .ok_or_else(|| SetupError::new(Errno(libc::EBADF), "socket"))?;
        Ok(Side {
            opened,
            sockets: Vec::new(),
            ends: setup.files.iter().map(|file| file.start.saturating_add(file.size)).collect(),
            job: setup.job.name.clone(),
            is_at_end: false,
            is_gone: false,
            cut: (0, 0),
        })
    }

    pub(crate) fn meet(&mut self, stopped: &dyn Fn() -> bool, say: &dyn Fn(&str)) -> Result<(), FileError> {
        self.sockets.clear();
        self.opened.meet(self.ends.len(), stopped, say)?;
        let links = &self.opened.links;
        // With datagrams, all files use one socket.
        self.sockets.extend(
            (0..self.ends.len())
                .filter_map(|file| links.get(file).or_else(|| links.last()).map(|link| link.descriptor())),
        );
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn socket(&self, io: &Io) -> RawFd {
        self.sockets[io.file() as usize]
    }

    /// Destination of datagrams.
    #[inline(always)]
    pub(crate) fn peer(&self) -> Option<&Address> {
        if self.opened.settings.datagrams { self.opened.links[0].peer.as_ref() } else { None }
    }

    /// Returns `MSG_MORE` if another block follows immediately, otherwise 0.
    #[inline(always)]
    pub(crate) fn follow_on(&self, io: &Io) -> bool {
        self.opened.settings.gathers && io.offset() + u64::from(io.length()) < self.ends[io.file() as usize]
    }

    /// Handles received bytes and removes protocol messages from them; returns the result of the I/O.
    #[inline(always)]
    pub(crate) fn received(&mut self, bytes: *const u8, length: usize, count: usize) -> i64 {
        if count == length && length != GOODBYE.len() {
            return count as i64;
        }
        self.received_unusual(bytes, length, count)
    }

    /// Like `received`, for several consecutive blocks.
    ///
    /// # Safety
    ///
    /// The kernel has written `count` bytes into the pieces.
    pub(crate) unsafe fn received_pieces(
        &mut self,
        pieces: &[libc::iovec],
        asked: usize,
        count: usize,
    ) -> i64 {
        let is_full = count == asked && asked != GOODBYE.len();
        if is_full {
            return count as i64;
        }
        let mut tail = [0u8; GOODBYE.len()];
        let length = count.min(tail.len());
        let mut before = count - length;
        let mut filled = 0;
        for piece in pieces {
            if filled == length {
                break;
            }
            if before >= piece.iov_len {
                before -= piece.iov_len;
                continue;
            }
            let part = (piece.iov_len - before).min(length - filled);
            // SAFETY: guaranteed by the caller, and the part is inside the piece.
            let bytes = unsafe { std::slice::from_raw_parts(piece.iov_base.cast::<u8>().add(before), part) };
            tail[filled..filled + part].copy_from_slice(bytes);
            filled += part;
            before = 0;
        }
        match self.received_unusual(tail.as_ptr(), asked, length) {
            result @ ..0 => result,
            kept => (count - length) as i64 + kept,
        }
    }

    #[cold]
    #[inline(never)]
    fn received_unusual(&mut self, bytes: *const u8, length: usize, count: usize) -> i64 {
        if count > length {
            self.cut = (self.cut.0 + 1, self.cut.1 + (count - length) as u64);
            return length as i64;
        }
        let datagrams = self.opened.settings.datagrams;
        if count == 0 && !datagrams {
            return self.ended();
        }
        // SAFETY: the kernel has put `count` bytes there.
        let bytes = unsafe { std::slice::from_raw_parts(bytes, count) };
        // This message means that another sender starts.
        if datagrams && (bytes == HELLO || count == 0) {
            return -i64::from(libc::EAGAIN);
        }
        let is_goodbye = if datagrams { bytes == GOODBYE } else { bytes.ends_with(&GOODBYE) };
        if is_goodbye {
            self.is_at_end = true;
            return (count - GOODBYE.len()) as i64;
        }
        count as i64
    }

    /// Handles the end of a stream, which is not an error after a goodbye.
    fn ended(&mut self) -> i64 {
        if self.is_at_end {
            return 0;
        }
        self.is_gone = true;
        -i64::from(libc::ECONNRESET)
    }

    pub(crate) fn protocol_status(&self) -> Option<String> {
        let why = "the peer closed the connection without a goodbye: it has crashed, or does not speak fio's protocol";
        self.is_gone.then(|| why.to_owned())
    }

    pub(crate) fn remarks(&mut self) -> Vec<String> {
        let (count, bytes) = std::mem::take(&mut self.cut);
        if count == 0 {
            return Vec::new();
        }
        vec![format!(
            "fathom: job {}: {count} datagrams were longer than the blocks of this job: {bytes} bytes of them \
            are lost; give both sides the same bs",
            self.job
        )]
    }
}

/// The result of an I/O without a transfer: there is no data to sync, and a replayed log may contain trims.
pub(crate) fn without_data(operation: Operation) -> i64 {
    if operation == Operation::Trim { -i64::from(libc::EOPNOTSUPP) } else { 0 }
}

/// Progress of a block and its echo.
#[derive(Clone, Copy, Debug, Default)]
struct Exchange {
    /// Number of bytes moved of the block, and of its echo.
    moved: [usize; 2],
}

/// The engine `net`.
pub(crate) struct Net {
    side: Side,
    /// For `recv`.
    flags: i32,
    pingpong: bool,
    exchange: Exchange,
}

impl EngineType for Net {
    const DEFINITION: &'static EngineDef = &engines::net::DEFINITION;

    fn storage(job: &JobSpec) -> Box<dyn Storage> {
        peers(job)
    }

    fn new(setup: &Setup<'_>) -> Result<Net, SetupError> {
        let side = Side::new(setup)?;
        let settings = &side.opened.settings;
        let flags = if settings.datagrams { libc::MSG_TRUNC } else { libc::MSG_WAITALL };
        let pingpong = settings.options.pingpong;
        Ok(Net { flags, pingpong, exchange: Exchange::default(), side })
    }
}

impl Engine for Net {
    fn waits_for_peers(&self) -> bool {
        true
    }

    fn meet(&mut self, stopped: &dyn Fn() -> bool, say: &dyn Fn(&str)) -> Result<(), FileError> {
        self.side.meet(stopped, say)
    }

    #[inline(always)]
    fn queue(&mut self, _slot: u32, io: &Io) -> Queued {
        Queued::Done(match io.operation() {
            Operation::Read | Operation::Write if self.pingpong => self.exchange(io),
            Operation::Read => self.receive(io, io.buffer(), io.length() as usize),
            Operation::Write => self.send(io, io.buffer(), io.length() as usize, self.side.follow_on(io)),
            other => without_data(other),
        })
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

impl Net {
    #[inline(always)]
    fn receive(&mut self, io: &Io, bytes: *mut u8, length: usize) -> i64 {
        // SAFETY: the loop provides a buffer of at least `length` bytes that is not used elsewhere during the
        // call.
        match unsafe { network::receive(self.side.socket(io), (bytes, length), self.flags) } {
            Ok(count) => self.side.received(bytes, length, count),
            Err(errno) => -i64::from(errno.0),
        }
    }

    #[inline(always)]
    fn send(&self, io: &Io, bytes: *const u8, length: usize, more: bool) -> i64 {
        let flags = if more { libc::MSG_MORE } else { 0 };
        // SAFETY: the loop provides a buffer of at least `length` bytes.
        match unsafe { network::send(self.side.socket(io), (bytes, length), flags, self.side.peer()) } {
            Ok(count) => count as i64,
            Err(errno) => -i64::from(errno.0),
        }
    }

    /// Exchanges a block and its echo. After an interruption, the exchange continues where it was.
    fn exchange(&mut self, io: &Io) -> i64 {
        let reads = io.operation() == Operation::Read;
        let length = io.length() as usize;
        // The echo has the length of what was received, because a datagram may be shorter than the block.
        let mut wanted = length;
        for half in 0..2 {
            while self.exchange.moved[half] < wanted {
                let done = self.exchange.moved[half];
                // SAFETY: `done` is less than the length of the buffer.
                let rest = unsafe { io.buffer().add(done) };
                let receives = reads == (half == 0);
                let result = match receives {
                    true => self.receive(io, rest, wanted - done),
                    false => self.send(io, rest, wanted - done, false),
                };
                match result {
                    1.. => self.exchange.moved[half] += result as usize,
                    _ if result == -i64::from(libc::EAGAIN) => return result,
                    // The transfer has failed, or the peer disconnected in the middle of the block.
                    _ => {
                        self.exchange = Exchange::default();
                        return result;
                    }
                }
                if self.side.opened.settings.datagrams {
                    break;
                }
            }
            if half == 0 {
                wanted = self.exchange.moved[0];
            }
        }
        self.exchange = Exchange::default();
        wanted as i64
    }
}
