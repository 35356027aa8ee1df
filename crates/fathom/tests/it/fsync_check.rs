//! Checks that the exit status of `fathom fsync-check` is its answer, and that it leaves no files behind.

use crate::support::program::{Finished, Launch};
use crate::support::scratch;
use serde_json::Value;
use std::path::Path;

fn check(directory: &Path, words: &str) -> Finished {
    Launch::fathom(directory).argument("fsync-check").words(words).run()
}

/// A directory on a disk; the system's temporary directory may be in memory.
fn on_disk() -> tempfile::TempDir {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tempfile::tempdir_in(target).expect("a directory")
}

#[test]
fn the_threshold_decides() {
    fathom_only!();
    let directory = on_disk();
    let fast = check(directory.path(), "--size=64k --bs=512 --threshold=1h --percentile=50");
    if fast.stdout.contains("in memory") {
        skip!("the build directory is on a file system in memory");
    }
    assert_eq!(fast.code(), 0, "{}{}", fast.stdout, fast.stderr);
    assert!(fast.stdout.starts_with("Fast enough: p50 of fdatasync is "), "{}", fast.stdout);
    // The last write ends the run, and is not synced, as in fio.
    assert!(fast.stdout.contains("127 records of 512 bytes"), "{}", fast.stdout);
    let slow = check(directory.path(), "--size=64k --bs=512 --threshold=0.0001ms --format=json");
    assert_eq!(slow.code(), 2, "{}{}", slow.stdout, slow.stderr);
    let answer: Value = serde_json::from_str(&slow.stdout).expect("JSON");
    assert_eq!((answer["fast_enough"].as_bool(), answer["syncs"].as_u64()), (Some(false), Some(127)));
    assert!(answer["value_ns"].as_u64() > Some(100), "{answer}");
    let few = check(directory.path(), "--size=64k --bs=512 --threshold=1h");
    assert_eq!(few.code(), 1, "{}{}", few.stdout, few.stderr);
    assert!(
        few.stdout.starts_with("No answer: too few syncs (127; p99 needs 1000); run for longer.\n"),
        "{}",
        few.stdout
    );
    let flat = few.stdout.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(flat.contains("run for longer, with --size=1m"), "{}", few.stdout);
    assert!(!flat.contains("runtime and time_based"), "{flat}");
    let required =
        check(directory.path(), "--size=64k --bs=512 --threshold=1h --percentile=50 --require=no-doubts");
    // A run of a fraction of a second is doubtful.
    assert_eq!(required.code(), 125, "{}{}", required.stdout, required.stderr);
    assert!(required.stderr.contains("--require=no-doubts is not met: "), "{}", required.stderr);
    assert_eq!(std::fs::read_dir(directory.path()).expect("there").count(), 0, "nothing is left behind");
}

#[test]
fn a_result_is_saved_once_and_read_by_other_commands() {
    fathom_only!();
    let directory = on_disk();
    check(directory.path(), "--size=64k --threshold=1h --save=a.json");
    let shown = Launch::fathom(directory.path()).words("show a.json").run();
    assert!(shown.code() == 0 && shown.stdout.contains("fsync-check"), "{}{}", shown.stdout, shown.stderr);
    let before = std::fs::read(directory.path().join("a.json")).expect("saved");
    let again = check(directory.path(), "--size=64k --threshold=1h --save=a.json");
    assert_eq!((again.code(), again.stdout.as_str()), (1, ""), "it is refused before the measurement");
    assert_eq!(std::fs::read(directory.path().join("a.json")).expect("there"), before);
}

#[test]
fn memory_and_what_is_no_directory_get_no_answer() {
    fathom_only!();
    let directory = scratch();
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        let finished = check(memory, "--size=64k --threshold=1h");
        assert_eq!(finished.code(), 1, "{}", finished.stdout);
        assert!(
            finished.stdout.starts_with("No answer: the figures say nothing about syncs of a disk."),
            "{}",
            finished.stdout
        );
    }
    std::fs::write(directory.path().join("file"), "precious").expect("written");
    for place in ["file", "missing"] {
        let finished = check(directory.path(), place);
        assert_eq!(finished.code(), 1, "{}", finished.stdout);
        assert!(finished.stderr.contains(place), "{}", finished.stderr);
    }
    assert_eq!(std::fs::read(directory.path().join("file")).expect("there"), b"precious");
}
