//! `fathom history`: results in a store, on real databases.

pub(crate) mod answers;
mod page;
mod places;
mod run;
mod server;
mod sqlite;

use crate::support::program::{Finished, Launch};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A small result that differs from all others by its number.
fn result(number: u64) -> String {
    format!(
        r#"{{"fio version": "fio-3.42", "timestamp": {}, "jobs": [{{"jobname": "nightly", "job options": {{"rw": "read", "bs": "4k"}},
        "read": {{"io_bytes": 409600, "bw_bytes": 4096000, "iops": {}, "runtime": 100, "total_ios": 100,
        "clat_ns": {{"min": 1000, "max": 9000, "mean": 2000.5, "stddev": 100.5, "N": 100,
        "percentile": {{"50.000000": 2000, "99.000000": 8000}}, "bins": {{"2000": 90, "8000": 10}}}}}}}}]}}"#,
        1_700_000_000 + number * 3600,
        1000 + number
    )
}

/// Writes results into a directory.
fn results(directory: &Path, count: u64) {
    fs::create_dir_all(directory).expect("a directory");
    for number in 0..count {
        fs::write(directory.join(format!("{number:03}.json")), result(number)).expect("written");
    }
}

pub(crate) fn history(directory: &Path, words: &str) -> Launch {
    Launch::fathom(directory).variable("FATHOM_HISTORY", "history.db").words("history").words(words)
}

pub(crate) fn document(finished: Finished) -> Value {
    serde_json::from_str(&finished.expect_clean().stdout).expect("JSON")
}

/// Every run of the store is there as a whole; returns their number.
fn whole_runs(directory: &Path, store: &str) -> usize {
    let listed =
        history(directory, "list --format=json --limit=1000").argument(format!("--store={store}")).run();
    if listed.stderr.contains("no history there yet") {
        return 0;
    }
    let listed = document(listed);
    let runs = listed["runs"].as_array().expect("a list");
    if runs.is_empty() {
        return 0;
    }
    let ids: Vec<String> = runs.iter().map(|run| run["id"].to_string()).collect();
    let words = format!("show --format=json {}", ids.join(" "));
    let shown = document(history(directory, &words).argument(format!("--store={store}")).run());
    for run in shown.as_array().expect("a list") {
        let job = &run["jobs"][0];
        assert_eq!(job["name"], "nightly", "{run}");
        let iops = job["figures"].as_array().expect("figures").iter().find(|figure| figure["name"] == "iops");
        assert!(iops.is_some_and(|figure| figure["value"].as_f64() >= Some(1000.0)), "{run}");
        assert_eq!(job["latencies"][0]["bins"]["8000"], 10, "{run}");
    }
    runs.len()
}
