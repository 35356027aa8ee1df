//! Timing of I/O: pauses, minimum rates, latency limits, samples and clocks.

use crate::support::program::Launch;
use crate::support::recorded;
use crate::support::{MIB, file_of, json, scratch};
use serde_json::Value;
use std::time::{SystemTime, UNIX_EPOCH};

#[track_caller]
fn run(words: &str) -> Value {
    let directory = scratch();
    let words = format!("--output-format=json --name=a --ioengine=null --rw=read --bs=4k {words}");
    json::document(&Launch::fathom(directory.path()).words(&words).run().expect_clean().stdout)
}

#[test]
fn part_of_a_pause_keeps_the_processor_busy() {
    let busy = |words: &str| {
        let document = run(&format!("--size=40k --thinktime=40ms {words}"));
        document["jobs"][0]["usr_cpu"].as_f64().expect("a share")
    };
    let (spinning, sleeping) = (busy("--thinktime_spin=40ms"), busy(""));
    // Competing with ten other processes, even a busy-waiting one gets a tenth of the processor.
    assert!(spinning > 3.0 * sleeping + 1.0, "{spinning} and {sleeping}");
}

#[test]
fn a_pause_after_some_time_of_io() {
    let words = "--rw=read --size=1G --rate_iops=1000 --time_based --runtime=1 --thinktime=200ms --thinktime_iotime=200ms";
    let ios = recorded::of_null(words);
    let pauses = ios.windows(2).filter(|pair| pair[1].issued_ns - pair[0].issued_ns >= 190_000_000).count();
    assert!((1..=4).contains(&pauses), "{pauses}");
}

#[test]
fn issued_blocks_lead_to_pauses() {
    let ios = recorded::of_null(
        "--rw=read --size=80k --thinktime=20ms --thinktime_blocks=4 --thinktime_blocks_type=issue",
    );
    assert_eq!(ios.len(), 20);
    for (index, pair) in ios.windows(2).enumerate().filter(|(index, _)| index % 4 == 3) {
        assert!(pair[1].issued_ns - pair[0].issued_ns >= 19_000_000, "{index}: {pair:?}");
    }
}

/// Issued I/O counts immediately, completed I/O only on completion, so a queue can be filled before the first
/// pause.
#[test]
fn pauses_follow_issues_or_completions() {
    for (kind, expected) in [("issue", 4..=4), ("complete", 8..=16)] {
        let directory = scratch();
        let words = format!(
            "--name=a --ioengine=posixaio --filename=f --bs=4k --rw=read --iodepth=8 --size=64k --thinktime=1s \
             --thinktime_blocks=4 --thinktime_blocks_type={kind}"
        );
        let ios = recorded::of(directory.path(), &words);
        let pause = ios.windows(2).position(|pair| pair[1].issued_ns - pair[0].issued_ns >= 990_000_000);
        let before = pause.map_or(0, |index| index + 1);
        assert!(ios.len() == 16 && expected.contains(&before), "{kind}: {before} before the pause: {ios:?}");
    }
}

#[test]
fn pauses_are_made_up_for_unless_ignored() {
    let ios = |ignore: u8| {
        let words = format!(
            "--size=1G --rate_iops=100 --time_based --runtime=2 --thinktime=100ms --thinktime_blocks=25 \
             --rate_ignore_thinktime={ignore}"
        );
        json::integer(&run(&words)["jobs"][0], "read/total_ios")
    };
    let (made_up, ignored) = (ios(0), ios(1));
    assert!(made_up >= ignored + 10, "{made_up} and {ignored}");
}

#[test]
fn an_io_that_takes_too_long_ends_the_job() {
    let directory = scratch();
    file_of(directory.path(), "data", 4 * MIB);
    let words = "--name=a --filename=data --rw=read --bs=1M --size=4M --max_latency=1us";
    let finished = Launch::fathom(directory.path()).words(words).run();
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("exceeds specified max (1000 nsec)"), "{}", finished.stderr);
    assert!(finished.stdout.contains("err=110"), "{}", finished.stdout);
    let words = words.replace("1us", "0");
    Launch::fathom(directory.path()).words(&words).run().expect_clean();
}

