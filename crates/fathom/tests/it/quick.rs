//! `fathom quick`: the grid, its doubts, and complete cleanup.

use crate::support::devices::{Mounted, Throttle};
use crate::support::processes::OtherWork;
use crate::support::program::{Finished, Launch};
use crate::support::{MIB, file_of, json, processes, scratch, skip};
use std::path::Path;
use std::time::Duration;

fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("the directory can be read");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

fn quick(directory: &Path, words: &str) -> Finished {
    Launch::fathom(directory).words(&format!("quick --size=16m --time=200ms {words}")).run()
}

#[test]
fn the_grid_has_eight_tests_and_says_where() {
    fathom_only!();
    let directory = scratch();
    file_of(directory.path(), "precious", 4096);
    let finished = quick(directory.path(), "--save=result.json").expect_clean();
    let rows: Vec<&str> = finished
        .stdout
        .lines()
        .filter(|line| (line.starts_with("read ") || line.starts_with("write ")) && !line.contains('*'))
        .collect();
    assert_eq!(rows.len(), 8, "{}", finished.stdout);
    for row in &rows {
        let figures: Vec<&str> = row.split_whitespace().collect();
        let rate: f64 = figures[5].parse().unwrap_or_else(|_| panic!("no rate in {row}"));
        assert!(rate > 0.0, "{row}");
    }
    assert!(finished.stdout.contains(" on ") && finished.stdout.contains("Linux "), "{}", finished.stdout);
    let mut left = names_in(directory.path());
    left.sort();
    assert_eq!(left, ["precious", "result.json"]);
    let precious = std::fs::read(directory.path().join("precious")).expect("still there");
    assert!(precious.iter().all(|&byte| byte == 0x5a) && precious.len() == 4096);
    let saved = std::fs::read_to_string(directory.path().join("result.json")).expect("was saved");
    let document = json::document(&saved);
    assert_eq!(document["jobs"].as_array().map(Vec::len), Some(8));
    let deep = json::job(&document, "read-rand-4k-d32");
    assert!(deep["read"]["clat_ns"]["bins"].is_object(), "{deep}");
    assert!(document["fathom timeline"]["jobs"].as_array().is_some_and(|jobs| jobs.len() == 8));
}

#[test]
fn repeats_give_medians_and_intervals() {
    fathom_only!();
    let directory = scratch();
    let finished = quick(directory.path(), "--repeats=3 --save=before").expect_clean();
    assert!(
        finished.stdout.contains("95 % interval") && finished.stdout.contains(" to "),
        "{}",
        finished.stdout
    );
    assert!(finished.stdout.contains("medians of 3 runs"), "{}", finished.stdout);
    let mut saved = names_in(&directory.path().join("before"));
    saved.sort();
    assert_eq!(saved, ["1.json", "2.json", "3.json"]);
    let finished = quick(directory.path(), "--repeats=2 --format=json --save=after").expect_clean();
    let grid: serde_json::Value = serde_json::from_str(&finished.stdout).expect("JSON and nothing else");
    assert_eq!(grid["runs"].as_u64(), Some(2));
    let rate_of = |number: u32| {
        let path = directory.path().join(format!("after/{number}.json"));
        let document = json::document(&std::fs::read_to_string(path).expect("it was saved"));
        json::job(&document, "read-rand-4k-d32")["read"]["iops"].as_f64().expect("a rate")
    };
    let test = grid["tests"]
        .as_array()
        .and_then(|tests| tests.iter().find(|test| test["name"] == "read-rand-4k-d32"));
    let test = test.expect("the test");
    let (median, ends) = (test["iops"].as_f64().expect("a median"), &test["intervals"]["iops"]);
    assert!((median - (rate_of(1) + rate_of(2)) / 2.0).abs() < 1e-6 * median, "{test}");
    assert!(ends[0].as_f64() <= Some(median) && ends[1].as_f64() >= Some(median), "{test}");
    Launch::fathom(directory.path()).words("compare before after").run().expect_clean();
    // A comparison would count the existing files.
    let refused = quick(directory.path(), "--repeats=2 --save=before");
    assert!(refused.code() == 1 && refused.stderr.contains("not empty"), "{}", refused.stderr);
    for (words, why) in [("--save=x --force", "leave out --force"), ("--show-job", "leave out --repeats")] {
        let refused = quick(directory.path(), &format!("--repeats=2 {words}"));
        assert!(refused.code() == 1 && refused.stderr.contains(why), "{}", refused.stderr);
    }
    assert!(!directory.path().join("x").exists());
}

