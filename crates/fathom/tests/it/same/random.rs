//! Random jobs from the table of options: combinations that the tables do not foresee must also behave like fio.
//!
//! `COMPARE_SEED` reproduces the jobs of a run. `COMPARE_SECONDS` sets the duration; without it a few dozen
//! jobs run. A job that differs is reduced word by word until no word can be removed.

use super::case::Case;
use super::chance::{Chance, seeds};
use super::difference::Difference;
use super::known;
use super::observed::KILLED;
use fathom_spec::definition::{Kind, OptionDef, Status};
use fathom_spec::registry;
use std::path::Path;
use std::time::Instant;

/// Number of jobs without a time limit.
const JOBS: u64 = 60;
/// Exit statuses from this value indicate a signal.
const SIGNALLED: i32 = 129;
/// Maximum number of findings before a run ends.
const MOST_FINDINGS: usize = 25;

/// Options that random jobs do not use, with the reason.
const LEFT_OUT: &[(&[&str], &str)] = &[
    (
        &["name", "filename", "directory", "opendir", "ioengine", "rw", "profile", "unique_filename"],
        "chosen below, or part of the frame",
    ),
    (
        &["exec_prerun", "exec_postrun", "uid", "gid", "cgroup", "cgroup_weight", "cgroup_nodelete"],
        "they change what the programs may do",
    ),
    (
        &[
            "read_iolog",
            "merge_blktrace_file",
            "merge_blktrace_scalars",
            "merge_blktrace_iters",
            "replay_redirect",
            "read_iolog_chunked",
        ],
        "they need a recording",
    ),
    (
        &["verify_state_load", "verify_ledger", "verify_header_format"],
        "they need what an earlier run has left, or are ours alone",
    ),
    (
        &[
            "end_syncfs",
            "ramp_size",
            "random_sequence_stride",
            "verify_policy",
            "write_zone_remainder",
            "comm",
        ],
        "newer than the reference",
    ),
    (
        &["sprandom", "spr_op", "spr_cs", "spr_num_regions"],
        "no release of the reference ends such a job on small files",
    ),
    (&["block_error_percentiles"], "the reference crashes"),
    (
        &["ioscheduler", "numa_cpu_nodes", "numa_mem_policy", "fill_device", "size"],
        "they concern the machine, or the frame",
    ),
    (
        &["host", "offset_increment_over_hosts", "split", "host_rotation"],
        "they are ours alone, for runs over hosts",
    ),
    (
        &[
            "open_loop",
            "open_loop_spin",
            "replay_map",
            "replay_dependencies",
            "tree_files",
            "tree_width",
            "tree_depth",
        ],
        "they are ours alone",
    ),
    (&["wait_for", "flow", "flow_id", "flow_sleep", "latency_run"], "they are about several jobs"),
    (
        &[
            "cpumask",
            "cpus_allowed",
            "gtod_cpu",
            "nice",
            "log_compression_cpus",
            "verify_async_cpus",
            "num_range",
        ],
        "they have separate rows",
    ),
    (&["significant_figures", "kb_base", "description", "random_generator"], "they have separate rows"),
];