#[test]
fn samples_are_as_long_as_asked_for() {
    let words = "--size=1G --rate_iops=1000 --time_based --runtime=3 --bwavgtime=20 --iopsavgtime=50";
    let samples = |document: &Value, key: &str| json::integer(&document["jobs"][0]["read"], key);
    let document = run(words);
    // No interval is shorter than requested; a busy machine makes some longer. Without the options there are
    // two per second.
    let runtime = samples(&document, "runtime");
    assert!((runtime / 500 + 1..=runtime / 20).contains(&samples(&document, "bw_samples")), "{document}");
    assert!((runtime / 500 + 1..=runtime / 50).contains(&samples(&document, "iops_samples")), "{document}");
    let document = run(&format!("{words} --disable_bw_measurement=1"));
    assert_eq!(samples(&document, "bw_samples"), 0);
}

#[test]
fn clocks_of_starts_and_logs() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis() as u64;
    let start = |clock: u8| {
        let document = run(&format!("--size=4k --job_start_clock_id={clock}"));
        json::integer(&document["jobs"][0], "job_start")
    };
    assert!(start(0).abs_diff(now) < 60_000);
    assert!(start(1) < now / 2, "time since the machine's start");
    let first = |words: &str| -> u64 {
        let directory = scratch();
        let words =
            format!("--name=a --ioengine=null --rw=read --size=16k --write_lat_log=l --log_offset=1 {words}");
        Launch::fathom(directory.path()).words(&words).run().expect_clean();
        let text = std::fs::read_to_string(directory.path().join("l_lat.1.log")).expect("a log");
        text.split(',').next().and_then(|time| time.parse().ok()).expect("a time")
    };
    assert!(first("") < 60_000);
    assert!(first("--log_alternate_epoch=1").abs_diff(now) < 60_000);
    let other = first("--log_alternate_epoch=1 --log_alternate_epoch_clock_id=1");
    assert!(other < now / 2 && other >= start(1) / 2, "{other}");
}

#[test]
fn every_clock_gives_the_same_time() {
    for clock in ["gettimeofday", "clock_gettime", "cpu"] {
        let document = run(&format!("--size=80k --thinktime=20ms --clocksource={clock}"));
        let runtime = json::integer(&document["jobs"][0], "job_runtime");
        assert!((370..30_000).contains(&runtime), "{clock}: {runtime}");
    }
}

#[test]
fn a_window_holds_the_largest_value_where_asked_for() {
    let directory = scratch();
    // One window for the whole run.
    let words = "--name=a --ioengine=null --rw=read --bs=4k --size=4M --log_avg_msec=3600000 --write_lat_log=l \
                 --log_window_value=max --output-format=json";
    let finished = Launch::fathom(directory.path()).words(words).run().expect_clean();
    let document = json::document(&finished.stdout);
    let text = std::fs::read_to_string(directory.path().join("l_lat.1.log")).expect("a log");
    let values: Vec<u64> = text.lines().filter_map(|line| line.split(", ").nth(1)?.parse().ok()).collect();
    assert_eq!(values, [json::integer(&document["jobs"][0], "read/lat_ns/max")], "{text}");
}

#[test]
fn windows_of_logs_hold_what_was_asked_for() {
    let values = |which: &str| -> Vec<usize> {
        let directory = scratch();
        let words = format!(
            "--name=a --ioengine=null --rw=read --bs=4k --size=1G --rate_iops=1000 --time_based --runtime=600ms \
             --log_avg_msec=200 --write_lat_log=l --log_window_value={which}"
        );
        Launch::fathom(directory.path()).words(&words).run().expect_clean();
        let text = std::fs::read_to_string(directory.path().join("l_lat.1.log")).expect("a log");
        if which == "both" {
            for line in text.lines() {
                let fields: Vec<u64> =
                    line.split(", ").map(|field| field.parse().expect("a number")).collect();
                assert!(fields[1] <= fields[2], "the mean is at most the largest: {line}");
            }
        }
        text.lines().map(|line| line.split(", ").count()).collect()
    };
    for (which, fields) in [("avg", 5), ("max", 5), ("both", 6)] {
        let found = values(which);
        assert!(found.len() >= 2 && found.iter().all(|&count| count == fields), "{which}: {found:?}");
    }
}
