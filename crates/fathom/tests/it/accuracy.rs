//! `make accuracy`: compares what the program reports with known true values. Each figure becomes a row of a
//! table; docs/accuracy.md shows the table of one run.
//!
//! On an otherwise idle machine this takes four minutes. `make test` cannot rely on an idle machine, so it
//! skips this.

use crate::hung_fs::{Faults, HungFs};
use crate::support::devices::{LoopDevice, statistics};
use crate::support::program::{self, Finished, Launch};
use crate::support::{MIB, json, scratch};
use serde_json::Value;
use std::fmt::{Display, Formatter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// File to which the table is written; without it the test is skipped.
const TABLE: &str = "FATHOM_ACCURACY_TABLE";
/// The program whose figures are measured, if it is not the one under test.
const PROGRAM: &str = "FATHOM_ACCURACY_PROGRAM";

/// Number of runs from which the median of the tester's own delay is taken.
const DELAY_RUNS: usize = 5;

/// The table being built.
#[derive(Default)]
pub(crate) struct Rows {
    text: String,
    missed: Vec<String>,
}

impl Rows {
    /// Adds a figure. `goal` is empty if the error is not fathom's.
    pub(crate) fn add(&mut self, figure: &str, truth: &str, error: String, goal: Option<(&str, bool)>) {
        let (goal, met) = match goal {
            Some((goal, true)) => (goal, "yes"),
            Some((goal, false)) => {
                self.missed.push(format!("{figure}: {error}"));
                (goal, "no")
            }
            None => ("", ""),
        };
        let _ = writeln!(self.text, "| {figure} | {truth} | {error} | {goal} | {met} |");
    }
}

fn launch(directory: &Path, words: &str) -> Finished {
    let program = std::env::var_os(PROGRAM).map_or_else(program::path, PathBuf::from);
    Launch::of(&program, directory)
        .words(&format!("--output-format=json --name=a {words}"))
        .run()
        .expect_clean()
}

/// The JSON of a run.
pub(crate) fn run(directory: &Path, words: &str) -> Value {
    json::document(&launch(directory, words).stdout)
}

pub(crate) fn percent_off(found: f64, truth: f64) -> f64 {
    100.0 * (found - truth) / truth
}

#[test]
fn every_figure_against_its_truth() {
    fathom_only!();
    let Some(table) = std::env::var_os(TABLE) else { skip!("only with make accuracy") };
    let mut rows = Rows::default();
    counts(&mut rows);
    percentiles(&mut rows);
    rates(&mut rows);
    run_time(&mut rows);
    processor_time(&mut rows);
    service_times(&mut rows);
    crate::accuracy_queues::stalls(&mut rows);
    crate::accuracy_queues::one_server(&mut rows);
    own_delay(&mut rows, "idle machine", true);
    {
        let _busy = Busy::all_processors();
        own_delay(&mut rows, "all processors busy with other work", false);
    }
    overhead(&mut rows);
    std::fs::write(table, &rows.text).expect("written");
    assert!(rows.missed.is_empty(), "{}", rows.missed.join("\n"));
}

/// I/Os and bytes compared with those that the kernel counts for the device.
fn counts(rows: &mut Rows) {
    let Ok(device) = LoopDevice::new(64 * MIB) else {
        return rows.add(
            "I/Os and bytes",
            "the kernel's counters of a loop device",
            "needs root".into(),
            None,
        );
    };
    let name = device.text().trim_start_matches("/dev/");
    let directory = scratch();
    for (engine, depth) in [("psync", 1), ("libaio", 16), ("io_uring", 16)] {
        let before = statistics(name);
        let words = format!(
            "--filename={} --ioengine={engine} --iodepth={depth} --direct=1 --rw=randrw --bs=4k --io_size=64m --norandommap",
            device.text()
        );
        let document = run(directory.path(), &words);
        let after = statistics(name);
        let job = json::job(&document, "a");
        let mut off = 0;
        for (direction, ios, sectors) in [("read", 0, 2), ("write", 4, 6)] {
            // The partition table scanner and others also access a device, but not during this interval.
            off += json::integer(job, &format!("{direction}/total_ios")).abs_diff(after[ios] - before[ios]);
            off += (json::integer(job, &format!("{direction}/io_bytes")) / 512)
                .abs_diff(after[sectors] - before[sectors]);
        }
        rows.add(
            &format!("I/Os and sectors, {engine}"),
            "the kernel's counters of a loop device, direct I/O, without merges",
            format!("{off} of {}", after[0] - before[0] + after[4] - before[4]),
            Some(("exact", off == 0)),
        );
    }
}

/// Percentiles compared with those of the raw values in the log.
fn percentiles(rows: &mut Rows) {
    let directory = scratch();
    let words = "--filename=data --size=16m --ioengine=psync --rw=randread --bs=4k --io_size=400m --norandommap --write_lat_log=raw \
                 --percentile_list=1:10:50:90:99:99.9:99.99";
    let document = run(directory.path(), words);
    let text = std::fs::read_to_string(directory.path().join("raw_clat.1.log")).expect("a log");
    let values: Vec<f64> = text.lines().filter_map(|line| line.split(", ").nth(1)?.parse().ok()).collect();
    let clat = &json::job(&document, "a")["read"]["clat_ns"];
    let worst = worst_percentile(clat, values.clone());
    rows.add(
        "percentiles, 1 to 99.99",
        &format!("{} raw values in the log", values.len()),
        format!("{worst:.2} % at most"),
        Some(("0.8 %", worst <= 0.8)),
    );
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let off = percent_off(clat["mean"].as_f64().expect("ns"), mean).abs();
    rows.add("mean latency", "the same values", format!("{off:.4} %"), Some(("0.1 %", off <= 0.1)));
}

/// Largest error of a latency's percentiles, percent, given all values in ns.
pub(crate) fn worst_percentile(latency: &Value, mut values_ns: Vec<f64>) -> f64 {
    values_ns.sort_unstable_by(f64::total_cmp);
    let percentiles = latency["percentile"].as_object().expect("percentiles").iter();
    percentiles.fold(0.0, |worst, (percent, found)| {
        let share: f64 = percent.parse::<f64>().expect("a percentile") / 100.0;
        let rank = ((values_ns.len() as f64 * share).ceil() as usize).clamp(1, values_ns.len());
        worst.max(percent_off(found.as_f64().expect("ns"), values_ns[rank - 1]).abs())
    })
}

/// I/Os issued compared with those that a rate allows.
fn rates(rows: &mut Rows) {
    let directory = scratch();
    for (rate, seconds) in [(100, 5), (10_000, 3)] {
        let words = format!(
            "--ioengine=null --size=1g --rw=randread --time_based --runtime={seconds} --rate_iops={rate}"
        );
        let document = run(directory.path(), &words);
        let found = json::job(&document, "a")["read"]["iops"].as_f64().expect("a rate");
        let off = percent_off(found, f64::from(rate));
        rows.add(
            &format!("rate, rate_iops={rate}"),
            "the requested rate",
            format!("{off:+.2} %"),
            Some(("1 %", off.abs() <= 1.0)),
        );
    }
}

fn run_time(rows: &mut Rows) {
    let directory = scratch();
    let begun = Instant::now();
    let document = run(directory.path(), "--ioengine=null --size=1g --rw=randread --time_based --runtime=3");
    let whole = begun.elapsed();
    let off = json::integer(json::job(&document, "a"), "read/runtime").abs_diff(3000);
    rows.add("run time", "runtime=3", format!("{off} ms"), Some(("20 ms", off <= 20)));
    let around = whole.saturating_sub(Duration::from_secs(3)).as_millis();
    rows.add("whole run, start to exit", "runtime=3", format!("{around} ms more"), None);
}

/// CPU time of this process's finished children, in seconds.
fn time_of_children() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("own statistics");
    let rest = text.rsplit_once(')').expect("a name").1;
    // Fields 16 and 17 are the user and system time of children, in hundredths of a second.
    let fields: Vec<f64> =
        rest.split_whitespace().skip(13).take(2).filter_map(|word| word.parse().ok()).collect();
    fields.iter().sum::<f64>() / 100.0
}

