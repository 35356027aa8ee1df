//! Writes the first inputs of each target, from what the tests use, into the directory named: `seeds DIRECTORY`.

use fathom_hosts::frames::{FrameKind, Outgoing};
use fathom_hosts::protocol::{FromAgent, Hello, ToAgent};
use fathom_stats::report::{JobReport, RunReport};
use fathom_trace::Device;
use fathom_trace::blktrace::{Event, code};
use fathom_trace::files::{
    Call, CallEnd, Done, Encoder, FileEntry, FileKind, Item, MAGIC, Operation, TaskEntry,
};
use fathom_trace::side::{End, Lost, Note};
use fathom_verify::header::HeaderFormat;
use fathom_verify::ledger::record::{Issued, Record, Start, SyncKind};
use fathom_verify::method::Method;
use fathom_verify::rule::Rule;
use fathom_verify::state::{RunTime, SavedState};
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> std::io::Result<()> {
    let target = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("corpus"), PathBuf::from);
    write(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &target)
}

/// Writes the inputs of each target into a directory of its name. `root` is that of the project.
pub fn write(root: &Path, target: &Path) -> std::io::Result<()> {
    for directory in ["crates/fathom/tests/jobs", "docs", "crates/fathom-spec/tests/fixtures"] {
        copy(&root.join(directory), &["fio", "txt"], &target.join("job_language"))?;
    }
    copy(&root.join("crates/fathom-report/tests/golden"), &["json", "jsonl"], &target.join("result"))?;
    let put = |name: &str, bytes: &[u8]| {
        let number = fs::read_dir(target.join(name)).map_or(0, |entries| entries.count());
        fs::create_dir_all(target.join(name))?;
        fs::write(target.join(name).join(format!("seed-{number}")), bytes)
    };
    put("job_language", b"[global]\nbs=4k\nsize=1m\n[a]\nrw=randrw:4\nbsrange=4k-64k\nrate=1m,2m\n[b]\nstonewall\nruntime=10s\n")?;
    put("job_language", b"[a]\nsize=(2g+512k)\nrandom_distribution=zoned:60/10:30/20:8/30:2/40\nbssplit=4k/20:8k/\nverify=md5\nverify_pattern=0xff%o\"abcd\"-21\n")?;
    for words in [
        "--name=a\n--size=1m\n--rw=randread\n--numjobs=4\n--group_reporting",
        "--output-format=json,normal\n--eta=never\njob.fio\n--section=a",
        "--cmdhelp=all",
        "--enghelp=io_uring\n--showcmd\n--profile=tiobench",
        "--name=a\n--zonemode=zbd\n--zonesize=1m\n--size=4z\n--steadystate=iops_slope:0.3%\n--latency_target=5ms",
    ] {
        put("command_line", words.as_bytes())?;
    }
    put("io_log", b"\0fio version 3 iolog\n0 /a add\n1 /a open\n2 /a write 0 4096\n30 /a read 4096 512\n31 /a trim 0 512\n40 /a close\n")?;
    put("io_log", b"\x08fio version 2 iolog\n/a add\n/a open\n/a write 0 4096\n/a wait 100 0\n/a datasync 0 0\n/a close\n")?;
    put("block_trace", &trace())?;
    put("io_log", &[&[1u8][..], &trace()].concat())?;
    put("file_trace", &recording()[MAGIC.len()..])?;
    for text in TEXT_TRACES {
        put("block_trace", text.as_bytes())?;
    }
    for is_64_bit in [false, true] {
        let generator = vec![1, 2, 3, 4, 5];
        let (name, in_flight) = ("job".to_owned(), vec![7, 9]);
        let run = RunTime { begin_ns: 1, end_ns: 2 };
        let state = SavedState {
            depth: 4,
            writes: 20,
            index: 0,
            is_64_bit,
            generator,
            name,
            in_flight,
            run: Some(run),
        };
        put("verify_state", &state.encode())?;
    }
    put("ledger", &a_ledger())?;
    let mut line = String::from("1000, 0, 4096");
    (0..1856).for_each(|bin| line.push_str(if bin % 97 == 0 { ", 3" } else { ", 0" }));
    put("histogram_log", format!("{line}\n{}\n", line.replacen("1000, 0", "2000, 1", 1)).as_bytes())?;
    put("frames", &frames_of_a_host()?)?;
    Ok(())
}

/// A greeting, a clock, a report.
fn frames_of_a_host() -> std::io::Result<Vec<u8>> {
    // The first byte says how the frames are cut into pieces.
    let mut frames = Outgoing::default();
    let mut job = JobReport { name: "a".to_owned(), clones: 1, ..JobReport::default() };
    job.sync.record(1000);
    let report = RunReport { jobs: vec![job], ..RunReport::default() };
    let hello = FromAgent::Hello(Hello { host_name: "a".to_owned(), ..Hello::default() });
    let told = frames
        .append(FrameKind::Word, &hello)
        .and_then(|()| frames.append(FrameKind::Word, &ToAgent::Go { stage: 0, at_ns: 1 }))
        .and_then(|()| frames.append(FrameKind::Snapshot, &report));
    told.map(|()| [vec![7], frames.bytes].concat())
        .map_err(|mistake| std::io::Error::other(mistake.to_string()))
}

