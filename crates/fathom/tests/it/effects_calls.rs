//! Each engine issues its own system calls, at the right offsets.

use crate::support::compare::expect_ios;
use crate::support::trace::Trace;
use crate::support::{KIB, file_of, json, scratch};
use std::collections::BTreeSet;

/// Traces a job that reads 16 blocks of 4 KiB of `data`.
#[track_caller]
fn read_with(engine: &str, calls: &str) -> Result<Trace, String> {
    trace(calls, &format!("--name=job --filename=data --rw=read --bs=4k --size=64k --ioengine={engine}"))
}

/// Traces a job in a directory with a file `data` of 64 KiB.
#[track_caller]
fn trace(calls: &str, words: &str) -> Result<Trace, String> {
    let directory = scratch();
    file_of(directory.path(), "data", 64 * KIB);
    let trace = Trace::of(directory.path(), calls, &format!("--output-format=json {words}"))?;
    assert_eq!(trace.finished.code(), 0, "{}{}", trace.finished.stdout, trace.finished.stderr);
    Ok(trace)
}

/// The last number before the closing parenthesis of `pread64(3<f>, ""..., 4096, 8192) = 4096`.
fn offset_of(call: &str) -> u64 {
    let arguments = call.rsplit_once(')').expect("a call has arguments").0;
    arguments
        .rsplit(", ")
        .next()
        .and_then(|offset| offset.parse().ok())
        .unwrap_or_else(|| panic!("no offset: {call}"))
}

#[test]
fn psync_reads_by_pread() {
    let trace = require!(read_with("psync", "pread64,read,lseek"));
    let offsets: Vec<u64> = trace.on("pread64", "/data").map(offset_of).collect();
    assert_eq!(offsets, (0..16).map(|block| block * 4096).collect::<Vec<_>>());
}

#[test]
fn sync_reads_without_seeking() {
    let trace = require!(read_with("sync", "pread64,read,lseek"));
    assert_eq!(trace.on("read", "/data").count(), 16);
    // The next read begins at the position after the previous one.
    assert!(trace.on("lseek", "/data").count() <= 1);
    assert_eq!(trace.on("pread64", "/data").count(), 0);
}

#[test]
fn sync_seeks_when_reading_backwards() {
    let words = "--name=job --filename=data --rw=randread --bs=4k --size=64k --ioengine=sync";
    let trace = require!(trace("read,lseek", words));
    assert_eq!(trace.on("read", "/data").count(), 16);
    assert!(trace.on("lseek", "/data").count() >= 8);
}

#[test]
fn vsync_gathers_neighbours() {
    let words = "--name=job --filename=data --rw=read --bs=4k --size=64k --ioengine=vsync --iodepth=8";
    let trace = require!(trace("readv,read", words));
    let calls = trace.on("readv", "/data").count();
    assert!((2..=16).contains(&calls), "{calls} calls of readv");
    // The installed release reads more bytes here than it counts.
    fathom_only!();
    expect_ios(&json::document(&trace.finished.stdout), &["read"], 16, 4096);
}

#[test]
fn pvsync_reads_by_preadv() {
    let trace = require!(read_with("pvsync", "preadv,preadv2"));
    assert_eq!(trace.on("preadv", "/data").count(), 16);
}

#[test]
fn pvsync2_reads_by_preadv2() {
    let trace = require!(read_with("pvsync2", "preadv,preadv2"));
    assert_eq!(trace.on("preadv2", "/data").count(), 16);
}

#[test]
fn libaio_submits_to_the_kernel() {
    let words = "--name=job --filename=data --rw=read --bs=4k --size=64k --ioengine=libaio --iodepth=4";
    let trace = require!(trace("io_setup,io_submit,io_getevents,io_pgetevents,pread64", words));
    assert!(trace.count("io_setup") >= 1);
    let submitted: u64 = trace.calls.iter().filter_map(|call| returned(call, "io_submit")).sum();
    assert_eq!(submitted, 16);
    // Completions may also be reaped from the ring without a call.
    let reaped: u64 = trace.calls.iter().filter_map(|call| returned(call, "io_getevents")).sum();
    assert!(reaped <= 16, "{reaped} completions of 16");
    assert_eq!(trace.on("pread64", "/data").count(), 0);
}

/// Return value of a call of that name.
fn returned(call: &str, name: &str) -> Option<u64> {
    call.strip_prefix(name)?.rsplit_once(" = ")?.1.split_whitespace().next()?.parse().ok()
}

#[test]
fn io_uring_enters_its_ring() {
    let words = "--name=job --filename=data --rw=read --bs=4k --size=64k --ioengine=io_uring --iodepth=4";
    let trace = require!(trace("io_uring_setup,io_uring_enter,pread64", words));
    assert!(trace.count("io_uring_setup") >= 1);
    let submitted: u64 = trace.calls.iter().filter_map(|call| returned(call, "io_uring_enter")).sum();
    assert_eq!(submitted, 16, "{:?}", trace.calls);
    assert_eq!(trace.on("pread64", "/data").count(), 0);
}

#[test]
fn mmap_maps_and_reads_nothing() {
    let trace = require!(read_with("mmap", "mmap,pread64,read"));
    let mapped = trace.on("mmap", "/data").filter(|call| call.contains("MAP_SHARED")).count();
    assert!(mapped >= 1, "{:?}", trace.calls);
    assert_eq!(trace.on("pread64", "/data").count() + trace.on("read", "/data").count(), 0);
}

