//! Passes over the files: the operations before reading back, repeated passes, and equality with fio's
//! sequences, I/O by I/O. The expected orders are those of fio 3.42 with 64 KiB blocks in 512 KiB.

use crate::support::recorded;
use crate::support::scratch;

/// The I/Os of a job with blocks of 4 KiB in 32 KiB: `w3` writes block 3, `r3/4` reads four blocks from there.
#[track_caller]
fn order(words: &str) -> String {
    let directory = scratch();
    // File names accumulate.
    let file = if words.contains("--filename=") { "" } else { "--filename=data " };
    let words = format!("--name=job {file}--bs=4k --size=32k --ioengine=psync {words}");
    let ios = recorded::of(directory.path(), &words);
    let shown = ios.iter().map(|io| {
        let direction = ["r", "w", "t"][io.direction as usize];
        let blocks = match io.length / 4096 {
            1 => String::new(),
            blocks => format!("/{blocks}"),
        };
        format!("{direction}{}{blocks}", io.block())
    });
    shown.collect::<Vec<String>>().join(" ")
}

#[track_caller]
fn expect(rows: &[(&str, &str)], common: &str) {
    for (words, expected) in rows {
        assert_eq!(order(&format!("{common} {words}")), *expected, "{words}");
    }
}

/// If a pass does not cover each place once, all writes precede reading back, which covers each place once,
/// in order.
#[test]
fn writes_beyond_the_size_come_before_the_reads() {
    let rows = [
        (
            "--rw=write --io_size=64k",
            "w0 w1 w2 w3 w4 w5 w6 w7 w0 w1 w2 w3 w4 w5 w6 w7 r0 r1 r2 r3 r4 r5 r6 r7",
        ),
        (
            "--rw=randwrite --norandommap --io_size=64k",
            "w7 w6 w5 w4 w4 w7 w0 w1 w2 w6 w5 w4 w7 w3 w0 w5 r0 r1 r2 r3 r4 r5 r6 r7",
        ),
        (
            "--rw=write --io_size=75k",
            "w0 w1 w2 w3 w4 w5 w6 w7 w0 w1 w2 w3 w4 w5 w6 w7 w0 w1 w2 r0 r1 r2 r3 r4 r5 r6 r7",
        ),
        (
            "--rw=write --io_size=64k --number_ios=12",
            "w0 w1 w2 w3 w4 w5 w6 w7 w0 w1 w2 w3 r0 r1 r2 r3 r4 r5 r6 r7",
        ),
        ("--rw=rw --io_size=64k", "r0 r1 r2 w0 r3 r4 w1 w2 w3 r5 w4 r6 w5 r7 r0 r1 r0 r1 r2 r3 r4 r5"),
        (
            "--filename=a:b --rw=write --io_size=64k",
            "w0 w0 w1 w1 w2 w2 w3 w3 w0 w0 w1 w1 w2 w2 w3 w3 r0 r1 r2 r3 r0 r1 r2 r3",
        ),
        (
            "--rw=randrw --norandommap --io_size=64k",
            "r7 r6 r5 w4 r4 r7 w0 w1 w2 r6 w5 r4 w7 r3 r0 r5 r0 r1 r2 r4 r5 r7",
        ),
        (
            "--rw=write --io_size=64k --verify_backlog=4",
            "w0 w1 w2 w3 r0 r1 r2 r3 w4 w5 w6 w7 r4 r5 r6 r7 w0 w1 w2 w3 r0 r1 r2 r3 w4 w5 w6 w7 r4 r5 r6 r7",
        ),
        (
            "--rw=write --io_size=32k --size=16k --loops=2",
            "w0 w1 w2 w3 w0 w1 w2 w3 w0 w1 w2 w3 w0 w1 w2 w3 r0 r1 r2 r3",
        ),
        (
            "--rw=randwrite --norandommap --loops=2",
            "w7 w6 w5 w4 w4 w7 w0 w1 w2 w6 w5 w4 w7 w3 w0 w5 r0 r1 r2 r3 r4 r5 r6 r7",
        ),
    ];
    expect(&rows, "--verify=md5");
}

