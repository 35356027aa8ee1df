//! `libiscsi`: logical units of iSCSI targets, through the library of that name, which is loaded when a job wants it.
//!
//! `url.rs` reads the names of units, `session.rs` has the library's functions and logs in, `storage.rs` knows sizes. Commands are
//! queued and sent together when the loop next looks for ends; the library reports ends through a callback.

mod session;
mod storage;
mod url;

use crate::net::library::refused;
use fathom_run::engine::{Completions, Engine, Io, Queued, Setup, SetupError};
use fathom_run::storage::{Handle, Storage, SyncKind};
use fathom_run::unit::Operation;
use fathom_spec::JobSpec;
use fathom_spec::engines::libiscsi::WriteMode;
use fathom_spec::engines::{self, EngineDef};
use fathom_spec::options::io_type::SyncMode;
use fathom_sys::Errno;
use fathom_sys::socket::{self, Awaited};
use session::{Context, Functions, Piece, Range, Session, Task, UNDERFLOW};
use std::any::Any;
use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::time::{Duration, Instant};
use storage::Units;
use url::Unit;

/// Statuses of commands (`enum scsi_status`).
mod status {
    use std::ffi::c_int;
    pub(super) const GOOD: c_int = 0;
    pub(super) const CHECK_CONDITION: c_int = 2;
    pub(super) const BUSY: c_int = 8;
    pub(super) const RESERVATION_CONFLICT: c_int = 0x18;
    pub(super) const TASK_SET_FULL: c_int = 0x28;
    pub(super) const CANCELLED: c_int = 0x0f00_0000;
    pub(super) const ERROR: c_int = 0x0f00_0001;
    pub(super) const TIMEOUT: c_int = 0x0f00_0002;
}

/// What callbacks write to. It stays where it is as long as there is a session.
struct Shared {
    functions: Arc<Functions>,
    ended: VecDeque<(u32, i64)>,
    /// What was said of errors, by slot.
    explained: Vec<Option<String>>,
    in_flight: usize,
    /// Why the session that is being given up is gone.
    lost: Option<String>,
}

/// What the library is given of an I/O. It stays where it is while the I/O is in flight.
struct Slot {
    shared: *mut Shared,
    number: u32,
    length: u32,
    /// The bytes of the I/O are what the target transfers, so what is missing of them counts.
    transfers: bool,
    piece: Piece,
    range: Range,
}

/// The engine.
pub(crate) struct Libiscsi {
    /// By file; `None` for sessions that are gone.
    sessions: Vec<Vec<Option<Session>>>,
    slots: Box<[Slot]>,
    shared: *mut Shared,
    awaited: Vec<Awaited>,
    next_session: usize,
    queued: u32,
    durable: c_int,
    write_mode: WriteMode,
}

impl Engine for Libiscsi {
    const DEFINITION: &'static EngineDef = &engines::libiscsi::DEFINITION;

    fn storage(job: &JobSpec) -> Box<dyn Storage> {
        Box::new(Units::new(&job.private.libiscsi.initiator))
    }

