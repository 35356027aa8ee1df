//! `zonemode=zbd`: writes at write pointers, reads below them, resets, limits of open zones.

use crate::support::program::{self, Finished, Launch};
use crate::support::{KIB, file_of, json, scratch, skip};
use std::path::Path;

const BLOCK: u64 = 4 * KIB;
/// Blocks per zone in most of these tests.
const ZONE: u64 = 16;
/// Options that make fio and fathom draw the same random blocks.
const FIO_SEED: &str = "--randrepeat=0 --randseed=137";
const FATHOM_SEED: &str = "--random_generator=tausworthe";

/// One I/O of a log: r, w or t, first byte and length.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    direction: char,
    offset: u64,
    length: u64,
}

fn zoned(launch: Launch, directory: &Path, words: &str) -> Finished {
    for name in ["f", "g"] {
        file_of(directory, name, 256 * KIB);
    }
    let shape = "--filename=f --ioengine=psync --bs=4k --zonemode=zbd --size=256k --zonesize=64k";
    launch.words(&format!("--name=job {shape} --write_lat_log=order --log_offset=1 {words}")).run()
}

/// The I/Os of a clone in order of completion.
fn entries(directory: &Path, clone: u32) -> Vec<Entry> {
    let text = std::fs::read_to_string(directory.join(format!("order_clat.{clone}.log"))).unwrap_or_default();
    let entry = |line: &str| {
        let fields: Vec<u64> = line.split(", ").map_while(|field| field.parse().ok()).collect();
        Entry { direction: ['r', 'w', 't'][fields[2] as usize], offset: fields[4], length: fields[3] }
    };
    text.lines().map(entry).collect()
}

fn of_fathom(words: &str) -> (Vec<Entry>, Finished) {
    let directory = scratch();
    let finished = zoned(Launch::fathom(directory.path()), directory.path(), words);
    (entries(directory.path(), 1), finished)
}

/// Messages of both programs about zones: resets, rounding, refusals.
fn sayings(finished: &Finished) -> Vec<String> {
    let lines = finished.stdout.lines().chain(finished.stderr.lines());
    let about_zones = |line: &str| match line.split_once("; ") {
        Some((_, resets)) if resets.ends_with("zone resets") => Some(resets.to_owned()),
        _ if line.starts_with("f: ") || line.starts_with("'job_max") || line.starts_with("Different") => {
            Some(line.to_owned())
        }
        _ => None,
    };
    lines.filter_map(about_zones).collect()
}

#[test]
fn orders_and_resets_are_those_of_fio() {
    let reference = require!(program::reference());
    // Releases before 3.41 do not report resets in the line of trims.
    let tells_of_trims = program::version(&reference) >= Some((3, 41));
    for words in [
        "--rw=write --io_size=384k",
        "--rw=write --loops=2",
        "--rw=write --zonecapacity=48k",
        "--rw=write --zoneskip=64k",
        "--rw=write --zoneskip=2z",
        "--rw=write:4k",
        "--rw=write --size=3z --offset=1z --io_size=2z",
        "--rw=write --size=200k --offset=32k",
        "--rw=randwrite",
        "--rw=randwrite --norandommap",
        "--rw=randwrite:4",
        "--rw=randwrite --percentage_random=50",
        "--rw=randwrite --zonesize=16k",
        "--rw=randwrite --max_open_zones=1",
        "--rw=randwrite --max_open_zones=3",
        "--rw=randwrite --max_open_zones=3 --zonesize=16k",
        "--rw=randwrite --max_open_zones=2 --zonecapacity=48k",
        "--rw=randwrite --max_open_zones=2 --size=3z --offset=1z",
        "--rw=randwrite --max_open_zones=4 --job_max_open_zones=2 --zonesize=16k",
        "--rw=randwrite --zone_reset_threshold=0.5 --zone_reset_frequency=0.5",
        "--rw=randwrite --zone_reset_threshold=0.5 --zone_reset_frequency=1",
        "--rw=write --zone_reset_threshold=0.5 --zone_reset_frequency=1",
        "--rw=read",
        "--rw=randread",
        "--rw=read --read_beyond_wp=1",
        "--rw=randread --read_beyond_wp=1",
        "--rw=randrw --read_beyond_wp=1",
        "--rw=trim --bs=64k",
        "--rw=randtrim --bs=64k",
        "--rw=trimwrite --bs=64k --loops=2",
        "--rw=write --ioengine=null",
    ] {
        let (of_fio, of_fathom) = (scratch(), scratch());
        let fio = zoned(Launch::of(&reference, of_fio.path()), of_fio.path(), &format!("{FIO_SEED} {words}"));
        let launch = Launch::fathom(of_fathom.path());
        let fathom = zoned(launch, of_fathom.path(), &format!("{FATHOM_SEED} {words}"));
        assert_eq!(entries(of_fathom.path(), 1), entries(of_fio.path(), 1), "{words}");
        if !words.contains("trim") || tells_of_trims {
            assert_eq!(sayings(&fathom), sayings(&fio), "{words}");
        }
    }
}

