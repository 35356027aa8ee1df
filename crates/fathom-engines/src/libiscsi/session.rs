//! A session with a target, through libiscsi: its functions, and the facts about a logical unit.

use super::error::{Said, SessionError};
use super::url::Unit;
use crate::net::callbacks::{Client, ConnectionLost};
use crate::net::library::functions;
use crate::net::socket::{Address, Socket};
use fathom_sys::socket::Awaited;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Arc;
use std::time::Duration;

/// `struct iscsi_context`.
#[repr(C)]
pub(super) struct Context {
    _private: [u8; 0],
}

/// The start of `struct scsi_task`, unchanged since libiscsi 1.12.
#[repr(C)]
pub(super) struct Task {
    pub(super) status: c_int,
    cdb_size: c_int,
    transfer_direction: c_int,
    expected_length: c_int,
    cdb: [u8; 16],
    pub(super) residual_status: c_int,
    pub(super) residual: usize,
}

/// `SCSI_RESIDUAL_UNDERFLOW`: fewer bytes were transferred than requested.
pub(super) const UNDERFLOW: c_int = 1;

/// `struct scsi_iovec`.
#[repr(C)]
pub(super) struct Piece {
    pub(super) base: *mut c_void,
    pub(super) length: usize,
}

/// `struct unmap_list`.
#[repr(C)]
pub(super) struct Range {
    pub(super) block: u64,
    pub(super) count: u32,
}

/// The start of `struct scsi_readcapacity16`.
#[repr(C)]
struct Capacity {
    last_block: u64,
    block_length: u32,
}

/// `iscsi_command_cb`.
pub(super) type Callback = unsafe extern "C" fn(*mut Context, c_int, *mut c_void, *mut c_void);

functions! {
    /// The libiscsi functions that are used.
    struct Functions of ["libiscsi.so.7", "libiscsi.so.9", "libiscsi.so.10", "libiscsi.so.11"], package "libiscsi7" {
        create_context = b"iscsi_create_context": fn(*const c_char) -> *mut Context;
        destroy_context = b"iscsi_destroy_context": fn(*mut Context) -> c_int;
        set_target = b"iscsi_set_targetname": fn(*mut Context, *const c_char) -> c_int;
        set_session_type = b"iscsi_set_session_type": fn(*mut Context, c_int) -> c_int;
        set_user = b"iscsi_set_initiator_username_pwd": fn(*mut Context, *const c_char, *const c_char) -> c_int;
        set_no_reconnect = b"iscsi_set_noautoreconnect": fn(*mut Context, c_int);
        set_timeout = b"iscsi_set_timeout": fn(*mut Context, c_int) -> c_int;
        connect = b"iscsi_full_connect_sync": fn(*mut Context, *const c_char, c_int) -> c_int;
        log_out = b"iscsi_logout_sync": fn(*mut Context) -> c_int;
        error = b"iscsi_get_error": fn(*mut Context) -> *const c_char;
        descriptor = b"iscsi_get_fd": fn(*mut Context) -> c_int;
        events = b"iscsi_which_events": fn(*mut Context) -> c_int;
        service = b"iscsi_service": fn(*mut Context, c_int) -> c_int;
        read_capacity = b"iscsi_readcapacity16_sync": fn(*mut Context, c_int) -> *mut Task;
        unmarshal = b"scsi_datain_unmarshall": fn(*mut Task) -> *mut c_void;
        free_task = b"scsi_free_scsi_task": fn(*mut Task);
        read = b"iscsi_read16_iov_task": fn(*mut Context, c_int, u64, u32, c_int, c_int, c_int, c_int, c_int, c_int, Callback, *mut c_void, *mut Piece, c_int) -> *mut Task;
        write = b"iscsi_write16_iov_task": fn(*mut Context, c_int, u64, *mut u8, u32, c_int, c_int, c_int, c_int, c_int, c_int, Callback, *mut c_void, *mut Piece, c_int) -> *mut Task;
        write_same = b"iscsi_writesame16_task": fn(*mut Context, c_int, u64, *mut u8, u32, u32, c_int, c_int, c_int, c_int, Callback, *mut c_void) -> *mut Task;
        sync_cache = b"iscsi_synchronizecache16_task": fn(*mut Context, c_int, u64, u32, c_int, c_int, Callback, *mut c_void) -> *mut Task;
        unmap = b"iscsi_unmap_task": fn(*mut Context, c_int, c_int, c_int, *mut Range, c_int, Callback, *mut c_void) -> *mut Task;
    }
}

/// One session, with its logical unit.
pub(super) struct Session {
    pub(super) functions: Arc<Functions>,
    pub(super) context: *mut Context,
    pub(super) lun: c_int,
    pub(super) blocks: u64,
    pub(super) block_length: u32,
}

/// Timeout of requests to a target during session setup, in s.
const SETUP_LIMIT: c_int = 30;
const NORMAL_SESSION: c_int = 2;
/// Operation code of READ CAPACITY (16).
const SERVICE_ACTION_IN: u8 = 0x9e;

