//! What a history is asked: changes, the newest runs, and the page.

use super::{document, history};
use crate::support::scratch;
use std::fs;
use std::path::Path;

/// Nights of results; a tag says which kernel ran, and from `slower` on everything takes a quarter longer.
pub(crate) fn nights(directory: &Path, count: u64, slower: u64) {
    for night in 0..count {
        let factor = if night < slower { 1.0 } else { 1.25 };
        let noise = 1.0 + ((night * 7) % 11) as f64 / 400.0;
        let p99 = (200_000.0 * factor * noise) as u64;
        let text = format!(
            r#"{{"fio version": "fio-3.42", "timestamp": {}, "jobs": [{{"jobname": "nightly", "job options": {{"rw": "randread"}},
            "read": {{"io_bytes": 409600, "bw_bytes": 4096000, "iops": {}, "runtime": 100, "total_ios": 1000,
            "clat_ns": {{"min": 1000, "max": 900000, "mean": 100000, "stddev": 100.5, "N": 1000,
            "percentile": {{"50.000000": 90000, "99.000000": {p99}}}}}}}}}]}}"#,
            1_790_000_000 + night * 86_400,
            10_000.0 / factor / noise,
        );
        let name = format!("night{night:03}.json");
        fs::write(directory.join(&name), text).expect("written");
        let kernel = if night < slower { "6.12.8" } else { "6.12.11" };
        history(directory, &format!("add --tag=build={kernel} {name}")).run().expect_clean();
    }
}

#[test]
fn a_change_is_found_with_its_cause_and_drawn() {
    fathom_only!();
    let directory = scratch();
    nights(directory.path(), 40, 26);
    let told = history(directory.path(), "changes --figure=p99").run().expect_clean().stdout;
    assert!(told.starts_with("since ") && told.contains("p99 of nightly (read) +2"), "{told}");
    assert!(told.contains("tag build went 6.12.8 → 6.12.11"), "{told}");
    let found = document(history(directory.path(), "changes --format=json").run());
    let runs: Vec<_> = found.as_array().expect("series").iter().map(|series| &series["changes"]).collect();
    assert_eq!(runs.len(), 2, "iops and p99: {found}");
    for changes in runs {
        assert_eq!(
            (changes[0]["run"].as_i64(), changes[0]["is_regression"].as_bool()),
            (Some(27), Some(true))
        );
    }
    history(directory.path(), "report -o page.html").run();
    let page = fs::read_to_string(directory.path().join("page.html")).expect("a page");
    assert_eq!(page.matches("<figure ").count(), 2);
    assert!(page.contains("tag build went 6.12.8 → 6.12.11"), "the sentence");
    let refused = history(directory.path(), "report --figure=p99 -o night000.json").run();
    assert!(refused.code() == 1 && refused.stderr.contains("--force"), "{}", refused.stderr);
}

#[test]
fn the_gate_has_a_status_for_each_answer() {
    fathom_only!();
    let directory = scratch();
    nights(directory.path(), 8, 100);
    let few = history(directory.path(), "check").run();
    assert!(few.code() == 1 && few.stdout.starts_with("no answer: not enough runs"), "{}", few.stdout);
    nights(directory.path(), 40, 100);
    let fine = history(directory.path(), "check").run();
    assert_eq!((fine.code(), fine.stdout.starts_with("fine")), (0, true), "{}", fine.stdout);
    nights(directory.path(), 42, 40);
    for format in ["text", "markdown"] {
        let slow = history(directory.path(), &format!("check --newest=2 --format={format}")).run();
        assert_eq!(slow.code(), 2, "{}", slow.stdout);
        assert!(slow.stdout.starts_with("regression: "), "{}", slow.stdout);
    }
}

#[test]
fn a_slow_drive_is_listed_and_drawn() {
    fathom_only!();
    let directory = scratch();
    let at = directory.path();
    std::fs::create_dir(at.join("fleet")).expect("a directory");
    for drive in 0..20u64 {
        let p99 = if drive == 7 { 600_000 } else { 300_000 + drive * 500 };
        let text = format!(
            r#"{{"fio version":"fio-3.42","timestamp":{},"jobs":[{{"jobname":"randread","job options":{{"rw":"randread"}},
            "read":{{"io_bytes":409600,"bw_bytes":4096000,"iops":1000,"runtime":100,"total_ios":100,"clat_ns":{{"min":1000,"max":900000,
            "mean":200000,"N":100,"percentile":{{"99.000000":{p99}}}}}}}}}],"fathom host":{{"name":"h","devices":[
            {{"name":"nvme0n1","model":"Acme 9","serial":"S{drive:02}"}}]}}}}"#,
            1_790_000_000 + drive
        );
        std::fs::write(at.join(format!("fleet/{drive:02}.json")), text).expect("written");
    }
    history(at, "import fleet").run().expect_clean();
    let listed = history(at, "fleet --figure=p99").run().expect_clean().stdout;
    assert!(
        listed.starts_with("drive") && listed.contains("\nS07 ") && !listed.contains("\nS08 "),
        "{listed}"
    );
    let written = history(at, "fleet --figure=p99 -o fleet.html").run();
    assert_eq!((written.code(), written.stdout.as_str()), (0, ""), "{}", written.stderr);
    let page = std::fs::read_to_string(at.join("fleet.html")).expect("the page");
    assert_eq!(page.matches("class=\"mark s0\"").count(), 1, "one drive is worse");
    assert_eq!(page.matches("class=\"hollow s0\"").count(), 19);
    assert!(
        page.contains("id=\"run-8\"") && page.contains("href=\"#run-8\""),
        "a link to the run of the slow drive"
    );
    // A file that is not such a page is kept.
    std::fs::write(at.join("other.html"), "mine").expect("written");
    assert_eq!(history(at, "fleet -o other.html").run().code(), 1);
}