/// Values for options with their own grammar, or whose full range would take too long.
const VALUES: &[(&str, &[&str])] = &[
    ("bs", &["512", "1k", "4k", "8k", "16k", "3k", "4k,8k", "64k"]),
    ("bsrange", &["4k-16k", "512-8k", "4k-8k,8k-16k", "1k-9k"]),
    ("bssplit", &["4k/50:8k/50", "4k/10:16k/:32k/40", "4k/30:8k/70,16k/100"]),
    ("ba", &["512", "4k", "8k", "16k"]),
    ("filesize", &["32k", "64k", "100k", "256k", "16k-64k"]),
    ("io_size", &["64k", "100k", "512k", "50%", "200%"]),
    ("offset", &["4k", "64k", "10k", "25%", "50%"]),
    ("offset_align", &["4k", "8k"]),
    ("offset_increment", &["4k", "64k", "10%"]),
    ("zonesize", &["16k", "32k", "64k"]),
    ("zonerange", &["32k", "64k", "128k"]),
    ("zoneskip", &["0", "16k", "64k"]),
    ("zonecapacity", &["16k", "32k"]),
    ("zonemode", &["none", "strided"]),
    ("number_ios", &["1", "10", "33", "100"]),
    ("nrfiles", &["1", "2", "3", "5"]),
    ("numjobs", &["1", "2", "3"]),
    ("loops", &["1", "2", "3"]),
    ("iodepth", &["1", "2", "4", "16", "100"]),
    ("rate", &["1m", "4m", "2m,1m", ",3m"]),
    ("rate_min", &["1", "1k"]),
    ("rate_iops", &["100", "400", "200,100"]),
    ("rate_iops_min", &["1"]),
    ("runtime", &["1", "300ms"]),
    ("ramp_time", &["100ms", "0"]),
    ("startdelay", &["100ms", "0"]),
    ("thinktime", &["100", "500us", "1ms"]),
    ("thinktime_spin", &["50", "100us"]),
    ("thinktime_iotime", &["1ms", "100us"]),
    ("max_latency", &["10s", "1000s"]),
    ("latency_target", &["100ms", "10s"]),
    ("latency_window", &["50ms"]),
    ("rate_process", &["linear", "poisson"]),
    ("steadystate", &["iops:50%", "bw:20%", "iops_slope:30%"]),
    ("steadystate_duration", &["1"]),
    ("steadystate_ramp_time", &["0", "1"]),
    (
        "random_distribution",
        &["random", "zipf:1.1", "zipf:0.7:0.3", "pareto:0.3", "normal:15", "zoned:50/20:50/80"],
    ),
    (
        "file_service_type",
        &["roundrobin", "sequential", "random", "roundrobin:3", "sequential:2", "zipf:1.2"],
    ),
    ("percentile_list", &["50", "1:50:99", "50:99.9:99.99"]),
    ("latency_percentile", &["50", "99"]),
    ("buffer_pattern", &["0xdeadbeef", "\"abc\"", "12345", "0xff\"x\"-7", "%o"]),
    ("verify_pattern", &["0xdeadbeef", "%o", "\"abcd\"%o"]),
    (
        "verify",
        &[
            "md5", "crc32c", "crc64", "crc16", "crc7", "xxhash", "sha256", "sha512", "sha1", "sha3-256",
            "crc32", "null",
        ],
    ),
    ("verify_interval", &["512", "1k", "4k"]),
    ("verify_offset", &["0", "64", "256"]),
    ("verify_backlog", &["1", "8", "20"]),
    ("ignore_error", &["EIO", "ENOSPC,EIO", "5"]),
    ("write_bw_log", &["l", ""]),
    ("write_iops_log", &["l", "m"]),
    ("write_lat_log", &["l", "m"]),
    ("write_hist_log", &["h"]),
    ("log_avg_msec", &["0", "100"]),
    ("log_entries", &["1024"]),
    ("log_compression", &["4096"]),
    ("log_hist_msec", &["0", "100"]),
    ("mem", &["malloc", "mmap", "shm", "mmapshared"]),
    ("hugepage-size", &["2m"]),
    ("lockmem", &["0", "64k"]),
    ("fallocate", &["none", "posix", "keep", "truncate", "native"]),
    ("clocksource", &["clock_gettime", "gettimeofday", "cpu"]),
    ("filetype", &["file"]),
    ("filename_format", &["$jobname.$filenum", "f$jobnum-$filenum", "$clientuid.$jobname"]),
    ("sync_file_range", &["write:8", "wait_before,write:4"]),
    ("continue_on_error", &["none", "read", "write", "io", "verify", "all"]),
    ("replay_skip", &["read", "write"]),
    ("steadystate_check_interval", &["1"]),
    ("bwavgtime", &["100", "500"]),
    ("iopsavgtime", &["100", "500"]),
    ("job_start_clock_id", &["0", "1"]),
    ("log_alternate_epoch_clock_id", &["0", "1"]),
    ("prioclass", &["0", "2"]),
    ("prio", &["0", "4", "7"]),
    ("priohint", &["0"]),
    ("verify_async", &["0", "2"]),
    ("dedupe_mode", &["repeat", "working_set"]),
    ("zone_reset_threshold", &["0.5"]),
    ("zone_reset_frequency", &["0.5"]),
    ("plids", &["0", "1,2"]),
    ("dp_scheme", &["nosuch"]),
    ("write_iolog", &["trace"]),
];

