//! A job's sequence of I/Os is identical to fio's, so that each program finds the data written by the other.

use crate::support::program::Launch;
use crate::support::scratch;

/// Recorded from fio 3.41.
const RECORDED: &str = include_str!("sequences.txt");

/// One I/O: its direction word, file number, first byte, and length in bytes.
type Made = (String, u64, u64, u64);

/// The I/Os of a job without a device, as recorded by the job itself.
#[track_caller]
fn made(words: &str) -> Vec<Made> {
    let directory = scratch();
    let block = if words.contains("--bs") { "" } else { "--bs=4k " };
    let words = format!("--name=j --ioengine=null --write_iolog=log {block}{words}");
    let finished = Launch::fathom(directory.path()).words(&words).run();
    assert_eq!(finished.code(), 0, "{words}: {}{}", finished.stderr, finished.stdout);
    let text = std::fs::read_to_string(directory.path().join("log")).expect("a log");
    text.lines().filter_map(io).collect()
}

/// Time, file, direction, offset and length of an I/O; other lines have no direction.
fn io(line: &str) -> Option<Made> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, file, word @ ("read" | "write" | "trim"), offset, length] = fields[..] else { return None };
    let number = |text: &str| text.parse().expect("a number");
    let file = file.rsplit_once('.').map_or(0, |(_, index)| number(index));
    Some((word.to_string(), file, number(offset), number(length)))
}

/// A hash of all I/Os (FNV-1a).
fn sum(ios: &[Made]) -> u64 {
    let direction =
        |word: &str| ["read", "write", "trim"].iter().position(|other| *other == word).unwrap_or(3);
    ios.iter()
        .flat_map(|(word, file, offset, length)| [direction(word) as u64, *file, *offset, *length])
        .fold(0xcbf2_9ce4_8422_2325, |sum, value| (sum ^ value).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The first I/Os in KiB, in the format of the table.
fn told(ios: &[Made], count: usize) -> String {
    let differ = |field: fn(&Made) -> String| ios.iter().any(|io| field(io) != field(&ios[0]));
    let (mixed, files, lengths) =
        (differ(|io| io.0.clone()), differ(|io| io.1.to_string()), differ(|io| io.3.to_string()));
    let word = |io: &Made| {
        let direction = if mixed { &io.0[..1] } else { "" };
        let file = if files { format!("{}:", io.1) } else { String::new() };
        let length = if lengths { format!("+{}", io.3 as f64 / 1024.0) } else { String::new() };
        format!("{direction}{file}{}{length}", io.2 as f64 / 1024.0)
    };
    ios.iter().take(count).map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn jobs_make_the_recorded_ios() {
    let mut wrong = Vec::new();
    for row in RECORDED.lines().filter(|line| line.starts_with("--")) {
        let fields: Vec<&str> = row.split(" | ").collect();
        let [words, count, expected, first] = fields[..] else { panic!("{row}") };
        let ios = made(words);
        let begins = told(&ios, first.split(' ').count());
        if begins != first || ios.len().to_string() != count || format!("{:016x}", sum(&ios)) != expected {
            wrong.push(format!("{words}\n  {count} I/Os, {first}\n  {} I/Os, {begins}", ios.len()));
        }
    }
    assert!(wrong.is_empty(), "recorded, then made:\n{}", wrong.join("\n"));
}

/// If fio ends early, the sequence is identical up to there.
#[test]
fn jobs_end_when_their_work_is_done() {
    if crate::support::program::is_another() {
        return;
    }
    let cases = [
        // The partial block at the end of the region is drawn, or reached by a sequence.
        (
            "--rw=randread --filename=f --size=130k --random_distribution=zipf:1.2:0.5",
            33,
            "64 64 100 24 44 64 44",
        ),
        ("--rw=randwrite:4 --size=130k --random_generator=tausworthe", 33, "124"),
        (
            "--rw=randwrite --bs=32k --size=641k --norandommap --randseed=34 --percentage_random=40",
            21,
            "0 32 128 160 192 608",
        ),
        // The map of small blocks has no space for large ones.
        ("--rw=randwrite --bs=4k,8k --size=80k --random_generator=tausworthe", 10, "72 64 48 40 56"),
        (
            "--rw=randrw --bs=8k,4k --size=80k --random_generator=tausworthe",
            13,
            "r72+8 r64+8 r48+8 w40+4 r56+8",
        ),
        // Too few blocks for a register, and a register that would not advance.
        ("--rw=randread --size=60k --random_generator=lfsr", 15, ""),
        ("--rw=randread --size=220k --random_generator=lfsr --randseed=2638883386254651193", 55, ""),
    ];
    for (words, count, first) in cases {
        let ios = made(words);
        assert_eq!(ios.len(), count, "{words}");
        let begins = told(&ios, first.split_whitespace().count());
        assert_eq!(begins, first, "{words}");
    }
}

#[test]
fn time_goes_before_a_number_of_ios() {
    let ios = made("--rw=read --size=32k --number_ios=5 --time_based --runtime=1 --rate_iops=60");
    assert!(ios.len() > 8, "{} I/Os", ios.len());
}

#[test]
fn files_that_need_no_opening_have_their_turns_too() {
    let ios = made("--rw=read --size=64k --nrfiles=4 --openfiles=2");
    let files: Vec<u64> = ios.iter().map(|io| io.1).collect();
    assert_eq!(files, [0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3]);
}
