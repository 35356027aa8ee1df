//! A connection after the handshake: sends requests and receives replies without unwanted waits.

use super::error::HandshakeError;
use super::handshake::{self, Export};
use super::uri::ExportUri;
use super::wire::{Command, REQUEST_LENGTH, ReplyHead, Request, chunk, reply_head, u16_at, u32_at, u64_at};
use crate::net::socket::{Socket, Stream};
use crate::net::transport::Transport;
use fathom_sys::Errno;
use fathom_sys::socket::{Awaited, Wait};
use std::collections::VecDeque;
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::time::{Duration, Instant};

/// Time limit of each step of the handshake.
pub(super) const HANDSHAKE_LIMIT: Duration = Duration::from_secs(30);
/// Number of bytes per read from the socket; data is copied from there into the I/O buffers.
const INCOMING: usize = 256 << 10;
/// Minimum length of data that is received directly into the I/O buffer.
const DIRECT: usize = 16 << 10;
/// Number of extra bytes per direct read, enough for the headers of further replies.
const BESIDE_DIRECT: usize = 4 << 10;
/// Maximum number of pieces per send call; headers and data of requests are separate pieces.
const PIECES: usize = 128;
/// Maximum length of a reply chunk without data, which holds an error and its text.
const LONGEST_TEXT: u32 = 1 << 15;

/// An I/O in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub(super) request: Request,
    pub(super) buffer: *mut u8,
    /// The connection that carries the I/O; [`FREE`](InFlight::FREE) for none.
    pub(super) connection: u32,
    /// Number of bytes of a read that have been received.
    received: u32,
    /// The first error that the server has reported for the I/O.
    error: u32,
}

impl InFlight {
    const FREE: u32 = u32::MAX;

    pub(super) const NONE: InFlight = InFlight {
        request: Request { flags: 0, command: Command::Disconnect, cookie: 0, offset: 0, length: 0 },
        buffer: std::ptr::null_mut(),
        connection: InFlight::FREE,
        received: 0,
        error: 0,
    };

    pub(super) fn new(request: Request, buffer: *mut u8, connection: u32) -> InFlight {
        InFlight { request, buffer, connection, received: 0, error: 0 }
    }

    /// Resets the received parts of a reply.
    pub(super) fn begin_anew(&mut self) {
        (self.received, self.error) = (0, 0);
    }

    pub(super) fn is_free(&self) -> bool {
        self.connection == InFlight::FREE
    }

    pub(super) fn free(&mut self) {
        self.connection = InFlight::FREE;
    }

    /// Result of the I/O: number of bytes, or `-errno`.
    fn result(&self) -> i64 {
        match (self.error, self.request.command) {
            (0, Command::Read) if self.received != self.request.length => -i64::from(libc::EPROTO),
            (0, Command::Flush | Command::Disconnect) => 0,
            (0, _) => i64::from(self.request.length),
            (error, _) => -i64::from(errno_of(error)),
        }
    }
}

/// The errno for an error of the protocol. Its numbers equal Linux's on most machines; unknown ones become
/// EINVAL.
fn errno_of(error: u32) -> i32 {
    match error {
        1 => libc::EPERM,
        5 => libc::EIO,
        12 => libc::ENOMEM,
        28 => libc::ENOSPC,
        75 => libc::EOVERFLOW,
        95 => libc::ENOTSUP,
        108 => libc::ESHUTDOWN,
        _ => libc::EINVAL,
    }
}

/// The slot of a request, which is the lower half of its cookie.
pub(super) fn slot_of(cookie: u64) -> u32 {
    cookie as u32
}