fn copy(from: &Path, endings: &[&str], to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if let Some(name) = path.file_name().filter(|_| endings.contains(&ending)) {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

/// Block traces as text, one of each format.
const TEXT_TRACES: [&str; 7] = [
    "128166372003061629,hm,1,Read,383496192,32768,413\n",
    "419,W,11584184320,12288,1577808144360767\n",
    "1538323200,12910952,128,0,1063\n",
    "0,20941264,8192,W,0.551706\n",
    "89967404834393 4892 syslogd 904265560 8 W 6 0 531e779e39a6d4dd2cb2d7a5dcd4d8b5\n",
    "  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]\n",
    "TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)\n0.000004 x 1950 xvda1 W 13092560 4096 0.00 0.74\n",
];

fn trace() -> Vec<u8> {
    // Queued and completed reads and writes.
    let codes = [0x1_0001, 0x2_0001, 0x1_0008, 0x2_0008, 0x2000_0001];
    let mut bytes = Vec::new();
    for (at, code) in codes.into_iter().enumerate() {
        let event = Event {
            time_ns: at as u64 * 1000,
            sector: at as u64 * 8,
            bytes: 4096,
            pid: 17,
            device: Device { major: 8, minor: 1 },
            ..Event::of_code(code)
        };
        event.encode(at as u32, &[], &mut bytes);
    }
    // What `fathom record` adds.
    let end = Note::End(End::default());
    Event::of_code(code::MESSAGE).encode(0, &end.to_payload(), &mut bytes);
    bytes
}

/// A recording of files with each kind of record.
fn recording() -> Vec<u8> {
    let call = |time_ns, operation, end| {
        let is_ring = operation == Operation::Write;
        Item::Call(Call {
            time_ns,
            tid: 17,
            operation,
            is_ring,
            file: 1,
            offset: Some(4096),
            length: 4096,
            end,
        })
    };
    let items = [
        Item::Begin(Box::default()),
        Item::File(FileEntry { id: 1, kind: FileKind::Regular, size: 8192, name: b"/a".to_vec() }),
        Item::Task(TaskEntry { tid: 17, pid: 16, name: b"cp".to_vec() }),
        call(1000, Operation::Read, CallEnd::Known(50, 4096)),
        call(2000, Operation::Write, CallEnd::Known(60, -5)),
        call(3000, Operation::DataSync, CallEnd::Later(7)),
        Item::Lost(Lost { cpu: 0, events: Some(3), after_ns: 3000, before_ns: 4000 }),
        call(4000, Operation::Punch, CallEnd::Known(5, 0)),
        Item::Done(Done { serial: 7, time_ns: 9000, result: 0 }),
        Item::End(fathom_trace::files::End::default()),
    ];
    let (mut encoder, mut bytes) = (Encoder::default(), MAGIC.to_vec());
    items.iter().for_each(|item| encoder.put(item, &mut bytes));
    bytes
}

fn a_ledger() -> Vec<u8> {
    let mut bytes = Vec::new();
    let rule = Rule {
        method: Method::Crc32c,
        format: HeaderFormat::Current,
        interval: Some(512),
        header_offset: 0,
        pattern: None,
        pattern_interval: 0,
        checks_seed: true,
        checks_number: true,
    };
    Record::Start(Box::new(Start {
        job: "job".to_owned(),
        clone: 1,
        files: vec!["data".to_owned()],
        rule,
        durable_at_once: false,
        boot_id: "boot".to_owned(),
        time_ns: 1_000,
        time_of_day_ms: 0,
    }))
    .encode(&mut bytes);
    for id in 0..4 {
        let (offset, time_ns) = (id % 3 * 1024, 2_000 + id * 100);
        let issued = Issued {
            id,
            number: id,
            seed: id + 5,
            file: 0,
            offset,
            length: 2048,
            time_ns,
            discards: id == 2,
        };
        Record::Issued(issued).encode(&mut bytes);
        Record::Ended { id, time_ns: time_ns + 50, is_well: true }.encode(&mut bytes);
    }
    Record::SyncBegun { id: 9, kind: SyncKind::Sync, file: 0, time_ns: 3_000 }.encode(&mut bytes);
    Record::Ended { id: 9, time_ns: 3_100, is_well: true }.encode(&mut bytes);
    Record::JobEnded { time_ns: 4_000 }.encode(&mut bytes);
    bytes
}
