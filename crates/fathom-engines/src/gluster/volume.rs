//! A volume of a Gluster cluster and its files, through libgfapi, which is loaded when a job needs it.

use crate::net::library::functions;
use crate::net::refusal::Refusal;
use fathom_run::engine::Setup;
use fathom_spec::engines::gfapi::GfapiOptions;
use fathom_spec::options::io_type::SyncMode;
use fathom_sys::Errno;
use std::ffi::{CString, c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// `glfs_t`.
type Handle = *mut c_void;
/// `glfs_fd_t`.
pub(super) type FileHandle = *mut c_void;
/// `struct glfs_stat`, whose content is not used.
type Stat = *mut c_void;
/// `glfs_io_cbk`.
pub(super) type Callback = unsafe extern "C" fn(FileHandle, isize, Stat, Stat, *mut c_void);

functions! {
    /// The libgfapi functions that are used, with their parameters since release 6.
    struct Functions of ["libgfapi.so.0"], package "libgfapi0" {
        new = b"glfs_new": fn(*const c_char) -> Handle;
        set_server = b"glfs_set_volfile_server": fn(Handle, *const c_char, *const c_char, c_int) -> c_int;
        set_logging = b"glfs_set_logging": fn(Handle, *const c_char, c_int) -> c_int;
        init = b"glfs_init": fn(Handle) -> c_int;
        stat = b"glfs_stat": fn(Handle, *const c_char, *mut libc::stat) -> c_int;
        open = b"glfs_open": fn(Handle, *const c_char, c_int) -> FileHandle;
        create = b"glfs_creat": fn(Handle, *const c_char, c_int, libc::mode_t) -> FileHandle;
        close = b"glfs_close": fn(FileHandle) -> c_int;
        truncate = b"glfs_ftruncate": fn(FileHandle, i64, Stat, Stat) -> c_int;
        unlink = b"glfs_unlink": fn(Handle, *const c_char) -> c_int;
        read = b"glfs_pread": fn(FileHandle, *mut c_void, usize, i64, c_int, Stat) -> isize;
        write = b"glfs_pwrite": fn(FileHandle, *const c_void, usize, i64, c_int, Stat, Stat) -> isize;
        discard = b"glfs_discard": fn(FileHandle, i64, usize) -> c_int;
        sync = b"glfs_fsync": fn(FileHandle, Stat, Stat) -> c_int;
        sync_data = b"glfs_fdatasync": fn(FileHandle, Stat, Stat) -> c_int;
        read_async = b"glfs_pread_async": fn(FileHandle, *mut c_void, usize, i64, c_int, Callback, *mut c_void) -> c_int;
        write_async = b"glfs_pwrite_async": fn(FileHandle, *const c_void, c_int, i64, c_int, Callback, *mut c_void) -> c_int;
        discard_async = b"glfs_discard_async": fn(FileHandle, i64, usize, Callback, *mut c_void) -> c_int;
        sync_async = b"glfs_fsync_async": fn(FileHandle, Callback, *mut c_void) -> c_int;
        sync_data_async = b"glfs_fdatasync_async": fn(FileHandle, Callback, *mut c_void) -> c_int;
        // This function was added in release 6, which changed the parameters of other functions. Requiring it
        // makes older libraries fail to load.
        _mark_of_release_6 = b"glfs_copy_file_range": fn();
    }
}

/// Default port of a server's daemon, which `brick=` names.
const PORT: c_int = 24007;
/// Mode of new files.
const MODE: libc::mode_t = 0o644;
pub(super) const NO_STAT: Stat = std::ptr::null_mut();

/// Converts the result of a library call to a completion: bytes, or `-errno`. It reads errno, so it must be
/// called immediately after the call, on the same thread.
pub(super) fn outcome(result: isize) -> i64 {
    if result < 0 { -i64::from(Errno::last().0) } else { result as i64 }
}

/// A connection to a volume, which is never closed: `glfs_fini` takes ten seconds and would have nothing left
/// to do, because written files are synced when they are closed. The library's threads keep running, so it
/// stays loaded.
pub(super) struct Volume {
    pub(super) functions: ManuallyDrop<Functions>,
    handle: Handle,
    named: String,
}

// SAFETY: the library allows concurrent calls from any thread.
unsafe impl Send for Volume {}
// SAFETY: as above.
unsafe impl Sync for Volume {}

/// Connections that the clones of a process share with single-instance: one per volume, for as long as a clone
/// uses it.
static SHARED: Mutex<Vec<(String, Weak<Volume>)>> = Mutex::new(Vec::new());

impl Volume {
    /// Connects as the job requests, or returns the connection of another clone in this process.
    pub(super) fn of_job(options: &GfapiOptions) -> Result<Arc<Volume>, Refusal> {
        let Some(name) = &options.volume else {
            return Err(Refusal::new(libc::EINVAL, "volume= does not name a volume"));
        };
        let Some(server) = &options.brick else {
            return Err(Refusal::new(libc::EINVAL, "brick= does not name a server of the volume"));
        };
        if !options.single_instance {
            return Volume::connect(name, server).map(Arc::new);
        }
        let named = format!("{server}/{name}");
        // The lock is held while one clone connects, so that the others wait for its connection.
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.retain(|(_, volume)| volume.strong_count() > 0);
        let found = shared.iter().find(|(other, _)| *other == named).and_then(|(_, volume)| volume.upgrade());
        if let Some(volume) = found {
            return Ok(volume);
        }
        let volume = Arc::new(Volume::connect(name, server)?);
        shared.push((named, Arc::downgrade(&volume)));
        Ok(volume)
    }

    fn connect(name: &str, server: &str) -> Result<Volume, Refusal> {
        let functions = Functions::load().map_err(Refusal::of_library)?;
        let text = |what: &str, value: &str| {
            CString::new(value)
                .map_err(|_| Refusal::new(libc::EINVAL, format!("{what}: it contains a zero byte")))
        };
        let (host, port) = match server.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') => (
                host,
                port.parse().map_err(|_| {
                    Refusal::new(libc::EINVAL, format!("brick={server}: {port} is not a port"))
                })?,
            ),
            _ => (server, PORT),
        };
        let (name, host) = (text("volume", name)?, text("brick", host)?);
        let named = format!("volume {} of {server}", name.to_string_lossy());
        // SAFETY: the name ends with a zero byte.
        let handle = unsafe { (functions.new)(name.as_ptr()) };
        if handle.is_null() {
            return Err(Refusal::of(Errno::last(), &named, ""));
        }
        let volume = Volume { functions: ManuallyDrop::new(functions), handle, named };
        let Functions { set_server, set_logging, init, .. } = *volume.functions;
        // SAFETY: the handle exists and is not in use, and all texts end with zero bytes. The library's log
        // is redundant with its results.
        let result = unsafe {
            set_logging(handle, c"/dev/null".as_ptr(), 0);
            match set_server(handle, c"tcp".as_ptr(), host.as_ptr(), port) {
                0 => init(handle),
                failed => failed,
            }
        };
        if result != 0 {
            let errno = Some(Errno::last()).filter(|errno| errno.0 != 0).unwrap_or(Errno(libc::EIO));
            let advice = "; does glusterd run there, is there such a volume, and is it started?";
            return Err(Refusal::of(errno, &volume.named, advice));
        }
        Ok(volume)
    }

    fn failed(&self, path: &Path) -> Refusal {
        Refusal::of(Errno::last(), &path.display().to_string(), &format!(" ({})", self.named))
    }

    /// The length of a file, if it exists.
    pub(super) fn size(&self, path: &Path) -> Result<Option<u64>, Refusal> {
        let name = on_volume(path)?;
        // SAFETY: all fields are numbers.
        let mut found: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: the name ends with a zero byte, and the result has room.
        if unsafe { (self.functions.stat)(self.handle, name.as_ptr(), &mut found) } != 0 {
            return if Errno::last().0 == libc::ENOENT { Ok(None) } else { Err(self.failed(path)) };
        }
        if found.st_mode & libc::S_IFMT != libc::S_IFREG {
            return Err(Refusal::new(libc::EINVAL, format!("{} is not a regular file", path.display())));
        }
        Ok(Some(found.st_size.unsigned_abs()))
    }

    /// Opens a file, and creates it if `flags` contain `O_CREAT`.
    pub(super) fn open(self: &Arc<Volume>, path: &Path, flags: c_int) -> Result<File, Refusal> {
        let name = on_volume(path)?;
        // SAFETY: the name ends with a zero byte.
        let handle = unsafe {
            match flags & libc::O_CREAT {
                0 => (self.functions.open)(self.handle, name.as_ptr(), flags),
                _ => (self.functions.create)(self.handle, name.as_ptr(), flags, MODE),
            }
        };
        if handle.is_null() { Err(self.failed(path)) } else { Ok(File { volume: Arc::clone(self), handle }) }
    }

    /// Removes a file; a missing file is not an error.
    pub(super) fn remove(&self, path: &Path) -> Result<(), Refusal> {
        let name = on_volume(path)?;
        // SAFETY: the name ends with a zero byte.
        let removed = unsafe { (self.functions.unlink)(self.handle, name.as_ptr()) } == 0;
        if removed || Errno::last().0 == libc::ENOENT { Ok(()) } else { Err(self.failed(path)) }
    }
}

