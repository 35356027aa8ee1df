//! The benchmark cases: the job, the figure measured, and fathom's goal.

use super::device::DeviceKind;
use super::table::{Goal, Unit};

/// One line of the table.
pub(crate) struct Case {
    /// Description of the job.
    pub(crate) name: String,
    /// Unit of the figures.
    pub(crate) unit: Unit,
    /// Goal for fathom.
    pub(crate) goal: Goal,
    /// How the figures are measured.
    pub(crate) measure: Measure,
}

/// How to measure a job, given as the words of its command line.
pub(crate) enum Measure {
    /// I/Os per second, as the program itself reports them.
    Rate(Vec<String>),
    /// I/Os per second of a job that writes first and reads back afterwards, over the time of both.
    PhasedRate(Vec<String>),
    /// The rate of one job in percent of that of another.
    RateShare { job: Vec<String>, of: Vec<String> },
    /// I/Os per second on the block device, whose name is added to the words.
    RateOnDevice(DeviceKind, Vec<String>),
    /// Time from start to exit, over this many runs.
    Wall(Vec<String>, usize),
    /// Time that additional arguments add to a job, in nanoseconds per I/O.
    Added { job: Vec<String>, more: Vec<String>, ios: u32 },
    /// Time from start to exit of the replay of a log with this many entries.
    ReplayWall(u64),
    /// Peak memory of that replay.
    ReplayMemory(u64),
    /// User-space instructions per I/O.
    Instructions(Vec<String>),
    /// Peak memory of all processes together.
    Memory(Vec<String>),
}

/// All cases, in the order of the table.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = null_cases();
    for (engine, kind) in ON_DEVICES {
        for depth in [1, 32] {
            cases.push(device_case(engine, kind, depth));
        }
    }
    cases.extend(range_cases());
    cases.extend(log_cases());
    cases.extend(replay_cases());
    cases.extend(verify_cases());
    cases.extend(fill_cases());
    cases.extend(whole_runs());
    cases
}

/// Engines and the targets they are measured on.
const ON_DEVICES: [(&str, DeviceKind); 5] = [
    ("io_uring", DeviceKind::Loop),
    ("io_uring", DeviceKind::Zram),
    ("libaio", DeviceKind::Zram),
    ("psync", DeviceKind::Zram),
    ("posixaio", DeviceKind::Zram),
];

const ENDLESS: &str = "--name=bench --ioengine=null --rw=randread --bs=4k --size=1t";

fn null_cases() -> Vec<Case> {
    let rate = |depth: u32, times: f64| Case {
        name: format!("null, 4k randread, depth {depth}"),
        unit: Unit::PerSecond,
        goal: Goal::RatioAtLeast(times),
        measure: Measure::Rate(words(&format!("{ENDLESS} --iodepth={depth} --time_based --runtime=2"))),
    };
    let instructions = Case {
        name: "null, 4k randread, depth 32: user-space instructions per I/O".to_owned(),
        unit: Unit::Instructions,
        goal: Goal::Below(300.0),
        measure: Measure::Instructions(words(&format!("{ENDLESS} --iodepth=32 --thread"))),
    };
    vec![rate(1, 4.0), rate(32, 8.0), instructions]
}

fn device_case(engine: &str, kind: DeviceKind, depth: u32) -> Case {
    let job = format!(
        "--name=bench --ioengine={engine} --rw=randread --bs=4k --direct=1 --iodepth={depth} --time_based --runtime=2"
    );
    // If kernel threads do the I/O, the tester cannot make it faster.
    let times = if engine == "io_uring" && kind == DeviceKind::Loop && depth == 32 { 1.3 } else { 1.0 };
    Case {
        name: format!("{engine} on {}, 4k randread, direct, depth {depth}", kind.name()),
        unit: Unit::PerSecond,
        goal: Goal::RatioAtLeast(times),
        measure: Measure::RateOnDevice(kind, words(&job)),
    }
}

/// Visiting each block once must cost no more per I/O on a huge range than on a small one.
fn range_cases() -> Vec<Case> {
    let job = |size: &str| {
        words(&format!(
            "--name=bench --ioengine=null --rw=randread --bs=4k --size={size} --iodepth=32 --time_based --runtime=2"
        ))
    };
    vec![
        Case {
            name: "null, 4k randread, depth 32: rate on 64 TiB in percent of that on 1 GiB".to_owned(),
            unit: Unit::Percent,
            goal: Goal::AtLeast(80.0),
            measure: Measure::RateShare { job: job("64t"), of: job("1g") },
        },
        Case {
            name: "null, 4k randread, depth 32, on 64 TiB: peak memory".to_owned(),
            unit: Unit::Mebibytes,
            goal: Goal::Below(16.0),
            measure: Measure::Memory(job("64t")),
        },
    ]
}

/// Number of I/Os in a run with logs.
const LOGGED: u32 = 4_000_000;

/// Per-I/O latency logs at the rate of the null engine.
fn log_cases() -> Vec<Case> {
    let job = |depth: u32| format!("{ENDLESS} --norandommap --iodepth={depth} --number_ios={LOGGED}");
    let added = |depth: u32| Case {
        name: format!("null, depth {depth}: time that write_lat_log adds per I/O"),
        unit: Unit::Nanoseconds,
        goal: Goal::RatioBelow(0.5),
        measure: Measure::Added {
            job: words(&job(depth)),
            more: words("--write_lat_log=bench"),
            ios: LOGGED,
        },
    };
    let memory = Case {
        name: "null, depth 32: 4 million I/Os with write_lat_log, peak memory".to_owned(),
        unit: Unit::Mebibytes,
        goal: Goal::Below(32.0),
        measure: Measure::Memory(words(&format!("{} --write_lat_log=bench", job(32)))),
    };
    vec![added(1), added(32), memory]
}

