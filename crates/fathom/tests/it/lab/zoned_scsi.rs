//! A SCSI disk with zones (host managed): `libzbc` on the disk and on its generic device, together with other engines on the
//! same zones.

use super::scsi::commands_of;
use super::zones::{Outcome, outcome};
use super::{content, device, run, tool};
use crate::shipped_examples::examples;
use crate::support::program::{Launch, reference};
use crate::support::{MIB, file_of, scratch};
use std::os::unix::fs::OpenOptionsExt;

/// Devices of the disk, by their names in the lab.
const WAYS: [&str; 2] = ["zoned_scsi", "zoned_scsi_sg"];
/// Its first sequential zone.
const FIRST: &str = "--offset=16m";

/// The disk with all its zones empty.
fn empty_disk() -> Result<String, String> {
    let disk = device("zoned_scsi")?;
    tool("blkzone", &format!("reset {disk}"));
    Ok(disk)
}

#[test]
fn what_is_written_to_zones_is_read_and_verified() {
    require!(empty_disk());
    for way in WAYS {
        let device = require!(device(way));
        for more in [
            "--rw=write --bs=64k",
            "--rw=randwrite --bs=64k --max_open_zones=2",
            "--rw=randwrite --bs=4k --io_size=1m",
            "--rw=write --bs=1m --fsync=4 --thread",
        ] {
            let words = format!(
                "--ioengine=libzbc --zonemode=zbd --direct=1 {FIRST} --size=8m --verify=crc32c {more}"
            );
            run(&device, &words).expect_clean();
        }
        // In the preceding zones, blocks may be written in any order.
        run(&device, "--ioengine=libzbc --rw=randwrite --bs=4k --size=1m --verify=crc32c").expect_clean();
    }
}

#[test]
fn both_ways_reach_the_same_zones() {
    let disk = require!(empty_disk());
    let generic = require!(device("zoned_scsi_sg"));
    let write = |device: &str, pattern: &str, size: &str| {
        let words = format!(
            "--ioengine=libzbc --zonemode=zbd --direct=1 --rw=write --bs=64k --offset=0 --size={size} --buffer_pattern={pattern}"
        );
        run(device, &words).expect_clean();
    };
    write(&generic, "0x51", "4m");
    assert!(content(&disk, 4 * MIB).iter().all(|byte| *byte == 0x51));
    // A zone filled through one device is reset through the other.
    for (device, pattern) in [(&generic, 0x52), (&disk, 0x53), (&generic, 0x54)] {
        let words = format!(
            "--ioengine=libzbc --zonemode=zbd --direct=1 --rw=write --bs=64k {FIRST} --size=4m --buffer_pattern={pattern:#x}"
        );
        run(device, &words).expect_clean();
        let found = content(&disk, 20 * MIB);
        assert!(found[(16 << 20)..].iter().all(|byte| *byte == pattern), "{device} {pattern:#x}");
    }
}

/// The same outcome as in fio with an engine on the block device, from the same state.
#[test]
fn zones_are_used_as_fio_uses_them() {
    let (disk, fio) = (require!(empty_disk()), require!(reference()));
    for (before, words) in [
        ("", "--rw=write --bs=64k --offset=16m --size=12m"),
        ("--rw=write --bs=64k --offset=16m --size=8m", "--rw=write --bs=64k --offset=16m --size=8m"),
        (
            "--rw=write --bs=64k --offset=16m --io_size=1m --size=4m",
            "--rw=write --bs=64k --offset=16m --size=4m",
        ),
        (
            "--rw=write --bs=64k --offset=16m --io_size=1m --size=4m",
            "--rw=read --bs=64k --offset=16m --size=8m",
        ),
        ("--rw=write --bs=64k --offset=16m --size=8m", "--rw=trim --bs=4m --offset=16m --size=8m"),
        ("", "--rw=randwrite --bs=64k --offset=16m --size=16m --io_size=4m --max_open_zones=2"),
        ("", "--rw=write --bs=80k --offset=16m --size=8m"),
        ("", "--rw=write --bs=64k --offset=17m --size=10m"),
        ("", "--rw=read --bs=64k --offset=0 --size=16m"),
        ("", "--rw=write --bs=64k --offset=16m --size=8m --max_open_zones=999"),
    ] {
        let with = |engine: &str, words: &str| format!("--ioengine={engine} {words}");
        let run_of = |program: Option<&std::path::Path>, device: &str, engine: &str| -> Outcome {
            tool("blkzone", &format!("reset {disk}"));
            if !before.is_empty() {
                outcome(None, &disk, &with("libzbc", before));
            }
            outcome(program, device, &with(engine, words))
        };
        let expected = run_of(Some(&fio), &disk, "psync");
        for way in WAYS {
            let own = run_of(None, &require!(device(way)), "libzbc");
            assert_eq!(own, expected, "{way}, after {before}: {words}");
        }
    }
}

