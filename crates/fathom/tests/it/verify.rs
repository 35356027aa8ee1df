//! Verification: fathom and an installed fio verify each other's data, every error is found and classified, and
//! nothing else is reported.

use crate::support::devices::{LoopDevice, Mounted};
use crate::support::program::{self, Finished, Launch};
use crate::support::recorded;
use crate::support::{json, scratch};
use serde_json::Value;
use std::path::Path;

const KINDS: [&str; 16] = [
    "md5", "crc64", "crc32", "crc32c", "crc16", "crc7", "sha1", "sha256", "sha512", "sha3-224", "sha3-256",
    "sha3-384", "sha3-512", "xxhash", "meta", "pattern",
];

/// Runs fathom on the file `data` and returns the JSON of the run.
#[track_caller]
fn fathom(directory: &Path, words: &str) -> (Finished, Value) {
    // File names accumulate.
    let file = if words.contains("--filename=") { "" } else { "--filename=data" };
    let finished = Launch::fathom(directory)
        .words("--name=job --bs=4k --size=64k --ioengine=psync --output-format=json")
        .words(file)
        .words(words)
        .run();
    let document = json::document(&finished.stdout);
    (finished, document)
}

/// The classes of miscompares with their counts.
fn classes(document: &Value) -> Vec<(String, u64)> {
    let found = document["fathom verify"][0]["miscompares"].as_object().expect("counters");
    found.iter().map(|(class, count)| (class.clone(), count.as_u64().expect("a count"))).collect()
}

#[track_caller]
fn expect_clean(directory: &Path, words: &str) -> Value {
    let (finished, document) = fathom(directory, words);
    let expected = if words.contains("norandommap --bsrange") {
        "fio: norandommap given for variable block sizes, verify limited\n"
    } else {
        ""
    };
    assert_eq!((finished.code(), finished.complaints().as_str()), (0, expected), "{words}");
    assert_eq!(classes(&document), [], "{words}");
    document
}

/// Writes the file `data`, corrupts it, and verifies it again.
#[track_caller]
fn spoiled(directory: &Path, words: &str, spoil: impl Fn(&mut Vec<u8>)) -> (Finished, Value) {
    fathom(directory, &format!("--rw=write --do_verify=0 {words}"));
    let mut data = std::fs::read(directory.join("data")).expect("the file was written");
    spoil(&mut data);
    std::fs::write(directory.join("data"), data).expect("the file can be written");
    fathom(directory, &format!("--rw=write --verify_only {words}"))
}

fn fio(program: &Path, directory: &Path, words: &str) -> Finished {
    Launch::of(program, directory)
        .words("--name=job --filename=data --size=256k --ioengine=psync")
        .words(words)
        .run()
}

/// Sets of options that every method is tested with.
fn variants(kind: &str) -> Vec<String> {
    let pattern = if kind == "pattern" { "--verify_pattern=0x1122334455" } else { "" };
    let mut variants = vec![
        format!("--bs=4k {pattern}"),
        format!("--bs=512 {pattern}"),
        format!("--bs=64k --verify_interval=4k {pattern}"),
        format!("--bs=16k --verify_offset=1024 {pattern}"),
        format!("--bs=8k --verify_pattern_interval=512 {pattern}")
            .replace("--verify_pattern_interval=512 ", ""),
        "--bs=8k --verify_pattern=0xdeadbeef%o\"ab\"-12".to_owned(),
    ];
    if kind != "pattern" {
        // Without headers it is unknown where a write of any length began.
        variants.push("--bsrange=4k-64k --verify_interval=4k".to_owned());
    }
    variants
}

