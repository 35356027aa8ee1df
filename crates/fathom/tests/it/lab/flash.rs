//! Flash memory: `mtd` on memory that can be written anywhere, and on NAND with pages, erase blocks and bad blocks.

use super::{device, expect_sizes_of_fio, run, tool};
use crate::support::program::Finished;
use crate::support::{KIB, json, scratch};
use std::io::Read;

/// Erase blocks of the two devices.
const MTD_BLOCK: u64 = 64 * KIB;
const NAND_BLOCK: u64 = 16 * KIB;
/// Initially bad blocks of the NAND, as in `scripts/lab/tests.sh`.
const BAD: [u64; 2] = [3, 5];

fn first_bytes(device: &str, bytes: u64) -> Vec<u8> {
    let file = std::fs::File::open(device).expect("flash memory can be opened");
    let mut content = Vec::new();
    file.take(bytes).read_to_end(&mut content).expect("flash memory can be read");
    content
}

#[test]
fn what_is_written_is_read_and_verified() {
    let device = require!(device("mtd"));
    for more in [
        "--rw=write",
        "--rw=randwrite --bs=512",
        "--rw=randrw --bs=4k --thread",
        "--rw=write --bs=96k",
        "--rw=write --fsync=4",
    ] {
        run(&device, &format!("--ioengine=mtd --size=1m --verify=crc32c {more}")).expect_clean();
    }
    // Unaligned reads are allowed.
    let finished =
        run(&device, "--ioengine=mtd --rw=read --bs=100 --size=10000 --output-format=json").expect_clean();
    let document = json::document(&finished.stdout);
    assert_eq!(json::integer(json::job(&document, "job"), "read/io_bytes"), 10_000);
}

#[test]
fn clones_and_several_devices_work_at_a_time() {
    let (mtd, nand) = (require!(device("mtd")), require!(device("nand")));
    let shape =
        "--ioengine=mtd --rw=read --bs=4k --size=1m --numjobs=3 --group_reporting --output-format=json";
    for how in ["", "--thread"] {
        let finished = run(&format!("{mtd}:{nand}"), &format!("{shape} {how}")).expect_clean();
        let document = json::document(&finished.stdout);
        assert_eq!(json::total(&document, "read/io_bytes"), 3 << 20, "{how}");
    }
}

#[test]
fn trims_erase_whole_blocks_and_no_others() {
    let device = require!(device("mtd"));
    run(&device, "--ioengine=mtd --rw=write --bs=64k --size=1m --buffer_pattern=0x5a").expect_clean();
    let words = format!("--ioengine=mtd --rw=trim --bs={} --offset=128k --size=256k", 2 * MTD_BLOCK);
    run(&device, &words).expect_clean();
    for (block, bytes) in first_bytes(&device, 1 << 20).chunks(MTD_BLOCK as usize).enumerate() {
        let expected = if (2..6).contains(&block) { 0xff } else { 0x5a };
        assert!(bytes.iter().all(|byte| *byte == expected), "block {block}");
    }
    let finished = run(&device, "--ioengine=mtd --rw=trim --bs=4k --size=64k");
    assert_eq!(finished.code(), 1);
    assert!(
        finished.stdout.contains("err=22") && finished.stderr.contains("trims erase whole blocks"),
        "{}",
        finished.stderr
    );
}

#[test]
fn the_size_is_that_of_the_device() {
    let device = require!(device("mtd"));
    let sizes = ["", "--size=100g", "--size=50%", "--size=1m --offset=1m"];
    require!(expect_sizes_of_fio(&device, "--ioengine=mtd --bs=64k", &sizes));
}

#[track_caller]
fn expect_skipped(finished: &Finished, count: u32) {
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert_eq!(finished.code(), 0, "{said}");
    assert!(said.contains(&format!("{count} I/Os reached bad erase blocks")), "{said}");
}

