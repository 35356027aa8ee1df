//! `fathom record --files`: the recording has all that programs ask of their files, or says what is missing.

mod model;

use crate::record::can_record;
use crate::support::groups::Quota;
use crate::support::program::{self, Finished, Launch};
use crate::support::{KIB, MIB, file_of, json, processes, scratch, skip, wait_until};
use fathom_trace::files::{Begin, Call, CallEnd, End, FileEntry, FileTrace, Item, Operation, TaskEntry};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

/// `Ok` where files can be recorded.
fn can_record_files() -> Result<(), String> {
    can_record()?;
    match Path::new("/sys/kernel/tracing/events/syscalls/sys_enter_read").exists() {
        true => Ok(()),
        false => Err("this kernel has no events of system calls (CONFIG_FTRACE_SYSCALLS)".into()),
    }
}

/// Records a command; the trace is `a.trace`.
fn record(directory: &Path, options: &str) -> Launch {
    Launch::fathom(directory).words(&format!("record --files -o a.trace --force {options} --"))
}

/// Maximum number of recordings until one is whole.
const ATTEMPTS: usize = 20;

/// Records a command until the recording is whole: a recorder that gets no processor while a file is open cannot
/// look the file up, but must say so.
fn record_whole(
    directory: &Path,
    with_command: impl Fn(Launch) -> Launch,
    is_whole: impl Fn(&Finished, &Recorded) -> bool,
) -> (Finished, Recorded) {
    for _ in 0..ATTEMPTS {
        let finished = with_command(record(directory, "--names")).run();
        assert_eq!(finished.code(), 0, "{}", finished.stderr);
        let recorded = Recorded::read(&directory.join("a.trace"));
        if is_whole(&finished, &recorded) {
            return (finished, recorded);
        }
        let end = recorded.end.expect("an end");
        let missing = end.unknown_files + end.unresolved + end.lost;
        assert!(missing > 0, "calls are missing, and the recording does not say so: {end:?}");
    }
    panic!("none of {ATTEMPTS} recordings is whole");
}

/// True if the recording has all I/Os of the job on files whose names contain this text.
fn has_all(finished: &Finished, recorded: &Recorded, name: &str) -> bool {
    let of_job = [(Operation::Read, "read"), (Operation::Write, "write")];
    of_job.iter().all(|(operation, direction)| recorded.sum(*operation, name) == figures(finished, direction))
}

/// The contents of a recording.
#[derive(Default)]
struct Recorded {
    begin: Begin,
    calls: Vec<Call>,
    files: HashMap<u32, FileEntry>,
    tasks: HashMap<u32, TaskEntry>,
    end: Option<End>,
}

impl Recorded {
    fn read(path: &Path) -> Recorded {
        Recorded::so_far(path).expect("a recording")
    }

    /// Reads a recording in progress; `None` before its first bytes are written.
    fn so_far(path: &Path) -> Option<Recorded> {
        let file = File::open(path).ok()?;
        let mut trace = FileTrace::open(fathom_trace::plain(BufReader::new(file)).ok()?).ok()?;
        let mut recorded = Recorded::default();
        while let Ok(Some(item)) = trace.next() {
            match item {
                Item::Begin(begin) => recorded.begin = *begin,
                Item::Call(call) => recorded.calls.push(call),
                Item::File(file) => drop(recorded.files.insert(file.id, file)),
                Item::Task(task) => drop(recorded.tasks.insert(task.tid, task)),
                Item::End(end) => recorded.end = Some(end),
                Item::Done(_) | Item::Lost(_) => {}
            }
        }
        Some(recorded)
    }

    fn name(&self, call: &Call) -> String {
        let file = self.files.get(&call.file);
        file.map(|file| String::from_utf8_lossy(&file.name).into_owned()).unwrap_or_default()
    }

    /// Successful calls of an operation on files whose name has this end.
    fn of(&self, operation: Operation, name: &str) -> Vec<&Call> {
        let is_it = |call: &&Call| {
            call.operation == operation
                && matches!(call.end, CallEnd::Known(_, result) if result >= 0)
                && self.name(call).contains(name)
        };
        self.calls.iter().filter(is_it).collect()
    }

    /// Number and bytes of such calls.
    fn sum(&self, operation: Operation, name: &str) -> (u64, u64) {
        let calls = self.of(operation, name);
        let bytes = calls.iter().map(|call| match call.end {
            CallEnd::Known(_, result) => result.unsigned_abs(),
            CallEnd::Later(_) => 0,
        });
        (calls.len() as u64, bytes.sum())
    }

