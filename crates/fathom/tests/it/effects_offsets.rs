//! Positions and content of I/O: options that choose offsets, lengths, directions, files and content.

use crate::support::program::Launch;
use crate::support::recorded::{self, Recorded};
use crate::support::trace::Trace;
use crate::support::{KIB, MIB, scratch};
use std::collections::BTreeSet;

/// Start blocks of 4 KiB of a job's first I/Os, without a device.
#[track_caller]
fn blocks<const COUNT: usize>(words: &str) -> [u64; COUNT] {
    let ios = recorded::of_null(words);
    assert!(ios.len() >= COUNT, "{words}: {} I/Os", ios.len());
    std::array::from_fn(|index| ios[index].block())
}

/// Reads and writes of 16 blocks each, as `r3 w7`.
fn mixed(ios: &[Recorded]) -> String {
    let words: Vec<String> = ios
        .iter()
        .take(16)
        .map(|io| format!("{}{}", ["r", "w"][io.direction as usize], io.block()))
        .collect();
    words.join(" ")
}

/// fio's sequences for its default seed.
#[test]
fn a_named_generator_draws_the_published_sequence() {
    let cases = [
        ("tausworthe", [250, 221, 168, 132, 154, 251, 3, 57, 83, 214, 172, 144, 243, 97, 4, 191]),
        ("lfsr", [228, 98, 33, 152, 92, 62, 15, 224, 96, 32, 0, 16, 24, 28, 30, 31]),
        ("tausworthe64", [92, 39, 189, 136, 218, 108, 254, 228, 114, 213, 41, 20, 46, 8, 239, 50]),
    ];
    for (generator, expected) in cases {
        let words = format!("--rw=randread --size=1M --random_generator={generator}");
        assert_eq!(blocks(&words), expected, "{generator}");
        let all: BTreeSet<u64> = recorded::of_null(&words).iter().map(Recorded::block).collect();
        assert_eq!(all, (0..256).collect(), "{generator}: every block has its turn");
    }
}

#[test]
fn listed_and_zoned_offsets_are_the_published_ones() {
    let cases = [
        ("zoned:60/10:40/90", [24, 21, 16, 143, 163, 24, 28, 5, 100, 217, 180, 14, 23, 9, 27, 18]),
        ("zoned_abs:60/100k:40/200k", [24, 21, 16, 50, 55, 24, 25, 5, 41, 66, 58, 14, 23, 9, 25, 18]),
        ("sequence:2,0,1", [2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]),
        ("sequence:2,0,1 --random_sequence_stride=1", [2, 0, 1, 5, 3, 4, 8, 6, 7, 11, 9, 10, 14, 12, 13, 17]),
    ];
    for (distribution, expected) in cases {
        let words = format!("--rw=randread --size=1M --random_distribution={distribution}");
        assert_eq!(blocks(&words), expected, "{distribution}");
    }
}

/// The share of 4096 I/Os over 256 blocks that goes to the `count` most popular blocks.
fn share_of_most_popular(distribution: &str, count: usize) -> f64 {
    let words = format!("--rw=randread --size=1M --io_size=16M --random_distribution={distribution}");
    let ios = recorded::of_null(&words);
    assert_eq!(ios.len(), 4096, "{distribution}");
    let mut hits = [0_u32; 256];
    ios.iter().for_each(|io| hits[io.block() as usize] += 1);
    hits.sort_unstable_by(|left, right| right.cmp(left));
    f64::from(hits[..count].iter().sum::<u32>()) / 4096.0
}

#[test]
fn few_blocks_are_popular() {
    // Without a distribution all blocks are equal: 26 of 256 get a tenth.
    let even = share_of_most_popular("random", 26);
    assert!((0.099..0.104).contains(&even), "{even}");
    // The first of 256 terms of the series is 26 % of its sum, the first 26 are 77 %.
    let zipf = share_of_most_popular("zipf:1.2", 26);
    assert!((0.70..0.84).contains(&zipf), "{zipf}");
    // Pareto's law with h = 0.2: a fifth of the blocks gets four fifths, and more if ranked by a small number
    // of draws.
    let pareto = share_of_most_popular("pareto:0.2", 51);
    assert!((0.75..0.95).contains(&pareto), "{pareto}");
}

