//! An image of a pool, through librbd.

use super::cluster::{Callback, Cluster, Completion, Place, Pool, text};
use crate::net::library::functions;
use crate::net::refusal::Refusal;
use fathom_spec::engines::rbd::RbdOptions;
use fathom_sys::Errno;
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::time::Duration;

/// `rbd_image_t`.
pub(super) type ImageHandle = *mut c_void;

functions! {
    /// The librbd functions that are used.
    struct Functions of ["librbd.so.1"], package "librbd1" {
        create = b"rbd_create": fn(Pool, *const c_char, u64, *mut c_int) -> c_int;
        remove = b"rbd_remove": fn(Pool, *const c_char) -> c_int;
        open = b"rbd_open": fn(Pool, *const c_char, *mut ImageHandle, *const c_char) -> c_int;
        close = b"rbd_close": fn(ImageHandle) -> c_int;
        size = b"rbd_get_size": fn(ImageHandle, *mut u64) -> c_int;
        resize = b"rbd_resize": fn(ImageHandle, u64) -> c_int;
        set_metadata = b"rbd_metadata_set": fn(ImageHandle, *const c_char, *const c_char) -> c_int;
        metadata = b"rbd_metadata_get": fn(ImageHandle, *const c_char, *mut c_char, *mut usize) -> c_int;
        encrypt = b"rbd_encryption_format": fn(ImageHandle, c_int, *const LuksOptions, usize) -> c_int;
        load_encryption = b"rbd_encryption_load": fn(ImageHandle, c_int, *const LuksOptions, usize) -> c_int;
        write_now = b"rbd_write": fn(ImageHandle, u64, usize, *const c_char) -> isize;
        flush_now = b"rbd_flush": fn(ImageHandle) -> c_int;
        forget = b"rbd_invalidate_cache": fn(ImageHandle) -> c_int;
        new_completion = b"rbd_aio_create_completion": fn(*mut c_void, Callback, *mut Completion) -> c_int;
        result = b"rbd_aio_get_return_value": fn(Completion) -> isize;
        release = b"rbd_aio_release": fn(Completion);
        read = b"rbd_aio_read": fn(ImageHandle, u64, usize, *mut c_char, Completion) -> c_int;
        write = b"rbd_aio_write": fn(ImageHandle, u64, usize, *const c_char, Completion) -> c_int;
        discard = b"rbd_aio_discard": fn(ImageHandle, u64, u64, Completion) -> c_int;
        flush = b"rbd_aio_flush": fn(ImageHandle, Completion) -> c_int;
    }
}

/// `rbd_encryption_luks1_format_options_t`, and the identical structure of version 2.
#[repr(C)]
pub(super) struct LuksOptions {
    algorithm: c_int,
    passphrase: *const c_char,
    passphrase_length: usize,
}

/// `RBD_ENCRYPTION_ALGORITHM_AES256`, used for new images.
const AES_256: c_int = 1;

/// Extra size of an image for its encryption header, which takes up to 16 MiB.
const LUKS_ROOM: u64 = 32 << 20;

/// Maximum number of attempts, and the interval between them, for an operation that other clients disturb.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(100);

/// Metadata key of images that a job created and may remove.
const MARK: &CStr = c"fathom_created";

/// The job's image, possibly open.
pub(super) struct Image {
    pub(super) functions: Functions,
    options: RbdOptions,
    name: CString,
    handle: Cell<ImageHandle>,
    // The cluster is declared after the image handle, because it must be dropped last.
    cluster: Cluster,
}

impl Image {
    /// Connects to the job's cluster, without opening the image.
    pub(super) fn connect(options: &RbdOptions) -> Result<Image, Refusal> {
        let functions = Functions::load().map_err(Refusal::of_library)?;
        let Some(name) = &options.rbdname else {
            return Err(Refusal::new(libc::EINVAL, "rbdname= does not name an image"));
        };
        let name = text("rbdname", name)?;
        let cluster = Cluster::open(&Place {
            cluster: options.clustername.clone(),
            client: options.clientname.clone(),
            conf: options.conf.clone(),
            pool: options.pool.clone(),
            namespace: options.namespace.clone(),
            settings: if options.rbd_cache { Vec::new() } else { vec![("rbd_cache", "false")] },
        })?;
        Ok(Image {
            functions,
            options: options.clone(),
            name,
            handle: Cell::new(std::ptr::null_mut()),
            cluster,
        })
    }