/// With a map, each pass is read back, which counts against `io_size`.
#[test]
fn passes_that_cover_each_place_once_are_read_back_one_by_one() {
    let rows = [
        ("--rw=randwrite --io_size=64k", "w7 w6 w5 w4 w0 w1 w2 w3 r0 r1 r2 r3 r4 r5 r6 r7"),
        (
            "--rw=randwrite --io_size=75k",
            "w7 w6 w5 w4 w0 w1 w2 w3 r0 r1 r2 r3 r4 r5 r6 r7 w7 w6 w5 w4 w0 w1 w2 w3 r0 r1 r2 r3 r4 r5 r6 r7",
        ),
        ("--rw=randrw --io_size=50k", "r7 r6 r5 w4 r0 r1 w2 w3 r2 r3 r4 r7 r6 r5 w4 r0 r4"),
        ("--rw=randrw --io_size=50k --do_verify=0", "r7 r6 r5 w4 r0 r1 w2 w3 r7 r6 r5 w4 r0"),
        ("--rw=write --size=16k --loops=2", "w0 w1 w2 w3 r0 r1 r2 r3 w0 w1 w2 w3 r0 r1 r2 r3"),
        (
            "--rw=write --io_size=16k --loops=3",
            "w0 w1 w2 w3 w4 w5 w6 w7 r0 r1 r2 r3 r4 r5 r6 r7 w0 w1 w2 w3 r0 r1 r2 r3",
        ),
        ("--rw=rw --loops=2", "r0 r1 r2 w0 r3 r4 w1 w2 w3 r5 w4 r6 w5 r7 r0 r1 r2 r3 r4 r5 r0 r1"),
        ("--rw=randrw --loops=2", "r7 r6 r5 w4 r0 r1 w2 w3 r4 r2 r3 r7 r6 r5 w4 r0 r1 w2 w3 r4 r2 r3"),
        // The end of a pass does not count as I/O.
        ("--rw=write --size=16k --loops=2 --number_ios=3", "w0 w1 w2 w3 r0 r1 r2 r3 w0 w1 r0 r1"),
    ];
    expect(&rows, "--verify=md5");
}

/// A repeated pass has the same directions, lengths, files and offsets as the first. After a pass that ended
/// at a number of bytes, the next one continues where it stopped.
#[test]
fn passes_without_verification_are_those_of_fio() {
    let rows = [
        ("--rw=randrw --loops=2", "r7 r6 r5 w4 r0 r1 w2 w3 r7 r6 r5 w4 r0 r1 w2 w3"),
        ("--rw=randrw --io_size=50k", "r7 r6 r5 w4 r0 r1 w2 w3 r7 r6 r5 w4 r0"),
        ("--rw=rw --loops=3", "r0 r1 r2 w0 r3 r4 w1 w2 w3 r5 w4 r6 w5 r7 r0 r1 r2 w0 r3 r4 w1 w2 w3 r5"),
        (
            "--rw=rw --io_size=50k --loops=2",
            "r0 r1 r2 w0 r3 r4 w1 w2 w3 r5 w4 r6 w5 r7 r0 r1 w6 w7 r2 r3 w0 w1 w2 w3 r4",
        ),
        ("--rw=write --io_size=16k --loops=3", "w0 w1 w2 w3 w4 w5 w6 w7 w0 w1 w2 w3"),
        ("--rw=write --filesize=32k --size=16k --loops=2", "w0 w1 w2 w3 w4 w5 w6 w7"),
        ("--rw=write --io_size=50k --loops=2", "w0 w1 w2 w3 w4 w5 w6 w7 w0 w1 w2 w3 w4 w5 w6 w7"),
        ("--rw=randwrite --norandommap --loops=2", "w7 w6 w5 w4 w4 w7 w0 w1 w2 w6 w5 w4 w7 w3 w0 w5"),
        (
            "--rw=randwrite --bsrange=4k-64k --size=256k --loops=2",
            "w62 w55/7 w42/9 w33/9 w51/4 w63 w0/2 w14/9 w23/10 w2/9 w11/3 \
             w62 w55/7 w42/9 w33/9 w51/4 w63 w0/2 w14/9 w23/10 w2/9 w11/3",
        ),
        (
            "--rw=randread --percentage_random=0 --io_size=64k",
            "r0 r1 r2 r3 r4 r5 r6 r7 r7 r6 r7 r5 r6 r7 r4 r5",
        ),
        (
            "--rw=randread --percentage_random=30 --io_size=64k",
            "r7 r6 r7 r5 r6 r4 r5 r6 r7 r0 r1 r2 r3 r4 r5 r6",
        ),
        ("--rw=randrw --percentage_random=30,70 --norandommap", "r7 r6 r7 w5 r4 r5 w4 w7"),
        // Files share the offset generator.
        ("--rw=randwrite --filename=a:b", "w3 w3 w2 w2 w0 w0 w1 w1"),
        (
            "--rw=randwrite --filename=a:b --norandommap --io_size=64k",
            "w3 w3 w2 w2 w2 w3 w0 w0 w1 w3 w2 w2 w3 w1 w0 w2",
        ),
        (
            "--rw=write --zonemode=strided --zonesize=12k --zonerange=12k --zoneskip=4k --loops=2",
            "w0 w1 w2 w4 w5 w6 w0 w1 w2 w4 w5 w6 w0 w1 w2 w4",
        ),
        // Each direction has its own blocks, at multiples of their size.
        (
            "--rw=randrw --bs=4k,16k --size=128k",
            "r31 r27 r21 w16/4 r19 r0 w4/4 w8/4 w12/4 r26 w20/4 r18 w28/4 r12",
        ),
        // fio ends after five I/Os here, in the middle of its region.
        ("--rw=randrw --bs=16k,4k --size=128k", "r28/4 r24/4 r20/4 w16 r16/4 r0/4 w1 w8 w10 r8/4 w21 r12/4"),
    ];
    expect(&rows, "--random_generator=tausworthe");
}