/// The offsets depend on the file name.
#[test]
fn popular_offsets_are_the_published_ones() {
    let cases = [
        ("f", "zipf:1.2", [247, 12, 163, 242, 125, 12, 209, 247, 95, 163, 209, 45, 247, 247, 79, 74]),
        ("g", "zipf:1.2", [113, 92, 113, 117, 192, 113, 234, 180, 91, 71, 92, 3, 201, 92, 92, 50]),
        ("f", "zipf:1.2:0.25", [43, 64, 215, 38, 177, 64, 5, 43, 147, 215, 5, 97, 43, 43, 131, 126]),
        ("f", "pareto:0.2", [12, 12, 205, 124, 213, 12, 83, 12, 191, 205, 83, 95, 12, 12, 58, 170]),
        ("f", "normal:20", [224, 103, 229, 115, 140, 254, 91, 107, 120, 27, 128, 145, 166, 86, 161, 107]),
    ];
    for (file, distribution, expected) in cases {
        let words = format!(
            "--name=job --ioengine=null --filename={file} --bs=4k --rw=randread --size=1M --random_distribution={distribution}"
        );
        let directory = scratch();
        let ios = recorded::of(directory.path(), &words);
        let first: Vec<u64> = ios.iter().take(16).map(Recorded::block).collect();
        assert_eq!(first, expected, "{distribution}, {file}");
    }
}

#[test]
fn a_share_of_the_offsets_is_random() {
    let words = "--rw=randread --size=1M --random_generator=tausworthe --percentage_random=50";
    assert_eq!(
        blocks(words),
        [250, 251, 252, 221, 222, 168, 169, 132, 154, 251, 3, 4, 5, 57, 58, 59],
        "the published sequence"
    );
    assert_eq!(
        blocks("--rw=randread --size=1M --percentage_random=0"),
        std::array::from_fn::<_, 16, _>(|i| i as u64)
    );
}

#[test]
fn between_two_random_offsets() {
    let of = |sequencer: &str| {
        blocks::<16>(&format!(
            "--rw=randread:4 --rw_sequencer={sequencer} --size=1M --random_generator=tausworthe"
        ))
    };
    let drawn = [250, 221, 168, 132];
    assert_eq!(of("identical"), std::array::from_fn(|index| drawn[index / 4]));
    assert_eq!(of("sequential"), std::array::from_fn(|index| drawn[index / 4] + index as u64 % 4));
}

#[test]
fn random_offsets_lie_on_their_alignment() {
    for (align, words) in [(512, "--ba=512"), (16 * KIB, "--ba=16k"), (64 * KIB, "--blockalign=64k")] {
        let ios = recorded::of_null(&format!("--rw=randread --size=1M {words}"));
        assert!(ios.iter().all(|io| io.offset % align == 0 && io.offset + io.length <= MIB), "{words}");
        assert!(ios.iter().any(|io| io.offset % (2 * align) != 0), "{words}: no more than asked for");
    }
    // In units of 512 bytes; the start of the published sequence.
    let ios = recorded::of_null("--rw=randread --size=1M --ba=512 --random_generator=tausworthe");
    let units: Vec<u64> = ios.iter().take(3).map(|io| io.offset / 512).collect();
    assert_eq!(units, [249 * 8 + 2, 220 * 8 + 7, 167 * 8 + 4]);
}

#[test]
fn lengths_that_are_no_multiple() {
    let lengths = |words: &str| -> Vec<u64> {
        let ios =
            recorded::of_null(&format!("--rw=randread --size=1M --norandommap --bsrange=4k-16k {words}"));
        ios.iter().map(|io| io.length).collect()
    };
    let (even, odd) = (lengths(""), lengths("--bs_unaligned"));
    assert!(even.iter().all(|length| length % 4096 == 0));
    assert!(odd.iter().filter(|&length| length % 4096 != 0).count() > odd.len() / 4, "{odd:?}");
    assert!(odd.iter().rev().skip(1).all(|length| (4 * KIB..=16 * KIB).contains(length)), "{odd:?}");
}

#[test]
fn sequential_and_random_ios_have_sizes_of_their_own() {
    let words = "--bs=4k,8k --bs_is_seq_rand=1 --size=1M --number_ios=64 --norandommap";
    let ios = recorded::of_null(&format!("--rw=randread --percentage_random=50 {words}"));
    // A block that starts where the previous one ended is sequential.
    let mut kinds = BTreeSet::new();
    for pair in ios.windows(2) {
        let continues = pair[1].offset == pair[0].offset + pair[0].length;
        kinds.insert(continues);
        assert_eq!(pair[1].length, if continues { 4 * KIB } else { 8 * KIB }, "{pair:?}");
    }
    assert_eq!(kinds.len(), 2, "there are both");
    let all = |rw: &str, length: u64| {
        let ios = recorded::of_null(&format!("--rw={rw} {words}"));
        assert!(ios.iter().all(|io| io.length == length), "{rw}");
    };
    all("write", 4 * KIB);
    all("randwrite", 8 * KIB);
}