    /// Offsets of such calls by file.
    fn offsets(&self, operation: Operation, name: &str) -> BTreeMap<String, BTreeSet<u64>> {
        let mut found: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
        for call in self.of(operation, name) {
            let offset = call.offset.unwrap_or(u64::MAX);
            assert!(found.entry(self.name(call)).or_default().insert(offset), "{offset} twice");
        }
        found
    }
}

/// The figures of a job: I/Os and bytes of a direction.
fn figures(finished: &Finished, direction: &str) -> (u64, u64) {
    let document = json::document(&finished.stdout);
    (
        json::total(&document, &format!("{direction}/total_ios")),
        json::total(&document, &format!("{direction}/io_bytes")),
    )
}

/// All blocks of 4 KiB of a file.
fn blocks(bytes: u64) -> BTreeSet<u64> {
    (0..bytes / 4096).map(|block| block * 4096).collect()
}

#[test]
fn all_that_a_job_does_is_in_the_recording() {
    require!(can_record_files());
    let directory = scratch();
    let words = "--name=job --ioengine=psync --rw=randwrite --bs=4k --size=2m --nrfiles=2 --fsync=8 --output-format=json";
    let (finished, recorded) = record_whole(
        directory.path(),
        |recorder| recorder.argument(program::path()).words(words),
        |finished, recorded| has_all(finished, recorded, "/job.0."),
    );
    let offsets = recorded.offsets(Operation::Write, "/job.0.");
    assert_eq!(offsets.len(), 2, "two files");
    assert!(offsets.values().all(|offsets| *offsets == blocks(MIB)), "each block once");
    let syncs = recorded.of(Operation::Sync, "/job.0.").len() as u64;
    let document = json::document(&finished.stdout);
    assert_eq!(syncs, json::integer(json::job(&document, "job"), "sync/total_ios"));
    assert!(recorded.calls.is_sorted_by_key(|call| call.time_ns));
    let end = recorded.end.expect("an end");
    assert_eq!((end.calls, end.lost), (recorded.calls.len() as u64, 0));
    assert!(finished.stderr.contains(&format!("{} calls in", end.calls)), "{}", finished.stderr);
    assert!(end.mapped > 0 && finished.stderr.contains("of files to memory"), "{}", finished.stderr);
    assert_eq!((recorded.begin.target.as_str(), recorded.begin.names), ("command", true));
    assert!(recorded.tasks.values().any(|task| task.name == b"fathom"), "the name of the program");
}

#[test]
fn requests_of_rings_are_in_the_recording_with_their_places() {
    require!(can_record_files());
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    for options in ["--iodepth=16", "--iodepth=4 --fixedbufs=1"] {
        let words = format!(
            "--name=job --filename=data --ioengine=io_uring --direct=1 --rw=randrw --bs=4k --size=1m {options} --output-format=json"
        );
        let alone = Launch::fathom(directory.path()).words(&words).run();
        if alone.code() != 0 {
            let _: () = require!(Err(format!("no direct I/O or ring here: {}", alone.stderr)));
        }
        let (_, recorded) = record_whole(
            directory.path(),
            |recorder| recorder.argument(program::path()).words(&words),
            |finished, recorded| {
                let of_ring = |operation| {
                    let calls = recorded.calls.iter();
                    calls.filter(|call| call.is_ring && call.operation == operation).count() as u64
                };
                of_ring(Operation::Read) == figures(finished, "read").0
                    && of_ring(Operation::Write) == figures(finished, "write").0
                    && (recorded.end.is_some_and(|end| end.unplaced > 0)
                        || has_all(finished, recorded, "/data"))
            },
        );
        let mut all = BTreeSet::new();
        if recorded.end.is_some_and(|end| end.unplaced == 0) {
            for operation in [Operation::Read, Operation::Write] {
                all.extend(recorded.offsets(operation, "/data").into_values().flatten());
            }
        }

        // The file systems of the tests' machines say where requests go.
        assert!(all.is_empty() || all == blocks(MIB), "{options}: {} blocks", all.len());
    }
}