#[test]
fn mistakes_are_told_in_the_words_of_fio() {
    let reference = require!(program::reference());
    for words in [
        "--rw=write --zonesize=0",
        "--rw=write --zonesize=256",
        "--rw=write --zonesize=512k",
        "--rw=write --zonecapacity=128k",
        "--rw=write --zoneskip=10k",
        "--rw=write --size=32k",
        "--rw=trim",
        "--rw=randwrite --job_max_open_zones=1",
    ] {
        let (of_fio, of_fathom) = (scratch(), scratch());
        let fio = zoned(Launch::of(&reference, of_fio.path()), of_fio.path(), words);
        let fathom = zoned(Launch::fathom(of_fathom.path()), of_fathom.path(), words);
        assert_eq!(sayings(&fathom), sayings(&fio), "{words}");
        assert_eq!((fathom.code(), entries(of_fathom.path(), 1)), (1, Vec::new()), "{words}");
    }
}

#[test]
fn jobs_on_a_file_must_agree_about_its_zones() {
    let second = "--name=second --filename=f --size=256k --zonemode=zbd --rw=write --ioengine=psync";
    for (other, line) in [
        ("--zonesize=32k", "f: zonesize 32768 does not match the device zone size 65536."),
        ("--zonesize=64k --max_open_zones=3", "Different 'max_open_zones' values"),
        ("--zonesize=64k --max_open_zones=2 --zonecapacity=4k", "f: zonecapacity 4096 is not the 65536"),
    ] {
        let (_, finished) =
            of_fathom(&format!("--rw=write --max_open_zones=2 --stonewall {second} --stonewall {other}"));
        assert!(finished.stderr.contains(line), "{other}: {}", finished.stderr);
        assert_eq!(finished.code(), 1, "{other}");
    }
}

/// Tracks the write pointers of zones and checks every I/O against them; returns the number of resets.
fn follow(entries: &[Entry], capacity: u64) -> u64 {
    let zone_size = ZONE * BLOCK;
    let mut pointers = [0; 4];
    let mut resets = 0;
    for (index, entry) in entries.iter().enumerate() {
        let (zone, within) = ((entry.offset / zone_size) as usize, entry.offset % zone_size);
        match entry.direction {
            'w' => {
                if within == 0 && pointers[zone] > 0 {
                    pointers[zone] = 0;
                    resets += 1;
                }
                assert_eq!(within, pointers[zone], "I/O {index} is off the write pointer: {entry:?}");
                pointers[zone] = within + entry.length;
                assert!(pointers[zone] <= capacity, "I/O {index} is beyond the capacity: {entry:?}");
            }
            _ => assert!(
                within + entry.length <= pointers[zone],
                "I/O {index} reads what is not there: {entry:?}"
            ),
        }
    }
    resets
}

#[test]
fn reads_of_a_mix_find_data() {
    for words in [
        "--rw=randrw",
        "--rw=randrw --rwmixread=90 --io_size=1m",
        "--rw=randrw --zonecapacity=16k --io_size=1m",
        "--rw=rw",
        "--rw=rw --rwmixread=80 --io_size=600k",
        "--rw=randrw --bsrange=4k-16k --io_size=1m",
    ] {
        let (order, finished) = of_fathom(words);
        let capacity = if words.contains("zonecapacity") { 16 * KIB } else { 64 * KIB };
        let resets = follow(&order, capacity);
        let bytes: u64 = order.iter().map(|entry| entry.length).sum();
        assert!(bytes >= 256 * KIB, "{words}: it moved {bytes} bytes");
        assert!(order.iter().any(|entry| entry.direction == 'r'), "{words}: nothing was read");
        assert_eq!(sayings(&finished), [format!("{resets} zone resets")], "{words}");
    }
}

