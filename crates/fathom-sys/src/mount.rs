//! Mounts file systems in a private namespace.

use crate::errno::{Errno, check};
use rustix::mount::UnmountFlags;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The flags of mount options that the kernel itself handles; `mount(8)` has the same names.
const FLAGS: [(&str, libc::c_ulong); 11] = [
    ("async", 0),
    ("defaults", 0),
    ("dirsync", libc::MS_DIRSYNC),
    ("lazytime", 1 << 25),
    ("noatime", libc::MS_NOATIME),
    ("nodev", libc::MS_NODEV),
    ("nodiratime", libc::MS_NODIRATIME),
    ("noexec", libc::MS_NOEXEC),
    ("relatime", libc::MS_RELATIME),
    ("strictatime", libc::MS_STRICTATIME),
    ("sync", libc::MS_SYNCHRONOUS),
];

/// True if the calling process runs as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Gives the calling process, and its future children, a private mount namespace: their mounts are invisible to
/// others, and the kernel unmounts them when the last of these processes ends, even if it is killed. Unmounts
/// by others are propagated.
pub fn private_namespace() -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    check(i64::from(unsafe { libc::unshare(libc::CLONE_NEWNS) }))?;
    call(c"none", c"/", None, libc::MS_REC | libc::MS_SLAVE, c"")
}

/// Mounts the file system on a device; `options` is a comma-separated list as for `mount(8)`.
pub fn mount(device: &Path, directory: &Path, kind: &str, options: &str) -> Result<(), Errno> {
    let (flags, data) = flags_and_data(options);
    let [kind, data] = [kind, &data].map(CString::new);
    let wrong = |_| Errno(libc::EINVAL);
    call(
        &path(device)?,
        &path(directory)?,
        Some(&kind.map_err(wrong)?),
        flags | libc::MS_NOSUID,
        &data.map_err(wrong)?,
    )
}

/// Unmounts a directory.
pub fn unmount(directory: &Path) -> Result<(), Errno> {
    Ok(rustix::mount::unmount(directory, UnmountFlags::NOFOLLOW)?)
}

/// Unmounts a file system even if it is in use: it disappears immediately, and is released when it is no longer
/// used.
pub fn detach(directory: &Path) -> Result<(), Errno> {
    Ok(rustix::mount::unmount(directory, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH)?)
}

fn path(path: &Path) -> Result<CString, Errno> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno(libc::EINVAL))
}

fn call(
    source: &CStr,
    target: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
    data: &CStr,
) -> Result<(), Errno> {
    let kind = kind.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: all strings end with a zero byte and live through the call; the kernel takes no type for a
    // change of flags.
    let result = unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind, flags, data.as_ptr().cast()) };
    check(i64::from(result)).map(|_| ())
}

/// Splits a list of options into flags of the call and the file system's own options.
fn flags_and_data(options: &str) -> (libc::c_ulong, String) {
    let mut flags = 0;
    let mut data: Vec<&str> = Vec::new();
    for option in options.split(',').map(str::trim).filter(|option| !option.is_empty()) {
        match FLAGS.iter().find(|(name, _)| *name == option) {
            Some((_, flag)) => flags |= flag,
            None => data.push(option),
        }
    }
    (flags, data.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_flags_or_the_file_systems_own() {
        let (flags, data) = flags_and_data("noatime, data=writeback,lazytime,,discard");
        assert_eq!((flags, data.as_str()), (libc::MS_NOATIME | 1 << 25, "data=writeback,discard"));
        assert_eq!(flags_and_data(""), (0, String::new()));
    }
}
