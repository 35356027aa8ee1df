//! Error lines for whatever ends a job. fio's lines name a file and a function of its sources:
//! `err=5/file:io_u.c:2008, func=io_u error, error=Input/output error`. Scripts search for them, so fathom
//! prints those that fio 3.41 was observed to print, without line numbers. Causes that fio does not have, or
//! does not report, name fathom instead.

use fathom_sys::Errno;
use std::fmt::{self, Display, Formatter};

/// Where a job failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    file: &'static str,
    function: &'static str,
}

/// The cause of a failure that fio also reports, with the file and function that fio names.
const fn of_fio(file: &'static str, function: &'static str) -> Cause {
    Cause { file, function }
}

const fn of_fathom(function: &'static str) -> Cause {
    Cause { file: "fathom", function }
}

impl Cause {
    /// An I/O.
    pub(crate) const TRANSFER: Cause = of_fio("io_u.c", "io_u error");
    /// A transfer that ended without moving any bytes.
    pub(crate) const EMPTY_TRANSFER: Cause = of_fio("backend.c", "full resid");
    /// `max_latency`.
    pub(crate) const MAX_LATENCY: Cause = of_fio("io_u.c", "max latency exceeded");
    /// A block that differs from what was written.
    pub(crate) const WRONG_BLOCK: Cause = of_fio("io_u.c", "io_u_sync_complete");
    /// `rate_min`, `rate_iops_min`.
    pub(crate) const MIN_RATE: Cause = of_fio("backend.c", "check_min_rate");
    /// `ioscheduler`.
    pub(crate) const SCHEDULER: Cause = of_fio("backend.c", "iosched_switch");
    /// `nice`.
    pub(crate) const NICE: Cause = of_fio("backend.c", "nice");
    /// `prio`, `prioclass`.
    pub(crate) const IO_PRIORITY: Cause = of_fio("backend.c", "ioprio_set");
    /// `uid`.
    pub(crate) const SET_UID: Cause = of_fio("backend.c", "setuid");
    /// `gid`.
    pub(crate) const SET_GID: Cause = of_fio("backend.c", "setgid");
    /// `cgroup`.
    pub(crate) const CGROUP: Cause = of_fio("cgroup.c", "cgroup mkdir");
    /// Allocating buffers.
    pub(crate) const BUFFERS: Cause = of_fio("memory.c", "iomem allocation");
    /// Huge pages for buffers, `mem=mmaphuge`.
    pub(crate) const MAPPED_BUFFERS: Cause = of_fio("memory.c", "mmap");
    /// Huge pages for buffers, `mem=shmhuge`.
    pub(crate) const SHARED_BUFFERS: Cause = of_fio("memory.c", "shmget");
    /// The file behind mapped buffers, `mem=mmap:FILE`.
    pub(crate) const BUFFER_FILE: Cause = of_fio("memory.c", "open mmap file");
    /// A job without a size.
    pub(crate) const TOTAL_SIZE: Cause = of_fio("filesetup.c", "total_file_size");
    /// Removing files after the run.
    pub(crate) const UNLINK: Cause = of_fio("filesetup.c", "unlink");
    /// A file smaller than a zone.
    pub(crate) const ZONES: Cause = of_fio("zbd.c", "zbd_create_zone_info() failed");
    /// Blocks larger than a zone.
    pub(crate) const ZONE_LENGTH: Cause = of_fio("zbd.c", "I/O buflen exceeds zone size");
    /// A log to replay that has no entries.
    pub(crate) const LOG_START: Cause = of_fio("iolog.c", "failed initializing iolog");
    /// A log to replay that cannot be read.
    pub(crate) const LOG_READ: Cause = of_fio("iolog.c", "iolog read");