/// The first requests may come before the recorder knows the thread of the ring, so the job goes on until some are in the recording.
#[test]
fn requests_of_a_polled_ring_are_in_the_recording_once_its_thread_is_known() {
    require!(can_record_files());
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let words = "--name=job --filename=data --ioengine=io_uring --direct=1 --rw=randrw --bs=4k --size=1m --iodepth=8 --sqthread_poll=1 \
                 --rate_iops=500 --time_based --runtime=300 --trigger-file=stop --trigger=true --output-format=json --output=out";
    let running = record(directory.path(), "--names").argument(program::path()).words(words).start();
    let path = directory.path().join("a.trace");
    let of_ring = |recorded: &Recorded, operation: Operation| {
        recorded.calls.iter().filter(|call| call.is_ring && call.operation == operation).count() as u64
    };
    wait_until("requests of the ring are recorded", || {
        Recorded::so_far(&path).is_some_and(|recorded| {
            of_ring(&recorded, Operation::Read) > 50 && of_ring(&recorded, Operation::Write) > 50
        })
    });
    fs::write(directory.path().join("stop"), "").expect("written");
    let finished = running.finish();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let document = json::document(&fs::read_to_string(directory.path().join("out")).expect("a report"));
    let recorded = Recorded::read(&path);
    for (operation, direction) in [(Operation::Read, "read"), (Operation::Write, "write")] {
        let asked = json::integer(json::job(&document, "job"), &format!("{direction}/total_ios"));
        assert!(of_ring(&recorded, operation) <= asked, "{direction}");
    }
}

#[test]
fn threads_and_children_are_followed() {
    require!(can_record_files());
    let directory = scratch();
    let words = "--name=job --thread --numjobs=3 --ioengine=psync --rw=write --bs=16k --size=512k --output-format=json";
    let (_, recorded) = record_whole(
        directory.path(),
        |recorder| recorder.argument(program::path()).words(words),
        |finished, recorded| has_all(finished, recorded, "/job."),
    );
    let threads: BTreeSet<u32> = recorded.of(Operation::Write, "/job.").iter().map(|call| call.tid).collect();
    let processes: BTreeSet<u32> = threads.iter().map(|tid| recorded.tasks[tid].pid).collect();
    assert_eq!((threads.len(), processes.len()), (3, 1));
    // A shell whose children write to its files.
    file_of(directory.path(), "in", 300 * KIB);
    let script = "(cat in; cat in; sleep 0.2) > twice; exec 5<in; (sh -c 'dd bs=1k count=10 status=none; sleep 0.5' | cat > ten) <&5";
    let (_, recorded) = record_whole(
        directory.path(),
        |recorder| recorder.argument("sh").argument("-c").argument(script),
        |_, recorded| {
            let written = |name| recorded.sum(Operation::Write, name).1;
            (written("/twice"), written("/ten")) == (600 * KIB, 10 * KIB)
        },
    );
    let mut end = 0;
    for call in recorded.of(Operation::Write, "/twice") {
        assert_eq!(call.offset, Some(end), "both children write at one position");
        let CallEnd::Known(_, written) = call.end else { panic!("no end: {call:?}") };
        end += written.unsigned_abs();
    }
    assert_eq!(end, 600 * KIB);
}

#[test]
fn copies_and_commits_are_seen_whole() {
    require!(can_record_files());
    let directory = scratch();
    // Large enough that the copy takes longer than a look at its descriptors.
    file_of(directory.path(), "in", 64 * MIB + 5);
    let both = [(Operation::Read, "/in"), (Operation::Write, "/out")];
    let (_, recorded) = record_whole(
        directory.path(),
        |recorder| recorder.words("cp --reflink=never in out"),
        |_, recorded| both.iter().all(|(operation, name)| recorded.sum(*operation, name).1 == 64 * MIB + 5),
    );
    for (operation, name) in both {
        assert!(recorded.of(operation, name).iter().all(|call| call.offset.is_some()), "{name}");
    }
    require!(skip::tool("sqlite3"));
    let mut script = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t(x);".to_owned();
    (0..50).for_each(|number| script.push_str(&format!("INSERT INTO t VALUES({number});")));
    record_whole(
        directory.path(),
        |recorder| recorder.words("sh -c").argument("rm -f db*; exec sqlite3 db \"$0\"").argument(&script),
        |_, recorded| {
            let of = |operation| recorded.of(operation, "/db-wal").len();
            // One per commit, also of the table, one of the log's head, and one of the checkpoint at the end.
            (50..=54).contains(&(of(Operation::DataSync) + of(Operation::Sync)))
        },
    );

    let text = Launch::fathom(directory.path()).words("characterize a.trace").run();
    assert!(text.stdout.starts_with("Of files: "), "{}", text.stdout);
    assert!(text.stdout.contains("db-wal") && text.stdout.contains("syncs"), "{}", text.stdout);
}

