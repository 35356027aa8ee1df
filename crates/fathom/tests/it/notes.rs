//! Notes never appear where a program reads a report: a job for each note in the sources, in each
//! machine-readable format.
//!
//! The table has a row for each call that produces a note. New notes in the sources must be added here.

use crate::support::program::Launch;
use crate::support::{scratch, skip};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// How a note is triggered.
enum How {
    /// This job triggers the note.
    Job(&'static str),
    /// The second job triggers the note, after the first job has run.
    After(&'static str, &'static str),
    /// The note is not tested here, for this reason.
    Not(&'static str),
}

use How::{After, Job, Not};

const PASSED_ON: &str = "passes on what others say";
const ANSWER: &str = "the answer to a question, without a run";
const REFUSED: &str = "part of a refusal, without a run";
const FOR_PEOPLE: &str = "comes with the report for people only";
/// Messages of an engine are covered by the row for `remarks()` in `worker/setup.rs`.
const SERVER: &str = "needs a server; passed on as the remarks of other engines are";
const ZONES: &str = "needs a zoned device";

/// The source file, the text, and how it is triggered.
const NOTES: &[(&str, &str, How)] = &[
    ("fathom-engines/src/ceph/rbd.rs", "the cache of librbd", Not(SERVER)),
    ("fathom-engines/src/ceph/rbd.rs", "all its files are the same image", Not(SERVER)),
    ("fathom-engines/src/ceph/rbd.rs", "", Not(PASSED_ON)),
    (
        "fathom-engines/src/exec.rs",
        "printed",
        Job("--ioengine=exec --program=echo --arguments=printed --std_redirect=0"),
    ),
    (
        "fathom-engines/src/external/mod.rs",
        "violates its interface",
        Not("an engine that has to be built first"),
    ),
    ("fathom-engines/src/http/mod.rs", "requests that move no data", Not(SERVER)),
    ("fathom-engines/src/http/mod.rs", "http_quickack", Not(SERVER)),
    (
        "fathom-engines/src/io_uring.rs",
        "md_per_io_size has no effect",
        Job("--ioengine=io_uring --md_per_io_size=64 --rw=write --size=64k"),
    ),
    ("fathom-engines/src/libhdfs/mod.rs", "the last chunk is not complete", Not(SERVER)),
    ("fathom-engines/src/libhdfs/mod.rs", "", Not(PASSED_ON)),
    ("fathom-engines/src/mtd.rs", "bad erase blocks", Not("needs a flash memory with bad blocks")),
    ("fathom-engines/src/nbd/mod.rs", "the connection was lost", Not(SERVER)),
    ("fathom-engines/src/nbd/mod.rs", "filename= names nothing here", Not(SERVER)),
    ("fathom-engines/src/nbd/mod.rs", "files are one export", Not(SERVER)),
    ("fathom-engines/src/nbd/mod.rs", "", Not(PASSED_ON)),
    ("fathom-engines/src/offload.rs", "", Not(PASSED_ON)),
    ("fathom-engines/src/rdma/mod.rs", "its verb= has no effect", Not("needs an adapter for RDMA")),
    ("fathom-engines/src/sockets/queued.rs", "", Not(PASSED_ON)),
    ("fathom-engines/src/sockets/spliced.rs", "", Not(PASSED_ON)),
    (
        "fathom-engines/src/sockets/transfer.rs",
        "datagrams were longer",
        Not("needs a peer with other blocks"),
    ),
    ("fathom-engines/src/sockets/transfer.rs", "", Not(PASSED_ON)),
    ("fathom-engines/src/splice.rs", "vmsplice is refused", Not("needs a kernel that refuses it")),
    ("fathom-hosts/src/controller/mod.rs", "", Not(PASSED_ON)),
    ("fathom-hosts/src/controller/mod.rs", "", Not(PASSED_ON)),
    ("fathom-hosts/src/controller/mod.rs", "", Not(PASSED_ON)),
    ("fathom-local/src/here.rs", "the line of a job", Not(FOR_PEOPLE)),
    ("fathom-local/src/here.rs", "the version", Not(FOR_PEOPLE)),
    ("fathom-local/src/here.rs", "Starting 1 process", Not(FOR_PEOPLE)),
    ("fathom-local/src/here.rs", "the load of a profile", Not(FOR_PEOPLE)),
    ("fathom-run/src/engine.rs", "", Not(PASSED_ON)),
    ("fathom-run/src/message.rs", "", Not(PASSED_ON)),
    ("fathom-run/src/message.rs", "", Not(PASSED_ON)),
    (
        "fathom-run/src/storage/files/layout.rs",
        "posix_fallocate fails",
        Not("needs a kernel that refuses it"),
    ),
    ("fathom-run/src/storage/files/layout.rs", "fallocate=keep", Not("needs a kernel that refuses it")),
    ("fathom-run/src/worker/arena.rs", "limiting mlocked memory", Not("takes all memory of the machine")),
    (
        "fathom-run/src/worker/commands.rs",
        "a : Saving output of prerun in a.prerun.txt",
        Job("--ioengine=null --size=4k --exec_prerun=true"),
    ),
    ("fathom-run/src/worker/debug.rs", "load ioengine null", Job("--ioengine=null --size=4k --debug=io")),
    ("fathom-run/src/worker/files.rs", "may be ignored", Not("a file of which the job uses nothing")),
    ("fathom-run/src/worker/files.rs", "what exists is used", Not("needs a device; see the test on one")),
    (
        "fathom-run/src/worker/files.rs",
        "ioscheduler has no effect",
        Job("--ioengine=null --size=4k --ioscheduler=none"),
    ),
    (
        "fathom-run/src/worker/followers/latency_target.rs",
        "of the I/Os met latency_target",
        Job(
            "--ioengine=psync --size=1g --rw=write --latency_target=1us --latency_window=10ms --latency_percentile=50 \
             --time_based --runtime=300ms",
        ),
    ),
    ("fathom-run/src/worker/gates/zones.rs", "", Not(PASSED_ON)),
    ("fathom-run/src/worker/mod.rs", "waiting for connection", Not("needs a port; see the test on two jobs")),
    (
        "fathom-run/src/worker/setup.rs",
        "both iodepth >= 1 and synchronous I/O engine",
        Job("--ioengine=psync --size=64k --iodepth=4"),
    ),
    (
        "fathom-run/src/worker/setup.rs",
        "a : Running echo printed",
        Job("--ioengine=exec --program=echo --arguments=printed --std_redirect=0"),
    ),
    (
        "fathom-run/src/worker/setup.rs",
        "exceeds 32-bit tausworthe",
        Job(
            "--ioengine=null --size=20t --bs=4k --rw=randread --norandommap --io_size=64k --random_generator=tausworthe",
        ),
    ),
    (
        "fathom-run/src/worker/sources/verifier/checking.rs",
        "Stop verify because seq",
        After(STATE, "--rw=randread --verify=md5 --verify_state_load=1 --size=64k --ioengine=psync"),
    ),
    (
        "fathom-run/src/worker/sources/verifier/mod.rs",
        "Stop verify because seq 10 >= 10",
        After(
            STATE,
            "--rw=randwrite --verify=md5 --verify_only --verify_state_load=1 --size=64k --ioengine=psync",
        ),
    ),
    (
        "fathom-run/src/worker/sources/verifier/mod.rs",
        "Stop verify because seq",
        After(STATE, "--rw=read --verify=md5 --verify_state_load=1 --size=64k --ioengine=psync"),
    ),
    (
        "fathom-run/src/worker/sources/verifier/rehearsal.rs",
        "Stop verify because seq",
        After(
            STATE,
            "--rw=randwrite --verify=md5 --verify_only --verify_state_load=1 --size=64k --norandommap",
        ),
    ),
    ("fathom-run/src/zones/fit.rs", "rounded up offset", Not(ZONES)),
    ("fathom-run/src/zones/fit.rs", "rounded down io_size", Not(ZONES)),
    ("fathom-api/src/child.rs", "", Not(PASSED_ON)),
    ("fathom-serve/src/work.rs", "", Not(PASSED_ON)),
    ("fathom-spec/src/assembly.rs", "--showcmd", Not(ANSWER)),
    (
        "fathom-spec/src/assign.rs",
        "Option flow_watermark is deprecated",
        Job("--ioengine=null --size=4k --flow_watermark=1"),
    ),
    ("fathom-spec/src/context.rs", "", Not(PASSED_ON)),
    ("fathom-spec/src/debug.rs", "set all debug options", Job("--ioengine=null --size=4k --debug=all")),
    ("fathom-spec/src/debug.rs", "set debug jobno 1", Job("--ioengine=null --size=4k --debug=job:1")),
    ("fathom-spec/src/debug.rs", "set debug option io", Job("--ioengine=null --size=4k --debug=io")),
    (
        "fathom-spec/src/debug.rs",
        "there are no lines of this class",
        Job("--ioengine=null --size=4k --debug=zbd"),
    ),
    (
        "fathom-spec/src/engines/io_uring.rs",
        "readfua has no effect with ioengine=io_uring",
        Job("--ioengine=io_uring --size=4k --readfua=1"),
    ),
    (
        "fathom-spec/src/engines/io_uring.rs",
        "apptag has no effect without md_per_io_size",
        Job("--ioengine=io_uring --size=4k --apptag=1"),
    ),
    (
        "fathom-spec/src/engines/io_uring_cmd.rs",
        "cdb_len has no effect without cmd_type=bsg",
        Job("--ioengine=io_uring_cmd --cmd_type=nvme --cdb_len=16 --filename=/dev/null --size=4k"),
    ),
    (
        "fathom-spec/src/engines/metadata.rs",
        "fsync has no effect with ioengine=filecreate",
        Job("--ioengine=filecreate --filesize=4k --nrfiles=2 --fsync=1"),
    ),
    ("fathom-spec/src/engines/review.rs", "", Not(PASSED_ON)),
    ("fathom-spec/src/help.rs", "--cmdhelp=all", Not(ANSWER)),
    ("fathom-spec/src/help.rs", "--cmdhelp=bs", Not(ANSWER)),
    ("fathom-spec/src/help.rs", "--cmdhelp=nearly", Not(ANSWER)),
    ("fathom-spec/src/help.rs", "not found", Not(ANSWER)),
    ("fathom-spec/src/help.rs", "has no options", Not(ANSWER)),
    ("fathom-spec/src/help.rs", "--enghelp=libaio", Not(ANSWER)),
    ("fathom-spec/src/help.rs", "--enghelp=libaio,hipri", Not(ANSWER)),
    ("fathom-spec/src/help.rs", "--enghelp", Not(ANSWER)),
    ("fathom-spec/src/job_file.rs", "section [ab has no closing bracket", Job("unclosed.fio")),
    ("fathom-spec/src/job_file.rs", "the variable UNSET_HERE is not set", Job("unset.fio")),
    ("fathom-spec/src/lib.rs", "the usage", Not(REFUSED)),
    ("fathom-spec/src/program_options/setters.rs", "--version", Not(ANSWER)),
    (
        "fathom-spec/src/resolve/block_size.rs",
        "Any use of blockalign= turns off randommap",
        Job("--ioengine=null --size=64k --rw=randread --blockalign=512"),
    ),
    (
        "fathom-spec/src/resolve/block_size.rs",
        "bs_unaligned may not work with raw io",
        Job("--ioengine=null --size=64k --bs_unaligned --direct=1"),
    ),
    (
        "fathom-spec/src/resolve/block_size.rs",
        "the block size of writes has no effect with rw=trimwrite",
        Job("--ioengine=null --size=64k --rw=trimwrite --bs=4k,4k,8k"),
    ),
    (
        "fathom-spec/src/resolve/buffers.rs",
        "buffer_compress_chunk has no effect",
        Job("--ioengine=null --size=4k --buffer_compress_chunk=4k"),
    ),
    (
        "fathom-spec/src/resolve/direct.rs",
        "cannot pre-read files",
        Job("--ioengine=null --size=4k --pre_read=1"),
    ),
    (
        "fathom-spec/src/resolve/hosts.rs",
        "unique_filename has no effect",
        Job("--ioengine=null --size=4k --unique_filename=1"),
    ),
    (
        "fathom-spec/src/resolve/hosts.rs",
        "host_rotation has no effect",
        Job("--ioengine=null --size=4k --host_rotation=1"),
    ),
    (
        "fathom-spec/src/resolve/logs.rs",
        "log_avg_msec has no effect",
        Job("--ioengine=null --size=4k --log_avg_msec=5"),
    ),
    (
        "fathom-spec/src/resolve/placement.rs",
        "plids has no effect",
        Job("--ioengine=null --size=4k --plids=1"),
    ),
    (
        "fathom-spec/src/resolve/precondition.rs",
        "loops has no effect with sprandom",
        Job("--sprandom=1 --rw=randwrite --loops=2 --size=16m --bs=4k --ioengine=psync"),
    ),
    (
        "fathom-spec/src/resolve/precondition.rs",
        "sprandom sets norandommap=1",
        Job("--sprandom=1 --rw=randwrite --size=16m --bs=4k --ioengine=psync"),
    ),
    (
        "fathom-spec/src/resolve/precondition.rs",
        "spr_op has no effect",
        Job("--ioengine=null --size=4k --spr_op=0.2"),
    ),
    (
        "fathom-spec/src/resolve/rate.rs",
        "open_loop_spin has no effect",
        Job("--ioengine=null --size=4k --open_loop_spin=1"),
    ),
    (
        "fathom-spec/src/resolve/replay.rs",
        "read iolog overrides",
        Job("--ioengine=null --read_iolog=log --write_iolog=other"),
    ),
    (
        "fathom-spec/src/resolve/replay.rs",
        "they have no effect: size",
        Job("--ioengine=null --read_iolog=log --size=4k"),
    ),
    (
        "fathom-spec/src/resolve/replay.rs",
        "replay_no_stall has no effect",
        Job("--ioengine=null --size=4k --replay_no_stall=1"),
    ),
    (
        "fathom-spec/src/resolve/replay.rs",
        "merge_blktrace_scalars has no effect",
        Job("--ioengine=null --size=4k --merge_blktrace_scalars=100"),
    ),
    (
        "fathom-spec/src/resolve/time.rs",
        "time_based requires a runtime",
        Job("--ioengine=null --size=4k --time_based"),
    ),
    (
        "fathom-spec/src/resolve/verification.rs",
        "verify_ledger has no effect",
        Job("--rw=read --verify=crc32c --verify_ledger=l --ioengine=psync --size=64k"),
    ),
    (
        "fathom-spec/src/resolve/verification.rs",
        "verify limited",
        Job("--rw=randwrite --bsrange=4k-8k --norandommap --verify=crc32c --ioengine=psync --size=64k"),
    ),
    (
        "fathom-spec/src/resolve/verification.rs",
        "ioengine=filecreate moves no data",
        Job("--ioengine=filecreate --rw=write --verify=crc32c --filesize=4k --nrfiles=2"),
    ),
    (
        "fathom-spec/src/resolve/verification.rs",
        "multiple writers may overwrite blocks",
        Job("--filename=d --numjobs=2 --rw=write --verify=crc32c --size=64k --ioengine=psync"),
    ),
    (
        "fathom-spec/src/resolve/verification.rs",
        "verification read phase will never start",
        Job("--ioengine=psync --size=64k --time_based --runtime=100ms --rw=write --verify=crc32c"),
    ),
    (
        "fathom-spec/src/resolve/zones.rs",
        "zonerange has no effect",
        Job("--ioengine=null --size=4k --zonerange=4k"),
    ),
    (
        "fathom-spec/src/resolve/zones.rs",
        "zoneskip has no effect on random I/O",
        Job("--ioengine=psync --size=1m --zonemode=zbd --rw=randread --zoneskip=1 --zonesize=64k"),
    ),
    (
        "fathom-spec/src/resolve/zones.rs",
        "has no effect without zone_reset_frequency",
        Job("--ioengine=psync --size=1m --zonemode=zbd --rw=write --zonesize=64k --zone_reset_threshold=0.5"),
    ),
    (
        "fathom-spec/src/value/bssplit.rs",
        "is read as 508 percent",
        Job("--ioengine=null --size=64k --bssplit=4k/508k/50"),
    ),
    (
        "fathom-spec/src/value/bssplit.rs",
        "\"/50\" in 4k/508k/50 has no effect",
        Job("--ioengine=null --size=64k --bssplit=4k/508k/50"),
    ),
    (
        "fathom-spec/src/value/bssplit.rs",
        "add up to 120",
        Job("--ioengine=null --size=64k --bssplit=4k/60:8k/60"),
    ),
    (
        "fathom-spec/src/value/bssplit.rs",
        "add up to 70",
        Job("--ioengine=null --size=64k --bssplit=4k/50:8k/20"),
    ),
    ("fathom-spec/src/value/engine_name.rs", "the engines that there are", Not(REFUSED)),
    ("fathom-spec/src/value/file_names.rs", "func=lstat", Not(REFUSED)),
    ("fathom-spec/src/value/mod.rs", "the values that there are", Not(REFUSED)),
    (
        "fathom-spec/src/value/number.rs",
        "read as 4kb; \"5\" has no effect",
        Job("--ioengine=null --size=4kb5"),
    ),
    ("fathom-spec/src/value/number.rs", "it takes one value", Job("--ioengine=null --size=4k --loops=1,2")),
    (
        "fathom-spec/src/value/size.rs",
        "of several values the last counts",
        Job("--ioengine=null --size=4k,8k"),
    ),
    ("fathom/src/hosts/clients.rs", "", Not(PASSED_ON)),
    ("fathom/src/hosts/clients.rs", "", Not(PASSED_ON)),
    ("fathom/src/hosts/clients.rs", "", Not(PASSED_ON)),
    ("fathom/src/run.rs", "rand_seeds[0]=", Job("--ioengine=null --size=4k --debug=random")),
    ("fathom/src/run.rs", "", Not(PASSED_ON)),
    ("fathom/src/runner.rs", "", Not(PASSED_ON)),
];

/// Ten writes, and the state of their verification.
const STATE: &str = "--ioengine=psync --size=64k --rw=randwrite --verify=md5 --number_ios=10 --do_verify=0 --verify_state_save=1";

/// Calls that make a note, or pass it on, in the sources.
const CALLS: [&str; 11] = [
    "review.note(",
    "review.note_as_fio(",
    "review.warn(",
    "context.remark(",
    "remarks.push(",
    "fn remarks(",
    "geometry.notes.push(",
    "self.file.notes.extend(",
    "self.file.notes.push(",
    "Message::stdout(",
    "Message::Output(",
];

/// Sources of possible messages before and during a run with a machine-readable report.
fn sources() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<PathBuf> = fs::read_dir(crates)
        .expect("the crates")
        .map(|entry| entry.expect("a crate").path())
        // Commands print no report of a run, and tests have no users.
        .filter(|path| !path.ends_with("fathom-answers") && !path.ends_with("fathom-testing"))
        .map(|path| path.join("src"))
        .filter(|path| path.is_dir())
        .collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("a source").path();
            match path.is_dir() {
                true => folders.push(path),
                false
                    if path.extension().is_some_and(|ending| ending == "rs")
                        && !path.ends_with("tests.rs") =>
                {
                    files.push(path);
                }
                false => {}
            }
        }
    }
    files
}