fn processor_time(rows: &mut Rows) {
    let directory = scratch();
    let before = time_of_children();
    let words = "--filename=data --size=64m --ioengine=psync --rw=randread --bs=4k --time_based --runtime=4 --invalidate=0";
    let document = run(directory.path(), words);
    let truth = time_of_children() - before;
    let job = json::job(&document, "a");
    let share = job["usr_cpu"].as_f64().expect("percent") + job["sys_cpu"].as_f64().expect("percent");
    let found = share / 100.0 * json::integer(job, "job_runtime") as f64 / 1000.0;
    rows.add(
        "processor time, usr and sys",
        "the kernel's times of the whole program, including the layout of the file",
        format!("{found:.2} s of {truth:.2} s"),
        None,
    );
}

/// Latencies of a file system that records its own service times. Requests with no service time show the
/// overhead of the kernel and FUSE.
fn service_times(rows: &mut Rows) {
    let directory = scratch();
    let mean_with = |service: Duration| -> Result<(f64, f64), String> {
        let slow = HungFs::mount(MIB, Faults { service, ..Faults::default() })?;
        let words = format!(
            "--filename={} --ioengine=psync --rw=randread --bs=4k --number_ios=500 --size=1m --io_size=2m",
            slow.file().display()
        );
        let document = run(directory.path(), &words);
        let mean = json::job(&document, "a")["read"]["clat_ns"]["mean"].as_f64().expect("ns");
        Ok((mean, slow.mean_service().as_nanos() as f64))
    };
    for service in [Duration::from_micros(500), Duration::from_millis(5)] {
        let (Ok((base, own)), Ok((mean, noted))) = (mean_with(Duration::ZERO), mean_with(service)) else {
            return rows.add(
                "latency",
                "service times recorded by a FUSE file system",
                "needs root and /dev/fuse".into(),
                None,
            );
        };
        let off_us = (mean - base - (noted - own)) / 1e3;
        rows.add(
            &format!("latency, about {service:?}"),
            &format!("service times recorded by a FUSE file system, mean {:.1} µs", noted / 1e3),
            format!("{off_us:+.1} µs in addition to the {:.1} µs of FUSE itself", (base - own) / 1e3),
            None,
        );
    }
}

