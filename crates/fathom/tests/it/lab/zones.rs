//! Zoned block devices: NVMe with zones smaller than they look, and null_blk.

use super::{device, tool, with};
use crate::support::program::{self, Launch};
use crate::support::{json, scratch};
use std::path::Path;

/// Effects of a run on zones, and its messages about them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    code: i32,
    error: u64,
    /// Bytes read, written and trimmed.
    bytes: [u64; 3],
    resets: u64,
}

pub(super) fn outcome(program: Option<&Path>, device: &str, words: &str) -> Outcome {
    let directory = scratch();
    let launch =
        program.map_or_else(|| Launch::fathom(directory.path()), |fio| Launch::of(fio, directory.path()));
    let finished =
        with(launch, device, &format!("{words} --zonemode=zbd --direct=1 --output-format=json,normal"));
    if !finished.stdout.contains("\"jobs\"") {
        return Outcome { code: finished.code(), error: 0, bytes: [0; 3], resets: 0 };
    }
    let document = json::document(&finished.stdout);
    let job = json::job(&document, "job");
    let bytes = ["read/io_bytes", "write/io_bytes", "trim/io_bytes"].map(|path| json::integer(job, path));
    Outcome {
        code: finished.code(),
        // fio prints none for a job that did not start.
        error: if bytes == [0; 3] { 0 } else { json::integer(job, "error") },
        bytes,
        resets: resets_in(&finished.stdout),
    }
}

/// The number before `zone resets` in the first line that has one.
pub(super) fn resets_in(report: &str) -> u64 {
    let line = report.lines().find_map(|line| line.strip_suffix(" zone resets"));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or_default()
}

/// Both programs, each after `before` on zones that were all empty.
fn compare(names: &[&str], before: &str, rows: &[&str]) -> Result<(), String> {
    let reference = program::reference()?;
    for name in names {
        let device = device(name)?;
        for words in rows {
            let [own, theirs] = [None, Some(reference.as_path())].map(|program| {
                tool("blkzone", &format!("reset {device}"));
                if !before.is_empty() {
                    outcome(program, &device, before);
                }
                outcome(program, &device, words)
            });
            assert_eq!(own, theirs, "{name}: {words}");
        }
    }
    Ok(())
}

#[test]
fn empty_zones_are_written_as_fio_does() {
    let rows = [
        "--ioengine=psync --rw=write --bs=64k --size=8m",
        "--ioengine=libaio --iodepth=4 --rw=write --bs=64k --size=8m",
        "--ioengine=io_uring --iodepth=4 --rw=write --bs=64k --size=8m",
        "--ioengine=psync --rw=write --bs=80k --size=8m",
        "--ioengine=psync --rw=write --bs=8m --size=16m",
        "--ioengine=psync --rw=write --bs=64k --offset=1m --size=10m",
        "--ioengine=psync --rw=write --bs=64k --size=2m",
        "--ioengine=psync --rw=write --bs=64k --size=8m --zonesize=8m",
        "--ioengine=psync --rw=randwrite --bs=64k --size=32m --max_open_zones=9",
        "--ioengine=psync --rw=randwrite --bs=64k --size=32m --max_open_zones=2 --random_generator=tausworthe",
        "--ioengine=psync --rw=randwrite --bs=4k --size=16m --verify=crc32c",
        "--ioengine=libaio --iodepth=4 --rw=randwrite --bs=16k --size=16m --verify=crc32c",
        "--ioengine=io_uring --iodepth=4 --rw=write --bs=16k --size=16m --verify=md5",
        "--ioengine=psync --rw=read --bs=64k --size=8m",
        "--ioengine=psync --rw=read --bs=64k --size=8m --read_beyond_wp=1",
        "--ioengine=psync --rw=trim --bs=4m --size=16m",
        "--ioengine=psync --rw=trim --bs=64k --size=16m",
        "--ioengine=psync --rw=randtrim --bs=4m --size=16m",
    ];
    require!(compare(&["zns", "zoned_null"], "", &rows));
}

