//! A ring of io_uring, with the newest features that the kernel has and the job allows: what engines share that hand requests to it.

use fathom_run::engine::{Setup, SetupError};
use fathom_run::exhausted;
use fathom_sys::Errno;
use fathom_sys::clock::timespec;
use io_uring::Probe;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// A kernel whose waits have no limit is asked again after so long.
const LONGEST_SLEEP: Duration = Duration::from_micros(100);

/// The queues, and how `io_uring_enter` names them.
pub(crate) struct Ring {
    /// Submission and completion queue.
    pub(crate) queues: io_uring::IoUring,
    /// By descriptor, or by registered index.
    handle: Handle,
}

#[derive(Clone, Copy)]
struct Handle {
    fd: i32,
    flags: u32,
}

/// `struct io_uring_getevents_arg` of linux/io_uring.h.
#[repr(C)]
struct WaitArgument {
    signals: u64,
    signals_size: u32,
    least_us: u32,
    limit: *const libc::timespec,
}

impl Ring {
    /// The best ring with room for so many requests that this kernel and the job's options allow, and the features it has. `instead`
    /// is what to use where io_uring is not to be had.
    pub(crate) fn new(
        setup: &Setup<'_>,
        entries: u32,
        instead: &str,
    ) -> Result<(Ring, Vec<&'static str>), SetupError> {
        let (queues, features) = build_ring(setup, entries, instead)?;
        let handle = Handle { fd: queues.as_raw_fd(), flags: 0 };
        Ok((Ring { queues, handle }, features))
    }

    /// Registers the ring itself, which saves looking it up in every call; true if the kernel has done so.
    pub(crate) fn register(&mut self) -> bool {
        match register_ring(self.queues.as_raw_fd()) {
            Some(handle) => {
                self.handle = handle;
                true
            }
            None => false,
        }
    }

    /// True for the requests with all of these codes; nothing is known of kernels that cannot be asked.
    pub(crate) fn supports(&self, codes: &[u8]) -> bool {
        let mut probe = Probe::new();
        let probed = self.queues.submitter().register_probe(&mut probe).is_ok();
        probed && codes.iter().all(|code| probe.is_supported(*code))
    }

