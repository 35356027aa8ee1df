//! SCSI disks: `sg` on the disk and on its generic device.

use super::{content, device, expect_sizes_of_fio, run, tool, traced};
use crate::support::{MIB, scratch, skip};

/// Devices of a disk, by their names in the lab.
const WAYS: [&str; 4] = ["scsi", "scsi_sg", "virtio_scsi", "virtio_scsi_sg"];

/// A run's commands to disks, from the kernel's trace: operation code and the following byte.
pub(super) fn commands_of(device: &str, words: &str) -> Vec<(u8, u8)> {
    let trace = traced("scsi/scsi_dispatch_cmd_start", || run(device, words).expect_clean());
    let raw = trace.lines().filter_map(|line| Some(line.split_once("raw=")?.1.to_owned()));
    raw.filter_map(|bytes| {
        let mut numbers =
            bytes.split_whitespace().map(|byte| u8::from_str_radix(byte.trim_end_matches(')'), 16));
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    })
    .collect()
}

#[test]
fn what_is_written_is_read_and_verified() {
    for way in WAYS {
        let device = require!(device(way));
        for more in [
            "--rw=write",
            "--rw=randwrite --bs=512",
            "--rw=randrw --bs=64k --thread",
            "--rw=write --fsync=8",
            "--rw=trimwrite",
        ] {
            run(&device, &format!("--ioengine=sg --size=1m --verify=crc32c {more}")).expect_clean();
        }
    }
}

#[test]
fn both_ways_reach_the_same_disk() {
    for disk in ["scsi", "virtio_scsi"] {
        let (block, generic) = (require!(device(disk)), require!(device(&format!("{disk}_sg"))));
        run(&generic, "--ioengine=sg --rw=write --bs=64k --size=1m --buffer_pattern=0x77").expect_clean();
        assert!(content(&block, MIB).iter().all(|byte| *byte == 0x77), "{disk}");
        run(&generic, "--ioengine=sg --rw=trim --bs=64k --offset=256k --size=256k").expect_clean();
        let content = content(&block, MIB);
        assert!(content[256 << 10..512 << 10].iter().all(|byte| *byte == 0), "{disk}");
        assert!(content[..256 << 10].iter().chain(&content[512 << 10..]).all(|byte| *byte == 0x77), "{disk}");
    }
}

#[test]
fn each_option_sends_its_command() {
    let device = require!(device("virtio_scsi_sg"));
    for (words, command) in [
        ("--rw=read", (0x28, 0)),
        ("--rw=read --readfua=1", (0x28, 8)),
        ("--rw=write", (0x2a, 0)),
        ("--rw=write --writefua=1", (0x2a, 8)),
        ("--rw=write --sg_write_mode=write_and_verify", (0x2e, 0)),
        ("--rw=write --sg_write_mode=verify", (0x2e, 0)),
        ("--rw=write --sg_write_mode=write_same", (0x41, 0)),
        ("--rw=write --sg_write_mode=same", (0x41, 0)),
        ("--rw=write --sg_write_mode=write_same_ndob", (0x93, 1)),
        ("--rw=write --sg_write_mode=verify_bytchk_00", (0x2f, 0)),
        ("--rw=trim", (0x42, 0)),
        ("--rw=read --hipri", (0x28, 0)),
    ] {
        let sent = commands_of(&device, &format!("--ioengine=sg --bs=4k --size=16k {words}"));
        assert_eq!(sent.iter().filter(|sent| **sent == command).count(), 4, "{words}: {sent:02x?}");
    }
    let sent = commands_of(&device, "--ioengine=sg --rw=write --bs=4k --size=16k --fsync=2 --end_fsync=1");
    assert_eq!(sent.iter().filter(|sent| sent.0 == 0x35).count(), 2, "{sent:02x?}");
}

