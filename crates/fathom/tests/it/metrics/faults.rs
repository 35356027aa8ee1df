//! Failures of the exporter must not affect the run.

use super::collector::Collector;
use super::{QUIET, address_of};
use crate::support::program::Launch;
use crate::support::{json, processes, scratch, wait_until};
use std::net::TcpListener;

#[test]
fn a_port_that_is_taken_and_a_file_of_others_end_the_run_before_it_begins() {
    fathom_only!();
    let directory = scratch();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = listener.local_addr().expect("its address");
    std::fs::write(directory.path().join("node.prom"), "node_boot 1\n").expect("a file");
    let port = format!("--metrics={taken}");
    for (words, complaint) in [
        (&*port, "in use"),
        ("--metrics=node.prom", "something other than fathom's metrics"),
        ("--metrics=no/where.prom", "cannot be written"),
        ("--metrics=figures.txt", "expected a port"),
        ("--metrics-linger=5s --metrics=new.prom", "--metrics-linger"),
        ("--otlp=localhost:4318", "not an address of a collector"),
    ] {
        let finished = Launch::fathom(directory.path())
            .words("--name=a --size=1m --rw=write --filename=data")
            .words(words)
            .run();
        assert_ne!(finished.code(), 0, "{words}");
        assert!(finished.stderr.contains(complaint), "{words}: {}", finished.stderr);
        assert!(!directory.path().join("data").exists(), "{words}: nothing has been written");
    }
    let left = std::fs::read_to_string(directory.path().join("node.prom"));
    assert_eq!(left.ok().as_deref(), Some("node_boot 1\n"));
    assert_eq!(
        std::fs::read_dir(directory.path()).expect("a directory").count(),
        1,
        "nothing is left behind"
    );
}

#[test]
fn a_run_outlives_its_exporter() {
    fathom_only!();
    let directory = scratch();
    let running = Launch::fathom(directory.path())
        .words(QUIET)
        .words("--runtime=5 --metrics=127.0.0.1:0 --output-format=json")
        .start();
    address_of(&running);
    let is_exporter = |pid: &u32| {
        let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.starts_with("fathom-metrics-exporter")
    };
    let exporter = processes::descendants(running.pid()).into_iter().find(is_exporter).expect("an exporter");
    processes::signal(exporter, "KILL");
    let finished = running.finish();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(finished.stderr.contains("no more metrics are exported"), "{}", finished.stderr);
    let document = json::document(&finished.stdout);
    assert!(json::integer(json::job(&document, "quiet"), "read/total_ios") > 1000);
}

#[test]
fn an_exporter_does_not_outlive_its_run() {
    fathom_only!();
    let directory = scratch();
    let running =
        Launch::fathom(directory.path()).words(QUIET).words("--runtime=60 --metrics=127.0.0.1:0").start();
    address_of(&running);
    let below = processes::descendants(running.pid());
    running.signal("KILL");
    running.finish();
    wait_until("the end of all processes", || !below.iter().any(|&pid| processes::runs(pid)));
}

#[test]
fn a_collector_that_never_answers_holds_nothing_up_for_long() {
    fathom_only!();
    let directory = scratch();
    let collector = Collector::silent();
    let finished = Launch::fathom(directory.path())
        .words(QUIET)
        .words("--runtime=2 --output-format=json")
        .argument(format!("--otlp=http://{}", collector.address()))
        .variable("OTEL_EXPORTER_OTLP_TIMEOUT", "500")
        .run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(finished.stderr.contains("the collector at http://127.0.0.1:"), "{}", finished.stderr);
    let document = json::document(&finished.stdout);
    assert!(json::integer(json::job(&document, "quiet"), "read/total_ios") > 700);
}