fn on_volume(path: &Path) -> Result<CString, Refusal> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Refusal::new(libc::EINVAL, format!("{}: it contains a zero byte", path.display())))
}

/// An open file, closed on drop. Writes that the library still caches at that point may be written later, or
/// never.
pub(super) struct File {
    volume: Arc<Volume>,
    handle: FileHandle,
}

impl File {
    pub(super) fn truncate(&self, length: u64) -> Result<(), Errno> {
        // SAFETY: the file is open.
        let result =
            unsafe { (self.volume.functions.truncate)(self.handle, length as i64, NO_STAT, NO_STAT) };
        if result == 0 { Ok(()) } else { Err(Errno::last()) }
    }

    pub(super) fn sync(&self) -> Result<(), Errno> {
        // SAFETY: the file is open.
        let result = unsafe { (self.volume.functions.sync)(self.handle, NO_STAT, NO_STAT) };
        if result == 0 { Ok(()) } else { Err(Errno::last()) }
    }

    pub(super) fn write(&self, bytes: &[u8], offset: u64) -> Result<usize, Errno> {
        let (data, length) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: the file is open, and the bytes are read before the call returns.
        let written = unsafe {
            (self.volume.functions.write)(self.handle, data, length, offset as i64, 0, NO_STAT, NO_STAT)
        };
        usize::try_from(written).map_err(|_| Errno::last())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the file is open, nothing is in flight, and the handle is not used elsewhere.
        unsafe { (self.volume.functions.close)(self.handle) };
    }
}