#[test]
fn data_goes_both_ways_between_fathom_and_fio() {
    fathom_only!();
    let reference = require!(program::reference());
    let format = program::header_format_of(&reference);
    // Most of the time is fio's start, so several run concurrently.
    let one_kind = |kind: &str| {
        let directory = scratch();
        let directory = directory.path();
        for variant in variants(kind) {
            let words = format!("--verify={kind} {variant}");
            let written = fio(&reference, directory, &format!("--rw=randwrite {words}"));
            assert_eq!(written.code(), 0, "{words}: fio writes: {}", written.stderr);
            let read = fio(&program::path(), directory, &format!("--rw=read {words}"));
            assert_eq!(
                (read.code(), read.complaints().as_str()),
                (0, ""),
                "{words}: fathom reads what fio wrote"
            );
            let words_for_fio = format!("--rw=randwrite {words} {format}");
            let written = fio(&program::path(), directory, &words_for_fio);
            assert_eq!((written.code(), written.complaints().as_str()), (0, ""), "{words}: fathom writes");
            let read = fio(&reference, directory, &format!("--rw=read {words}"));
            assert_eq!(
                (read.code(), read.complaints().as_str()),
                (0, ""),
                "{words}: fio reads what fathom wrote"
            );
        }
    };
    std::thread::scope(|scope| {
        for kinds in KINDS.chunks(KINDS.len().div_ceil(4)) {
            scope.spawn(move || kinds.iter().for_each(|kind| one_kind(kind)));
        }
    });
}

#[test]
fn every_kind_finds_a_changed_byte_of_its_data() {
    for kind in KINDS.into_iter().filter(|kind| *kind != "meta") {
        for variant in ["", "--verify_interval=512", "--verify_offset=1024", "--verify_pattern=0x5a%o"] {
            let directory = scratch();
            let variant = if kind == "pattern" { "--verify_pattern=0x5a%o" } else { variant };
            let words = format!("--verify={kind} {variant}");
            let (finished, document) = spoiled(directory.path(), &words, |data| data[8192 + 4000] ^= 0x10);
            assert_eq!(finished.code(), 1, "{words}");
            assert_eq!(json::integer(json::job(&document, "job"), "error"), 84, "{words}");
            assert_eq!(classes(&document), [("bit_flips".to_owned(), 1)], "{words}: {}", finished.stderr);
            let listed = std::fs::read_to_string(directory.path().join("local-job-0-miscompares.jsonl"))
                .expect("a list");
            assert_eq!(listed.lines().count(), 1, "{words}");
            let line: Value = serde_json::from_str(&listed).expect("JSON");
            // `pattern` alone has no header; the header of the others is found at any position.
            assert_eq!(line["header"]["write"].is_number(), kind != "pattern", "{words}: {listed}");
        }
    }
}

#[test]
fn what_happened_is_told() {
    let block = |number: usize| number * 4096..(number + 1) * 4096;
    type Case<'a> = (&'a str, &'a str, &'a dyn Fn(&mut Vec<u8>));
    let cases: [Case<'_>; 7] = [
        ("never_written", "holds only zeros", &|data| data[block(3)].fill(0)),
        ("misdirected", "for offset 20480 is here", &|data| data.copy_within(block(5), block(2).start)),
        ("torn", "4 of 8 sectors", &|data| data[block(3).start + 2048..block(3).end].fill(0)),
        ("bit_flips", "byte 100 bit 3", &|data| data[block(3).start + 100] ^= 8),
        ("damaged", "zeroed bytes: 20, between byte 0 and byte 47", &|data| data[block(3)][..48].fill(0)),
        ("damaged", "overwritten bytes: 20", &|data| {
            data[block(3)][200..220].iter_mut().for_each(|byte| *byte = !*byte)
        }),
        ("unrecognised", "not a block of a verified job", &|data| {
            data[block(3)].iter_mut().enumerate().for_each(|(at, byte)| *byte ^= (at % 251) as u8 | 1)
        }),
    ];
    for (class, sentence, spoil) in cases {
        let directory = scratch();
        let (finished, document) = spoiled(directory.path(), "--verify=crc32c", spoil);
        assert_eq!(classes(&document), [(class.to_owned(), 1)], "{}", finished.stderr);
        assert!(finished.stderr.contains(sentence), "{class}: {}", finished.stderr);
    }
}

#[test]
fn blocks_that_changed_places_are_both_found() {
    let directory = scratch();
    let (_, document) = spoiled(directory.path(), "--verify=sha256", |data| {
        let (front, back) = data.split_at_mut(32768);
        front[4096..8192].swap_with_slice(&mut back[8192..12288]);
    });
    assert_eq!(classes(&document), [("misdirected".to_owned(), 2)]);
}