#[test]
fn reads_end_where_the_data_ends() {
    let later = "--name=later --stonewall --filename=f --ioengine=psync --bs=4k --zonemode=zbd --size=256k --zonesize=64k \
                 --write_lat_log=order --log_offset=1";
    let directory = scratch();
    let words = format!("--rw=write --io_size=100k {later} --rw=read");
    zoned(Launch::fathom(directory.path()), directory.path(), &words).expect_clean();
    let read: Vec<u64> = entries(directory.path(), 2).iter().map(|entry| entry.offset / BLOCK).collect();
    assert_eq!(read, (0..25).collect::<Vec<u64>>());
    let words = format!("--rw=randwrite --io_size=128k {later} --rw=randread");
    zoned(Launch::fathom(directory.path()), directory.path(), &words).expect_clean();
    let both = [entries(directory.path(), 1), entries(directory.path(), 2)].concat();
    assert_eq!(both.len(), 32 + 64);
    follow(&both, 64 * KIB);
}

#[test]
fn many_in_flight_fill_each_zone_once() {
    for engine in ["libaio", "io_uring"] {
        let directory = scratch();
        let words = format!(
            "--rw=randwrite --ioengine={engine} --iodepth=16 --max_open_zones=2 --buffer_pattern=0x5a --zonesize=16k"
        );
        let finished = zoned(Launch::fathom(directory.path()), directory.path(), &words).expect_clean();
        assert!(sayings(&finished)[0].ends_with("zone resets"));
        let words = format!("--rw=write --ioengine={engine} --iodepth=16 --buffer_pattern=0x5a");
        let finished = zoned(Launch::fathom(directory.path()), directory.path(), &words).expect_clean();
        assert_eq!(sayings(&finished), ["0 zone resets"]);
        let mut written: Vec<u64> = entries(directory.path(), 1).iter().map(|e| e.offset / BLOCK).collect();
        written.sort_unstable();
        assert_eq!(written, (0..64).collect::<Vec<u64>>(), "{engine}");
        let data = std::fs::read(directory.path().join("f")).expect("the file");
        assert!(data.iter().all(|&byte| byte == 0x5a), "{engine}");
    }
}

#[test]
fn workers_share_write_pointers() {
    for (words, kind) in [
        ("--rw=randwrite", "processes"),
        ("--rw=randwrite --thread", "threads"),
        ("--rw=randwrite --max_open_zones=2 --job_max_open_zones=1", "few zones"),
        ("--rw=randwrite --ioengine=libaio --iodepth=4", "several in flight"),
    ] {
        let directory = scratch();
        let words = format!("{words} --numjobs=4 --group_reporting --io_size=512k --norandommap");
        let finished = zoned(Launch::fathom(directory.path()), directory.path(), &words).expect_clean();
        let mut writes = [0u64; 64];
        for entry in (1..=4).flat_map(|clone| entries(directory.path(), clone)) {
            writes[(entry.offset / BLOCK) as usize] += 1;
        }
        assert_eq!(writes.iter().sum::<u64>(), 4 * 128, "{kind}");
        let mut passes = 0;
        for zone in writes.chunks(ZONE as usize) {
            // A block is written once after each reset, and never before the previous block.
            assert!(zone.is_sorted_by(|before, after| before >= after), "{kind}: {zone:?}");
            assert!(zone[0] - zone[15] <= 1, "{kind}: zones are reset when they are full: {zone:?}");
            passes += zone[0].saturating_sub(1);
        }
        assert_eq!(sayings(&finished), [format!("{passes} zone resets")], "{kind}");
    }
}

#[test]
fn data_in_zones_is_verified() {
    for words in [
        "--rw=randwrite --io_size=1m --verify=crc32c",
        "--rw=write --io_size=700k --verify=md5",
        "--rw=randwrite --io_size=1m --verify=crc32c --zone_reset_threshold=0.3 --zone_reset_frequency=0.2",
        "--rw=randwrite --io_size=1m --verify=crc32c --ioengine=libaio --iodepth=8 --max_open_zones=2",
        "--rw=randrw --io_size=1m --verify=crc32c --verify_backlog=16",
    ] {
        let (order, finished) = of_fathom(words);
        finished.expect_clean();
        assert!(order.iter().any(|entry| entry.direction == 'r'), "{words}: nothing was read back");
    }
}