/// Queueing engines end a pass after its number of bytes, read back what it wrote, and start over.
#[test]
fn engines_that_queue_end_a_pass_with_its_bytes() {
    let rows = [
        ("--rw=rw --loops=2", "r0 r1 r2 w0 r3 r4 w1 w2 r0 r1 r2 w0 r3 r4 w1 w2"),
        ("--rw=rw --loops=2 --number_ios=6", "r0 r1 r2 w0 r3 r4 w1 w2 r0 r1 r2 w0"),
        // The check comes only after the bytes of `size`, even if a loop transfers fewer, and once if there are
        // no loops.
        ("--rw=rw --io_size=20k --loops=3", "r0 r1 r2 w0 r3 r4 w1 w2 r0 r1 r2 w0 r3 r4 w1"),
        ("--rw=rw --io_size=64k", "r0 r1 r2 w0 r3 r4 w1 w2 w3 r5 w4 r6 w5 r7 r0 r1"),
        ("--rw=randread --percentage_random=30 --loops=2", "r7 r6 r7 r5 r6 r4 r5 r6 r7 r6 r7 r5 r6 r4 r5 r6"),
        (
            "--rw=randrw --norandommap --io_size=40k --loops=2",
            "r7 r6 r5 w4 r4 r7 w0 w1 w2 r6 r7 r6 r5 w4 r4 r7 w0 w1 w2 r6",
        ),
        (
            "--rw=rw --loops=2 --verify=md5",
            "r0 r1 r2 w0 r3 r4 w1 w2 r0 r1 r2 r0 r1 r2 w0 r3 r4 w1 w2 r0 r1 r2",
        ),
        (
            "--rw=randwrite --norandommap --loops=2 --verify=md5",
            "w7 w6 w5 w4 w4 w7 w0 w1 r0 r1 r4 r5 r6 r7 w7 w6 w5 w4 w4 w7 w0 w1 r0 r1 r4 r5 r6 r7",
        ),
        // Sequential writes beyond the end all come first, as in synchronous engines, and as in fio since
        // 3.42.
        (
            "--rw=write --io_size=64k --verify=md5",
            "w0 w1 w2 w3 w4 w5 w6 w7 w0 w1 w2 w3 w4 w5 w6 w7 r0 r1 r2 r3 r4 r5 r6 r7",
        ),
        (
            "--rw=write --io_size=75k --verify=md5",
            "w0 w1 w2 w3 w4 w5 w6 w7 w0 w1 w2 w3 w4 w5 w6 w7 w0 w1 w2 r0 r1 r2 r3 r4 r5 r6 r7",
        ),
        (
            "--rw=write:4k --loops=2 --verify=md5",
            "w0 w2 w4 w6 w0 w2 w4 w6 r0 r2 r4 r6 w0 w2 w4 w6 w0 w2 w4 w6 r0 r2 r4 r6",
        ),
    ];
    expect(&rows, "--random_generator=tausworthe --ioengine=libaio");
}

