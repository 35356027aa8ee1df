//! A job that verifies data of an earlier run leaves it unchanged, whatever its options say, and rejects
//! missing or truncated data.

use crate::support::devices::LoopDevice;
use crate::support::program::{Finished, Launch};
use crate::support::{json, scratch};
use std::path::{Path, PathBuf};

const JOB: &str = "--name=job --bs=4k --size=64k --verify=crc32c";

fn run(directory: &Path, words: &str) -> Finished {
    Launch::fathom(directory).words(JOB).words("--output-format=json").words(words).run()
}

/// Names and contents of the files, without the state that verifying leaves.
fn contents(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = std::fs::read_dir(directory).expect("it can be read").flatten().map(|entry| entry.path());
    let mut found: Vec<_> = files
        .filter(|path| path.extension().is_none_or(|extension| extension != "state"))
        .map(|path| (path.clone(), std::fs::read(&path).expect("it can be read")))
        .collect();
    found.sort();
    found
}

/// Options for creating, opening and removing files that a writing job may use.
const WAYS: [&str; 17] = [
    "",
    "--rw=randwrite",
    "--rw=randrw",
    "--rw=randtrimwrite",
    "--trim_percentage=50",
    "--create_on_open=1",
    "--create_serialize=0",
    "--fallocate=none",
    "--fallocate=truncate",
    "--overwrite=1",
    "--overwrite=1 --create_on_open=1",
    "--experimental_verify=1",
    "--unlink=1",
    "--unlink_each_loop=1 --loops=2",
    "--ioengine=mmap",
    "--ioengine=libaio --iodepth=4",
    "--ioengine=io_uring --iodepth=4 --thread",
];

#[test]
fn data_that_is_cut_short_is_refused_and_stays() {
    fathom_only!();
    for way in WAYS.iter().copied().chain(["--rw=read", "--rw=randread --create_serialize=0"]) {
        let directory = scratch();
        let file = directory.path().join("v");
        run(directory.path(), "--filename=v --rw=write").expect_clean();
        std::fs::OpenOptions::new()
            .write(true)
            .open(&file)
            .and_then(|opened| opened.set_len(32 << 10))
            .expect("it can be cut");
        let before = contents(directory.path());
        let only = if way.contains("=read") || way.contains("=randread") { "" } else { "--verify_only" };
        let finished = run(directory.path(), &format!("--filename=v --rw=write {only} {way}"));
        assert_eq!(finished.code(), 1, "{way}: {}", finished.stderr);
        let verb = if only.is_empty() { "verifies" } else { "wrote" };
        let line = format!("fathom: job job: v has 32 KiB, the job {verb} 64 KiB; nothing was changed: ");
        assert!(finished.stderr.contains(&line), "{way}: {}", finished.stderr);
        assert!(contents(directory.path()) == before, "{way}: something has changed");
    }
}

#[test]
fn data_that_is_missing_is_refused_and_not_made() {
    fathom_only!();
    let ways = WAYS.iter().copied();
    for way in ways.chain(["--rw=read", "--verify_state_load=1", "--fill_device=1"]) {
        let directory = scratch();
        let only = if way.contains("=read") { "" } else { "--verify_only" };
        let finished = run(directory.path(), &format!("--filename=v --rw=write {only} {way}"));
        assert_eq!(finished.code(), 1, "{way}: {}", finished.stderr);
        let line = "v does not exist, and ";
        assert!(finished.stderr.contains(line) || way.contains("state_load"), "{way}: {}", finished.stderr);
        assert_eq!(contents(directory.path()), [], "{way}");
    }
}

#[test]
fn each_of_several_files_counts() {
    fathom_only!();
    let directory = scratch();
    run(directory.path(), "--nrfiles=4 --rw=write").expect_clean();
    for name in ["job.0.1", "job.0.3"] {
        let opened =
            std::fs::OpenOptions::new().write(true).open(directory.path().join(name)).expect("a file");
        opened.set_len(4096).expect("it can be cut");
    }
    let finished = run(directory.path(), "--nrfiles=4 --rw=write --verify_only");
    let line = "job.0.1 has 4 KiB, the job wrote 16 KiB (and 1 more file); nothing was changed";
    assert!(finished.code() == 1 && finished.stderr.contains(line), "{}", finished.stderr);
}

