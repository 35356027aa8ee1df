//! The system call that each I/O makes, `io_uring_enter`, without the way through the C library and its `errno`: where it can be written down
//! here, it takes 15 instructions less.

/// What the kernel returns: how many requests it took, or a negative error number.
///
/// # Safety
///
/// The entries shown to the kernel name memory that is valid until they have ended; `argument` is null or points to `size` bytes of the
/// argument that `flags` speak of.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn enter(
    fd: i32,
    submit: u32,
    wanted: u32,
    flags: u32,
    argument: *const u8,
    size: usize,
) -> isize {
    let returned;
    // SAFETY: the caller's promise; the kernel changes the registers that are named, and memory as it does with any other call.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") libc::SYS_io_uring_enter as isize => returned,
            in("rdi") fd as isize,
            in("rsi") submit as usize,
            in("rdx") wanted as usize,
            in("r10") flags as usize,
            in("r8") argument,
            in("r9") size,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    returned
}

/// The same by the C library.
///
/// # Safety
///
/// As above.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn enter(
    fd: i32,
    submit: u32,
    wanted: u32,
    flags: u32,
    argument: *const u8,
    size: usize,
) -> isize {
    // SAFETY: the caller's promise.
    let returned =
        unsafe { libc::syscall(libc::SYS_io_uring_enter, fd, submit, wanted, flags, argument, size) };
    if returned < 0 { -fathom_sys::Errno::last().0 as isize } else { returned as isize }
}
