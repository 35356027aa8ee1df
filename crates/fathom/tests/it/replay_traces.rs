//! Replaying block traces: hand-made in both byte orders, merged, and written by the kernel.

use crate::replay::{CALLS, call, calls};
use crate::support::devices::LoopDevice;
use crate::support::kernel_trace::KernelTrace;
use crate::support::program::{Launch, reference};
use crate::support::trace::Trace;
use crate::support::{MIB, file_of, json, scratch};

/// A trace record: time in ns, sector, bytes, action.
fn record(
    big_endian: bool,
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
    payload: &[u8],
) -> Vec<u8> {
    let mut record = Vec::new();
    let mut push = |bytes: &[u8]| match big_endian {
        true => record.extend(bytes.iter().rev()),
        false => record.extend(bytes),
    };
    push(&0x6561_7407u32.to_le_bytes());
    push(&0u32.to_le_bytes());
    push(&time_ns.to_le_bytes());
    push(&sector.to_le_bytes());
    for number in [bytes, action, 7, device, 0] {
        push(&number.to_le_bytes());
    }
    push(&0u16.to_le_bytes());
    push(&(payload.len() as u16).to_le_bytes());
    record.extend(payload);
    record
}

const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const NOTE: u32 = 1 << 26;
const QUEUE: u32 = 1;

/// A trace with all kinds of records that a kernel writes.
fn trace(big: bool) -> Vec<u8> {
    [
        record(big, 1_000, 0, 0, NOTE, 0, b"process\0"),
        record(big, 2_000, 8, 4096, QUEUE | READ, 0, b""),
        record(big, 2_100, 8, 4096, 7 | READ, 0, b""),
        record(big, 3_000, 64, 8192, QUEUE | WRITE, 0, b"payload"),
        record(big, 4_000, 0, 0, QUEUE | FLUSH, 0, b""),
        record(big, 5_000, 64, 8192, 8 | WRITE, 0, b""),
        record(big, 6_000, 16, 512, QUEUE | READ, 0, b""),
        vec![1; 17],
    ]
    .concat()
}

#[test]
fn block_traces_of_both_byte_orders_are_replayed() {
    built!("--name=a --read_iolog=log");
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let wanted = [
        call("pread64", 4096, 4096),
        call("pwrite64", 32768, 8192),
        call("fsync", 0, 0),
        call("pread64", 8192, 512),
    ];
    for big in [false, true] {
        std::fs::write(directory.path().join("trace"), trace(big)).expect("written");
        let words = "--name=r --read_iolog=trace --replay_redirect=data --invalidate=0";
        let made = require!(Trace::of(directory.path(), CALLS, words));
        assert_eq!(calls(&made, "data"), wanted, "big endian: {big}");
        assert!(made.finished.stderr.contains("after 7 records"), "{}", made.finished.stderr);
        // fio reports how many of the complete records it replayed.
        let whole = trace(big);
        std::fs::write(directory.path().join("trace"), &whole[..whole.len() - 17]).expect("written");
        let fio = require!(reference());
        let theirs = Launch::of(&fio, directory.path()).words(words).words("--output-format=json").run();
        let job = &json::document(&theirs.stdout)["jobs"][0];
        let counts = ["read", "write"].map(|word| json::integer(&job[word], "total_ios"));
        assert_eq!(counts, [2, 1], "fio");
    }
    std::fs::write(directory.path().join("trace"), trace(false)).expect("written");
    let finished = Launch::fathom(directory.path()).words("--name=r --read_iolog=trace").run();
    assert!(finished.stderr.contains("did not find replay device(s)"), "{}", finished.stderr);
}

