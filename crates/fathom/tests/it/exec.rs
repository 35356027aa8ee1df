//! `ioengine=exec`: programs that run alongside jobs, how they end, and that none is left behind.

use crate::support::program::{Finished, Launch};
use crate::support::{PATIENCE, json, processes, scratch};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

fn run(directory: &Path, words: &str) -> Finished {
    Launch::fathom(directory).words("--name=a --ioengine=exec").words(words).run()
}

fn text(directory: &Path, name: &str) -> String {
    fs::read_to_string(directory.join(name)).unwrap_or_default()
}

/// A program that writes its process id, and that of a child, into `pids`.
fn nest(directory: &Path, more: &str) {
    let lines = format!("{more}\nsleep 1000 &\necho $$ $! >pids.new\nmv pids.new pids\nwait\nwait\n");
    fs::write(directory.join("nest"), lines).expect("written");
}

fn pids(directory: &Path) -> Vec<u32> {
    let begun = Instant::now();
    loop {
        let found: Vec<u32> =
            text(directory, "pids").split_whitespace().filter_map(|word| word.parse().ok()).collect();
        if found.len() == 2 {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "the program starts");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn end_soon(pids: &[u32]) {
    let begun = Instant::now();
    while pids.iter().any(|pid| processes::runs(*pid)) {
        assert!(begun.elapsed() < PATIENCE, "{pids:?} go on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_a_program_prints_is_saved() {
    let directory = scratch();
    fs::write(directory.path().join("p"), "echo \"$*\"; echo seen >&2").expect("written");
    let words = "--program=sh --runtime=70 --numjobs=2";
    let finished = Launch::fathom(directory.path())
        .words("--name=a --ioengine=exec")
        .words(words)
        .argument("--arguments=p  %r %n '$HOME 5%")
        .run()
        .expect_clean();
    assert!(finished.elapsed < Duration::from_secs(60), "the job ends with its program");
    for name in ["a", "a.1"] {
        assert_eq!(text(directory.path(), &format!("{name}.stdout")), "70 a '$HOME 5%\n", "no shell");
        assert_eq!(text(directory.path(), &format!("{name}.stderr")), "seen\n");
    }
    assert!(finished.stdout.contains("a : program=sh, arguments=p  %r %n '$HOME 5%"), "{}", finished.stdout);
    let saved = "a : Saving output of sh p 70 a '$HOME 5% : stdout=a.stdout stderr=a.stderr";
    assert!(finished.stdout.contains(saved), "{}", finished.stdout);
}

#[test]
fn or_comes_here() {
    let directory = scratch();
    let finished = run(directory.path(), "--program=echo --arguments=printed_here --std_redirect=0");
    let finished = finished.expect_clean();
    assert!(finished.stdout.lines().any(|line| line == "printed_here"), "{}", finished.stdout);
    assert!(finished.stdout.contains("a : Running echo printed_here"), "{}", finished.stdout);
    assert!(!directory.path().join("a.stdout").exists());
}

#[test]
fn failures_are_those_of_the_job() {
    let directory = scratch();
    fs::write(directory.path().join("p"), "exit 7").expect("written");
    for (words, error, message) in [
        ("--program=sh --arguments=p", 7, "sh ended with exit status: 7; see a.stderr"),
        ("--program=/no/such", 2, "/no/such cannot be run (No such file or directory)"),
        ("--program=/ --std_redirect=0", 13, "/ cannot be run (Permission denied)"),
    ] {
        let finished = run(directory.path(), &format!("--output-format=json {words}"));
        assert_eq!(finished.code(), 1, "{words}: {}", finished.stderr);
        assert!(finished.stderr.contains(message), "{words}: {}", finished.stderr);
        let document = json::document(&finished.stdout);
        assert_eq!(json::integer(json::job(&document, "a"), "error"), error, "{words}");
    }
    let finished = run(directory.path(), "");
    assert!(finished.stderr.contains("ioengine=exec needs program="), "{}", finished.stderr);
}

#[test]
fn the_end_of_the_job_is_that_of_the_program_and_all_it_started() {
    let directory = scratch();
    nest(directory.path(), "trap 'echo asked; exit 0' TERM");
    // By then, the shell must have installed its trap.
    let finished = run(directory.path(), "--program=sh --arguments=nest --runtime=4 --grace_time=100");
    let finished = finished.expect_clean();
    assert_eq!(text(directory.path(), "a.stdout"), "asked\n", "it has time to end by itself");
    assert!(!finished.stdout.contains("was killed"), "{}", finished.stdout);
    assert!(finished.elapsed < Duration::from_secs(90), "and no more than it takes");
    end_soon(&pids(directory.path()));

    fs::remove_file(directory.path().join("pids")).expect("there");
    nest(directory.path(), "trap '' TERM");
    let finished = run(directory.path(), "--program=sh --arguments=nest --runtime=4 --grace_time=2");
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(finished.stdout.contains("sh was killed, because it had not ended 2 s"), "{}", finished.stdout);
    assert!(finished.elapsed > Duration::from_secs(6), "{:?}", finished.elapsed);
    end_soon(&pids(directory.path()));
}

#[test]
fn nothing_outlives_fathom() {
    for (threads, signal) in [("", "KILL"), ("--thread", "KILL"), ("", "INT")] {
        let directory = scratch();
        fs::write(directory.path().join("nest"), "echo $$ $$ >pids\nexec sleep 1000\n").expect("written");
        let running = Launch::fathom(directory.path())
            .words("--name=a --ioengine=exec --program=sh --arguments=nest")
            .words(threads)
            .start();
        let pids = pids(directory.path());
        running.signal(signal);
        end_soon(&pids);
        drop(running);
    }
}

#[test]
fn a_program_runs_beside_jobs() {
    let directory = scratch();
    fs::write(directory.path().join("p"), "while ! [ -s data ]; do sleep 0.01; done; echo there")
        .expect("written");
    Launch::fathom(directory.path())
        .words("--name=watch --ioengine=exec --program=sh --arguments=p")
        .words("--name=work --ioengine=psync --filename=data --rw=write --size=64k --startdelay=300ms")
        .run()
        .expect_clean();
    assert_eq!(text(directory.path(), "watch.stdout"), "there\n");
}

#[test]
fn the_example_of_fio_runs() {
    // turbostat needs a suitable processor; numjobs=12 is reduced.
    let words = [("program=/usr/sbin/turbostat", "program=/bin/echo")];
    crate::shipped_examples::run_with("exec", &words, |launch| launch);
}
