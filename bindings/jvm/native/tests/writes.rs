//! Buffered writes: executed by the kernel's queue where it needs no worker thread, and by the waiting thread
//! elsewhere.

#![allow(clippy::unwrap_used)]

use fathom_jvm::{CREATE, DIRECT, EngineWish, READ, Ring, SIZE, Table, Targets, WRITABLE, WRITE, WriteWay};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const BLOCK: usize = 4096;
const BLOCKS: usize = 200;

/// A file in a separate directory, removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new(directory: &str, name: &str) -> Scratch {
        let path = Path::new(directory).join(format!("fathom-jvm-{name}-{}", std::process::id()));
        std::fs::write(&path, vec![7; BLOCK * BLOCKS]).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Writes the even blocks and reads the odd ones in one batch, several times; returns where the writes were
/// executed.
fn mixed(path: &Path, flags: i32, wish: EngineWish, depth: u32) -> Option<WriteWay> {
    let name = CString::new(path.as_os_str().as_bytes()).unwrap();
    let memory = vec![[0_u8; BLOCK]; BLOCKS + 1].leak();
    let base = memory.as_mut_ptr() as usize;
    let aligned = base.next_multiple_of(BLOCK);
    let mut targets = Targets::default();
    targets.open(&name, WRITABLE | CREATE | flags).ok()?;
    // SAFETY: the memory is never freed, and is accessed only through raw pointers from here on.
    unsafe { targets.add_buffer(aligned, BLOCK * BLOCKS) }.unwrap();
    let ring = Ring::new(targets, depth, wish).ok()?;
    for round in 1..4_u8 {
        let mut words = vec![0_u64; BLOCKS * SIZE / 8];
        for block in 0..BLOCKS {
            let operation = if block % 2 == 0 { WRITE } else { READ };
            let entry = &mut words[block * SIZE / 8..];
            entry[0] = (block * BLOCK) as u64;
            entry[1] = ((block * BLOCK) as u64) << 32 | BLOCK as u64;
            entry[2] = operation as u64;
            // SAFETY: within the memory, which nothing else uses now.
            unsafe { std::ptr::write_bytes((aligned + block * BLOCK) as *mut u8, round, BLOCK) };
        }
        // SAFETY: the descriptors lie there until the wait below is over.
        let table = unsafe { Table::new(words.as_mut_ptr() as usize, BLOCKS as u32) };
        let slot = ring.submit(table, round == 2).unwrap();
        assert_eq!(ring.wait(slot), Ok(0));
        let content = std::fs::read(path).unwrap();
        for block in 0..BLOCKS {
            assert_eq!(table.result(block as u32), BLOCK as i32, "block {block}");
            let expected = if block % 2 == 0 { round } else { 7 };
            assert!(
                content[block * BLOCK..][..BLOCK].iter().all(|byte| *byte == expected),
                "file, block {block}"
            );
            // SAFETY: within the memory; the batch is over.
            let read = unsafe { *((aligned + block * BLOCK) as *const u8) };
            assert_eq!(read, expected, "buffer, block {block}");
        }
    }
    // Only one engine is available without io_uring.
    ring.is_uring().then(|| ring.targets().write_way(0))
}

#[test]
fn every_way_and_every_depth_gives_the_same_bytes() {
    for directory in ["/dev/shm", env!("CARGO_TARGET_TMPDIR")] {
        let file = Scratch::new(directory, "bytes");
        for wish in [EngineWish::Automatic, EngineWish::Uring, EngineWish::Vectors] {
            for flags in [0, DIRECT] {
                for depth in [1, 8, 256] {
                    mixed(&file.0, flags, wish, depth);
                }
            }
        }
    }
}

#[test]
fn the_waiting_thread_writes_where_the_queue_would_need_a_worker() {
    // tmpfs does not support nonblocking writes.
    let file = Scratch::new("/dev/shm", "way");
    if let Some(way) = mixed(&file.0, 0, EngineWish::Automatic, 64) {
        assert_eq!(way, WriteWay::Thread);
    }
    let file = Scratch::new(env!("CARGO_TARGET_TMPDIR"), "direct");
    if let Some(way) = mixed(&file.0, DIRECT, EngineWish::Automatic, 64) {
        assert_eq!(way, WriteWay::Queue);
    }
}