/// Calls that make notes in a source, without its tests and comments.
fn calls(source: &str) -> usize {
    let tested = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(source);
    let lines = tested.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.map(|line| CALLS.iter().map(|call| line.matches(call).count()).sum::<usize>()).sum()
}

#[test]
fn the_table_has_a_row_for_each_note_in_the_sources() {
    let mut in_sources: BTreeMap<String, usize> = BTreeMap::new();
    for path in sources() {
        let count = calls(&fs::read_to_string(&path).expect("a source"));
        let text = path.to_string_lossy().into_owned();
        let name = text.split_once("/../").map_or(text.clone(), |(_, name)| name.to_owned());
        if count > 0 {
            in_sources.insert(name, count);
        }
    }
    let mut in_table: BTreeMap<String, usize> = BTreeMap::new();
    NOTES.iter().for_each(|(file, _, _)| *in_table.entry((*file).to_owned()).or_default() += 1);
    assert_eq!(in_sources, in_table, "a new note needs a row in NOTES, and one that has gone loses its own");
}

/// Each machine-readable format, and whether it goes to the file of `--output`.
const FORMATS: [(&str, bool); 9] = [
    ("json", false),
    ("json", true),
    ("json+", false),
    ("json+", true),
    ("terse", false),
    ("terse", true),
    ("csv", false),
    ("csv", true),
    ("jsonl", false),
];

