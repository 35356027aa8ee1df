//! Targets that fail and invalid jobs: the error is reported in fio's words, other jobs continue, files stay.

use crate::hung_fs::{Faults, HungFs};
use crate::support::devices::{LoopDevice, Mounted};
use crate::support::program::{self, Finished, Launch};
use crate::support::{KIB, MIB, file_of, json, scratch, skip};
use std::path::Path;

/// A second job without errors.
const GOOD: &str = "--name=good --ioengine=null --rw=read --bs=4k --size=64k";

/// Runs a failing job together with a working one, in both formats.
#[track_caller]
fn run(directory: &Path, words: &str) -> Finished {
    let finished =
        Launch::fathom(directory).words("--output-format=normal,json").words(words).words(GOOD).run();
    let document = json::document(&finished.stdout);
    let good = json::job(&document, "good");
    assert_eq!(
        (json::integer(good, "error"), json::integer(good, "read/total_ios")),
        (0, 16),
        "the other job"
    );
    assert_eq!(finished.code(), 1, "one job failed: {}{}", finished.stdout, finished.stderr);
    finished
}

/// Checks the line `fio: pid=P, err=CODE/file:FILE:LINE, func=FUNC, error=TEXT` and the JSON's code.
#[track_caller]
fn expect_error(finished: &Finished, name: &str, code: u64, text: &str) {
    let all = format!("{}{}", finished.stdout, finished.stderr);
    let start = format!("err={code}/file:");
    let told = |line: &&str| {
        line.starts_with("fio: pid=") && line.contains(&start) && line.ends_with(&format!("error={text}"))
    };
    assert!(all.lines().any(|line| told(&line)), "no error line with {start} and {text}: {all}");
    let document = json::document(&finished.stdout);
    assert_eq!(json::integer(json::job(&document, name), "error"), code);
}

#[test]
fn a_missing_target() {
    let directory = scratch();
    let finished = run(directory.path(), "--name=bad --filename=/proc/nonexist --rw=read --size=64k");
    expect_error(&finished, "bad", 2, "No such file or directory");
}

#[test]
fn a_file_that_must_not_be_made() {
    let directory = scratch();
    let finished =
        run(directory.path(), "--name=bad --filename=absent --rw=read --size=64k --allow_file_create=0");
    assert!(
        finished.stderr.contains("fio: file creation disallowed by allow_file_create=0"),
        "{}",
        finished.stderr
    );
    assert!(!directory.path().join("absent").exists());
}

/// Fathom's line about a file, which says what to do.
#[track_caller]
fn expect_advice(finished: &Finished, file: &Path, advice: &str) {
    let name = file.display().to_string();
    let said = |line: &str| line.starts_with("fathom: ") && line.contains(&name) && line.contains(advice);
    assert!(finished.stderr.lines().any(said), "{advice}: {}", finished.stderr);
}

/// Root may read every file, so this test runs without privileges.
#[test]
fn a_file_that_must_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    require!(skip::root());
    let directory = scratch();
    let file = file_of(directory.path(), "secret", 64 * KIB);
    let set_mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
            .expect("permissions can be set");
    };
    set_mode(directory.path(), 0o755);
    set_mode(&file, 0o600);
    let unprivileged = require!(Launch::unprivileged(directory.path()));
    let finished = unprivileged
        .words(&format!(
            "--output-format=normal,json --name=bad --filename=secret --rw=read --size=64k {GOOD}"
        ))
        .run();
    expect_error(&finished, "bad", 13, "Permission denied");
    expect_advice(&finished, Path::new("secret"), "it belongs to root, with mode 0600: run fathom as root");
    assert_eq!(finished.code(), 1, "{}", finished.stdout);
    let document = json::document(&finished.stdout);
    assert_eq!(json::integer(json::job(&document, "good"), "read/total_ios"), 16, "the other job");
}

#[test]
fn a_directory() {
    let directory = scratch();
    std::fs::create_dir(directory.path().join("d")).expect("a directory can be made");
    let finished = run(directory.path(), "--name=bad --filename=d --rw=read --size=64k");
    expect_error(&finished, "bad", 21, "Is a directory");
    assert!(directory.path().join("d").is_dir(), "the directory stays");
}