/// Formats of public collections and of tracing tools.
#[test]
fn text_traces_are_replayed() {
    built!("--name=a --read_iolog=log");
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let wanted = [call("pread64", 4096, 8192), call("pwrite64", 512, 512)];
    for text in [
        "128166372003061629,hm,1,Read,4096,8192,413\n128166372003071629,hm,1,Write,512,512,10\n",
        "419,R,4096,8192,1577808144360767\n7,W,512,512,1577808144361000\n",
        "0,8,8192,R,0.026214\n0,1,512,w,0.026682\n",
        "1538323200,8,16,0,1063\n1538323200,1,1,1,1063\n",
        "0 4892 syslogd 8 16 R 6 0 531e779e39a6d4dd2cb2d7a5dcd4d8b5\n9 4892 syslogd 1 1 W 6 0 00\n",
        "  8,0  3  1  0.000000000  697  Q  R 8 + 16 [x]\n  8,0  3  2  0.000001  697  Q  W 1 + 1 [x]\nCPU0 (8,0):\n",
        // In the order of completion.
        "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n1.1 a b 7 vda W 1 512 0.01\n1.2 x 7 vda R 8 8192 900\n",
    ] {
        std::fs::write(directory.path().join("trace"), text).expect("written");
        let words = "--name=r --read_iolog=trace --replay_redirect=data --invalidate=0 --replay_no_stall=1";
        let made = require!(Trace::of(directory.path(), CALLS, words));
        assert_eq!(calls(&made, "data"), wanted, "{text}");
    }
    let text = "419,R,4096,8192,1577808144360767\n419,R,x,8192,1\n419,R,0,512,1577808144360768\n";
    std::fs::write(directory.path().join("trace"), text).expect("written");
    let run = |words: &str| {
        Launch::fathom(directory.path()).words("--name=r --read_iolog=trace").words(words).run()
    };
    let refused = run("");
    assert!(
        refused.code() == 1 && refused.stderr.contains("`419`, a volume of another system"),
        "{}",
        refused.stderr
    );
    assert!(!directory.path().join("419").exists(), "no file takes the place of a volume");
    let finished = run("--replay_redirect=data");
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(finished.stderr.contains("line 2 is skipped: its offset is not a number"), "{}", finished.stderr);
}

/// `replay_skip` applies to block traces and text logs alike.
#[test]
fn kinds_are_left_out() {
    built!("--name=a --read_iolog=log");
    let (reads, write, sync) = (
        [call("pread64", 4096, 4096), call("pread64", 8192, 512)],
        call("pwrite64", 32768, 8192),
        call("fsync", 0, 0),
    );
    let text = "fio version 3 iolog\n0 data add\n0 data open\n1 data read 4096 4096\n2 data write 32768 8192\n3 data sync 0 0\n\
                4 data read 8192 512\n5 data close\n";
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    std::fs::write(directory.path().join("trace"), trace(false)).expect("written");
    std::fs::write(directory.path().join("text"), text).expect("written");
    for (skipped, left) in [
        ("read", vec![&write, &sync]),
        ("write", vec![&reads[0], &sync, &reads[1]]),
        ("sync", vec![&reads[0], &write, &reads[1]]),
        ("trim", vec![&reads[0], &write, &sync, &reads[1]]),
        ("write,sync", vec![&reads[0], &reads[1]]),
    ] {
        for log in ["trace --replay_redirect=data", "text"] {
            let words = format!("--name=r --read_iolog={log} --invalidate=0 --replay_skip={skipped}");
            let made = require!(Trace::of(directory.path(), CALLS, &words));
            assert_eq!(calls(&made, "data").iter().collect::<Vec<_>>(), left, "{words}");
        }
    }
}

