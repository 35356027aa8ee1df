//! Things that jobs leave unchanged, and their reports in other cases.

use crate::support::program::{self, Launch};
use crate::support::{file_of, scratch, skip};
use std::path::Path;
use std::process::Command;

/// Names and contents of all files below a directory.
fn contents(directory: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).expect("it can be read").flatten() {
            match entry.path() {
                path if path.is_dir() => directories.push(path),
                path => found.push((path.clone(), std::fs::read(&path).expect("it can be read"))),
            }
        }
    }
    found.sort();
    found
}

/// Checks that `--readonly` prevents every job from creating, removing, shortening or extending a file.
#[test]
fn readonly_leaves_everything_as_it_is() {
    fathom_only!();
    for (words, code) in [
        ("--filename=f --unlink=1", 0),
        ("--filename=f --unlink_each_loop=1 --loops=3", 0),
        ("--filename=f --unlink_each_loop=1 --loops=2 --unlink=1 --thread --numjobs=3", 0),
        ("--filename=f:g --openfiles=1 --unlink=1 --create_on_open=1", 0),
        ("--filename=f --ioengine=libaio --iodepth=4 --unlink=1 --create_serialize=0", 0),
        ("--filename=f --ioengine=mmap --unlink=1", 0),
        ("--opendir=d --unlink=1", 0),
        ("--filename=f --mem=mmap:m", 1),
        ("--filename=f --mem=mmapshared:g", 1),
        ("--filename=f --size=1m", 1),
        ("--filename=new", 1),
        ("--filename=new --create_on_open=1", 1),
        ("--filename=made/new", 1),
        ("--filename=f --file_append=1 --fallocate=truncate --unlink=1", 0),
        ("--nrfiles=2 --ioengine=filecreate", 1),
        ("--filename=f --ioengine=filedelete", 1),
        ("--filename=f --ioengine=dirdelete", 1),
        ("--filename=f --ioengine=ftruncate", 1),
        ("--filename=f --ioengine=falloc", 1),
    ] {
        let directory = scratch();
        file_of(directory.path(), "f", 64 << 10);
        file_of(directory.path(), "g", 64 << 10);
        std::fs::create_dir(directory.path().join("d")).expect("a directory");
        file_of(&directory.path().join("d"), "h", 64 << 10);
        let before = contents(directory.path());
        let finished = Launch::fathom(directory.path())
            .words("--readonly --name=a --rw=read --bs=4k --size=64k")
            .words(words)
            .run();
        assert_eq!(finished.code(), code, "{words}: {}{}", finished.stdout, finished.stderr);
        assert!(contents(directory.path()) == before, "{words}: something has changed");
        let is_told = finished.stderr.contains("removes nothing because of --readonly");
        assert_eq!(is_told, code == 0 && words.contains("unlink"), "{words}: {}", finished.stderr);
        assert!(!directory.path().join("made").exists(), "{words}");
    }
}

#[test]
fn a_file_that_is_only_read_does_not_grow_in_silence() {
    fathom_only!();
    let directory = scratch();
    file_of(directory.path(), "short", 4096);
    let run = |words: &str| {
        let launch = Launch::fathom(directory.path()).words("--name=a --bs=4k --output-format=json");
        launch.words(words).run()
    };
    let grown = run("--filename=short --rw=read --size=64k");
    assert_eq!(grown.code(), 0, "{}", grown.stderr);
    let line =
        "fathom: job a: short has 4096 bytes and is extended to 65536 bytes, although the job only reads it";
    assert!(grown.stderr.contains(line), "{}", grown.stderr);
    // It is long enough now; created files are announced as in fio; and written files grow.
    for words in [
        "--filename=short --rw=read --size=64k",
        "--filename=new --rw=read --size=64k",
        "--filename=short --rw=write --size=128k",
        "--filename=short --rw=randrw --size=256k",
    ] {
        assert_eq!(run(words).expect_clean().stderr, "", "{words}");
    }
    let refused = run("--filename=short --rw=read --size=1m --allow_file_create=0");
    assert_eq!(refused.code(), 1, "{}", refused.stderr);
    assert_eq!(std::fs::metadata(directory.path().join("short")).expect("it is there").len(), 256 << 10);
}

#[test]
fn directories_are_not_made_in_silence() {
    fathom_only!();
    for words in [
        "--filename=typo/deep/f --rw=write",
        "--filename=typo/f --rw=read",
        "--filename=typo/f --rw=write --create_on_open=1",
        "--filename=typo/f --rw=write --create_serialize=0 --thread",
        "--filename=typo/f --ioengine=filecreate",
        "--filename=typo/f:typo/g --rw=randwrite --numjobs=2",
    ] {
        let directory = scratch();
        let run = || Launch::fathom(directory.path()).words("--name=a --size=64k").words(words).run();
        let first = run();
        assert_eq!(first.code(), 0, "{words}: {}", first.stderr);
        let line = "fathom: job a: typo does not exist; the directory is created";
        assert!(first.stderr.contains(line), "{words}: {}", first.stderr);
        assert!(!run().stderr.contains("the directory is created"), "{words}");
    }
}

/// The language runtime opens /dev/null in its place, so output would be lost without an error.
#[test]
fn a_closed_standard_output_is_an_error() {
    fathom_only!();
    require!(skip::tool("sh"));
    let directory = scratch();
    let program = program::path();
    let run = |redirection: &str, words: &str| {
        let line = format!("exec {} {words} {redirection}", program.display());
        let output = Command::new("sh").arg("-c").arg(line).current_dir(directory.path()).output();
        output.expect("a shell runs")
    };
    let job = "--name=a --filename=f --rw=write --size=64k";
    for words in [job, "help", "explain x.json", &format!("--output=o {job}")] {
        let closed = run(">&-", words);
        assert_eq!(closed.status.code(), Some(1), "{words}");
        let errors = String::from_utf8_lossy(&closed.stderr).into_owned();
        assert!(errors.contains("standard output is closed"), "{words}: {errors}");
    }
    assert!(!directory.path().join("f").exists(), "nothing was run");
    for redirection in [">/dev/null", "<>/dev/null >&0", "<&-", "2>&-"] {
        assert_eq!(run(redirection, job).status.code(), Some(0), "{redirection}");
    }
}