/// Numbers for all other options that take one.
const NUMBERS: [&str; 9] = ["0", "1", "2", "3", "4", "8", "16", "50", "100"];
const SIZES: [&str; 6] = ["0", "1", "4k", "16k", "64k", "100k"];
/// Invalid values.
const WRONG: [&str; 5] = ["x", "-1", "", "1.5", "99999999999999999999"];

const DIRECTIONS: [&str; 14] = [
    "read",
    "write",
    "randread",
    "randwrite",
    "rw",
    "randrw",
    "trim",
    "randtrim",
    "trimwrite",
    "randtrimwrite",
    "read:8k",
    "write:4k",
    "randread:4",
    "randwrite:2",
];
const ENGINES: [&str; 10] =
    ["", "psync", "sync", "libaio", "io_uring", "null", "mmap", "posixaio", "pvsync", "pvsync2"];
const FILES: [&str; 6] =
    ["--filename=data", "--filename=data", "--filename=present", "--filename=x:y", "--directory=.", ""];

/// One random job, as words.
fn job(chance: &mut Chance, options: &[&'static OptionDef]) -> Vec<String> {
    let mut words = vec!["--name=a".to_owned()];
    let mut add = |word: String| words.extend((!word.is_empty()).then_some(word));
    add(chance.one(&FILES).to_owned());
    add(format!("--size={}", chance.one(&["64k", "128k", "256k", "100k", "130k"])));
    add(format!("--bs={}", chance.one(&["4k", "4k", "8k", "1k", "16k"])));
    let direction = chance.one(&DIRECTIONS);
    add(format!("--rw={direction}"));
    // With a named generator, the order is exactly fio's. fio refuses trims of files.
    add("--random_generator=tausworthe".to_owned());
    let engine = if direction.contains("trim") { "null" } else { chance.one(&ENGINES) };
    add(if engine.is_empty() { String::new() } else { format!("--ioengine={engine}") });
    for _ in 0..1 + chance.below(5) {
        let option = options[chance.below(options.len())];
        add(word(chance, option));
    }
    words
}

/// An option with a value.
fn word(chance: &mut Chance, option: &OptionDef) -> String {
    let name = option.name;
    if option.kind == Kind::Flag && chance.percent(70) {
        return format!("--{name}");
    }
    if chance.percent(3) {
        return format!("--{name}={}", chance.one(&WRONG));
    }
    let own = VALUES.iter().find(|(own, _)| *own == name).map(|(_, values)| *values);
    let value = match (own, option.kind) {
        (Some(values), _) => chance.one(values).to_owned(),
        (None, Kind::Bool | Kind::Flag) => chance.one(&["0", "1"]).to_owned(),
        (None, Kind::Choice) => {
            let choices: Vec<&str> = option.choices.iter().map(|choice| choice.name).collect();
            chance.one(&choices).to_owned()
        }
        (None, Kind::Size) => chance.one(&SIZES).to_owned(),
        (None, _) => chance.one(&within_bounds(option)).to_owned(),
    };
    format!("--{name}={value}")
}

fn within_bounds(option: &OptionDef) -> Vec<&'static str> {
    let fits = |text: &&str| {
        let number: f64 = text.parse().unwrap_or(0.0);
        option.bounds.min.is_none_or(|min| number >= min) && option.bounds.max.is_none_or(|max| number <= max)
    };
    NUMBERS.into_iter().filter(fits).collect()
}

