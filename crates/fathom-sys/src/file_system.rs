//! Properties of mounted file systems, and temporary files that remove themselves.

use crate::Errno;
use crate::errno::check;
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Returns the free space for unprivileged users in the file system that holds `path`, in bytes.
pub fn free_bytes(path: &Path) -> Result<u64, Errno> {
    let answer = status_of(path)?;
    Ok(answer.f_bavail.saturating_mul(answer.f_frsize))
}

/// Returns the number of free inodes in the file system that holds `path`. File systems that create inodes on
/// demand report a total of zero, which gives `EOPNOTSUPP`.
pub fn free_inodes(path: &Path) -> Result<u64, Errno> {
    let answer = status_of(path)?;
    if answer.f_files == 0 { Err(Errno(libc::EOPNOTSUPP)) } else { Ok(answer.f_ffree) }
}

fn status_of(path: &Path) -> Result<libc::statvfs, Errno> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno(libc::EINVAL))?;
    let mut answer = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: the path ends with a zero byte, and the buffer is as large as the call expects.
    if unsafe { libc::statvfs(path.as_ptr(), answer.as_mut_ptr()) } != 0 {
        return Err(Errno::last());
    }
    // SAFETY: the call has filled the buffer; all its fields are numbers, for which zeros are also valid.
    Ok(unsafe { answer.assume_init() })
}

/// True for a file on ext4 (or on ext2 or ext3, which have the same magic number).
pub fn is_on_ext4(file: RawFd) -> Result<bool, Errno> {
    Ok(kind_of(file)? == i128::from(libc::EXT4_SUPER_MAGIC))
}

/// True for a file in hugetlbfs.
pub fn has_huge_pages(file: RawFd) -> Result<bool, Errno> {
    Ok(kind_of(file)? == i128::from(libc::HUGETLBFS_MAGIC))
}

/// True for a file in a file system that keeps its data only in memory (tmpfs, ramfs, hugetlbfs).
pub fn is_in_memory(file: RawFd) -> Result<bool, Errno> {
    // From linux/magic.h; not defined in every C library.
    const RAMFS_MAGIC: i128 = 0x8584_58f6;
    let kind = kind_of(file)?;
    Ok([i128::from(libc::TMPFS_MAGIC), RAMFS_MAGIC, i128::from(libc::HUGETLBFS_MAGIC)].contains(&kind))
}

/// True for a file in overlayfs, whose page cache belongs to another inode.
pub fn is_overlay(file: RawFd) -> Result<bool, Errno> {
    Ok(kind_of(file)? == i128::from(libc::OVERLAYFS_SUPER_MAGIC))
}

/// Magic numbers of file systems that hold no data of programs: their content is made up by the kernel when it is read.
/// From linux/magic.h; not all are defined in every C library.
const PSEUDO: [i128; 24] = [
    0x9fa0,      // proc
    0x6265_6572, // sysfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x1cd1,      // devpts
    0x6265_6570, // configfs
    0x7363_6673, // securityfs
    0xf97c_ff8c, // selinuxfs
    0x4341_5d53, // smackfs
    0x5a3c_69f0, // apparmorfs
    0xcafe_4a11, // bpf
    0x6165_676c, // pstore
    0xde5e_81e4, // efivarfs
    0x4249_4e4d, // binfmt_misc
    0x0765_5821, // resctrl
    0x6573_5543, // fusectl
    0x1980_0202, // mqueue
    0x6e73_6673, // namespaces
    0x5049_4446, // pidfs
    0x5049_5045, // pipes
    0x534f_434b, // sockets
    0x0904_1934, // anonymous inodes
];

/// True if the file at this path is in a pseudo file system, such as proc or sysfs. Those in memory (tmpfs, devtmpfs,
/// hugetlbfs) hold data and are none.
pub fn is_pseudo(path: &Path) -> Result<bool, Errno> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno(libc::EINVAL))?;
    // SAFETY: the path ends with a zero byte, and the call fills the structure.
    let kind = kind_by(|found| unsafe { libc::statfs(path.as_ptr(), found) })?;
    // C libraries differ in the sign of the number, which has 32 bits.
    Ok(PSEUDO.contains(&(kind & 0xffff_ffff)))
}

/// True for a file mapped directly from persistent memory (DAX), without page cache.
pub fn is_direct_access(file: RawFd) -> Result<bool, Errno> {
    // From linux/stat.h: struct statx has 256 bytes, its attributes begin at byte 8, and this bit of them is
    // STATX_ATTR_DAX.
    const ATTRIBUTES: Range<usize> = 8..16;
    const DAX: u64 = 0x0020_0000;
    let mut answer = [0u8; 256];
    // SAFETY: the path is an empty C string, and the answer has the size of the structure.
    let result = unsafe {
        libc::syscall(libc::SYS_statx, file, c"".as_ptr(), libc::AT_EMPTY_PATH, 0, answer.as_mut_ptr())
    };
    check(result)?;
    let attributes = answer[ATTRIBUTES].try_into().map(u64::from_ne_bytes);
    attributes.map(|bits| bits & DAX != 0).map_err(|_| Errno(libc::EIO))
}

