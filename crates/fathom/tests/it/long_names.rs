//! Names that are too long or too wide for a terminal: figures stay on the screen, and pipes get everything.

use crate::support::program::{self, Launch};
use crate::support::scratch;
use crate::support::terminal::{OnTerminal, Picture};
use std::path::Path;

/// A command's output on an ordinary terminal, with more rows than needed.
fn on_terminal(directory: &Path, words: &str) -> Picture {
    let environment = [("COLUMNS", "")];
    let mut terminal = OnTerminal::start(&program::path(), directory, (80, 500), &environment, words, None);
    assert_eq!(terminal.wait_for_end(), 0, "{}", terminal.transcript());
    terminal.picture()
}

/// The column in which a row ends.
fn end_of_row(picture: &Picture, start: &str) -> usize {
    let row = picture.rows.iter().find(|row| row.starts_with(start));
    let row = row.unwrap_or_else(|| panic!("no {start} in\n{}", picture.text()));
    // A screen row has one cell per column, of which a wide character takes two.
    let wide = row.chars().filter(|letter| ('\u{3000}'..'\u{a000}').contains(letter)).count();
    row.chars().filter(|letter| *letter != '\u{301}').count() + wide
}

#[test]
fn figures_stay_on_the_screen() {
    fathom_only!();
    let directory = scratch();
    let long = format!("読み{}終", "x".repeat(200));
    let text = format!(
        "[global]\nioengine=null\nsize=64k\nbs=4k\nrw=randread\nruntime=2\ntime_based\nrate_iops=500\n[{long}]\n[読取]\n[cafe\u{301}]\n"
    );
    std::fs::write(directory.path().join("job.fio"), text).expect("a file");
    Launch::fathom(directory.path())
        .words("--output-format=json+ --output=r.json job.fio")
        .run()
        .expect_clean();
    for words in ["show --summary r.json", "show r.json", "compare --no-chart r.json r.json"] {
        let picture = on_terminal(directory.path(), words);
        assert!(!picture.is_wrapped, "{words}\n{}", picture.text());
        assert!(picture.text().contains("終") && picture.text().contains('…'), "{words}\n{}", picture.text());
        let piped = Launch::fathom(directory.path()).words(words).run().expect_clean().stdout;
        assert!(piped.contains(&long) && !piped.contains('…'), "{words}\n{piped}");
    }
    let summary = on_terminal(directory.path(), "show --summary r.json");
    assert!(summary.text().contains("p99.9"), "{}", summary.text());
    let ends = ["読み", "読取", "cafe"].map(|start| end_of_row(&summary, start));
    assert!(ends.iter().all(|end| *end == ends[0]), "{ends:?}\n{}", summary.text());
    // A requested width also applies in a pipe.
    let asked =
        Launch::fathom(directory.path()).words("show --summary --width=60 r.json").run().expect_clean();
    assert!(asked.stdout.contains('…') && !asked.stdout.contains(&long), "{}", asked.stdout);
}

#[test]
fn bars_of_a_sweep_stay_on_the_screen() {
    fathom_only!();
    let directory = scratch();
    let files = ["a", "b"].map(|name| format!("/mnt/{}/{name}", "y".repeat(200)));
    let words = format!(
        "sweep --vary=filename={} --vary=iodepth=1,16 --repeats=2 -- --name=job --ioengine=null --size=64k --rw=randrw \
         --runtime=1 --time_based --rate_iops=500",
        files.join(",")
    );
    let made = Launch::fathom(directory.path()).words(&words).run();
    assert_eq!(made.code(), 0, "{}", made.stderr);
    assert!(made.stdout.contains(&files[0]), "{}", made.stdout);
    let picture = on_terminal(directory.path(), "sweep job.sweep.jsonl");
    assert!(!picture.is_wrapped, "{}", picture.text());
    let bars = picture.rows.iter().filter(|row| row.contains(|c| ('█'..='▏').contains(&c))).count();
    // Long medians and verdicts shorten the bars; those of the IOPS are short.
    assert!(bars >= 4 && picture.text().contains("/mnt/"), "{}", picture.text());
    for format in ["markdown", "csv", "json"] {
        let picture = on_terminal(directory.path(), &format!("sweep job.sweep.jsonl --format={format}"));
        assert!(!picture.text().contains('…'), "{}", picture.text());
    }
}