/// The engine's files, opened as its job requests.
pub(super) struct Files {
    volume: Arc<Volume>,
    paths: Vec<PathBuf>,
    flags: c_int,
    open: Vec<Option<File>>,
}

impl Files {
    pub(super) fn open(volume: Arc<Volume>, setup: &Setup<'_>) -> Result<Files, Refusal> {
        let io_type = &setup.job.io_type;
        let direct = if io_type.direct { libc::O_DIRECT } else { 0 };
        let durable = match io_type.sync {
            SyncMode::None => 0,
            SyncMode::Dsync => libc::O_DSYNC,
            SyncMode::Sync => libc::O_SYNC,
        };
        let only_reads = setup.reads && !setup.writes;
        let flags = direct | durable | if only_reads { libc::O_RDONLY } else { libc::O_RDWR };
        let paths: Vec<PathBuf> = setup.files.iter().map(|file| PathBuf::from(&file.name)).collect();
        let open: Result<_, _> = paths.iter().map(|path| volume.open(path, flags).map(Some)).collect();
        Ok(Files { open: open?, volume, paths, flags })
    }

    pub(super) fn functions(&self) -> &Functions {
        &self.volume.functions
    }

    /// The handle of an open file.
    #[inline]
    pub(super) fn handle(&self, index: u32) -> Option<FileHandle> {
        self.open[index as usize].as_ref().map(|file| file.handle)
    }

    /// Closes the old file and opens it anew, because its name may refer to another file now.
    pub(super) fn reopen(&mut self, index: usize) {
        self.open[index] = None;
        self.open[index] = self.volume.open(&self.paths[index], self.flags).ok();
    }
}

impl Drop for Files {
    /// Syncs written files, because the library writes asynchronously and nothing waits for its writes when the process
    /// ends. A job that needs to see errors has to sync by itself.
    fn drop(&mut self) {
        if self.flags & libc::O_ACCMODE != libc::O_RDONLY {
            for file in self.open.iter().flatten() {
                let _ = file.sync();
            }
        }
    }
}
