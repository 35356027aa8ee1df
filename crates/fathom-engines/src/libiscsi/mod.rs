//! `libiscsi`: logical units of iSCSI targets, through the library of that name, which is loaded when a job needs it.
//! `url.rs` parses the names of units, `session.rs` has the library's functions and logs in, `storage.rs` determines sizes.
//! Commands are queued and sent together when the loop next polls for completions; the library reports these through a
//! callback.

mod error;
mod session;
mod storage;
mod url;

use crate::net::callbacks::{Ends, Polled};
use crate::net::library::refused;
use error::SessionError;
use fathom_run::engine::{Completions, Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::storage::{Handle, Storage, SyncKind};
use fathom_run::unit::Operation;
use fathom_spec::JobSpec;
use fathom_spec::engines::libiscsi::WriteMode;
use fathom_spec::engines::{self, EngineDef};
use fathom_spec::options::io_type::SyncMode;
use fathom_sys::Errno;
use session::{Context, Functions, Piece, Range, Session, Task, UNDERFLOW};
use std::any::Any;
use std::ffi::{CStr, c_int, c_void};
use std::sync::Arc;
use std::time::Duration;
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

/// Data of an I/O that is passed to the library; it must stay in place while the I/O is in flight.
struct Slot {
    functions: Arc<Functions>,
    ends: *mut Ends,
    number: u32,
    length: u32,
    /// True if the target transfers the bytes of the I/O, so that a residual count has to be subtracted.
    transfers: bool,
    piece: Piece,
    range: Range,
}

/// The engine.
pub(crate) struct Libiscsi {
    /// The sessions of all files: first those of the first file, then those of the second, and so on.
    sessions: Polled<Session>,
    sessions_of_file: usize,
    slots: Box<[Slot]>,
    queued: u32,
    durable: c_int,
    write_mode: WriteMode,
}

impl EngineType for Libiscsi {
    const DEFINITION: &'static EngineDef = &engines::libiscsi::DEFINITION;

    fn storage(job: &JobSpec) -> Box<dyn Storage> {
        Box::new(Units::new(&job.private.libiscsi.initiator))
    }

    fn new(setup: &Setup<'_>) -> Result<Libiscsi, SetupError> {
        let options = &setup.job.private.libiscsi;
        let failed = |error: SessionError| refused(Errno(libc::EIO), "iscsi_full_connect", error);
        let functions = Functions::load().map(Arc::new).map_err(|error| failed(error.into()))?;
        let storage: &dyn Any = setup.storage;
        let held = storage.downcast_ref::<Units>();
        let mut sessions = Vec::new();
        for (index, file) in setup.files.iter().enumerate() {
            let unit = Unit::parse(&file.name).map_err(|error| failed(error.into()))?;
            sessions.extend(held.and_then(|units| units.take_session(&file.name)));
            while sessions.len() < (index + 1) * options.sessions as usize {
                sessions.push(Session::open(&functions, &options.initiator, &unit).map_err(failed)?);
            }
        }
        let count = setup.depth as usize + 1;
        let sessions = Polled::new(sessions, count);
        let slot = |number| Slot {
            functions: Arc::clone(&functions),
            ends: sessions.ends_pointer(),
            number,
            length: 0,
            transfers: false,
            piece: Piece { base: std::ptr::null_mut(), length: 0 },
            range: Range { block: 0, count: 0 },
        };
        Ok(Libiscsi {
            slots: (0..count as u32).map(slot).collect(),
            sessions,
            sessions_of_file: options.sessions as usize,
            queued: 0,
            durable: c_int::from(setup.job.io_type.sync != SyncMode::None),
            write_mode: options.write_mode,
        })
    }
}

impl Engine for Libiscsi {
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        let chosen = self.sessions.choose(io.file() as usize * self.sessions_of_file, self.sessions_of_file);
        let Some(session) = chosen.and_then(|index| self.sessions.clients[index].as_ref()) else {
            return self.refuse(slot, libc::ESHUTDOWN, "the session is lost");
        };
        let (context, lun, block_length) = (session.context, session.lun, session.block_length);
        if !io.offset().is_multiple_of(block_length.into()) || !io.length().is_multiple_of(block_length) {
            let why = format!("the unit has blocks of {block_length} bytes, and I/Os must be whole blocks");
            return self.refuse(slot, libc::EINVAL, &why);
        }
        self.sessions.ends().begun();
        if self.start(context, lun, block_length, slot, io).is_null() {
            let session = chosen.and_then(|index| self.sessions.clients[index].as_ref());
            let why = session.map(|session| session.error().to_string()).unwrap_or_default();
            self.sessions.ends().not_begun();
            return self.refuse(slot, libc::EIO, &why);
        }
        self.queued += 1;
        Queued::Pending
    }

    fn commit(&mut self) -> Result<u32, Errno> {
        Ok(std::mem::take(&mut self.queued))
    }

    fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        self.sessions.collect(min, if min == 0 { Some(Duration::ZERO) } else { None }, out)
    }

    fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        self.sessions.collect(1, Some(span), out)
    }

    fn sync_now(&mut self, handle: Handle, _: SyncKind) -> Option<Result<(), Errno>> {
        let slot = self.slots.len() as u32 - 1;
        let file = u32::try_from(handle.number()?).ok()?;
        let result = match self.queue(slot, &Io::sync(file, handle)) {
            Queued::Done(result) => result,
            Queued::Pending => {
                self.queued -= 1;
                self.sessions.wait_for_end_of(slot)
            }
        };
        Some(if result < 0 { Err(Errno(-result as i32)) } else { Ok(()) })
    }

    fn protocol_status(&mut self, slot: u32) -> Option<String> {
        self.sessions.ends().explanation(slot)
    }

    fn features(&self) -> Vec<&'static str> {
        if self.sessions_of_file > 1 { vec!["several sessions"] } else { Vec::new() }
    }
}