/// Fails unless the text is a report in this format from its first byte to its last.
#[track_caller]
fn expect_report(format: &str, text: &str, case: &str) {
    let is_json =
        |text: &str| serde_json::from_str::<serde_json::Value>(text).is_ok_and(|value| value.is_object());
    let mut lines = text.lines();
    let is_report = match format {
        "json" | "json+" => text.starts_with('{') && is_json(text),
        "jsonl" => lines.next().is_some_and(is_json) && lines.all(is_json),
        "csv" => {
            lines.next().is_some_and(|line| line.starts_with("timestamp_ms,"))
                && lines.all(|line| line.split(',').next().is_some_and(|time| time.parse::<u64>().is_ok()))
        }
        _ => text.starts_with("3;fio-3.42;") && lines.all(|line| line.starts_with("3;fio-3.42;")),
    };
    assert!(is_report, "{case}: {text}");
}

/// Runs a job in every format, each in a directory that `words_in` prepares.
#[track_caller]
fn check(says: &str, words_in: &dyn Fn(&Path) -> String) {
    for (format, in_file) in FORMATS {
        let directory = scratch();
        let place = if in_file { " --output=report" } else { "" };
        let case = format!("{} --output-format={format}{place}", words_in(directory.path()));
        let finished = Launch::fathom(directory.path()).words(&case).run();
        let report = match in_file {
            true => fs::read_to_string(directory.path().join("report")).expect("a report"),
            false => finished.stdout.clone(),
        };
        expect_report(format, &report, &case);
        assert!(!in_file || finished.stdout.is_empty(), "{case}: {}", finished.stdout);
        assert!(finished.stderr.contains(says), "{case}: {says}: {}", finished.stderr);
    }
}