#[test]
fn the_share_of_writes() {
    let ios = recorded::of_null("--rw=randrw --rwmixwrite=25 --size=16M");
    let writes = ios.iter().filter(|io| io.direction == 1).count() as f64 / ios.len() as f64;
    assert!((writes - 0.25).abs() < 0.03, "{writes}");
    for share in [0, 100] {
        let ios = recorded::of_null(&format!("--rw=rw --rwmixwrite={share} --size=256k"));
        assert!(ios.iter().all(|io| io.direction == u64::from(share == 100)), "{share}");
    }
    // The same mix, specified by the other direction.
    let of = |words: &str| {
        mixed(&recorded::of_null(&format!("--rw=randrw --size=1M --random_generator=tausworthe {words}")))
    };
    assert_eq!(of("--rwmixwrite=30"), of("--rwmixread=70"));
    assert_eq!(
        of("--rwmixwrite=50"),
        "r250 r221 r168 w132 r154 r251 w3 w57 w83 r214 w172 r144 w243 r97 r4 r191"
    );
}

/// A map of 2^41 blocks does not fit into memory.
#[test]
fn a_map_that_does_not_fit() {
    let words = "--rw=randread --bs=512 --size=1p --random_generator=tausworthe --number_ios=32";
    let soft = recorded::of_null(&format!("{words} --softrandommap=1"));
    assert_eq!(soft.len(), 32);
    assert!(soft.iter().any(|io| io.offset > 1 << 49), "the whole range is used: {soft:?}");
}

/// Numbers of the files that a job's I/Os go to.
fn files(words: &str) -> Result<String, String> {
    let directory = scratch();
    let words = format!("--name=a --nrfiles=4 --size=64k --bs=4k --rw=read {words}");
    let trace = Trace::of(directory.path(), "pread64", &words)?;
    let number = |call: &String| call.split("/a.0.").nth(1)?.chars().next();
    Ok(trace.calls.iter().filter_map(number).collect())
}

#[test]
fn files_are_served_in_the_order_asked_for() {
    for (service, expected) in [
        ("sequential", "0000111122223333"),
        ("roundrobin", "0123012301230123"),
        ("roundrobin:2", "0011223300112233"),
        ("roundrobin:4", "0000111122223333"),
    ] {
        assert_eq!(require!(files(&format!("--file_service_type={service}"))), expected, "{service}");
    }
}

#[test]
fn files_are_drawn() {
    // The I/Os of one file before the next is drawn: a popular file has long runs.
    for service in ["random", "random:2", "zipf:1.5", "pareto:0.2", "normal:10", "gauss:10"] {
        let words =
            format!("--file_service_type={service} --norandommap --rw=randread --io_size=1M --size=256k");
        let drawn = require!(files(&words));
        assert_eq!(drawn.len(), 256, "{service}");
        let mut counts = [0; 4];
        drawn.bytes().for_each(|file| counts[usize::from(file - b'0')] += 1);
        assert_ne!(drawn[..16], "0123012301230123"[..], "{service}");
        if service == "random:2" {
            let held = drawn.as_bytes().chunks(2).filter(|pair| pair[0] == pair[1]).count();
            assert!(held >= 120, "pairs on one file: {drawn}");
        }
        let most = counts.iter().max().copied().unwrap_or(0);
        match service {
            "random" | "random:2" => {
                assert!(counts.iter().all(|count| (30..110).contains(count)), "{counts:?}")
            }
            _ => assert!(most > 64, "{service}: {counts:?}"),
        }
    }
}

#[test]
fn names_follow_their_template() {
    let directory = scratch();
    let words = "--name=job --rw=write --bs=4k --size=16k --nrfiles=2 --numjobs=2";
    let finished = Launch::fathom(directory.path())
        .words(words)
        .argument("--filename_format=x-$jobname/$jobnum_$filenum.dat")
        .run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert_eq!(finished.stderr, "fathom: job job: x-job does not exist; the directory is created\n");
    for name in ["0_0", "0_1", "1_0", "1_1"] {
        let path = directory.path().join(format!("x-job/{name}.dat"));
        assert_eq!(
            std::fs::metadata(&path).map(|found| found.len()).ok(),
            Some(8 * KIB),
            "{}",
            path.display()
        );
    }
}

/// Without scrambling, a job writes the initial content of its buffer.
#[test]
fn each_write_is_scrambled() {
    let written = |words: &str| {
        let directory = scratch();
        let words = format!("--name=a --filename=data --rw=write --bs=4k --size=64k {words}");
        Launch::fathom(directory.path()).words(&words).run().expect_clean();
        std::fs::read(directory.path().join("data")).expect("written")
    };
    let distinct = |data: &[u8]| data.chunks(4096).collect::<BTreeSet<_>>().len();
    assert_eq!(distinct(&written("")), 16);
    let alike = written("--scramble_buffers=0");
    assert_eq!(distinct(&alike), 1);
    // The published initial content for the default seed.
    assert_eq!(alike[..8], [0x35, 0xe0, 0x28, 0xcc, 0x38, 0xa0, 0x99, 0x16]);
}
