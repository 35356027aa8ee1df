//! `--every`: runs at whole intervals, which never overlap.

use crate::support::program::Launch;
use crate::support::{scratch, wait_until};

/// Lines of the table written by repeated runs.
fn lines(path: &std::path::Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn runs_follow_each_other_until_a_signal_between_them() {
    fathom_only!();
    let directory = scratch();
    let table = directory.path().join("runs.csv");
    let running = Launch::fathom(directory.path())
        .words("--every=200ms --output-format=csv --output=runs.csv --name=a --ioengine=null --size=4k")
        .start();
    wait_until("three runs are in the table", || lines(&table).len() > 3);
    running.signal("TERM");
    let finished = running.finish();
    let lines = lines(&table);
    assert!(lines[0].starts_with("timestamp_ms,verdict,"), "{lines:?}");
    let times: Vec<u64> = lines[1..]
        .iter()
        .map(|line| line.split(',').next().and_then(|cell| cell.parse().ok()).expect("a time"))
        .collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "one heading, one row per run: {lines:?}");
    // If the signal interrupted a run, the exit status is that of the run.
    assert!([0, 128].contains(&finished.code()), "{}", finished.stderr);
}

#[test]
fn a_signal_long_before_the_next_start_ends_it_without_an_error() {
    fathom_only!();
    let directory = scratch();
    let mut running =
        Launch::fathom(directory.path()).words("--every=1h --name=a --ioengine=null --size=4k").start();
    running.wait_for_output(|text| text.contains("Run status group 0"));
    running.wait_for_sleeps(2);
    running.signal("INT");
    let finished = running.finish();
    assert_eq!((finished.code(), finished.stderr.as_str()), (0, ""), "{}", finished.stdout);
}

#[test]
fn a_run_that_takes_longer_leaves_starts_out_and_says_so() {
    fathom_only!();
    let directory = scratch();
    let running = Launch::fathom(directory.path())
        .words("--every=10ms --name=a --ioengine=null --size=4k --time_based --runtime=300ms --output-format=json")
        .start();
    running.wait_for_message("starts are skipped");
    running.signal("TERM");
    let finished = running.finish();
    assert!(
        finished.stderr.contains("fathom: --every: the run took longer than the interval, so "),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_run_that_fails_does_not_end_the_repetition_but_is_the_exit_status() {
    fathom_only!();
    let directory = scratch();
    let table = directory.path().join("runs.csv");
    let running = Launch::fathom(directory.path())
        .words("--every=200ms --output-format=csv --output=runs.csv --name=a --filename=/dev/full --rw=write --size=4k")
        .start();
    wait_until("two runs have failed", || lines(&table).len() > 2);
    running.signal("TERM");
    let finished = running.finish();
    assert_eq!(finished.code(), 1, "{}", finished.stderr);
    assert!(lines(&table)[1..].iter().all(|line| line.contains(",28,io_u error: No space left on device,")));
}

#[test]
fn what_cannot_be_repeated_is_refused() {
    fathom_only!();
    let directory = scratch();
    for (words, reason) in [
        ("--every=1s --server", "--every repeats jobs"),
        ("--every=1s --client=localhost", "--every is not built for --client"),
        ("--every=1s --hosts=localhost", "--every is not built for --hosts"),
        ("--every=0", "expected a time"),
        (
            "--every=1s --metrics-linger=1s --metrics=127.0.0.1:0",
            "--metrics-linger has no effect with --every",
        ),
    ] {
        let finished =
            Launch::fathom(directory.path()).words(words).words("--name=a --ioengine=null --size=4k").run();
        assert_eq!(finished.code(), 1, "{words}: {}{}", finished.stdout, finished.stderr);
        assert!(finished.stderr.contains(reason), "{words}: {}", finished.stderr);
    }
}
