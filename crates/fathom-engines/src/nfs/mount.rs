//! A mounted share and its files, through libnfs.

use crate::net::library::functions;
use crate::net::refusal::Refusal;
use fathom_sys::Errno;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::sync::Arc;

/// `struct nfs_context`.
#[repr(C)]
pub(super) struct Context {
    _private: [u8; 0],
}

/// `struct nfsfh`.
#[repr(C)]
pub(super) struct FileHandle {
    _private: [u8; 0],
}

/// `struct nfs_url`.
#[repr(C)]
pub(super) struct Url {
    server: *const c_char,
    path: *const c_char,
    file: *const c_char,
}

/// `struct nfs_stat_64`.
#[repr(C)]
#[derive(Default)]
pub(super) struct Stat {
    before_mode: [u64; 2],
    mode: u64,
    before_size: [u64; 4],
    size: u64,
    rest: [u64; 9],
}

/// `nfs_cb`.
pub(super) type Callback = unsafe extern "C" fn(c_int, *mut Context, *mut c_void, *mut c_void);

functions! {
    /// The libnfs functions that are used. Later releases have different parameters.
    struct Functions of ["libnfs.so.13", "libnfs.so.14"], package "libnfs13" {
        init_context = b"nfs_init_context": fn() -> *mut Context;
        destroy_context = b"nfs_destroy_context": fn(*mut Context);
        set_autoreconnect = b"nfs_set_autoreconnect": fn(*mut Context, c_int);
        set_timeout = b"nfs_set_timeout": fn(*mut Context, c_int);
        parse_url = b"nfs_parse_url_dir": fn(*mut Context, *const c_char) -> *mut Url;
        destroy_url = b"nfs_destroy_url": fn(*mut Url);
        mount = b"nfs_mount": fn(*mut Context, *const c_char, *const c_char) -> c_int;
        error = b"nfs_get_error": fn(*mut Context) -> *const c_char;
        descriptor = b"nfs_get_fd": fn(*mut Context) -> c_int;
        events = b"nfs_which_events": fn(*mut Context) -> c_int;
        service = b"nfs_service": fn(*mut Context, c_int) -> c_int;
        stat = b"nfs_stat64": fn(*mut Context, *const c_char, *mut Stat) -> c_int;
        open = b"nfs_open2": fn(*mut Context, *const c_char, c_int, c_int, *mut *mut FileHandle) -> c_int;
        close = b"nfs_close": fn(*mut Context, *mut FileHandle) -> c_int;
        truncate = b"nfs_ftruncate": fn(*mut Context, *mut FileHandle, u64) -> c_int;
        unlink = b"nfs_unlink": fn(*mut Context, *const c_char) -> c_int;
        fsync = b"nfs_fsync": fn(*mut Context, *mut FileHandle) -> c_int;
        write = b"nfs_pwrite": fn(*mut Context, *mut FileHandle, u64, u64, *const c_void) -> c_int;
        read_async = b"nfs_pread_async": fn(*mut Context, *mut FileHandle, u64, u64, Callback, *mut c_void) -> c_int;
        write_async = b"nfs_pwrite_async": fn(*mut Context, *mut FileHandle, u64, u64, *const c_void, Callback, *mut c_void) -> c_int;
        fsync_async = b"nfs_fsync_async": fn(*mut Context, *mut FileHandle, Callback, *mut c_void) -> c_int;
    }
}

/// Timeout for mounting a share, ms.
const SETUP_LIMIT: c_int = 30_000;
const NO_LIMIT: c_int = -1;
/// Mode of new files.
const MODE: c_int = 0o644;

/// One connection to a server.
pub(super) struct Mount {
    pub(super) functions: Arc<Functions>,
    pub(super) context: *mut Context,
    /// Maximum number of attempts to restore a lost connection; negative for no limit.
    reconnects: i64,
}

