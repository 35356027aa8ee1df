//! `nfs`: files of an NFS server, through libnfs, which is loaded when a job needs it. `mount.rs` has the library's
//! functions, `storage.rs` creates and removes files. I/Os are queued and sent together when the loop next polls for
//! completions; the library reports these through a callback.

mod mount;
mod storage;

use crate::net::callbacks::{Client, ConnectionLost, Ends, Polled};
use crate::net::library::refused;
use crate::net::refusal::Refusal;
use fathom_run::engine::{Completions, Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::storage::{Handle, Storage, SyncKind};
use fathom_run::unit::Operation;
use fathom_spec::JobSpec;
use fathom_spec::engines::{self, EngineDef};
use fathom_spec::options::io_type::SyncMode;
use fathom_sys::Errno;
use fathom_sys::socket::Awaited;
use mount::{Context, FileHandle, Functions, Mount, errno_of};
use std::ffi::{CStr, c_int, c_void};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use storage::Share;

/// A connection with its handles for the job's files. The handle of a lost file is null.
struct Connection {
    mount: Mount,
    files: Vec<*mut FileHandle>,
    gap: Option<Gap>,
}

/// State of a connection that is being restored.
struct Gap {
    /// Time of the next attempt to reconnect.
    next: Instant,
    /// Number of failed attempts.
    failed: i64,
}

/// Interval between two attempts to reconnect.
const PAUSE: Duration = Duration::from_millis(100);
/// Value that marks a socket as broken, for the library.
const BROKEN: c_int = -1;

impl Client for Connection {
    fn service(&mut self) -> Result<(), ConnectionLost> {
        let Mount { functions, context, .. } = &self.mount;
        if self.gap.as_ref().is_some_and(|gap| Instant::now() < gap.next) {
            return Ok(());
        }
        // SAFETY: the context belongs to the connection; callbacks only access what outlives it.
        let result = unsafe {
            let events = if self.gap.is_some() { BROKEN } else { (functions.events)(*context) };
            (functions.service)(*context, events)
        };
        if result >= 0 {
            self.gap = None;
            return Ok(());
        }
        // A failed attempt to reconnect is followed by another. Meanwhile, I/Os in flight stay with the
        // library.
        let failed = self.gap.as_ref().map_or(0, |gap| gap.failed) + 1;
        if !self.mount.tries_again(failed) {
            return Err(ConnectionLost(self.mount.error()));
        }
        self.gap = Some(Gap { next: Instant::now() + PAUSE, failed });
        Ok(())
    }

    fn awaited(&self) -> Awaited {
        let Mount { functions, context, .. } = &self.mount;
        // SAFETY: both only read the context, which belongs to the connection.
        let (socket, events) = unsafe { ((functions.descriptor)(*context), (functions.events)(*context)) };
        Awaited { socket, to_send: events & c_int::from(libc::POLLOUT) != 0 }
    }
}

/// Data of an I/O that is passed to the library; it must stay in place while the I/O is in flight.
struct Slot {
    ends: *mut Ends,
    number: u32,
    /// Destination and length of a read; null for other I/Os.
    buffer: *mut u8,
    length: usize,
}

/// The engine.
pub(crate) struct Nfs {
    connections: Polled<Connection>,
    slots: Box<[Slot]>,
    paths: Vec<PathBuf>,
    flags: c_int,
    queued: u32,
}

impl EngineType for Nfs {
    const DEFINITION: &'static EngineDef = &engines::nfs::DEFINITION;

    fn storage(job: &JobSpec) -> Box<dyn Storage> {
        Box::new(Share::new(job.private.nfs.nfs_url.as_deref()))
    }

    fn new(setup: &Setup<'_>) -> Result<Nfs, SetupError> {
        let options = &setup.job.private.nfs;
        let failed = |refusal: Refusal| refused(refusal.errno, "nfs_mount", refusal.sentence);
        let functions = Functions::load().map(Arc::new).map_err(Refusal::of_library).map_err(failed)?;
        let url = options.nfs_url.as_deref().unwrap_or("");
        let paths: Vec<PathBuf> = setup.files.iter().map(|file| PathBuf::from(&file.name)).collect();
        let durable = if setup.job.io_type.sync == SyncMode::None { 0 } else { libc::O_SYNC };
        let flags = durable | if setup.writes { libc::O_RDWR } else { libc::O_RDONLY };
        let mut connections = Vec::new();
        for _ in 0..options.nconnect.max(1) {
            let mount = Mount::open(&functions, url).map_err(failed)?;
            let files: Result<_, Refusal> = paths.iter().map(|path| mount.open_file(path, flags)).collect();
            connections.push(Connection { files: files.map_err(failed)?, mount, gap: None });
        }
        let count = setup.depth as usize + 1;
        let connections = Polled::new(connections, count);
        let slot = |number| Slot {
            ends: connections.ends_pointer(),
            number,
            buffer: std::ptr::null_mut(),
            length: 0,
        };
        Ok(Nfs { slots: (0..count as u32).map(slot).collect(), connections, paths, flags, queued: 0 })
    }
}

impl Engine for Nfs {
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        if io.operation() == Operation::Trim {
            return self.refuse(slot, libc::EOPNOTSUPP, "NFS 3 has no trims");
        }
        let count = self.connections.clients.len();
        let chosen = self.connections.choose(0, count);
        let Some(connection) = chosen.and_then(|index| self.connections.clients[index].as_ref()) else {
            return self.refuse(slot, libc::ESHUTDOWN, "the connection is lost");
        };
        let handle = connection.files[io.file() as usize];
        if handle.is_null() {
            return self.refuse(slot, libc::EBADF, "the file could not be opened again");
        }
        let (functions, context) = (connection.mount.functions.clone(), connection.mount.context);
        let place = &mut self.slots[slot as usize];
        let is_read = io.operation() == Operation::Read;
        (place.buffer, place.length) =
            if is_read { (io.buffer(), io.length() as usize) } else { (std::ptr::null_mut(), 0) };
        let private: *mut c_void = std::ptr::from_mut(place).cast();
        let length = u64::from(io.length());
        self.connections.ends().begun();
        // SAFETY: context and handle belong to an existing connection. Buffer and slot stay valid until the
        // callback has run, at the latest when the connection ends.
        let result = unsafe {
            match io.operation() {
                Operation::Read => {
                    (functions.read_async)(context, handle, io.offset(), length, ended, private)
                }
                Operation::Write => (functions.write_async)(
                    context,
                    handle,
                    io.offset(),
                    length,
                    io.buffer().cast(),
                    ended,
                    private,
                ),
                _ => (functions.fsync_async)(context, handle, ended, private),
            }
        };
        if result < 0 {
            let connection = chosen.and_then(|index| self.connections.clients[index].as_ref());
            let why = connection.map(|connection| connection.mount.error()).unwrap_or_default();
            self.connections.ends().not_begun();
            return self.refuse(slot, libc::EIO, &why);
        }
        self.queued += 1;
        Queued::Pending
    }

    fn commit(&mut self) -> Result<u32, Errno> {
        Ok(std::mem::take(&mut self.queued))
    }

    fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        self.connections.collect(min, if min == 0 { Some(Duration::ZERO) } else { None }, out)
    }

    fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        self.connections.collect(1, Some(span), out)
    }

    fn sync_now(&mut self, handle: Handle, _: SyncKind) -> Option<Result<(), Errno>> {
        let slot = self.slots.len() as u32 - 1;
        let file = u32::try_from(handle.number()?).ok()?;
        let result = match self.queue(slot, &Io::sync(file, handle)) {
            Queued::Done(result) => result,
            Queued::Pending => {
                self.queued -= 1;
                self.connections.wait_for_end_of(slot)
            }
        };
        Some(if result < 0 { Err(Errno(-result as i32)) } else { Ok(()) })
    }

    /// Reopens the file, whose name may refer to another file now.
    fn reopened(&mut self, index: usize) {
        for connection in self.connections.clients.iter_mut().flatten() {
            let handle = std::mem::replace(&mut connection.files[index], std::ptr::null_mut());
            if !handle.is_null() {
                connection.mount.close(handle);
            }
            connection.files[index] =
                connection.mount.open_file(&self.paths[index], self.flags).unwrap_or(std::ptr::null_mut());
        }
    }

    fn protocol_status(&mut self, slot: u32) -> Option<String> {
        self.connections.ends().explanation(slot)
    }

    fn features(&self) -> Vec<&'static str> {
        if self.connections.clients.len() > 1 { vec!["several connections"] } else { Vec::new() }
    }
}

