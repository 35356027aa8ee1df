//! Scheduling, affinity and CPU usage of the calling thread.

use crate::clock::clock_ns;
use crate::errno::{Errno, check};

/// Gives the session of a process the smallest share of the processors. The whole session is affected, so the
/// process should have a separate one. Where the kernel schedules sessions as groups, the class of a thread
/// counts only within its session.
pub fn lower_session_of(pid: u32) {
    // An error is ignored: without autogroups the file does not exist, and there is no session to lower.
    let _ = std::fs::write(format!("/proc/{pid}/autogroup"), "19");
}

/// Runs the calling thread only when a processor is otherwise idle.
pub fn become_idle() -> Result<(), Errno> {
    // The argument is the kernel's `struct sched_param`. The system call is made directly, because musl's
    // function of this name is a stub.
    let priority: libc::c_int = 0;
    // SAFETY: the structure lives for the whole call; 0 is the calling thread.
    check(unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_IDLE, &raw const priority) })
        .map(|_| ())
}

/// Returns the processors that the calling thread may use, in ascending order.
pub fn allowed_cpus() -> Result<Vec<u32>, Errno> {
    // The kernel requires space for all processors it supports.
    let mut mask = [0u64; 1024];
    // SAFETY: the mask is as long as the size says; 0 is the calling thread.
    let bytes = check(unsafe {
        libc::syscall(libc::SYS_sched_getaffinity, 0, std::mem::size_of_val(&mask), mask.as_mut_ptr())
    })?;
    let bits = (bytes as u32 * 8).min(u64::BITS * mask.len() as u32);
    Ok((0..bits).filter(|bit| mask[(bit / 64) as usize] >> (bit % 64) & 1 == 1).collect())
}

/// Returns the processor time that the calling thread has used, in ns.
pub fn own_cpu_time_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_thread_may_use_one_processor() {
        let cpus = allowed_cpus().expect("allowed");
        assert!(!cpus.is_empty());
        let last = cpus[cpus.len() - 1];
        let bound = std::thread::spawn(move || {
            crate::affinity::bind(&[last]).expect("bound");
            become_idle().expect("idle");
            allowed_cpus()
        });
        assert_eq!(bound.join().expect("no panic"), Ok(vec![last]));
    }
}
