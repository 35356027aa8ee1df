//! A killed worker affects no other result, and its own is kept up to that moment.

use crate::support::processes;
use crate::support::program::{self, Launch};
use crate::support::{PATIENCE, json, scratch, shape, skip};
use std::path::Path;
use std::time::{Duration, Instant};

const WORDS: &str = "--output-format=normal,json --ioengine=null --size=1G --bs=4k --rw=read --rate_iops=1000 \
                     --time_based --runtime=6 --name=a --name=b --name=c";

/// The process ID in a job's block.
fn pid_of(report: &str, name: &str) -> u32 {
    let start = format!("{name}: (groupid=0, jobs=1): ");
    let line =
        report.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no {name}: {report}"));
    let (_, pid) = line.split_once(" pid=").expect("a block names the process id");
    pid.split(':').next().and_then(|pid| pid.parse().ok()).expect("a process id is a number")
}

#[test]
fn one_of_three() {
    fathom_only!();
    let directory = scratch();
    let running = Launch::fathom(directory.path()).words(WORDS).start();
    // There may be helper processes in addition to the workers; these do not sleep hundreds of times in the
    // first seconds.
    let workers = || {
        let mut below = processes::descendants(running.pid());
        below.retain(|pid| processes::sleeps(*pid) >= 300);
        below
    };
    while workers().len() < 3 {
        assert!(running.elapsed() < PATIENCE, "jobs are separate processes: {:?}", workers());
        std::thread::sleep(Duration::from_millis(5));
    }
    let victim = workers()[2];
    processes::signal(victim, "KILL");
    let killed_after_ms = running.elapsed().as_millis() as u64;
    let finished = running.finish();
    let report = &finished.stdout;

    assert_ne!(finished.code(), 0, "a killed worker is no success: {report}");
    let document = json::document(report);
    let names = ["a", "b", "c"];
    let killed: Vec<_> = names.into_iter().filter(|name| pid_of(report, name) == victim).collect();
    assert_eq!(killed.len(), 1, "process {victim} is one of the jobs: {report}");
    for name in names {
        let job = json::job(&document, name);
        let (ios, error) = (json::integer(job, "read/total_ios"), json::integer(job, "error"));
        if killed == [name] {
            assert_ne!(error, 0, "{name} was killed");
            let most = killed_after_ms + 10;
            assert!((250..most).contains(&ios), "{name} did {ios} I/Os, {most} at most at 1000 a second");
            assert_eq!(json::integer(job, "read/clat_ns/N"), ios);
        } else {
            assert_eq!(error, 0, "{name} was left alone");
            assert!((4_000..=6_010).contains(&ios), "{name} did {ios} I/Os in 6 s at 1000 a second");
        }
    }
    check_whole(report, killed[0]);
}

/// Every block has its lines, and the killed one's first line has its error.
fn check_whole(report: &str, killed: &str) {
    let normal = &report[report.rfind("\n}\n").expect("the JSON ends") + 2..];
    let lines = shape::of(normal);
    for line in ["  cpu          :", "  IO depths    :", "     issued rwts:", "    clat (TIME):"] {
        assert_eq!(lines.iter().filter(|have| have.starts_with(line)).count(), 3, "{line}: {normal}");
    }
    let first =
        normal.lines().find(|line| line.starts_with(&format!("{killed}: "))).expect("its block is there");
    assert!(!first.contains("err= 0"), "{first}");
    assert!(normal.contains("\nRun status group 0 (all jobs):\n   READ: bw="), "{normal}");
}

#[test]
fn all_of_them() {
    fathom_only!();
    let directory = scratch();
    let words = WORDS.replace("--runtime=6", "--runtime=600");
    let running = Launch::fathom(directory.path()).words(&words).start();
    running.wait_for_sleeps(3_000);
    for worker in processes::descendants(running.pid()) {
        processes::signal(worker, "KILL");
    }
    // No worker is left to wait for, so this does not take the ten minutes.
    let finished = running.finish();
    assert_ne!(finished.code(), 0);
    let document = json::document(&finished.stdout);
    assert!(json::total(&document, "read/total_ios") > 1_500, "{}", finished.stdout);
}