    fn new(setup: &Setup<'_>) -> Result<Libiscsi, SetupError> {
        let options = &setup.job.private.libiscsi;
        let failed = |sentence| refused(Errno(libc::EIO), "iscsi_full_connect", sentence);
        let functions = Functions::load().map_err(failed)?;
        let storage: &dyn Any = setup.storage;
        let held = storage.downcast_ref::<Units>();
        let mut sessions = Vec::new();
        for file in setup.files {
            let unit = Unit::parse(&file.name).map_err(failed)?;
            let mut of_file = Vec::new();
            of_file.extend(held.and_then(|units| units.take_session(&file.name)).map(Some));
            while of_file.len() < options.sessions as usize {
                of_file.push(Some(Session::open(&functions, &options.initiator, &unit).map_err(failed)?));
            }
            sessions.push(of_file);
        }
        let count = setup.depth as usize + 1;
        let shared = Box::into_raw(Box::new(Shared {
            functions,
            ended: VecDeque::with_capacity(count),
            explained: vec![None; count],
            in_flight: 0,
            lost: None,
        }));
        let slot = |number| Slot {
            shared,
            number,
            length: 0,
            transfers: false,
            piece: Piece { base: std::ptr::null_mut(), length: 0 },
            range: Range { block: 0, count: 0 },
        };
        Ok(Libiscsi {
            awaited: Vec::with_capacity(sessions.iter().map(Vec::len).sum()),
            sessions,
            slots: (0..count as u32).map(slot).collect(),
            shared,
            next_session: 0,
            queued: 0,
            durable: c_int::from(setup.job.io_type.sync != SyncMode::None),
            write_mode: options.write_mode,
        })
    }

    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        let file = io.file as usize;
        let count = self.sessions[file].len();
        self.next_session = (self.next_session + 1) % count;
        let chosen = (0..count).map(|step| (self.next_session + step) % count);
        let Some(index) = chosen.into_iter().find(|index| self.sessions[file][*index].is_some()) else {
            return self.refuse(slot, libc::ESHUTDOWN, "the session is lost".to_owned());
        };
        let Some(session) = &self.sessions[file][index] else { return Queued::Done(0) };
        let block_length = session.block_length;
        if !io.offset.is_multiple_of(block_length.into()) || !io.length.is_multiple_of(block_length) {
            let why = format!("the unit has blocks of {block_length} bytes, and takes whole ones only");
            return self.refuse(slot, libc::EINVAL, why);
        }
        let task = self.start(session.context, session.lun, block_length, slot, io);
        if task.is_null() {
            let why = self.sessions[file][index].as_ref().map(Session::error).unwrap_or_default();
            return self.refuse(slot, libc::EIO, why);
        }
        self.shared().in_flight += 1;
        self.queued += 1;
        Queued::Pending
    }

    fn commit(&mut self) -> Result<u32, Errno> {
        Ok(std::mem::take(&mut self.queued))
    }

    fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        self.collect(min, if min == 0 { Some(Duration::ZERO) } else { None }, out)
    }

    fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        self.collect(1, Some(span), out)
    }

    fn sync_now(&mut self, handle: Handle, _: SyncKind) -> Option<Result<(), Errno>> {
        let slot = self.slots.len() as u32 - 1;
        let file = u32::try_from(handle.number()).ok()?;
        let io = Io {
            operation: Operation::Sync,
            file,
            handle,
            buffer: std::ptr::null_mut(),
            length: 0,
            offset: 0,
            priority: 0,
        };
        let result = match self.queue(slot, &io) {
            Queued::Done(result) => result,
            Queued::Pending => {
                self.queued -= 1;
                self.wait_for_end_of(slot)
            }
        };
        Some(if result < 0 { Err(Errno(-result as i32)) } else { Ok(()) })
    }

    fn protocol_status(&mut self, slot: u32) -> Option<String> {
        self.shared().explained[slot as usize].take()
    }

    fn features(&self) -> Vec<&'static str> {
        if self.sessions.iter().any(|of_file| of_file.len() > 1) {
            vec!["several sessions"]
        } else {
            Vec::new()
        }
    }
}

impl Libiscsi {
    fn shared(&mut self) -> &mut Shared {
        // SAFETY: it lives as long as the engine, and callbacks, which use it as well, run only inside of calls to a session, while
        // no such reference is held.
        unsafe { &mut *self.shared }
    }

    /// An I/O that cannot be begun.
    #[cold]
    fn refuse(&mut self, slot: u32, errno: i32, why: String) -> Queued {
        self.shared().explained[slot as usize] = Some(why);
        Queued::Done(-i64::from(errno))
    }

    /// Gives a command to the library.
    fn start(
        &mut self,
        context: *mut Context,
        lun: c_int,
        block_length: u32,
        number: u32,
        io: &Io,
    ) -> *mut Task {
        let shared = self.shared;
        // SAFETY: the engine's own; see `shared`.
        let functions = unsafe { &(*shared).functions };
        let slot = &mut self.slots[number as usize];
        let (block, count) = (io.offset / u64::from(block_length), io.length / block_length);
        slot.length = if matches!(io.operation, Operation::Read | Operation::Write | Operation::Trim) {
            io.length
        } else {
            0
        };
        slot.transfers = match io.operation {
            Operation::Read => true,
            Operation::Write => self.write_mode == WriteMode::Write,
            _ => false,
        };
        slot.piece = Piece { base: io.buffer.cast(), length: io.length as usize };
        slot.range = Range { block, count };
        let (piece, range) = (&raw mut slot.piece, &raw mut slot.range);
        let private: *mut c_void = std::ptr::from_mut(slot).cast();
        let (bytes, size, fua) = (io.length, block_length as c_int, self.durable);
        // SAFETY: context and unit are those of a session that is there. The buffer, the piece and the range stay where they are until
        // the callback has run, which comes no later than the end of the session.
        unsafe {
            match (io.operation, self.write_mode) {
                (Operation::Read, _) => (functions.read)(
                    context, lun, block, bytes, size, 0, 0, 0, 0, 0, ended, private, piece, 1,
                ),
                (Operation::Write, WriteMode::Write) => (functions.write)(
                    context, lun, block, io.buffer, bytes, size, 0, 0, fua, 0, 0, ended, private, piece, 1,
                ),
                (Operation::Write, WriteMode::Same) => (functions.write_same)(
                    context,
                    lun,
                    block,
                    io.buffer,
                    block_length,
                    count,
                    0,
                    0,
                    0,
                    0,
                    ended,
                    private,
                ),
                (Operation::Trim, _) => (functions.unmap)(context, lun, 0, 0, range, 1, ended, private),
                (Operation::Sync | Operation::DataSync | Operation::RangeSync, _) => {
                    (functions.sync_cache)(context, lun, 0, 0, 0, 0, ended, private)
                }
            }
        }
    }