/// Replay of a long log, which is read before and during the run.
fn replay_cases() -> Vec<Case> {
    const ENTRIES: u64 = 5_000_000;
    vec![
        Case {
            name: "null, replay of a text log of 5 million entries, start to exit".to_owned(),
            unit: Unit::Milliseconds,
            goal: Goal::RatioBelow(1.0),
            measure: Measure::ReplayWall(ENTRIES),
        },
        Case {
            name: "null, replay of a text log of 5 million entries, peak memory".to_owned(),
            unit: Unit::Mebibytes,
            goal: Goal::Below(32.0),
            measure: Measure::ReplayMemory(ENTRIES),
        },
    ]
}

/// Verification methods, and the required speed relative to fio.
const CHECKS: [(&str, f64); 15] = [
    ("crc32c", 1.0),
    ("crc32", 3.0),
    ("crc64", 3.0),
    ("crc16", 3.0),
    ("crc7", 1.0),
    ("xxhash", 1.0),
    ("md5", 1.5),
    ("sha1", 1.0),
    ("sha256", 3.0),
    ("sha512", 1.5),
    ("sha3-256", 3.0),
    ("sha3-384", 3.0),
    ("sha3-512", 3.0),
    ("meta", 1.0),
    ("pattern", 1.0),
];

/// Writing a file in memory and verifying it.
fn verify_cases() -> Vec<Case> {
    let case = |(kind, times): (&str, f64)| {
        let mut job = format!(
            "--name=bench --ioengine=psync --rw=randwrite --bs=4k --size=128m --filename=/dev/shm/fathom-bench \
             --unlink=1 --verify={kind} --random_generator=tausworthe"
        );
        if kind == "pattern" {
            job += " --verify_pattern=0xdeadbeef";
        }
        Case {
            name: format!("128 MiB in memory written and checked, verify={kind}"),
            unit: Unit::PerSecond,
            goal: Goal::RatioAtLeast(times),
            measure: Measure::PhasedRate(words(&job)),
        }
    };
    CHECKS.into_iter().map(case).collect()
}

/// Filling buffers that are written to /dev/null.
fn fill_cases() -> Vec<Case> {
    let case = |(what, options): (&str, &str)| Case {
        name: format!("64k writes to /dev/null, {what}"),
        unit: Unit::PerSecond,
        goal: Goal::RatioAtLeast(2.0),
        measure: Measure::Rate(words(&format!(
            "--name=bench --ioengine=psync --rw=write --bs=64k --size=1t --filename=/dev/null {options} --time_based --runtime=2"
        ))),
    };
    [
        ("new content each", "--refill_buffers=1"),
        ("half compressible", "--refill_buffers=1 --buffer_compress_percentage=50"),
        ("half duplicates", "--refill_buffers=1 --dedupe_percentage=50"),
    ]
    .into_iter()
    .map(case)
    .collect()
}

fn whole_runs() -> Vec<Case> {
    let small = "--name=bench --ioengine=null --rw=randread --bs=4k --size=1m";
    let many =
        "--name=bench --ioengine=null --rw=randread --bs=4k --size=64k --numjobs=1000 --group_reporting";
    vec![
        Case {
            name: "1 MiB on null, start to exit".to_owned(),
            unit: Unit::Milliseconds,
            goal: Goal::Below(30.0),
            measure: Measure::Wall(words(small), 20),
        },
        Case {
            name: "1,000 jobs of 64 KiB on null, start to exit".to_owned(),
            unit: Unit::Milliseconds,
            goal: Goal::RatioBelow(1.0),
            measure: Measure::Wall(words(many), 5),
        },
        Case {
            name: "1,000 jobs of 64 KiB on null, json+ with an entry for each".to_owned(),
            unit: Unit::Milliseconds,
            goal: Goal::RatioBelow(0.33),
            measure: Measure::Wall(words(&many.replace("--group_reporting", "--output-format=json+")), 5),
        },
        Case {
            name: "1,000 jobs on null for 5 s, peak memory".to_owned(),
            unit: Unit::Mebibytes,
            goal: Goal::RatioBelow(0.5),
            measure: Measure::Memory(words(&format!("{many} --time_based --runtime=5"))),
        },
    ]
}

/// The words of a command line without quoting.
fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_name_of_its_own() {
        let cases = all();
        let names: std::collections::HashSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names.len(), cases.len());
    }

    #[test]
    fn words_are_options() {
        for case in all() {
            if let Measure::Added { job, more, .. } | Measure::RateShare { job, of: more } = &case.measure {
                assert!(job.iter().chain(more).all(|word| word.starts_with("--")), "{}", case.name);
                continue;
            }
            let (Measure::Rate(words)
            | Measure::PhasedRate(words)
            | Measure::RateOnDevice(_, words)
            | Measure::Wall(words, _)
            | Measure::Instructions(words)
            | Measure::Memory(words)) = case.measure
            else {
                continue;
            };
            assert!(words.iter().all(|word| word.starts_with("--")), "{}: {words:?}", case.name);
        }
    }
}