#[test]
fn programs_get_the_same_figures() {
    fathom_only!();
    let directory = scratch();
    let finished = quick(directory.path(), "--format=json --save=result.json").expect_clean();
    let grid: serde_json::Value = serde_json::from_str(&finished.stdout).expect("JSON and nothing else");
    let saved = std::fs::read_to_string(directory.path().join("result.json")).expect("was saved");
    let document = json::document(&saved);
    let tests = grid["tests"].as_array().expect("tests");
    assert_eq!(tests.len(), 8);
    for test in tests {
        let name = test["name"].as_str().expect("a name");
        let direction = &json::job(&document, name)[test["direction"].as_str().expect("a direction")];
        assert_eq!(test["iops"].as_f64(), direction["iops"].as_f64(), "{name}");
        // The bin of a percentile may extend beyond the maximum latency.
        let [p99, most] = [&direction["clat_ns"]["percentile"]["99.000000"], &direction["clat_ns"]["max"]]
            .map(|value| value.as_f64().expect("a number"));
        assert_eq!(test["p99_ns"].as_f64(), Some(p99.min(most)), "{name}");
    }
    let finished = quick(directory.path(), "--format=csv").expect_clean();
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert_eq!(
        (lines.len(), lines[0]),
        (9, "direction,pattern,depth,MB/s,IOPS,p50_us,p99_us,p99.9_us,doubts")
    );
    let finished = quick(directory.path(), "--format=markdown").expect_clean();
    assert_eq!(
        finished.stdout.lines().filter(|line| line.starts_with('|')).count(),
        10,
        "{}",
        finished.stdout
    );
}

#[test]
fn the_printed_job_file_runs() {
    fathom_only!();
    let directory = scratch();
    let shown = quick(directory.path(), "--show-job").expect_clean().stdout;
    assert!(names_in(directory.path()).is_empty());
    std::fs::write(directory.path().join("quick.fio"), &shown).expect("can be written");
    let finished =
        Launch::fathom(directory.path()).words("--output-format=json quick.fio").run().expect_clean();
    let document = json::document(&finished.stdout);
    assert_eq!(document["jobs"].as_array().map(Vec::len), Some(9));
    assert_eq!(json::integer(json::job(&document, "fill"), "write/io_bytes"), 16 * MIB);
    for job in document["jobs"].as_array().into_iter().flatten() {
        assert_eq!(job["error"], 0, "{job}");
    }
}

#[test]
fn nothing_is_left_behind_whenever_it_is_stopped() {
    fathom_only!();
    for (signal, after_ms) in [("INT", 20), ("INT", 700), ("KILL", 150), ("KILL", 900), ("TERM", 1200)] {
        let directory = scratch();
        let words = "quick --size=64m --time=1s";
        let running = Launch::fathom(directory.path()).words(words).start();
        let pid = running.pid();
        std::thread::sleep(Duration::from_millis(after_ms));
        running.signal(signal);
        let finished = running.finish();
        assert!(names_in(directory.path()).is_empty(), "{signal} after {after_ms} ms");
        assert!(processes::descendants(pid).is_empty(), "{signal} after {after_ms} ms");
        assert!(!finished.stdout.contains("panicked") && !finished.stderr.contains("internal error"));
    }
}

#[test]
fn a_stopped_run_shows_what_it_has() {
    fathom_only!();
    let directory = scratch();
    let words = "quick --size=16m --time=2s --format=json";
    let running = Launch::fathom(directory.path()).words(words).start();
    // The third of eight tests is running: filling is brief, each test takes two seconds.
    std::thread::sleep(Duration::from_millis(5_500));
    running.signal("INT");
    let finished = running.finish();
    assert_eq!(finished.code(), 128, "{}", finished.stderr);
    let grid: serde_json::Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let tests = grid["tests"].as_array().expect("tests");
    let done = tests.iter().filter(|test| test["iops"].is_number()).count();
    assert!((1..8).contains(&done), "{done} of 8 tests: {}", finished.stdout);
    assert!(finished.stdout.contains("stopped early"), "{}", finished.stdout);
}

#[test]
fn a_place_without_room_is_refused() {
    fathom_only!();
    let mounted = require!(Mounted::memory(48 * MIB));
    let finished = Launch::fathom(mounted.path()).words("quick --size=32m").run();
    assert_eq!(finished.code(), 1);
    assert!(finished.stderr.contains("try --size=24m"), "{}", finished.stderr);
    assert!(names_in(mounted.path()).is_empty());
    let finished = Launch::fathom(mounted.path()).words("quick --size=16m --time=100ms").run().expect_clean();
    assert!(finished.stdout.contains("is in memory"), "{}", finished.stdout);
}