#[test]
fn a_read_only_file_system() {
    let mounted = require!(Mounted::memory(MIB));
    let kept = file_of(mounted.path(), "kept", 4 * KIB);
    require!(mounted.make_read_only());
    let words = format!("--name=bad --filename={}/new --rw=write --size=64k", mounted.path().display());
    let finished = run(scratch().path(), &words);
    expect_error(&finished, "bad", 30, "Read-only file system");
    assert_eq!(std::fs::metadata(kept).expect("the file stays").len(), 4 * KIB);
}

#[test]
fn a_full_file_system() {
    let mounted = require!(Mounted::memory(MIB));
    let file = mounted.path().join("f");
    let words =
        format!("--name=bad --filename={} --rw=write --bs=64k --size=4M --fallocate=none", file.display());
    let finished = run(scratch().path(), &words);
    expect_error(&finished, "bad", 28, "No space left on device");
    let document = json::document(&finished.stdout);
    let written = json::integer(json::job(&document, "bad"), "write/io_bytes");
    assert_eq!(written, MIB, "what was written before counts");
    assert_eq!(std::fs::metadata(&file).expect("the file stays").len(), MIB);
    let told = format!(
        "fio: io_u error on file {}: No space left on device: write offset=1048576, buflen=65536",
        file.display()
    );
    assert!(
        format!("{}{}", finished.stdout, finished.stderr).lines().any(|line| line == told),
        "no {told}: {finished:?}"
    );
    expect_advice(
        &finished,
        &file,
        "0 MiB of free space; free more, or use a smaller size=; the file stays, with 1 MiB",
    );
    let removed = run(scratch().path(), &format!("{words} --unlink=1"));
    expect_advice(&removed, &file, "the file is removed at the end (unlink=1)");
    assert!(!file.exists());
}

#[test]
fn a_layout_that_does_not_fit() {
    let mounted = require!(Mounted::memory(MIB));
    let file = mounted.path().join("f");
    let words = format!("--name=bad --filename={} --rw=read --bs=64k --size=4M", file.display());
    let finished = run(scratch().path(), &words);
    expect_error(&finished, "bad", 28, "No space left on device");
    expect_advice(&finished, &file, "use a smaller size=; the file is removed again");
    assert!(!file.exists());
    let present = file_of(mounted.path(), "f", 4 * KIB);
    let finished = run(scratch().path(), &words);
    expect_advice(&finished, &file, "use a smaller size=; the file has its earlier length again");
    assert_eq!(std::fs::metadata(present).expect("the file stays").len(), 4 * KIB);
}

#[test]
fn more_room_asked_for_than_there_is() {
    let mounted = require!(Mounted::new("ext4", 16 * MIB));
    let words = |size| {
        format!("--name=job --filename={}/f --rw=write --bs=64k --size={size}", mounted.path().display())
    };
    // As in fio, only written files need space.
    let finished = Launch::fathom(scratch().path()).words(&words("1G --io_size=1M")).run();
    assert_eq!(finished.code(), 0, "{finished:?}");
    // A failed layout frees its space.
    let words = format!("--name=bad --filename={}/g --rw=read --size=1G", mounted.path().display());
    expect_error(&run(scratch().path(), &words), "bad", 28, "No space left on device");
    assert!(!mounted.path().join("g").exists());
}

#[test]
fn a_mounted_device_whatever_filetype_says() {
    fathom_only!();
    let mounted = require!(Mounted::new("ext4", 16 * MIB));
    let device = require!(mounted.device().ok_or("no device".to_owned()));
    for kind in ["file", "char", "block"] {
        let words =
            format!("--name=bad --filename={} --rw=write --size=4k --filetype={kind}", device.display());
        expect_error(&run(scratch().path(), &words), "bad", 16, "Device or resource busy");
    }
}

#[test]
fn filling_a_device_is_no_error() {
    let mounted = require!(Mounted::memory(MIB));
    let words = format!(
        "--name=fill --filename={}/f --rw=write --bs=64k --size=4M --fallocate=none --fill_device=1 \
         --output-format=json",
        mounted.path().display()
    );
    let finished = Launch::fathom(scratch().path()).words(&words).run();
    assert_eq!(finished.code(), 0, "{}", finished.stdout);
    assert_eq!(json::integer(json::job(&json::document(&finished.stdout), "fill"), "write/io_bytes"), MIB);
}