impl Session {
    /// Logs in and queries the unit.
    pub(super) fn open(
        functions: &Arc<Functions>,
        initiator: &str,
        unit: &Unit,
    ) -> Result<Session, SessionError> {
        let text = |text: &str| CString::new(text).map_err(|_| SessionError::ZeroByte(text.to_owned()));
        let (initiator, target, portal) = (text(initiator)?, text(&unit.target)?, text(&unit.portal)?);
        // SAFETY: the texts end with a zero, and live through the calls, which copy them.
        let context = unsafe { (functions.create_context)(initiator.as_ptr()) };
        if context.is_null() {
            return Err(SessionError::NoContext);
        }
        let mut session =
            Session { functions: Arc::clone(functions), context, lun: unit.lun, blocks: 0, block_length: 0 };
        // SAFETY: as above; the context belongs to the session.
        unsafe {
            (functions.set_target)(context, target.as_ptr());
            (functions.set_session_type)(context, NORMAL_SESSION);
            // The library must not reconnect automatically, because that would hide the loss of a connection.
            (functions.set_no_reconnect)(context, 1);
            (functions.set_timeout)(context, SETUP_LIMIT);
        }
        session.name_user(unit)?;
        // SAFETY: as above.
        if unsafe { (functions.connect)(context, portal.as_ptr(), unit.lun) } != 0 {
            return Err(session.why_not_connected(&unit.portal));
        }
        session.read_capacity()?;
        // No timeout is set, because the supervisor limits the duration of an I/O. SAFETY: as above.
        unsafe { (functions.set_timeout)(context, 0) };
        Ok(session)
    }

    /// Finds out why a connection failed: the library does not report the reason, so another attempt is made
    /// without it.
    fn why_not_connected(&self, portal: &str) -> SessionError {
        let (host, port) = portal.rsplit_once(':').unwrap_or((portal, ""));
        let host = host.trim_matches(['[', ']']).to_owned();
        let address = Address::Tcp { host, port: port.parse().unwrap_or(0) };
        match Socket::connect(&address, Duration::from_secs(5)) {
            Ok(_) => SessionError::Refused { portal: portal.to_owned(), said: self.error() },
            Err(error) => SessionError::NotConnected { portal: portal.to_owned(), errno: error.into() },
        }
    }

    /// Sets user and password (CHAP) from the environment variables that libiscsi's own programs use.
    fn name_user(&self, unit: &Unit) -> Result<(), SessionError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let Some(user) = unit.user.clone().or_else(|| variable("LIBISCSI_CHAP_USERNAME")) else {
            return Ok(());
        };
        let password = variable("LIBISCSI_CHAP_PASSWORD").ok_or(SessionError::NoPassword)?;
        let (Ok(user), Ok(password)) = (CString::new(user), CString::new(password)) else {
            return Err(SessionError::ZeroByteInUser);
        };
        // SAFETY: the texts end with a zero and are copied.
        unsafe { (self.functions.set_user)(self.context, user.as_ptr(), password.as_ptr()) };
        Ok(())
    }

    fn read_capacity(&mut self) -> Result<(), SessionError> {
        // SAFETY: the context is logged in; the task is freed below, after its content was read.
        let task = unsafe { (self.functions.read_capacity)(self.context, self.lun) };
        if task.is_null() {
            return Err(self.error().into());
        }
        // SAFETY: as above. A library with a different task structure is detected by the command code.
        let found = unsafe {
            match ((*task).status, (*task).cdb[0]) {
                (0, SERVICE_ACTION_IN) => Ok((self.functions.unmarshal)(task)
                    .cast::<Capacity>()
                    .as_ref()
                    .map(|capacity| (capacity.last_block, capacity.block_length))),
                (0, _) => Err(SessionError::UnknownRelease),
                _ => Err(self.error().into()),
            }
        };
        // SAFETY: the task has completed.
        unsafe { (self.functions.free_task)(task) };
        let (last_block, block_length) = found?.ok_or(SessionError::NoSize)?;
        if block_length == 0 {
            return Err(SessionError::EmptyBlocks);
        }
        (self.blocks, self.block_length) = (last_block.saturating_add(1), block_length);
        Ok(())
    }

    /// Size of the unit in bytes.
    pub(super) fn size(&self) -> u64 {
        self.blocks.saturating_mul(u64::from(self.block_length))
    }

    /// libiscsi's message about the last error.
    pub(super) fn error(&self) -> Said {
        // SAFETY: the text belongs to the context and is copied immediately.
        let text = unsafe {
            let text = (self.functions.error)(self.context);
            if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
        };
        let text = text.trim().replace(char::is_control, " ");
        Said(if text.is_empty() { "libiscsi does not say why".to_owned() } else { text })
    }
}

impl Client for Session {
    fn service(&mut self) -> Result<(), ConnectionLost> {
        // SAFETY: the context belongs to the session; callbacks only access what outlives the context.
        let result = unsafe { (self.functions.service)(self.context, (self.functions.events)(self.context)) };
        if result < 0 { Err(ConnectionLost(self.error().0)) } else { Ok(()) }
    }

    fn awaited(&self) -> Awaited {
        // SAFETY: both only read the context, which belongs to the session.
        let (socket, events) =
            unsafe { ((self.functions.descriptor)(self.context), (self.functions.events)(self.context)) };
        Awaited { socket, to_send: events & c_int::from(libc::POLLOUT) != 0 }
    }
}

impl Session {
    /// Logs out, and waits up to a second for the target's response.
    pub(super) fn log_out(&mut self) {
        // SAFETY: the context belongs to the session, with nothing in flight. The target's answer no longer
        // matters.
        unsafe {
            (self.functions.set_timeout)(self.context, 1);
            (self.functions.log_out)(self.context);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: the context is not used elsewhere. Callbacks of I/O in flight come now.
        unsafe { (self.functions.destroy_context)(self.context) };
    }
}