#[test]
fn commands_have_long_addresses() {
    let disk = require!(empty_disk());
    let generic = require!(device("zoned_scsi_sg"));
    for device in [&disk, &generic] {
        let count = |words: &str, operation: u8| {
            let words = format!("--ioengine=libzbc --zonemode=zbd --direct=1 --bs=64k {FIRST} {words}");
            commands_of(device, &words).iter().filter(|sent| sent.0 == operation).count()
        };
        assert_eq!(count("--rw=write --size=4m --io_size=1m", 0x8a), 16, "{device}: WRITE(16)");
        assert_eq!(count("--rw=read --size=4m --io_size=1m", 0x88), 16, "{device}: READ(16)");
        assert_eq!(
            count("--rw=write --size=4m --io_size=1m --fsync=8 --end_fsync=1", 0x35),
            2,
            "{device}: SYNCHRONIZE CACHE"
        );
    }
    let words = format!("--ioengine=libzbc --zonemode=zbd --bs=4m {FIRST} --size=4m --rw=trim");
    let sent = commands_of(&generic, &words);
    assert!(sent.contains(&(0x94, 4)) && sent.iter().any(|sent| sent.0 == 0x95), "{sent:02x?}");
}

#[test]
fn sg_knows_the_zones_of_a_generic_device() {
    require!(empty_disk());
    let generic = require!(device("zoned_scsi_sg"));
    for more in ["--rw=write", "--rw=randwrite --max_open_zones=2"] {
        let words = format!("--ioengine=sg --zonemode=zbd {FIRST} --size=8m --bs=64k --verify=crc32c {more}");
        run(&generic, &words).expect_clean();
    }
    let too_many = format!("--ioengine=sg --zonemode=zbd {FIRST} --size=8m --rw=write --max_open_zones=4000");
    let finished = run(&generic, &too_many);
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("that the device allows"), "{}", finished.stderr);
}

#[test]
fn other_engines_keep_to_the_zones() {
    let disk = require!(empty_disk());
    for engine in ["psync", "pvsync2", "libaio --iodepth=8", "io_uring --iodepth=8", "sg"] {
        for more in ["--rw=write", "--rw=randwrite --max_open_zones=2"] {
            let words = format!(
                "--ioengine={engine} --zonemode=zbd --direct=1 {FIRST} --size=8m --bs=64k --verify=crc32c {more}"
            );
            run(&disk, &words).expect_clean();
        }
    }
    // Without zone rules, the disk refuses writes that are out of order.
    let finished =
        run(&disk, &format!("--ioengine=psync --direct=1 {FIRST} --size=8m --bs=64k --rw=randwrite"));
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("zonemode=zbd"), "{}", finished.stderr);
}

#[test]
fn only_zoned_disks_are_targets() {
    let disk = require!(empty_disk());
    let directory = scratch();
    let file = file_of(directory.path(), "f", MIB);
    for (target, said) in [
        (file.to_str().expect("a name"), "ioengine libzbc only works on block or character devices"),
        ("/dev/null", "/dev/null: zbc_open() failed, err=-25"),
    ] {
        let finished = run(target, "--ioengine=libzbc --rw=write --bs=64k --size=64k");
        assert_eq!(finished.code(), 1, "{target}");
        assert!(finished.stderr.contains(said), "{target}: {}", finished.stderr);
    }
    for (words, said) in [
        ("--rw=trim --bs=4m --size=4m", "add zonemode=zbd"),
        ("--rw=read --bs=1000 --size=10000", "whole blocks"),
        ("--rw=write --zonemode=zbd --bs=64k --offset=16m --size=4m", "direct I/O is mandatory"),
        ("--rw=write --zonemode=zbd --direct=1 --zonesize=8m --bs=64k --size=8m", "does not match"),
        ("--rw=write --bs=64k --size=1m --file_append=1", "can't append/extent with IO engine libzbc"),
    ] {
        let finished = run(&disk, &format!("--ioengine=libzbc {words}"));
        assert_eq!(finished.code(), 1, "{words}");
        assert!(finished.stderr.contains(said), "{words}: {}", finished.stderr);
    }
    // The depth is capped, with a note.
    let deep = run(&disk, "--ioengine=libzbc --rw=read --bs=64k --size=1m --iodepth=8");
    assert_eq!(deep.code(), 0);
    let said = format!("{}{}", deep.stdout, deep.stderr);
    assert!(said.contains("queue depth will be capped at 1"), "{said}");
}

#[test]
fn a_disk_in_use_is_not_written_to_by_any_way() {
    let disk = require!(empty_disk());
    let held = std::fs::OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&disk);
    let held = held.expect("it is free");
    for way in WAYS {
        let device = require!(device(way));
        let finished = run(&device, "--ioengine=libzbc --rw=write --bs=64k --size=64k");
        assert_eq!(finished.code(), 1, "{way}");
        assert!(finished.stderr.contains("is in use"), "{way}: {}", finished.stderr);
    }
    drop(held);
    run(&disk, "--ioengine=libzbc --rw=write --bs=64k --size=64k").expect_clean();
}

#[test]
fn the_examples_of_fio_run_on_smaller_zones() {
    let (_, examples) = (require!(empty_disk()), require!(examples()));
    let directory = scratch();
    for way in WAYS {
        let target = require!(device(way));
        for name in ["libzbc-rand-write", "libzbc-seq-read"] {
            let text =
                std::fs::read_to_string(examples.join(format!("{name}.fio"))).expect("an example is text");
            let filled = text
                .replace("/dev/sdj", &target)
                .replace("/dev/sdd", &target)
                .replace("zonesize=256M", "zonesize=4M")
                .replace("max_open_zones=32", "max_open_zones=4")
                .replace("numjobs=16", "numjobs=2")
                .replace("runtime=300", "runtime=3")
                .replace("offset=140660178944", "offset=16M")
                .replace("size=10G", "size=16M");
            std::fs::write(directory.path().join("job.fio"), filled).expect("written");
            Launch::fathom(directory.path()).words("job.fio").run().expect_clean();
        }
    }
}
