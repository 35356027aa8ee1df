//! Devices that fail, lose or modify data, or are slow: messages about them are accurate.

use super::super::{device, run, tool, tool_with, with};
use crate::support::program::{self, Launch};
use crate::support::{json, scratch};
use std::path::{Path, PathBuf};

/// A separate null_blk device, removed on drop.
pub(super) struct NullBlk {
    settings: PathBuf,
}

impl NullBlk {
    pub(super) fn new(name: &str, attributes: &[(&str, &str)]) -> Result<NullBlk, String> {
        // The lab's device shows that the module is available.
        device("null_blk")?;
        let settings = Path::new("/sys/kernel/config/nullb").join(name);
        std::fs::create_dir(&settings).map_err(|error| format!("{}: {error}", settings.display()))?;
        let made = NullBlk { settings };
        for (attribute, value) in attributes.iter().chain(&[("power", "1")]) {
            std::fs::write(made.settings.join(attribute), value)
                .map_err(|error| format!("null_blk {attribute}={value}: {error}"))?;
        }
        Ok(made)
    }

    pub(super) fn path(&self) -> String {
        let name = self.settings.file_name().expect("a name").to_string_lossy().into_owned();
        let made = Path::new("/dev").join(&name);
        match made.exists() {
            true => made.display().to_string(),
            false => format!(
                "/dev/nullb{}",
                std::fs::read_to_string(self.settings.join("index")).expect("a number").trim()
            ),
        }
    }
}

impl Drop for NullBlk {
    fn drop(&mut self) {
        let _ = std::fs::write(self.settings.join("power"), "0");
        let _ = std::fs::remove_dir(&self.settings);
    }
}

/// Loads another table into a device-mapper device.
fn load(target: &str, table: &str) {
    tool("dmsetup", &format!("suspend {target}"));
    tool_with("dmsetup", &["load", target, "--table", table]);
    tool("dmsetup", &format!("resume {target}"));
}

/// A device below dm-flakey, and its sectors.
fn below(target: &str) -> (String, u64) {
    let table = tool("dmsetup", &format!("table {target}"));
    let words: Vec<&str> = table.split_whitespace().collect();
    (words[3].to_owned(), words[1].parse().expect("a number"))
}

#[test]
fn what_a_device_loses_or_changes_is_found() {
    let target = require!(device("dm_flakey"));
    let (under, sectors) = below(&target);
    // It is never up and always down; the feature defines its behaviour when down.
    for (number, (feature, is_wrong)) in [
        ("", false),
        ("1 drop_writes", true),
        // Byte 200 of each read or write becomes 7.
        ("5 corrupt_bio_byte 200 r 7 0", true),
        ("5 corrupt_bio_byte 200 w 7 0", true),
    ]
    .into_iter()
    .enumerate()
    {
        let up = if feature.is_empty() { "600 0" } else { "0 600" };
        load(&target, &format!("0 {sectors} flakey {under} 0 {up} {feature}"));
        let engines = [
            "psync --direct=1",
            "io_uring --iodepth=8 --direct=1",
            "libaio --iodepth=8 --thread --direct=1",
            // Buffered reads would be served by the page cache, which has the written data.
            "psync",
            "io_uring --iodepth=8",
            "mmap",
        ];
        for (index, engine) in engines.into_iter().enumerate() {
            // Different data each time, so that old data is not mistaken for lost data.
            let seed = 10 * number + index;
            let words = format!(
                "--ioengine={engine} --randseed={seed} --rw=randwrite --bs=4k --size=256k --verify=crc32c"
            );
            let finished = run(&target, &words);
            assert_eq!(finished.code() != 0, is_wrong, "{feature} {engine}: {}", finished.stderr);
            assert_eq!(
                finished.stderr.contains("verify"),
                is_wrong,
                "{feature} {engine}: {}",
                finished.stderr
            );
        }
    }
    load(&target, &format!("0 {sectors} flakey {under} 0 600 0"));
}

