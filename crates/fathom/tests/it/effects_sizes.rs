//! Which part of which file a job uses, the resulting length of its files, and where a pass over them ends. The
//! figures are fio's for the same command line.

use crate::support::devices::{LoopDevice, Mounted};
use crate::support::program::Launch;
use crate::support::recorded::{self, Recorded};
use crate::support::{KIB, MIB, file_of, json, scratch};
use std::path::Path;

/// Extent of a run: bytes moved, first byte, and end, all in KiB.
fn extent(ios: &[Recorded]) -> (u64, u64, u64) {
    let moved: u64 = ios.iter().map(|io| io.length).sum();
    let first = ios.iter().map(|io| io.offset).min().unwrap_or(0);
    let end = ios.iter().map(|io| io.offset + io.length).max().unwrap_or(0);
    (moved / KIB, first / KIB, end / KIB)
}

/// Initial size of the file in KiB, options, (moved, from, to) and the length afterwards.
type Row = (Option<u64>, &'static str, (u64, u64, u64), u64);

fn length(directory: &Path, name: &str) -> Option<u64> {
    std::fs::metadata(directory.join(name)).ok().map(|metadata| metadata.len() / KIB)
}

/// Runs a job of 4 KiB blocks on `f`, with an initial size of `present` KiB if it exists.
#[track_caller]
fn on_file(present: Option<u64>, words: &str) -> ((u64, u64, u64), Option<u64>) {
    let directory = scratch();
    if let Some(present) = present {
        file_of(directory.path(), "f", present * KIB);
    }
    let ios = recorded::of(directory.path(), &format!("--name=a --filename=f --bs=4k {words}"));
    (extent(&ios), length(directory.path(), "f"))
}

#[test]
fn filesize_is_the_length_of_a_file() {
    let rows: &[Row] = &[
        (None, "--rw=write --filesize=64k --offset=32k --size=16k", (16, 32, 48), 64),
        (None, "--rw=write --filesize=64k --offset=32k", (32, 32, 64), 64),
        (None, "--rw=write --filesize=64k --offset=56k --size=16k", (8, 56, 64), 64),
        (None, "--rw=write --filesize=64k --offset=64k --size=16k", (0, 0, 0), 64),
        (None, "--rw=write --filesize=64k --size=128k --offset=32k", (32, 32, 64), 64),
        (None, "--rw=read --filesize=64k --offset=32k --size=16k", (16, 32, 48), 64),
        (Some(128), "--rw=read --filesize=64k --offset=32k", (32, 32, 64), 128),
        (Some(128), "--rw=read --filesize=64k --offset=56k --size=16k", (8, 56, 64), 128),
        (Some(32), "--rw=read --filesize=64k --offset=40k --size=16k", (16, 40, 56), 64),
        (Some(32), "--rw=write --filesize=64k --file_append=1", (32, 32, 64), 64),
        (None, "--rw=randwrite --filesize=64k --offset=48k", (16, 48, 64), 64),
        (None, "--rw=write --offset=32k --size=16k", (16, 32, 48), 48),
    ];
    for &(present, words, moved, afterwards) in rows {
        assert_eq!(on_file(present, words), (moved, Some(afterwards)), "{words}");
    }
}

#[test]
fn a_share_of_filesize() {
    let rows: &[Row] = &[
        (None, "--rw=write --filesize=4m --size=50% --bs=64k", (2048, 0, 2048), 2048),
        (Some(4096), "--rw=write --filesize=2m --size=50% --bs=64k", (1024, 0, 1024), 4096),
        (Some(4096), "--rw=write --filesize=8m --size=50% --bs=64k", (4096, 0, 4096), 4096),
        (Some(1024), "--rw=write --filesize=8m --size=50% --bs=64k", (4096, 0, 4096), 4096),
        (None, "--rw=write --filesize=64k --size=33%", (20, 0, 20), 20),
        (None, "--rw=write --filesize=64k --size=50% --offset=16k", (32, 16, 48), 48),
        (None, "--rw=write --filesize=64k --size=100% --offset=16k", (48, 16, 64), 64),
        (None, "--rw=write --filesize=64k --size=50% --io_size=50%", (16, 0, 16), 32),
        (None, "--rw=read:4k --filesize=60k --size=100% --offset=16k --bs=8k", (32, 16, 60), 60),
    ];
    for &(present, words, moved, afterwards) in rows {
        assert_eq!(on_file(present, words), (moved, Some(afterwards)), "{words}");
    }
    let directory = scratch();
    let words =
        "--name=a --filename_format=$filenum --nrfiles=3 --rw=write --bs=64k --filesize=1m-4m --size=50%";
    let ios = recorded::of(directory.path(), words);
    assert_eq!(extent(&ios).0, 2624);
    assert_eq!(["0", "1", "2"].map(|name| length(directory.path(), name)), [Some(704), Some(960), Some(960)]);
}

#[test]
fn clones_keep_to_filesize_too() {
    let directory = scratch();
    let words = "--name=a --filename=f --rw=write --bs=4k --filesize=1m --size=32k --offset_increment=64k --numjobs=3";
    Launch::fathom(directory.path()).words(words).run().expect_clean();
    assert_eq!(length(directory.path(), "f"), Some(1024));
}

#[test]
fn filesize_on_a_device() {
    let device = require!(LoopDevice::new(MIB));
    let rows = [
        ("--filesize=2m", (1024, 0, 1024)),
        ("--filesize=512k --offset=256k", (256, 256, 512)),
        ("--filesize=512k --offset=256k --size=128k", (128, 256, 384)),
        ("--filesize=512k --size=50%", (256, 0, 256)),
        ("--filesize=4m --size=50%", (1024, 0, 1024)),
    ];
    for (words, moved) in rows {
        let directory = scratch();
        let words = format!("--name=a --filename={} --rw=read --bs=64k {words}", device.text());
        assert_eq!(extent(&recorded::of(directory.path(), &words)), moved, "{words}");
    }
}

#[test]
fn offsets_behind_filesize_are_refused() {
    let rows = [
        (
            None,
            "--rw=write --filesize=64k --offset=128k --size=16k",
            "a: you need to specify valid offset=\n",
        ),
        (None, "--rw=write --filesize=64k --offset=128k", "a: you need to specify valid offset=\n"),
        (Some(128), "--rw=read --filesize=64k --offset=80k", "a: you need to specify valid offset=\n"),
        (None, "--rw=write --filesize=64k --offset=64k", "fio: blocksize is larger than data set range\n"),
        (
            None,
            "--rw=read --filesize=64k --offset=62k --size=16k",
            "fio: blocksize is larger than data set range\n",
        ),
    ];
    for (present, words, message) in rows.into_iter().chain([
        (
            Some(64),
            "--rw=read --filesize=16k --size=33% --bs=8k",
            "fio: blocksize is larger than data set range\n",
        ),
        (Some(16), "--rw=write --size=50% --offset=64k", "a: you need to specify valid offset=\n"),
    ]) {
        let directory = scratch();
        if let Some(present) = present {
            file_of(directory.path(), "f", present * KIB);
        }
        let finished =
            Launch::fathom(directory.path()).words(&format!("--name=a --filename=f --bs=4k {words}")).run();
        assert_eq!(finished.code(), 1, "{words}");
        assert!((finished.stdout + &finished.stderr).contains(message), "{words}");
        assert_eq!(length(directory.path(), "f"), present, "{words}: nothing was laid out");
    }
}

#[test]
fn shares_of_offsets_are_rounded_up() {
    // In bytes, of a file of 1 MiB.
    let rows = [
        ("--bs=4k --offset=10%", 104 * KIB),
        ("--bs=8k --offset=10%", 104 * KIB),
        ("--bs=4k --offset=10% --offset_align=64k", 128 * KIB),
        ("--bs=4k --offset=10% --offset_align=512", 104_960),
        ("--bs=4k --offset=25%", 256 * KIB),
        // Byte values are used without rounding.
        ("--bs=4k --offset=5000", 5000),
        ("--bs=4k --offset=5000 --offset_align=64k", 5000),
    ];
    for (words, first) in rows {
        let directory = scratch();
        file_of(directory.path(), "f", MIB);
        let words = format!("--name=a --filename=f --rw=read --size=16k {words}");
        assert_eq!(recorded::of(directory.path(), &words)[0].offset, first, "{words}");
    }
    // A single step is rounded, then multiplied.
    let directory = scratch();
    file_of(directory.path(), "f", MIB);
    let words = "--name=a --filename=f --rw=read --bs=4k --size=16k --offset_increment=10% --numjobs=3 --write_lat_log=log --log_offset=1";
    Launch::fathom(directory.path()).words(words).run().expect_clean();
    let first = |clone: u32| -> u64 {
        let log =
            std::fs::read_to_string(directory.path().join(format!("log_clat.{clone}.log"))).expect("a log");
        let fields: Vec<&str> = log.lines().next().expect("a line").split(", ").collect();
        fields[4].parse().expect("an offset")
    };
    assert_eq!([1, 2, 3].map(first), [0, 104 * KIB, 208 * KIB]);
}

/// `allow_file_create=0`: neither a missing file nor missing bytes of an existing one.
#[test]
fn a_file_that_may_not_be_created_is_not_extended_either() {
    let rows = [
        "--rw=read --size=128k",
        "--rw=write --size=128k",
        "--rw=read --size=16k --offset=60k",
        "--rw=randwrite --filesize=128k --size=16k",
        "--rw=write --fill_device=1 --io_size=128k",
    ];
    for words in rows {
        let directory = scratch();
        let path = file_of(directory.path(), "f", 64 * KIB);
        let before = std::fs::read(&path).expect("the file can be read");
        let words = format!("--name=a --filename=f --bs=4k --allow_file_create=0 {words}");
        let refused = Launch::fathom(directory.path()).words(&words).run();
        assert_eq!(refused.code(), 1, "{words}");
        let told = refused.stdout + &refused.stderr;
        assert!(told.contains("fio: file creation disallowed by allow_file_create=0\n"), "{words}: {told}");
        assert!(told.contains("fathom: job a: f has 65536 bytes and "), "{words}: {told}");
        assert!(
            std::fs::read(&path).expect("the file can be read") == before,
            "{words}: the file is as it was"
        );
    }
    // Valid options take effect, including the job's own.
    for (words, afterwards) in
        [("--rw=write --size=64k", 64), ("--rw=write --size=8k --file_append=1", 72), ("--rw=read", 64)]
    {
        let (_, length) = on_file(Some(64), &format!("--allow_file_create=0 {words}"));
        assert_eq!(length, Some(afterwards), "{words}");
    }
}

/// As in fio 3.41, a job writes at most `size`, or as much as the space allows if there is no size. Files to
/// be read are filled first.
#[test]
fn a_device_is_filled_as_far_as_a_size() {
    let mounted = require!(Mounted::memory(MIB));
    for (words, read, written, length) in [
        ("--rw=write --size=256k", 0, 256, 256),
        ("--rw=write --size=256k --filesize=512k", 0, 256, 256),
        ("--rw=write --filesize=512k", 0, 512, 512),
        ("--rw=write --io_size=128k", 0, 128, 128),
        ("--rw=write --size=50%", 0, 1024, 1024),
        ("--rw=write --size=4m", 0, 1024, 1024),
        ("--rw=write", 0, 1024, 1024),
        ("--rw=write --verify=crc32c --size=256k", 256, 256, 256),
        ("--rw=randwrite --size=256k --randrepeat=1", 0, 256, 256),
        ("--rw=read --size=256k", 256, 0, 256),
        ("--rw=read --size=4m", 1024, 0, 1024),
        ("--rw=read", 1024, 0, 1024),
        ("--rw=read --create_serialize=0 --thread", 1024, 0, 1024),
        ("--rw=randread --ioengine=libaio --iodepth=4", 1024, 0, 1024),
    ] {
        let file = mounted.path().join("f");
        let words = format!(
            "--name=fill --filename={} --fill_device=1 --bs=64k --output-format=json {words}",
            file.display()
        );
        let finished = Launch::fathom(scratch().path()).words(&words).run();
        assert_eq!(finished.code(), 0, "{words}: {}{}", finished.stderr, finished.stdout);
        let document = json::document(&finished.stdout);
        let kib = |direction| json::integer(json::job(&document, "fill"), direction) / KIB;
        assert_eq!((kib("read/io_bytes"), kib("write/io_bytes")), (read, written), "{words}");
        assert_eq!(std::fs::metadata(&file).expect("a file").len() / KIB, length, "{words}");
        std::fs::remove_file(&file).expect("it can be removed");
    }
    for words in ["--rw=randwrite", "--rw=trim"] {
        let words = format!("--name=fill --directory={} --fill_device=1 {words}", mounted.path().display());
        let refused = Launch::fathom(scratch().path()).words(&words).run();
        assert_eq!(refused.code(), 1, "{words}");
        assert!(refused.stderr.contains("fill_device=1 without a size needs sequential writes"), "{words}");
    }
}

#[test]
fn names_of_files_add_up() {
    let directory = scratch();
    let run = |words: &str| Launch::fathom(directory.path()).words(words).run().expect_clean();
    let files = |names: [&str; 3]| names.map(|name| length(directory.path(), name));
    run("--name=a --rw=write --bs=4k --size=32k --filename=f --filename=g --filename=f");
    assert_eq!(files(["f", "g", "h"]), [Some(16), Some(16), None]);
    // One option for all jobs, and the job's own.
    run(
        "--filename=h --name=a --rw=write --bs=4k --size=64k --filename=i --name=b --rw=read --bs=4k --size=32k",
    );
    assert_eq!(files(["h", "i", "j"]), [Some(32), Some(32), None]);
    let job = "[global]\nfilename=j\nrw=write\nbs=4k\n[a]\nfilename=k\nfilename=j:l\nsize=48k\n";
    std::fs::write(directory.path().join("job.fio"), job).expect("a job file can be written");
    let text = run("--output-format=json job.fio").stdout;
    assert_eq!(files(["j", "k", "l"]), [Some(16), Some(16), Some(16)]);
    // Both are printed.
    let of_job = &text[text.find("\"job options\"").expect("options")..];
    let told = of_job.find("\"filename\" : \"k\"").zip(of_job.find("\"filename\" : \"j:l\""));
    assert!(told.is_some_and(|(first, second)| first < second), "{of_job}");
}

/// Reads and writes of blocks in units of 4 KiB of `f` and further files, as `r0 w0 r1.5`.
fn sequence(words: &str) -> String {
    let ios = recorded::of_null(words);
    let word =
        |io: &Recorded| format!("{}{}", ["r", "w", "t"][io.direction as usize], io.offset as f64 / 4096.0);
    ios.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// `count` blocks from 0 on in steps, `rounds` times, plus the first `left` blocks.
fn rounds(letter: &str, (count, step): (usize, f64), rounds: usize, left: usize) -> String {
    let one: Vec<String> = (0..count).map(|block| format!("{letter}{}", block as f64 * step)).collect();
    let all: Vec<&str> = one.iter().cycle().take(count * rounds + left).map(String::as_str).collect();
    all.join(" ")
}

#[test]
fn sequential_jobs_with_holes_end_with_the_file() {
    let rows = [
        // A block ends at the end of the file.
        ("--rw=read:4k --bs=8k --size=128k", rounds("r", (11, 3.0), 1, 0)),
        ("--rw=write:8k --size=64k", rounds("w", (6, 3.0), 1, 0)),
        ("--rw=trim:4k --bs=8k --size=128k", rounds("t", (11, 3.0), 1, 0)),
        ("--rw=read:6k --size=64k", rounds("r", (7, 2.5), 1, 0)),
        ("--rw=read:4k --bs=8k --size=128k --number_ios=14", rounds("r", (11, 3.0), 1, 0)),
        // The next block does not fit.
        ("--rw=read:4k --bs=8k --size=124k", rounds("r", (10, 3.0), 1, 0)),
        ("--rw=read:100k --bs=64k --size=1m", rounds("r", (6, 41.0), 1, 0)),
        // The hole extends beyond the end.
        ("--rw=read:4k --bs=8k --size=132k", rounds("r", (11, 3.0), 1, 6)),
        ("--rw=write:8k --size=60k", rounds("w", (5, 3.0), 3, 0)),
        ("--rw=read:8k --size=128k", rounds("r", (11, 3.0), 2, 10)),
        // There is more to do.
        ("--rw=read:4k --bs=8k --size=128k --io_size=256k", rounds("r", (11, 3.0), 2, 10)),
        ("--rw=read:4k --bs=8k --size=128k --loops=2", rounds("r", (11, 3.0), 2, 0)),
        ("--rw=read:8k --size=128k --loops=2", rounds("r", (11, 3.0), 5, 9)),
        ("--rw=read:4k --bs=8k --size=64k --io_size=60k", rounds("r", (5, 3.0), 1, 3)),
        ("--rw=write:8k --filesize=128k --size=64k --io_size=80k", rounds("w", (11, 3.0), 1, 9)),
        ("--rw=read:4k --bs=8k --filesize=256k --size=128k --loops=2", rounds("r", (21, 3.0), 1, 11)),
        // In a part of a file, no hole leads back to the start.
        ("--rw=read:8k --size=60k --offset=4k", "r1 r4 r7 r10 r13".to_owned()),
        ("--rw=read:8k --size=60k --offset=4k --loops=2", "r1 r4 r7 r10 r13 r1 r4 r7 r10 r13".to_owned()),
        // Backwards.
        ("--rw=read:-4k --bs=8k --size=64k --io_size=200k", rounds("r", (15, 1.0), 1, 10)),
        ("--rw=rw:8k --size=64k", "r0 r3 r6 w0 r9 r12 w3 w6 w9 r15 w12".to_owned()),
    ];
    for (words, expected) in rows {
        assert_eq!(sequence(words), expected, "{words}");
    }
}

#[test]
fn holes_in_several_files_end_with_all_of_them() {
    for order in ["roundrobin", "sequential"] {
        let words = format!("--rw=write:8k --size=128k --filename=g --file_service_type={order}");
        let expected = match order {
            "sequential" => rounds("w", (6, 3.0), 2, 0),
            _ => "w0 w0 w3 w3 w6 w6 w9 w9 w12 w12 w15 w15".to_owned(),
        };
        assert_eq!(sequence(&words), expected, "{order}");
    }
    let ios = recorded::of_null("--rw=read:4k --bs=8k --size=256k --filename=g");
    assert_eq!(extent(&ios), (176, 0, 128));
}

/// Data after the part counts as well.
#[test]
fn holes_in_a_part_of_a_longer_file() {
    assert_eq!(on_file(Some(256), "--rw=write:8k --size=60k"), ((20, 0, 52), Some(256)));
    assert_eq!(on_file(Some(256), "--rw=write:8k --size=60k --io_size=80k"), ((80, 0, 52), Some(256)));
    assert_eq!(on_file(Some(60), "--rw=write:8k --size=60k"), ((60, 0, 52), Some(60)));
}

/// File after file, with more to write than they hold: each of them is written, and everything is read back.
#[test]
fn every_file_has_its_turn() {
    for (words, reads) in [("--verify=md5", 8), ("--verify=md5 --do_verify=0", 0), ("", 0)] {
        let directory = scratch();
        let words = format!(
            "--name=a --rw=write --bs=4k --filename=f:g --file_service_type=sequential --size=32k --io_size=64k --fallocate=none {words}"
        );
        let ios = recorded::of(directory.path(), &words);
        let written = ios.iter().filter(|io| io.direction == 1).count();
        assert_eq!((written, ios.len() - written), (16, reads), "{words}");
        assert_eq!(["f", "g"].map(|name| length(directory.path(), name)), [Some(16), Some(16)], "{words}");
    }
}

/// If a file is longer than `size`, a later pass or a larger `io_size` continues after `size`.
#[test]
fn sequential_jobs_go_on_behind_size() {
    let rows = [
        ("--rw=read --filesize=64k --size=16k --io_size=32k", rounds("r", (8, 1.0), 1, 0)),
        ("--rw=read --filesize=64k --size=16k --loops=3", rounds("r", (12, 1.0), 1, 0)),
        ("--rw=read --filesize=64k --size=16k --loops=5", rounds("r", (16, 1.0), 1, 4)),
        ("--rw=write --size=16k --io_size=8k --loops=3", rounds("w", (4, 1.0), 1, 2)),
        ("--rw=write --size=16k --io_size=42k", rounds("w", (4, 1.0), 2, 3)),
        ("--rw=read --size=20000 --io_size=40000", rounds("r", (4, 1.0), 2, 2)),
        (
            "--rw=read --size=32k --filename=g --io_size=56k --file_service_type=sequential",
            rounds("r", (4, 1.0), 3, 2),
        ),
        (
            "--rw=rw --filesize=64k --size=16k --io_size=64k",
            "r0 r1 r2 w0 r3 r4 w1 w2 w3 r5 w4 r6 w5 r7 r8 r9".to_owned(),
        ),
        // Each direction reaches the end independently.
        (
            "--rw=rw --size=64k --io_size=128k",
            "r0 r1 r2 w0 r3 r4 w1 w2 w3 r5 w4 r6 w5 r7 r8 r9 w6 w7 r10 r11 w8 w9 w10 w11 r12 w12 r13 w13 w14 w15 w0 r14"
                .to_owned(),
        ),
        (
            "--rw=rw:8k --size=64k --io_size=128k",
            "r0 r3 r6 w0 r9 r12 w3 w6 w9 r15 w12 r0 w15 r3 r6 r9 w0 w3 r12 r15 w6 w9 w12 w15 r0 w0 r3 w3 w6 w9 w12 r6"
                .to_owned(),
        ),
    ];
    for (words, expected) in rows {
        assert_eq!(sequence(words), expected, "{words}");
    }
}