#[test]
fn of_a_size_beyond_a_device_what_exists_is_used() {
    let device = require!(LoopDevice::new(MIB));
    let check = |words: &str, bytes: u64| {
        let words =
            format!("--name=a --filename={} --output-format=json --bs=64k {words}", device.path().display());
        let finished = Launch::fathom(scratch().path()).words(&words).run();
        assert_eq!(finished.code(), 0, "{words}: {}", finished.stderr);
        let job = json::document(&finished.stdout);
        let job = json::job(&job, "a");
        let sum: u64 =
            ["read", "write", "trim"].map(|way| json::integer(job, &format!("{way}/io_bytes"))).iter().sum();
        assert_eq!(sum, bytes, "{words}");
        finished.stderr
    };
    let told = check("--rw=read --size=2M", MIB);
    assert!(program::is_another() || told.contains("ends 1048576 bytes before"), "{told}");
    check("--rw=randread --size=1T --io_size=128k", MIB / 8);
    check("--rw=write --size=2M --fill_device=1", MIB);
    check("--rw=read --offset=512k --size=1M", MIB / 2);
    check("--rw=randtrim --size=1G", MIB);
    check("--rw=write --size=1M --offset_increment=256k --numjobs=4 --group_reporting", MIB * 10 / 4);
    let behind = run(
        scratch().path(),
        &format!("--name=a --filename={} --rw=read --offset=1M --size=1M", device.path().display()),
    );
    assert_eq!(behind.code(), 1, "{}", behind.stdout);
}

#[test]
fn a_size_below_one_block() {
    let directory = scratch();
    let finished = Launch::fathom(directory.path()).words("--name=a --rw=write --size=1k --bs=4k").run();
    assert_eq!(finished.code(), 1);
    let told = "fio: size too small, must not be less than minimum block size: 1024 < 4096";
    assert!(finished.stderr.contains(told), "{}", finished.stderr);
}

/// Reads of a device with a bad block, by each I/O method.
#[track_caller]
fn check_bad_block(fs: &HungFs, engine: &str) {
    let directory = scratch();
    let words = format!(
        "--name=bad --filename={} --rw=read --bs=4k --size=1M --ioengine={engine} --direct=1",
        fs.file().display()
    );
    let finished = run(directory.path(), &words);
    expect_error(&finished, "bad", 5, "Input/output error");
    let told = format!(
        "fio: io_u error on file {}: Input/output error: read offset=409600, buflen=4096",
        fs.file().display()
    );
    assert!(
        format!("{}{}", finished.stdout, finished.stderr).lines().any(|line| line == told),
        "no {told}: {finished:?}"
    );
    let document = json::document(&finished.stdout);
    assert_eq!(json::integer(json::job(&document, "bad"), "read/io_bytes"), 409_600, "{engine}");
}

fn bad_block() -> Result<HungFs, String> {
    HungFs::mount(MIB, Faults { bad: 409_600..413_696, ..Default::default() })
}

#[test]
fn a_bad_block_read_by_psync() {
    check_bad_block(&require!(bad_block()), "psync");
}

#[test]
fn a_bad_block_read_by_libaio() {
    check_bad_block(&require!(bad_block()), "libaio");
}

#[test]
fn a_bad_block_read_by_io_uring() {
    check_bad_block(&require!(bad_block()), "io_uring");
}

#[test]
fn a_bad_block_tolerated() {
    let fs = require!(bad_block());
    let words = format!(
        "--output-format=normal,json --name=bad --filename={} --rw=read --bs=4k --size=1M --continue_on_error=io",
        fs.file().display()
    );
    let finished = Launch::fathom(scratch().path()).words(&words).run();
    let document = json::document(&finished.stdout);
    let job = json::job(&document, "bad");
    assert_eq!((json::integer(job, "total_err"), json::integer(job, "first_error")), (1, 5));
    assert_eq!(json::integer(job, "error"), 5, "a report must not call damaged data good");
    assert_eq!(json::integer(job, "read/io_bytes"), MIB - 4096, "all but the bad block");
    // The failed I/O counts as issued, but not in the transfer time.
    assert_eq!(json::integer(job, "read/total_ios"), 256);
    assert_eq!(json::integer(job, "read/clat_ns/N"), 255);
    assert_eq!(json::integer(job, "read/lat_ns/N"), 255);
    let error = "(groupid=0, jobs=1): err= 5 (file:io_u.c, func=io_u error, error=Input/output error)";
    assert!(finished.stdout.contains(error), "{}", finished.stdout);
    assert!(
        finished.stdout.contains("\n     errors    : total=1, first_error=5/<Input/output error>\n"),
        "{}",
        finished.stdout
    );
}