#[test]
fn an_earlier_generation_is_stale() {
    let directory = scratch();
    let path = directory.path().join("data");
    let words = "--rw=write --verify=crc32c --do_verify=0";
    fathom(directory.path(), &format!("{words} --randseed=1"));
    let old = std::fs::read(&path).expect("the file was written");
    fathom(directory.path(), &format!("{words} --randseed=2"));
    let mut data = std::fs::read(&path).expect("the file was written");
    data[16384..20480].copy_from_slice(&old[16384..20480]);
    std::fs::write(&path, data).expect("the file can be written");
    let words = "--rw=write --verify=crc32c --verify_only --verify_header_seed=1 --randseed=2";
    let (finished, document) = fathom(directory.path(), words);
    assert_eq!(classes(&document), [("stale".to_owned(), 1)], "{}", finished.stderr);
    assert!(finished.stderr.contains("offset 16384: stale generation"), "{}", finished.stderr);
}

#[test]
fn sequence_numbers_tell_one_loop_from_another() {
    let directory = scratch();
    fathom(directory.path(), "--rw=write --verify=crc32c --do_verify=0 --loops=2");
    let words = "--rw=write --verify=crc32c --verify_only";
    expect_clean(directory.path(), &format!("{words} --verify_write_sequence=0"));
    let (finished, document) = fathom(directory.path(), &format!("{words} --verify_write_sequence=1"));
    assert_eq!(classes(&document), [("stale".to_owned(), 16)], "{}", finished.stderr);
    assert!(finished.stderr.contains("bad header numberio 16, wanted 0"), "{}", finished.stderr);
}

#[test]
fn a_block_of_another_file_is_told_with_its_name() {
    let directory = scratch();
    let words = "--name=job --filename=one:two --bs=4k --size=64k --ioengine=psync --verify=md5 --rw=write";
    Launch::fathom(directory.path()).words(&format!("{words} --do_verify=0")).run().expect_clean();
    let (one, two) = (directory.path().join("one"), directory.path().join("two"));
    let mut data = std::fs::read(&one).expect("the file was written");
    data[8192..12288].copy_from_slice(&std::fs::read(&two).expect("the file was written")[8192..12288]);
    std::fs::write(&one, data).expect("the file can be written");
    let finished = Launch::fathom(directory.path())
        .words(&format!("{words} --verify_only --verify_header_seed=1"))
        .run();
    assert_eq!(finished.code(), 1);
    assert!(
        finished.stderr.contains("wrong file: the block belongs to two at offset 8192"),
        "{}",
        finished.stderr
    );
}

#[test]
fn data_of_another_kind_is_named() {
    fathom_only!();
    let directory = scratch();
    fathom(directory.path(), "--rw=write --verify=crc32c");
    let (finished, document) = fathom(directory.path(), "--rw=write --verify=md5 --verify_only");
    assert_eq!(finished.code(), 1);
    assert_eq!(classes(&document), [("other_method".to_owned(), 16)], "{}", finished.stderr);
    let line = "the block was written with verify=crc32c, this job has verify=md5; set it as for the write";
    assert!(finished.stderr.contains(line), "{}", finished.stderr);
}

#[test]
fn the_first_mismatch_can_end_the_job_and_none_has_to() {
    let spoil = |data: &mut Vec<u8>| {
        data[5000] ^= 1;
        data[9000] ^= 1;
    };
    let directory = scratch();
    let first = |words: &str| spoiled(directory.path(), &format!("--verify=md5 {words}"), spoil);
    let at = |document: &Value| document["fathom verify"][0].clone();
    let (finished, document) = first("");
    assert_eq!((finished.code(), at(&document)["checked_reads"].as_u64()), (1, Some(16)));
    let (finished, document) = first("--verify_fatal=1");
    assert_eq!((finished.code(), at(&document)["checked_reads"].as_u64()), (1, Some(2)));
    let (finished, document) = first("--continue_on_error=verify");
    assert_eq!((finished.code(), at(&document)["wrong_blocks"].as_u64()), (0, Some(2)));
    let errors = |document: &Value| {
        ["total_err", "error", "first_error"].map(|key| json::integer(json::job(document, "job"), key))
    };
    assert_eq!(errors(&document), [2, 84, 84]);
    let (finished, document) = first("--continue_on_error=verify --verify_fatal=1");
    assert_eq!((finished.code(), at(&document)["checked_reads"].as_u64()), (0, Some(2)));
    assert_eq!(errors(&document), [1, 84, 84]);
}