    /// `random_distribution=sequence` names a block that the file does not have.
    pub(crate) const SEQUENCE: Cause = of_fio("io_u.c", "sequence block out of bounds");
    /// The job's rules conflict with the sizes of its files.
    pub(crate) const SIZES: Cause = of_fathom("file sizes");
    /// Preparing the content of buffers.
    pub(crate) const BUFFER_CONTENT: Cause = of_fathom("buffer content");
    /// A verification or preconditioning pass that does not fit into the job's files.
    pub(crate) const PASS: Cause = of_fathom("random order");
    /// `lockmem`.
    pub(crate) const LOCK_MEMORY: Cause = of_fathom("mlock");
    /// `exec_prerun`.
    pub(crate) const EXEC_PRERUN: Cause = of_fathom("exec_prerun");
    /// `exec_postrun`.
    pub(crate) const EXEC_POSTRUN: Cause = of_fathom("exec_postrun");
    /// `cpus_allowed`, `numa_cpu_nodes`.
    pub(crate) const AFFINITY: Cause = of_fathom("sched_setaffinity");
    /// `numa_mem_policy`.
    pub(crate) const MEMORY_POLICY: Cause = of_fathom("set_mempolicy");
    /// Forking a worker process.
    pub(crate) const FORK: Cause = of_fathom("fork");
    /// Starting a worker thread.
    pub(crate) const THREAD: Cause = of_fathom("pthread_create");
    /// `pre_read`.
    pub(crate) const PRE_READ: Cause = of_fathom("pre_read");
    /// Forking the layout process.
    pub(crate) const LAYOUT: Cause = of_fathom("layout");
    /// Allocating the table of `block_error_percentiles`.
    pub(crate) const BLOCK_TABLE: Cause = of_fathom("block_error_percentiles");
    /// Allocating the table of open zones.
    pub(crate) const ZONE_TABLE: Cause = of_fathom("zones");
    /// `verify_ledger`.
    pub(crate) const LEDGER: Cause = of_fathom("verify_ledger");
    /// A worker's process.
    pub(crate) const PROCESS: Cause = of_fathom("process");
    /// Interrupted a second time.
    pub(crate) const SECOND_SIGNAL: Cause = of_fathom("second signal");
    /// I/O that is stuck.
    pub(crate) const STUCK: Cause = of_fathom("stuck I/O");
    /// A broken invariant.
    pub(crate) const INVARIANT: Cause = of_fathom("broken invariant");
    /// Any other panic in a worker.
    pub(crate) const INTERNAL: Cause = of_fathom("internal error");

    /// The error line, with the error of the system or of fathom.
    pub(crate) fn line(self, error: impl Display) -> String {
        format!("{self}, error={error}")
    }
}

impl Display for Cause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "file:{}, func={}", self.file, self.function)
    }
}

/// The error line for a failed system call on a file.
pub(crate) fn line_of_file(call: &str, name: impl Display, errno: Errno) -> String {
    format!("file:filesetup.c, func={call}({name}), error={errno}")
}

/// The error line for a failed system call on a path.
pub(crate) fn line_of_name(call: &str, name: impl Display, errno: Errno) -> String {
    format!("file:engines/fileoperations.c, func={call}({name}), error={errno}")
}

/// The error line for a failed engine call. fio prints this form for libaio and io_uring; other engines use the
/// same form here.
pub(crate) fn line_of_engine(engine: &str, call: &str, errno: Errno) -> String {
    format!("file:engines/{engine}.c, func={call}, error={errno}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_form_of_fio() {
        let errno = Errno(libc::EIO);
        assert_eq!(Cause::TRANSFER.line(errno), "file:io_u.c, func=io_u error, error=Input/output error");
        assert_eq!(Cause::LEDGER.line("gone"), "file:fathom, func=verify_ledger, error=gone");
        let line = line_of_engine("libaio", "io_queue_init", Errno(libc::EAGAIN));
        assert_eq!(line, "file:engines/libaio.c, func=io_queue_init, error=Resource temporarily unavailable");
        assert_eq!(
            Cause::MIN_RATE.line(errno),
            "file:backend.c, func=check_min_rate, error=Input/output error"
        );
    }
}