    /// Lists ends until there are `min`, there is no more room, nothing is in flight, or the time is up.
    fn collect(&mut self, min: u32, span: Option<Duration>, out: &mut Completions) -> Result<(), Errno> {
        let until = span.filter(|span| !span.is_zero()).map(|span| Instant::now() + span);
        let is_enough = |out: &Completions| min > 0 && out.len() as u32 >= min || out.room() == 0;
        loop {
            self.list_ended(out);
            if is_enough(out) {
                return Ok(());
            }
            self.service();
            self.list_ended(out);
            let left = match until {
                None if span.is_some() => return Ok(()),
                None => None,
                Some(until) => Some(until.saturating_duration_since(Instant::now())),
            };
            if is_enough(out) || self.shared().in_flight == 0 || left.is_some_and(|left| left.is_zero()) {
                return Ok(());
            }
            self.awaited.clear();
            for session in self.sessions.iter().flatten().flatten() {
                self.awaited.push(session.awaited());
            }
            socket::wait_for_any(&self.awaited, left)?;
        }
    }

    /// Lets all sessions send and receive. One that is broken ends, and its I/Os with it.
    fn service(&mut self) {
        for index in 0..self.sessions.len() {
            for place in 0..self.sessions[index].len() {
                let Some(session) = &mut self.sessions[index][place] else { continue };
                if session.service().is_err() {
                    let why = session.error();
                    self.shared().lost = Some(why);
                    self.sessions[index][place] = None;
                }
            }
        }
    }

    fn list_ended(&mut self, out: &mut Completions) {
        let shared = self.shared();
        while out.room() > 0
            && let Some((slot, result)) = shared.ended.pop_front()
        {
            out.push(slot, result);
        }
    }

    /// The result of a command outside the loop; the ends of others stay for the loop.
    fn wait_for_end_of(&mut self, slot: u32) -> i64 {
        let mut others = Completions::default();
        others.begin(0);
        loop {
            let ended = &mut self.shared().ended;
            if let Some(place) = ended.iter().position(|(number, _)| *number == slot) {
                return ended.remove(place).map_or(0, |(_, result)| result);
            }
            self.service();
            if self.shared().ended.iter().any(|(number, _)| *number == slot) {
                continue;
            }
            self.awaited.clear();
            for session in self.sessions.iter().flatten().flatten() {
                self.awaited.push(session.awaited());
            }
            if let Err(errno) = socket::wait_for_any(&self.awaited, None)
                && errno != Errno(libc::EINTR)
            {
                return -i64::from(errno.0);
            }
        }
    }
}

/// The library calls this once for each command.
unsafe extern "C" fn ended(context: *mut Context, how: c_int, task: *mut c_void, private: *mut c_void) {
    let task: *mut Task = task.cast();
    // SAFETY: the library gives back what `start` gave it: a slot of the engine, and the task that it made for it, which is ours to
    // free. Nobody else uses the slot or what the engine shares meanwhile.
    unsafe {
        let slot = &*private.cast::<Slot>();
        let shared = &mut *slot.shared;
        let missing = match task.as_ref() {
            Some(task) if slot.transfers && task.residual_status == UNDERFLOW => {
                i64::try_from(task.residual).unwrap_or(0)
            }
            _ => 0,
        };
        let result = match how {
            status::GOOD => (i64::from(slot.length) - missing).max(0),
            status::CHECK_CONDITION => -i64::from(libc::EIO),
            status::BUSY | status::TASK_SET_FULL => -i64::from(libc::EBUSY),
            status::RESERVATION_CONFLICT => -i64::from(libc::EACCES),
            status::TIMEOUT => -i64::from(libc::ETIMEDOUT),
            status::CANCELLED | status::ERROR => -i64::from(libc::ESHUTDOWN),
            _ => -i64::from(libc::EIO),
        };
        if result < 0 {
            let said = std::ffi::CStr::from_ptr((shared.functions.error)(context)).to_string_lossy();
            let said = shared.lost.clone().unwrap_or_else(|| said.trim().replace(char::is_control, " "));
            shared.explained[slot.number as usize] = Some(said).filter(|said| !said.is_empty());
        }
        if !task.is_null() {
            (shared.functions.free_task)(task);
        }
        shared.in_flight -= 1;
        shared.ended.push_back((slot.number, result));
    }
}

impl Drop for Libiscsi {
    fn drop(&mut self) {
        let is_idle = self.shared().in_flight == 0;
        for session in self.sessions.iter_mut().flatten().flatten() {
            if is_idle {
                session.log_out();
            }
        }
        // Callbacks of what is in flight come while the sessions end, and write to what is freed after them.
        self.sessions.clear();
        // SAFETY: it came from a box, and no session is left that could use it.
        drop(unsafe { Box::from_raw(self.shared) });
    }
}
