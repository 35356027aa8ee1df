//! `fathom pts`: whole tests on devices and files, shortened; protected devices; tests that are killed and resumed.

use crate::support::devices::{LoopDevice, Mounted, in_use, in_use_as_swap, run};
use crate::support::program::{Finished, Launch, Running};
use crate::support::{MIB, PATIENCE, file_of, scratch, skip};
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// Points of a hundredth of a second, and five rounds of them.
const SHORT: &str = "--scale=0.00016 --rounds=5";

fn start(directory: &Path, words: &str) -> Running {
    Launch::fathom(directory).words("pts").words(words).start()
}

fn pts(directory: &Path, words: &str) -> Finished {
    start(directory, words).finish()
}

/// The complete lines of a results file.
fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The steps of a results file, without their figures.
fn steps(path: &Path) -> Vec<String> {
    let lines = lines(path);
    let steps = lines.iter().filter(|line| !line["step"].is_null());
    let name = |line: &Value| {
        let number =
            |key: &str| line[key].as_u64().map_or(String::new(), |number| format!(" {key} {number}"));
        let keys = ["part", "pass", "round", "point"].map(number);
        format!("{}{}", line["step"].as_str().unwrap_or_default(), keys.concat())
    };
    steps.map(name).collect()
}

/// Collapses runs of whitespace into single spaces.
fn unbroken(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Both names of a device.
fn on(device: &LoopDevice) -> String {
    format!("{0} --destroy={0}", device.text())
}

fn can_discard(device: &LoopDevice) -> bool {
    let name = device.text().trim_start_matches("/dev/");
    let limit = std::fs::read_to_string(format!("/sys/block/{name}/queue/discard_max_bytes"));
    limit.is_ok_and(|limit| limit.trim() != "0")
}

#[test]
fn a_latency_test_of_a_device() {
    fathom_only!();
    let directory = scratch();
    let device = require!(LoopDevice::new(16 * MIB));
    let finished =
        pts(directory.path(), &format!("latency {} {SHORT} --output=r.pts.jsonl --format=json", on(&device)));
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let report = document(&finished.stdout);
    assert_eq!((report["pts_result"].as_bool(), report["finished"].as_bool()), (Some(false), Some(true)));
    assert!(report["why_not"][0].as_str().is_some_and(|why| why.contains("--scale=0.00016")), "{report:#}");
    assert_eq!((report["plan"]["threads"].as_u64(), report["plan"]["depth"].as_u64()), (Some(1), Some(1)));
    let part = &report["parts"][0];
    let points = part["points"].as_array().expect("points");
    let named: Vec<(u64, u64)> = points
        .iter()
        .map(|point| {
            (point["read_percent"].as_u64().expect("a mix"), point["block_bytes"].as_u64().expect("a size"))
        })
        .collect();
    let wanted: Vec<(u64, u64)> =
        [100, 65, 0].iter().flat_map(|mix| [8192, 4096, 512].map(|block| (*mix, block))).collect();
    assert_eq!(named, wanted);
    for point in points {
        let rounds = point["rounds"].as_array().expect("rounds");
        assert_eq!(rounds.len(), 5, "{point}");
        let (mean, max) = (&point["lat_mean_ns"], &point["lat_max_ns"]);
        assert!(0.0 < mean.as_f64().unwrap_or(0.0) && mean.as_f64() <= max.as_f64(), "{point}");
        // A mix has reads and writes. A round is so short that on a busy machine none of its I/Os may
        // complete.
        let has =
            |direction: &str| rounds.iter().any(|round| round[direction]["ios"].as_u64().unwrap_or(0) > 0);
        match point["read_percent"].as_u64() {
            Some(100) => assert!(has("read") && !has("write"), "{point}"),
            Some(0) => assert!(!has("read") && has("write"), "{point}"),
            // With only a few I/Os, all may be of one direction.
            _ => assert!(has("read") || has("write"), "{point}"),
        }
        let all: Vec<f64> = rounds.iter().filter_map(|round| round["all"]["lat_mean_ns"].as_f64()).collect();
        let average = all.iter().sum::<f64>() / 5.0;
        assert!(
            (average / mean.as_f64().unwrap_or(0.0) - 1.0).abs() < 1e-9,
            "the mean of the window: {point}"
        );
    }
    let values: Vec<f64> =
        part["window"]["values"].as_array().expect("a window").iter().filter_map(Value::as_f64).collect();
    let tracked: Vec<f64> = points[7]["rounds"]
        .as_array()
        .expect("rounds")
        .iter()
        .filter_map(|round| round["all"]["lat_mean_ns"].as_f64())
        .collect();
    assert!(points[7]["tracked"] == true && values == tracked, "writes of 4 KiB are tracked: {part}");
    // The same from the file, in every form.
    let shown = |format: &str| pts(directory.path(), &format!("r.pts.jsonl --format={format}"));
    assert_eq!(shown("json").stdout, finished.stdout);
    assert_eq!(shown("csv").stdout.lines().count(), 1 + 9 * 5);
    let text = shown("text").expect_clean().stdout;
    for part in [
        "SNIA SSS PTS 2.0.2, Latency test of ",
        "not a PTS result",
        "Average latency, rounds 1 to 5",
        "Maximum latency",
        "99.999 % latency",
        "best linear fit y = ",
    ] {
        assert!(unbroken(&text).contains(part), "{part} is not in\n{text}");
    }
    assert!(shown("markdown").stdout.contains("| read/write | "), "{}", shown("markdown").stdout);
    let page = Launch::fathom(directory.path()).words("report r.pts.jsonl -o -").run().expect_clean().stdout;
    for part in [
        "id=\"part-0-convergence\"",
        "id=\"part-0-window\"",
        "110 % of the average",
        "best linear fit",
        "id=\"part-0-plot-2\"",
        "class=\"heat-map\"",
    ] {
        assert!(page.contains(part), "{part} is not on the page");
    }
}

#[test]
fn the_device_is_purged_and_written_before_it_is_measured() {
    fathom_only!();
    let directory = scratch();
    let device = require!(LoopDevice::new(16 * MIB));
    // Killed after each step: the content of the device at that time.
    let words = format!("throughput {} --scale=0.5 --output=r.jsonl", on(&device));
    let running = start(directory.path(), &words);
    let file = directory.path().join("r.jsonl");
    wait_for_steps(&file, 3);
    running.signal("KILL");
    running.finish();
    let found = lines(&file);
    assert_eq!(
        steps(&file)[..3],
        ["purge part 0", "precondition part 0 pass 0", "precondition part 0 pass 1"]
    );
    let purge = found[1]["purged"].as_str().expect("how");
    assert_eq!(purge.starts_with("discard"), can_discard(&device), "{purge}");
    assert_eq!((found[2]["written"].as_u64(), found[3]["written"].as_u64()), (Some(8 * MIB), Some(8 * MIB)));
    if can_discard(&device) {
        // The written half holds random data, the other one is empty.
        let content = device.contents();
        assert!(content[8 * MIB as usize..].iter().all(|byte| *byte == 0));
        let pieces = content[..8 * MIB as usize].chunks(4096);
        assert!(pieces.into_iter().all(|piece| piece.iter().any(|byte| *byte != piece[0])));
    }
    // Purging is optional.
    let words = words.replace("r.jsonl", "s.jsonl").replace("0.5", "0.0001") + " --no-purge --rounds=1";
    let finished = pts(directory.path(), &words);
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(finished.stdout.contains("none by fathom (--no-purge)"), "{}", finished.stdout);
    assert!(finished.stdout.contains("1 MiB: purge: none by fathom"), "{}", finished.stdout);
}

/// Waits until this many steps are finished.
#[track_caller]
fn wait_for_steps(path: &Path, count: usize) {
    let limit = Instant::now() + PATIENCE;
    while steps(path).len() < count {
        assert!(Instant::now() < limit, "{:?} after a minute", steps(path));
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Checks that the test is refused with this message, and that no byte has changed.
#[track_caller]
fn expect_refused(directory: &Path, target: &Path, words: &str, reason: &str) {
    let content = || std::fs::read(target).expect("it can be read");
    let stays = || {
        let before = content();
        let refused = pts(directory, words);
        assert_eq!(refused.code(), 1, "{words}: {}", refused.stdout);
        assert!(refused.stderr.contains(reason), "{words}: {}, expected {reason}", refused.stderr);
        content() == before
    };
    // The kernel may write to a mounted file system, but not in each of several runs.
    let mounts = std::fs::read_to_string("/proc/mounts").expect("mounts");
    let is_mounted = mounts.lines().any(|line| line.split(' ').next() == target.to_str());
    let tries = if is_mounted { 5 } else { 1 };
    assert!((0..tries).any(|_| stays()), "{words}: the target has changed");
    let left: Vec<String> = std::fs::read_dir(directory)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".pts.jsonl"))
        .collect();
    assert!(left.is_empty(), "{words}: {left:?} was begun");
}

#[test]
fn devices_in_use_and_not_named_twice_stay_as_they_are() {
    fathom_only!();
    require!(skip::tool("mkfs.ext4"));
    let directory = scratch();
    let (device, other) = (require!(LoopDevice::new(24 * MIB)), require!(LoopDevice::new(16 * MIB)));
    let words = format!("iops {} {SHORT}", on(&device));
    let refused = |words: &str, reason: &str| expect_refused(directory.path(), device.path(), words, reason);
    let plain = format!("iops {} {SHORT}", device.text());
    refused(&plain, "name it again: --destroy=");
    refused(&format!("{plain} --destroy={}", other.text()), "is another device");
    refused(&format!("{plain} --destroy={} --size=16m", device.text()), "leave out --size");
    refused(&format!("{words} --hosts=localhost"), "leave out --hosts");
    refused(&format!("{words} --threads=32"), "has room for 24 at most");
    require!(run("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device.text()]));
    refused(&plain, "it is not empty (ext2, ext3 or ext4 file system), and its whole content will be lost");
    require!(in_use(&device, |reason| refused(&words, reason)));
    let dry = pts(directory.path(), &format!("{words} --dry-run"));
    assert_eq!(dry.code(), 0, "{}", dry.stderr);
    assert!(dry.stdout.contains("all content: ext2, ext3 or ext4 file system"), "{}", dry.stdout);
    require!(in_use_as_swap(&device, || pts(directory.path(), &words)));
}

#[test]
fn a_disk_with_partitions_is_destroyed_only_if_that_is_meant() {
    fathom_only!();
    require!(skip::root().and_then(|()| skip::tool("sfdisk")));
    let directory = scratch();
    let image = file_of(directory.path(), "disk", 32 * MIB);
    let script = directory.path().join("table");
    std::fs::write(&script, "label: gpt\nstart=2048, size=16384\nstart=18432, size=16384\n")
        .expect("written");
    require!(run("sh", &["-c", &format!("sfdisk -q {} < {}", image.display(), script.display())]));
    let disk = require!(LoopDevice::with_partitions(&image));
    let part = format!("{}p1", disk.text());
    if !Path::new(&part).exists() {
        skip!("this kernel makes no partitions of loop devices");
    }
    let holds = format!(
        "it is not empty (partitions {0}p1 {0}p2; GPT partition table",
        disk.text().trim_start_matches("/dev/")
    );
    expect_refused(directory.path(), disk.path(), &format!("saturation {} {SHORT}", disk.text()), &holds);
    let finished = pts(directory.path(), &format!("saturation {} {SHORT}", on(&disk)));
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    // The purge removed the partition table, and the kernel drops the partition devices.
    let limit = Instant::now() + PATIENCE;
    while Path::new(&part).exists() {
        assert!(Instant::now() < limit, "{part} is still there");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(run("sfdisk", &["--dump", disk.text()]).is_err(), "there is still a table");
}

#[test]
fn tests_that_are_killed_go_on_without_a_step_twice() {
    fathom_only!();
    let directory = scratch();
    let device = require!(LoopDevice::new(16 * MIB));
    let words = format!("latency {} --scale=0.0005 --rounds=5 --output=r.jsonl", on(&device));
    let file = directory.path().join("r.jsonl");
    let mut done = 0;
    for (signal, code) in [("KILL", 137), ("INT", 130), ("KILL", 137), ("TERM", 143)] {
        let resumed = format!("{words} --resume");
        // The first one starts the test, with or without that option.
        let running = start(directory.path(), if done == 0 { &words } else { &resumed });
        wait_for_steps(&file, done + 4);
        running.signal(signal);
        let finished = running.finish();
        assert_eq!(finished.code(), code, "{}", finished.stderr);
        if signal == "INT" {
            assert!(finished.stderr.contains("with --resume continues there"), "{}", finished.stderr);
            assert!(unbroken(&finished.stdout).contains("the test is not finished"), "{}", finished.stdout);
        }
        done = steps(&file).len();
        // A line truncated by a crash.
        let torn = std::fs::read_to_string(&file).expect("a file") + "{\"step\":\"poi";
        std::fs::write(&file, torn).expect("written");
    }
    let plan = lines(&file)[0].clone();
    for (other, what) in [
        (words.clone(), "this file has an unfinished test; resume it with --resume"),
        (
            format!("{words} --resume").replace("0.0005", "0.001"),
            "another test (--scale: 0.0005 there, 0.001 now)",
        ),
        (
            format!("{words} --resume").replace("latency", "throughput"),
            "another test (test: latency there, throughput now",
        ),
    ] {
        let refused = pts(directory.path(), &other);
        assert!(refused.code() == 1 && refused.stderr.contains(what), "{}", refused.stderr);
    }
    let finished = pts(directory.path(), &format!("{words} --resume --format=json"));
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let report = document(&finished.stdout);
    assert!(report["why_not"].to_string().contains("it was interrupted 4 times"), "{}", report["why_not"]);
    let mut wanted = vec!["purge part 0".to_owned()];
    wanted.extend([0, 1].map(|pass| format!("precondition part 0 pass {pass}")));
    wanted.extend(
        (0..5).flat_map(|round| (0..9).map(move |point| format!("point part 0 round {round} point {point}"))),
    );
    assert_eq!(steps(&file), wanted);
    assert_eq!(lines(&file)[0], plan);
    // The test is finished, so the command starts no job.
    let again = pts(directory.path(), &format!("{words} --resume --format=json"));
    assert_eq!((again.code(), again.stdout), (0, finished.stdout));
    let refused = pts(directory.path(), &words);
    assert!(refused.stderr.contains("has the results of a finished test"), "{}", refused.stderr);
}

#[test]
fn files_are_made_for_the_test_and_marked() {
    fathom_only!();
    let directory = scratch();
    let here = directory.path();
    let words = format!("saturation --file=data --size=16m {SHORT}");
    let finished = pts(here, &words);
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(!here.join("data").exists(), "it is removed when the test is finished");
    for part in ["This is not a PTS result: ", "the target is a file", "not required; the amount was written"]
    {
        assert!(unbroken(&finished.stdout).contains(part), "{part}: {}", finished.stdout);
    }
    let page =
        Launch::fathom(here).words("report saturation-data.pts.jsonl -o -").run().expect_clean().stdout;
    for part in ["id=\"part-0-iops\"", "id=\"part-0-latency\"", "id=\"part-0-written\""] {
        assert!(page.contains(part), "{part} is not on the page");
    }
    std::fs::remove_file(here.join("saturation-data.pts.jsonl")).expect("it is there");
    // The file is kept as long as the test can be resumed, and no other file is used in its place.
    let long = words.replace(SHORT, "");
    let running = start(here, &long);
    wait_for_steps(&here.join("saturation-data.pts.jsonl"), 1);
    running.signal("INT");
    assert_eq!(running.finish().code(), 130);
    let length = std::fs::metadata(here.join("data")).map(|found| found.len());
    assert_eq!(length.ok(), Some(16 * MIB));
    std::fs::rename(here.join("data"), here.join("kept")).expect("renamed");
    let gone = pts(here, &format!("{long} --resume"));
    assert!(gone.stderr.contains("the file of the unfinished test no longer exists"), "{}", gone.stderr);
    let other = file_of(here, "data", 16 * MIB);
    let before = std::fs::read(&other).expect("it can be read");
    let refused = pts(here, &format!("{long} --resume"));
    assert_eq!(refused.code(), 1, "{}", refused.stderr);
    assert!(std::fs::read(&other).expect("it can be read") == before);
    std::fs::remove_file(here.join("saturation-data.pts.jsonl")).expect("it is there");
    // An existing file must be named again, and is kept.
    expect_refused(here, &other, &format!("saturation --file=data {SHORT}"), "name it again: --destroy=data");
    expect_refused(here, &other, &format!("saturation --file=data --size=16m {SHORT}"), "leave out --size");
    expect_refused(here, &other, &format!("saturation --file=none --size=900t {SHORT}"), "more, but");
    expect_refused(
        here,
        &other,
        &format!("saturation --file=none --size=15m {SHORT}"),
        "too small to measure",
    );
    expect_refused(here, &other, &format!("saturation --file=none {SHORT}"), "--size=SIZE creates one");
    expect_refused(
        here,
        &other,
        &format!("saturation --file=/dev/none --size=16m {SHORT}"),
        "there is no such device",
    );
    expect_refused(here, &other, &format!("saturation --file=/dev/null {SHORT}"), "it is not a regular file");
    expect_refused(here, &other, &format!("saturation data {SHORT}"), "a file is named with --file=PATH");
    let finished = pts(here, &format!("saturation --file=data --destroy=data {SHORT}"));
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(other.exists(), "it was there before");
}

#[test]
fn two_block_sizes_and_two_threads() {
    fathom_only!();
    let directory = scratch();
    let words = format!("throughput --file=data --size=17m --threads=2 {SHORT} --rounds=1 --format=csv");
    let finished = pts(directory.path(), &words);
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    let rows: Vec<Vec<&str>> =
        finished.stdout.lines().skip(1).map(|line| line.split(',').take(4).collect()).collect();
    let row = |part: &'static str, block: &'static str, mix: &'static str| vec![part, "1", block, mix];
    assert_eq!(
        rows,
        [
            row("128 KiB", "131072", "100"),
            row("128 KiB", "131072", "0"),
            row("1 MiB", "1048576", "100"),
            row("1 MiB", "1048576", "0"),
        ]
    );
    assert!(finished.stderr.contains("1 MiB: no steady state in 1 round"), "{}", finished.stderr);
    let page = Launch::fathom(directory.path()).words("report throughput-data.pts.jsonl -o -").run();
    assert!(page.expect_clean().stdout.contains("id=\"all-throughput\""));
}

#[test]
fn sectors_of_4_kib_leave_half_a_kib_out() {
    fathom_only!();
    require!(skip::root());
    let directory = scratch();
    let image = file_of(directory.path(), "disk", 16 * MIB);
    let device = require!(LoopDevice::with_sectors(&image, 4096));
    let finished =
        pts(directory.path(), &format!("iops {} --scale=0.00016 --rounds=1 --format=json", on(&device)));
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert!(
        finished.stderr.contains("blocks of 512 B: smaller than a sector of the device"),
        "{}",
        finished.stderr
    );
    let report = document(&finished.stdout);
    let points = report["parts"][0]["points"].as_array().expect("points");
    assert_eq!(points.len(), 49);
    assert!(points.iter().all(|point| point["iops"].as_f64() > Some(0.0)), "{report:#}");
    assert!(report["why_not"].to_string().contains("no steady state in 1 round"), "{}", report["why_not"]);
    assert!(report["remarks"].to_string().contains("Blocks of 512 B are left out"), "{}", report["remarks"]);
}

#[test]
fn a_device_that_goes_away_ends_the_test_with_its_steps_kept() {
    fathom_only!();
    require!(skip::tool("dmsetup"));
    let directory = scratch();
    let device = require!(LoopDevice::new(16 * MIB));
    let name = format!("fathom-pts-{}", std::process::id());
    let sectors = 16 * MIB / 512;
    let table = format!("0 {sectors} linear {} 0", device.text());
    require!(run("dmsetup", &["create", &name, "--table", &table]));
    let mapped = format!("/dev/mapper/{name}");
    let words = format!("latency {mapped} --destroy={mapped} --scale=0.002 --rounds=5 --output=r.jsonl");
    let running = start(directory.path(), &words);
    let file = directory.path().join("r.jsonl");
    wait_for_steps(&file, 5);
    let replaced =
        ["dmsetup load NAME --table TABLE", "dmsetup suspend --noflush NAME", "dmsetup resume NAME"].map(
            |line| {
                let words: Vec<&str> =
                    line.split(' ').skip(1).map(|word| if word == "NAME" { &name } else { word }).collect();
                let error = format!("0 {sectors} error");
                let words: Vec<&str> =
                    words.into_iter().map(|word| if word == "TABLE" { &error } else { word }).collect();
                run("dmsetup", &words)
            },
        );
    let finished = running.finish();
    let repaired = ["load", "suspend", "resume"].map(|word| match word {
        "load" => run("dmsetup", &[word, &name, "--table", &table]),
        _ => run("dmsetup", &[word, &name]),
    });
    let resumed = pts(directory.path(), &format!("{words} --resume"));
    run("dmsetup", &["remove", "--retry", &name]).expect("it can be removed");
    assert!(replaced.iter().chain(&repaired).all(Result::is_ok), "{replaced:?} {repaired:?}");
    assert_eq!(finished.code(), 1, "{}", finished.stderr);
    let told = finished.stderr.lines().last().unwrap_or_default();
    assert!(told.contains(", round ") && told.contains("Input/output error"), "{}", finished.stderr);
    assert!(told.contains("finished steps saved in r.jsonl, where --resume continues"), "{told}");
    assert_eq!(resumed.code(), 0, "{}", resumed.stderr);
    assert_eq!(steps(&file).len(), 3 + 45);
}

#[test]
fn a_file_that_fills_its_disk_is_found_out_before_anything_is_measured() {
    fathom_only!();
    let directory = scratch();
    let disk = require!(Mounted::memory(20 * MIB));
    let file = disk.path().join("data");
    let words =
        format!("throughput --file={} --size=16m {SHORT} --rounds=1 --output=r.jsonl", file.display());
    let finished = pts(directory.path(), &words);
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    // The kernel frees the blocks when it has closed the last descriptor.
    let limit = Instant::now() + PATIENCE;
    while std::fs::write(disk.path().join("other"), vec![1; 8 * MIB as usize]).is_err() {
        assert!(Instant::now() < limit, "the removed file still takes its space");
        std::thread::sleep(Duration::from_millis(10));
    }
    let full = pts(directory.path(), &words.replace("r.jsonl", "s.jsonl"));
    assert_eq!(full.code(), 1, "{}", full.stderr);
    assert!(full.stderr.contains("it needs 16 MiB more, but "), "{}", full.stderr);
    assert!(!file.exists() && !directory.path().join("s.jsonl").exists());
}