impl Mount {
    /// Mounts the share of a URL.
    pub(super) fn open(functions: &Arc<Functions>, url: &str) -> Result<Mount, Refusal> {
        let wrong = |what: &str| Refusal {
            errno: Errno(libc::EINVAL),
            sentence: format!("nfs_url={url}: {what}; it looks like nfs://server/exported/folder"),
        };
        let text = CString::new(url).map_err(|_| wrong("it contains a zero byte"))?;
        if url.split(['?', '&']).skip(1).any(|parameter| parameter == "version=4") {
            return Err(wrong("version=4 is not supported"));
        }
        let reconnects = autoreconnect(url).map_err(wrong)?;
        // SAFETY: the function has no arguments.
        let context = unsafe { (functions.init_context)() };
        if context.is_null() {
            return Err(Refusal {
                errno: Errno(libc::ENOMEM),
                sentence: "libnfs cannot be initialised".to_owned(),
            });
        }
        let mount = Mount { functions: Arc::clone(functions), context, reconnects };
        // SAFETY: the context is ours and the text ends with a zero. The URL's parts are read before it is freed; the mount copies them.
        let result = unsafe {
            // Automatic reconnection is off by default, because it would hide the loss of a connection; a URL
            // may request it (autoreconnect=).
            (functions.set_autoreconnect)(context, 0);
            (functions.set_timeout)(context, SETUP_LIMIT);
            let parts = (functions.parse_url)(context, text.as_ptr());
            if parts.is_null() {
                return Err(wrong(&mount.error()));
            }
            let result = (functions.mount)(context, (*parts).server, (*parts).path);
            (functions.destroy_url)(parts);
            result
        };
        mount.checked(result, url)?;
        // SAFETY: as above. The supervisor limits the time of an I/O.
        unsafe { (functions.set_timeout)(context, NO_LIMIT) };
        Ok(mount)
    }

    /// True if a lost connection is to be retried after this number of failed attempts.
    pub(super) fn tries_again(&self, failed: i64) -> bool {
        self.reconnects < 0 || failed <= self.reconnects
    }

    /// Size of a file; `None` if it does not exist.
    pub(super) fn size(&self, path: &Path) -> Result<Option<u64>, Refusal> {
        let name = on_server(path)?;
        let mut found = Stat::default();
        // SAFETY: the name ends with a zero, and the result has room.
        let result = unsafe { (self.functions.stat)(self.context, name.as_ptr(), &mut found) };
        if result == -libc::ENOENT {
            return Ok(None);
        }
        self.checked(result, &path.display().to_string())?;
        match found.mode as u32 & libc::S_IFMT {
            libc::S_IFREG => Ok(Some(found.size)),
            _ => Err(Refusal {
                errno: Errno(libc::EISDIR),
                sentence: format!("{}: is not a regular file on the server", path.display()),
            }),
        }
    }

    /// Opens a file with these flags.
    pub(super) fn open_file(&self, path: &Path, flags: c_int) -> Result<*mut FileHandle, Refusal> {
        let name = on_server(path)?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the name ends with a zero, and the result has room.
        let result = unsafe { (self.functions.open)(self.context, name.as_ptr(), flags, MODE, &mut handle) };
        self.checked(result, &path.display().to_string())?;
        Ok(handle)
    }

    /// Sets the length of a file.
    pub(super) fn truncate(&self, handle: *mut FileHandle, length: u64) -> Result<(), Errno> {
        // SAFETY: the handle is of this context and open.
        result_of(unsafe { (self.functions.truncate)(self.context, handle, length) })
    }

    /// Makes data written to a file durable.
    pub(super) fn sync(&self, handle: *mut FileHandle) -> Result<(), Errno> {
        // SAFETY: as above.
        result_of(unsafe { (self.functions.fsync)(self.context, handle) })
    }

