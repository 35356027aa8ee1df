//! `fathom show`: results drawn in the terminal.

use crate::support::program::{self, Launch};
use crate::support::{MIB, file_of, json, scratch};

#[test]
fn results_are_drawn_in_the_width_asked_for() {
    fathom_only!();
    let directory = scratch();
    file_of(directory.path(), "data", 4 * MIB);
    let job = "--output-format=json+ --output=result.json --name=mixed --filename=data --size=4m --bs=4k --rw=randrw \
               --ioengine=libaio --iodepth=4 --direct=1 --time_based --runtime=3";
    Launch::fathom(directory.path()).words(job).run().expect_clean();
    for width in [40, 80, 132] {
        let words = format!("show --width={width} result.json");
        let shown = Launch::fathom(directory.path()).words(&words).run().expect_clean().stdout;
        for chart in [
            "read latency by percentile",
            "write latency distribution",
            "read IOPS over time",
            "write latency over time",
            "depth reached",
        ] {
            assert!(shown.contains(chart), "{width}: no {chart} in {shown}");
        }
        let drawn = shown.lines().filter(|line| line.starts_with(' '));
        for line in drawn {
            assert!(line.chars().count() <= width, "{line}");
        }
    }
    // The summary agrees with the result.
    let text = std::fs::read_to_string(directory.path().join("result.json")).expect("a result");
    let document = json::document(&text);
    let iops = json::job(&document, "mixed")["read"]["iops"].as_f64().expect("a rate");
    let summary =
        Launch::fathom(directory.path()).words("show --summary result.json").run().expect_clean().stdout;
    let row =
        summary.lines().find(|line| line.starts_with("mixed  read")).unwrap_or_else(|| panic!("{summary}"));
    let shown = row.split_whitespace().nth(3).expect("a column");
    let factor = if shown.ends_with('k') { 1000.0 } else { 1.0 };
    let shown: f64 = shown.trim_end_matches('k').parse().expect("a number");
    assert!((shown * factor / iops - 1.0).abs() < 0.006, "{row}: {iops}");
    let plain = Launch::of(std::path::Path::new("env"), directory.path())
        .argument("NO_COLOR=1")
        .argument(program::path())
        .words("show result.json")
        .run()
        .expect_clean();
    assert!(plain.stdout.replace('µ', "u").is_ascii(), "{}", plain.stdout);
}

#[test]
fn mistakes_are_told() {
    fathom_only!();
    let directory = scratch();
    let job = "--output-format=json --output=result.json --name=x --ioengine=null --size=1m --rw=read";
    Launch::fathom(directory.path()).words(job).run().expect_clean();
    for (words, what) in [
        ("show", "no file given"),
        ("show nowhere.json", "No such file"),
        ("show --job=y result.json", "there is no job y; it has x"),
        ("show --width=10 result.json", "--width"),
    ] {
        let finished = Launch::fathom(directory.path()).words(words).run();
        assert_eq!(finished.code(), 1, "{words}");
        assert!(finished.stderr.contains(what), "{words}: {}", finished.stderr);
    }
}