#[test]
fn posixaio_reads_on_threads_of_the_library() {
    let words = "--name=job --filename=data --rw=read --bs=4k --size=64k --ioengine=posixaio --iodepth=4";
    let trace = require!(trace("open,openat,fadvise64,pread64,io_submit,io_uring_enter", words));
    assert_eq!(trace.on("pread64", "/data").count(), 16);
    let (readers, openers) = (trace.callers("pread64", "/data"), trace.callers("fadvise64", "/data"));
    assert!(!openers.is_empty() && readers.is_disjoint(&openers), "{readers:?} read for {openers:?}");
    assert_eq!(trace.count("io_submit") + trace.count("io_uring_enter"), 0);
}

#[test]
fn writes_go_by_pwrite() {
    let words = "--name=job --filename=data --rw=write --bs=4k --size=64k --overwrite=1";
    let trace = require!(trace("pwrite64", words));
    let offsets: Vec<u64> = trace.on("pwrite64", "/data").map(offset_of).collect();
    assert_eq!(offsets, (0..16).map(|block| block * 4096).collect::<Vec<_>>());
}

#[test]
fn direct_opens_past_the_page_cache() {
    let words = "--name=job --filename=data --rw=read --bs=4k --size=64k --direct=1";
    let trace = require!(trace("open,openat", words));
    assert!(
        trace.calls.iter().any(|call| call.contains("data") && call.contains("O_DIRECT")),
        "{:?}",
        trace.calls
    );
    let words = "--name=job --filename=data --rw=write --bs=4k --size=64k --sync=1 --overwrite=1";
    let trace = require!(self::trace("open,openat", words));
    assert!(
        trace.calls.iter().any(|call| call.contains("data") && call.contains("O_SYNC")),
        "{:?}",
        trace.calls
    );
}

#[test]
fn syncs_are_issued_and_counted() {
    let words = "--name=job --filename=data --rw=write --bs=4k --size=64k --overwrite=1 --fsync=4";
    let trace = require!(trace("fsync,fdatasync", words));
    let document = json::document(&trace.finished.stdout);
    let counted = json::integer(json::job(&document, "job"), "sync/total_ios");
    assert_eq!(trace.on("fsync", "/data").count() as u64, counted);
    // After the last write there may be nothing left to wait for, so that sync may be missing.
    assert!((3..=4).contains(&counted), "{counted} syncs for 16 writes");

    let words = "--name=job --filename=data --rw=write --bs=4k --size=64k --overwrite=1 --fdatasync=1";
    let trace = require!(self::trace("fsync,fdatasync", words));
    assert!((15..=16).contains(&trace.on("fdatasync", "/data").count()));

    let words = "--name=job --filename=data --rw=write --bs=4k --size=64k --overwrite=1 --end_fsync=1";
    let trace = require!(self::trace("fsync,fdatasync", words));
    assert_eq!(trace.on("fsync", "/data").count(), 1);
}

#[test]
fn random_offsets_are_a_permutation() {
    let words = "--name=job --filename=data --rw=randread --bs=4k --size=64k";
    let trace = require!(trace("pread64", words));
    let offsets: Vec<u64> = trace.on("pread64", "/data").map(offset_of).collect();
    let blocks: BTreeSet<u64> = offsets.iter().map(|offset| offset / 4096).collect();
    assert_eq!((offsets.len(), blocks), (16, (0..16).collect()), "every block once: {offsets:?}");
    assert!(offsets.windows(2).any(|pair| pair[0] > pair[1]), "in no order: {offsets:?}");
}

/// The sequence that verification depends on is fio's.
#[test]
fn random_offsets_of_a_verifying_job() {
    // Releases differ in how they seed their generators.
    fathom_only!();
    built!("--name=job --ioengine=null --size=4k --rw=randwrite --verify=crc32c");
    let words = "--name=job --filename=data --rw=randwrite --bs=4k --size=64k --overwrite=1 --verify=crc32c --do_verify=0";
    let trace = require!(trace("pwrite64", words));
    let blocks: Vec<u64> = trace.on("pwrite64", "/data").map(|call| offset_of(call) / 4096).collect();
    assert_eq!(blocks, [15, 13, 10, 8, 9, 0, 1, 3, 5, 14, 11, 12, 2, 6, 4, 7]);
}

#[test]
fn holes_between_sequential_blocks() {
    let words = "--name=job --filename=data --rw=read:4k --bs=4k --size=64k --io_size=32k";
    let trace = require!(trace("pread64", words));
    let blocks: Vec<u64> = trace.on("pread64", "/data").map(|call| offset_of(call) / 4096).collect();
    assert_eq!(blocks, [0, 2, 4, 6, 8, 10, 12, 14]);
}

#[test]
fn loops_repeat_the_job() {
    let words = "--name=job --filename=data --rw=read --bs=4k --size=64k --loops=3";
    let trace = require!(trace("pread64", words));
    assert_eq!(trace.on("pread64", "/data").count(), 48);
}

#[test]
fn the_cache_is_dropped_before_the_run() {
    let trace = require!(read_with("psync", "fadvise64"));
    assert!(trace.on("fadvise64", "/data").any(|call| call.contains("DONTNEED")), "{:?}", trace.calls);
    let words = "--name=job --filename=data --rw=read --bs=4k --size=64k --invalidate=0";
    let trace = require!(self::trace("fadvise64", words));
    assert!(!trace.on("fadvise64", "/data").any(|call| call.contains("DONTNEED")), "{:?}", trace.calls);
}