    /// Waits until so many completions are there.
    pub(crate) fn wait(&mut self, wanted: usize) -> Result<(), Errno> {
        match self.enter(0, wanted as u32) {
            Ok(_) | Err(Errno(libc::EINTR)) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// `io_uring_enter`: hands over `submit` entries and waits until `wanted` completions are there.
    #[inline(always)]
    pub(crate) fn enter(&self, submit: u32, wanted: u32) -> Result<u32, Errno> {
        self.enter_with(submit, wanted, None)
    }

    #[inline(always)]
    fn enter_with(&self, submit: u32, wanted: u32, argument: Option<&WaitArgument>) -> Result<u32, Errno> {
        const GET_EVENTS: u32 = 1;
        const EXTENDED_ARGUMENT: u32 = 1 << 3;
        let (flag, size) = argument.map_or((0, 0), |_| (EXTENDED_ARGUMENT, size_of::<WaitArgument>()));
        // SAFETY: no signal mask is given; the entries that the kernel reads were pushed by `queue`; the argument, if there is
        // one, lives through the call and has the size that is given.
        let taken = unsafe {
            libc::syscall(
                libc::SYS_io_uring_enter,
                self.handle.fd,
                submit,
                wanted,
                GET_EVENTS | flag | self.handle.flags,
                argument.map_or(std::ptr::null(), |argument| argument as *const WaitArgument),
                size,
            )
        };
        if taken < 0 { Err(Errno::last()) } else { Ok(taken as u32) }
    }

    /// Waits until a completion is there, or for so long.
    pub(crate) fn wait_within(&self, span: Duration) -> Result<(), Errno> {
        if !self.queues.params().is_feature_ext_arg() {
            // Linux 5.10 and earlier: nothing ends a wait but a completion.
            std::thread::sleep(span.min(LONGEST_SLEEP));
            return self.enter(0, 0).map(|_| ());
        }
        let limit = timespec(span);
        let argument = WaitArgument { signals: 0, signals_size: 0, least_us: 0, limit: &raw const limit };
        match self.enter_with(0, 1, Some(&argument)) {
            Ok(_) | Err(Errno(libc::ETIME | libc::EINTR)) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}

/// Registers the ring's descriptor (Linux 5.18), which saves looking it up in every call.
fn register_ring(fd: i32) -> Option<Handle> {
    /// `struct io_uring_rsrc_update`.
    #[repr(C)]
    struct Update {
        offset: u32,
        reserved: u32,
        data: u64,
    }
    const REGISTER_RING_FDS: u32 = 20;
    const ENTER_REGISTERED_RING: u32 = 16;
    const ANY_INDEX: u32 = u32::MAX;
    let mut update = Update { offset: ANY_INDEX, reserved: 0, data: fd as u64 };
    // SAFETY: one update record, which the kernel reads and whose offset it fills in.
    let registered = unsafe {
        libc::syscall(libc::SYS_io_uring_register, fd, REGISTER_RING_FDS, std::ptr::from_mut(&mut update), 1)
    };
    (registered == 1).then_some(Handle { fd: update.offset as i32, flags: ENTER_REGISTERED_RING })
}

/// How much of the newer ring features to ask for.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Level {
    Plain,
    /// Linux 6.1: one submitter, completions handled when it asks for them.
    Deferred,
    /// Linux 6.6: no indirection between the submission queue and its entries.
    Direct,
}

/// The best ring that this kernel and the job's options allow.
fn build_ring(
    setup: &Setup<'_>,
    entries: u32,
    instead: &str,
) -> Result<(io_uring::IoUring, Vec<&'static str>), SetupError> {
    let mut levels = [Level::Direct, Level::Deferred, Level::Plain].into_iter();
    loop {
        let level = levels.next().unwrap_or(Level::Plain);
        match ring_builder(setup, entries, level).build(entries) {
            Ok(ring) => return Ok((ring, ring_features(setup, level))),
            // An older kernel does not know some of the flags.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && level != Level::Plain => {}
            Err(error) => return Err(refused(error, instead)),
        }
    }
}

fn ring_builder(setup: &Setup<'_>, entries: u32, level: Level) -> io_uring::Builder {
    let options = &setup.job.private.io_uring;
    let mut builder = io_uring::IoUring::builder();
    builder.setup_cqsize(entries.next_power_of_two() * 2);
    if options.hipri {
        builder.setup_iopoll();
    }
    if options.sqthread_poll {
        builder.setup_sqpoll(SQPOLL_IDLE_MS);
        if let Some(cpu) = options.sqthread_poll_cpu {
            builder.setup_sqpoll_cpu(cpu);
        }
    } else if level >= Level::Deferred {
        builder.setup_single_issuer().setup_defer_taskrun().setup_coop_taskrun();
    }
    if level >= Level::Direct {
        builder.setup_no_sqarray();
    }
    builder
}

fn ring_features(setup: &Setup<'_>, level: Level) -> Vec<&'static str> {
    let options = &setup.job.private.io_uring;
    let mut features = Vec::new();
    if options.sqthread_poll {
        features.push("kernel submission thread");
    } else if level >= Level::Deferred {
        features.extend(["single issuer", "deferred task run"]);
    }
    if level >= Level::Direct {
        features.push("no submission index array");
    }
    if options.hipri {
        features.push("polled completions");
    }
    features
}

/// Milliseconds without work after which the kernel's submission thread sleeps.
const SQPOLL_IDLE_MS: u32 = 1000;

/// Where the kernel says who may use io_uring: 0 for everybody.
const SWITCH: &str = "/proc/sys/kernel/io_uring_disabled";
const FILTERED: &str = "a seccomp filter forbids io_uring here, as those of containers do: allow io_uring_setup, io_uring_enter and \
                        io_uring_register in its profile (or, for a try, --security-opt seccomp=unconfined)";

fn refused(error: std::io::Error, instead: &str) -> SetupError {
    let errno = Errno::from(error);
    let advice = match errno.0 {
        // The switch is there since 6.6 where the kernel was built with io_uring, so a filter answers in its place.
        libc::ENOSYS if std::path::Path::new(SWITCH).exists() => FILTERED,
        libc::ENOSYS => "this kernel has no io_uring, or a seccomp filter of the container hides it",
        libc::EPERM if std::fs::read_to_string(SWITCH).is_ok_and(|text| text.trim() != "0") => {
            "io_uring is switched off here: see /proc/sys/kernel/io_uring_disabled"
        }
        libc::EPERM => FILTERED,
        libc::ENOMEM => &format!("no memory for the rings: {}", exhausted::locked_memory()),
        _ => return SetupError::new(errno, "io_queue_init"),
    };
    SetupError::new(errno, "io_queue_init").with_advice(format!("{advice}, or use {instead}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a ring in a thread for which `io_uring_setup` is answered by an error number, as seccomp profiles of containers do.
    fn advice_where_filtered(errno: i32) -> String {
        const LOAD: u16 = 0x20;
        const SKIP_UNLESS_EQUAL: u16 = 0x15;
        const RETURN: u16 = 0x06;
        let step = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
        let mut filter = [
            step(LOAD, 0, 0),
            step(SKIP_UNLESS_EQUAL, 1, libc::SYS_io_uring_setup as u32),
            step(RETURN, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
            step(RETURN, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let thread = std::thread::spawn(move || {
            let rules = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
            // SAFETY: the kernel copies the filter, which lives through the call; it holds for this thread alone.
            let is_set = unsafe {
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                    && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const rules) == 0
            };
            assert!(is_set, "{}", std::io::Error::last_os_error());
            refused(io_uring::IoUring::new(8).err().expect("refused"), "ioengine=libaio").advice
        });
        thread.join().expect("a thread that ends")
    }

    #[test]
    fn who_forbids_io_uring_is_told() {
        for errno in [libc::ENOSYS, libc::EPERM] {
            let advice = advice_where_filtered(errno);
            assert!(advice.contains("seccomp filter"), "{errno}: {advice}");
        }
    }
}
