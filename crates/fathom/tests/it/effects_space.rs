//! Engines that allocate and free space, set lengths, and touch memory: tested by the resulting files and by their system
//! calls.

use crate::support::devices::Mounted;
use crate::support::program::Launch;
use crate::support::trace::Trace;
use crate::support::{KIB, MIB, file_of, json, scratch};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

fn run(directory: &Path, words: &str) {
    let frame = "--name=a --filename=data --size=1m --bs=64k";
    Launch::fathom(directory).words(frame).words(words).run().expect_clean();
}

/// Allocated bytes of a file, and its length.
fn space(directory: &Path) -> (u64, u64) {
    let found = fs::metadata(directory.join("data")).expect("a file");
    (found.blocks() * 512, found.len())
}

#[test]
fn space_is_taken_kept_and_freed() {
    let mounted = require!(Mounted::new("ext4", 32 * MIB));
    let directory = mounted.path();
    let layout = "--ioengine=falloc --create_on_open=1";
    run(directory, &format!("{layout} --rw=write"));
    assert_eq!(space(directory), (MIB, MIB));
    run(directory, "--ioengine=falloc --rw=trim");
    assert_eq!(space(directory), (0, MIB));
    // Space beyond the end is reserved, and the length does not change.
    fs::File::create(directory.join("data")).expect("an empty file");
    run(directory, &format!("{layout} --rw=read"));
    assert_eq!(space(directory), (MIB, 0));
}

#[test]
fn each_io_is_one_call() {
    for (rw, flags) in [
        ("read", "FALLOC_FL_KEEP_SIZE,"),
        ("write", ", 0,"),
        ("trim", "FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE"),
    ] {
        let directory = scratch();
        file_of(directory.path(), "data", MIB);
        let words = format!("--name=a --filename=data --size=1m --bs=64k --ioengine=falloc --rw={rw}");
        let trace = require!(Trace::of(directory.path(), "fallocate", &words));
        let calls = trace.calls.iter().filter(|call| call.contains(flags) && call.contains("65536)"));
        assert_eq!(calls.count(), 16, "{rw}: {:?}", trace.calls);
    }
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let words = "--name=a --filename=data --size=1m --bs=64k --ioengine=ftruncate --rw=write";
    let trace = require!(Trace::of(directory.path(), "ftruncate", words));
    assert_eq!(trace.count("ftruncate"), 16);
}

#[test]
fn a_file_ends_where_the_last_write_says() {
    let directory = scratch();
    run(directory.path(), "--ioengine=ftruncate --rw=write");
    assert_eq!(space(directory.path()).1, MIB - 64 * KIB);
}

#[test]
fn reserving_is_a_change() {
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let words = "--readonly --name=a --filename=data --size=1m --ioengine=falloc --rw=read";
    let finished = Launch::fathom(directory.path()).words(words).run();
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("--readonly forbids"), "{}", finished.stderr);
}

#[test]
fn memory_keeps_what_is_copied_to_it() {
    let directory = scratch();
    let words = "--output-format=json --name=a --size=1m --nrfiles=2 --bs=4k --ioengine=page_fault";
    for more in
        ["--rw=randrw --verify=crc32c", "--rw=write --verify=sha1", "--rw=randread --numjobs=2 --thread"]
    {
        Launch::fathom(directory.path()).words(words).words(more).run().expect_clean();
    }
    assert!(!directory.path().join("a.0.0").exists(), "there is no file");
    let words_of_threads = format!("{words} --rw=write --io_submit_mode=offload --iodepth=4");
    let finished = Launch::fathom(directory.path()).words(&words_of_threads).run();
    assert!(finished.stderr.contains("can't be used with offloaded submit"), "{}", finished.stderr);
    // Each page is touched once.
    let words = "--output-format=json --name=a --size=16m --bs=4k --ioengine=page_fault --rw=write";
    let finished = Launch::fathom(directory.path()).words(words).run().expect_clean();
    let document = json::document(&finished.stdout);
    let faults = json::integer(json::job(&document, "a"), "minf");
    assert!(faults >= 8, "{faults} faults");
    let finished = Launch::fathom(directory.path())
        .words("--name=a --size=1m --bs=4k --ioengine=page_fault --rw=trim")
        .run();
    assert_ne!(finished.code(), 0, "memory is not trimmed");
}