/// How late the tester itself starts I/Os that are due: the median of several runs.
fn own_delay(rows: &mut Rows, place: &str, has_goal: bool) {
    let (mut own, mut bare) = (Vec::new(), Vec::new());
    // The two alternate, so that other load on the machine affects both.
    for _ in 0..DELAY_RUNS {
        own.push(Delay::of_program());
        bare.push(Delay::of_bare_loop());
    }
    let (own, bare) = (Delay::middle(&own), Delay::middle(&bare));
    let figure = format!("own delay at 100 I/Os per second, {place}");
    let truth = format!("a loop that does nothing but wait: {bare}");
    let goal = ("p99 less than 20 µs above that", own.p99_us < bare.p99_us + 20.0);
    rows.add(&figure, &truth, own.to_string(), has_goal.then_some(goal));
}

/// Delay between due time and start, µs.
struct Delay {
    p50_us: f64,
    p99_us: f64,
}

impl Display for Delay {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "p50 {:.1} µs, p99 {:.1} µs", self.p50_us, self.p99_us)
    }
}

impl Delay {
    fn of_program() -> Delay {
        let directory = scratch();
        let words = "--filename=data --size=16m --ioengine=psync --rw=randread --bs=4k --time_based --runtime=4 --rate_iops=100 \
                     --open_loop=1 --rate_process=poisson";
        let document = run(directory.path(), words);
        let delay = &json::job(&document, "a")["read"]["arrivals"]["own_delay_ns"]["percentile"];
        let us = |percent: &str| delay[percent].as_f64().expect("ns") / 1e3;
        Delay { p50_us: us("50.000000"), p99_us: us("99.000000") }
    }

    /// The delay of this machine without a tester: a loop that sleeps until shortly before the due time, then
    /// busy-waits.
    fn of_bare_loop() -> Delay {
        const AWAKE: Duration = Duration::from_millis(1);
        let mut due = Instant::now();
        let mut late_us: Vec<f64> = (0..400)
            .map(|index: u32| {
                // From 0.5 to 22 ms in pseudorandom order, similar to the gaps in the program.
                due += Duration::from_micros(500 + u64::from(index * 7919 % 400) * 54);
                std::thread::sleep(due.saturating_duration_since(Instant::now()).saturating_sub(AWAKE));
                while Instant::now() < due {
                    std::hint::spin_loop();
                }
                due.elapsed().as_nanos() as f64 / 1e3
            })
            .collect();
        late_us.sort_unstable_by(f64::total_cmp);
        Delay { p50_us: late_us[late_us.len() / 2], p99_us: late_us[late_us.len() * 99 / 100] }
    }

    fn middle(delays: &[Delay]) -> Delay {
        let middle_of = |figure: fn(&Delay) -> f64| {
            let mut all: Vec<f64> = delays.iter().map(figure).collect();
            all.sort_unstable_by(f64::total_cmp);
            all[all.len() / 2]
        };
        Delay { p50_us: middle_of(|delay| delay.p50_us), p99_us: middle_of(|delay| delay.p99_us) }
    }
}

/// The program's own overhead per I/O.
fn overhead(rows: &mut Rows) {
    let directory = scratch();
    for depth in [1, 32] {
        let words = format!(
            "--ioengine=null --iodepth={depth} --size=1t --rw=randread --bs=4k --time_based --runtime=2"
        );
        let document = run(directory.path(), &words);
        let ns = 1e9 / json::job(&document, "a")["read"]["iops"].as_f64().expect("a rate");
        rows.add(
            &format!("own time per I/O, null, depth {depth}"),
            "0",
            format!("{ns:.0} ns"),
            Some(("below 1 µs", ns < 1000.0)),
        );
    }
}

/// Loops that occupy all processors until this is dropped.
struct Busy(Vec<Child>);

impl Busy {
    fn all_processors() -> Busy {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let one = || {
            Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().expect("sh")
        };
        Busy((0..count).map(|_| one()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