#[test]
fn a_killed_recorder_leaves_a_readable_recording_and_nothing_else() {
    require!(can_record_files());
    let directory = scratch();
    let running = record(directory.path(), "--names")
        .argument("sh")
        .argument("-c")
        .argument("while :; do echo x >> out; sleep 0.01; done")
        .start();
    let path = directory.path().join("a.trace");
    wait_until("writes are in the recording", || {
        Recorded::so_far(&path).is_some_and(|recorded| recorded.calls.len() > 100)
    });
    let recorder = running.pid();
    let command = processes::descendants(recorder);
    let own = format!("fathom-{recorder}-");
    let instances = || -> Vec<String> {
        let entries = fs::read_dir("/sys/kernel/tracing/instances").expect("a directory").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(&own)).collect()
    };
    assert_eq!(instances().len(), 2);
    processes::signal(recorder, "KILL");
    wait_until("the instances are removed", || instances().is_empty());
    command.into_iter().for_each(processes::kill_tree);
    running.finish();
    let recorded = Recorded::read(&path);
    assert!(recorded.end.is_none() && recorded.calls.len() > 100);
    let text = Launch::fathom(directory.path()).words("characterize a.trace").run();
    assert!(text.stdout.contains("The trace is cut off after"), "{}{}", text.stdout, text.stderr);
    let ended = record(directory.path(), "").words("true").run();
    assert_eq!(ended.code(), 0, "{}", ended.stderr);
    wait_until("no instance is left", || instances().is_empty());
}

#[test]
fn processes_and_groups_that_run_already_are_recorded() {
    require!(can_record_files());
    let directory = scratch();
    let script = "exec 3>>log; echo ready; while [ ! -e stop ]; do echo line >&3; sleep 0.02; (sleep 0.2; echo child) >> other; done";
    let start = |before: &str| {
        let script = format!("{before}{script}");
        let mut running =
            Launch::of(Path::new("sh"), directory.path()).argument("-c").argument(script).start();
        running.wait_for_output(|text| text.contains("ready"));
        running
    };
    let shell = start("");
    let recorder = Launch::fathom(directory.path())
        .words(&format!("record --pid={} --names -o pid.trace", shell.pid()))
        .start();
    let path = directory.path().join("pid.trace");
    let has_all = |path: &Path| {
        Recorded::so_far(path).is_some_and(|recorded| {
            recorded.of(Operation::Write, "/log").len() > 20
                && recorded.of(Operation::Write, "/other").len() > 5
        })
    };
    wait_until("both files are recorded", || has_all(&path));
    fs::write(directory.path().join("stop"), "").expect("written");
    assert_eq!(shell.finish().code(), 0);
    // The recording ends with the process.
    let finished = recorder.finish();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let recorded = Recorded::read(&path);
    let offsets: Vec<u64> =
        recorded.of(Operation::Write, "/log").iter().filter_map(|call| call.offset).collect();
    assert!(offsets.len() > 20 && offsets.windows(2).all(|pair| pair[1] == pair[0] + 5), "{offsets:?}");
    fs::remove_file(directory.path().join("stop")).expect("removed");
    let group = require!(Quota::new(90));
    let members = group.members();
    let recorder = Launch::fathom(directory.path())
        .words(&format!(
            "record --names -o group.trace --cgroup={}",
            members.parent().expect("a group").display()
        ))
        .start();
    let path = directory.path().join("group.trace");
    wait_until("the recording begins", || fs::metadata(&path).is_ok_and(|found| found.len() > 0));
    // It comes later.
    let shell = start(&format!("echo $$ > {}; ", members.display()));
    wait_until("both files are recorded", || has_all(&path));
    fs::write(directory.path().join("stop"), "").expect("written");
    assert_eq!(shell.finish().code(), 0);
    recorder.signal("INT");
    let finished = recorder.finish();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(finished.stderr.contains("of the files of control group"), "{}", finished.stderr);
}

