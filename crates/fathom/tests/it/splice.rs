//! `ioengine=splice`: its system calls, the resulting data, and its messages if the kernel refuses.

use crate::support::devices::LoopDevice;
use crate::support::program::{self, Finished, Launch};
use crate::support::trace::Trace;
use crate::support::{MIB, file_of, scratch, skip};
use std::path::Path;

/// A run in which strace makes the calls of one name fail.
fn with_refusals(directory: &Path, injection: &str, words: &str) -> Result<Finished, String> {
    skip::tool("strace")?;
    let finished = Launch::of(Path::new("strace"), directory)
        .words("-f -qq -o calls --trace=splice,vmsplice")
        .argument(format!("--inject={injection}"))
        .argument(program::path())
        .words(words)
        .run();
    match finished.stderr.contains("ptrace") {
        true => Err(format!("strace: {}", finished.stderr.trim())),
        false => Ok(finished),
    }
}

#[test]
fn blocks_go_through_a_pipe() {
    let directory = scratch();
    let words = "--name=a --filename=data --size=1m --bs=256k --ioengine=splice";
    let calls = "splice,vmsplice,pread64,pwrite64";
    for (rw, other) in [("write", "pwrite64"), ("read", "pread64")] {
        let trace = require!(Trace::of(directory.path(), calls, &format!("{words} --rw={rw}")));
        assert_eq!(trace.count("vmsplice"), 4, "{rw}: {:?}", trace.calls);
        assert_eq!(trace.on("splice", "data").count(), 4, "{rw}: {:?}", trace.calls);
        assert_eq!(trace.on(other, "data").count(), 0, "{rw}: {:?}", trace.calls);
    }
}

#[test]
fn what_is_written_is_there_and_what_is_read_is_it() {
    let directory = scratch();
    let words = "--name=a --filename=data --size=4m --verify=crc32c";
    for more in [
        "--bs=4k --rw=randwrite",
        "--bs=4k --rw=randrw --direct=1",
        "--bsrange=512-200k --bs_unaligned=1 --rw=randwrite --fsync=7",
        "--bs=1m --rw=write --direct=1",
        "--bs=64k --rw=randwrite --numjobs=3 --size=1m --offset_increment=1m --thread",
        "--bs=16k --rw=randwrite --io_submit_mode=offload --iodepth=4 --nrfiles=2",
    ] {
        let name = if more.contains("nrfiles") { "--filename=data:more" } else { "" };
        let write = format!("{words} {name} --ioengine=splice {more}");
        Launch::fathom(directory.path()).words(&write).run().expect_clean();
        // The engines verify each other's data.
        if more.contains("randwrite") && !more.contains("numjobs") {
            let check =
                format!("{words} {name} {more} --ioengine=psync --io_submit_mode=inline --verify_only");
            Launch::fathom(directory.path()).words(&check).run().expect_clean();
            let write =
                format!("{words} {name} {more} --ioengine=psync --io_submit_mode=inline --do_verify=0");
            Launch::fathom(directory.path()).words(&write).run().expect_clean();
            let check = format!("{words} {name} {more} --ioengine=splice --verify_only");
            Launch::fathom(directory.path()).words(&check).run().expect_clean();
        }
    }
}

#[test]
fn devices_are_read_written_and_trimmed() {
    let device = require!(LoopDevice::new(4 * MIB));
    let words = format!("--name=a --filename={} --ioengine=splice", device.text());
    let directory = scratch();
    for more in [
        "--bs=8k --rw=randwrite --verify=sha256",
        "--bs=8k --rw=randwrite --verify=sha256 --direct=1",
        "--bs=64k --rw=randtrim",
    ] {
        Launch::fathom(directory.path()).words(&words).words(more).run().expect_clean();
    }
    assert!(device.contents().iter().all(|&byte| byte == 0), "trimmed");
}

#[test]
fn memory_that_cannot_be_lent_is_copied_and_it_is_said_once() {
    let directory = scratch();
    let words =
        "--name=a --filename=data --size=1m --bs=64k --rw=randwrite --verify=crc32c --ioengine=splice";
    for refusal in ["EFAULT", "EPERM"] {
        let injection = format!("vmsplice:error={refusal}");
        let finished = require!(with_refusals(directory.path(), &injection, words)).expect_clean();
        let told = finished.stdout.matches("vmsplice is refused").count();
        assert_eq!(told, 1, "{}", finished.stdout);
    }
    let finished = Launch::fathom(directory.path()).words(words).run().expect_clean();
    assert!(!finished.stdout.contains("refused"), "{}", finished.stdout);
}

#[test]
fn files_without_splice_are_an_error_that_says_what_to_do() {
    let directory = scratch();
    let words = "--name=a --filename=/dev/full --size=64k --bs=4k --rw=write --ioengine=splice";
    let finished = Launch::fathom(directory.path()).words(words).run();
    assert_eq!(finished.code(), 1, "{}", finished.stderr);
    assert!(finished.stderr.contains("ioengine=psync does the same by plain calls"), "{}", finished.stderr);
    file_of(directory.path(), "data", MIB);
    let words = "--name=a --filename=data --size=64k --bs=4k --rw=read --ioengine=splice";
    let finished = require!(with_refusals(directory.path(), "splice:error=ENOSYS", words));
    assert!(finished.stderr.contains("splice is not allowed here"), "{}", finished.stderr);
}

#[test]
fn a_failed_write_leaves_nothing_to_the_next() {
    let directory = scratch();
    let words = "--name=a --filename=data --size=256k --bs=16k --rw=write --verify=crc32c --ioengine=splice \
                 --continue_on_error=io --ignore_error=:EIO";
    let finished = require!(with_refusals(directory.path(), "splice:error=EIO:when=3", words));
    assert!(finished.stdout.contains("errors    : total=1, first_error=5/"), "{}", finished.stdout);
    assert!(!finished.stderr.contains("verify"), "the other blocks hold their data: {}", finished.stderr);
    let words =
        "--name=a --filename=data --size=256k --bs=16k --rw=read --ioengine=splice --continue_on_error=io";
    let finished = require!(with_refusals(directory.path(), "vmsplice:error=EIO:when=2", words));
    assert!(finished.stdout.contains("errors    : total=1, first_error=5/"), "{}", finished.stdout);
    assert!(finished.stdout.contains("issued rwts: total=16"), "{}", finished.stdout);
}