#[test]
fn written_zones_are_reset_and_read_as_fio_does() {
    let rows = [
        "--ioengine=psync --rw=write --bs=64k --size=8m",
        "--ioengine=io_uring --iodepth=4 --rw=write --bs=64k --size=8m",
        "--ioengine=psync --rw=read --bs=64k --size=16m",
        "--ioengine=io_uring --iodepth=4 --rw=read --bs=64k --size=16m",
        "--ioengine=psync --rw=trim --bs=4m --size=16m",
        "--ioengine=libaio --rw=trim --bs=4m --size=16m",
        "--ioengine=psync --rw=randwrite --bs=4k --size=16m --verify=crc32c",
    ];
    require!(compare(&["zns", "zoned_null"], "--ioengine=psync --rw=write --bs=64k --size=8m", &rows));
}

#[test]
fn resets_by_trims_are_counted_with_every_engine() {
    let device = require!(device("zns"));
    // With io_uring, fio counts none.
    for engine in ["psync", "libaio --iodepth=4", "io_uring --iodepth=4"] {
        tool("blkzone", &format!("reset {device}"));
        outcome(None, &device, "--ioengine=psync --rw=write --bs=64k --size=8m");
        let trimmed = outcome(None, &device, &format!("--ioengine={engine} --rw=trim --bs=4m --size=16m"));
        assert_eq!((trimmed.code, trimmed.bytes, trimmed.resets), (0, [0, 0, 16 << 20], 2), "{engine}");
    }
}

#[test]
fn partly_written_zones_go_on_at_their_write_pointers() {
    let before = "--ioengine=psync --rw=write --bs=64k --size=8m --io_size=1m";
    let rows = [
        "--ioengine=psync --rw=write --bs=64k --size=8m",
        "--ioengine=psync --rw=read --bs=64k --size=8m",
        "--ioengine=psync --rw=randread --bs=64k --size=8m --io_size=4m",
    ];
    require!(compare(&["zns", "zoned_null"], before, &rows));
}

#[test]
fn what_a_block_leaves_of_a_zone_can_be_written() {
    let device = require!(device("zns"));
    tool("blkzone", &format!("reset {device}"));
    let words = "--ioengine=psync --rw=write --bs=80k --size=8m";
    assert_eq!(outcome(None, &device, words).bytes, [0, 6080 << 10, 0]);
    tool("blkzone", &format!("reset {device}"));
    let whole = outcome(None, &device, &format!("{words} --write_zone_remainder=1"));
    assert_eq!(whole.bytes, [0, 6144 << 10, 0]);
}

/// Bytes below the write pointers of all zones, none of which is full.
fn written_in_zones(device: &str) -> u64 {
    let report = tool("blkzone", &format!("report {device}"));
    let pointers = report.split("wptr 0x").skip(1).map(|rest| {
        let digits = rest.split(|letter: char| !letter.is_ascii_hexdigit()).next().expect("a number");
        u64::from_str_radix(digits, 16).expect("sectors")
    });
    pointers.sum::<u64>() * 512
}

/// A zone accepts writes only at its write pointer, so those of several jobs are serialized.
#[test]
fn several_jobs_write_to_the_same_zones() {
    let ways = [
        (4, "--ioengine=psync"),
        (7, "--ioengine=pvsync2 --thread"),
        (4, "--ioengine=libaio --iodepth=8"),
        (4, "--ioengine=libaio --iodepth=8 --thread --iodepth_batch=4"),
        (4, "--ioengine=io_uring --iodepth=1 --thread"),
        (4, "--ioengine=io_uring --iodepth=8"),
        (4, "--ioengine=io_uring --iodepth=16 --iodepth_batch=4 --iodepth_batch_complete_min=2"),
        (2, "--ioengine=io_uring --iodepth=4 --sqthread_poll=1"),
        (4, "--ioengine=io_uring --iodepth=4 --force_async=2"),
        (4, "--ioengine=posixaio --iodepth=4"),
        (4, "--ioengine=libaio --iodepth=4 --io_submit_mode=offload"),
        (3, "--ioengine=psync --rate_iops=400"),
        (4, "--ioengine=libaio --iodepth=4 --serialize_overlap=1 --thread"),
    ];
    for (name, pattern) in
        [("zns", "--rw=write --size=16m"), ("zoned_null", "--rw=randwrite --size=16m --max_open_zones=3")]
    {
        let device = require!(device(name));
        for (jobs, way) in ways {
            tool("blkzone", &format!("reset {device}"));
            let words = format!("{way} {pattern} --numjobs={jobs} --bs=4k --number_ios=60 --group_reporting");
            let done = outcome(None, &device, &words);
            let bytes = jobs * 60 * 4096;
            assert_eq!((done.code, done.error, done.bytes), (0, 0, [0, bytes, 0]), "{name}: {words}");
            assert_eq!(written_in_zones(&device), bytes, "{name}: {words}");
        }
    }
}