#[test]
fn a_device_that_is_away_for_a_while() {
    let target = require!(device("dm_flakey"));
    let (under, sectors) = below(&target);
    load(&target, &format!("0 {sectors} flakey {under} 0 1 1"));
    let words = "--ioengine=io_uring --iodepth=4 --direct=1 --rw=randwrite --bs=4k --size=32m --time_based --runtime=6 --rate_iops=200";
    let finished = run(&target, &format!("{words} --continue_on_error=all --output-format=json"));
    let document = json::document(&finished.stdout);
    let job = json::job(&document, "job");
    assert_eq!(json::integer(job, "error"), 5);
    let (failed, issued) = (json::integer(job, "total_err"), json::integer(job, "write/total_ios"));
    assert!(failed > 0 && issued > failed, "{failed} of {issued}");
    let finished = run(&target, words);
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("Input/output error"), "{}", finished.stderr);
    load(&target, &format!("0 {sectors} flakey {under} 0 600 0"));
}

#[test]
fn bad_blocks_are_those_that_fio_finds() {
    let reference = require!(program::reference());
    let attributes =
        [("memory_backed", "1"), ("size", "64"), ("badblocks", "+160-167"), ("badblocks", "+800-801")];
    let disk = require!(NullBlk::new("fathom_bad", &attributes));
    for words in [
        "--ioengine=psync --rw=read",
        "--ioengine=io_uring --iodepth=4 --rw=read",
        "--ioengine=libaio --iodepth=4 --rw=randread",
        "--ioengine=psync --rw=read --ignore_error=EIO",
    ] {
        let figures = [program::path(), reference.clone()].map(|program| {
            let words =
                format!("{words} --direct=1 --bs=4k --size=1m --continue_on_error=all --output-format=json");
            let directory = scratch();
            let finished = with(Launch::of(&program, directory.path()), &disk.path(), &words);
            let document = json::document(&finished.stdout);
            let job = json::job(&document, "job");
            ["error", "total_err", "read/io_bytes", "read/total_ios"].map(|path| json::integer(job, path))
        });
        assert_eq!(figures[0], figures[1], "{words}");
        assert_eq!(figures[0][1], 2, "{words}");
    }
    let finished = run(&disk.path(), "--ioengine=psync --direct=1 --rw=read --bs=4k --size=1m");
    assert!(
        finished.code() == 1 && finished.stderr.contains("read offset=81920, buflen=4096"),
        "{}",
        finished.stderr
    );
}

#[test]
fn blocks_fail_where_the_device_is_bad() {
    let attributes = [
        ("memory_backed", "1"),
        ("discard", "1"),
        ("size", "64"),
        ("badblocks", "+160-167"),
        ("badblocks", "+800-801"),
    ];
    let disk = require!(NullBlk::new("fathom_worn", &attributes));
    for (words, failed) in [("--rw=randtrimwrite", [2, 0]), ("--rw=trim", [2, 0]), ("--rw=randwrite", [0, 2])]
    {
        let words = format!("--direct=1 --bs=4k --size=1m --loops=2 --continue_on_error=all {words}");
        for engine in ["psync", "io_uring --iodepth=8"] {
            let words =
                format!("--ioengine={engine} --block_error_percentiles=1 {words} --output-format=json");
            let document = json::document(&run(&disk.path(), &words).stdout);
            let states = &json::job(&document, "job")["block"]["states"];
            let counted = ["trim_failed", "write_failed"].map(|state| json::integer(states, state));
            assert_eq!((counted, json::integer(states, "untouched")), (failed, 0), "{words}: {states}");
        }
    }
}

#[test]
fn latencies_are_not_shorter_than_the_device() {
    const NS: u64 = 5_000_000;
    let attributes = [("irqmode", "2"), ("completion_nsec", "5000000"), ("size", "64")];
    let disk = require!(NullBlk::new("fathom_slow", &attributes));
    for engine in [
        "psync",
        "pvsync2",
        "libaio --iodepth=4",
        "io_uring --iodepth=4",
        "io_uring --iodepth=8 --iodepth_batch=4",
        "posixaio --iodepth=4",
    ] {
        let words = format!(
            "--ioengine={engine} --direct=1 --rw=randread --bs=4k --number_ios=64 --size=1m --output-format=json"
        );
        let finished = run(&disk.path(), &words).expect_clean();
        let document = json::document(&finished.stdout);
        let shortest = json::integer(json::job(&document, "job"), "read/lat_ns/min");
        assert!(shortest >= NS, "{engine}: {shortest} ns");
    }
}