/// A job limited only by time repeats its passes, each direction by itself. The writes of a queueing engine are
/// read back after each pass, including passes that end before a final part too short for a block.
#[test]
fn until_the_time_is_over() {
    let rows = [
        ("--rw=rw", "r0 r1 r2 w0 r3 r4 w1 w2 w3 r5 w4 r6 w5 r7 r0 r1 w6 w7 r2 r3 w0 w1 w2 w3"),
        (
            "--rw=rw --ioengine=libaio",
            "r0 r1 r2 w0 r3 r4 w1 w2 w3 r5 w4 r6 w5 r7 r0 r1 w6 w7 r2 r3 w0 w1 w2 w3",
        ),
        ("--rw=randrw", "r7 r6 r5 w4 r0 r1 w2 w3 w6 r5 w4 r7 w3 r0 r1 r2 w6 w4 r1 r3 w2 w5 w7 w0"),
        (
            "--rw=write --verify=md5",
            "w0 w1 w2 w3 w4 w5 w6 w7 w0 w1 w2 w3 w4 w5 w6 w7 w0 w1 w2 w3 w4 w5 w6 w7",
        ),
        (
            "--rw=randwrite --verify=md5",
            "w7 w6 w5 w4 w0 w1 w2 w3 w6 w5 w4 w7 w3 w0 w1 w2 w6 w4 w1 w3 w2 w5 w7 w0",
        ),
        (
            "--rw=write --verify=md5 --ioengine=libaio",
            "w0 w1 w2 w3 w4 w5 w6 w7 r0 r1 r2 r3 r4 r5 r6 r7 w0 w1 w2 w3 w4 w5 w6 w7",
        ),
        (
            "--rw=randwrite --verify=md5 --ioengine=libaio",
            "w7 w6 w5 w4 w0 w1 w2 w3 r7 r6 r5 r4 r0 r1 r2 r3 w7 w6 w5 w4 w0 w1 w2 w3",
        ),
        (
            "--rw=randwrite --norandommap --verify=md5 --ioengine=libaio",
            "w7 w6 w5 w4 w4 w7 w0 w1 r0 r1 r4 r5 r6 r7 w7 w6 w5 w4 w4 w7 w0 w1 r0 r1",
        ),
        (
            "--rw=randrw --verify=md5 --ioengine=libaio",
            "r7 r6 r5 w4 r0 r1 w2 w3 r4 r2 r3 r7 r6 r5 w4 r0 r1 w2 w3 r4 r2 r3 r7 r6",
        ),
    ];
    for (words, expected) in rows {
        let shown =
            order(&format!("--random_generator=tausworthe --time_based --runtime=1 --thinktime=500 {words}"));
        let first = shown.split(' ').take(24).collect::<Vec<&str>>().join(" ");
        assert_eq!(first, expected, "{words}");
    }
}

/// Writes use the same lengths as reads, so that each program finds the other's data.
#[test]
fn jobs_that_verify_draw_the_lengths_of_fio() {
    let first = |words: &str, count: usize| {
        let shown = order(words);
        shown.split(' ').take(count).collect::<Vec<&str>>().join(" ")
    };
    let words = "--size=1m --bsrange=4k-64k --verify=md5";
    assert_eq!(first(&format!("--rw=randwrite {words}"), 5), "w250/3 w221/11 w168/13 w132/6 w154/14");
    assert_eq!(
        first(&format!("--rw=randrw {words}"), 12),
        "r250/3 r221/11 r168/13 w132/3 r154/6 r253/2 w3/11 w57/13 w83/6 r214/7 w181/15 r144/3"
    );
    assert_eq!(first("--rw=randwrite --size=1m --bsrange=4k-64k", 5), "w250/4 w221 w168/7 w132/9 w154/9");
}

/// Unsynced data is not promised.
#[test]
fn with_synced_data_alone_the_last_writes_are_not_read_back() {
    let words = "--rw=write --size=160k --verify=md5 --fsync=16 --verify_policy=fsynced";
    for more in ["", "--experimental_verify=1", "--norandommap"] {
        let shown = order(&format!("{words} {more}"));
        let reads = shown.split(' ').filter(|io| io.starts_with('r')).count();
        assert_eq!(reads, 32, "{more}: {shown}");
    }
}
