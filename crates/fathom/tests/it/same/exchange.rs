//! One program verifies what the other has written, with the same arguments.
//!
//! A separate verification repeats the sequence of writes, so it succeeds only if both programs issue the
//! same I/O and write the same headers. Jobs in which fio rejects its own data prove nothing and are not
//! counted.

use super::chance::{Chance, seeds};
use crate::support::program::{self, Launch};
use crate::support::{json, scratch};
use std::path::Path;
use std::time::Duration;

/// Time limit of a run.
const PATIENCE: Duration = Duration::from_secs(60);
/// Number of jobs without a time limit.
const JOBS: u64 = 30;

const KINDS: [&str; 12] = [
    "md5", "crc64", "crc32c", "crc32", "crc16", "crc7", "xxhash", "sha1", "sha256", "sha512", "sha3-256",
    "sha3-512",
];
const SIZES: [&str; 9] = [
    "--bs=4k",
    "--bs=4k",
    "--bs=512",
    "--bs=16k",
    "--bs=3k",
    "--bsrange=4k-16k",
    "--bsrange=512-8k",
    "--bssplit=4k/50:8k/50",
    "--bs=8k --verify_interval=1k",
];
const MODES: [&str; 8] =
    ["write", "randwrite", "randwrite", "rw", "randrw", "write:8k", "randwrite:4", "randtrimwrite"];
/// Options, each of which is present in some of the jobs.
const SOMETIMES: [&[&str]; 11] = [
    &["--norandommap"],
    &["--loops=2", "--loops=3"],
    &["--io_size=100k", "--io_size=512k", "--io_size=1m"],
    &["--number_ios=20", "--number_ios=100"],
    &[
        "--verify_backlog=4",
        "--verify_backlog=8 --verify_backlog_batch=3",
        "--verify_backlog=3 --verify_backlog_batch=8",
    ],
    &[
        "--random_distribution=zipf:1.1",
        "--random_distribution=pareto:0.3",
        "--random_distribution=normal:20",
        "--random_distribution=zoned:60/20:40/80",
    ],
    &["--random_generator=lfsr", "--random_generator=tausworthe64", "--percentage_random=50"],
    &["--offset=64k", "--filesize=512k"],
    &["--ioengine=libaio --iodepth=8", "--ioengine=io_uring --iodepth=16", "--ioengine=pvsync2"],
    &["--randseed=7", "--randseed=123456"],
    &["--fsync=8", "--verify_offset=64", "--verify_async=2", "--direct=1"],
];

/// A random verify job.
fn job(chance: &mut Chance) -> String {
    let files = chance.one(&[
        "--filename=data",
        "--filename=data",
        "--filename=data",
        "--filename=x:y",
        "--nrfiles=3",
    ]);
    let size = chance.one(&["256k", "128k", "100k", "1m"]);
    let mut words = vec![format!(
        "--name=a {files} --size={size} --rw={} --verify={} {}",
        chance.one(&MODES),
        chance.one(&KINDS),
        chance.one(&SIZES)
    )];
    for choices in SOMETIMES {
        if chance.percent(15) {
            words.push(chance.one(choices).to_owned());
        }
    }
    words.join(" ")
}

/// Jobs that fio ends before the final partial block, while fathom includes it.
const ENDS_AT_PARTS: [&str; 5] =
    ["--rw=randwrite:4", "--percentage_random=", "=zipf:", "=pareto:", "=normal:"];
/// Regions that end with a partial block.
const HAS_PARTS: [&str; 6] =
    ["--size=100k", "--nrfiles=3", "--bs=3k", "--bsrange=", "--bssplit=", "--offset="];

/// True if fio ends the job early.
fn ends_early(words: &str) -> bool {
    let has_one_of = |list: &[&str]| list.iter().any(|word| words.contains(word));
    has_one_of(&ENDS_AT_PARTS) && has_one_of(&HAS_PARTS)
}

/// Result of writing with one program and verifying with the other.
struct Exchange {
    /// Number of writes; `None` if the writer failed.
    writes: Option<u64>,
    /// Complaints of the check, if any.
    complaint: Option<String>,
}

/// One program writes and the other checks.
fn exchange(writer: &Path, checker: &Path, words: &str) -> Exchange {
    let directory = scratch();
    let run = |program: &Path, more: &str| {
        let launch =
            Launch::of(program, directory.path()).words(&format!("{words} --output-format=json {more}"));
        launch.timeout(PATIENCE).start().finish_in_time()
    };
    let complain = |text: String| Exchange { writes: None, complaint: Some(text) };
    let written = match run(writer, "--do_verify=0") {
        Ok(written) if written.code() == 0 => written,
        Ok(written) => {
            return complain(format!("the writer ended with {}: {}", written.code(), written.stderr));
        }
        Err(_) => return complain("the writer does not end".to_owned()),
    };
    let writes = Some(json::total(&json::document(&written.stdout), "write/total_ios"));
    let Ok(checked) = run(checker, "--verify_only=1") else {
        return Exchange { writes, complaint: Some("the check does not end".to_owned()) };
    };
    let is_content = checked.code() == 0 && !checked.stderr.contains("verify:");
    let complaint =
        (!is_content).then(|| format!("the check ended with {}: {}", checked.code(), checked.stderr));
    Exchange { writes, complaint }
}

/// Outcome of a job.
enum Outcome {
    Agreed,
    /// fio rejects its own data.
    Unsound,
    /// The programs made different numbers of writes, which the comparison of jobs covers.
    Shorter,
    Wrong(String),
}

fn outcome(reference: &Path, words: &str) -> Outcome {
    let ours = program::path();
    let (theirs, own) = (exchange(reference, &ours, words), exchange(&ours, reference, words));
    let told = theirs.complaint.map(|text| format!("fathom of fio's data: {text}"));
    let Some(text) = told.or(own.complaint.map(|text| format!("fio of fathom's data: {text}"))) else {
        return Outcome::Agreed;
    };
    if exchange(reference, reference, words).complaint.is_some() {
        return Outcome::Unsound;
    }
    if theirs.writes != own.writes && theirs.writes.is_some() && own.writes.is_some() {
        return Outcome::Shorter;
    }
    Outcome::Wrong(text.lines().take(2).collect::<Vec<&str>>().join("\n    "))
}

#[test]
fn data_goes_both_ways() {
    let reference = require!(super::reference());
    let (mut jobs, mut unsound, mut shorter, mut findings) = (0, 0, 0, Vec::new());
    let words_of = |seed| (seed, job(&mut Chance::new(seed)));
    for (seed, words) in seeds(JOBS).map(words_of).filter(|(_, words)| !ends_early(words)) {
        jobs += 1;
        match outcome(&reference, &words) {
            Outcome::Agreed => {}
            Outcome::Unsound => unsound += 1,
            Outcome::Shorter => shorter += 1,
            Outcome::Wrong(text) => {
                let finding = format!("  COMPARE_SEED={seed}: {words}\n    {text}");
                println!("{finding}");
                findings.push(finding);
            }
        }
    }
    println!(
        "{jobs} random verify jobs; fio calls its own data wrong in {unsound}, and one makes fewer writes in {shorter}"
    );
    assert!(findings.is_empty(), "{} of {jobs} random verify jobs:\n{}", findings.len(), findings.join("\n"));
}
