//! The page and the file: the same figures as in the report.

use super::{QUIET, address_of, get, series, value};
use crate::hung_fs::{Faults, HungFs};
use crate::support::program::{self, Launch};
use crate::support::{MIB, file_of, json, scratch};
use std::time::{Duration, Instant};

/// Waits until the page satisfies the condition.
#[track_caller]
fn wait_for(address: &str, condition: impl Fn(&str) -> bool) -> String {
    let start = Instant::now();
    loop {
        let (status, text) = get(address, "/metrics").expect("an answer");
        assert_eq!(status, 200);
        if condition(&text) {
            return text;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{text}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_file_has_the_figures_of_the_report() {
    fathom_only!();
    let directory = scratch();
    file_of(directory.path(), "data", 4 * MIB);
    let finished = Launch::fathom(directory.path())
        .words("--name=a --filename=data --size=4m --bs=4k --rw=randrw --ioengine=psync --numjobs=2 --lat_percentiles=1 --slat_percentiles=1")
        .words("--name=b --filename=data --size=1m --bs=16k --rw=write --ioengine=psync --stonewall --fsync=8")
        .words("--metrics=run.prom --output-format=json+")
        .run();
    let document = json::document(&finished.stdout);
    let text = std::fs::read_to_string(directory.path().join("run.prom")).expect("the file");
    let jobs = document["jobs"].as_array().expect("jobs");
    for (job, direction) in [("a", "read"), ("a", "write"), ("b", "write")] {
        let of_job = || jobs.iter().filter(|entry| entry["jobname"] == job);
        let sum = |path: &str| {
            of_job().map(|entry| json::integer(entry, &format!("{direction}/{path}"))).sum::<u64>() as f64
        };
        let labels = format!("{{job_name=\"{job}\",direction=\"{direction}\"}}");
        assert_eq!(value(&text, &format!("fathom_job_ios_total{labels}")), sum("total_ios"));
        assert_eq!(value(&text, &format!("fathom_job_io_bytes_total{labels}")), sum("io_bytes"));
        let of_latency = format!("job_name=\"{job}\",direction=\"{direction}\",latency=\"completion\"");
        assert_eq!(
            value(&text, &format!("fathom_job_latency_seconds_count{{{of_latency}}}")),
            sum("clat_ns/N")
        );
        // Every I/O below a bucket bound is below it in the report, too.
        for (bound, ns) in [("0.000016384", 16_384), ("0.000131072", 131_072), ("0.001048576", 1_048_576)] {
            let below: u64 = of_job()
                .flat_map(|entry| entry[direction]["clat_ns"]["bins"].as_object().expect("bins"))
                .filter(|(middle, _)| middle.parse::<u64>().expect("ns") < ns)
                .filter_map(|(_, count)| count.as_u64())
                .sum();
            let name = format!("fathom_job_latency_seconds_bucket{{{of_latency},le=\"{bound}\"}}");
            assert_eq!(value(&text, &name), below as f64, "{name}");
        }
    }
    assert_eq!(value(&text, "fathom_run_finished"), 1.0);
    assert!(text.contains("fathom_job_sync_latency_seconds_count{job_name=\"b\"}"), "{text}");
    let verdict = match document["fathom verdict"]["verdict"].as_str() {
        Some("no doubts") => 0.0,
        Some("doubtful") => 1.0,
        Some("wrong") => 2.0,
        other => panic!("{other:?} in {document}"),
    };
    assert_eq!(value(&text, "fathom_verdict"), verdict);
    assert_eq!(finished.complaints(), "");
}

#[test]
fn the_page_follows_the_run() {
    fathom_only!();
    let directory = scratch();
    let running = Launch::fathom(directory.path())
        .words(QUIET)
        .words("--runtime=60 --ramp_time=1 --metrics=127.0.0.1:0 --output-format=json")
        .start();
    let address = address_of(&running);
    let ios = "fathom_job_ios_total{job_name=\"quiet\",direction=\"read\"}";
    let runs = |text: &str| text.contains("fathom_job_clones{job_name=\"quiet\",state=\"running\"} 1");
    let first = wait_for(&address, |text| runs(text) && text.contains(ios));
    let more = value(&first, ios);
    let second = wait_for(&address, |text| value(text, ios) > more + 400.0);
    assert_eq!(value(&second, "fathom_run_finished"), 0.0);
    assert_eq!(value(&second, "fathom_job_queue_depth_limit{job_name=\"quiet\"}"), 1.0);
    assert!(value(&second, "fathom_run_time_left_seconds") > 1.0);
    assert_eq!(get(&address, "/").expect("an answer").0, 200);
    assert_eq!(get(&address, "/etc/passwd").expect("an answer").0, 404);
    running.signal("INT");
    let finished = running.finish();
    let document = json::document(&finished.stdout);
    assert!(json::integer(json::job(&document, "quiet"), "read/total_ios") as f64 >= value(&second, ios));
    assert!(get(&address, "/metrics").is_err(), "the address still answers");
}

#[test]
fn ios_that_hang_are_counted_while_they_do() {
    fathom_only!();
    let fs = require!(HungFs::mount(MIB, Faults { hang_after: Some(20), ..Default::default() }));
    let directory = scratch();
    let file = fs.file();
    let running = Launch::fathom(directory.path())
        .words("--name=hung --rw=read --bs=4k --size=1M --time_based --runtime=60 --patience=500ms --metrics=127.0.0.1:0")
        .argument(format!("--filename={}", file.display()))
        .start();
    let address = address_of(&running);
    let text = wait_for(&address, |text| text.contains("fathom_job_stuck_ios{job_name=\"hung\"} 1"));
    assert!(value(&text, "fathom_job_oldest_io_seconds{job_name=\"hung\"}") >= 0.5);
    assert_eq!(value(&text, "fathom_job_queue_depth{job_name=\"hung\"}"), 1.0);
    running.signal("INT");
    drop(fs);
    running.finish();
}

#[test]
fn the_last_figures_stay_until_they_have_been_read_three_times() {
    fathom_only!();
    let directory = scratch();
    let start = || {
        Launch::fathom(directory.path())
            .words("--name=a --ioengine=null --size=1m --rw=read --metrics=127.0.0.1:0 --metrics-linger=100s")
            .start()
    };
    let running = start();
    let address = address_of(&running);
    for _ in 0..3 {
        let text = wait_for(&address, |text| text.contains("\nfathom_run_finished 1\n"));
        assert_eq!(value(&text, "fathom_job_ios_total{job_name=\"a\",direction=\"read\"}"), 256.0);
    }
    let finished = running.finish();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(finished.elapsed < Duration::from_secs(90), "it has been read: {:?}", finished.elapsed);
    // Ctrl-C ends the wait.
    let mut running = start();
    address_of(&running);
    running.wait_for_output(|text| text.contains("Run status group"));
    running.signal("INT");
    let finished = running.finish();
    assert!(finished.elapsed < Duration::from_secs(90), "{:?}", finished.elapsed);
    assert!(finished.stderr.contains("did not wait for them"), "{}", finished.stderr);
}

#[test]
fn hosts_have_series_of_their_own() {
    fathom_only!();
    let directory = scratch();
    let finished = Launch::fathom(directory.path())
        .words("--hosts=x,y --remote-shell=env")
        .argument("--remote-shell=env FATHOM_TEST_HOST={host}")
        .argument(format!("--remote-program={}", program::path().display()))
        .words("--name=a --ioengine=null --size=1m --rw=read --metrics=hosts.prom")
        .run();
    assert_eq!((finished.code(), &*finished.complaints()), (0, ""), "{}", finished.stdout);
    let text = std::fs::read_to_string(directory.path().join("hosts.prom")).expect("the file");
    for host in ["x", "y"] {
        assert_eq!(value(&text, &format!("fathom_host_up{{host=\"{host}\"}}")), 1.0);
        let name = format!("fathom_job_ios_total{{host=\"{host}\",job_name=\"a\",direction=\"read\"}}");
        assert_eq!(value(&text, &name), 256.0);
    }
    let of_all =
        series(&text).into_iter().filter(|(name, _)| name.starts_with("fathom_job_ios_total")).count();
    assert_eq!(of_all, 2, "no sum that would be counted twice: {text}");
}

#[test]
fn the_page_stays_between_runs_that_are_repeated() {
    fathom_only!();
    let directory = scratch();
    let running = Launch::fathom(directory.path())
        .words("--every=1h --metrics=127.0.0.1:0 --name=a --ioengine=null --size=1m --bs=4k")
        .start();
    let address = address_of(&running);
    let page = wait_for(&address, |text| text.contains("\nfathom_run_finished 1"));
    assert_eq!(value(&page, "fathom_job_ios_total{job_name=\"a\",direction=\"read\"}"), 256.0);
    assert!(series(&page).iter().any(|(name, _)| *name == "fathom_verdict"), "{page}");
    running.signal("TERM");
    assert_eq!(running.finish().code(), 0);
}
