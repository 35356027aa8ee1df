//! Checks that `--idle-prof` distinguishes idle processors from busy ones, and leaves the session's share of the processors
//! unchanged.

use crate::support::program::{self, Launch};
use crate::support::{PATIENCE, json, processes, scratch, shape};
use std::path::Path;
use std::time::{Duration, Instant};

const SLOW: &str =
    "--name=a --ioengine=null --size=1G --bs=4k --rw=read --rate_iops=100 --time_based --runtime=1";

#[test]
fn shapes_are_those_of_fio() {
    let words = |how: &str, format: &str| format!("--idle-prof={how} --output-format={format} {SLOW}");
    let run = |program: &Path, how: &str, format: &str| {
        Launch::of(program, Path::new("/")).words(&words(how, format)).run().expect_clean().stdout
    };
    let Ok(reference) = program::reference() else { skip!("no fio to compare with") };
    for how in ["system", "percpu"] {
        let normal = run(&program::path(), how, "normal");
        assert_eq!(shape::of(&normal), shape::of(&run(&reference, how, "normal")), "{normal}");
        let [ours, theirs] = [&program::path(), &reference]
            .map(|program| json::shape(&json::document(&run(program, how, "json"))["cpu_idleness"]));
        assert_eq!(ours, theirs);
    }
}

#[test]
fn a_job_that_spins_takes_its_processor() {
    fathom_only!();
    let busy = "--output-format=json --idle-prof=percpu --name=a --ioengine=null --size=1G --bs=512 --rw=read \
                --time_based --runtime=2 --cpus_allowed=0";
    let finished = Launch::fathom(Path::new("/")).words(busy).run().expect_clean();
    let idleness = &json::document(&finished.stdout)["cpu_idleness"];
    let share = idleness["cpu-0"].as_f64().expect("a share");
    assert!(share < 25.0, "processor 0 did I/O all the time: {idleness}");
    let shares: Vec<f64> = idleness
        .as_object()
        .expect("an object")
        .iter()
        .filter(|(key, _)| key.starts_with("cpu-"))
        .map(|(_, share)| share.as_f64().expect("a share"))
        .collect();
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!((mean - idleness["system"].as_f64().expect("a share")).abs() < 0.001, "{idleness}");
}

#[test]
fn calibration_alone() {
    let finished = Launch::fathom(Path::new("/")).words("--idle-prof=calibrate").run().expect_clean();
    let text = finished.stdout;
    assert!(text.starts_with("CPU idleness:\n  unit work: mean="), "{text}");
    assert_eq!(text.lines().count(), 2);
    let finished = Launch::fathom(Path::new("/")).words("--idle-prof=x --name=a").run();
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.starts_with("fio: incorrect idle-prof option: x\n"), "{}", finished.stderr);
}

/// The share of processors that the session of a process gets, as the kernel writes it: `/autogroup-7 nice 0`.
fn share_of_session(pid: &str) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/autogroup")).ok()
}

/// The kernel divides processors among sessions: lowering the share of the user's session would slow down
/// everything started in it later.
#[test]
fn only_the_measuring_process_gets_less_of_the_processors() {
    fathom_only!();
    let Some(own) = share_of_session("self") else {
        skip!("the kernel does not schedule sessions as groups")
    };
    let directory = scratch();
    // A separate session, so that a failure of this test does no harm elsewhere.
    let in_session = |words: &str| {
        let script = format!("\"$0\" {words}; cat /proc/self/autogroup");
        Launch::of(Path::new("setsid"), directory.path())
            .words("--wait sh -c")
            .argument(script)
            .argument(program::path())
    };
    let finished = in_session("--idle-prof=calibrate").run().expect_clean();
    assert!(finished.stdout.ends_with(" nice 0\n"), "{}", finished.stdout);
    let running = in_session(&format!("--idle-prof=system {SLOW} --runtime=60")).start();
    let shares = || -> Vec<String> {
        let pids = processes::descendants(running.pid());
        pids.iter().filter_map(|pid| share_of_session(&pid.to_string())).collect()
    };
    let lowered =
        |shares: &Vec<String>| shares.iter().filter(|share| share.ends_with(" nice 19\n")).count() == 1;
    let seen = wait_until(shares, lowered);
    assert!(lowered(&seen), "the measuring process alone: {seen:?}");
    assert_eq!(share_of_session("self"), Some(own));
}

#[test]
fn the_measuring_process_ends_with_the_run() {
    fathom_only!();
    for signal in ["INT", "KILL"] {
        let directory = scratch();
        let words = format!("--idle-prof=system {SLOW} --runtime=60");
        let running = Launch::fathom(directory.path()).words(&words).start();
        // A busy machine is slow to start and end processes.
        let children = wait_until(|| processes::descendants(running.pid()), |children| children.len() == 2);
        assert_eq!(children.len(), 2, "a worker and the measuring process");
        running.signal(signal);
        running.finish();
        let still_there = || children.iter().filter(|child| processes::runs(**child)).count();
        assert_eq!(wait_until(still_there, |count| *count == 0), 0, "processes are left after {signal}");
    }
}

/// Polls until the condition holds or the time limit has passed; returns the last value.
fn wait_until<T>(look: impl Fn() -> T, wanted: impl Fn(&T) -> bool) -> T {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let seen = look();
        if wanted(&seen) {
            return seen;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    look()
}