    /// Writes to a file synchronously.
    pub(super) fn write(&self, handle: *mut FileHandle, bytes: &[u8], offset: u64) -> Result<usize, Errno> {
        let (data, length) = (bytes.as_ptr().cast(), bytes.len() as u64);
        // SAFETY: the handle is of this context and open, and the bytes are read before the call returns.
        let written = unsafe { (self.functions.write)(self.context, handle, offset, length, data) };
        usize::try_from(written).map_err(|_| errno_of(written))
    }

    /// Closes it.
    pub(super) fn close(&self, handle: *mut FileHandle) {
        // SAFETY: the handle is of this context, and is not used any more.
        unsafe { (self.functions.close)(self.context, handle) };
    }

    /// Removes a file. A missing file is not an error.
    pub(super) fn remove(&self, path: &Path) -> Result<(), Refusal> {
        let name = on_server(path)?;
        // SAFETY: the name ends with a zero.
        match unsafe { (self.functions.unlink)(self.context, name.as_ptr()) } {
            result if result == -libc::ENOENT => Ok(()),
            result => self.checked(result, &path.display().to_string()),
        }
    }

    /// libnfs's message about the last error.
    pub(super) fn error(&self) -> String {
        // SAFETY: the text belongs to the context and is copied immediately.
        let text = unsafe {
            let text = (self.functions.error)(self.context);
            if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
        };
        text.trim().replace(char::is_control, " ")
    }

    /// Converts a result of libnfs, 0 or `-errno`.
    pub(super) fn checked(&self, result: c_int, what: &str) -> Result<(), Refusal> {
        if result >= 0 {
            return Ok(());
        }
        let errno = errno_of(result);
        Err(Refusal { errno, sentence: format!("{what}: {errno} ({})", self.error()) })
    }
}

/// The value of `autoreconnect=` in a URL.
fn autoreconnect(url: &str) -> Result<i64, &'static str> {
    let parameters = url.split_once('?').map_or("", |(_, parameters)| parameters);
    let value = parameters.split('&').filter_map(|one| one.strip_prefix("autoreconnect=")).next_back();
    value.map_or(Ok(0), |value| {
        value.parse().map_err(|_| "autoreconnect= is a number: -1 for ever, 0 for never")
    })
}

/// The errno of a negative result. EFAULT becomes a connection error: the library returns it for a lost
/// connection, and a bad address is impossible here.
pub(super) fn errno_of(result: c_int) -> Errno {
    match -result {
        libc::EFAULT => Errno(libc::ECONNRESET),
        errno => Errno(errno),
    }
}

fn result_of(result: c_int) -> Result<(), Errno> {
    if result < 0 { Err(errno_of(result)) } else { Ok(()) }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // SAFETY: the context is not used elsewhere. Callbacks of I/O in flight come now.
        unsafe { (self.functions.destroy_context)(self.context) };
    }
}

/// A path on the server, relative to the mounted folder.
fn on_server(path: &Path) -> Result<CString, Refusal> {
    use std::os::unix::ffi::OsStrExt;
    let mut name = b"/".to_vec();
    name.extend(path.as_os_str().as_bytes().iter().skip_while(|byte| **byte == b'/'));
    CString::new(name).map_err(|_| Refusal {
        errno: Errno(libc::EINVAL),
        sentence: "a file name contains a zero byte".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_connections_come_back_as_the_url_says() {
        let of = |parameters: &str| autoreconnect(&format!("nfs://server/a?b{parameters}"));
        assert_eq!((of(""), of("&autoreconnect=-1"), of("&x=1&autoreconnect=3")), (Ok(0), Ok(-1), Ok(3)));
        assert!(of("&autoreconnect=yes").is_err());
        assert_eq!(autoreconnect("nfs://server/autoreconnect=5"), Ok(0));
    }

    #[test]
    fn a_lost_connection_is_not_a_bad_address() {
        assert_eq!(
            (errno_of(-libc::EFAULT), errno_of(-libc::ENOENT)),
            (Errno(libc::ECONNRESET), Errno(libc::ENOENT))
        );
    }
}