/// Options that random jobs use.
fn options() -> Vec<&'static OptionDef> {
    let is_left_out = |name: &str| LEFT_OUT.iter().any(|(names, _)| names.contains(&name));
    registry::job_options()
        .filter(|option| option.status == Status::Built && !is_left_out(option.name))
        .filter(|option| option.kind != Kind::Choice || !option.choices.is_empty())
        .collect()
}

/// Undeclared differences of a job. `None` if a signal ended fio, or fio hung (3.41 sometimes does with
/// `posixaio`): that proves nothing about fathom.
fn news(words: &[String], reference: &Path) -> Option<Vec<Difference>> {
    let text = words.join(" ");
    let found = Case { words: &text, job_file: "" }.compare(reference);
    if found.iter().any(|one| one.place == "exit" && says_signal(&one.text)) {
        return None;
    }
    Some(found.into_iter().filter(|one| !known::is_declared(&text, &one.place)).collect())
}

/// True if a difference in exit status shows that a signal ended fio or one of its jobs.
fn says_signal(text: &str) -> bool {
    let status = text.strip_prefix("fio: ").and_then(|rest| rest.split(',').next());
    status
        .and_then(|status| status.parse().ok())
        .is_some_and(|status: i32| (SIGNALLED..=KILLED).contains(&status))
}

/// Removes every word that the difference does not depend on.
fn smaller(mut words: Vec<String>, place: &str, reference: &Path) -> Vec<String> {
    let mut at = words.len();
    while at > 1 {
        at -= 1;
        let mut fewer = words.clone();
        fewer.remove(at);
        if news(&fewer, reference).iter().flatten().any(|one| one.place == place) {
            words = fewer;
        }
    }
    words
}

#[test]
fn random_jobs() {
    let reference = require!(super::reference());
    let options = options();
    let (begun, mut jobs, mut unended, mut findings) = (Instant::now(), 0, 0, Vec::new());
    for seed in seeds(JOBS) {
        let words = job(&mut Chance::new(seed), &options);
        jobs += 1;
        let found = news(&words, &reference);
        unended += u32::from(found.is_none());
        if let Some(one) = found.unwrap_or_default().first() {
            let small = smaller(words, &one.place, &reference);
            let told = news(&small, &reference).unwrap_or_default();
            let one = told.iter().find(|other| other.place == one.place).unwrap_or(one);
            let finding =
                format!("  COMPARE_SEED={seed}: {}\n    {}: {}", small.join(" "), one.place, one.text);
            println!("{finding}");
            findings.push(finding);
        }
        if findings.len() >= MOST_FINDINGS {
            break;
        }
    }
    println!(
        "{jobs} random jobs in {} s, of which the reference did not come to the end of {unended}",
        begun.elapsed().as_secs()
    );
    assert!(findings.is_empty(), "{} of {jobs} random jobs:\n{}", findings.len(), findings.join("\n"));
}

#[test]
fn every_option_left_out_or_given_values_is_one_of_the_table() {
    let names =
        LEFT_OUT.iter().flat_map(|(names, _)| names.iter()).chain(VALUES.iter().map(|(name, _)| name));
    for name in names {
        assert!(registry::find_job_option(name).is_some_and(|option| option.name == *name), "{name}");
    }
    let lacks_values = |option: &&OptionDef| {
        let is_text = matches!(option.kind, Kind::Text | Kind::OptionalText | Kind::Range | Kind::FloatList);
        let has_values = VALUES.iter().any(|(name, _)| *name == option.name);
        !has_values && (is_text || within_bounds(option).is_empty())
    };
    let lacking: Vec<&str> = options().into_iter().filter(lacks_values).map(|option| option.name).collect();
    assert!(lacking.is_empty(), "without values to choose from: {lacking:?}");
}
