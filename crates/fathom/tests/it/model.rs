//! `fathom model`: job files made of traces, run and compared; and its refusals.

use crate::record::can_record;
use crate::support::devices::LoopDevice;
use crate::support::program::{self, Finished, Launch};
use crate::support::{MIB, scratch};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

fn model(directory: &Path, words: &str) -> Finished {
    Launch::fathom(directory).words("model").words(words).run()
}

/// Times in ns, sectors and lengths in sectors of requests, as text of blkparse in a file named `text`.
fn write_text(directory: &Path, requests: impl Iterator<Item = (u64, &'static str, u64, u64)>) {
    let mut lines = Vec::new();
    for (number, (time, direction, sector, sectors)) in requests.enumerate() {
        for (time, action) in [(time, "Q"), (time + 10_000, "D"), (time + 100_000, "C")] {
            let (seconds, part) = (time / 1_000_000_000, time % 1_000_000_000);
            let line = format!(
                "8,0 1 {number} {seconds}.{part:09} 7 {action} {direction} {sector} + {sectors} [x]\n"
            );
            lines.push((time, line));
        }
    }
    lines.sort();
    let text: String = lines.into_iter().map(|(_, line)| line).collect();
    std::fs::write(directory.join("text"), text).expect("written");
}

/// Two loads together: a log, and reads at random of two sizes.
fn log_and_reads() -> impl Iterator<Item = (u64, &'static str, u64, u64)> {
    (0..20_000u64).map(|number| match number % 5 {
        0 => (number * 100_000, "WS", (1 << 24) + number / 5 * 32, 32),
        _ => (number * 100_000, "R", number * 7919 % 65_521 * 16, if number % 4 == 0 { 16 } else { 8 }),
    })
}

#[test]
fn a_job_file_names_each_part_of_the_load() {
    fathom_only!();
    let directory = scratch();
    write_text(directory.path(), log_and_reads());
    let text = model(directory.path(), "text").expect_clean().stdout;
    for wanted in [
        "\n[random-reads]\nrw=randread\n",
        "\n[sequential-writes]\nrw=write\nbs=16k\n",
        "filename=text.data\n",
        "open_loop=1\n",
        "runtime=2000ms\n",
        "# 2 jobs, ",
        "rate_iops=8000\nrate_process=linear\n",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert!(text.len() < 5000, "{text}");
    let scaled =
        model(directory.path(), "text --rate=0.5x --numjobs=4 --size=64m --target=x:y").expect_clean().stdout;
    for wanted in
        ["numjobs=4\n", "rate_iops=1000\n", "filename=x\\:y\n", "5.00k I/Os per second, 0.5 times the rate"]
    {
        assert!(scaled.contains(wanted), "{wanted}: {scaled}");
    }
    // The job file runs as it is, here without a device.
    let finished = model(directory.path(), "text --size=16m -o m.fio");
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let finished = Launch::fathom(directory.path()).words("m.fio --eta=never").run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(finished.stdout.contains("random-reads: (groupid=0, jobs=1): err= 0"), "{}", finished.stdout);
}

#[test]
fn a_job_file_is_not_overwritten_and_nonsense_is_refused() {
    fathom_only!();
    let directory = scratch();
    write_text(directory.path(), log_and_reads().take(500));
    std::fs::write(directory.path().join("mine"), "precious").expect("written");
    let finished = model(directory.path(), "text -o mine");
    assert_eq!(finished.code(), 1, "{}", finished.stdout);
    assert_eq!(std::fs::read_to_string(directory.path().join("mine")).expect("read"), "precious");
    assert_eq!(model(directory.path(), "text -o mine --force").code(), 0);
    for (words, wanted) in [
        ("missing", "missing: "),
        ("text --rate=0", "--rate=0"),
        ("text --numjobs=0", "--numjobs=0"),
        ("text --destroy=/dev/null", "belong to --check"),
        ("text --check=mine", "it is not a block device"),
        ("mine", "mine: "),
    ] {
        let finished = model(directory.path(), words);
        assert_eq!(finished.code(), 1, "{words}: {}", finished.stdout);
        assert!(finished.stderr.contains(wanted), "{words}: {}", finished.stderr);
    }
    // Flushes alone are no load that a job could have.
    let flushes: String = (0..50).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "8,0 1 {number} {number}.000000000 7 Q FN [x]");
        text
    });
    std::fs::write(directory.path().join("flushes"), flushes).expect("written");
    let finished = model(directory.path(), "flushes");
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("nothing to model"), "{}", finished.stderr);
}

#[test]
fn a_device_is_named_twice_before_a_model_writes_to_it() {
    fathom_only!();
    let directory = scratch();
    write_text(directory.path(), log_and_reads().take(2000));
    let device = require!(LoopDevice::new(16 * MIB));
    let name = device.text();
    let finished = model(directory.path(), &format!("text --check={name}"));
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains(&format!("--destroy={name}")), "{}", finished.stderr);
    let finished = model(directory.path(), &format!("text --check={name} --destroy={name} --size=1g"));
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("makes it fit"), "{}", finished.stderr);
}

#[test]
fn the_load_of_a_model_is_that_of_its_trace() {
    fathom_only!();
    require!(can_record());
    let directory = scratch();
    let device = require!(LoopDevice::new(256 * MIB));
    let name = device.text();
    let jobs = format!(
        "[global]\nfilename={name}\ndirect=1\nioengine=io_uring\niodepth=16\ntime_based=1\nruntime=3\nopen_loop=1\n\
         [db]\nrw=randread\nbssplit=4k/70:16k/30\nsize=64m\nrandom_distribution=zipf:1.1\nrate_iops=800\nrate_process=poisson\n\
         [log]\nrw=write\nbs=16k\noffset=64m\nsize=64m\nrate_iops=200\nfsync=4\n"
    );
    std::fs::write(directory.path().join("jobs.fio"), jobs).expect("written");
    let finished = Launch::fathom(directory.path())
        .words(&format!("record {name} -o a.trace --"))
        .argument(program::path())
        .words("jobs.fio --output=out")
        .run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let finished = model(
        directory.path(),
        &format!("a.trace --check={name} --destroy={name} --size=128m --format=json"),
    );
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let document: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let properties = document["properties"].as_array().expect("a list");
    let error = |name: &str, direction: Option<&str>| {
        let found = properties.iter().find(|row| {
            row["property"] == name && direction.is_none_or(|direction| row["direction"] == direction)
        });
        found.and_then(|row| row["error"].as_f64()).unwrap_or_else(|| panic!("no {name}: {properties:#?}"))
    };
    // Rates and times depend on this machine, places and sizes do not.
    assert!(error("sizes", Some("read")) < 0.08, "{properties:#?}");
    assert!(error("sequential", Some("write")) < 0.05, "{properties:#?}");
    assert!(error("sequential", Some("read")) < 0.1, "{properties:#?}");
    assert!(error("skew", Some("read")) < 0.1, "{properties:#?}");
    assert!(error("directions", None) < 0.1, "{properties:#?}");
    assert!(
        document["job_file_bytes"].as_u64().is_some_and(|bytes| bytes < 5000),
        "{}",
        document["job_file_bytes"]
    );
    let profiles = &document["profiles"];
    assert!(profiles["trace"]["requests"].is_u64() && profiles["model"]["requests"].is_u64(), "{profiles}");
    let text = model(directory.path(), &format!("a.trace --check={name} --destroy={name} --size=128m"));
    assert!(text.stdout.starts_with("The model is "), "{}", text.stdout);
    assert!(text.stdout.lines().all(|line| line.chars().count() <= 80), "{}", text.stdout);
}
