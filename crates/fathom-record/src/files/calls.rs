//! The system calls that are recorded: what their arguments mean, and which events of tracefs they are.

use fathom_trace::files::Operation;

/// Number of a system call's arguments.
pub(crate) const ARGUMENTS: usize = 6;

/// What a system call does. Numbers are places of arguments; the descriptor is the first one unless it has a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Moves data: direction, offset, length. Without an offset it moves at the position of the descriptor, without a length the
    /// lengths are in a vector.
    Move(Operation, Option<usize>, Option<usize>),
    /// Moves data between two descriptors: places of each with the pointer to its offset, and of the length.
    Copy { from: (usize, Option<usize>), to: (usize, Option<usize>), length: usize },
    /// Acts on a range: offset, length.
    Range(Operation, Option<usize>, Option<usize>),
    /// fallocate.
    Allocate,
    /// truncate by path.
    TruncatePath,
    /// Opens a file; place of the flags.
    Open(Option<usize>),
    /// Closes a descriptor.
    Close,
    /// close_range.
    CloseRange,
    /// Copies a descriptor to the lowest free number.
    Duplicate,
    /// dup2 and dup3: the new number, and the place of the flags.
    DuplicateTo(Option<usize>),
    /// fcntl.
    Control,
    /// ioctl that sets whether a descriptor is closed by exec.
    CloseAtExec,
    /// lseek.
    Seek,
    /// mmap.
    Map,
    /// Makes a descriptor of something that is not a file.
    NotFile,
    /// unshare.
    Unshare,
    /// io_submit, whose requests are in memory of the program: their number.
    Unseen,
}

/// A system call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub(crate) name: &'static str,
    pub(crate) what: What,
    /// Its beginning is recorded.
    pub(crate) has_enter: bool,
    /// Its end is recorded.
    pub(crate) has_exit: bool,
    /// The kernel's filter of its beginning.
    pub(crate) filter: Option<&'static str>,
}

const fn rule(name: &'static str, what: What) -> Rule {
    Rule { name, what, has_enter: true, has_exit: true, filter: None }
}

const fn moves(
    name: &'static str,
    operation: Operation,
    offset: Option<usize>,
    length: Option<usize>,
) -> Rule {
    rule(name, What::Move(operation, offset, length))
}

const fn not_file(name: &'static str) -> Rule {
    Rule { has_enter: false, ..rule(name, What::NotFile) }
}

/// Without these nothing can be recorded; kernels and processors may lack others.
pub(crate) const NEEDED: [&str; 4] = ["read", "write", "openat", "close"];

/// All of them.
pub(crate) const RULES: [Rule; 54] = [
    moves("read", Operation::Read, None, Some(2)),
    moves("write", Operation::Write, None, Some(2)),
    moves("pread64", Operation::Read, Some(3), Some(2)),
    moves("pwrite64", Operation::Write, Some(3), Some(2)),
    moves("readv", Operation::Read, None, None),
    moves("writev", Operation::Write, None, None),
    moves("preadv", Operation::Read, Some(3), None),
    moves("pwritev", Operation::Write, Some(3), None),
    moves("preadv2", Operation::Read, Some(3), None),
    moves("pwritev2", Operation::Write, Some(3), None),
    rule("copy_file_range", What::Copy { from: (0, Some(1)), to: (2, Some(3)), length: 4 }),
    rule("splice", What::Copy { from: (0, Some(1)), to: (2, Some(3)), length: 4 }),
    rule("sendfile64", What::Copy { from: (1, Some(2)), to: (0, None), length: 3 }),
    rule("sendfile", What::Copy { from: (1, Some(2)), to: (0, None), length: 3 }),
    rule("fsync", What::Range(Operation::Sync, None, None)),
    rule("syncfs", What::Range(Operation::Sync, None, None)),
    rule("fdatasync", What::Range(Operation::DataSync, None, None)),
    rule("sync_file_range", What::Range(Operation::RangeSync, Some(1), Some(2))),
    rule("sync_file_range2", What::Range(Operation::RangeSync, Some(2), Some(3))),
    rule("ftruncate", What::Range(Operation::Truncate, None, Some(1))),
    rule("truncate", What::TruncatePath),
    rule("fallocate", What::Allocate),
    rule("open", What::Open(Some(1))),
    rule("creat", What::Open(None)),
    rule("openat", What::Open(Some(2))),
    rule("openat2", What::Open(None)),
    rule("open_by_handle_at", What::Open(Some(2))),
    rule("close", What::Close),
    rule("close_range", What::CloseRange),
    rule("dup", What::Duplicate),
    rule("dup2", What::DuplicateTo(None)),
    rule("dup3", What::DuplicateTo(Some(2))),
    // F_DUPFD, F_SETFD, F_SETFL, F_DUPFD_CLOEXEC.
    Rule { filter: Some("cmd == 0 || cmd == 2 || cmd == 4 || cmd == 1030"), ..rule("fcntl", What::Control) },
    // FIOCLEX and FIONCLEX.
    Rule {
        filter: Some("cmd == 0x5451 || cmd == 0x5450"),
        has_exit: false,
        ..rule("ioctl", What::CloseAtExec)
    },
    rule("lseek", What::Seek),
    // Not MAP_ANONYMOUS.
    Rule { filter: Some("!(flags & 0x20)"), has_exit: false, ..rule("mmap", What::Map) },
    Rule { has_exit: false, ..rule("unshare", What::Unshare) },
    Rule { has_enter: false, ..rule("io_submit", What::Unseen) },
    not_file("socket"),
    not_file("accept"),
    not_file("accept4"),
    not_file("epoll_create"),
    not_file("epoll_create1"),
    not_file("eventfd"),
    not_file("eventfd2"),
    not_file("timerfd_create"),
    not_file("signalfd"),
    not_file("signalfd4"),
    not_file("inotify_init"),
    not_file("inotify_init1"),
    not_file("memfd_create"),
    not_file("pidfd_open"),
    not_file("perf_event_open"),
    not_file("io_uring_setup"),
];

/// The operation of a request in a ring, by the numbers of `linux/io_uring.h`.
pub(crate) fn of_ring(opcode: u8) -> Option<Operation> {
    Some(match opcode {
        1 | 4 | 22 | 58 => Operation::Read,
        2 | 5 | 23 | 59 => Operation::Write,
        3 => Operation::Sync,
        8 => Operation::RangeSync,
        17 => Operation::Allocate,
        55 => Operation::Truncate,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_call_is_there_once() {
        let names: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
        assert_eq!(names.len(), RULES.len());
        assert!(NEEDED.iter().all(|name| names.contains(name)));
    }
}
