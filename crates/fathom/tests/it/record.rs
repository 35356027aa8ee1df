//! `fathom record`: the trace contains all requests to a device, or reports what is missing.

use crate::support::devices::LoopDevice;
use crate::support::program::{self, Finished, Launch, Running};
use crate::support::{KIB, MIB, json, processes, scratch, skip, wait_until};
use fathom_trace::blktrace::{Event, Trace, TraceAction};
use fathom_trace::reader::Reader;
use fathom_trace::side::Note;
use fathom_trace::{Complaints, Entry, Rules};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::process::{Command, Stdio};

const INSTANCES: &str = "/sys/kernel/tracing/instances";

/// Returns `Ok` if this machine can record.
pub(crate) fn can_record() -> Result<(), String> {
    skip::root()?;
    if !Path::new("/sys/kernel/tracing/instances").exists() {
        // The check below shows whether that worked.
        let _ = Command::new("mount").args(["-t", "tracefs", "nodev", "/sys/kernel/tracing"]).status();
    }
    match Path::new("/sys/kernel/tracing/events/block/block_rq_issue").exists() {
        true => Ok(()),
        false => Err("this kernel has no events of block devices in tracefs".into()),
    }
}

fn record(directory: &Path, words: &str) -> Launch {
    Launch::fathom(directory).argument("record").words(words)
}

/// Starts recording, and returns once events are recorded.
fn recording(directory: &Path, trace: &str, words: &str) -> Running {
    let running = record(directory, words).start();
    // The header of the trace is written after events were enabled.
    wait_until("the trace begins", || {
        fs::metadata(directory.join(trace)).is_ok_and(|found| found.len() > 48)
    });
    running
}

/// A typical user's job on a device: 4 KiB blocks, direct.
fn job(device: &LoopDevice, words: &str) -> String {
    format!(
        "--name=job --filename={} --bs=4k --direct=1 --ioengine=libaio --iodepth=8 {words}",
        device.text()
    )
}

/// The contents of a trace.
#[derive(Default)]
pub(crate) struct Recorded {
    pub(crate) events: Vec<Event>,
    notes: Vec<Note>,
    /// All payloads.
    texts: Vec<Vec<u8>>,
    is_cut_off: bool,
}

impl Recorded {
    pub(crate) fn read(path: &Path) -> Recorded {
        let file = File::open(path).expect("a trace");
        let reader = fathom_trace::plain(BufReader::new(file)).expect("readable");
        let mut trace = Trace::open(reader).expect("a trace");
        let (mut recorded, mut payload) = (Recorded::default(), Vec::new());
        loop {
            match trace.next_with_payload(&mut payload) {
                Ok(Some(event)) if event.action == TraceAction::Note => {
                    recorded.notes.extend(Note::of_payload(&payload));
                    recorded.texts.push(payload.clone());
                }
                Ok(Some(event)) => recorded.events.push(event),
                Ok(None) => return recorded,
                Err(_) => {
                    recorded.is_cut_off = true;
                    return recorded;
                }
            }
        }
    }

    /// Requests with data: reads, writes, trims.
    fn queued(&self) -> [u64; 3] {
        let mut counts = [0; 3];
        let queued = self.events.iter().filter(|event| event.action == TraceAction::Queue && event.bytes > 0);
        queued.for_each(|event| counts[event.direction as usize] += 1);
        counts
    }

    /// Events of this action with data.
    fn count(&self, action: TraceAction) -> u64 {
        self.events.iter().filter(|event| event.action == action && event.bytes > 0).count() as u64
    }
}

/// Number of writes with data.
pub(crate) fn queued_writes(recorded: &Recorded) -> u64 {
    recorded.queued()[1]
}

fn ios(finished: &Finished) -> [u64; 3] {
    let document = json::document(&finished.stdout);
    ["read", "write", "trim"]
        .map(|word| json::integer(json::job(&document, "job"), &format!("{word}/total_ios")))
}