#[test]
fn a_device_that_is_no_disk_is_told() {
    fathom_only!();
    let mounted = require!(Mounted::new("ext4", 128 * MIB));
    let finished = Launch::fathom(mounted.path()).words("quick --size=16m --time=200ms").run().expect_clean();
    let device = mounted.device().and_then(|path| path.file_name()).expect("a device").to_string_lossy();
    assert!(finished.stdout.contains(&format!("device {device}: ")), "{}", finished.stdout);
    assert!(finished.stdout.contains(" on ext4 (/dev/loop"), "{}", finished.stdout);
    assert!(!finished.stdout.contains("cached:"), "direct I/O reaches the device: {}", finished.stdout);
    assert!(finished.stdout.contains(&format!("{device} is a file in memory")), "{}", finished.stdout);
}

#[test]
fn what_exists_is_refused() {
    fathom_only!();
    let directory = scratch();
    let file = file_of(directory.path(), "data", 4096);
    for (words, what) in [
        ("quick data", "never touches what exists"),
        ("quick nowhere", "No such file"),
        ("quick --size=1m", "--size: 16 MiB is the minimum"),
        ("quick --size=64", "64 without a unit is 64 bytes, write --size=64m or 64g"),
        ("quick /proc", "it has no room at all; name a directory"),
        ("quick --colour=red", "--colour"),
        ("quick . ..", "2 directories"),
    ] {
        let finished = Launch::fathom(directory.path()).words(words).run();
        assert_eq!(finished.code(), 1, "{words}");
        assert!(finished.stderr.contains(what), "{words}: {}", finished.stderr);
        assert!(finished.stderr.starts_with("fathom quick: "), "{words}: {}", finished.stderr);
    }
    assert_eq!(std::fs::metadata(file).map(|metadata| metadata.len()).ok(), Some(4096));
    assert_eq!(names_in(directory.path()), ["data"]);
}

/// The figures show a control group's limit, and the doubt is kept with the result.
#[test]
fn a_limit_of_the_group_is_doubted_everywhere() {
    fathom_only!();
    let mounted = require!(Mounted::new("ext4", 128 * MIB));
    let throttle = require!(Throttle::new(mounted.device().expect("a device"), 500));
    let directory = scratch();
    let words = format!("quick --size=16m --time=500ms --save=result.json {}", mounted.path().display());
    let finished = Launch::in_group(directory.path(), &throttle.members()).words(&words).run().expect_clean();
    let told = "allows 500 reads per second of ";
    let flat = |text: &str| text.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(flat(&finished.stdout).contains(told), "{}", finished.stdout);
    // The answer comes first, then the grid, in which reads are marked.
    let is_row = |row: &&str| row.starts_with("read ") || row.starts_with("write ");
    let (answer, grid) = finished.stdout.split_once("\n\n").expect("two parts");
    let rows: Vec<&str> = grid.lines().skip(1).take_while(is_row).collect();
    assert!(answer.starts_with("About ") && rows.len() == 8, "{}", finished.stdout);
    // On a busy machine, more tests may have waited for a processor than were held back.
    let reasons = [" a limit of the control group held them back", " the tester waited for a CPU"];
    assert!(reasons.iter().any(|reason| flat(answer).contains(reason)), "{answer}");
    let marked =
        rows.iter().filter(|row| row.starts_with("read   random") && row.ends_with("doubtful")).count();
    assert_eq!(marked, 2, "{}", finished.stdout);
    for command in ["show result.json", "explain result.json", "report result.json -o -"] {
        let text = Launch::fathom(directory.path()).words(command).run().expect_clean().stdout;
        assert!(flat(&text).contains(told), "{command}: {text}");
        assert!(!text.contains("All jobs"), "{command}: stages are not added up");
        // A page begins with its links.
        let body = text.split_once("<main").map_or(text.as_str(), |(_, body)| body);
        let (grid, details) = (body.find("sequential 1 MiB"), body.find("read-seq-1m-d8"));
        assert!(grid < details, "{command}: the grid comes first");
    }
}

/// Other programs use the processors: the job waits for one, or the kernel threads that handle its I/O do.
#[test]
fn a_busy_machine_is_doubted() {
    fathom_only!();
    require!(skip::tool("setsid"));
    require!(skip::tool("taskset"));
    let mounted = require!(Mounted::new("ext4", 128 * MIB));
    let _other_work = OtherWork::start();
    let words = "quick --size=16m --time=400ms --format=json";
    let doubted = || {
        // This takes a while if other tests are running.
        let launch = Launch::fathom(mounted.path()).timeout(Duration::from_secs(240));
        let finished = launch.words(words).run().expect_clean();
        let grid: serde_json::Value = serde_json::from_str(&finished.stdout).expect("JSON");
        let tests = grid["tests"].as_array().expect("tests");
        tests.iter().filter(|test| test["doubts"].to_string().contains("CPUs busy")).count()
    };
    // The first run may end before all of the other load has started.
    assert!((0..8).any(|_| doubted() >= 4), "a busy machine is doubted in fewer than 4 of 8 tests");
}