/// The same with zones that are being filled, reset and read at the same time.
#[test]
fn several_jobs_fill_reset_and_read_the_same_zones() {
    for name in ["zns", "zoned_null"] {
        let device = require!(device(name));
        for way in
            ["--ioengine=psync", "--ioengine=io_uring --iodepth=8", "--ioengine=libaio --iodepth=8 --thread"]
        {
            for pattern in ["--rw=write", "--rw=randwrite --max_open_zones=2", "--rw=randrw"] {
                tool("blkzone", &format!("reset {device}"));
                let words = format!(
                    "{way} {pattern} --numjobs=4 --size=8m --bs=16k --number_ios=300 --group_reporting"
                );
                let done = outcome(None, &device, &words);
                let moved = done.bytes.iter().sum::<u64>();
                assert_eq!((done.code, done.error, moved), (0, 0, 4 * 300 * 16384), "{name}: {words}");
            }
        }
    }
}

#[test]
fn without_zone_mode_the_device_refuses() {
    let device = require!(device("zns"));
    tool("blkzone", &format!("reset {device}"));
    let words = "--ioengine=psync --direct=1 --rw=randwrite --bs=64k --size=16m";
    let finished = super::run(&device, words);
    assert_eq!(finished.code(), 1);
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert!(said.contains("err= 5") || said.contains("err=5"), "{said}");
    assert!(said.contains("is a zoned block device: zonemode=zbd"), "{said}");
}

/// Sectors written by a block device.
fn sectors_written(device: &str) -> u64 {
    let name = Path::new(device).file_name().expect("a name").to_string_lossy();
    let text = std::fs::read_to_string(format!("/sys/block/{name}/stat")).expect("counters");
    text.split_whitespace().nth(6).and_then(|field| field.parse().ok()).expect("a number")
}

/// The position of a write depends on the state of its zone, which is unknown to a later run: the run checks
/// the data below the write pointers, and writes nothing, even if there is nothing to read.
#[test]
fn verify_only_checks_what_is_there_and_writes_nothing() {
    fathom_only!();
    let device = require!(device("zoned_null"));
    for rw in ["write", "randwrite", "rw", "randrw"] {
        for more in ["", "--loops=2", "--time_based --runtime=300ms", "--ioengine=io_uring --iodepth=4"] {
            let words =
                format!("--rw={rw} --bs=64k --size=16m --verify=crc32c {more} --zonemode=zbd --direct=1");
            let directory = scratch();
            let run = |rest: &str| {
                let finished = with(Launch::fathom(directory.path()), &device, &format!("{words} {rest}"));
                assert_eq!((finished.code(), finished.complaints().as_str()), (0, ""), "{words} {rest}");
            };
            // Data left by another job in a zone would be verified as well.
            tool("blkzone", &format!("reset {device}"));
            run("");
            let before = sectors_written(&device);
            run("--verify_only");
            run("--verify_only --verify_state_load=1");
            tool("blkzone", &format!("reset {device}"));
            run("--verify_only");
            assert_eq!(sectors_written(&device), before, "{words}");
        }
    }
}