/// Returns the file system's magic number. C libraries differ in the type of the number and of the constants.
fn kind_of(file: RawFd) -> Result<i128, Errno> {
    // SAFETY: the call fills the structure.
    kind_by(|found| unsafe { libc::fstatfs(file, found) })
}

/// The same number, with the call that fills the kernel's structure.
fn kind_by(ask: impl FnOnce(*mut libc::statfs) -> libc::c_int) -> Result<i128, Errno> {
    let mut found = std::mem::MaybeUninit::<libc::statfs>::zeroed();
    check(i64::from(ask(found.as_mut_ptr())))?;
    // SAFETY: all zero is a valid value, and so is what the kernel has written.
    Ok(i128::from(unsafe { found.assume_init() }.f_type))
}

/// Opens an empty unnamed file in `directory` for reading and writing. It disappears when the last process that
/// has it open ends, even if that process is killed. If the file system does not support unnamed files, the
/// file has a name briefly.
pub fn unnamed_file(directory: &Path) -> io::Result<File> {
    let opened = new_file().custom_flags(libc::O_TMPFILE).open(directory);
    match opened.as_ref().err().and_then(io::Error::raw_os_error) {
        Some(libc::EOPNOTSUPP | libc::EISDIR | libc::ENOENT | libc::EINVAL | libc::ENOSYS) => {
            let (file, name) = named_file(directory)?;
            std::fs::remove_file(name)?;
            Ok(file)
        }
        _ => opened,
    }
}

fn named_file(directory: &Path) -> io::Result<(File, PathBuf)> {
    let name = directory.join(format!(".fathom-{}", std::process::id()));
    Ok((new_file().create_new(true).open(&name)?, name))
}

fn new_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

/// A new file, which is removed on drop.
#[derive(Debug)]
pub struct PassingFile {
    /// The file, open for reading and writing.
    pub file: File,
    /// The file's name, if the file system requires one.
    name: Option<PathBuf>,
}

impl PassingFile {
    /// Creates an [unnamed file](unnamed_file) in `directory`. On file systems on which such a file cannot be
    /// reopened (GlusterFS), it has a name that is removed on drop.
    pub fn new(directory: &Path) -> io::Result<PassingFile> {
        let file = unnamed_file(directory)?;
        if File::open(path_of(&file)).is_ok() {
            return Ok(PassingFile { file, name: None });
        }
        let (file, name) = named_file(directory)?;
        Ok(PassingFile { file, name: Some(name) })
    }

    /// Returns a path to the file that is valid in this process and its children.
    pub fn path(&self) -> PathBuf {
        self.name.clone().unwrap_or_else(|| path_of(&self.file))
    }

    /// Allocates space for this many bytes without changing the size of the file, as far as the file system
    /// supports it.
    pub fn reserve(&self, bytes: u64) -> Result<(), Errno> {
        match crate::file::fallocate(self.file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, 0, bytes) {
            Err(errno) if errno.0 == libc::EOPNOTSUPP => Ok(()),
            other => other,
        }
    }

    /// True if the file can be reopened without the page cache.
    pub fn allows_direct(&self) -> bool {
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(self.path()).is_ok()
    }
}

impl Drop for PassingFile {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // An error is ignored, because the file may have been removed already.
            let _ = std::fs::remove_file(name);
        }
    }
}

fn path_of(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};

    #[test]
    fn an_unnamed_file_works_and_has_no_name() {
        let directory = std::env::temp_dir();
        let mut made = PassingFile::new(&directory).expect("a file");
        made.file.write_all(b"data").expect("writes");
        let mut again = File::open(made.path()).expect("opens again");
        let mut text = String::new();
        again.read_to_string(&mut text).expect("reads");
        assert_eq!((text.as_str(), made.file.stream_position().ok()), ("data", Some(4)));
        let target = std::fs::read_link(made.path()).expect("a link");
        assert!(target.to_string_lossy().ends_with("(deleted)"), "{target:?}");
    }

    #[test]
    fn a_name_that_is_needed_goes_with_the_file() {
        let name = std::env::temp_dir().join(format!("fathom-passing-{}", std::process::id()));
        let file = File::create(&name).expect("a file");
        let made = PassingFile { file, name: Some(name.clone()) };
        assert_eq!((made.path(), name.exists()), (name.clone(), true));
        drop(made);
        assert!(!name.exists());
    }

    #[test]
    fn there_is_room_somewhere() {
        assert!(free_bytes(Path::new("/")).is_ok());
        assert!(free_bytes(Path::new("/nonexistent")).is_err());
    }
}
