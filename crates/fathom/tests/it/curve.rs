//! `fathom curve`: response times by offered load on a file system that serves one I/O at a time, two milliseconds each.

use crate::hung_fs::{Faults, HungFs};
use crate::support::program::{Finished, Launch};
use crate::support::{MIB, scratch};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

const MS: f64 = 1e6;

fn slow() -> Result<HungFs, String> {
    HungFs::mount(MIB, Faults { service: Duration::from_millis(2), ..Faults::default() })
}

fn curve(directory: &Path, options: &str, slow: &HungFs) -> Launch {
    Launch::fathom(directory).words(&format!(
        "curve --ramp=0 {options} -- --name=q --filename={} --rw=randread --bs=4k --ioengine=psync",
        slow.file().display()
    ))
}

/// Runs the command, which must succeed. Progress is on standard error.
#[track_caller]
fn done(launch: Launch) -> Finished {
    let finished = launch.run();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    finished
}

fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {}", finished.stdout))
}

#[test]
fn given_loads_have_their_response_times() {
    fathom_only!();
    let slow = require!(slow());
    let directory = scratch();
    let options = "--rates=50,250,1000 --time=1s --most-runs=2 --slo=p50<1s --format=json --process=linear";
    let document = json(&done(curve(directory.path(), options, &slow)));
    let steps = document["curves"][0]["steps"].as_array().expect("steps");
    assert_eq!(steps.len(), 3, "{document}");
    // A load of 500 per second is the maximum, if no sleep is longer than requested.
    assert!(steps[0]["sustained"].as_bool().expect("known"), "{document}");
    assert!(!steps[2]["sustained"].as_bool().expect("known"), "{document}");
    assert!(steps[0]["response"]["p50"]["ns"].as_f64().expect("known") >= 2.0 * MS, "{document}");
    assert!(steps[2]["served_iops"].as_f64().expect("known") < 510.0, "{document}");
    let highest = &document["curves"][0]["highest"];
    let rate = highest["rate"].as_f64().unwrap_or_else(|| panic!("{document}"));
    assert!((50.0..1000.0).contains(&rate), "{document}");
    // Two runs of each load give no interval, neither of a load nor of the answer.
    assert!(highest["low"].is_null() && highest["high"].is_null(), "{highest}");
    assert!(steps.iter().all(|step| step["response"]["p99"]["low"].is_null()), "{document}");
    assert!(document["doubts"].to_string().contains("doubtful: few-samples: "), "{document}");
    // The same from the file, and in other formats.
    let file = directory.path().join("q.curve.jsonl");
    let again = |format: &str| {
        let words = format!("curve --format={format} {}", file.display());
        Launch::fathom(directory.path()).words(&words).run().expect_clean().stdout
    };
    assert_eq!(serde_json::from_str::<Value>(&again("json")).expect("JSON"), document);
    assert!(again("text").contains("the backlog grows"), "{}", again("text"));
    assert!(again("text").contains("doubtful: few-samples: "), "{}", again("text"));
    assert_eq!(again("csv").lines().count(), 4);
    assert!(again("markdown").contains("| offered |"));
    let page = format!("report {} -o page.html", file.display());
    done(Launch::fathom(directory.path()).words(&page));
    let html = std::fs::read_to_string(directory.path().join("page.html")).expect("a page");
    assert!(html.contains("Response time by offered load") && html.contains("p99.9"), "{html}");
}

#[test]
fn the_highest_rate_is_found() {
    fathom_only!();
    let slow = require!(slow());
    let directory = scratch();
    let options = "--slo=p50<4ms --time=400ms --most-runs=1 --format=json --seed=3";
    let document = json(&done(curve(directory.path(), options, &slow)));
    let curve = &document["curves"][0];
    let highest = &curve["highest"];
    let rate = highest["rate"].as_f64().or(highest["below"].as_f64()).unwrap_or_else(|| panic!("{document}"));
    // At 500 per second the queue of a server of 2 ms grows without limit.
    assert!(rate < 520.0, "{document}");
    assert!(curve["capacity_iops"].as_f64().expect("measured") < 510.0, "{document}");
    assert!(curve["steps"].as_array().expect("steps").len() >= 4, "{document}");
}

#[test]
fn a_curve_that_is_killed_goes_on() {
    fathom_only!();
    let slow = require!(slow());
    let directory = scratch();
    let file = directory.path().join("q.curve.jsonl");
    let lines = || std::fs::read_to_string(&file).map_or(0, |text| text.lines().count());
    let options = "--rates=50,100 --vary=bs=512,4k --time=200ms --most-runs=1 --seed=1";
    let running = curve(directory.path(), options, &slow).start();
    while lines() < 3 {
        std::thread::sleep(Duration::from_millis(10));
    }
    running.signal("KILL");
    running.finish();
    // A truncated line does not count as a run.
    let whole = std::fs::read_to_string(&file).expect("a file");
    std::fs::write(&file, format!("{whole}{{\"curve\":1,\"ra")).expect("written");
    let finished = done(curve(directory.path(), options, &slow));
    assert_eq!(lines(), 5, "{}", finished.stderr);
    assert!(finished.stdout.contains("bs=512") && finished.stdout.contains("bs=4k"), "{}", finished.stdout);
    let other = curve(directory.path(), "--rates=50 --time=200ms --most-runs=1", &slow).run();
    assert_ne!(other.code(), 0);
    assert!(other.stderr.contains("--vary, --rates differ"), "{}", other.stderr);
}