#[test]
fn bad_blocks_are_left_alone_if_the_job_says_so() {
    let device = require!(device("nand"));
    let erase = format!("--ioengine=mtd --rw=trim --bs={NAND_BLOCK} --size=128k");
    let refused = run(&device, &erase);
    assert_eq!(refused.code(), 1, "a bad block cannot be erased: {}", refused.stdout);
    expect_skipped(&run(&device, &format!("{erase} --skip_bad=1")), 2);
    let write = "--ioengine=mtd --rw=write --bs=32k --size=128k --buffer_pattern=0x5a --skip_bad=1";
    expect_skipped(&run(&device, write), 2);
    for (block, bytes) in first_bytes(&device, 128 * KIB).chunks(NAND_BLOCK as usize).enumerate() {
        let is_bad = BAD.contains(&(block as u64));
        assert_eq!(bytes.iter().all(|byte| *byte == 0x5a), !is_bad, "block {block}");
    }
    let verified =
        run(&device, "--ioengine=mtd --rw=write --bs=16k --size=128k --verify=crc32c --skip_bad=1");
    assert_eq!(verified.code(), 1);
    assert!(verified.stderr.contains("bad erase blocks"), "{}", verified.stderr);
}

#[test]
fn pages_are_written_whole() {
    let device = require!(device("nand"));
    let finished = run(&device, "--ioengine=mtd --rw=write --bs=100 --offset=256k --size=1000");
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("writes fill whole pages"), "{}", finished.stderr);
}

#[test]
fn nothing_else_is_flash_memory() {
    require!(device("mtd"));
    let directory = scratch();
    let file = crate::support::file_of(directory.path(), "f", 64 * KIB);
    for target in ["/dev/null", "/dev/mtdblock0", file.to_str().expect("a name"), "/dev/mtd77"] {
        let finished = run(target, "--ioengine=mtd --rw=write --bs=4k --size=64k");
        assert_eq!(finished.code(), 1, "{target}");
        assert!(finished.stderr.contains("is not flash memory"), "{target}: {}", finished.stderr);
    }
    assert!(std::fs::read(&file).expect("a file").iter().all(|byte| *byte == crate::support::FILLING));
}

#[test]
fn memory_that_is_mounted_is_not_written_to() {
    let device = require!(device("mtd"));
    let directory = scratch();
    let number = device.trim_start_matches("/dev/mtd");
    // Any file system will do; jffs2 needs no special tool on erased memory.
    run(&device, "--ioengine=mtd --rw=trim --bs=64k").expect_clean();
    super::tool("mount", &format!("-t jffs2 /dev/mtdblock{number} {}", directory.path().display()));
    let finished = run(&device, "--ioengine=mtd --rw=write --bs=64k --size=64k");
    super::tool("umount", &directory.path().display().to_string());
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("is in use"), "{}", finished.stderr);
}

#[test]
fn the_example_of_fio_runs_on_pages_and_erase_blocks() {
    let finished = require!(super::example("mtd", &require!(device("nand")), "1m")).expect_clean();
    let states = "  blocks       : untouched=0, trimmed=0, written=64, trim failed=0, write failed=0\n";
    assert!(finished.stdout.contains(states), "{}", finished.stdout);
}

#[test]
fn bad_blocks_are_those_whose_trims_fail() {
    let device = require!(device("nand"));
    let words =
        format!("--ioengine=mtd --rw=trim --bs={NAND_BLOCK} --size=128k --loops=3 --ignore_error=,EIO");
    let finished = run(&device, &format!("{words} --block_error_percentiles=1"));
    let states = "  blocks       : untouched=0, trimmed=6, written=0, trim failed=2, write failed=0\n";
    assert!(finished.code() == 0 && finished.stdout.contains(states), "{}", finished.stdout);
}

/// Volumes are shown neither by mounts nor by holders.
#[test]
fn flash_memory_that_is_attached_is_protected() {
    fathom_only!();
    let device = require!(device("mtd"));
    let node = std::fs::canonicalize(&device).expect("it is there");
    let number = node.to_string_lossy().trim_start_matches("/dev/mtd").to_owned();
    tool("modprobe", &format!("ubi mtd={number}"));
    let write = || run(&device, "--ioengine=mtd --rw=write --bs=64k --size=1m");
    let refused = write();
    tool("rmmod", "ubi");
    assert_eq!(refused.code(), 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("it is attached as ubi"), "{}", refused.stderr);
    write().expect_clean();
}
