//! `steadystate`: a settled job ends early, an unsettled one runs its full time.

use crate::support::program::{self, Launch};
use crate::support::{json, shape};
use serde_json::Value;
use std::path::Path;

const PACED: &str =
    "--ioengine=null --size=1G --bs=4k --rw=read --rate_iops=1000 --time_based --runtime=40 --name=a";

fn run(program: &Path, words: &str) -> (String, Value) {
    let words = format!("--output-format=json,normal {PACED} {words}");
    let finished = Launch::of(program, Path::new("/")).words(&words).run().expect_clean();
    let document = json::document(&finished.stdout);
    (finished.stdout, document)
}

/// The steady state reported by the first job.
fn outcome(document: &Value) -> &Value {
    &document["jobs"][0]["steadystate"]
}

/// Runs a job that must settle before its time, and compares the report with fio's.
#[track_caller]
fn settles(words: &str) -> Value {
    let (text, document) = run(&program::path(), words);
    assert_eq!(json::integer(outcome(&document), "attained"), 1, "{text}");
    let runtime = json::integer(&document["jobs"][0]["read"], "runtime");
    assert!(runtime < 30_000, "{runtime} ms");
    let Ok(reference) = program::reference() else { return document };
    let (theirs_text, theirs) = run(&reference, words);
    assert_eq!(json::shape(outcome(&document)), json::shape(outcome(&theirs)));
    assert_eq!(outcome(&document)["ss"], outcome(&theirs)["ss"]);
    let line = |text: &str| {
        let lines = shape::of(&text[text.rfind("\n}\n").expect("the JSON ends")..]);
        lines.into_iter().find(|line| line.starts_with("  steadystate")).unwrap_or_else(|| panic!("{text}"))
    };
    // The sign of a slope may differ between runs.
    let level = |text: &str| line(text).replace("=-N", "=N");
    assert_eq!(level(&text), level(&theirs_text));
    document
}

#[test]
fn rates() {
    let document = settles("--ss=iops:50% --ss_dur=3");
    let window = outcome(&document)["data"]["iops"].as_array().expect("samples");
    assert_eq!(window.len(), 3);
    for sample in window {
        let sample = sample.as_u64().expect("a rate");
        assert!((500..1500).contains(&sample), "{sample} I/Os a second instead of 1000");
    }
    // The first second of the ramp and three samples.
    assert!(json::integer(&document["jobs"][0]["read"], "runtime") >= 2_900);
}

#[test]
fn slopes_and_fixed_limits() {
    settles("--ss=bw_slope:50% --ss_dur=2 --ss_ramp=1");
    settles("--ss=bw:2M --ss_dur=2");
}

#[test]
fn groups_settle_as_one() {
    let document = settles("--ss=iops_slope:500 --ss_dur=2 --numjobs=2 --group_reporting");
    let mean = json::integer(outcome(&document), "data/iops_mean");
    assert!((1_000..3_000).contains(&mean), "{mean} I/Os a second of two clones with 1000 each");
}

#[test]
fn latencies() {
    fathom_only!();
    let (text, document) = run(&program::path(), "--ss=lat:1s --ss_dur=2");
    assert_eq!(json::integer(outcome(&document), "attained"), 1);
    assert_eq!(outcome(&document)["data"]["lat_ns"].as_array().map(Vec::len), Some(2));
    assert!(text.contains(", lat mean dev="), "{text}");
}

#[test]
fn not_within_the_time() {
    let (text, document) = run(&program::path(), "--ss=iops:1% --ss_dur=9 --runtime=2");
    let steady = outcome(&document);
    assert_eq!(json::integer(steady, "attained"), 0);
    assert_eq!(steady["criterion"], "0.000000%");
    let samples = steady["data"]["iops"].as_array().expect("samples");
    assert_eq!((samples.len(), &samples[8]), (9, &Value::from(0)));
    assert!(text.contains("\n  steadystate  : attained=no, bw="), "{text}");
}

#[test]
fn without_a_window_there_is_nothing_to_settle() {
    let (text, document) = run(&program::path(), "--ss=iops:1% --runtime=1");
    assert!(outcome(&document).is_null(), "{text}");
}

#[test]
fn samples_are_taken_at_the_interval_asked_for() {
    fathom_only!();
    let (text, document) = run(&program::path(), "--ss=iops:50% --ss_dur=4 --ss_interval=2");
    assert_eq!(json::integer(outcome(&document), "attained"), 1, "{text}");
    let window = outcome(&document)["data"]["iops"].as_array().expect("samples");
    assert_eq!(window.len(), 2);
}