    /// The open image.
    #[inline]
    pub(super) fn handle(&self) -> ImageHandle {
        self.handle.get()
    }

    /// Name of the image in messages.
    fn shown(&self) -> String {
        format!("rbdname={}", self.name.to_string_lossy())
    }

    fn check(&self, result: c_int) -> Result<(), Refusal> {
        Refusal::unless_done(result, &self.shown(), "")
    }

    /// Opens the image unless it is open; `false` if it does not exist.
    pub(super) fn open(&self) -> Result<bool, Refusal> {
        if !self.handle().is_null() {
            return Ok(true);
        }
        if !self.open_raw()? {
            return Ok(false);
        }
        let decrypted = self.decrypt();
        if decrypted.is_err() {
            self.close();
        }
        decrypted.map(|()| true)
    }

    fn open_raw(&self) -> Result<bool, Refusal> {
        if !self.handle().is_null() {
            return Ok(true);
        }
        let mut handle = std::ptr::null_mut();
        // SAFETY: the pool is open, the name ends with a zero byte, and the handle is written before it is read.
        let result = unsafe {
            (self.functions.open)(self.cluster.pool, self.name.as_ptr(), &mut handle, std::ptr::null())
        };
        if result == -libc::ENOENT {
            return Ok(false);
        }
        self.check(result)?;
        self.handle.set(handle);
        Ok(true)
    }

    /// Closes the image if it is open. The caller ensures that nothing is in flight.
    pub(super) fn close(&self) {
        let handle = self.handle.replace(std::ptr::null_mut());
        if !handle.is_null() {
            // SAFETY: the image is open, and this is its only handle.
            unsafe { (self.functions.close)(handle) };
        }
    }

    /// Usable bytes of the open image.
    pub(super) fn size(&self) -> Result<u64, Refusal> {
        let mut size = 0;
        // SAFETY: the image is open.
        self.check(unsafe { (self.functions.size)(self.handle(), &mut size) })?;
        Ok(size)
    }

    /// True for an open image that a job created.
    pub(super) fn is_of_a_job(&self) -> bool {
        let (mut value, mut length) = ([0; 64], 64);
        // SAFETY: the image is open, the key ends with a zero byte, and the buffer is as long as it says.
        let result = unsafe {
            (self.functions.metadata)(self.handle(), MARK.as_ptr(), value.as_mut_ptr(), &mut length)
        };
        result == 0
    }

    /// Like [`is_of_a_job`](Image::is_of_a_job), for an image that another clone may be creating: between its
    /// creation and its mark, it looks like an image of another user.
    pub(super) fn becomes_that_of_a_job(&self) -> bool {
        (0..ATTEMPTS).any(|attempt| {
            if attempt > 0 {
                std::thread::sleep(PAUSE);
            }
            self.is_of_a_job()
        })
    }

    /// Creates the image, with the job's encryption. If this fails halfway, the image is removed.
    fn create(&self, size: u64) -> Result<(), Refusal> {
        let room = if self.options.rbd_encryption_format.is_some() { LUKS_ROOM } else { 0 };
        let (size, mut order) = (size.saturating_add(room), 0);
        // SAFETY: the pool is open, and the name ends with a zero byte.
        let result =
            unsafe { (self.functions.create)(self.cluster.pool, self.name.as_ptr(), size, &mut order) };
        if result == -libc::EEXIST {
            return self.wait_for_mark();
        }
        self.check(result)?;
        let made = self.mark().and_then(|()| self.encrypt());
        if made.is_err() {
            let _ = self.remove();
        }
        made
    }

