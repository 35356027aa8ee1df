//! `net_uring`: many blocks in flight on each stream, through io_uring.
//!
//! The bytes of a stream have one order, so each direction of a connection has at most one operation with the
//! kernel: the operation covers all waiting blocks, starting with the oldest, and the bytes that it moves
//! complete them in that order. Further blocks queue up while it is in flight. A deep queue therefore costs one
//! ring entry for many blocks, and the order cannot be wrong.

use super::endpoint::{LONGEST_WAIT, Opened, peers};
use super::transfer::{Side, without_data};
use fathom_run::engine::{Completions, Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::files::FileError;
use fathom_run::storage::Storage;
use fathom_run::unit::Operation;
use fathom_spec::JobSpec;
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::Errno;
use io_uring::{opcode, types};
use std::collections::VecDeque;
use std::time::Duration;

/// Maximum number of blocks per operation.
const MOST_PIECES: usize = 64;
/// User data of cancellations, whose completions are ignored.
const NOBODY: u64 = u64::MAX;

/// A block that is waiting or in flight.
#[derive(Clone, Copy)]
struct Block {
    slot: u32,
    buffer: *mut u8,
    length: usize,
    moved: usize,
}

/// One direction of one connection.
struct Lane {
    socket: i32,
    sends: bool,
    /// Oldest first.
    blocks: VecDeque<Block>,
    /// Pieces of the message that the kernel reads during an operation; they must stay in place.
    pieces: Box<[libc::iovec; MOST_PIECES]>,
    message: Box<libc::msghdr>,
    /// Number of bytes of the current operation; 0 if there is none.
    asked: usize,
    /// Result of all further blocks after a failure.
    broken: Option<i64>,
}

impl Lane {
    fn new(socket: i32, sends: bool, depth: usize) -> Lane {
        let none = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        // SAFETY: all zero is a valid value of this plain structure.
        let message = Box::new(unsafe { std::mem::zeroed::<libc::msghdr>() });
        let (blocks, pieces) = (VecDeque::with_capacity(depth), Box::new([none; MOST_PIECES]));
        Lane { socket, sends, blocks, pieces, message, asked: 0, broken: None }
    }

    /// Prepares the next operation, which covers all waiting blocks that fit.
    fn prepare(&mut self) -> io_uring::squeue::Entry {
        let mut count = 0;
        self.asked = 0;
        for (piece, block) in self.pieces.iter_mut().zip(&self.blocks) {
            // SAFETY: `moved` is less than the length of the buffer.
            let rest = unsafe { block.buffer.add(block.moved) };
            *piece = libc::iovec { iov_base: rest.cast(), iov_len: block.length - block.moved };
            self.asked += piece.iov_len;
            count += 1;
        }
        self.message.msg_iov = self.pieces.as_mut_ptr();
        self.message.msg_iovlen = count as _;
        let (socket, message) = (types::Fd(self.socket), std::ptr::from_mut(&mut *self.message));
        match self.sends {
            true => opcode::SendMsg::new(socket, message).flags(libc::MSG_NOSIGNAL as u32).build(),
            false => opcode::RecvMsg::new(socket, message).build(),
        }
    }

    /// Distributes moved bytes over the blocks and completes those that are full.
    fn spread(&mut self, mut count: usize, ended: &mut VecDeque<(u32, i64)>) {
        while count > 0
            && let Some(block) = self.blocks.front_mut()
        {
            let part = count.min(block.length - block.moved);
            block.moved += part;
            count -= part;
            if block.moved < block.length {
                return;
            }
            ended.push_back((block.slot, block.length as i64));
            self.blocks.pop_front();
        }
    }

    /// Completes all blocks: each one with the bytes that it has moved, or with this result.
    fn break_off(&mut self, result: i64, ended: &mut VecDeque<(u32, i64)>) {
        self.broken = Some(result);
        let left = self.blocks.drain(..);
        ended.extend(
            left.map(|block| (block.slot, if block.moved > 0 { block.moved as i64 } else { result })),
        );
    }
}

/// The engine.
pub(crate) struct NetUring {
    /// Declared before the sockets, so that it is dropped first: this ends the kernel's operations on them.
    ring: io_uring::IoUring,
    side: Side,
    /// Two lanes for each file: receiving and sending.
    lanes: Vec<Lane>,
    depth: usize,
    /// Completions that have not been listed.
    ended: VecDeque<(u32, i64)>,
    queued: u32,
}

impl EngineType for NetUring {
    const DEFINITION: &'static EngineDef = &engines::net::QUEUED;

    fn storage(job: &JobSpec) -> Box<dyn Storage> {
        peers(job)
    }

    fn new(setup: &Setup<'_>) -> Result<NetUring, SetupError> {
        let side = Side::new(setup)?;
        // Each lane needs an entry for its operation and, at the end, one for its cancellation.
        let entries = (4 * setup.files.len()).next_power_of_two().clamp(8, 4096) as u32;
        let ring = io_uring::IoUring::builder()
            .setup_single_issuer()
            .setup_coop_taskrun()
            .build(entries)
            .or_else(|_| io_uring::IoUring::new(entries))
            .map_err(|error| crate::ring::refused(error, entries, "ioengine=net"))?;
        if !ring.params().is_feature_ext_arg() {
            // Without this feature, waits have no timeout and could not be interrupted.
            return Err(SetupError::new(Errno(libc::ENOSYS), "io_queue_init")
                .with_advice("ioengine=net_uring needs Linux 5.11 or newer; ioengine=net does not"));
        }
        let depth = setup.depth as usize;
        Ok(NetUring {
            ring,
            side,
            lanes: Vec::new(),
            depth,
            ended: VecDeque::with_capacity(depth),
            queued: 0,
        })
    }
}

impl Engine for NetUring {
    fn waits_for_peers(&self) -> bool {
        true
    }

    /// Connects in the first loop only: all loops share the connections, because blocks of the next loop may be
    /// in flight together with the last ones of this loop.
    fn meet(&mut self, stopped: &dyn Fn() -> bool, say: &dyn Fn(&str)) -> Result<(), FileError> {
        if !self.lanes.is_empty() {
            return Ok(());
        }
        self.side.meet(stopped, say)?;
        let depth = self.depth;
        let sockets = self.side.sockets.iter();
        self.lanes = sockets
            .flat_map(|&socket| [Lane::new(socket, false, depth), Lane::new(socket, true, depth)])
            .collect();
        Ok(())
    }

    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        let sends = match io.operation() {
            Operation::Read => false,
            Operation::Write => true,
            other => return Queued::Done(without_data(other)),
        };
        let lane = &mut self.lanes[2 * io.file() as usize + usize::from(sends)];
        if let Some(result) = lane.broken {
            return Queued::Done(result);
        }
        lane.blocks.push_back(Block { slot, buffer: io.buffer(), length: io.length() as usize, moved: 0 });
        self.queued += 1;
        Queued::Pending
    }

    fn commit(&mut self) -> Result<u32, Errno> {
        self.start()?;
        Ok(std::mem::take(&mut self.queued))
    }

    fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        self.collect(min, LONGEST_WAIT, out)
    }

    fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        self.collect(1, span.min(LONGEST_WAIT), out)
    }

    fn is_at_end(&self) -> bool {
        self.side.is_at_end
    }

    fn cancel(&mut self) {
        for index in 0..self.lanes.len() {
            let lane = &mut self.lanes[index];
            lane.broken.get_or_insert(-i64::from(libc::ECANCELED));
            if lane.asked == 0 {
                lane.break_off(-i64::from(libc::ECANCELED), &mut self.ended);
                continue;
            }
            let entry = opcode::AsyncCancel::new(index as u64).build().user_data(NOBODY);
            // SAFETY: the entry refers to no memory.
            let _ = unsafe { self.ring.submission().push(&entry) };
        }
        // If this fails, the operation ends with its connection.
        let _ = self.ring.submit();
    }

    fn protocol_status(&mut self, _slot: u32) -> Option<String> {
        self.side.protocol_status()
    }

    fn remarks(&mut self) -> Vec<String> {
        self.side.remarks()
    }
}