#[test]
fn wrong_blocks_are_kept_as_files_when_asked() {
    let directory = scratch();
    spoiled(directory.path(), "--verify=md5 --verify_dump=1", |data| {
        data[5000] ^= 1;
        data[8192] ^= 1;
    });
    let kept = |name: &str| {
        std::fs::read(directory.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let (received, expected) = (kept("data.4096.received"), kept("data.4096.expected"));
    let differences: Vec<usize> = (48..4096).filter(|&at| received[at] != expected[at]).collect();
    assert_eq!(differences, [904]);
    assert_eq!(kept("data.8192.hdr_fail").len(), 4096);
}

/// Data read by a job that did not write it must match its headers, or the pattern.
#[test]
fn wrong_blocks_of_unknown_origin_are_kept_too() {
    for (words, at, kept_as, differences) in [
        ("--verify=crc32c", 9000, "8192", &[808][..]),
        ("--verify=sha256 --verify_interval=1k", 9900, "9216", &[684]),
        ("--verify=md5 --verify_offset=1000", 9500, "8192", &[1308]),
        // Intervals require headers.
        ("--verify=pattern --verify_pattern=\"abc\"%o --verify_interval=1k", 9900, "8192", &[1708]),
    ] {
        let directory = scratch();
        fathom(directory.path(), &format!("--rw=write --do_verify=0 {words}"));
        let path = directory.path().join("data");
        let mut data = std::fs::read(&path).expect("the file was written");
        data[at] ^= 0x99;
        std::fs::write(&path, data).expect("the file can be written");
        let (finished, _) = fathom(directory.path(), &format!("--rw=read --verify_dump=1 {words}"));
        assert_eq!(finished.code(), 1, "{words}");
        let kept = |kind: &str| {
            let name = format!("data.{kept_as}.{kind}");
            assert!(
                finished.stderr.contains(&format!("       {kind} data dumped as ")),
                "{words}: {}",
                finished.stderr
            );
            std::fs::read(directory.path().join(&name))
                .unwrap_or_else(|error| panic!("{words}: {name}: {error}"))
        };
        let (received, expected) = (kept("received"), kept("expected"));
        assert_eq!(received.len(), expected.len(), "{words}");
        // Two bytes of a header are unused, but its checksum covers them.
        let has_meaning = |at: &usize| words.contains("pattern") || !(42..48).contains(&(at % 1000));
        let found: Vec<usize> = (0..received.len())
            .filter(has_meaning)
            .filter(|&at| received[at] != expected[at])
            .filter(|at| *at >= 128)
            .collect();
        assert_eq!(found, differences, "{words}");
    }
}

#[test]
fn blocks_are_read_back_in_the_order_of_fio() {
    let directory = scratch();
    let order = |words: &str| -> Vec<(u64, u64)> {
        let words =
            format!("--name=job --filename=data --bs=4k --size=16k --ioengine=psync --verify=crc32c {words}");
        recorded::of(directory.path(), &words).iter().map(|io| (io.direction, io.block())).collect()
    };
    let (r, w) = (0, 1);
    assert_eq!(order("--rw=write"), [(w, 0), (w, 1), (w, 2), (w, 3), (r, 0), (r, 1), (r, 2), (r, 3)]);
    assert_eq!(order("--rw=write --do_verify=0"), [(w, 0), (w, 1), (w, 2), (w, 3)]);
    assert_eq!(order("--rw=write --verify_only"), [(r, 0), (r, 1), (r, 2), (r, 3)]);
    assert_eq!(
        order("--rw=write --verify_backlog=2"),
        [(w, 0), (w, 1), (r, 0), (r, 1), (w, 2), (w, 3), (r, 2), (r, 3)]
    );
    assert_eq!(
        order("--rw=write --verify_backlog=2 --verify_backlog_batch=1"),
        [(w, 0), (w, 1), (r, 0), (w, 2), (r, 1), (w, 3), (r, 2), (r, 3)]
    );
    assert_eq!(order("--rw=write --number_ios=2"), [(w, 0), (w, 1), (r, 0), (r, 1)]);
    let random = order("--rw=randwrite");
    assert_eq!(random[..4].iter().map(|io| io.1).collect::<Vec<u64>>(), [3, 0, 2, 1]);
    assert_eq!(random[4..].iter().map(|io| io.1).collect::<Vec<u64>>(), [3, 0, 2, 1]);
    assert_eq!(order("--rw=randwrite --experimental_verify=1"), random);
    // If places are written twice, each is read once, in order.
    let twice = order("--rw=write:4k");
    assert_eq!(twice, [(w, 0), (w, 2), (w, 0), (w, 2), (r, 0), (r, 2)]);
    // A write replaces the one it overwrites, so this backlog never fills.
    assert_eq!(
        order("--rw=write:-4k --bs=8k --size=32k --verify_backlog=2"),
        [(w, 0), (w, 1), (w, 2), (w, 3), (r, 3)]
    );
}

/// A separate check reads each place once, against the last write to it, and counts the writes as if it had
/// made them.
#[test]
fn a_separate_check_reads_each_place_once() {
    for (words, writes, bytes_read) in [
        ("--rw=write --io_size=1m", 16, 512),
        ("--rw=write --io_size=800k", 13, 512),
        ("--rw=write:64k --io_size=1m", 16, 256),
        ("--rw=randwrite --number_ios=5", 5, 320),
        ("--rw=write --filename=a:b --io_size=1m", 16, 512),
        ("--rw=write --loops=2", 16, 512),
        ("--rw=write --time_based --runtime=60", 8, 512),
        ("--rw=write", 8, 512),
        ("--rw=randwrite --norandommap", 8, 384),
        ("--rw=randwrite --norandommap --io_size=1m", 16, 512),
        ("--rw=randwrite --io_size=1200k", 16, 512),
    ] {
        let directory = scratch();
        let words = format!("--size=512k --bs=64k --verify=md5 {words}");
        let write = words.replace("--time_based --runtime=60", "");
        let document = expect_clean(directory.path(), &format!("{write} --do_verify=0"));
        assert_eq!(json::integer(json::job(&document, "job"), "write/total_ios"), writes, "{words}");
        let (finished, checked) =
            fathom(directory.path(), &format!("{words} --verify_only --verify_write_sequence=1"));
        assert_eq!((finished.code(), classes(&checked)), (0, vec![]), "{words}: {}", finished.stderr);
        let job = json::job(&checked, "job");
        assert_eq!(json::integer(job, "read/io_bytes"), bytes_read * 1024, "{words}");
        assert_eq!(json::integer(job, "write/total_ios"), writes, "{words}");
        assert_eq!(json::integer(job, "write/io_bytes"), writes * 65536, "{words}");
        assert_eq!(json::integer(job, "write/bw"), 0, "{words}");
    }
    for words in [
        "--rw=write:8k --bsrange=16k-32k",
        "--rw=randwrite --norandommap --bs=4k",
        "--rw=randwrite --norandommap --bsrange=4k-32k --verify_interval=4k",
        "--rw=write --trim_percentage=20 --bs=4k",
        "--rw=write --trim_percentage=20 --trim_verify_zero=1 --bs=4k",
        "--rw=randwrite --random_distribution=zipf:1.1 --bs=4k --io_size=2m",
        "--rw=randwrite --percentage_random=50 --bs=4k",
        "--rw=write --time_based --runtime=1 --bs=64k",
        // Backward steps overlap, and the number of bytes read back determines whether another pass follows.
        "--rw=write:-32k --bs=64k --size=256k --offset=64k",
        "--rw=write:-4k --bs=8k --size=256k --offset=36k",
        "--rw=write:-4k --bs=8k --size=256k --offset=64k --loops=2",
        "--rw=write:-4k --bs=8k --size=256k --offset=36k --verify_backlog=3",
        "--rw=write:-4k --bs=8k --size=256k --offset=36k --verify_backlog=3 --verify_interval=4k",
        "--rw=write:-4k --bs=4k --size=128k --offset=36k --verify_backlog=8 --number_ios=45",
        // The number of reads of a backlog does not depend on the number of I/Os in flight.
        "--rw=write --bs=4k --io_size=2m --verify_backlog=5 --number_ios=200 --ioengine=libaio --iodepth=16",
    ] {
        let directory = scratch();
        let words = format!("--size=512k --verify=md5 {words}");
        let (written, _) = fathom(directory.path(), &words);
        assert_eq!(written.code(), 0, "{words}: {}", written.stderr);
        let (checked, document) =
            fathom(directory.path(), &format!("{words} --verify_only --verify_write_sequence=1"));
        assert_eq!(checked.code(), 0, "{words}: {}", checked.stderr);
        assert_eq!(classes(&document), [], "{words}");
    }
}

#[test]
fn clean_runs_raise_no_alarm_however_they_are_made() {
    let directory = scratch();
    let engines =
        ["psync", "libaio --iodepth=16 --direct=1", "io_uring --iodepth=16", "posixaio --iodepth=8", "mmap"];
    let jobs = [
        "--rw=randwrite --norandommap --bsrange=512-16k --verify_interval=512",
        "--rw=randrw --loops=3",
        "--rw=randwrite --random_distribution=zipf:1.2 --io_size=4m",
        "--rw=randwrite --norandommap --verify_backlog=16 --verify_backlog_batch=5 --io_size=4m",
        "--rw=randwrite --verify_backlog=8 --time_based --runtime=1",
        "--rw=rw --bs=4k,8k --verify_async=2 --verify_async_cpus=0",
        "--rw=write --io_size=3m",
        "--rw=randwrite --experimental_verify=1 --number_ios=100",
        "--rw=randtrimwrite",
        "--rw=write --trim_percentage=40 --trim_backlog=8 --trim_backlog_batch=4 --verify_backlog=16",
        "--rw=randwrite --trim_percentage=30",
        "--rw=write --file_append=1",
        "--rw=randwrite --filename=a:b:c --nrfiles=3",
    ];
    for engine in engines {
        for job in jobs {
            if engine == "mmap" && (job.contains("trim") || job.contains("file_append")) {
                continue;
            }
            let words = format!("--size=1m --verify=xxhash --ioengine={engine} {job}");
            if !Path::new("/proc/sys/fs/aio-nr").exists() && engine.contains("libaio") {
                continue;
            }
            let document = expect_clean(
                directory.path(),
                &words.replace("--direct=1", if job.contains("512") { "" } else { "--direct=1" }),
            );
            let checked = document["fathom verify"][0]["checked_reads"].as_u64();
            assert!(checked.is_some_and(|reads| reads > 0), "{words}");
        }
    }
}

#[test]
fn blocks_whose_write_failed_are_not_called_wrong() {
    let room = require!(Mounted::memory(512 << 10));
    let device = require!(LoopDevice::with_holes(room.path(), 1 << 20));
    let directory = scratch();
    // Half of the device fits: the remaining writes fail.
    let words = format!(
        "--filename={} --size=1m --rw=write --verify=crc32c --direct=1 --ignore_error=,ENOSPC:EIO --verify_fatal=1",
        device.path().display()
    );
    let (finished, document) = fathom(directory.path(), &words);
    assert_eq!(classes(&document), [], "{}", finished.stderr);
    let report = &document["fathom verify"][0];
    let checked = report["checked_bytes"].as_u64().expect("a counter");
    assert!((256 << 10..=512 << 10).contains(&checked), "{checked}: {}", finished.stderr);
    assert!(json::integer(json::job(&document, "job"), "total_err") > 100);
}

#[test]
fn a_saved_state_limits_what_is_checked() {
    let directory = scratch();
    fathom(directory.path(), "--rw=randwrite --verify=md5 --number_ios=10 --do_verify=0");
    let shown =
        Launch::fathom(directory.path()).words("verify-state local-job-0-verify.state").run().expect_clean();
    assert!(shown.stdout.contains("Number IOs:\t10"), "{}", shown.stdout);
    let (finished, document) =
        fathom(directory.path(), "--rw=randwrite --verify=md5 --verify_only --verify_state_load=1");
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert_eq!(document["fathom verify"][0]["checked_reads"].as_u64(), Some(10));
    assert_eq!(json::integer(json::job(&document, "job"), "write/total_ios"), 10);
    assert!(finished.stderr.contains("Stop verify because seq 10 >= 10"), "{}", finished.stderr);
    std::fs::remove_file(directory.path().join("local-job-0-verify.state")).expect("the state was saved");
    fathom(
        directory.path(),
        "--rw=randwrite --verify=md5 --number_ios=10 --do_verify=0 --verify_state_save=0",
    );
    assert!(!directory.path().join("local-job-0-verify.state").exists());
    // Without the state the blocks that were never written are found.
    let (_, document) = fathom(directory.path(), "--rw=randwrite --verify=md5 --verify_only");
    assert_eq!(classes(&document), [("never_written".to_owned(), 6)]);
    fathom(directory.path(), "--rw=write --verify=md5 --number_ios=10 --do_verify=0");
    let (finished, document) = fathom(directory.path(), "--rw=read --verify=md5 --verify_state_load=1");
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert_eq!(json::integer(json::job(&document, "job"), "read/total_ios"), 10);
    assert_eq!(document["fathom verify"][0]["checked_reads"].as_u64(), Some(10));
    std::fs::write(directory.path().join("local-job-0-verify.state"), "").expect("a file");
    let finished = Launch::fathom(directory.path())
        .words("--name=job --filename=data --size=64k --rw=read --verify=md5 --verify_state_load=1")
        .run();
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("the file is empty"), "{}", finished.stderr);
}

/// All of `io_size` is written, then each place is verified against its last write: in the same run and in
/// later ones.
#[test]
fn every_engine_writes_all_of_io_size_and_checks_each_place_once() {
    for engine in ["psync", "libaio --iodepth=4", "io_uring --iodepth=4", "posixaio --iodepth=4"] {
        // In blocks of the file; a random job whose reads count towards `io_size` ends earlier.
        for (rw, io_size, writes) in [("write", "192k", 48), ("write", "150k", 38), ("randwrite", "192k", 32)]
        {
            let directory = scratch();
            let words = format!("--ioengine={engine} --rw={rw} --io_size={io_size} --verify=crc32c");
            let document = expect_clean(directory.path(), &words);
            let job = json::job(&document, "job");
            assert_eq!(json::integer(job, "write/total_ios"), writes, "{words}");
            if rw == "write" {
                assert_eq!(json::integer(job, "read/total_ios"), 16, "{words}");
            }
            for again in ["", "--verify_write_sequence=1", "--verify_write_sequence=1 --verify_state_load=1"]
            {
                let words = format!("{words} --verify_only {again}");
                let document = expect_clean(directory.path(), &words);
                assert_eq!(document["fathom verify"][0]["checked_reads"].as_u64(), Some(16), "{words}");
            }
            // Without reading back in between, reads do not count towards it, so that queueing engines write more.
            expect_clean(directory.path(), &format!("{words} --do_verify=0"));
            expect_clean(
                directory.path(),
                &format!("{words} --verify_only --verify_write_sequence=1 --verify_state_load=1"),
            );
        }
    }
}

#[test]
fn a_run_that_only_checks_leaves_a_state_where_there_is_none() {
    let directory = scratch();
    let state = directory.path().join("local-job-0-verify.state");
    fathom(directory.path(), "--rw=write --verify=md5");
    let of_writes = std::fs::read(&state).expect("the state was saved");
    // The state of the writing run contains more, and stays.
    expect_clean(directory.path(), "--rw=write --verify=md5 --verify_only --number_ios=4");
    assert_eq!(std::fs::read(&state).expect("the state is there"), of_writes);
    std::fs::remove_file(&state).expect("the state can be removed");
    expect_clean(directory.path(), "--rw=write --verify=md5 --verify_only");
    let shown = Launch::fathom(directory.path()).words("verify-state").argument(&state).run().expect_clean();
    assert!(shown.stdout.contains("Number IOs:\t16"), "{}", shown.stdout);
    // The time of that run differs from that of the data.
    let words = "--rw=write --verify=md5 --verify_only --verify_state_load=1";
    let document = expect_clean(directory.path(), words);
    assert_eq!(document["fathom verify"][0]["checked_reads"].as_u64(), Some(16));
    std::fs::remove_file(&state).expect("the state is there");
    expect_clean(directory.path(), "--rw=write --verify=md5 --verify_only --verify_state_save=0");
    assert!(!state.exists());
}

#[test]
fn a_state_up_to_the_last_sync_covers_less() {
    let directory = scratch();
    let words = "--rw=write --verify=md5 --do_verify=0 --fsync=4 --number_ios=10 --verify_policy=fsynced --aux-path=aux";
    std::fs::create_dir(directory.path().join("aux")).expect("a directory");
    fathom(directory.path(), words);
    let state = directory.path().join("aux/local-job-0-verify.state");
    let shown = Launch::fathom(directory.path()).words("verify-state").argument(&state).run().expect_clean();
    assert!(shown.stdout.contains("Number IOs:\t8"), "{}", shown.stdout);
}

#[test]
fn trimmed_blocks_must_read_as_zeros() {
    let directory = scratch();
    let words = "--rw=write --verify=crc32c --trim_percentage=100";
    let document = expect_clean(directory.path(), words);
    assert_eq!(document["fathom verify"][0]["checked_reads"].as_u64(), Some(16));
    assert_eq!(json::integer(json::job(&document, "job"), "trim/total_ios"), 16);
    let data = std::fs::read(directory.path().join("data")).expect("a file");
    assert!(data.iter().all(|&byte| byte == 0));
    let document = expect_clean(directory.path(), &format!("{words} --trim_verify_zero=0"));
    assert_eq!(document["fathom verify"][0]["checked_reads"].as_u64(), Some(0));
}

#[test]
fn fio_finds_the_same_blocks_wrong() {
    fathom_only!();
    let reference = require!(program::reference());
    let directory = scratch();
    let words = "--size=64k --bs=4k --verify=md5 --rw=read --continue_on_error=verify";
    let format = program::header_format_of(&reference);
    fathom(directory.path(), &format!("--rw=write --verify=md5 {format} --do_verify=0"));
    let path = directory.path().join("data");
    let mut data = std::fs::read(&path).expect("a file");
    data[5000] ^= 1;
    data[8192] ^= 0x40;
    data[12288 + 4] ^= 2;
    data.copy_within(20480..24576, 16384);
    std::fs::write(&path, data).expect("a file");
    let lines = |finished: &Finished| -> Vec<String> {
        finished.stderr.lines().filter(|line| !line.starts_with("fathom:")).map(str::to_owned).collect()
    };
    let theirs = fio(&reference, directory.path(), words);
    let ours = fio(&program::path(), directory.path(), words);
    assert_eq!(lines(&ours), lines(&theirs));
    assert_eq!(ours.code(), theirs.code());
}

#[test]
fn checksum_functions_are_timed() {
    let directory = scratch();
    let timed = Launch::fathom(directory.path()).words("--crctest=crc7,sha3-512").run();
    assert_eq!(timed.code(), 0);
    let lines: Vec<&str> = timed.stdout.lines().collect();
    assert!(
        lines.len() == 2 && lines[0].starts_with("crc7:\t\t") && lines[1].starts_with("sha3-512:\t\t"),
        "{lines:?}"
    );
    assert!(lines.iter().all(|line| line.ends_with(" MiB/sec")));
    let all = Launch::fathom(directory.path()).words("--crctest").run();
    assert_eq!(all.stdout.lines().count(), 17);
    let unknown = Launch::fathom(directory.path()).words("--crctest=bogus").run();
    assert_eq!((unknown.code(), unknown.stdout.lines().count()), (1, 17));
    assert!(unknown.stderr.starts_with("fio: unknown hash `bogus`. Available:"), "{}", unknown.stderr);
}