#[test]
fn the_command_is_as_without_a_recorder() {
    require!(can_record_files());
    let directory = scratch();
    let shell =
        |script: &str| record(directory.path(), "").argument("sh").argument("-c").argument(script).run();
    let finished = shell("echo out; echo err >&2; exit 7");
    assert_eq!((finished.code(), finished.stdout.as_str()), (7, "out\n"));
    assert!(finished.stderr.contains("err\n"), "{}", finished.stderr);
    assert_eq!(shell("kill -9 $$").code(), 137);
    assert_eq!(shell("kill -TERM $$").code(), 143);
    let missing = record(directory.path(), "").words("/no/such/program").run();
    assert_eq!(missing.code(), 1);
    assert!(missing.stderr.contains("/no/such/program: No such file"), "{}", missing.stderr);
    // A recording that ends before the command contains no later calls.
    let finished = record(directory.path(), "--names --time=200ms")
        .argument("sh")
        .argument("-c")
        .argument("sleep 1; echo x > late")
        .run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert_eq!(fs::read(directory.path().join("late")).expect("there"), b"x\n");
    let recorded = Recorded::read(&directory.path().join("a.trace"));
    assert!(recorded.of(Operation::Write, "/late").is_empty());
}

#[test]
fn names_of_files_are_recorded_only_if_wanted_and_parts_are_whole() {
    require!(can_record_files());
    let directory = scratch();
    // It goes on until the recorder has begun its third part.
    let script = "i=0; while [ $i -lt 60 ] || [ ! -e p.0003.trace ]; do \
                  echo x >> secret; sleep 0.02; i=$((i+1)); done; echo $i > count";
    let finished = Launch::fathom(directory.path())
        .words("record --files -o p.trace --split=300ms --")
        .argument("sh")
        .argument("-c")
        .argument(script)
        .run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let mut parts: Vec<_> =
        fs::read_dir(directory.path()).expect("there").flatten().map(|entry| entry.path()).collect();
    parts.retain(|path| path.extension().is_some_and(|end| end == "trace"));
    parts.sort();
    assert!(parts.len() >= 3, "{parts:?}");
    let mut writes = 0;
    for (number, path) in parts.iter().enumerate() {
        let content = fs::read(path).expect("readable");
        let content = zstd_content(&content);
        assert!(!content.windows(6).any(|window| window == b"secret"), "no names");
        let recorded = Recorded::read(path);
        assert_eq!(recorded.begin.part as usize, number + 1);
        assert!(recorded.end.is_some(), "{path:?}");
        let is_write = |call: &&Call| call.operation == Operation::Write;
        assert!(recorded.calls.iter().filter(is_write).all(|call| recorded.tasks.contains_key(&call.tid)));
        writes += recorded.calls.iter().filter(is_write).count();
    }
    let count = fs::read_to_string(directory.path().join("count")).expect("written by the command");
    assert_eq!(writes, count.trim().parse::<usize>().expect("a number") + 1, "and that of the count");
    let refused = Launch::fathom(directory.path()).words("trace-to-job p.0001.trace").run();
    assert_eq!(refused.code(), 1);
    assert!(refused.stderr.contains("record again with --names"), "{}", refused.stderr);
}

/// The content of a recording.
fn zstd_content(bytes: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    let mut reader = fathom_trace::plain(std::io::Cursor::new(bytes.to_vec())).expect("zstd");
    std::io::Read::read_to_end(&mut reader, &mut content).expect("whole");
    content
}

#[test]
fn a_recording_is_replayed_by_way_of_a_log() {
    require!(can_record_files());
    let directory = scratch();
    let words =
        "--name=job --ioengine=psync --rw=randrw --bs=4k --size=1m --fdatasync=16 --output-format=json";
    record_whole(
        directory.path(),
        |recorder| recorder.argument(program::path()).words(words),
        |finished, recorded| {
            let read = recorded.sum(Operation::Read, "/job.0.0");
            read == figures(finished, "read")
                && recorded.sum(Operation::Write, "/job.0.0").0 >= figures(finished, "write").0
        },
    );
    let refused = Launch::fathom(directory.path()).words("--name=again --read_iolog=a.trace").run();
    assert_ne!(refused.code(), 0);
    assert!(refused.stderr.contains("fathom trace-to-job makes a log"), "{}", refused.stderr);
    let log = Launch::fathom(directory.path()).words("trace-to-job a.trace -o all.log").run();
    assert_eq!(log.code(), 0, "{}", log.stderr);
    let text = fs::read_to_string(directory.path().join("all.log")).expect("a log");
    let own: Vec<&str> = text.lines().filter(|line| line.contains("/job.0.0 ")).collect();
    fs::write(directory.path().join("own.log"), format!("fio version 3 iolog\n{}\n", own.join("\n")))
        .expect("written");
    let words = "--name=again --read_iolog=own.log --replay_no_stall=1 --output-format=json";
    let again = Launch::fathom(directory.path()).words(words).run();
    assert_eq!(again.code(), 0, "{}{}", again.stdout, again.stderr);
    // The layout of the file was recorded, too.
    let recorded = Recorded::read(&directory.path().join("a.trace"));
    for (operation, direction) in [(Operation::Read, "read"), (Operation::Write, "write")] {
        assert_eq!(figures(&again, direction), recorded.sum(operation, "/job.0.0"), "{direction}");
    }
    // Under another directory.
    let log = Launch::fathom(directory.path()).words("trace-to-job a.trace --directory=/scratch").run();
    assert!(
        log.stdout.contains(&format!(" /scratch{}/job.0.0 write ", directory.path().display())),
        "{}",
        log.stderr
    );
}