impl NetUring {
    /// Submits an operation for each lane that has blocks but no operation.
    fn start(&mut self) -> Result<(), Errno> {
        let mut fresh = false;
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            if lane.asked > 0 || lane.blocks.is_empty() || lane.broken.is_some() {
                continue;
            }
            let entry = lane.prepare().user_data(index as u64);
            // SAFETY: the message, its pieces and their buffers stay valid until the operation has completed:
            // the lane does not change them before, the loop does not reuse slots before, and `Drop` of the
            // ring waits for the kernel.
            if unsafe { self.ring.submission().push(&entry) }.is_err() {
                lane.asked = 0;
                break;
            }
            fresh = true;
        }
        if fresh { self.ring.submit().map(|_| ()).map_err(Errno::from) } else { Ok(()) }
    }

    fn collect(&mut self, min: u32, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        self.take_ends();
        self.start()?;
        self.list(out);
        if min == 0 || out.len() >= min as usize || out.room() == 0 {
            return Ok(());
        }
        loop {
            if self.lanes.iter().all(|lane| lane.asked == 0) {
                return Ok(());
            }
            let limit = types::Timespec::from(span);
            let arguments = types::SubmitArgs::new().timespec(&limit);
            match self.ring.submitter().submit_with_args(1, &arguments).map_err(Errno::from) {
                Ok(_) => {}
                // Returns to the loop, which then checks the time.
                Err(Errno(libc::ETIME | libc::EINTR)) => {
                    self.take_ends();
                    self.list(out);
                    return Ok(());
                }
                Err(Errno(libc::EBUSY | libc::EAGAIN)) => {}
                Err(errno) => return Err(errno),
            }
            self.take_ends();
            self.start()?;
            self.list(out);
            if out.len() >= min as usize || out.room() == 0 {
                return Ok(());
            }
        }
    }

    fn list(&mut self, out: &mut Completions) {
        while out.room() > 0
            && let Some((slot, result)) = self.ended.pop_front()
        {
            out.push(slot, result);
        }
    }

    /// Handles completed operations.
    fn take_ends(&mut self) {
        for entry in self.ring.completion() {
            let Some(lane) = self.lanes.get_mut(entry.user_data() as usize) else { continue };
            let asked = std::mem::take(&mut lane.asked);
            let result = i64::from(entry.result());
            let is_cancelled = lane.broken.is_some();
            match result {
                0.. if lane.sends => lane.spread(result as usize, &mut self.ended),
                0.. => {
                    // SAFETY: the kernel has put that many bytes into the pieces, one after the other.
                    let result =
                        unsafe { self.side.received_pieces(&lane.pieces[..], asked, result as usize) };
                    lane.spread(result.max(0) as usize, &mut self.ended);
                    if self.side.is_at_end || result < 0 {
                        lane.break_off(result.min(0), &mut self.ended);
                    }
                }
                _ if result == -i64::from(libc::EINTR) || result == -i64::from(libc::EAGAIN) => {}
                _ => lane.break_off(result, &mut self.ended),
            }
            if is_cancelled {
                lane.break_off(-i64::from(libc::ECANCELED), &mut self.ended);
            }
        }
    }
}

impl Drop for NetUring {
    fn drop(&mut self) {
        // The kernel uses the buffers of operations until these have ended.
        self.cancel();
        let Opened { links, .. } = &mut self.side.opened;
        if self.lanes.iter().any(|lane| lane.asked > 0) {
            links.clear();
        }
    }
}