#[test]
fn the_tail_of_a_zone_is_finished_or_written() {
    let lengths = |words: &str| -> Vec<u64> {
        let (order, finished) = of_fathom(words);
        assert_eq!(sayings(&finished), ["0 zone resets"]);
        follow(&order, 64 * KIB);
        order.iter().map(|entry| entry.length / BLOCK).collect()
    };
    assert_eq!(lengths("--rw=write --bs=12k"), [3; 20]);
    let with_tails = [3, 3, 3, 3, 3, 1].repeat(4);
    assert_eq!(lengths("--rw=write --bs=12k --write_zone_remainder=1"), with_tails);
}

#[test]
fn a_failed_write_moves_the_pointer_only_without_recovery() {
    require!(skip::tool("prlimit"));
    let attempts = |more: &str| -> Vec<u64> {
        let directory = scratch();
        let path = program::path();
        let launch = Launch::of(Path::new("prlimit"), directory.path());
        let launch = launch.argument("--fsize=163840").argument(&path);
        let words = format!("--rw=write --ignore_error=,EFBIG --error_dump=1 {more}");
        let finished = zoned(launch, directory.path(), &words);
        let offset = |line: &str| line.split("offset=").nth(1)?.split(',').next()?.parse::<u64>().ok();
        finished.stderr.lines().filter_map(offset).map(|offset| offset / BLOCK).collect()
    };
    assert_eq!(attempts(""), (40..64).collect::<Vec<u64>>());
    let recovered = attempts("--recover_zbd_write_error=1");
    assert_eq!((recovered.len(), recovered.iter().all(|&block| block == 40)), (24, true), "{recovered:?}");
}

#[test]
fn a_file_that_is_not_there_is_laid_out_in_whole_zones() {
    let directory = scratch();
    let words = "--name=job --filename=new --zonemode=zbd --zonesize=64k --size=200k --rw=randwrite --bs=4k --fallocate=truncate";
    let finished = Launch::fathom(directory.path()).words(words).run().expect_clean();
    assert!(
        finished.stdout.contains("new: rounded down io_size from 204800 to 196608"),
        "{}",
        finished.stdout
    );
    assert_eq!(std::fs::metadata(directory.path().join("new")).expect("the file").len(), 192 * KIB);
}

#[test]
fn the_json_counts_resets() {
    let (_, finished) = of_fathom("--rw=randwrite --io_size=512k --output-format=json");
    let document = json::document(&finished.stdout);
    assert_eq!(json::integer(json::job(&document, "job"), "zone_resets"), 4);
    let (_, finished) = of_fathom("--rw=write --zonemode=none --zonesize=0 --output-format=json");
    assert!(json::job(&json::document(&finished.stdout), "job").get("zone_resets").is_none());
}

/// A zoned device emulated by the kernel (null_blk), the only kind that a test may overwrite.
fn null_device() -> Result<String, String> {
    skip::root()?;
    let is_zoned = |name: &str| {
        let path = format!("/sys/block/{name}/queue/zoned");
        std::fs::read_to_string(path).is_ok_and(|text| text.trim() == "host-managed")
    };
    let names = std::fs::read_dir("/sys/block").map_err(|error| format!("/sys/block: {error}"))?;
    let mut names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names
        .find(|name| name.starts_with("nullb") && is_zoned(name))
        .map(|name| format!("/dev/{name}"))
        .ok_or_else(|| "no zoned null_blk device (modprobe null_blk zoned=1)".to_owned())
}

#[test]
fn zones_of_a_device_are_written_by_its_rules() {
    let device = require!(null_device());
    let directory = scratch();
    let run = |words: &str| {
        let words = format!(
            "--name=job --filename={device} --zonemode=zbd --bs=64k --ioengine=libaio --iodepth=8 {words}"
        );
        Launch::fathom(directory.path()).words(&words).run()
    };
    let refused = run("--rw=write --size=2z");
    assert!(refused.stderr.contains("Using direct I/O is mandatory for writing to ZBD drives"));
    for words in [
        "--rw=write --size=2z --io_size=5z",
        "--rw=randwrite --size=4z --io_size=9z --max_open_zones=2",
        "--rw=randwrite --size=4z --io_size=4z --ignore_zone_limits=1",
        "--rw=randrw --size=4z",
    ] {
        run(&format!("--direct=1 {words}")).expect_clean();
    }
}