/// Events that a connection reports to its engine.
pub(super) trait Listener {
    /// The I/O with this cookie, if it is in flight on this connection.
    fn find(&mut self, cookie: u64) -> Option<&mut InFlight>;
    /// True if there is room for another completion.
    fn has_room(&self) -> bool;
    /// True if an I/O waits for the next connection when the server refuses it because it is shutting down.
    fn outlasts_servers(&self) -> bool;
    /// The I/O has completed.
    fn ended(&mut self, cookie: u64, result: i64);
    /// The server has sent a text about an error.
    fn explained(&mut self, cookie: u64, text: &str);
}

/// Why a connection failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// An error of the socket.
    Socket(Errno),
    /// The server closed it.
    Closed,
    /// The server is shutting down.
    ShuttingDown,
    /// The server violated the protocol in this way.
    Violation(&'static str),
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Broken::Socket(errno) => write!(f, "{errno}"),
            Broken::Closed => f.write_str("the server closed the connection"),
            Broken::ShuttingDown => f.write_str("the server is shutting down"),
            Broken::Violation(what) => write!(f, "the server breaks the NBD protocol: {what}"),
        }
    }
}

/// A request that has not been sent completely.
struct Outgoing {
    head: [u8; REQUEST_LENGTH],
    data: *const u8,
    data_length: usize,
}

/// Data of a read that is being received into a buffer.
#[derive(Clone, Copy)]
struct Arriving {
    cookie: u64,
    place: *mut u8,
    left: usize,
    /// True if this is the last part of the reply.
    is_last: bool,
}

/// One connection.
pub(super) struct Connection {
    transport: Transport,
    pub(super) export: Export,
    outgoing: VecDeque<Outgoing>,
    /// Total number of bytes that have yet to be sent.
    unsent: usize,
    /// Number of bytes of the first request that have been sent.
    sent: usize,
    incoming: Box<[u8]>,
    /// Number of bytes per read; small if most data is received directly.
    at_once: usize,
    /// Start of the unprocessed bytes in the buffer.
    from: usize,
    to: usize,
    arriving: Option<Arriving>,
    /// Number of requests without a complete reply.
    pub(super) in_flight: u32,
}

impl Connection {
    /// Connects to the export. Each step may take up to `limit`.
    pub(super) fn open(target: &ExportUri, limit: Duration) -> Result<Connection, HandshakeError> {
        let socket = Socket::connect(&target.address, limit).map_err(HandshakeError::NotConnected)?;
        socket.limit_waits(Some(limit)).map_err(HandshakeError::NotConnected)?;
        let mut transport = Transport::plain(socket);
        let export = handshake::negotiate(&mut transport, target)?;
        transport.socket().limit_waits(None).map_err(HandshakeError::NotConnected)?;
        Ok(Connection::over(transport, export))
    }

    /// A connection after the negotiation.
    pub(super) fn over(transport: Transport, export: Export) -> Connection {
        Connection {
            transport,
            export,
            outgoing: VecDeque::with_capacity(PIECES),
            unsent: 0,
            sent: 0,
            incoming: vec![0; INCOMING].into(),
            at_once: INCOMING,
            from: 0,
            to: 0,
            arriving: None,
            in_flight: 0,
        }
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.transport.is_encrypted()
    }

    /// Queues a request; [`send`](Connection::send) sends it.
    #[inline]
    pub(super) fn add(&mut self, unit: &InFlight) {
        let has_data = unit.request.command == Command::Write;
        if unit.request.command == Command::Read {
            self.at_once = if unit.request.length as usize >= 2 * DIRECT { BESIDE_DIRECT } else { INCOMING };
        }
        let data_length = if has_data { unit.request.length as usize } else { 0 };
        self.outgoing.push_back(Outgoing { head: unit.request.bytes(), data: unit.buffer, data_length });
        self.unsent += REQUEST_LENGTH + data_length;
        self.in_flight += 1;
    }

    /// Number of bytes that have yet to be sent.
    #[inline]
    pub(super) fn unsent(&self) -> usize {
        self.unsent
    }

    /// Events for which the socket must be polled.
    pub(super) fn awaited(&self) -> Awaited {
        self.transport.awaited(!self.outgoing.is_empty())
    }

