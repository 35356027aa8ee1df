//! A worker that is killed costs nobody else's result, and its own stands up to that moment.

use crate::support::processes;
use crate::support::program::{self, Launch};
use crate::support::{json, scratch, shape, skip};
use std::path::Path;
use std::time::Duration;

const WORDS: &str = "--output-format=normal,json --ioengine=null --size=1G --bs=4k --rw=read --rate_iops=1000 \
                     --time_based --runtime=3 --name=a --name=b --name=c";

/// The process id that a job's block names.
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
    std::thread::sleep(Duration::from_millis(1_500));
    let workers = processes::descendants(running.pid());
    assert!(workers.len() >= 3, "jobs are processes of their own: {workers:?}");
    // Helpers may stand beside the workers, so the victim is whichever the report names later.
    let victim = workers[workers.len() - 1];
    processes::signal(victim, "KILL");
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
            assert!((900..2_000).contains(&ios), "{name} had done {ios} I/Os after 1.5 s at 1000 a second");
            assert_eq!(json::integer(job, "read/clat_ns/N"), ios);
        } else {
            assert_eq!(error, 0, "{name} was left alone");
            assert!((2_900..=3_010).contains(&ios), "{name} did {ios} I/Os in 3 s at 1000 a second");
        }
    }
    check_whole(report, killed[0]);
}

/// Every block has its lines, the killed one's first line its error.
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
    let running = Launch::fathom(directory.path()).words(WORDS).start();
    std::thread::sleep(Duration::from_millis(1_000));
    for worker in processes::descendants(running.pid()) {
        processes::signal(worker, "KILL");
    }
    let finished = running.finish();
    assert!(
        finished.elapsed < Duration::from_millis(2_500),
        "nobody was left to wait for: {:?}",
        finished.elapsed
    );
    assert_ne!(finished.code(), 0);
    let document = json::document(&finished.stdout);
    assert!(json::total(&document, "read/total_ios") > 1_500, "{}", finished.stdout);
}

/// Workers do not outlive the program that started them.
#[test]
fn the_program_itself() {
    let directory = scratch();
    let running = Launch::fathom(directory.path()).words(WORDS).start();
    std::thread::sleep(Duration::from_millis(500));
    let workers = processes::descendants(running.pid());
    running.signal("KILL");
    let finished = running.finish();
    assert_eq!(finished.code(), 128 + 9);
    fathom_only!();
    std::thread::sleep(Duration::from_millis(500));
    for worker in workers {
        assert!(!processes::runs(worker), "process {worker} is still there");
    }
}

/// Not even those that it was just about to start.
#[test]
fn the_program_itself_while_it_starts() {
    fathom_only!();
    require!(skip::tool("strace"));
    let directory = scratch();
    // Workers take their time before they ask to end with the program.
    let running = Launch::of(Path::new("strace"), directory.path())
        .words("-f -o /dev/null --trace=prctl --inject=prctl:delay_enter=500000")
        .argument(program::path())
        .words(WORDS)
        .timeout(Duration::from_secs(20))
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
        assert!(running.elapsed() < Duration::from_secs(10), "no worker starts");
    };
    processes::signal(started, "KILL");
    // strace ends with the last of them.
    running.finish();
}