#[test]
fn a_device_compares_what_it_is_sent() {
    let device = require!(device("scsi_sg"));
    run(&device, "--ioengine=sg --rw=write --bs=4k --size=64k --buffer_pattern=0x11").expect_clean();
    let compare = "--ioengine=sg --rw=write --bs=4k --size=64k --sg_write_mode=verify_bytchk_01";
    run(&device, &format!("{compare} --buffer_pattern=0x11")).expect_clean();
    let different = run(&device, &format!("{compare} --buffer_pattern=0x12"));
    assert_eq!(different.code(), 1);
    assert!(different.stderr.contains("miscompare during verify operation"), "{}", different.stderr);
}

#[test]
fn what_a_device_refuses_is_explained() {
    let device = require!(device("scsi_sg"));
    let finished = run(&device, "--ioengine=sg --rw=write --bs=4k --size=16k --sg_write_mode=write_stream");
    assert_eq!(finished.code(), 1);
    assert!(
        finished.stderr.contains("cannot open a stream") && finished.stderr.contains("illegal request"),
        "{}",
        finished.stderr
    );
    let odd = run(&device, "--ioengine=sg --rw=read --bs=1000 --size=10000");
    assert_eq!(odd.code(), 1);
    assert!(odd.stderr.contains("whole blocks"), "{}", odd.stderr);
}

#[test]
fn sizes_are_those_of_fio() {
    for way in ["scsi", "scsi_sg"] {
        let device = require!(device(way));
        let sizes =
            ["--size=1m", "--size=4m --bs=4m", "--size=50% --bs=1m", "--size=1m --offset=255m", "--bs=1m"];
        require!(expect_sizes_of_fio(&device, "--ioengine=sg --bs=64k", &sizes));
    }
}

#[test]
fn a_disk_in_use_is_not_written_to_by_any_way() {
    let (block, generic) = (require!(device("virtio_scsi")), require!(device("virtio_scsi_sg")));
    let directory = scratch();
    tool("mkfs.ext4", &format!("-q -F {block}"));
    tool("mount", &format!("{block} {}", directory.path().display()));
    let results = [&block, &generic].map(|device| run(device, "--ioengine=sg --rw=write --bs=64k --size=1m"));
    tool("umount", &directory.path().display().to_string());
    for finished in results {
        assert_eq!(finished.code(), 1);
        assert!(finished.stderr.contains("is in use"), "{}", finished.stderr);
    }
    tool("e2fsck", &format!("-fn {block}"));
}

#[test]
fn only_whole_disks_are_targets() {
    let block = require!(device("virtio_scsi"));
    require!(skip::tool("sfdisk"));
    let script =
        format!("printf 'label: dos\\n start=2048, size=4096\\n' | sfdisk -q {block} && partx -u {block}");
    let made = std::process::Command::new("sh").arg("-c").arg(&script).status().expect("a shell");
    assert!(made.success());
    let partition = format!("{block}1");
    let name = partition.trim_start_matches("/dev/");
    let numbers = std::fs::read_to_string(format!("/sys/class/block/{name}/dev")).expect("a partition");
    assert!(numbers.contains(':'));
    let finished = run(&partition, "--ioengine=sg --rw=write --bs=64k --size=64k");
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("is a partition"), "{}", finished.stderr);
    let directory = scratch();
    let file = crate::support::file_of(directory.path(), "f", MIB);
    for (target, said) in [
        (file.to_str().expect("a name"), "ioengine sg only works on block or character devices"),
        ("/dev/null", "ioengine sg unable to successfully execute read capacity"),
    ] {
        let finished = run(target, "--ioengine=sg --rw=write --bs=64k --size=64k");
        assert_eq!(finished.code(), 1, "{target}");
        assert!(finished.stderr.contains(said), "{target}: {}", finished.stderr);
    }
}

#[test]
fn examples_of_fio_run() {
    let device = require!(device("scsi_sg"));
    require!(super::example("sg_verify", &device, "1m")).expect_clean();
    // A difference should show between two jobs of the first kind and one of the second.
    for (name, failed) in [("sg_verify-fail", 2), ("sg_write_same_ndob", 1)] {
        let finished = require!(super::example(name, &device, "1m"));
        assert_eq!(finished.code(), failed, "{name}: {}", finished.stdout);
        assert!(finished.stderr.contains("miscompare"), "{name}: {}", finished.stderr);
    }
}