/// Input files of the table's jobs.
fn prepare(directory: &Path) {
    let write = |name: &str, text: &str| fs::write(directory.join(name), text).expect("written");
    write("log", "fio version 2 iolog\nd add\nd open\nd write 0 4096\nd close\n");
    write("unclosed.fio", "[ab\nioengine=null\nsize=4k\n");
    write("unset.fio", "[a]\nioengine=null\nsize=4k\nfilename=d${UNSET_HERE}\n");
}

#[test]
fn each_note_leaves_the_report_alone() {
    fathom_only!();
    for (file, says, how) in NOTES {
        let named = |words: &str| match words.starts_with("--") {
            true => format!("--name=a {words}"),
            false => words.to_owned(),
        };
        match how {
            Job(words) => check(says, &|directory| {
                prepare(directory);
                named(words)
            }),
            After(first, words) => check(says, &|directory| {
                Launch::fathom(directory).words(&named(first)).run().expect_clean();
                named(words)
            }),
            Not(reason) => assert!(!reason.is_empty(), "{file}: {says}"),
        }
    }
}

#[test]
fn a_device_that_ends_early() {
    fathom_only!();
    require!(skip::root());
    let room = scratch();
    let device = require!(crate::support::devices::LoopDevice::with_holes(room.path(), 1 << 20));
    let words = format!("--name=a --rw=read --bs=64k --size=2m --filename={}", device.path().display());
    check("; what exists is used", &|_| words.clone());
}

#[test]
fn two_jobs_that_meet() {
    fathom_only!();
    check("fio: waiting for connection", &|_| {
        let port = crate::sockets::free_port();
        let side = |name: &str| format!("--name={name} --ioengine=net --port={port} --size=64k --bs=4k");
        format!("{} --rw=read --listen {} --rw=write --hostname=127.0.0.1", side("a"), side("b"))
    });
}

#[test]
fn the_command_of_a_trigger_prints_beside_the_report() {
    fathom_only!();
    let words =
        "--name=a --ioengine=null --size=1g --rate_iops=100 --bs=4k --trigger-timeout=100ms --trigger=pwd";
    check("/", &|_| words.to_owned());
    let directory = scratch();
    let finished = Launch::fathom(directory.path()).words(words).run();
    assert!(finished.stdout.lines().any(|line| line.starts_with('/')), "people read it: {}", finished.stdout);
}
