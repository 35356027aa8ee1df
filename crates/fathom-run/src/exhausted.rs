//! Messages about exhausted limits: each names the limit, its value, and how to raise it. The limits are read
//! after the failure, in the process that hit them.

use fathom_sys::limits::{self, GroupLimit, Limit, Resource};
use fathom_sys::{Errno, file_system, forbidden};
use std::path::Path;

/// A process or thread could not be created.
pub fn processes(errno: Errno) -> String {
    match forbidden::advice(errno, "clone or clone3") {
        Some(advice) => advice,
        None if errno.0 == libc::ENOMEM => memory(),
        None => number_of_processes(),
    }
}

fn number_of_processes() -> String {
    let of_user = Limit::of(Resource::Processes).soft;
    // The failed process may already have ended its threads, so the current usage does not prove which limit it
    // hit.
    let tighter = |found: &GroupLimit| of_user.is_none_or(|of_user| found.limit < of_user);
    if let Some(GroupLimit { group, limit, .. }) = limits::group_processes().filter(tighter) {
        return format!(
            "the control group {group} may have {limit} processes and threads (pids.max); raise that, or run fewer jobs"
        );
    }
    match of_user {
        Some(limit) => {
            format!(
                "this user may have {limit} processes and threads (ulimit -u); raise that, or run fewer jobs"
            )
        }
        None => {
            let most = limits::kernel_number("/proc/sys/kernel/threads-max").unwrap_or_default();
            format!(
                "the machine may have {most} threads (/proc/sys/kernel/threads-max, pid_max); run fewer jobs"
            )
        }
    }
}

/// Memory could not be allocated.
pub fn memory() -> String {
    if let Some(limit) = Limit::of(Resource::AddressSpace).soft {
        return format!(
            "the address space of a process is limited to {} MiB (ulimit -v); raise that, or use a smaller iodepth=, bs= or size=",
            limit >> 20
        );
    }
    match limits::group_memory().filter(|found| found.limit < 1 << 60) {
        Some(GroupLimit { group, limit, used }) => format!(
            "the control group {group} may have {} MiB of memory (memory.max) and has {} MiB; raise that, or use a smaller \
             iodepth=, bs= or size=",
            limit >> 20,
            used >> 20
        ),
        None => "the machine has no more to give; use a smaller iodepth=, bs= or size=".to_owned(),
    }
}

/// The message for a file that could not be opened; `None` for errors that have nothing to do with limits.
pub fn open_files(errno: Errno) -> Option<String> {
    match errno {
        Errno(libc::EMFILE) => {
            let limit = Limit::of(Resource::OpenFiles);
            let soft = limit.soft.unwrap_or_default();
            Some(format!(
                "a process may have {soft} files open (ulimit -n, ulimit -Hn); raise that, or keep fewer open (openfiles=)"
            ))
        }
        Errno(libc::ENFILE) => {
            let most = limits::kernel_number("/proc/sys/fs/file-max").unwrap_or_default();
            Some(format!("the machine may have {most} files open (/proc/sys/fs/file-max); raise that"))
        }
        _ => None,
    }
}

/// The message for a call on `path` that found the file system full; `None` for other errors.
pub fn space(errno: Errno, path: &Path) -> Option<String> {
    let place = path.ancestors().find(|place| place.exists()).unwrap_or(Path::new("."));
    match errno.0 {
        libc::EDQUOT => {
            Some("the quota of this user is used up; free some of it, or use a smaller size=".to_owned())
        }
        libc::ENOSPC if file_system::free_inodes(place) == Ok(0) => Some(
            "the file system has no inode left; remove files there, or use a smaller nrfiles=".to_owned(),
        ),
        libc::ENOSPC => {
            let free = file_system::free_bytes(place)
                .map_or_else(|_| "no".to_owned(), |free| format!("{} MiB of", free >> 20));
            Some(format!("the file system has {free} free space; free more, or use a smaller size="))
        }
        _ => None,
    }
}

/// Memory could not be locked or pinned.
pub fn locked_memory() -> String {
    match Limit::of(Resource::LockedMemory).soft {
        Some(limit) => format!(
            "a process without privileges may lock {} KiB of memory (ulimit -l); raise that, or use a smaller iodepth= or bs=",
            limit >> 10
        ),
        None => memory(),
    }
}

/// The kernel has no room for another context of asynchronous I/O (io_setup).
pub fn asynchronous_io(depth: u32) -> String {
    let number = |name: &str| limits::kernel_number(&format!("/proc/sys/fs/{name}")).unwrap_or_default();
    format!(
        "the kernel allows {} asynchronous I/Os in all (/proc/sys/fs/aio-max-nr), {} are taken, and this job wants {depth} \
         more; raise the limit or lower iodepth=",
        number("aio-max-nr"),
        number("aio-nr")
    )
}

/// Maximum number of requests in a ring of io_uring (`IORING_MAX_ENTRIES` of the kernel).
pub const RING: u32 = 32_768;

/// The kernel refuses a ring of this size.
pub fn ring(entries: u32) -> String {
    format!(
        "the kernel allows {RING} requests in a ring of io_uring, and this job wants {entries}; use a smaller \
        iodepth=, and more clones (numjobs=) to have more I/Os in flight"
    )
}
