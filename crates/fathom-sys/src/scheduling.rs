//! Scheduling, affinity and CPU usage of the calling thread.

use crate::clock::clock_ns;
use crate::errno::{Errno, check};

/// Gives the session of a process the smallest share of the processors. It affects the whole session, so that
/// should be a separate one. Where the kernel schedules sessions as groups, the class of a thread counts only
/// within its session.
pub fn lower_session_of(pid: u32) {
    // Without autogroups the file does not exist, and there is nothing to do.
    let _ = std::fs::write(format!("/proc/{pid}/autogroup"), "19");
}

/// Runs the calling thread only when a processor is otherwise idle.
pub fn become_idle() -> Result<(), Errno> {
    // The kernel's `struct sched_param`. By the system call, because musl's function of this name is a stub.
    let priority: libc::c_int = 0;
    // SAFETY: the structure lives for the whole call; 0 is the calling thread.
    check(unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_IDLE, &raw const priority) })
        .map(|_| ())
}

/// The processors that the calling thread may use, ascending.
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

/// Processor time that the calling thread has used, ns.
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