/// The I/Os of a job in units of 256 KiB, or the given ones, its resets, and its outcome.
fn order_in_large_zones(unit: u64, words: &str) -> (String, u64, Finished) {
    let directory = scratch();
    file_of(directory.path(), "f", 8 << 20);
    let finished = Launch::fathom(directory.path())
        .words("--output-format=json --name=job --filename=f --ioengine=psync --zonemode=zbd --zonesize=1m --size=4m")
        .words("--write_lat_log=order --log_offset=1")
        .words(words)
        .run();
    let shown = |entry: &Entry| {
        let blocks = match entry.length / unit {
            1 => String::new(),
            blocks => format!("/{blocks}"),
        };
        format!("{}{}{blocks}", entry.direction, entry.offset / unit)
    };
    let shown: Vec<String> = entries(directory.path(), 1).iter().map(shown).collect();
    let resets = json::document(&finished.stdout)["jobs"]
        .as_array()
        .expect("jobs")
        .iter()
        .map(|job| json::integer(job, "zone_resets"))
        .sum();
    (shown.join(" "), resets, finished)
}

/// Zones with data that will be read back are not reset: writes go to free zones. The orders are fio's.
#[test]
fn jobs_that_verify_fill_all_zones() {
    for (words, writes, reads, resets) in [
        (
            "--norandommap",
            "w12 w13 w8 w9 w10 w14 w0 w1 w4 w15 w11 w2 w3 w5 w6 w7",
            "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 r13 r14 r15",
            0,
        ),
        (
            "--norandommap --max_open_zones=2",
            "w12 w13 w8 w9 w10 w14 w15 w0 w11 w1 w2 w3 w4 w5 w6 w7",
            "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 r13 r14 r15",
            0,
        ),
        (
            "--norandommap --io_size=6m",
            "w12 w13 w8 w9 w10 w14 w0 w1 w4 w15 w11 w2 w3 w5 w6 w7",
            "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 r13 r14 r15",
            0,
        ),
        (
            "--size=8m --randseed=5",
            "w4 w28 w16 w8 w20 w29 w12 w9 w17 w13 w0 w14 w18 w1 w5 w15 w2 w19 w24 w3 w21 w10 w22 w30 w23 w6 w7 w25 w26 \
             w27 w11 w31",
            "r4 r28 r16 r8 r20 r29 r12 r9 r17 r13 r0 r14 r18 r1 r5 r15 r2 r19 r24 r3 r21 r10 r22 r30 r23 r6 r7 r25 r26 \
             r27 r11 r31",
            0,
        ),
        (
            "--size=8m --randseed=5 --norandommap",
            "w4 w28 w16 w8 w17 w29 w12 w9 w18 w13 w0 w14 w19 w30 w5 w10 w31 w15 w24 w1 w20 w11 w21 w2 w22 w3 w6 w23 w25 \
             w26 w27 w7",
            "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 r13 r14 r15 r16 r17 r18 r19 r20 r21 r22 r23 r24 r25 r26 r27 r28 \
             r29 r30 r31",
            0,
        ),
        ("--zonecapacity=640k", "w12 w13 w8 w9 w0 w1 w4 w5", "r12 r13 r8 r9 r0 r1 r4 r5", 0),
        (
            "--size=2m --norandommap --loops=2",
            "w4 w5 w6 w7 w0 w1 w2 w3 r0 r1 r2 r3 r4 r5 r6 r7 w4 w5 w6 w7 w0 w1 w2 w3",
            "r0 r1 r2 r3 r4 r5 r6 r7",
            2,
        ),
    ] {
        let (order, counted, finished) =
            order_in_large_zones(256 * KIB, &format!("--rw=randwrite --bs=256k --verify=md5 {words}"));
        assert_eq!(finished.code(), 0, "{words}: {}", finished.stderr);
        assert_eq!((order, counted), (format!("{writes} {reads}"), resets), "{words}");
    }
    let words = "--rw=randwrite --bs=256k --size=8m --randseed=5 --verify=md5 --ioengine=libaio --iodepth=64 --norandommap";
    let (_, resets, finished) = order_in_large_zones(256 * KIB, words);
    let document = json::document(&finished.stdout);
    let job = json::job(&document, "job");
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let moved = ["read", "write"].map(|key| json::integer(job, &format!("{key}/io_bytes")));
    assert_eq!((moved, resets), ([8 << 20; 2], 0));
}