/// Good data is verified, and even then nothing is opened for writing, removed or trimmed.
#[test]
fn whole_data_is_verified_and_stays() {
    fathom_only!();
    for way in WAYS {
        let directory = scratch();
        run(directory.path(), &format!("--filename=v --rw=write {way} --unlink=0 --unlink_each_loop=0"))
            .expect_clean();
        let before = contents(directory.path());
        let mut permissions = std::fs::metadata(directory.path().join("v")).expect("it exists").permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(directory.path().join("v"), permissions).expect("they can be set");
        for order in ["--verify_only --rw=write", "--rw=write --verify_only"] {
            let words = format!("{JOB} --filename=v {order} {way} --output-format=json");
            let finished = Launch::fathom(directory.path()).words("--readonly").words(&words).run();
            assert_eq!(finished.code(), 0, "{words}: {}", finished.stderr);
            let document = json::document(&finished.stdout);
            assert!(document["jobs"][0]["read"]["total_ios"].as_u64() > Some(0), "{words}");
        }
        let finished = run(directory.path(), &format!("--filename=v --rw=write --verify_only {way}"));
        assert_eq!(finished.code(), 0, "{way}: {}", finished.stderr);
        let is_told = finished.stderr.contains("=1 removes nothing because of verify_only");
        assert_eq!(is_told, way.contains("unlink"), "{way}: {}", finished.stderr);
        assert!(contents(directory.path()) == before, "{way}: something has changed");
    }
}

/// A later stage verifies the data of an earlier one: the file need not exist when the run starts.
#[test]
fn data_of_an_earlier_stage_is_examined_when_its_turn_comes() {
    fathom_only!();
    let directory = scratch();
    let both = "--rw=write --fallocate=none --filename=v --name=check --stonewall --bs=4k --size=64k --verify=crc32c \
                --rw=write --filename=v --verify_only";
    assert_eq!(run(directory.path(), both).expect_clean().code(), 0);
}

/// An interrupted run has written less than its size, and its state contains the amount.
#[test]
fn what_an_interrupted_run_has_written_is_verified_by_its_state() {
    fathom_only!();
    let directory = scratch();
    let writes = "--filename=v --rw=write --fallocate=none --do_verify=0";
    run(directory.path(), &format!("{writes} --number_ios=5 --verify_state_save=1")).expect_clean();
    let before = contents(directory.path());
    assert_eq!(before[0].1.len(), 5 * 4096);
    let refused = run(directory.path(), "--filename=v --rw=write --verify_only");
    assert!(refused.stderr.contains("v has 20 KiB, the job wrote 64 KiB"), "{}", refused.stderr);
    let finished = run(directory.path(), "--filename=v --rw=write --verify_only --verify_state_load=1");
    let document = json::document(&finished.stdout);
    let checked = &document["fathom verify"][0]["checked_reads"];
    assert_eq!((finished.code(), checked.as_u64()), (0, Some(5)), "{}", finished.stderr);
    assert!(contents(directory.path()) == before);
}

#[test]
fn what_was_appended_has_no_known_place() {
    fathom_only!();
    let directory = scratch();
    run(directory.path(), "--filename=v --rw=write --file_append=1").expect_clean();
    let refused = run(directory.path(), "--filename=v --rw=write --file_append=1 --verify_only");
    assert!(
        refused.code() == 1 && refused.stderr.contains("give the place as offset= and size="),
        "{}",
        refused.stderr
    );
}

/// A device smaller than the job: the part that fits was written, and is verified without writing.
#[test]
fn a_small_device_is_only_read() {
    fathom_only!();
    let device = require!(LoopDevice::new(1 << 20));
    let directory = scratch();
    let words = format!("{JOB} --size=2m --filename={} --rw=randwrite", device.path().display());
    Launch::fathom(directory.path()).words(&words).run().expect_clean();
    let before = std::fs::read(device.path()).expect("it can be read");
    let finished =
        Launch::fathom(directory.path()).words("--readonly").words(&words).words("--verify_only").run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(
        finished.stderr.contains("1048576 bytes before what offset= and size= ask for")
            || finished.stdout.contains("1048576 bytes before")
    );
    assert!(std::fs::read(device.path()).expect("it can be read") == before);
}
