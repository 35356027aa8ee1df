//! Formats processes as a summary and as a job file.

use super::Options;
use super::process::{Process, Requests};
use fathom_command::{Failure, Streams};
use fathom_stats::Direction;
use serde_json::{Value as Json, json};

/// A process with the names of its devices.
pub(super) struct Described {
    pub(super) process: Process,
    pub(super) files: Vec<String>,
    /// Time from the first request of the trace to the first request of the process.
    pub(super) delay_us: u64,
}

/// One block per process, in the format of fio-btrace2fio.
pub(super) fn summary(all: &[Described], streams: &mut Streams<'_>) -> Result<(), Failure> {
    for Described { process, files, delay_us } in all {
        let pids: Vec<String> = process.pids.iter().map(u32::to_string).collect();
        writeln!(streams.out, "[pid:\t{}]", pids.join(", "))?;
        for direction in process.directions() {
            direction_summary(process, direction, streams)?;
        }
        writeln!(streams.out, "depth:\t{}", process.depth)?;
        writeln!(streams.out, "usec:\t{} (delay={delay_us})", process.run_time_us())?;
        let files: String = files.iter().map(|file| format!("{file},")).collect();
        writeln!(streams.out, "files:\t{files}\n")?;
    }
    let total = |direction: Direction| -> u64 {
        let requests = all.iter().map(|described| &described.process.requests[direction as usize]);
        requests.map(|requests| requests.ios + requests.merges).sum()
    };
    let (reads, writes) = (total(Direction::Read), total(Direction::Write));
    Ok(writeln!(streams.out, "Total: reads={reads}, writes={writes}")?)
}

fn direction_summary(
    process: &Process,
    direction: Direction,
    streams: &mut Streams<'_>,
) -> Result<(), Failure> {
    let requests = &process.requests[direction as usize];
    let Requests { ios, merges, sequential, .. } = *requests;
    let percent = |part: u64, whole: u64| part as f64 / whole as f64 * 100.0;
    writeln!(streams.out, "{}", plural(direction))?;
    writeln!(streams.out, "\tios:    {ios} (perc={:.2}%)", percent(ios, process.ios()))?;
    writeln!(streams.out, "\tmerges: {merges} (perc={:.2}%)", percent(merges, ios))?;
    writeln!(streams.out, "\tseq:    {sequential} (perc={:.2}%)", percent(sequential, ios))?;
    writeln!(streams.out, "\trate:   {} KiB/sec", process.rate_kib(direction))?;
    for (size, count) in by_count(requests) {
        writeln!(streams.out, "\tbs={size}, perc={:.2}%", percent(count, ios))?;
    }
    Ok(())
}

fn plural(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "reads",
        Direction::Write => "writes",
        Direction::Trim => "trims",
    }
}

/// Sizes and their counts, the most frequent first.
fn by_count(requests: &Requests) -> Vec<(u64, u64)> {
    let mut sizes: Vec<(u64, u64)> = requests.sizes.iter().map(|(size, count)| (*size, *count)).collect();
    sizes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    sizes
}

/// The summary as JSON.
pub(super) fn json(all: &[Described], streams: &mut Streams<'_>) -> Result<(), Failure> {
    let processes: Vec<Json> = all
        .iter()
        .map(|Described { process, files, delay_us }| {
            let mut object = json!({
                "pids": process.pids, "depth": process.depth, "run_time_us": process.run_time_us(),
                "delay_us": delay_us, "files": files
            });
            for direction in process.directions() {
                let requests = &process.requests[direction as usize];
                object[plural(direction)] = json!({
                    "ios": requests.ios, "merges": requests.merges, "sequential": requests.sequential,
                    "bytes": requests.bytes, "rate_kib": process.rate_kib(direction), "sizes": requests.sizes
                });
            }
            object
        })
        .collect();
    Ok(writeln!(streams.out, "{:#}", Json::Array(processes))?)
}

/// A section per process; processes that also trim get a second one for it.
pub(super) fn job_file(all: &[Described], options: &Options) -> String {
    let mut text = String::new();
    for described in all {
        let process = &described.process;
        let mut transfers = process.directions().filter(|direction| *direction != Direction::Trim);
        let rw = match (transfers.next(), transfers.next()) {
            (Some(_), Some(_)) => Some("randrw"),
            (Some(Direction::Write), None) => Some("randwrite"),
            (Some(_), None) => Some("randread"),
            (None, _) => None,
        };
        let trims = process.requests[Direction::Trim as usize].ios > 0;
        if let Some(rw) = rw {
            section(described, "", rw, options, &mut text);
        }
        if trims {
            section(described, if rw.is_some() { "_trim" } else { "" }, "randtrim", options, &mut text);
        }
    }
    text
}

fn section(described: &Described, suffix: &str, rw: &str, options: &Options, text: &mut String) {
    let Described { process, files, delay_us } = described;
    let pids: Vec<String> = process.pids.iter().map(|pid| format!("pid{pid}")).collect();
    let mut line = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    line(format!("[{}{suffix}]", pids.join(",")));
    line(format!("numjobs={}", pids.len()));
    line("direct=1".to_owned());
    match process.depth {
        0 | 1 => line("ioengine=sync".to_owned()),
        depth => line(format!("ioengine=libaio\niodepth={depth}")),
    }
    line(format!("rw={rw}"));
    if rw == "randrw" {
        let [reads, writes] = [Direction::Read, Direction::Write]
            .map(|direction| process.requests[direction as usize].ios as f64);
        line(format!("rwmixread={:.0}", reads / (reads + writes) * 100.0));
    }
    let random = Direction::ALL.map(|direction| format!("{:.0}", process.random_percent(direction)));
    line(format!("percentage_random={}", random.join(",")));
    line(format!("filename={}", files.join(":")));
    if *delay_us >= 1_000_000 {
        line(format!("startdelay={}s", delay_us / 1_000_000));
    }
    line(format!("runtime={}s", process.run_time_us() / 1_000_000 + 1));
    line(format!("bssplit={}", block_sizes(process)));
    if options.with_rate {
        // The rate of a job applies to each of its clones, so it is divided.
        let rates = Direction::ALL.map(|direction| match process.rate_kib(direction) / pids.len() as u64 {
            0 => String::new(),
            rate => format!("{rate}k"),
        });
        line(format!("rate={}", rates.join(",")));
    }
    options.extra.iter().for_each(|extra| line(extra.clone()));
    text.push('\n');
}

/// The value of `bssplit`. If there are several directions, each has its position in the list, which ends
/// with the last direction used; an unused position repeats the sizes of the next one.
fn block_sizes(process: &Process) -> String {
    let used: Vec<Direction> = process.directions().collect();
    if let [only] = used[..] {
        return shares(&process.requests[only as usize]);
    }
    let last = used.last().map_or(0, |direction| *direction as usize);
    let lists: Vec<String> = (0..=last)
        .map(|place| {
            let filled = used.iter().find(|direction| **direction as usize >= place);
            filled.map_or(String::new(), |direction| shares(&process.requests[*direction as usize]))
        })
        .collect();
    lists.join(",")
}

/// `8192/28:512/22:4096/`: the last takes the remainder.
fn shares(requests: &Requests) -> String {
    let sizes = by_count(requests);
    let parts: Vec<String> = sizes
        .iter()
        .enumerate()
        .map(|(place, (size, count))| {
            let percent = *count as f64 / requests.ios as f64 * 100.0;
            if place + 1 == sizes.len() { format!("{size}/") } else { format!("{size}/{percent:.0}") }
        })
        .collect();
    parts.join(":")
}