/// The output of `blkparse` for a trace.
fn printed_by_blkparse(trace: &Path, words: &[&str]) -> Result<String, String> {
    skip::tool("blkparse")?;
    let output = Command::new("blkparse")
        .args(["-i", "-"])
        .args(words)
        .stdin(File::open(trace).map_err(|error| error.to_string())?)
        .output()
        .map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `blkparse` can also read the trace, and finds the same number of queued requests.
fn requests_of_blkparse(trace: &Path) -> Result<u64, String> {
    let printed = printed_by_blkparse(trace, &["-q", "-f", "%a\\n"])?;
    Ok(printed.lines().filter(|line| *line == "Q").count() as u64)
}

#[test]
fn all_that_a_job_does_is_in_the_trace() {
    require!(can_record());
    let directory = scratch();
    let device = require!(LoopDevice::new(16 * MIB));
    for (rw, other) in [("randrw", ""), ("randtrim", ""), ("write", "--fsync=16")] {
        let trace = directory.path().join(format!("{rw}.trace"));
        let words = format!("{} --output={rw}.trace --names -- ", device.text());
        let job = job(&device, &format!("--rw={rw} --size=4m {other} --output-format=json"));
        let finished = record(directory.path(), &words).argument(program::path()).words(&job).run();
        assert_eq!(finished.code(), 0, "{}", finished.stderr);
        let [reads, writes, trims] = ios(&finished);
        let recorded = Recorded::read(&trace);
        // The kernel's reads on opening or closing a device are added.
        let [read, written, trimmed] = recorded.queued();
        assert_eq!((written, trimmed), (writes, trims), "{rw}: {}", finished.stdout);
        assert!(read >= reads && read <= reads + 64, "{rw}: {read} {reads}");
        assert!(finished.stderr.contains(&format!("{written} write")) || writes == 0, "{}", finished.stderr);
        assert_eq!(recorded.count(TraceAction::Issue), recorded.count(TraceAction::Complete), "{rw}");
        if other.contains("fsync") {
            let flushes =
                recorded.events.iter().filter(|event| event.flushes && event.action == TraceAction::Queue);
            assert!(flushes.count() >= 64, "{rw}");
        }
        assert!(recorded.events.is_sorted_by_key(|event| event.time_ns), "{rw}");
        let Some(Note::End(end)) = recorded.notes.last() else { panic!("no end: {:?}", recorded.notes) };
        assert_eq!((end.events, end.lost, end.late), (recorded.events.len() as u64, 0, 0), "{rw}");
        assert!(recorded.texts.iter().any(|text| text.starts_with(b"fathom\0")), "{rw}: the program's name");
        let found = require!(requests_of_blkparse(&trace));
        assert_eq!(
            found,
            recorded.events.iter().filter(|event| event.action == TraceAction::Queue).count() as u64
        );
    }
}

/// What a replay of a trace does.
fn entries(trace: &Path) -> Vec<Entry> {
    let reader = BufReader::new(File::open(trace).expect("a trace"));
    let mut reader = Reader::new(reader, Rules::default()).expect("a trace");
    let entries = std::iter::from_fn(|| reader.next().expect("readable")).collect();
    assert_eq!(reader.complaints(), &Complaints::default(), "{}", trace.display());
    entries
}

#[test]
fn recordings_are_replayed_by_both_programs() {
    require!(can_record());
    let directory = scratch();
    let device = require!(LoopDevice::new(16 * MIB));
    let recorded = record(directory.path(), &format!("{} -o a.trace.zst -- ", device.text()))
        .argument(program::path())
        .words(&job(&device, "--rw=randwrite --size=2m"))
        .run();
    assert_eq!(recorded.code(), 0, "{}", recorded.stderr);
    let whole = Recorded::read(&directory.path().join("a.trace.zst"));
    require!(skip::tool("zstd"));
    let unpacked = Launch::of(Path::new("zstd"), directory.path()).words("-q -d a.trace.zst").run();
    assert_eq!(unpacked.code(), 0, "{}", unpacked.stderr);
    assert_eq!(Recorded::read(&directory.path().join("a.trace")).events, whole.events);
    let words = |trace: &str| {
        let device = device.text();
        format!(
            "--name=job --read_iolog={trace} --replay_redirect={device} --direct=1 --replay_no_stall=1 --output-format=json"
        )
    };
    let mut runs = vec![
        Launch::fathom(directory.path()).words(&words("a.trace")).run(),
        Launch::fathom(directory.path()).words(&words("a.trace.zst")).run(),
    ];
    if let Ok(fio) = program::reference() {
        runs.push(Launch::of(&fio, directory.path()).words(&words("a.trace")).run());
    }
    for run in runs {
        assert_eq!(ios(&run)[1], 512, "{}{}", run.stdout, run.stderr);
    }
    let (trace, text) = (directory.path().join("a.trace"), directory.path().join("a.txt"));
    let printed = require!(printed_by_blkparse(&trace, &[]));
    std::fs::write(&text, printed).expect("written");
    assert_eq!(entries(&text), entries(&trace), "{}", text.display());
}

#[test]
fn what_was_lost_is_said_where_it_is_missing() {
    require!(can_record());
    let directory = scratch();
    let device = require!(LoopDevice::new(16 * MIB));
    let recorder =
        recording(directory.path(), "a.trace", &format!("{} -o a.trace --buffer=64k", device.text()));
    // Recorded before the gap.
    let before = Launch::fathom(directory.path()).words(&job(&device, "--rw=randread --size=128k")).run();
    assert_eq!(before.code(), 0, "{}", before.stderr);
    processes::signal_and_see(recorder.pid(), "STOP");
    let during = Launch::fathom(directory.path())
        .words(&job(&device, "--rw=randread --size=16m --output-format=json"))
        .run();
    recorder.signal("CONT");
    assert_eq!(ios(&during)[0], 4096);
    let after = Launch::fathom(directory.path()).words(&job(&device, "--rw=randread --size=128k")).run();
    assert_eq!(after.code(), 0, "{}", after.stderr);
    recorder.signal("INT");
    let finished = recorder.finish();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let recorded = Recorded::read(&directory.path().join("a.trace"));
    let gaps: Vec<Option<u64>> = recorded
        .notes
        .iter()
        .filter_map(|note| if let Note::Lost(lost) = note { Some(lost.events) } else { None })
        .collect();
    let Some(Note::End(end)) = recorded.notes.last() else { panic!("no end: {:?}", recorded.notes) };
    assert!(end.lost > 4096, "{end:?}");
    // A page without space for the number says only that events are missing before it.
    let known: u64 = gaps.iter().flatten().sum();
    let is_exact = gaps.iter().all(Option::is_some);
    assert!(!gaps.is_empty() && (known == end.lost || !is_exact && known < end.lost), "{gaps:?} {end:?}");
    // Each request is queued, issued and completed.
    assert!(end.events + end.lost >= 3 * (4096 + 64), "{end:?}");
    assert!(finished.stderr.contains(&format!("{} events lost", end.lost)), "{}", finished.stderr);
    // Everything that uses the trace reports the loss.
    for words in [
        format!("--name=r --read_iolog=a.trace --replay_redirect={} --replay_no_stall=1", device.text()),
        "trace-to-job --summary a.trace".to_owned(),
    ] {
        let made = Launch::fathom(directory.path()).words(&words).run();
        assert_eq!(made.code(), 0, "{}", made.stderr);
        assert!(made.stderr.contains("were lost while this was recorded"), "{words}: {}", made.stderr);
    }
}

#[test]
fn a_killed_recorder_leaves_a_trace_and_nothing_else() {
    require!(can_record());
    let directory = scratch();
    let device = require!(LoopDevice::new(16 * MIB));
    let instances = || -> BTreeSet<String> {
        let entries = fs::read_dir(INSTANCES).expect("a directory").flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    for trace in ["a.trace", "b.trace.zst"] {
        let recorder = recording(directory.path(), trace, &format!("{} -o {trace}", device.text()));
        let own = format!("fathom-{}-", recorder.pid());
        assert!(instances().iter().any(|name| name.starts_with(&own)), "{:?}", instances());
        let ran = Launch::fathom(directory.path()).words(&job(&device, "--rw=randread --size=4m")).run();
        assert_eq!(ran.code(), 0, "{}", ran.stderr);
        let path = directory.path().join(trace);
        // A compressed trace contains all events except those of the last second.
        wait_until("the job is in the trace", || Recorded::read(&path).count(TraceAction::Complete) >= 1024);
        processes::signal(recorder.pid(), "KILL");
        recorder.finish();
        wait_until("the instance is removed", || !instances().iter().any(|name| name.starts_with(&own)));
        let recorded = Recorded::read(&path);
        assert!(!recorded.notes.iter().any(|note| matches!(note, Note::End(_))));
        let replay = format!(
            "--name=job --read_iolog={trace} --replay_redirect={} --replay_no_stall=1 --output-format=json",
            device.text()
        );
        let replayed = Launch::fathom(directory.path()).words(&replay).run();
        assert!(ios(&replayed)[0] >= 1024, "{}", replayed.stderr);
    }
}

#[test]
fn recorders_disturb_neither_each_other_nor_other_tracing() {
    require!(can_record());
    let directory = scratch();
    let devices = [require!(LoopDevice::new(4 * MIB)), require!(LoopDevice::new(4 * MIB))];
    let state = || {
        ["tracing_on", "events/enable", "trace_clock", "events/block/filter"]
            .map(|name| fs::read_to_string(Path::new("/sys/kernel/tracing").join(name)).unwrap_or_default())
    };
    let before = state();
    let recorders: Vec<Running> = (0..2)
        .map(|number| {
            let trace = format!("{number}.trace");
            recording(directory.path(), &trace, &format!("{} -o {trace}", devices[number].text()))
        })
        .collect();
    for (device, size) in devices.iter().zip(["1m", "2m"]) {
        let ran = Launch::fathom(directory.path())
            .words(&job(device, &format!("--rw=randwrite --size={size}")))
            .run();
        assert_eq!(ran.code(), 0, "{}", ran.stderr);
    }
    assert_eq!(state(), before);
    for (recorder, (number, writes)) in recorders.into_iter().zip([(0, 256), (1, 512)]) {
        recorder.signal("TERM");
        assert_eq!(recorder.finish().code(), 0);
        let recorded = Recorded::read(&directory.path().join(format!("{number}.trace")));
        let writes_of_device: BTreeSet<u32> =
            recorded.events.iter().map(|event| event.device.minor).collect();
        assert_eq!(writes_of_device.len(), 1, "one device");
        assert_eq!(recorded.queued()[1], writes);
    }
}

#[test]
fn parts_are_traces_of_their_own() {
    require!(can_record());
    let directory = scratch();
    let device = require!(LoopDevice::new(16 * MIB));
    let finished =
        record(directory.path(), &format!("{} -o a.trace --split=200ms --names -- ", device.text()))
            .argument(program::path())
            .words(&job(
                &device,
                "--rw=randread --size=16m --rate_iops=2000 --runtime=1 --time_based --output-format=json",
            ))
            .run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let [reads, ..] = ios(&finished);
    let mut names: Vec<_> =
        fs::read_dir(directory.path()).expect("there").flatten().map(|entry| entry.path()).collect();
    names.sort();
    assert!(names.len() >= 3, "{names:?}");
    let mut sum = 0;
    for (number, path) in names.iter().enumerate() {
        let part = Recorded::read(path);
        let Some(Note::Begin(begin)) = part.notes.first() else { panic!("no begin: {path:?}") };
        assert_eq!(begin.part as usize, number + 1);
        assert!(matches!(part.notes.last(), Some(Note::End(_))), "{path:?}");
        sum += part.count(TraceAction::Complete);
    }
    assert!(sum >= reads && sum < reads + 64, "{sum} {reads}");
}

#[test]
fn files_and_directories_stand_for_their_devices() {
    require!(can_record());
    let directory = scratch();
    let mounted = require!(crate::support::devices::Mounted::new("ext4", 64 * MIB));
    let file = mounted.path().join("data");
    fs::write(&file, "x").expect("written");
    let name =
        mounted.device().expect("a device").file_name().expect("a name").to_string_lossy().into_owned();
    for target in [mounted.path(), &file] {
        let words = format!(
            "-o a.trace --force {} -- dd if=/dev/zero bs=64k count=16 oflag=direct status=none of=",
            target.display()
        );
        let finished = record(directory.path(), &format!("{words}{}", file.display())).run();
        assert_eq!(finished.code(), 0, "{}", finished.stderr);
        assert!(finished.stderr.contains(&format!("of {name}: ")), "{}", finished.stderr);
        let recorded = Recorded::read(&directory.path().join("a.trace"));
        let bytes: u64 = recorded
            .events
            .iter()
            .filter(|event| event.action == TraceAction::Queue && event.direction as usize == 1)
            .map(|event| u64::from(event.bytes))
            .sum();
        assert!(bytes >= 1024 * KIB, "{bytes}");
    }
    let onto = record(
        directory.path(),
        &format!("{} -o {}/t --time=10ms", mounted.path().display(), mounted.path().display()),
    )
    .run();
    assert!(onto.stderr.contains("is on a recorded device"), "{}", onto.stderr);
}

#[test]
fn names_are_recorded_only_if_wanted() {
    require!(can_record());
    let directory = scratch();
    let device = require!(LoopDevice::new(4 * MIB));
    let words = format!(
        "{} -o a.trace -- dd if={} of=/dev/null bs=4k count=4 iflag=direct status=none",
        device.text(),
        device.text()
    );
    let finished = record(directory.path(), &words).run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let bytes = fs::read(directory.path().join("a.trace")).expect("a trace");
    assert!(Recorded::read(&directory.path().join("a.trace")).count(TraceAction::Queue) >= 4);
    assert!(!bytes.windows(2).any(|window| window == b"dd"), "no name of a program");
}

#[test]
fn the_status_is_that_of_the_command() {
    require!(can_record());
    let directory = scratch();
    let device = require!(LoopDevice::new(MIB));
    let with = |trace: &str, program: &str, script: &str| {
        let words = format!("{} -o {trace} --", device.text());
        record(directory.path(), &words).argument(program).argument("-c").argument(script).run()
    };
    assert_eq!(with("a", "sh", "exit 7").code(), 7);
    assert_eq!(with("b", "sh", "kill -9 $$").code(), 137);
    let missing = with("c", "/no/such/program", "");
    assert_eq!(missing.code(), 1);
    assert!(missing.stderr.contains("/no/such/program: "), "{}", missing.stderr);
    // A command that ignores the first signal is killed by the second.
    let words = format!("{} -o d --", device.text());
    let script = "trap : TERM INT; echo ready; while :; do sleep 0.1; done";
    let mut stubborn =
        record(directory.path(), &words).argument("sh").argument("-c").argument(script).start();
    stubborn.wait_for_output(|text| text.contains("ready"));
    stubborn.signal_and_see("INT");
    wait_until("the recording ends", || Recorded::read(&directory.path().join("d")).notes.len() > 1);
    stubborn.signal("INT");
    assert_eq!(stubborn.finish().code(), 137);
    // A recording that ends before the command contains no later events.
    let later =
        format!("sleep 1; dd if=/dev/zero of={} bs=4k count=4 oflag=direct status=none", device.text());
    let words = format!("{} -o e --time=200ms --", device.text());
    let finished = record(directory.path(), &words).argument("sh").argument("-c").argument(&later).run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(finished.elapsed >= std::time::Duration::from_secs(1));
    assert_eq!(queued_writes(&Recorded::read(&directory.path().join("e"))), 0, "{}", finished.stderr);
    // A full disk ends the recording, not the command.
    let read = format!(
        "dd if={} of=/dev/null bs=4k count=4 iflag=direct status=none; sleep 1; touch ended",
        device.text()
    );
    let full = with("/dev/full", "sh", &read);
    assert_eq!(full.code(), 1, "{}", full.stderr);
    assert!(full.stderr.contains("/dev/full: No space left on device"), "{}", full.stderr);
}

#[test]
fn refusals_say_what_to_do() {
    let directory = scratch();
    fs::write(directory.path().join("precious"), "x").expect("written");
    let told = |words: &str| {
        let finished = record(directory.path(), words).run();
        assert_eq!(finished.code(), 1, "{words}: {}", finished.stderr);
        finished.stderr
    };
    for (words, text) in [
        ("", "name a device, or a file or directory on it"),
        ("/no/such/device", "/no/such/device: No such file or directory"),
        ("/proc/self", "is on proc, which is not on a block device of this machine"),
        ("/dev/vda --", "there is no command after --"),
        ("/dev/vda --split=1s -o -", "--split needs files"),
        ("/dev/vda --files", "--pid and --cgroup record all files of their processes"),
        ("/dev/vda --buffer=1", "expected a size from 64k to 4g"),
        ("/dev/vda --time=never", "is not a time above zero"),
    ] {
        let said = told(words);
        assert!(said.contains(text), "{words}: {said}");
    }
    require!(can_record());
    let device = require!(LoopDevice::new(MIB));
    let said = told(&format!("{} -o precious", device.text()));
    assert!(said.contains("this file exists"), "{said}");
    assert_eq!(fs::read(directory.path().join("precious")).expect("there"), b"x");
    require!(skip::tool("setpriv"));
    let nobody = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(program::path())
        .args(["record", device.text(), "-o", "/dev/null"])
        .stdin(Stdio::null())
        .output()
        .expect("setpriv starts");
    let said = String::from_utf8_lossy(&nobody.stderr).into_owned();
    if nobody.status.code() != Some(126) {
        assert!(said.contains("recording needs root: try sudo"), "{said}");
    }
}