impl Libiscsi {
    /// Ends an I/O that cannot be started.
    #[cold]
    fn refuse(&mut self, slot: u32, errno: i32, why: &str) -> Queued {
        self.sessions.ends().explain(slot, why);
        Queued::Done(-i64::from(errno))
    }

    /// Passes a command to the library.
    fn start(
        &mut self,
        context: *mut Context,
        lun: c_int,
        block_length: u32,
        number: u32,
        io: &Io,
    ) -> *mut Task {
        let slot = &mut self.slots[number as usize];
        let functions = Arc::clone(&slot.functions);
        let (block, count) = (io.offset() / u64::from(block_length), io.length() / block_length);
        slot.length = if matches!(io.operation(), Operation::Read | Operation::Write | Operation::Trim) {
            io.length()
        } else {
            0
        };
        slot.transfers = match io.operation() {
            Operation::Read => true,
            Operation::Write => self.write_mode == WriteMode::Write,
            _ => false,
        };
        slot.piece = Piece { base: io.buffer().cast(), length: io.length() as usize };
        slot.range = Range { block, count };
        let (piece, range) = (&raw mut slot.piece, &raw mut slot.range);
        let private: *mut c_void = std::ptr::from_mut(slot).cast();
        let (bytes, size, fua) = (io.length(), block_length as c_int, self.durable);
        // SAFETY: context and unit belong to an existing session. The buffer, the piece and the range stay
        // valid until the callback has run, at the latest when the session ends.
        unsafe {
            match (io.operation(), self.write_mode) {
                (Operation::Read, _) => (functions.read)(
                    context, lun, block, bytes, size, 0, 0, 0, 0, 0, ended, private, piece, 1,
                ),
                (Operation::Write, WriteMode::Write) => (functions.write)(
                    context,
                    lun,
                    block,
                    io.buffer(),
                    bytes,
                    size,
                    0,
                    0,
                    fua,
                    0,
                    0,
                    ended,
                    private,
                    piece,
                    1,
                ),
                (Operation::Write, WriteMode::Same) => (functions.write_same)(
                    context,
                    lun,
                    block,
                    io.buffer(),
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
}

/// The library calls this once for each command.
unsafe extern "C" fn ended(context: *mut Context, how: c_int, task: *mut c_void, private: *mut c_void) {
    let task: *mut Task = task.cast();
    // SAFETY: the library returns what `start` passed: a slot of the engine, and the task created for it,
    // which is ours to free. The slot and the engine's shared state are not used elsewhere meanwhile.
    unsafe {
        let slot = &*private.cast::<Slot>();
        let ends = &mut *slot.ends;
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
        ends.ended(slot.number, result, || {
            CStr::from_ptr((slot.functions.error)(context)).to_string_lossy().into_owned()
        });
        if !task.is_null() {
            (slot.functions.free_task)(task);
        }
    }
}

impl Drop for Libiscsi {
    fn drop(&mut self) {
        if self.sessions.ends().in_flight() == 0 {
            self.sessions.clients.iter_mut().flatten().for_each(Session::log_out);
        }
        // The sessions are dropped before the slots, because callbacks of I/Os in flight still use these.
        self.sessions.clients.clear();
    }
}
