//! Triggers: a file or a time ends the jobs, their data can be verified later, and a command is run at that point.

use crate::support::program::{self, Finished, Launch};
use crate::support::{json, scratch, wait_until};
use std::path::Path;

/// A job that would write for ten minutes.
const WRITES: &str = "--bs=4k --size=1m --filename=data --time_based --runtime=600 --rate_iops=500";

#[track_caller]
fn run(directory: &Path, words: &str, command: &str) -> Finished {
    let finished = Launch::fathom(directory)
        .words("--output-format=json")
        .words(words)
        .argument(format!("--trigger={command}"))
        .run();
    assert_eq!(finished.code(), 0, "{words}: {}", finished.stderr);
    finished
}

/// Number of writes in a state file.
#[track_caller]
fn writes_in(directory: &Path, state: &str) -> u64 {
    let bytes = std::fs::read(directory.join(state)).expect("a state was saved");
    // After the header: depth, 4 bytes of padding, and the number.
    u64::from_le_bytes(bytes[32..40].try_into().expect("eight bytes"))
}

#[test]
fn after_a_time_states_are_saved_and_the_command_runs() {
    let directory = scratch();
    let job = format!("--name=a/b --rw=randwrite --verify=md5 {WRITES} --verify_state_save=0");
    let command = "test -s local-a.b-0-verify.state && echo saved > mark; pwd";
    let finished = run(directory.path(), &format!("{job} --trigger-timeout=1s"), command);
    let mark = std::fs::read_to_string(directory.path().join("mark")).expect("the command ran");
    assert_eq!(mark, "saved\n", "the state came first");
    let place = directory.path().canonicalize().expect("a path").display().to_string();
    assert!(
        finished.stderr.lines().any(|line| line == place),
        "the command prints in addition to the report: {}",
        finished.stderr
    );
    let document = json::document(&finished.stdout);
    let writes = json::integer(json::job(&document, "a/b"), "write/total_ios");
    assert_eq!(json::integer(json::job(&document, "a/b"), "error"), 0);
    assert!(writes > 0);
    assert_eq!(writes_in(directory.path(), "local-a.b-0-verify.state"), writes);
}

#[test]
fn what_was_written_until_then_can_be_checked() {
    let directory = scratch();
    let job = "--name=a --rw=randwrite --verify=crc32c --bs=4k --size=4m --filename=data --rate_iops=300";
    run(directory.path(), &format!("{job} --trigger-timeout=1"), "true");
    let written = writes_in(directory.path(), "local-a-0-verify.state");
    assert!((1..1024).contains(&written), "{written}");
    let words = "--name=a --rw=randwrite --verify=crc32c --bs=4k --size=4m --filename=data --verify_only=1 --verify_state_load=1";
    let checked = Launch::fathom(directory.path()).words("--output-format=json").words(words).run();
    assert_eq!(checked.code(), 0, "{}", checked.stderr);
    let document = json::document(&checked.stdout);
    assert_eq!(json::integer(json::job(&document, "a"), "read/io_bytes"), written * 4096);
    // An interrupted check does not change the state.
    run(directory.path(), &format!("{words} --rate_iops=20 --trigger-timeout=500ms"), "true");
    assert_eq!(writes_in(directory.path(), "local-a-0-verify.state"), written);
}

/// Jobs without verification also leave a state, one per clone; jobs that wait for them never start.
#[test]
fn a_file_ends_the_jobs() {
    let directory = scratch();
    let data = directory.path().join("a.0.0");
    let words = "--output-format=json --trigger-file=now --name=a --rw=write --bs=4k --size=1m --fallocate=none --time_based \
                 --runtime=600 --rate_iops=500 --numjobs=2 --thread --name=later --rw=write --size=64k --stonewall";
    let running = Launch::fathom(directory.path()).words(words).start();
    wait_until("the job begins", || std::fs::metadata(&data).is_ok_and(|metadata| metadata.len() > 0));
    std::fs::write(directory.path().join("now"), "").expect("a file can be written");
    let finished = running.finish();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(!directory.path().join("now").exists(), "it is taken away");
    let document = json::document(&finished.stdout);
    for clone in 0..2 {
        let writes = json::integer(&document["jobs"][clone], "write/total_ios");
        assert_eq!(writes_in(directory.path(), &format!("local-a-{clone}-verify.state")), writes);
    }
    assert!(!directory.path().join("local-later-2-verify.state").exists());
    assert_eq!(json::total(&document, "write/total_ios"), {
        let of = |clone: usize| json::integer(&document["jobs"][clone], "write/total_ios");
        of(0) + of(1)
    });
}

