//! CPU affinity of threads.

use crate::errno::{Errno, check};

/// Returns the processors on which the calling thread may run, in ascending order.
pub fn current() -> Result<Vec<u32>, Errno> {
    let mut mask = [0u64; 128];
    // SAFETY: the mask is as long as the size says; 0 is the calling thread.
    let result = unsafe {
        libc::syscall(libc::SYS_sched_getaffinity, 0, std::mem::size_of_val(&mask), mask.as_mut_ptr())
    };
    check(result)?;
    Ok((0..mask.len() as u32 * 64).filter(|cpu| mask[*cpu as usize / 64] >> (cpu % 64) & 1 == 1).collect())
}

/// Binds the calling thread to these processors.
pub fn bind(cpus: &[u32]) -> Result<(), Errno> {
    const BITS: usize = 64;
    let highest = cpus.iter().copied().max().ok_or(Errno(libc::EINVAL))? as usize;
    let mut mask = vec![0u64; highest / BITS + 1];
    for &cpu in cpus {
        mask[cpu as usize / BITS] |= 1 << (cpu as usize % BITS);
    }
    // SAFETY: the mask is as long as the size says; 0 is the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, mask.len() * 8, mask.as_ptr()) };
    check(result).map(|_| ())
}
