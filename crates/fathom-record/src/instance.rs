//! An instance of tracefs: trace buffers of this recording alone. What others trace is not touched.

use crate::RecordError;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Where tracefs is mounted: its own place, and its former one.
const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// First letters of the names of our instances.
const PREFIX: &str = "fathom-";
/// No file of tracefs that describes something is longer.
const LARGEST_TEXT: usize = 64 << 10;
/// A younger instance may belong to a recorder that has not opened any of its files yet.
const YOUNG: Duration = Duration::from_secs(2);

/// The instance. It is removed on drop.
pub(crate) struct Instance {
    path: PathBuf,
    mount: PathBuf,
    /// Any open file keeps others from removing it.
    hold: Option<File>,
}

impl Instance {
    /// Creates an instance, after removing those of recorders that were killed.
    pub(crate) fn new() -> Result<Instance, RecordError> {
        let mount = mount()?;
        remove_leftovers(&mount);
        let name = format!("{PREFIX}{}-{}", std::process::id(), fathom_sys::clock::monotonic_ns());
        let path = mount.join("instances").join(name);
        fs::create_dir(&path).map_err(|error| refused(&path, error))?;
        let mut instance = Instance { path, mount, hold: None };
        instance.hold = Some(instance.open("tracing_on")?);
        Ok(instance)
    }

    /// Its directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Allows others to remove it.
    pub(crate) fn let_go(&mut self) {
        self.hold = None;
    }

    /// A description of the kernel's that all instances share.
    pub(crate) fn shared(&self, name: &str) -> Result<String, RecordError> {
        let path = self.mount.join(name);
        read(&path).map_err(|error| refused(&path, error))
    }

    /// Content of one of its files.
    pub(crate) fn read(&self, name: &str) -> Result<String, RecordError> {
        let path = self.path.join(name);
        read(&path).map_err(|error| refused(&path, error))
    }

    /// Writes to one of its files.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), RecordError> {
        let path = self.path.join(name);
        let written = OpenOptions::new().write(true).open(&path);
        written.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| refused(&path, error))
    }

    /// Opens one of its files to read what there is, without waiting for more.
    pub(crate) fn open(&self, name: &str) -> Result<File, RecordError> {
        let path = self.path.join(name);
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
        opened.map_err(|error| refused(&path, error))
    }
}

/// Content of a file of tracefs. Some give their text in one piece only, and nothing to a reader with a small buffer.
fn read(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut text = Vec::new();
    let mut piece = vec![0; LARGEST_TEXT];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            length => text.extend_from_slice(&piece[..length]),
        }
    }
    String::from_utf8(text).map_err(io::Error::other)
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.let_go();
        remove(&self.path);
    }
}

/// Stops the tracing of an instance and removes it. It stays while one of its files is open.
pub(crate) fn remove(path: &Path) {
    let _ = fs::write(path.join("tracing_on"), "0");
    let _ = fs::remove_dir(path);
}

/// Removes the instances of recorders that no longer exist: the kernel refuses to remove one of which a file is open.
fn remove_leftovers(mount: &Path) {
    let found = fs::read_dir(mount.join("instances")).into_iter().flatten().flatten();
    for entry in found.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        let age = entry.metadata().ok().map(|found| {
            let made = SystemTime::UNIX_EPOCH + Duration::from_secs(found.mtime().max(0).unsigned_abs());
            SystemTime::now().duration_since(made).unwrap_or_default()
        });
        if age.is_some_and(|age| age > YOUNG) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The place where tracefs is mounted and may be used.
fn mount() -> Result<PathBuf, RecordError> {
    let mut why = None;
    for path in MOUNTS.map(Path::new) {
        match fs::metadata(path.join("instances")) {
            Ok(_) => return Ok(path.to_owned()),
            Err(error) => {
                why.get_or_insert((path, error));
            }
        }
    }
    let (path, error) = why.unwrap_or((Path::new(MOUNTS[0]), ErrorKind::NotFound.into()));
    Err(refused(path, error))
}

/// Says what is missing, and what to do about it.
fn refused(path: &Path, error: io::Error) -> RecordError {
    let advice = match error.kind() {
        ErrorKind::PermissionDenied if !fathom_sys::mount::is_root() => {
            "recording needs root: try sudo, or mount tracefs with a group of yours (mount -o remount,gid=GROUP)"
        }
        ErrorKind::PermissionDenied => {
            "the kernel refuses it to root: in a container, start that with --privileged; on a kernel locked down for confidentiality, nothing can be recorded"
        }
        ErrorKind::ReadOnlyFilesystem => {
            "tracefs is mounted read-only, as containers do: start the container with --privileged, or record outside of it"
        }
        ErrorKind::NotFound if !path.starts_with("/sys/kernel/debug") && is_missing() => {
            "tracefs is not mounted: mount -t tracefs nodev /sys/kernel/tracing; in a container, start that with --privileged, or record outside of it"
        }
        ErrorKind::OutOfMemory => {
            "there is no memory for the buffers of all processors: a smaller --buffer needs less"
        }
        ErrorKind::NotFound => {
            "this kernel does not have it: CONFIG_BLK_DEV_IO_TRACE and CONFIG_FTRACE are needed"
        }
        _ => "the kernel's log may say more (dmesg)",
    };
    RecordError::Refused { path: path.to_owned(), error, advice }
}

fn is_missing() -> bool {
    MOUNTS.iter().all(|path| !Path::new(path).join("instances").exists())
}
