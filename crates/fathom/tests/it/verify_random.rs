//! Random verify jobs of all kinds: a clean run never raises an alarm, and damage never goes unnoticed.

use crate::support::program::Launch;
use crate::support::{json, scratch};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use std::path::Path;

fn runner(cases: u32) -> TestRunner {
    // A failing job is shrunk to few options; each attempt is a run of the program.
    TestRunner::new(Config { cases, max_shrink_iters: 40, failure_persistence: None, ..Config::default() })
}

/// An option that is present in some of the cases.
fn sometimes(chance: f64, values: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::option::weighted(chance, select(values)).prop_map(|value| value.unwrap_or_default().to_owned())
}

/// Location and generation of the data.
fn layouts() -> impl Strategy<Value = String> {
    let kinds = select(vec![
        "md5", "crc64", "crc32c", "crc16", "xxhash", "sha1", "sha256", "sha512", "sha3-256", "crc32",
    ]);
    let engines = select(vec![
        "psync",
        "libaio --iodepth=8",
        "io_uring --iodepth=16",
        "posixaio --iodepth=4",
        "pvsync2",
    ]);
    let sizes = select(vec!["4k", "512", "16k", "512-16k", "1k-9k"]);
    let more = (
        sometimes(0.3, &["--verify_interval=512", "--verify_interval=4096"]),
        sometimes(0.2, &["--verify_offset=256"]),
        sometimes(0.2, &["--verify_async=2"]),
        sometimes(0.2, &["--verify_header_format=first"]),
        sometimes(0.1, &["--bs_unaligned=1"]),
    );
    (kinds, engines, sizes, more).prop_map(
        |(kind, engine, size, (interval, offset, threads, format, unaligned))| {
            let sizes = if size.contains('-') {
                format!("--bsrange={size} {unaligned}")
            } else {
                format!("--bs={size}")
            };
            // Both need space in the interval.
            let offset = if interval.is_empty() { offset } else { String::new() };
            let offset = if size.starts_with("512") { String::new() } else { offset };
            format!("--verify={kind} --ioengine={engine} {sizes} {interval} {offset} {threads} {format}")
        },
    )
}

/// Order of operations.
fn orders() -> impl Strategy<Value = String> {
    let modes =
        select(vec!["write", "randwrite", "rw", "randrw", "write:8k", "randwrite:4", "randtrimwrite"]);
    let more = (
        sometimes(0.3, &["--norandommap"]),
        sometimes(
            0.4,
            &["--verify_backlog=1", "--verify_backlog=9", "--verify_backlog=40 --verify_backlog_batch=7"],
        ),
        sometimes(0.2, &["--loops=2"]),
        sometimes(0.2, &["--io_size=300k", "--io_size=2m"]),
        sometimes(0.2, &["--trim_percentage=30", "--trim_percentage=40 --trim_backlog=6"]),
        sometimes(
            0.2,
            &["--random_distribution=zipf:1.1", "--random_generator=lfsr", "--random_generator=tausworthe64"],
        ),
        sometimes(0.15, &["--experimental_verify=1", "--fsync=8", "--rate=40m"]),
        sometimes(0.1, &["--time_based --runtime=300ms"]),
        sometimes(0.15, &["--filename=one:two:three"]),
    );
    (modes, more).prop_map(|(mode, (map, backlog, loops, amount, trims, offsets, other, time, files))| {
        format!("--rw={mode} {map} {backlog} {loops} {amount} {trims} {offsets} {other} {time} {files}")
    })
}

fn run(directory: &Path, words: &str) -> (i32, String, String) {
    let finished = Launch::fathom(directory)
        .words("--name=job --filename=data --size=256k --output-format=json")
        .words(words)
        .run();
    (finished.code(), finished.stdout, finished.stderr)
}

