//! Where the kernel refuses to lock the buffers (`ulimit -l`), batches still work, and the refusal is reported.

#![allow(clippy::unwrap_used)]

use fathom_jvm::{EngineWish, READ, Ring, SIZE, Table, Targets};

const LENGTH: usize = 1 << 20;

/// Limits this thread to 64 KiB of locked memory, even for root.
fn limit_locked_memory() {
    let limit = libc::rlimit { rlim_cur: 64 << 10, rlim_max: 64 << 10 };
    // SAFETY: reads the limit that it is given.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &limit) }, 0);
    // `struct __user_cap_header_struct`, version 3, for this thread; then an empty set of capabilities.
    let header = [0x2008_0522_u32, 0];
    let none = [0_u32; 6];
    // SAFETY: both are as large as the kernel's structures of version 3.
    assert_eq!(unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) }, 0);
}

#[test]
fn buffers_that_cannot_be_locked_are_used_unregistered() {
    let thread = std::thread::spawn(|| {
        limit_locked_memory();
        let path = std::env::temp_dir().join(format!("fathom-jvm-locked-{}", std::process::id()));
        let content: Vec<u8> = (0..LENGTH).map(|at| (at % 251) as u8).collect();
        std::fs::write(&path, &content).unwrap();
        let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        let memory: &'static mut [u8] = Box::leak(vec![0; LENGTH].into_boxed_slice());
        let mut targets = Targets::default();
        targets.open(&name, 0).unwrap();
        std::fs::remove_file(&path).unwrap();
        // SAFETY: the memory is never freed.
        unsafe { targets.add_buffer(memory.as_mut_ptr() as usize, LENGTH) }.unwrap();
        let ring = Ring::new(targets, 8, EngineWish::Automatic).unwrap();
        if ring.is_uring() {
            assert_eq!(ring.buffers_refused(), libc::ENOMEM);
        }
        let mut words = [0_u64; SIZE / 8];
        words[1] = LENGTH as u64;
        words[2] = READ as u64;
        // SAFETY: one descriptor lies there until the wait below is over.
        let table = unsafe { Table::new(words.as_mut_ptr() as usize, 1) };
        let slot = ring.submit(table, true).unwrap();
        assert_eq!(ring.wait(slot), Ok(0));
        assert_eq!(table.result(0), LENGTH as i32);
        assert!(memory == content);
    });
    thread.join().unwrap();
}