    /// Waits for the mark of an image that exists by now: either another clone created it and will mark it, or
    /// it belongs to another user and must not be used.
    fn wait_for_mark(&self) -> Result<(), Refusal> {
        for _ in 0..ATTEMPTS {
            if self.open_raw()? && self.is_of_a_job() {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        self.check(-libc::EEXIST)
    }

    /// Marks the open image as created by a job.
    fn mark(&self) -> Result<(), Refusal> {
        self.open_raw()?;
        // SAFETY: the image is open, and both texts end with zero bytes.
        self.check(unsafe { (self.functions.set_metadata)(self.handle(), MARK.as_ptr(), c"1".as_ptr()) })
    }

    fn encrypt(&self) -> Result<(), Refusal> {
        if self.options.rbd_encryption_format.is_none() {
            return Ok(());
        }
        self.with_luks(|format, luks, length| {
            // SAFETY: as in `decrypt`.
            unsafe { (self.functions.encrypt)(self.handle(), format, luks, length) }
        })
    }

    /// Creates or enlarges a job's image so that `size` bytes of it are usable. It is open afterwards.
    pub(super) fn grow(&self, size: u64) -> Result<(), Refusal> {
        if !self.open()? {
            self.create(size)?;
            self.close();
            self.open()?;
        }
        let present = self.size()?;
        if present >= size {
            return Ok(());
        }
        // The header is part of the raw image only, so the image is reopened without decryption.
        self.close();
        self.open_raw()?;
        let raw = self.size()?;
        // SAFETY: the image is open.
        self.check(unsafe { (self.functions.resize)(self.handle(), raw + (size - present)) })?;
        self.close();
        self.open().map(|_| ())
    }

    /// Removes the image if a job created it; an image that other clients have open stays.
    pub(super) fn remove(&self) -> Result<(), Refusal> {
        let mut result = 0;
        // Clones that end at the same time disturb each other's removal. An operation that one of them started
        // has finished by the next attempt.
        for _ in 0..ATTEMPTS {
            if !self.open_raw()? || !self.is_of_a_job() {
                return Ok(());
            }
            self.close();
            // SAFETY: the pool is open, and the name ends with a zero byte.
            result = unsafe { (self.functions.remove)(self.cluster.pool, self.name.as_ptr()) };
            match -result {
                0 | libc::ENOENT | libc::EBUSY => return Ok(()),
                libc::ESTALE => std::thread::sleep(PAUSE),
                _ => break,
            }
        }
        self.check(result)
    }

    /// Writes to the open image synchronously.
    pub(super) fn write(&self, bytes: &[u8], offset: u64) -> Result<usize, Errno> {
        // SAFETY: the image is open, and the bytes are read before the call returns.
        let written =
            unsafe { (self.functions.write_now)(self.handle(), offset, bytes.len(), bytes.as_ptr().cast()) };
        usize::try_from(written).map_err(|_| Errno(-written as c_int))
    }

    /// Makes written data durable.
    pub(super) fn flush(&self) -> Result<(), Refusal> {
        // SAFETY: the image is open.
        self.check(unsafe { (self.functions.flush_now)(self.handle()) })
    }

    /// Empties the cache of the open image. The library caches in writethrough mode until its first flush, and
    /// in writeback mode afterwards.
    pub(super) fn forget(&self) -> Result<(), Refusal> {
        self.flush()?;
        // SAFETY: the image is open.
        self.check(unsafe { (self.functions.forget)(self.handle()) })
    }

    fn decrypt(&self) -> Result<(), Refusal> {
        if self.options.rbd_encryption_format.is_none() {
            return Ok(());
        }
        self.with_luks(|format, luks, length| {
            // SAFETY: the image is open, and the options are those of both formats, whose length is stated.
            unsafe { (self.functions.load_encryption)(self.handle(), format, luks, length) }
        })
    }

    /// Calls an encryption function with the job's settings.
    fn with_luks(&self, call: impl FnOnce(c_int, &LuksOptions, usize) -> c_int) -> Result<(), Refusal> {
        let format = self.options.rbd_encryption_format.as_deref().unwrap_or_default();
        let number = match format {
            "luks1" => 0,
            "luks2" => 1,
            _ => {
                let sentence = format!("rbd_encryption_format={format}: only luks1 and luks2 are known");
                return Err(Refusal::new(libc::EINVAL, sentence));
            }
        };
        let passphrase = self.options.rbd_encryption_passphrase.as_deref().unwrap_or("");
        let luks = LuksOptions {
            algorithm: AES_256,
            passphrase: passphrase.as_ptr().cast(),
            passphrase_length: passphrase.len(),
        };
        let what = format!("{}: its encryption ({format})", self.shown());
        let advice = "; is the image of this format, and is the passphrase right?";
        Refusal::unless_done(call(number, &luks, size_of::<LuksOptions>()), &what, advice)
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        self.close();
    }
}