/// Workers do not outlive the program that started them.
#[test]
fn the_program_itself() {
    let directory = scratch();
    let running = Launch::fathom(directory.path()).words(WORDS).start();
    running.wait_for_sleeps(500);
    let workers = processes::descendants(running.pid());
    running.signal("KILL");
    let finished = running.finish();
    assert_eq!(finished.code(), 128 + 9);
    fathom_only!();
    assert!(workers.len() >= 3, "{workers:?}");
    wait_until_gone(&workers);
}

fn wait_until_gone(processes: &[u32]) {
    let limit = Instant::now() + PATIENCE;
    for process in processes {
        while processes::runs(*process) {
            assert!(Instant::now() < limit, "process {process} is still there");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A process that requests it takes its runs along, even if it is killed; the run ends as with Ctrl-C, with
/// its report.
#[test]
fn the_process_that_started_it() {
    fathom_only!();
    let directory = scratch();
    let words = WORDS.replace("--runtime=6", "--runtime=600");
    let script =
        format!("FATHOM_END_WITH_PARENT=$$ {} --output=report {words} & wait", program::path().display());
    let running = Launch::of(Path::new("sh"), directory.path()).words("-c").argument(script).start();
    running.wait_for_sleeps(500);
    let below = processes::descendants(running.pid());
    assert!(below.len() >= 4, "{below:?}");
    processes::signal(running.pid(), "KILL");
    running.finish();
    wait_until_gone(&below);
    let report = std::fs::read_to_string(directory.path().join("report")).expect("a report is written");
    assert!(json::total(&json::document(&report), "read/total_ios") > 300, "{report}");
}

/// The variable must name the parent; any other value is reported as an error.
#[test]
fn who_started_it() {
    fathom_only!();
    let directory = scratch();
    let with = |parent: &str| {
        let launch = Launch::fathom(directory.path()).variable("FATHOM_END_WITH_PARENT", parent);
        launch.words("--name=a --ioengine=null --size=1m --rw=read").run()
    };
    // The first process of the machine exists but is not the parent.
    assert_eq!(with("1").code(), 0);
    for parent in ["", "0", "-1", "x"] {
        let finished = with(parent);
        assert_ne!(finished.code(), 0, "{parent}");
        assert!(finished.stderr.contains("not a process id"), "{parent}: {}", finished.stderr);
    }
    let mut ended = std::process::Command::new("true").spawn().expect("true(1) can be run");
    ended.wait().expect("true(1) ends");
    let finished = with(&ended.id().to_string());
    assert!(finished.code() != 0 && finished.stderr.contains("has ended"), "{}", finished.stderr);
}

/// If the system cannot report the parent's end, the run continues with a note.
#[test]
fn who_started_it_where_nobody_can_be_watched() {
    fathom_only!();
    require!(skip::tool("strace"));
    let directory = scratch();
    let finished = Launch::of(Path::new("strace"), directory.path())
        .words("-o /dev/null --trace=prctl --inject=prctl:error=EPERM")
        .argument(program::path())
        .variable("FATHOM_END_WITH_PARENT", &std::process::id().to_string())
        .words("--name=a --ioengine=null --size=1m --rw=read")
        .run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(finished.stderr.contains("cannot watch the parent process"), "{}", finished.stderr);
}

/// Not even the workers that it was just about to start outlive the program.
#[test]
fn the_program_itself_while_it_starts() {
    fathom_only!();
    require!(skip::tool("strace"));
    let directory = scratch();
    // Workers take a while before they ask to end with the program.
    let running = Launch::of(Path::new("strace"), directory.path())
        .words("-f -o /dev/null --trace=prctl --inject=prctl:delay_enter=500000")
        .argument(program::path())
        .words(WORDS)
        .timeout(PATIENCE)
        .start();
    let is_program = |pid: &u32| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name.trim() == "fathom" && !processes::descendants(*pid).is_empty()
    };
    let started = loop {
        if let Some(started) = processes::descendants(running.pid()).into_iter().find(is_program) {
            break started;
        }
        std::thread::sleep(Duration::from_millis(1));
        assert!(running.elapsed() < PATIENCE, "no worker starts");
    };
    processes::signal(started, "KILL");
    // strace ends with the last of them.
    running.finish();
}