#[test]
fn what_was_lost_is_said() {
    require!(can_record_files());
    let directory = scratch();
    file_of(directory.path(), "data", MIB);
    let script = "kill -STOP $PPID; dd if=data of=/dev/null bs=16 count=20000 status=none; kill -CONT $PPID; cat data > copy";
    let finished =
        record(directory.path(), "--names --buffer=64k").argument("sh").argument("-c").argument(script).run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let recorded = Recorded::read(&directory.path().join("a.trace"));
    let end = recorded.end.expect("an end");
    assert!(end.lost > 1000, "{end:?}");
    assert!(finished.stderr.contains(&format!("{} events lost", end.lost)), "{}", finished.stderr);
    assert_eq!(recorded.sum(Operation::Read, "/data").1 % 16, 0);
    let text = Launch::fathom(directory.path()).words("characterize a.trace").run();
    assert!(text.stdout.contains("The recorder lost"), "{}{}", text.stdout, text.stderr);
}

#[test]
fn refusals_say_what_to_do() {
    let directory = scratch();
    let told = |words: &str| {
        let finished = Launch::fathom(directory.path()).words(&format!("record {words}")).run();
        assert_eq!(finished.code(), 1, "{words}: {}", finished.stderr);
        finished.stderr
    };
    for (words, text) in [
        ("--files", "--files needs a command after --"),
        ("--pid=4000000000", "there is no such process; pgrep NAME"),
        ("--cgroup=/no/such/group", "there is no such control group"),
        ("--pid=1 --cgroup=x", "name one of --files, --pid and --cgroup"),
        ("--pid=1 -- cp", "--files -- COMMAND records a command"),
        ("/dev/vda --files -- cp", "leave the target out"),
    ] {
        let said = told(words);
        assert!(said.contains(text), "{words}: {said}");
    }
    require!(can_record_files());
    require!(skip::tool("setpriv"));
    let nobody = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(program::path())
        .args(["record", "--files", "-o", "/dev/null", "--force", "--", "true"])
        .output()
        .expect("setpriv starts");
    let said = String::from_utf8_lossy(&nobody.stderr).into_owned();
    if nobody.status.code() != Some(126) {
        assert!(said.contains("recording needs root: try sudo"), "{said}");
    }
}

#[test]
fn calls_of_odd_lengths_are_seen_as_sequential() {
    require!(can_record_files());
    let directory = scratch();
    file_of(directory.path(), "in", 300 * KIB);
    let bytes = 3000 * 97;
    let (_, recorded) = record_whole(
        directory.path(),
        |recorder| recorder.words("dd if=in of=out bs=97 count=3000 status=none"),
        |_, recorded| {
            let moved = |operation, name| recorded.sum(operation, name).1;
            (moved(Operation::Read, "/in"), moved(Operation::Write, "/out")) == (bytes, bytes)
        },
    );
    assert_eq!(recorded.of(Operation::Write, "/out").len(), 3000);
    let json =
        Launch::fathom(directory.path()).words("characterize a.trace --format=json").run().expect_clean();
    let document = json::document(&json.stdout);
    let writes = document["profile"]["directions"]
        .as_array()
        .expect("directions")
        .iter()
        .find(|direction| direction["direction"] == "write")
        .expect("writes");
    assert!(json::integer(writes, "streams/sequential_requests") >= 3000, "{writes}");
}