#[test]
fn clean_runs_raise_no_alarm() {
    fathom_only!();
    let outcome = runner(200).run(&(layouts(), orders()), |(layout, order)| {
        let directory = scratch();
        let (code, stdout, stderr) = run(directory.path(), &format!("{layout} {order}"));
        prop_assert_eq!(code, 0, "{}", stderr);
        let report = &json::document(&stdout)["fathom verify"][0];
        prop_assert_eq!(report["wrong_blocks"].as_u64(), Some(0));
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

/// Damages data in one of several ways.
fn damage(data: &mut [u8], kind: usize, place: usize) {
    match kind {
        // Away from the headers, where two bytes are unused and digests leave space.
        0 => data[place % (data.len() / 512) * 512 + 440 + place % 72] ^= 1 << (place % 8),
        1 => {
            let from = place % (data.len() - 600);
            data[from..from + 600].fill(0);
        }
        2 => {
            let (a, b) = (place % 32, 32 + place / 32 % 32);
            let (front, back) = data.split_at_mut(b * 4096);
            front[a * 4096..(a + 1) * 4096].swap_with_slice(&mut back[..4096]);
        }
        _ => {
            let from = place % (data.len() / 512) * 512;
            data[from..from + 512]
                .iter_mut()
                .enumerate()
                .for_each(|(at, byte)| *byte ^= (at * 7 + place) as u8 | 1);
        }
    }
}

#[test]
fn damage_never_goes_unnoticed() {
    fathom_only!();
    let strong = layouts().prop_filter("covers every byte", |layout| !layout.contains("crc16"));
    let strong = strong.prop_filter("headers at whole sectors", |layout| !layout.contains("bs_unaligned"));
    let cases = (strong, select(vec!["write", "randwrite"]), 0usize..4, any::<usize>());
    let outcome = runner(150).run(&cases, |(layout, mode, kind, place)| {
        let directory = scratch();
        let words = format!("{layout} --rw={mode}");
        let (code, _, stderr) = run(directory.path(), &format!("{words} --do_verify=0"));
        prop_assert_eq!(code, 0, "{}", stderr);
        let path = directory.path().join("data");
        let mut data = std::fs::read(&path).expect("the file was written");
        let before = data.clone();
        damage(&mut data, kind, place);
        std::fs::write(&path, &data).expect("the file can be written");
        let (code, stdout, stderr) =
            run(directory.path(), &format!("{words} --verify_only --verify_header_seed=1"));
        let changed: Vec<usize> = (0..data.len()).filter(|&at| data[at] != before[at]).collect();
        prop_assert_eq!(code, 1, "{:?} {}", &changed[..changed.len().min(4)], stderr);
        prop_assert!(json::document(&stdout)["fathom verify"][0]["wrong_blocks"].as_u64() > Some(0));
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

/// The jobs do not depend on time, so that a separate run can repeat them.
fn repeatable_orders() -> impl Strategy<Value = String> {
    let modes = select(vec![
        "write",
        "randwrite",
        "rw",
        "randrw",
        "write:8k",
        "randwrite:4",
        "trimwrite",
        "randtrimwrite",
    ]);
    let more = (
        sometimes(0.5, &["--norandommap"]),
        sometimes(0.2, &["--loops=2", "--loops=3"]),
        sometimes(0.3, &["--io_size=300k", "--io_size=2m", "--io_size=700k"]),
        sometimes(0.2, &["--number_ios=20", "--number_ios=300"]),
        sometimes(0.2, &["--trim_percentage=30", "--trim_percentage=40 --trim_verify_zero=1"]),
        sometimes(
            0.2,
            &[
                "--random_distribution=zipf:1.1",
                "--random_generator=lfsr",
                "--random_generator=tausworthe64",
                "--percentage_random=50",
            ],
        ),
        sometimes(
            0.3,
            &[
                "--filename=one:two:three",
                "--filename=one:two --file_service_type=random",
                "--offset=64k",
                "--offset=8k --size=100k",
            ],
        ),
        sometimes(0.3, &["--thread"]),
    );
    let do_verify = select(vec!["--do_verify=1", "--do_verify=0"]);
    (modes, more, do_verify).prop_map(
        |(mode, (map, loops, amount, ios, trims, offsets, other, thread), verify)| {
            // The continuation after the first pass depends on whether the run read back in between.
            let trims = if mode.contains("trim") { "" } else { trims.as_str() };
            format!("--rw={mode} {map} {loops} {amount} {ios} {trims} {offsets} {other} {thread} {verify}")
        },
    )
}

/// Initial content of a file, to detect where a job has written.
const BEFORE: u8 = 0xee;

fn files_of(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(directory)
        .expect("it can be read")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| !path.to_string_lossy().contains("verify.state"))
        .collect();
    files.sort();
    files
}

/// Reads are checked in batches: the last block is checked regardless of the number of blocks before it, in
/// each way of reading back.
#[test]
fn the_last_block_is_checked_whatever_the_batch() {
    fathom_only!();
    for (method, check) in [
        ("sha512", "--verify_only --verify_header_seed=1 --verify_write_sequence=1"),
        ("md5", "--verify_only"),
        ("md5", "--rw=read"),
        ("sha512", "--rw=read --ioengine=psync"),
    ] {
        for blocks in 1..=10 {
            let directory = scratch();
            let words = format!(
                "--size={}k --bs=16k --rw=write --verify={method} --ioengine=libaio --iodepth=4",
                16 * blocks
            );
            let (code, _, stderr) = run(directory.path(), &words);
            assert_eq!(code, 0, "{words}: {stderr}");
            let file = directory.path().join("data");
            let mut data = std::fs::read(&file).expect("there");
            let last = data.len() - 100;
            data[last] ^= 0x10;
            std::fs::write(&file, &data).expect("written");
            let (code, stdout, stderr) = run(directory.path(), &format!("{words} {check}"));
            assert_eq!(code, 1, "{words} {check}: {stderr}");
            let report = &json::document(&stdout)["fathom verify"][0];
            let found = (report["checked_reads"].as_u64(), report["wrong_blocks"].as_u64());
            assert_eq!(found, (Some(blocks), Some(1)), "{words} {check}");
        }
    }
}

#[test]
fn a_separate_check_knows_what_came_later() {
    fathom_only!();
    let cases = (layouts(), repeatable_orders(), 0usize..4, any::<usize>());
    let outcome = runner(120).run(&cases, |(layout, order, kind, place)| {
        let directory = scratch();
        let words = format!("{layout} {order}");
        // The files are laid out first, and then filled with content that no write produces.
        run(directory.path(), &format!("{words} --create_only=1"));
        for file in files_of(directory.path()) {
            let length = std::fs::metadata(&file).expect("there").len() as usize;
            std::fs::write(&file, vec![BEFORE; length]).expect("written");
        }
        let (code, _, stderr) = run(directory.path(), &words);
        prop_assert_eq!(code, 0, "{}", stderr);
        let check = format!("{words} --verify_only --verify_header_seed=1 --verify_write_sequence=1");
        let (code, stdout, stderr) = run(directory.path(), &check);
        prop_assert_eq!(code, 0, "{}", stderr);
        let report = &json::document(&stdout)["fathom verify"][0];
        prop_assert_eq!(report["wrong_blocks"].as_u64(), Some(0));
        // Damage to written data is found, unless the data may have been trimmed.
        let files = files_of(directory.path());
        let file = &files[place % files.len()];
        let mut data = std::fs::read(file).expect("there");
        let before = data.clone();
        if order.contains("trim")
            || layout.contains("crc16")
            || layout.contains("unaligned")
            || data.len() < 128 * 4096 / 2
        {
            return Ok(());
        }
        damage_part(&mut data, kind, place);
        let changed: Vec<usize> = (0..data.len()).filter(|&at| data[at] != before[at]).collect();
        let sector = |at: usize| &before[at / 512 * 512..(at / 512 + 1) * 512];
        if changed.is_empty() || changed.iter().any(|&at| sector(at).iter().all(|&byte| byte == BEFORE)) {
            return Ok(());
        }
        std::fs::write(file, &data).expect("written");
        let (code, _, stderr) = run(directory.path(), &check);
        prop_assert_eq!(code, 1, "{:?} of {} {}", &changed[..changed.len().min(4)], file.display(), stderr);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

/// Like [`damage`], in the first half of a file, which every layout has.
fn damage_part(data: &mut [u8], kind: usize, place: usize) {
    let half = data.len().min(64 * 4096);
    damage(&mut data[..half], kind, place);
}
