//! Zones: which parts of a file are used, and for how long.

use crate::support::program::{self, Launch};
use crate::support::{KIB, scratch};
use std::path::Path;

/// Blocks of 4 KiB in the order of a run, from its latency log.
fn blocks(launch: Launch, directory: &Path, words: &str) -> Vec<u64> {
    let logged = "--write_lat_log=order --log_offset=1";
    launch.words(&format!("--name=job --ioengine=null --bs=4k {words} {logged}")).run().expect_clean();
    let text = std::fs::read_to_string(directory.join("order_clat.1.log")).expect("a log");
    let offset = |line: &str| line.split(", ").nth(4).and_then(|field| field.parse::<u64>().ok());
    text.lines().map(|line| offset(line).expect("an offset") / (4 * KIB)).collect()
}

fn blocks_of_fathom(words: &str) -> Vec<u64> {
    let directory = scratch();
    blocks(Launch::fathom(directory.path()), directory.path(), words)
}

#[test]
fn strided_zones_are_those_of_fio() {
    let reference = require!(program::reference());
    for words in [
        "--rw=read --size=256k --zonesize=16k --zoneskip=32k --zonerange=16k",
        "--rw=write --size=256k --zonesize=16k --zoneskip=32k",
        "--rw=trim --size=256k --zonesize=16k --zonerange=64k",
        "--rw=read --size=256k --zonesize=16k --zonerange=64k --zoneskip=16k --offset=64k",
        "--rw=read --size=256k --zonesize=64k --zonerange=16k --zoneskip=16k",
        "--rw=rw --size=256k --zonesize=16k --zoneskip=16k",
        "--rw=trimwrite --size=128k --zonesize=16k --zoneskip=16k",
        "--rw=read --size=256k --zonesize=16k --zoneskip=16k --io_size=40k",
        "--rw=read --size=256k --zonesize=512k --zoneskip=16k",
        "--rw=read --size=250k --zonesize=18k --zoneskip=16k --io_size=120k",
    ] {
        let words = format!("--zonemode=strided {words}");
        let directory = scratch();
        let of_fio = blocks(Launch::of(&reference, directory.path()), directory.path(), &words);
        assert_eq!(blocks_of_fathom(&words), of_fio, "{words}");
    }
}

#[test]
fn random_offsets_stay_in_their_zone() {
    for more in ["", "--norandommap", "--random_generator=lfsr", "--random_distribution=zipf:1.1"] {
        let words = format!(
            "--zonemode=strided --rw=randread --size=1m --zonesize=16k --zonerange=64k --zoneskip=64k {more}"
        );
        let order = blocks_of_fathom(&words);
        assert_eq!(order.len(), 256, "{words}");
        for (index, block) in order.iter().enumerate() {
            // Four I/Os for each zone; eight zones of sixteen blocks.
            let zone = index as u64 / 4 % 8 * 32;
            assert!((zone..zone + 16).contains(block), "{words}: I/O {index} at {block}, zone at {zone}");
        }
    }
}

#[test]
fn what_lies_between_zones_is_not_written() {
    let directory = scratch();
    let path = directory.path().join("file");
    std::fs::write(&path, vec![0; 256 << 10]).expect("a file");
    let words = "--name=job --filename=file --rw=randwrite --bs=4k --size=192k --offset=32k --io_size=96k \
                 --zonemode=strided --zonesize=16k --zoneskip=16k --buffer_pattern=0x77";
    Launch::fathom(directory.path()).words(words).run().expect_clean();
    let data = std::fs::read(&path).expect("the file");
    for (index, block) in data.chunks(16 << 10).enumerate() {
        let is_zone = (2..14).contains(&index) && index % 2 == 0;
        let expected = if is_zone { 0x77 } else { 0 };
        assert!(block.iter().all(|&byte| byte == expected), "16 KiB at {} KiB", index * 16);
    }
}

#[test]
fn loops_that_stop_short_of_the_last_zone_go_on_from_there() {
    let words = "--zonemode=strided --rw=read --size=64k --zonesize=8k --zoneskip=8k --io_size=24k --loops=2";
    assert_eq!(blocks_of_fathom(words), [0, 1, 4, 5, 8, 9, 12, 13, 0, 1, 4, 5]);
}