#[test]
fn a_command_that_fails_is_told() {
    let directory = scratch();
    let job = format!("--name=a --rw=write {WRITES} --trigger-timeout=300ms");
    let finished = run(directory.path(), &job, "exit 3");
    assert_eq!(finished.stderr, "fathom: --trigger=exit 3 ended with status 3\n");
    let finished = run(directory.path(), &job, "kill -9 $$");
    assert_eq!(finished.stderr, "fathom: --trigger=kill -9 $$ was killed by signal 9\n");
}

#[test]
fn a_run_that_is_over_before_runs_no_command() {
    let directory = scratch();
    let words =
        "--name=a --rw=write --bs=4k --size=64k --filename=data --trigger-timeout=60 --trigger-file=never";
    run(directory.path(), words, "touch mark").expect_clean();
    assert!(!directory.path().join("mark").exists());
    assert!(!directory.path().join("local-a-0-verify.state").exists());
}

#[test]
fn triggers_that_make_no_sense_are_refused() {
    let directory = scratch();
    for (words, told) in [
        (
            "--trigger=true",
            "fathom: command line: --trigger has nothing to run after; give --trigger-file or --trigger-timeout\n",
        ),
        ("--trigger=true --trigger-timeout=0", "fathom: command line: --trigger has nothing to run after"),
        ("--trigger-timeout=x", "fio: failed parsing time x\n"),
    ] {
        let words = format!("--name=a --ioengine=null --size=4k {words}");
        let refused = Launch::fathom(directory.path()).words(&words).run();
        assert_eq!(refused.code(), 1, "{words}");
        assert!(refused.stderr.contains(told), "{words}: {}", refused.stderr);
    }
    let words = "--name=a --ioengine=null --size=4k --trigger-remote=true";
    let idle = Launch::fathom(directory.path()).words(words).run();
    assert_eq!(idle.code(), 0, "{}", idle.stderr);
    let told = "fathom: --trigger-remote has no effect without --client or --hosts\n";
    assert!(program::is_another() || idle.stderr.contains(told), "{}", idle.stderr);
}

#[test]
fn the_clocks_of_the_processors_are_compared() {
    let directory = scratch();
    let finished = Launch::fathom(directory.path()).words("--cpuclock-test").run();
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert!(lines.iter().all(|line| line.starts_with("cs: ")), "{lines:?}");
    assert!(
        lines.iter().any(|line| line.starts_with("cs: cpu  0: ") && line.contains(" clocks seen, first "))
    );
    let last = lines.last().copied();
    assert!(
        last == Some("cs: Pass!") && finished.code() == 0 || last == Some("cs: Fail") && finished.code() == 1,
        "{lines:?}"
    );
}

/// Data placement is for device engines: others refuse it, and options without effect are noted.
#[test]
fn data_is_placed_only_by_engines_that_can() {
    let directory = scratch();
    let run = |words: &str| {
        let words = format!("--name=a --ioengine=null --rw=write --size=64k {words}");
        Launch::fathom(directory.path()).words(&words).run()
    };
    for (words, told) in [
        ("--fdp=1", "a: engine (null) lacks fetch ruhs\n"),
        ("--dataplacement=fdp --plids=0,2-3 --plid_select=random", "a: engine (null) lacks fetch ruhs\n"),
        ("--dataplacement=streams", "fio: stream IDs must be provided for dataplacement=streams\n"),
        ("--fdp=1 --dp_scheme=absent", "fio: lstat() error related to absent\n"),
        ("--fdp=1 --plids=70000", "Placement IDs cannot exceed 0xFFFF\n"),
    ] {
        let refused = run(words);
        assert_eq!(refused.code(), 1, "{words}");
        assert!(refused.stderr.contains(told), "{words}: {}", refused.stderr);
    }
    let noted = run("--plids=1");
    assert_eq!(noted.code(), 0);
    assert!(
        noted.stderr.contains("fathom: job a: plids has no effect without fdp=1 or dataplacement\n"),
        "{}",
        noted.stdout
    );
}