/// Nothing is created, started or removed if the jobs are invalid.
#[track_caller]
fn check_refused(job_file: &str, told: &str) {
    let directory = scratch();
    let before = file_of(directory.path(), "before", 4 * KIB);
    std::fs::write(directory.path().join("jobs.fio"), job_file).expect("a job file can be written");
    let finished = Launch::fathom(directory.path()).words("jobs.fio").run();
    assert_eq!(finished.code(), 1, "{job_file}: {}", finished.stdout);
    assert!(finished.stderr.contains(told), "{job_file}: {}", finished.stderr);
    assert!(!finished.stdout.contains("Starting"), "{job_file}: {}", finished.stdout);
    let mut left: Vec<_> = std::fs::read_dir(directory.path())
        .expect("the directory can be read")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["before", "jobs.fio"], "{job_file}");
    assert_eq!(std::fs::metadata(before).expect("the file stays").len(), 4 * KIB);
}

#[test]
fn jobs_that_make_no_sense() {
    check_refused("[a]\nrw=write\nsize=64k\n[b]\nbogus=1\n", "option bogus=1: there is no such option");
    check_refused("[a]\nrw=write\nsize=64k\nbs=nonsense\n", "fio: failed parsing bs=nonsense");
    check_refused("[a]\nrw=sideways\nsize=64k\n", "fio: failed parsing rw=sideways");
    check_refused("rw=write\n[a]\nsize=64k\n", "outside of [] job section");
    check_refused("[a]\nrw=write\nsize=64k\nioengine=bogus\n", "fio: engine bogus not loadable");
    check_refused(
        "[a]\nrw=write\nsize=64k\nfilename=before\nrwmixread=101\n",
        "rwmixread: max value out of range: 101 (100 max)",
    );
}

#[test]
fn a_job_file_that_is_not_there() {
    let directory = scratch();
    let finished = Launch::fathom(directory.path()).words("absent.fio").run();
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("fio: unable to open 'absent.fio' job file"), "{}", finished.stderr);
}

#[test]
fn two_failures_are_counted() {
    let directory = scratch();
    let words = "--rw=read --size=64k --name=a --filename=/proc/none-a --name=b --filename=/proc/none-b";
    let finished = Launch::fathom(directory.path()).words(words).words(GOOD).run();
    assert_eq!(finished.code(), 2, "{}{}", finished.stdout, finished.stderr);
}

#[test]
fn devices_keep_what_they_hold() {
    let device = require!(LoopDevice::new(MIB));
    let before = device.contents();
    let path = device.path().display();
    let finished = Launch::fathom(scratch().path())
        .words(&format!("--readonly --name=a --filename={path} --rw=write --size=1M"))
        .run();
    assert_eq!(finished.code(), 1, "{}", finished.stdout);
    let clean = Launch::fathom(scratch().path())
        .words(&format!("--name=a --filename={path} --rw=randread --size=1M"))
        .run();
    assert_eq!(clean.expect_clean().code(), 0);
    assert!(device.contents() == before, "neither a refused write nor reads change a byte");
}

#[test]
fn a_report_that_cannot_be_written() {
    fathom_only!();
    let words = format!("{GOOD} --output=/dev/full");
    let finished = Launch::fathom(scratch().path()).words(&words).run();
    assert_eq!(finished.code(), 1, "{finished:?}");
    assert!(finished.stderr.contains("the report is incomplete"), "{finished:?}");
}

#[test]
fn a_file_of_the_kernel_is_never_filled() {
    fathom_only!();
    let directory = scratch();
    let finished = run(directory.path(), "--name=bad --filename=/proc/cpuinfo --rw=read --size=64k");
    assert!(finished.stderr.contains("belongs to the kernel"), "{}", finished.stderr);
    expect_error(&finished, "bad", 22, "Invalid argument");
}