#[test]
fn traces_are_merged_in_the_order_of_time() {
    built!("--name=a --read_iolog=log");
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let write = |name: &str, bytes: Vec<Vec<u8>>| {
        std::fs::write(directory.path().join(name), bytes.concat()).expect("written")
    };
    write(
        "first",
        (0..3).map(|n| record(false, 1000 * n, 8 * n, 4096, QUEUE | READ, 1 << 20, b"")).collect(),
    );
    write(
        "second",
        (0..2).map(|n| record(true, 1500 + 1000 * n, 80 + 8 * n, 512, QUEUE | WRITE, 2 << 20, b"")).collect(),
    );
    let words = "--name=m --read_iolog=first:second --merge_blktrace_file=merged --replay_redirect=data --invalidate=0";
    let made = require!(Trace::of(directory.path(), CALLS, words));
    let (read, write_call) =
        (|n: u64| call("pread64", n * 4096, 4096), |n: u64| call("pwrite64", 40960 + n * 4096, 512));
    assert_eq!(calls(&made, "data"), [read(0), read(1), write_call(0), read(2), write_call(1)]);
    let again = require!(Trace::of(
        directory.path(),
        CALLS,
        "--name=r --read_iolog=merged --replay_redirect=data --invalidate=0"
    ));
    assert_eq!(calls(&again, "data"), calls(&made, "data"));
    // The first trace, at double speed and twice.
    let words = "--name=m --read_iolog=first:second --merge_blktrace_file=merged --merge_blktrace_scalars=50:100 \
                 --merge_blktrace_iters=2:1 --merge-blktrace-only";
    let finished = Launch::fathom(directory.path()).words(words).run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let merged = std::fs::read(directory.path().join("merged")).expect("merged");
    let times: Vec<u64> = merged
        .chunks(48)
        .map(|record| u64::from_le_bytes(record[8..16].try_into().expect("eight bytes")))
        .collect();
    assert_eq!(times, [0, 500, 1000, 1000, 1500, 1500, 2000, 2500]);
    let refused = "--name=m --read_iolog=first:second --merge_blktrace_file=second --merge-blktrace-only";
    let finished = Launch::fathom(directory.path()).words(refused).run();
    assert!(finished.code() == 1 && finished.stderr.contains("would overwrite"), "{}", finished.stderr);
}

/// Queued requests of a trace: direction, offset, length.
fn queued(trace: &[u8]) -> Vec<(&'static str, u64, u64)> {
    let mut all = Vec::new();
    let mut rest = trace;
    while rest.len() >= 48 {
        let number = |at: usize, bytes: usize| {
            rest[at..at + bytes].iter().rev().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte))
        };
        let (action, bytes) = (number(28, 4) as u32, number(24, 4));
        let word = match action {
            _ if action & (1 << 29) != 0 => "trim",
            _ if action & WRITE != 0 => "write",
            _ => "read",
        };
        if action & NOTE == 0 && action & 0xff == QUEUE && bytes > 0 {
            all.push((word, number(16, 8) * 512, bytes));
        }
        rest = &rest[(48 + number(46, 2) as usize).min(rest.len())..];
    }
    all
}

/// The same requests without the reads that precede writing to a device, which check for a volume group.
fn queued_by_jobs(trace: &[u8]) -> Vec<(&'static str, u64, u64)> {
    queued(trace).into_iter().skip_while(|request| *request == ("read", 0, 4096)).collect()
}

#[test]
fn what_the_kernel_traced_is_what_it_traces_of_the_replay() {
    built!("--name=a --read_iolog=log");
    let directory = scratch();
    let device = require!(LoopDevice::new(4 * MIB));
    let target = device.path().to_str().expect("text").to_owned();
    let record = |words: &str| -> Result<Vec<u8>, String> {
        let trace = KernelTrace::start(device.path())?;
        Launch::fathom(directory.path()).words(words).run().expect_clean();
        Ok(trace.finish())
    };
    let job = format!(
        "--name=a --filename={target} --rw=randrw --bsrange=512-16k --bs_unaligned=0 --size=1M --direct=1 --fsync=9 --invalidate=0 \
         --name=b --filename={target} --rw=randtrim --bs=64k --size=512k --direct=1 --stonewall --invalidate=0"
    );
    let original = require!(record(&job));
    let wanted = queued_by_jobs(&original);
    for word in ["read", "write", "trim"] {
        assert!(wanted.iter().any(|request| request.0 == word), "{word} in {wanted:?}");
    }
    std::fs::write(directory.path().join("trace"), &original).expect("written");
    // The device is found by its number.
    for engine in ["psync", "libaio", "io_uring"] {
        let words = format!(
            "--name=r --read_iolog=trace --direct=1 --ioengine={engine} --iodepth=1 --invalidate=0 --replay_no_stall=1"
        );
        let replayed = require!(record(&words));
        assert_eq!(queued_by_jobs(&replayed), wanted, "{engine}");
    }
}