/// Bytes cut off at the end of a zone are written elsewhere, so that a pass is complete.
#[test]
fn writes_that_zones_cut_short_leave_nothing_out() {
    let words = "--rw=randwrite --bsrange=64k-256k";
    let (order, resets, _) = order_in_large_zones(64 * KIB, words);
    let expected = "w48 w49 w32/2 w34/3 w37/3 w50 w0/3 w3/4 w16/4 w51/2 w40/4 w44 w53/2 w20/2 w7 w55 w56 w22/2 w57 w45 w8 w46 \
                    w24/3 w58 w27/2 w9/4 w59 w13/2 w60 w15 w0/2 w61/2 w63 w29 w30";
    assert_eq!((order.as_str(), resets), (expected, 1));
    let (order, resets, finished) = order_in_large_zones(64 * KIB, &format!("{words} --verify=md5"));
    assert_eq!((finished.code(), resets), (0, 0), "{}", finished.stderr);
    let written = "w48 w49/3 w32/4 w36/2 w38/4 w52 w0/4 w4 w16 w53 w42 w43/2 w54 w17 w5 w45/3 w55/2 w18/2 w57 w58 w6/3 w59 w20/2 \
                   w60/2 w22/2 w9 w62 w10/2 w12/4 w24 w25/3 w28 w29 w30/2 w63";
    assert_eq!(order, format!("{written} {}", written.replace('w', "r")));
    // A permutation does not track remaining blocks.
    let (_, _, finished) =
        order_in_large_zones(64 * KIB, "--rw=randwrite --bs=192k --write_zone_remainder=1");
    let document = json::document(&finished.stdout);
    let bytes = json::integer(json::job(&document, "job"), "write/io_bytes");
    assert!((4 << 20..=(4 << 20) + 192 * KIB).contains(&bytes), "{bytes}");
}

/// Clones that write to one zone each write all of their bytes; the clone that finds it full resets it.
#[test]
fn clones_share_a_zone() {
    let words = "--rw=write --bs=256k --size=1m --numjobs=2 --loops=2";
    for (more, expected) in [("", 3), ("--zone_reset_threshold=.5 --zone_reset_frequency=1", 7)] {
        let (_, resets, finished) = order_in_large_zones(256 * KIB, &format!("{words} {more}"));
        assert_eq!((finished.code(), resets), (0, expected), "{more}: {}", finished.stderr);
        for job in json::document(&finished.stdout)["jobs"].as_array().expect("jobs") {
            assert_eq!(json::integer(job, "write/io_bytes"), 2 << 20, "{more}");
        }
    }
    // The threshold refers to written bytes, and all jobs must write the same range.
    let threshold = "--zone_reset_threshold=.5 --zone_reset_frequency=1 --bs=256k --size=1m --loops=2";
    let reader =
        "--name=reader --filename=f --ioengine=psync --zonemode=zbd --zonesize=1m --offset=1m --rw=read";
    let (_, resets, finished) =
        order_in_large_zones(256 * KIB, &format!("--rw=write {threshold} {reader} {threshold}"));
    assert_eq!((finished.code(), resets), (0, 3), "{}", finished.stderr);
    let (_, _, finished) = order_in_large_zones(
        256 * KIB,
        "--rw=write --bs=256k --size=1m --numjobs=2 --offset_increment=1m --zone_reset_threshold=.1 --zone_reset_frequency=1",
    );
    assert_eq!(finished.code(), 1);
    let refused = "multi-jobs with different write ranges are not supported with zone_reset_threshold";
    assert!(finished.stderr.contains(refused), "{}", finished.stderr);
}

/// Reads larger than a zone find no data below a write pointer, or need none.
#[test]
fn blocks_may_be_larger_than_a_zone_where_they_are_read() {
    for (words, expected) in [
        ("--rw=read", ""),
        ("--rw=randread --time_based --runtime=60", ""),
        ("--rw=read --read_beyond_wp=1", "r0/8 r8/8"),
        ("--rw=randread --read_beyond_wp=1 --random_generator=tausworthe", "r8/8 r0/8"),
        ("--rw=read --read_beyond_wp=1 --bs=768k --io_size=3m", "r0/3 r3/3 r6/3 r9/3"),
    ] {
        let (order, _, finished) = order_in_large_zones(256 * KIB, &format!("--bs=2m {words}"));
        assert_eq!((finished.code(), order.as_str()), (0, expected), "{words}: {}", finished.stderr);
    }
    for words in ["--rw=write", "--rw=randrw"] {
        let (_, _, finished) = order_in_large_zones(256 * KIB, &format!("--bs=2m {words}"));
        assert_eq!(finished.code(), 1, "{words}");
        assert!(finished.stderr.contains("I/O buflen exceeds zone size"), "{words}: {}", finished.stderr);
    }
}
