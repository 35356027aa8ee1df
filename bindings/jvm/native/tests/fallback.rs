//! Where the kernel forbids io_uring, the same batches are executed with `preadv`.

#![allow(clippy::unwrap_used)]

use fathom_jvm::{DIRECT, EngineWish, READ, Ring, SIZE, Table, Targets};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

/// Makes the kernel fail this thread's `io_uring_setup` with an error, as seccomp profiles of containers do.
fn forbid_io_uring(errno: u32) {
    let load =
        |k| libc::sock_filter { code: (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, jt: 0, jf: 0, k };
    let give = |k| libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k };
    let is = libc::sock_filter {
        code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
        jt: 0,
        jf: 1,
        k: libc::SYS_io_uring_setup as u32,
    };
    let mut filter = [load(0), is, give(libc::SECCOMP_RET_ERRNO | errno), give(libc::SECCOMP_RET_ALLOW)];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: sets a flag of this thread.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
    // SAFETY: the program and its filter outlive the call; the kernel keeps a copy.
    let set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}

fn read_first_bytes(wish: EngineWish) -> Result<(Ring, Vec<u8>), i32> {
    let path = std::env::current_exe().unwrap();
    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    let memory: &'static mut [u8] = Box::leak(vec![0; 4096].into_boxed_slice());
    let mut targets = Targets::default();
    targets.open(&path, 0).unwrap();
    // SAFETY: the memory is never freed.
    unsafe { targets.add_buffer(memory.as_mut_ptr() as usize, memory.len()) }.unwrap();
    let ring = Ring::new(targets, 8, wish)?;
    let mut words = [0_u64; SIZE / 8];
    words[1] = 4096;
    words[2] = READ as u64;
    // SAFETY: one descriptor lies there until the wait below is over.
    let table = unsafe { Table::new(words.as_mut_ptr() as usize, 1) };
    let slot = ring.submit(table, true).unwrap();
    assert_eq!(ring.wait(slot), Ok(0));
    assert_eq!(table.result(0), 4096);
    Ok((ring, memory.to_vec()))
}

#[test]
fn where_io_uring_is_forbidden_it_reads_all_the_same_and_says_so() {
    for errno in [libc::ENOSYS, libc::EPERM] {
        let thread = std::thread::spawn(move || {
            forbid_io_uring(errno as u32);
            let (ring, bytes) = read_first_bytes(EngineWish::Automatic).unwrap();
            assert!(!ring.is_uring());
            assert_eq!(ring.refused(), errno);
            assert_eq!(&bytes[..4], b"\x7fELF");
            assert_eq!(read_first_bytes(EngineWish::Uring).err(), Some(errno));
        });
        thread.join().unwrap();
    }
}

#[test]
fn direct_io_where_there_is_none_is_refused() {
    let mut targets = Targets::default();
    assert!(targets.open(c"/proc/self/stat", DIRECT).is_err());
}