impl Nfs {
    /// Ends an I/O that cannot be started.
    #[cold]
    fn refuse(&mut self, slot: u32, errno: i32, why: &str) -> Queued {
        self.connections.ends().explain(slot, why);
        Queued::Done(-i64::from(errno))
    }
}

/// The library calls this once for each I/O, with the number of bytes or `-errno`, and the data read or an
/// error text.
unsafe extern "C" fn ended(how: c_int, _: *mut Context, data: *mut c_void, private: *mut c_void) {
    // SAFETY: the library returns the slot that `queue` passed, and data of the stated length, or a text. The
    // slot and the engine's shared state are not used elsewhere meanwhile, and the buffer belongs to the I/O
    // until it has completed.
    unsafe {
        let slot = &*private.cast::<Slot>();
        let ends = &mut *slot.ends;
        let result = match how {
            0.. if slot.buffer.is_null() || data.is_null() => i64::from(how),
            0.. => {
                let count = (how as usize).min(slot.length);
                std::ptr::copy_nonoverlapping(data.cast::<u8>(), slot.buffer, count);
                count as i64
            }
            _ if ends.is_losing() => -i64::from(libc::ESHUTDOWN),
            errno => -i64::from(errno_of(errno).0),
        };
        ends.ended(slot.number, result, || {
            if data.is_null() {
                String::new()
            } else {
                CStr::from_ptr(data.cast()).to_string_lossy().into_owned()
            }
        });
    }
}

impl Drop for Nfs {
    fn drop(&mut self) {
        if self.connections.ends().in_flight() == 0 {
            for Connection { mount, files, .. } in self.connections.clients.iter().flatten() {
                files.iter().filter(|handle| !handle.is_null()).for_each(|handle| mount.close(*handle));
            }
        }
        // The connections are dropped before the slots, because callbacks of I/Os in flight still use these.
        self.connections.clients.clear();
    }
}
