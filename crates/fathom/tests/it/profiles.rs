//! Built-in workloads.

use crate::support::program::Launch;
use crate::support::{KIB, json, scratch};

#[test]
fn tiobench_runs_its_four_phases() {
    let directory = scratch();
    std::fs::create_dir(directory.path().join("sub")).expect("a directory");
    let words =
        "--output-format=json --profile=tiobench --size=256k --block=16k --numruns=2 --threads=2 --dir=sub";
    let finished = Launch::fathom(directory.path()).words(words).run();
    // Direct I/O is part of the profile, and not every file system has it.
    if finished.stderr.contains("Invalid argument") {
        skip!("the temporary directory knows no direct I/O");
    }
    let document = json::document(&finished.expect_clean().stdout);
    let jobs = document["jobs"].as_array().expect("jobs");
    let names: Vec<&str> = jobs.iter().filter_map(|job| job["jobname"].as_str()).collect();
    assert_eq!(names, [["seqwrite"; 2], ["randwrite"; 2], ["seqread"; 2], ["randread"; 2]].concat());
    for (index, job) in jobs.iter().enumerate() {
        let (direction, other) = if index < 4 { ("write", "read") } else { ("read", "write") };
        assert_eq!(json::integer(job, &format!("{direction}/io_bytes")), 512 * KIB);
        assert_eq!(json::integer(job, &format!("{direction}/total_ios")), 32);
        assert_eq!(json::integer(job, &format!("{other}/total_ios")), 0);
        assert_eq!(json::integer(job, "groupid"), index as u64 / 2);
    }
    for file in 1..=4 {
        let path = directory.path().join(format!("sub/.fio.tio.{file}"));
        assert_eq!(std::fs::metadata(path).expect("laid out").len(), 64 * KIB);
    }
}

#[test]
fn the_jobs_of_tiobench_are_those_of_fio() {
    let directory = scratch();
    let finished = Launch::fathom(directory.path()).words("--profile=tiobench --size=256k").run();
    let jobs: Vec<&str> = finished.stdout.lines().filter(|line| line.contains("(g=")).collect();
    // As fio prints them.
    let line = |name: &str, group: u32, mode: &str| {
        format!(
            "{name}: (g={group}): rw={mode}, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=sync, iodepth=1"
        )
    };
    let expected = [
        line("seqwrite", 0, "write"),
        line("randwrite", 1, "randwrite"),
        line("seqread", 2, "read"),
        line("randread", 3, "randread"),
    ];
    assert_eq!(jobs, expected);
    assert!(finished.stdout.contains("Starting 4 threads\n"), "{}", finished.stdout);
}

#[test]
fn what_a_profile_is_not_is_told() {
    let directory = scratch();
    let lines = |words: &str| Launch::fathom(directory.path()).words(words).run();
    assert!(lines("--profile=none").stderr.contains("fio: profile 'none' not found"));
    let refused = lines("--profile=act --device-names=/dev/null");
    assert_eq!(refused.code(), 1);
    assert!(refused.stderr.contains("--profile=act is known but not built yet"), "{}", refused.stderr);
    let idle = lines("--name=a --ioengine=null --size=4k --threads=3");
    assert!(
        idle.stdout.contains("fathom: threads has no effect without --profile=tiobench"),
        "{}",
        idle.stdout
    );
}
