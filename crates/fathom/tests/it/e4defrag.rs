//! `ioengine=e4defrag`: extents are swapped, data stays, and only the donor's content is lost.

use crate::shipped_examples;
use crate::support::devices::{self, Mounted};
use crate::support::program::{Finished, Launch};
use crate::support::{MIB, file_of, scratch, skip};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const FRAME: &str = "--name=a --ioengine=e4defrag --filename=data --donorname=donor --size=1m";

fn run(directory: &Path, words: &str) -> Finished {
    Launch::fathom(directory).words(FRAME).words(words).run()
}

/// Location of a file's first block on the device, from filefrag.
fn place(file: &Path) -> String {
    let told = devices::run("filefrag", &["-v", &file.display().to_string()]).expect("filefrag answers");
    let line = told.lines().find(|line| line.trim_start().starts_with("0:")).unwrap_or_default();
    line.split_whitespace().nth(3).unwrap_or_default().to_owned()
}

/// A file with its own data.
fn content(directory: &Path) -> Vec<u8> {
    let content: Vec<u8> = (0..MIB).map(|index| (index * 7 + index / 4096) as u8).collect();
    fs::write(directory.join("data"), &content).expect("written");
    fs::File::open(directory.join("data")).and_then(|file| file.sync_all()).expect("synced");
    content
}

#[test]
fn blocks_change_hands_and_data_stays() {
    let mounted = require!(Mounted::new("ext4", 32 * MIB));
    require!(skip::tool("filefrag"));
    let directory = mounted.path();
    let content = content(directory);
    for words in [
        "--inplace=0 --rw=write --bs=64k",
        "--inplace=1 --rw=randwrite --bs=32k",
        "--inplace=1 --rw=write --bs=4k --direct=1",
    ] {
        let before = place(&directory.join("data"));
        run(directory, words).expect_clean();
        assert_ne!(place(&directory.join("data")), before, "{words}");
        assert!(fs::read(directory.join("data")).expect("a file") == content, "{words}: other data");
        let donor = fs::metadata(directory.join("donor")).expect("a donor");
        let (length, blocks) = (donor.len(), donor.blocks());
        if words.contains("inplace=1") {
            assert_eq!((length, blocks), (0, 0), "{words}: it gives back what it has left");
        } else {
            assert!(length == MIB && blocks >= 2048, "{words}: {length} {blocks}");
        }
    }
}

#[test]
fn data_is_verified_while_its_blocks_move() {
    let mounted = require!(Mounted::new("ext4", 64 * MIB));
    let directory = mounted.path();
    content(directory);
    fs::write(
        directory.join("job"),
        "[global]\nfilename=data\nsize=1m\nruntime=3\ntime_based\n\
         [defrag]\nioengine=e4defrag\ndonorname=donor\ninplace=1\nbs=4k\nrw=randwrite\nignore_error=,EBUSY\n\
         [work]\nioengine=psync\nbs=8k\nrw=randrw\nverify=md5\n",
    )
    .expect("written");
    Launch::fathom(directory).words("job").run().expect_clean();
}

#[test]
fn donors_that_cannot_be_are_refused() {
    let mounted = require!(Mounted::new("ext4", 32 * MIB));
    let directory = mounted.path();
    let content = content(directory);
    let elsewhere = scratch();
    let precious = file_of(elsewhere.path(), "precious", 4096);
    let before = fs::read(&precious).expect("a file");
    std::os::unix::fs::symlink(directory.join("kept"), directory.join("link")).expect("a link");
    file_of(directory, "kept", 4096);
    for (donor, reason) in [
        ("data".to_owned(), "cannot be its own donor"),
        ("link".to_owned(), "a separate file"),
        (precious.display().to_string(), "donorname"),
        (".".to_owned(), "a separate file"),
    ] {
        let words = format!("--rw=write --bs=64k --donorname={donor}");
        let finished = run(directory, &words);
        assert_eq!(finished.code(), 1, "{donor}: {}", finished.stdout);
        assert!(finished.stderr.contains(reason), "{donor}: {}", finished.stderr);
    }
    assert!(fs::read(directory.join("data")).expect("a file") == content);
    assert!(fs::read(&precious).expect("a file") == before, "untouched");
    assert_eq!(fs::metadata(directory.join("kept")).expect("a file").len(), 4096);
    let finished = run(directory, "--rw=write --bs=6000");
    assert!(finished.stderr.contains("whole blocks of"), "{}", finished.stderr);
    let finished = run(directory, "--rw=read");
    assert!(finished.stderr.contains("only writes do"), "{}", finished.stderr);
    let finished = Launch::fathom(directory).words("--readonly").words(FRAME).words("--rw=write").run();
    assert_eq!(finished.code(), 1);
}

#[test]
fn other_file_systems_are_refused() {
    let mounted = require!(Mounted::memory(8 * MIB));
    let finished = run(mounted.path(), "--rw=write --bs=64k");
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("is not on ext4"), "{}", finished.stderr);
    assert!(!mounted.path().join("donor").exists(), "no donor is left behind for nothing");
}

#[test]
fn the_examples_of_fio_run() {
    let mounted = require!(Mounted::new("ext4", 256 * MIB));
    // The examples need changes: jobs that write to one file would verify each other's data, and one job has
    // no end. Jobs hold pages of the shared file, as does the kernel while it writes back the layout, so
    // every job of this engine must ignore EBUSY. If direct writes find their blocks still in use in the page
    // cache, the kernel reports EIO to the syncs of all writers.
    let busy = "ioengine=e4defrag\nignore_error=,EBUSY";
    let beside = "ioengine=libaio\nignore_error=,EIO";
    let words: [(&str, &[(&str, &str)]); 2] = [
        ("e4defrag", &[("verify=md5", "verify=0"), ("ioengine=e4defrag", busy), ("ioengine=libaio", beside)]),
        (
            "e4defrag2",
            &[
                ("verify=md5", "verify=0"),
                ("time_based\nrw=randwrite", "rw=randwrite"),
                ("continue_on_error=all\n", ""),
                ("ioengine=e4defrag", busy),
                ("ioengine=libaio", beside),
            ],
        ),
    ];
    for (name, words) in words {
        shipped_examples::run_with_in(mounted.path(), name, words, |launch| launch);
    }
}
