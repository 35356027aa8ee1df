//! One-liners as in articles, wikis and monitoring agents, with their usual tools: what they extract from a report must be
//! the report's figures.

use crate::support::program::Launch;
use crate::support::{json, scratch};
use serde_json::Value;
use std::path::Path;

/// A run with the same report in all formats, saved in the file `report`.
fn report(directory: &Path, words: &str) -> Value {
    let words = format!("--output=report --output-format=terse,json,normal {words}");
    Launch::fathom(directory).words(&words).run().expect_clean();
    json::document(&std::fs::read_to_string(directory.join("report")).expect("the report"))
}

/// Output of a shell.
#[track_caller]
fn shell(directory: &Path, script: &str) -> String {
    let finished = Launch::of(Path::new("/bin/sh"), directory).argument("-c").argument(script).run();
    assert_eq!(finished.stderr, "", "{script}");
    finished.stdout.trim().to_owned()
}

const MIXED: &str =
    "--name=a --ioengine=null --size=8M --bs=4k --rw=randrw --iodepth=4 --numjobs=2 --group_reporting";

#[test]
fn fields_of_terse_version_3() {
    let directory = scratch();
    let document = report(directory.path(), MIXED);
    let job = &document["jobs"][0];
    let cut = |field: u32| shell(directory.path(), &format!("grep '^3;fio-' report | cut -d';' -f{field}"));
    for (fields, direction) in [([6, 7, 8, 9], "read"), ([47, 48, 49, 50], "write")] {
        let figures = &job[direction];
        assert_eq!(cut(fields[0]), figures["io_kbytes"].to_string());
        assert_eq!(cut(fields[1]), figures["bw"].to_string());
        let iops = figures["iops"].as_f64().expect("a number");
        assert_eq!(cut(fields[2]), format!("{}", iops as u64));
        assert_eq!(cut(fields[3]), figures["runtime"].to_string());
    }
    assert_eq!(cut(3), "a");
    assert_eq!(cut(5), "0");
    let means = shell(directory.path(), "awk -F';' '/^3;fio-/ { print ($40 > 0), ($81 > 0) }' report");
    assert_eq!(means, "1 1");
}

#[test]
fn the_iops_and_bandwidth_of_the_normal_report() {
    let directory = scratch();
    let document =
        report(directory.path(), "--name=a --ioengine=null --size=1M --bs=4k --rw=randrw --rate_iops=500");
    for direction in ["read", "write"] {
        let by_sed = shell(
            directory.path(),
            &format!("sed -n 's/.*{direction}: IOPS=\\([0-9.k]*\\),.*/\\1/p' report"),
        );
        let iops = document["jobs"][0][direction]["iops"].as_f64().expect("a number");
        assert_eq!(by_sed, format!("{}", iops as u64));
        let by_awk = shell(
            directory.path(),
            &format!("grep -E '^ +{direction}: IOPS=' report | awk -F'[=,]' '{{ print $2 }}'"),
        );
        assert_eq!(by_awk, by_sed);
        let bandwidth = shell(
            directory.path(),
            &format!("grep '{direction}: IOPS' report | grep -oP 'BW=\\K[0-9.]+[KMG]iB/s'"),
        );
        assert!(bandwidth.ends_with("KiB/s"), "{bandwidth}");
    }
    let total = shell(directory.path(), "awk '/READ: bw=/ { print $2 }' report");
    assert!(total.starts_with("bw=") && total.ends_with("iB/s"), "{total}");
    let percentile = shell(directory.path(), "grep -m1 -oP '99\\.00th=\\[ *\\K[0-9]+' report");
    assert!(percentile.parse::<u64>().is_ok(), "{percentile}");
}

#[test]
fn the_json_behind_the_line_with_starting() {
    let directory = scratch();
    let words = format!("--output-format=json,normal {MIXED}");
    let finished = Launch::fathom(directory.path()).words(&words).run().expect_clean();
    std::fs::write(directory.path().join("both"), &finished.stdout).expect("written");
    let behind = shell(directory.path(), "sed '1,/Starting/d' both | sed -n '/^{/,/^}/p'");
    let document: Value = serde_json::from_str(&behind).unwrap_or_else(|error| panic!("{error}: {behind}"));
    assert_eq!(document["jobs"][0]["jobname"], "a");
    assert_eq!(shell(directory.path(), "grep -c '\"fio version\" : \"fio-' both"), "1");
}

#[test]
fn the_json_alone() {
    let directory = scratch();
    let words = format!("--output-format=json {MIXED}");
    let text = Launch::fathom(directory.path()).words(&words).run().expect_clean().stdout;
    assert!(text.starts_with("{\n  \"fio version\" : \"fio-"), "{text}");
    std::fs::write(directory.path().join("out.json"), &text).expect("written");
    let iops =
        shell(directory.path(), "grep -A40 '\"read\" : {' out.json | grep -m1 '\"iops\" :' | tr -dc '0-9.'");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let expected = document["jobs"][0]["read"]["iops"].as_f64().expect("a number");
    assert!((iops.parse::<f64>().expect("a number") - expected).abs() < 1e-3);
}

#[test]
fn five_fields_in_a_log_line() {
    let directory = scratch();
    let words = "--name=a --ioengine=null --size=1M --bs=4k --rw=randrw --write_lat_log=l --write_bw_log=l --write_iops_log=l";
    Launch::fathom(directory.path()).words(words).run().expect_clean();
    for log in ["lat", "clat", "bw", "iops"] {
        let fields = shell(directory.path(), &format!("awk -F', ' '{{ print NF }}' l_{log}.1.log | sort -u"));
        assert_eq!(fields, "5", "{log}");
    }
    let mean = "awk -F', ' '{ sum += $2; n++ } END { printf \"%.0f\", sum / n }' l_lat.1.log";
    assert!(shell(directory.path(), mean).parse::<u64>().is_ok());
    let reads = shell(directory.path(), "awk -F, '$3 == 0' l_iops.1.log | wc -l");
    let writes = shell(directory.path(), "awk -F, '$3 == 1' l_iops.1.log | wc -l");
    let count = |text: String| text.parse::<u64>().expect("a count");
    assert_eq!(count(reads) + count(writes), 256);
}
