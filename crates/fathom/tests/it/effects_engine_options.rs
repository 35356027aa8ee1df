//! Options of single engines, by the system calls they lead to.

use crate::support::program::Launch;
use crate::support::trace::Trace;
use crate::support::{KIB, PATIENCE, file_of, processes, scratch};
use std::time::Duration;

/// Traces a job that reads 16 blocks of a file in the page cache.
#[track_caller]
fn trace(calls: &str, words: &str) -> Result<Trace, String> {
    let directory = scratch();
    file_of(directory.path(), "data", 64 * KIB);
    let words = format!("--name=a --filename=data --size=64k --bs=4k --rw=read --invalidate=0 {words}");
    Trace::of(directory.path(), calls, &words)
}

/// Calls of that name that contain a text.
fn count(trace: &Trace, name: &str, text: &str) -> usize {
    trace.calls.iter().filter(|call| call.starts_with(name) && call.contains(text)).count()
}

#[test]
fn flags_of_preadv2() {
    for (words, polled, unwaiting) in
        [("", 0, 0), ("--hipri=1", 16, 0), ("--hipri=1 --hipri_percentage=0", 0, 0), ("--nowait=1", 0, 16)]
    {
        let trace = require!(trace("preadv2", &format!("--ioengine=pvsync2 {words}")));
        if trace.finished.code() != 0 {
            skip!("this file system cannot do {words}");
        }
        assert_eq!(count(&trace, "preadv2", "RWF_HIPRI"), polled, "{words}");
        assert_eq!(count(&trace, "preadv2", "RWF_NOWAIT"), unwaiting, "{words}");
    }
    let trace = require!(trace("preadv2", "--ioengine=pvsync2 --hipri=1 --hipri_percentage=50"));
    let polled = count(&trace, "preadv2", "RWF_HIPRI");
    assert!((2..15).contains(&polled), "{polled} of 16");
}

#[test]
fn libaio_uses_the_commands_asked_for() {
    for (words, vectored) in [("", false), ("--libaio_vectored=1", true)] {
        let trace = require!(trace("io_submit", &format!("--ioengine=libaio {words}")));
        assert_eq!(count(&trace, "io_submit", "IOCB_CMD_PREADV") > 0, vectored, "{words}");
        assert_eq!(count(&trace, "io_submit", "IOCB_CMD_PREAD,") > 0, !vectored, "{words}");
    }
}

#[test]
fn libaio_reaps_without_a_call() {
    let words = "--ioengine=libaio --iodepth=4 --iodepth_batch_complete_min=0";
    let with = require!(trace("io_getevents", &format!("{words} --userspace_reap=1"))).count("io_getevents");
    let without = require!(trace("io_getevents", words)).count("io_getevents");
    // Draining at the end may enter the kernel.
    assert!(with <= 1 && without >= 2, "{with} and {without}");
}

#[test]
fn io_uring_registers_what_it_may() {
    for (words, buffers, files) in [
        ("--fixedbufs=1 --registerfiles=1", true, true),
        ("--fixedbufs=0", false, true),
        ("--registerfiles=0", true, false),
        ("--nonvectored=0", false, true),
    ] {
        let trace = require!(trace("io_uring_register", &format!("--ioengine=io_uring {words}")));
        assert_eq!(count(&trace, "io_uring_register", "REGISTER_BUFFERS") > 0, buffers, "{words}");
        assert_eq!(count(&trace, "io_uring_register", "REGISTER_FILES") > 0, files, "{words}");
    }
}

#[test]
fn a_kernel_thread_submits() {
    for (words, bound) in [("--sqthread_poll=1", false), ("--sqthread_poll=1 --sqthread_poll_cpu=0", true)] {
        let trace = require!(trace("io_uring_setup", &format!("--ioengine=io_uring {words}")));
        assert_eq!(trace.finished.code(), 0, "{words}");
        assert!(count(&trace, "io_uring_setup", "IORING_SETUP_SQPOLL") > 0, "{words}");
        assert_eq!(count(&trace, "io_uring_setup", "IORING_SETUP_SQ_AFF") > 0, bound, "{words}");
    }
}

