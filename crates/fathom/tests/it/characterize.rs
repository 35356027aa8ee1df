//! `fathom characterize` on recordings of jobs whose load is known, and on text.

use crate::record::can_record;
use crate::support::devices::LoopDevice;
use crate::support::program::{self, Finished, Launch};
use crate::support::{MIB, scratch};
use serde_json::Value;
use std::path::Path;

fn characterize(directory: &Path, words: &str) -> Finished {
    Launch::fathom(directory).words("characterize").words(words).run()
}

fn json_of(directory: &Path, trace: &str) -> Value {
    let text = characterize(directory, &format!("--format=json {trace}")).expect_clean().stdout;
    serde_json::from_str(&text).expect("JSON")
}

/// Records jobs on a device.
fn recorded(directory: &Path, device: &LoopDevice, jobs: &str) {
    let text = format!("[global]\nfilename={}\ndirect=1\n{jobs}", device.text());
    std::fs::write(directory.join("jobs.fio"), text).expect("written");
    let finished = Launch::fathom(directory)
        .words(&format!("record {} --names -o a.trace --", device.text()))
        .argument(program::path())
        .words("jobs.fio --output=out")
        .run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
}

fn number(value: &Value, pointer: &str) -> f64 {
    value.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {pointer}"))
}

#[test]
fn a_load_that_is_known_is_found_again() {
    fathom_only!();
    require!(can_record());
    let directory = scratch();
    let device = require!(LoopDevice::new(96 * MIB));
    recorded(
        directory.path(),
        &device,
        "[db]\nrw=randread\nbs=4k\nsize=64m\nrandom_distribution=zipf:0.9\nioengine=io_uring\niodepth=8\n\
         io_size=256m\n[log]\nrw=write\nbs=16k\noffset=64m\nsize=16m\nfsync=4\nioengine=psync\n",
    );
    let document = json_of(directory.path(), "a.trace");
    let profile = &document["profile"];
    let (reads, writes) = (&profile["directions"][0], &profile["directions"][1]);
    assert_eq!((reads["direction"].as_str(), writes["direction"].as_str()), (Some("read"), Some("write")));
    // Other programs read a few blocks when the device appears.
    let found = number(reads, "/requests");
    assert!((65_536.0..65_700.0).contains(&found), "{found}");
    assert_eq!(number(writes, "/requests"), 1024.0);
    assert_eq!(number(writes, "/streams/sequential_requests"), 1024.0, "{writes}");
    assert!(number(reads, "/streams/sequential_requests") < found * 0.05);
    let flushes = number(profile, "/flushes/flushes") + number(profile, "/flushes/flushing_writes");
    assert!((250.0..300.0).contains(&flushes), "{flushes}");
    let theta = number(reads, "/skew/model/zipf");
    assert!((0.8..1.0).contains(&theta) && number(reads, "/skew/error") < 0.05, "{}", reads["skew"]["model"]);
    assert_eq!(writes["skew"], Value::Null, "each block was written once");
    assert_eq!(number(profile, "/space/written_footprint"), (16 * MIB) as f64);
    assert!((1.0..1500.0).contains(&number(profile, "/depth/largest")));
    let latencies = &reads["service"];
    assert_eq!(number(latencies, "/total/count"), found, "every read is complete");
    let parts = number(latencies, "/queue/sum_ns") + number(latencies, "/device/sum_ns");
    assert!((parts / number(latencies, "/total/sum_ns") - 1.0).abs() < 1e-6, "the parts add up: {latencies}");
    let programs = profile["programs"].as_array().expect("programs");
    assert!(programs.iter().any(|program| program["name"] == "fathom"), "{programs:?}");
    let summary = document["summary"].as_str().expect("a sentence");
    for wanted in ["random reads of 4 KiB", "sequential writes of 16 KiB", "skew", "flushes per second"] {
        assert!(summary.contains(wanted), "{wanted}: {summary}");
    }
    let text = characterize(directory.path(), "a.trace").expect_clean().stdout;
    for heading in ["Requests", "Places", "Times", "Latencies", "Programs"] {
        assert!(text.contains(&format!("\n{heading}\n")), "{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn closed_loops_open_loops_and_bursts_are_told_apart() {
    fathom_only!();
    require!(can_record());
    let directory = scratch();
    let device = require!(LoopDevice::new(64 * MIB));
    let pace = |jobs: &str| {
        let _ = std::fs::remove_file(directory.path().join("a.trace"));
        recorded(directory.path(), &device, jobs);
        json_of(directory.path(), "a.trace")["profile"].take()
    };
    let closed = pace("[a]\nrw=randread\nbs=4k\nioengine=psync\nnumber_ios=5000\nloops=2\n");
    assert_eq!(closed["arrivals"]["pace"], "closed", "{}", closed["arrivals"]["kept_depth"]);
    assert_eq!(number(&closed, "/arrivals/kept_depth"), 1.0);
    // Requests that arrive at times independent of this machine, and take 2 ms each.
    let text = |times: &mut dyn Iterator<Item = u64>| {
        let mut lines = Vec::new();
        for (number, time) in times.enumerate() {
            for (time, action) in [(time, "Q"), (time + 10_000, "D"), (time + 2_000_000, "C")] {
                let (seconds, part, sector) =
                    (time / 1_000_000_000, time % 1_000_000_000, number as u64 * 7919 % 65536 * 8);
                lines.push((
                    time,
                    format!("8,0 1 {number} {seconds}.{part:09} 7 {action} R {sector} + 8 [x]\n"),
                ));
            }
        }
        lines.sort();
        let text: String = lines.into_iter().map(|(_, line)| line).collect();
        std::fs::write(directory.path().join("text"), text).expect("written");
        json_of(directory.path(), "text")["profile"].take()
    };
    let mut state = 1u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut now = 0.0;
    let open = text(&mut (0..5000).map(|_| {
        now -= (1.0 - draw()).ln() * 3e6;
        now as u64
    }));
    assert_eq!(open["arrivals"]["pace"], "open");
    let dispersion = number(&open, "/arrivals/dispersion/1/1");
    assert!((0.7..1.4).contains(&dispersion), "Poisson: {dispersion}");
    assert_eq!(open["cycle"], Value::Null, "chance has no period");
    let mut late = || (draw() * 20e6) as u64;
    let bursts = text(&mut (0..40u64).flat_map(|burst| {
        let start = burst * 500_000_000 + late();
        (0..100).map(move |number| start + number * 100_000)
    }));
    let period = number(&bursts, "/cycle/period_s");
    assert!((0.45..0.55).contains(&period), "{period}");
}

/// Two requests of an MSR trace, and a line that is not a request.
const MSR: &str = "128166372003061629,hm,1,Read,383496192,32768,413\n128166372013061629,hm,1,Read,383528960,32768,500\n\
                   128166372013061700,hm,1,Frob,0,512,1\n128166372016382155,hm,1,Write,2822144,4096,1031\n";

#[test]
fn text_traces_have_profiles_too() {
    fathom_only!();
    let directory = scratch();
    std::fs::write(directory.path().join("msr.csv"), MSR).expect("written");
    let document = json_of(directory.path(), "msr.csv");
    assert_eq!(document["profile"]["devices"][0]["name"], "hm.1");
    assert_eq!(number(&document, "/skipped"), 1.0);
    assert!(
        document["caveats"][0].as_str().is_some_and(|told| told.contains("line 3 is skipped")),
        "{document}"
    );
    let reads = &document["profile"]["directions"][0];
    assert_eq!((number(reads, "/bytes"), number(reads, "/service/total/sum_ns")), (65536.0, 91_300.0));
    let page = characterize(directory.path(), "-o a.html msr.csv");
    assert!(page.code() == 0 && page.stderr.contains("a.html"), "{}", page.stderr);
    let html = std::fs::read_to_string(directory.path().join("a.html")).expect("a page");
    assert!(html.starts_with("<!doctype html>") && html.contains("hm.1"), "{html}");
    // A file that is not one of fathom's pages is kept.
    std::fs::write(directory.path().join("mine"), "precious").expect("written");
    let refused = characterize(directory.path(), "-o mine msr.csv");
    assert!(refused.code() == 1 && refused.stderr.contains("mine"), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(directory.path().join("mine")).expect("there"), "precious");
}

#[test]
fn what_holds_no_load_is_refused() {
    fathom_only!();
    let directory = scratch();
    std::fs::create_dir(directory.path().join("folder")).expect("a directory");
    let put = |name: &str, text: &[u8]| std::fs::write(directory.path().join(name), text).expect("written");
    put("empty", b"");
    put("words", b"hello\nworld\n");
    put("iolog", b"fio version 3 iolog\n0 a add\n");
    put("ends", b"8,0 1 1 0.5 7 C R 8 + 8 [0]\n");
    put("short", &[7, 116, 97, 101, 0, 0]);
    for (words, wanted) in [
        ("", "takes one"),
        ("missing", "missing: No such file or directory"),
        ("folder", "folder"),
        ("empty", "empty"),
        ("words", "not a block trace"),
        ("iolog", "not a block trace"),
        ("ends", "there are no requests"),
        ("short", "short read"),
        ("words empty", "one"),
        ("--format=csv words", "csv"),
    ] {
        let finished = characterize(directory.path(), words);
        assert_eq!(finished.code(), 1, "{words}: {}", finished.stdout);
        assert!(finished.stderr.contains(wanted), "{words}: {}", finished.stderr);
    }
}
