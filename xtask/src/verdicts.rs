//! `verdicts`: makes ordinary runs of many kinds and counts their verdicts. Nothing is amiss with the runs,
//! so a finding of severity *wrong* is a false alarm.

use crate::chance::Chance;
use crate::soak::Program;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Number of false alarms of severity *wrong* per hundred runs that is too many.
const MOST_WRONG_PERCENT: f64 = 1.0;

struct Settings {
    runs: u64,
    seed: u64,
    program: String,
    directory: String,
    /// Number of sentences printed for each kind of doubt, to be checked against the behaviour of the machine.
    told: usize,
}

/// Makes the runs. If too many have the verdict *wrong*, the error names them.
pub(crate) fn run(repository: &Path, options: &[String]) -> Result<(), String> {
    let settings = settings(options)?;
    let program = Program::new(&repository.join(&settings.program))?;
    let scratch = tempfile::Builder::new()
        .prefix("fathom-verdicts-")
        .tempdir_in(&settings.directory)
        .map_err(|error| format!("verdicts: {}: {error}", settings.directory))?;
    println!("verdicts: {} runs, seed {}, {}", settings.runs, settings.seed, program.path().display());
    let mut counts = BTreeMap::<String, u64>::new();
    let mut doubts = BTreeMap::<String, Vec<String>>::new();
    let (mut wrong, mut without_doubts) = (Vec::new(), 0);
    for number in 0..settings.runs {
        let words = job(&mut Chance::new(settings.seed.wrapping_add(number)));
        let findings = findings_of(&program, scratch.path(), &words)?;
        let is = |severity: &str| findings.iter().any(|finding| finding["severity"] == severity);
        if is("wrong") {
            wrong.push(format!("  {words}\n    {}", Value::from(findings.clone())));
        } else if !is("doubtful") {
            without_doubts += 1;
        }
        for finding in &findings {
            let word = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
            *counts.entry(format!("{} {}", word("severity"), word("code"))).or_default() += 1;
            if finding["severity"] == "doubtful" {
                doubts.entry(word("code")).or_default().push(format!("  {words}\n    {}", word("text")));
            }
        }
    }
    println!("verdicts: {} of {} runs have no doubts; runs with a finding:", without_doubts, settings.runs);
    counts.iter().for_each(|(what, count)| println!("  {count:>6} {what}"));
    for (code, told) in doubts.iter().filter(|_| settings.told > 0) {
        println!("{code}:");
        told.iter().take(settings.told).for_each(|line| println!("{line}"));
    }
    let share = 100.0 * wrong.len() as f64 / settings.runs.max(1) as f64;
    println!("verdicts: {} runs ({share:.1} %) are called wrong", wrong.len());
    match share >= MOST_WRONG_PERCENT {
        true => Err(format!("verdicts: false alarms:\n{}", wrong.join("\n"))),
        false => Ok(()),
    }
}

fn settings(options: &[String]) -> Result<Settings, String> {
    let mut settings = Settings {
        runs: 200,
        seed: 1,
        program: "target/release/fathom".to_owned(),
        directory: std::env::temp_dir().display().to_string(),
        told: 0,
    };
    for option in options {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let number =
            || value.parse::<u64>().map_err(|_| format!("verdicts: {name} wants a number, not \"{value}\""));
        match name {
            "--runs" => settings.runs = number()?,
            "--seed" => settings.seed = number()?,
            "--told" => settings.told = number()? as usize,
            "--program" => settings.program = value.to_owned(),
            "--directory" => settings.directory = value.to_owned(),
            _ => return Err(format!("verdicts: unknown option {option}")),
        }
    }
    Ok(settings)
}

/// A typical user's job, of about a second.
fn job(chance: &mut Chance) -> String {
    let workload = chance.one(&["read", "write", "randread", "randwrite", "rw", "randrw"]);
    let mut words = vec![
        format!("--name={} --filename=data --size={}m", workload, chance.one(&["16", "64", "128"])),
        format!("--rw={workload} --bs={}", chance.one(&["4k", "8k", "64k", "1m", "4k-64k"])),
        format!("--time_based --runtime={}", chance.one(&["1", "1", "1", "1200ms", "2"])),
        chance.one(&["--direct=1", "--direct=1", "--direct=1", "--direct=0"]).to_owned(),
    ];
    let engine = chance.one(&["psync", "sync", "libaio", "io_uring", "posixaio", "pvsync2", "mmap", "null"]);
    // Memory maps do not support direct I/O.
    if engine == "mmap" {
        words.retain(|word| word != "--direct=1");
    }
    words.push(format!("--ioengine={engine}"));
    if matches!(engine, "libaio" | "io_uring" | "posixaio" | "null") {
        words.push(format!("--iodepth={}", chance.one(&["1", "4", "16", "32"])));
    }
    words.push(
        chance
            .sometimes(30, &["--numjobs=2 --group_reporting", "--numjobs=2", "--numjobs=3 --thread"])
            .to_owned(),
    );
    words.push(chance.sometimes(15, &["--rate_iops=200", "--rate=4m", "--thinktime=1ms"]).to_owned());
    words.push(chance.sometimes(15, &["--ramp_time=300ms", "--randrepeat=0", "--norandommap=1"]).to_owned());
    if workload != "read" && workload != "randread" {
        words.push(
            chance.sometimes(30, &["--fsync=16", "--end_fsync=1", "--fdatasync=8", "--sync=1"]).to_owned(),
        );
        words.push(
            chance
                .sometimes(10, &["--rwmixread=70", "--refill_buffers=1", "--buffer_compress_percentage=50"])
                .to_owned(),
        );
    }
    words.retain(|word| !word.is_empty());
    words.join(" ")
}

fn findings_of(program: &Program, directory: &Path, words: &str) -> Result<Vec<Value>, String> {
    let words = format!("--output-format=json+ --output=result.json {words}");
    let finished = program.run(directory, &words)?;
    if !finished.is_success() {
        return Err(format!("verdicts: a run failed:\n{}", finished.told(&words)));
    }
    let text = std::fs::read_to_string(directory.join("result.json")).map_err(|error| error.to_string())?;
    let document: Value = serde_json::from_str(&text).map_err(|error| format!("{words}: {error}"))?;
    let findings = document["fathom verdict"]["findings"].as_array();
    findings.cloned().ok_or_else(|| format!("verdicts: no verdict in the result of {words}"))
}