#[test]
fn no_io_fails_while_the_kernel_thread_holds_the_queue() {
    let directory = scratch();
    file_of(directory.path(), "data", 64 * KIB);
    // The thread completes cached reads immediately, and frees queue entries later.
    for depth in [1, 4, 16] {
        let job = format!(
            "--name=a --filename=data --size=64k --bs=4k --rw=randread --invalidate=0 --ioengine=io_uring \
             --sqthread_poll=1 --iodepth={depth} --norandommap --io_size=400m"
        );
        let finished = Launch::fathom(directory.path()).words(&job).run();
        if finished.stderr.contains("io_queue_init") {
            skip!("io_uring does not work here: {}", finished.stderr.trim());
        }
        finished.expect_clean();
    }
}

#[test]
fn mappings_are_advised_to_use_huge_pages() {
    let trace = require!(trace("mmap,madvise", "--ioengine=mmap --thp=1"));
    assert!(trace.on("mmap", "/data").any(|call| call.contains("MAP_PRIVATE")), "{:?}", trace.calls);
    assert_eq!(count(&trace, "madvise", "MADV_HUGEPAGE"), 1);
}

#[test]
fn a_queue_is_drained_to_its_low_mark() {
    let words = "--ioengine=libaio --iodepth=8 --iodepth_batch=8 --iodepth_batch_complete_max=1";
    let sizes = |words: &str| -> Result<Vec<u32>, String> {
        let trace = trace("io_submit", words)?;
        let size = |call: &String| call.split(", ").nth(1)?.parse().ok();
        Ok(trace.calls.iter().filter_map(size).collect())
    };
    assert_eq!(require!(sizes(&format!("{words} --iodepth_low=4"))), [8, 4, 4]);
    assert_eq!(require!(sizes(&format!("{words} --iodepth_low=6"))), [8, 2, 2, 2, 2]);
}

#[test]
fn what_is_moved_need_not_stay_in_the_cache() {
    // RWF_DONTCACHE is 0x80. A kernel or file system may refuse it, but it must be requested.
    let marked = |call: &String| call.contains("0x80") || call.contains("RWF_DONTCACHE");
    for (words, uncached) in [("", false), ("--uncached=1", true)] {
        let trace = require!(trace("preadv2", &format!("--ioengine=pvsync2 {words}")));
        let mut calls = trace.calls.iter().filter(|call| call.starts_with("preadv2")).peekable();
        assert!(calls.peek().is_some(), "{words}");
        assert!(calls.all(|call| marked(call) == uncached), "{words}: {:?}", trace.calls);
    }
}

/// Kernel threads that carry out I/O of the processes of a run.
fn kernel_workers(pid: u32) -> usize {
    let tasks = processes::descendants(pid);
    let tasks = tasks.iter().filter_map(|pid| std::fs::read_dir(format!("/proc/{pid}/task")).ok());
    let names =
        tasks.flatten().filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("iou-wrk")).count()
}

#[test]
fn the_kernel_hands_over_what_it_is_forced_to() {
    let directory = scratch();
    file_of(directory.path(), "data", 64 * KIB);
    // Reads of cached pages complete immediately unless forced to be asynchronous.
    let job = "--name=a --filename=data --size=64k --bs=4k --rw=read --invalidate=0 --ioengine=io_uring --iodepth=4 \
               --time_based --runtime=60";
    let probe = Launch::fathom(directory.path()).words(&format!("{job} --runtime=0 --number_ios=1")).run();
    if probe.code() != 0 {
        skip!("io_uring does not work here: {}", probe.stderr.trim());
    }
    let running = Launch::fathom(directory.path()).words(&format!("{job} --force_async=1")).start();
    while kernel_workers(running.pid()) == 0 {
        assert!(running.elapsed() < PATIENCE, "no worker of the kernel");
        std::thread::sleep(Duration::from_millis(10));
    }
    running.signal("INT");
    running.finish();
}