    /// True if the only unsent request is the only one in flight. Waiting for socket space then delays no other
    /// request, and takes fewer calls than polling.
    pub(super) fn is_alone(&self) -> bool {
        self.in_flight == 1 && !self.outgoing.is_empty() && !self.is_encrypted()
    }

    /// Sends as many bytes as possible, or all of them if waiting is allowed and no signal arrives.
    #[inline]
    pub(super) fn send(&mut self, wait: Wait) -> Result<(), Broken> {
        self.transport.send_rest().map_err(Broken::Socket)?;
        while !self.outgoing.is_empty() {
            let mut pieces = [IoSlice::new(&[]); PIECES];
            let count = gather(&self.outgoing, self.sent, &mut pieces);
            match self.transport.send(&pieces[..count], wait) {
                Ok(taken) => self.forget(taken),
                Err(Errno(libc::EAGAIN | libc::EINTR)) => return Ok(()),
                Err(errno) => return Err(Broken::Socket(errno)),
            }
        }
        Ok(())
    }

    /// Removes the first `taken` bytes, which were sent.
    fn forget(&mut self, mut taken: usize) {
        self.unsent -= taken;
        while let Some(first) = self.outgoing.front() {
            let left = REQUEST_LENGTH + first.data_length - self.sent;
            if taken < left {
                self.sent += taken;
                return;
            }
            taken -= left;
            self.sent = 0;
            self.outgoing.pop_front();
        }
    }

    /// True if waiting inside [`receive`](Connection::receive) delays nothing else.
    pub(super) fn may_wait(&self) -> bool {
        self.outgoing.is_empty() && !self.awaited().to_send
    }

    /// Receives what the server has sent. Returns `EAGAIN` if no data is available and waiting is not allowed,
    /// and `EINTR` after a signal.
    pub(super) fn receive(&mut self, listener: &mut impl Listener, wait: Wait) -> Result<(), Broken> {
        // Earlier replies are processed first, if their completions did not fit last time.
        let waiting = self.to - self.from;
        self.read_replies(listener)?;
        if !listener.has_room() || (waiting > 0 && self.to - self.from < waiting && wait == Wait::Allowed) {
            return Ok(());
        }
        let count = self.fill(wait).map_err(Broken::Socket)?;
        if count == 0 {
            return Err(Broken::Closed);
        }
        self.read_replies(listener)
    }

    /// Receives into the buffer of a large read; data after it goes into the connection's own buffer.
    fn fill(&mut self, wait: Wait) -> Result<usize, Errno> {
        if self.from == self.to {
            (self.from, self.to) = (0, 0);
        } else if self.incoming.len() - self.to < INCOMING / 2 {
            self.incoming.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
        }
        let direct = self.arriving.filter(|data| data.left >= DIRECT && self.from == self.to);
        let end = self.incoming.len().min(self.to + self.at_once);
        let spare = &mut self.incoming[self.to..end];
        let count = match direct {
            None => self.transport.receive(&mut [IoSliceMut::new(spare)], wait)?,
            Some(data) => {
                // SAFETY: the buffer belongs to an I/O in flight and has room for the rest of it; see
                // `begin_data`.
                let place = unsafe { std::slice::from_raw_parts_mut(data.place, data.left) };
                self.transport.receive(&mut [IoSliceMut::new(place), IoSliceMut::new(spare)], wait)?
            }
        };
        let placed = direct.map_or(0, |data| data.left.min(count));
        if let Some(data) = &mut self.arriving {
            data.advance(placed);
        }
        self.to += count - placed;
        Ok(count)
    }

