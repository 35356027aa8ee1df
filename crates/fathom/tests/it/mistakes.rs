//! Common mistakes: the message says what is wrong, where, and what to do.

use crate::support::program::Launch;
use crate::support::{MIB, file_of, scratch};
use std::fs;

/// A command line, and the line of standard error that explains its mistake.
const MISTAKES: &[(&str, &str)] = &[
    (
        "--name=a --filename=f --size=1m --iodept=4",
        "fathom: command line: option iodept: ambiguous: iodepth, iodepth_batch, iodepth_batch_submit, ",
    ),
    (
        "--name=a --filename=new --rw=read",
        "fathom: job a: new does not exist, and no size says how large to make it: add one, such as size=1g",
    ),
    ("--name=a --rw=randwrite", "fathom: job a: a.0.0 does not exist, and no size says how large to make it"),
    (
        "--name=a --filename=empty --rw=read",
        "fathom: job a: empty is empty, and no size says how much of it to use",
    ),
    (
        "--name=a --filename=exist --offset=10m --rw=read",
        "fathom: job a: offset 10485760 is not within exist, which ends at 1048576: use a smaller offset=",
    ),
    (
        "--name=a --filename=exist --offset=1m --rw=read",
        "fathom: job a: offset 1048576 is not within exist, which ends at 1048576",
    ),
    (
        "--name=a --filename=exist --bs=4m --rw=read",
        "fathom: job a: exist has room for 1048576 bytes from offset 0 on, less than the smallest block of 4194304",
    ),
    (
        "--name=a --filename=folder --size=1m --rw=read",
        "fathom: job a: folder is a directory: directory= makes the job's files in it, filename= names a file",
    ),
    (
        "--name=a --filename=exist --bs=1000 --direct=1 --rw=read",
        "fathom: job a: direct I/O takes offsets and lengths that are multiples of the device's logical block size",
    ),
    (
        "if=/dev/zero of=f bs=4k",
        "fathom: command line: job file if=/dev/zero: No such file or directory; options begin with two dashes",
    ),
    (
        "result.json",
        "fathom: result.json:1: this is JSON, not a job file; if it is the result of a run, fathom show",
    ),
    ("binary.fio", "fathom: binary.fio:1: this is a binary file, not a job file"),
    ("--parse-only unclosed.fio", "fathom: unclosed.fio:1: section [a has no closing bracket"),
];

#[test]
fn each_is_explained() {
    fathom_only!();
    for (words, line) in MISTAKES {
        let directory = scratch();
        let at = |name: &str| directory.path().join(name);
        file_of(directory.path(), "exist", MIB);
        file_of(directory.path(), "empty", 0);
        fs::create_dir(at("folder")).expect("a folder");
        fs::write(at("result.json"), "{\n  \"fio version\": \"fio-3.42\"\n}\n").expect("a result");
        fs::write(at("binary.fio"), [&b"\x7fELF\x02\x01\x00"[..], &[1; 3000]].concat())
            .expect("a binary file");
        fs::write(at("unclosed.fio"), "[a\nfilename=exist\n").expect("a job file");
        let finished = Launch::fathom(directory.path()).words(words).run();
        let said = finished.stderr.lines().any(|said| said.starts_with(line));
        assert!(said, "{words}: {}{}", finished.stdout, finished.stderr);
        assert!(
            finished.stderr.lines().all(|line| line.chars().count() < 400),
            "{words}: {}",
            finished.stderr
        );
        assert!(!at("new").exists() && !at("a.0.0").exists(), "{words}");
    }
}