    /// Processes received bytes as long as completions fit.
    fn read_replies(&mut self, listener: &mut impl Listener) -> Result<(), Broken> {
        while listener.has_room() {
            if let Some(data) = &mut self.arriving {
                let come = &self.incoming[self.from..self.to];
                let count = data.left.min(come.len());
                // SAFETY: the buffer belongs to an I/O in flight and has room for the rest of it; see
                // `begin_data`.
                unsafe { std::ptr::copy_nonoverlapping(come.as_ptr(), data.place, count) };
                self.from += count;
                data.advance(count);
                if data.left > 0 {
                    return Ok(());
                }
                let Arriving { cookie, is_last, .. } = *data;
                self.arriving = None;
                if is_last {
                    self.end(listener, cookie)?;
                }
                continue;
            }
            let head = reply_head(&self.incoming[self.from..self.to]);
            match head.map_err(|_| Broken::Violation("the reply header is invalid"))? {
                None => return Ok(()),
                Some((ReplyHead::Simple { error, cookie }, length)) => {
                    self.from += length;
                    self.simple(listener, error, cookie)?;
                }
                Some((head @ ReplyHead::Chunk { .. }, length)) => {
                    if !self.part(listener, head, length)? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn simple(&mut self, listener: &mut impl Listener, error: u32, cookie: u64) -> Result<(), Broken> {
        let unit = listener.find(cookie).ok_or(UNKNOWN)?;
        unit.error = error;
        if unit.request.command == Command::Read && error == 0 {
            if self.export.structured {
                return Err(Broken::Violation("a read was answered in the form that was given up"));
            }
            let (offset, length) = (unit.request.offset, unit.request.length);
            self.arriving = Some(begin_data(unit, cookie, offset, length, true)?);
            return Ok(());
        }
        self.end(listener, cookie)
    }

    /// Processes a chunk of a reply with this header. Returns false if more of the chunk has to arrive first.
    fn part(&mut self, listener: &mut impl Listener, head: ReplyHead, length: usize) -> Result<bool, Broken> {
        let ReplyHead::Chunk { is_last, kind, cookie, length: after } = head else { return Ok(true) };
        let come = &self.incoming[self.from + length..self.to];
        match kind {
            chunk::NONE if after == 0 => self.from += length,
            chunk::DATA if after > 8 => {
                let Some(offset) = u64_at(come, 0) else { return Ok(false) };
                let unit = listener.find(cookie).ok_or(UNKNOWN)?;
                self.arriving = Some(begin_data(unit, cookie, offset, after - 8, is_last)?);
                self.from += length + 8;
                return Ok(true);
            }
            chunk::HOLE if after == 12 => {
                let (Some(offset), Some(bytes)) = (u64_at(come, 0), u32_at(come, 8)) else {
                    return Ok(false);
                };
                let unit = listener.find(cookie).ok_or(UNKNOWN)?;
                let hole = begin_data(unit, cookie, offset, bytes, is_last)?;
                // SAFETY: the buffer belongs to an I/O in flight and has room for the rest of it; see
                // `begin_data`.
                unsafe { std::ptr::write_bytes(hole.place, 0, hole.left) };
                self.from += length + 12;
            }
            _ if kind & chunk::ERROR != 0 && (6..=LONGEST_TEXT).contains(&after) => {
                let Some(text) = come.get(..after as usize) else { return Ok(false) };
                let unit = listener.find(cookie).ok_or(UNKNOWN)?;
                unit.error = u32_at(text, 0).filter(|error| *error != 0).unwrap_or(libc::EINVAL as u32);
                let said = usize::from(u16_at(text, 4).unwrap_or(0));
                let said = text.get(6..6 + said).unwrap_or_default();
                listener.explained(cookie, &String::from_utf8_lossy(said));
                self.from += length + after as usize;
            }
            _ => return Err(Broken::Violation("a part of a reply is of no known kind")),
        }
        if is_last {
            self.end(listener, cookie)?;
        }
        Ok(true)
    }

    fn end(&mut self, listener: &mut impl Listener, cookie: u64) -> Result<(), Broken> {
        let result = listener.find(cookie).ok_or(UNKNOWN)?.result();
        if result == -i64::from(libc::ESHUTDOWN) && listener.outlasts_servers() {
            return Err(Broken::ShuttingDown);
        }
        self.in_flight -= 1;
        listener.ended(cookie, result);
        Ok(())
    }

    /// Sends a disconnect request. With requests in flight, it only announces that no further requests will
    /// follow.
    pub(super) fn take_leave(&mut self) {
        if self.in_flight > 0 || !self.outgoing.is_empty() {
            self.transport.socket().end_sending();
            return;
        }
        let request = Request { flags: 0, command: Command::Disconnect, cookie: 0, offset: 0, length: 0 };
        if self.transport.socket().limit_waits(Some(Duration::from_millis(100))).is_ok() {
            // Errors are ignored, because a server that is gone needs no request.
            let _ = self.transport.waiting().write_all(&request.bytes());
        }
    }

    /// Receives the remaining replies after [`take_leave`](Connection::take_leave), because some servers drop
    /// all their clients if a reply cannot be delivered. The data is discarded, because the I/O buffers may no
    /// longer exist.
    pub(super) fn hear_out(&mut self, until: Instant) {
        if self.in_flight == 0 {
            return;
        }
        let mut nowhere = [0; 4096];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.transport.socket().limit_waits(Some(left)).is_err() {
                return;
            }
            match Stream(self.transport.socket(), Wait::Allowed).read(&mut nowhere) {
                Ok(1..) => {}
                Ok(0) | Err(_) => return,
            }
        }
    }
}

const UNKNOWN: Broken = Broken::Violation("a reply belongs to no request");

impl Arriving {
    fn advance(&mut self, count: usize) {
        // SAFETY: at most `left` bytes are placed, so the pointer stays in the buffer or at its end.
        self.place = unsafe { self.place.add(count) };
        self.left -= count;
    }
}

/// The destination of a read's data, if the data is within the requested range.
fn begin_data(
    unit: &mut InFlight,
    cookie: u64,
    offset: u64,
    length: u32,
    is_last: bool,
) -> Result<Arriving, Broken> {
    let asked = &unit.request;
    let from = offset.checked_sub(asked.offset).filter(|_| asked.command == Command::Read);
    let total = u64::from(unit.received) + u64::from(length);
    // The server chooses the offset, so a sum that wraps around must not be mistaken for a valid one.
    let fits = |from: &u64| from.checked_add(length.into()).is_some_and(|end| end <= u64::from(asked.length));
    let Some(from) = from.filter(fits).filter(|_| total <= u64::from(asked.length)) else {
        return Err(Broken::Violation("unrequested data received"));
    };
    unit.received = total as u32;
    // SAFETY: `from` + `length` is at most the length of the request, which the buffer has room for. It is
    // owned by the engine until the I/O has completed.
    let place = unsafe { unit.buffer.add(from as usize) };
    Ok(Arriving { cookie, place, left: length as usize, is_last })
}

/// Lists the next pieces to send, leaving out the first `sent` bytes; returns the number of pieces.
#[inline]
fn gather<'a>(
    outgoing: &'a VecDeque<Outgoing>,
    mut sent: usize,
    pieces: &mut [IoSlice<'a>; PIECES],
) -> usize {
    let mut count = 0;
    for request in outgoing {
        let data: &[u8] = match request.data_length {
            0 => &[],
            // SAFETY: the data of a write is in the buffer of an I/O in flight, which is not changed until it
            // has completed.
            length => unsafe { std::slice::from_raw_parts(request.data, length) },
        };
        for piece in [&request.head, data] {
            let skipped = sent.min(piece.len());
            sent -= skipped;
            if skipped < piece.len() {
                if count == PIECES {
                    return count;
                }
                pieces[count] = IoSlice::new(&piece[skipped..]);
                count += 1;
            }
        }
    }
    count
}
