//! Prints a run of the installed fio twice: its normal report, and ours made from the figures in the JSON of
//! the same run. The two must be identical, except where later releases print something different.

mod support;

use fathom_report::ctime::ctime;
use fathom_stats::LatencyStats;
use fathom_stats::PerDirection;
use fathom_stats::histogram::bin_of;
use fathom_stats::report::*;
use fathom_stats::series::SampleStats;
use serde_json::Value;
use std::process::Command;

fn integer(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key} is no integer in {value}"))
}

fn float(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} is no number in {value}"))
}

fn latency(value: &Value) -> LatencyStats {
    let (count, mean, stddev) = (integer(value, "N"), float(value, "mean"), float(value, "stddev"));
    let mut stats = LatencyStats {
        count,
        sum_ns: (mean * count as f64).round() as u64,
        min_ns: integer(value, "min"),
        max_ns: integer(value, "max"),
        ..Default::default()
    };
    let squares = stddev * stddev * count.saturating_sub(1) as f64 + mean * mean * count as f64;
    stats.sum_of_squares = squares as u128;
    for (bin, count) in value["bins"].as_object().into_iter().flatten() {
        let bin = bin_of(bin.parse().expect("a bin is a number")).expect("in range");
        stats.histogram.bins.insert(bin as u16, count.as_u64().expect("a count"));
    }
    stats
}

fn samples(value: &Value, name: &str, deviation: &str) -> SampleStats {
    let key = |suffix: &str| format!("{name}_{suffix}");
    let samples = integer(value, &key("samples"));
    SampleStats {
        samples,
        min: integer(value, &key("min")),
        max: integer(value, &key("max")),
        mean: float(value, &key("mean")),
        squared_distances: float(value, &key(deviation)).powi(2) * samples.saturating_sub(1) as f64,
    }
}

fn direction(value: &Value) -> DirectionReport {
    DirectionReport {
        io_bytes: integer(value, "io_bytes"),
        issued: integer(value, "total_ios"),
        total_ios: integer(value, "total_ios"),
        short_ios: integer(value, "short_ios"),
        drop_ios: integer(value, "drop_ios"),
        runtime_ms: integer(value, "runtime"),
        slat: latency(&value["slat_ns"]),
        clat: latency(&value["clat_ns"]),
        lat: latency(&value["lat_ns"]),
        bw: samples(value, "bw", "dev"),
        iops: samples(value, "iops", "stddev"),
        ..Default::default()
    }
}

/// Returns counts that give these shares of `total`.
fn counts(shares: &[&Value], total: u64) -> Vec<u64> {
    let shares = shares.iter().flat_map(|part| part.as_object().expect("a distribution").iter());
    // The keys of an object are sorted as text, but a distribution is ordered by their numbers.
    let mut sorted: Vec<(usize, u64, f64)> = Vec::new();
    let mut part = 0;
    let mut previous: Option<&str> = None;
    for (key, share) in shares {
        part += usize::from(previous.is_some_and(|previous| previous > key.as_str()));
        previous = Some(key);
        let bound = match key.strip_prefix(">=") {
            Some(number) => number.parse::<u64>().expect("a number") + 1,
            None => key.parse().expect("a number"),
        };
        sorted.push((part, bound, share.as_f64().expect("a share")));
    }
    sorted.sort_by_key(|&(part, bound, _)| (part, bound));
    sorted.iter().map(|(.., share)| (share * total as f64 / 100.0).round() as u64).collect()
}

fn job(value: &Value, view: &ViewOptions) -> JobReport {
    let directions = PerDirection::from_fn(|which| direction(&value[which.word()]));
    let ios: u64 = directions.values().map(|direction| direction.issued).sum();
    let map = |key: &str, total: u64| -> [u64; DEPTH_BUCKETS] {
        counts(&[&value[key]], total).try_into().expect("seven buckets")
    };
    let distribution = counts(&[&value["latency_ns"], &value["latency_us"], &value["latency_ms"]], ios);
    let runtime_total_ms = integer(value, "job_runtime");
    JobReport {
        name: value["jobname"].as_str().expect("a name").into(),
        group_id: integer(value, "groupid") as u32,
        clones: 1,
        description: value["desc"].as_str().map(str::to_string),
        sync: latency(&value["sync"]["lat_ns"]),
        runtime_total_ms,
        cpu: CpuReport {
            user_us: (float(value, "usr_cpu") * runtime_total_ms as f64 * 10.0).round() as u64,
            system_us: (float(value, "sys_cpu") * runtime_total_ms as f64 * 10.0).round() as u64,
            context_switches: integer(value, "ctx"),
            major_faults: integer(value, "majf"),
            minor_faults: integer(value, "minf"),
        },
        depth_map: map("iodepth_level", ios),
        submit_map: map("iodepth_submit", 1_000_000),
        complete_map: map("iodepth_complete", 1_000_000),
        distribution: distribution.try_into().expect("all buckets"),
        latency_goal: LatencyGoal {
            depth: integer(value, "latency_depth") as u32,
            percentile: float(value, "latency_percentile"),
            ..Default::default()
        },
        directions,
        view: view.clone(),
        ..Default::default()
    }
}

fn our_report(document: &Value, view: &ViewOptions) -> RunReport {
    let jobs: Vec<JobReport> =
        document["jobs"].as_array().expect("jobs").iter().map(|value| job(value, view)).collect();
    let mut report = support::report(jobs);
    report.timestamp_ms = integer(document, "timestamp_ms");
    report.version = document["fio version"].as_str().expect("a version").into();
    report.disks.clear();
    report
}

fn text(format: &dyn fathom_report::Format, report: &RunReport) -> String {
    let mut bytes = Vec::new();
    format.write(report, &mut bytes).expect("memory takes all");
    String::from_utf8(bytes).expect("text")
}

/// Returns the comparable lines: JSON lacks the process ID, and it rounds up small shares, which then look
/// alike.
fn comparable(text: &str) -> Vec<String> {
    text.lines()
        .take_while(|line| !line.starts_with("Disk stats"))
        .map(|line| {
            let line = match line.split_once(": pid=") {
                Some((start, rest)) => {
                    format!("{start}: {}", rest.split_once(": ").map_or("", |(_, time)| time))
                }
                None => line.to_string(),
            };
            line.replace("; 0 zone resets", "")
                .replace("sync_file_range:", "sync_file_range/syncfs:")
                .replace("target=0, window=0", "target=0.00ns, window=0.00ns")
        })
        .collect::<Vec<_>>()
        .join("\n")
        .trim_end()
        .lines()
        .map(str::to_string)
        .collect()
}

/// True if two lines are equivalent. Ours is computed from the six decimals in JSON, so a mean or a deviation
/// exactly between two numbers may be rounded the other way: its last decimal may differ by one.
fn same(our_line: &str, their_line: &str) -> bool {
    let words = |line: &'_ str| -> Vec<String> {
        line.split_inclusive([' ', ',', '=', '%', ';']).map(str::to_string).collect()
    };
    let (ours, theirs) = (words(our_line), words(their_line));
    ours.len() == theirs.len()
        && ours.iter().zip(&theirs).all(|(our, their)| our == their || near(our, their))
}

/// True if two words are decimal fractions of the same length that differ by at most one in the last place.
fn near(our: &str, their: &str) -> bool {
    let parts = |word: &str| -> Option<(f64, usize, String)> {
        let number = word.trim_end_matches([' ', ',', '=', '%', ';']);
        let (_, decimals) = number.split_once('.')?;
        Some((number.parse().ok()?, decimals.len(), word[number.len()..].to_string()))
    };
    match (parts(our), parts(their)) {
        (Some((a, a_decimals, a_end)), Some((b, b_decimals, b_end))) => {
            a_decimals == b_decimals
                && a_end == b_end
                && (a - b).abs() < 1.5 * 10f64.powi(-(a_decimals as i32))
        }
        _ => false,
    }
}

#[test]
fn lines_are_the_same_but_for_rounding() {
    assert!(same("lat: max=3, avg=82.72, stdev=212.17", "lat: max=3, avg=82.72, stdev=212.18"));
    for other in [
        "lat: max=4, avg=82.72, stdev=212.17",
        "lat: max=3, avg=82.72, stdev=212.19",
        "lat: max=3, avg=82.72, stdev=212.1",
        "lat: max=3, avg=82.72% stdev=212.17",
        "lat: max=3, avg=82.72",
    ] {
        assert!(!same("lat: max=3, avg=82.72, stdev=212.17", other), "{other}");
    }
}

/// Returns the output of fio for a job in the given formats; `None` if fio is not installed.
fn fio(formats: &str, arguments: &str) -> Option<String> {
    let output = Command::new("fio")
        .arg(format!("--output-format={formats}"))
        .args(arguments.split_whitespace())
        .current_dir(std::env::temp_dir())
        .output();
    match output {
        Ok(output) => Some(String::from_utf8(output.stdout).expect("fio prints text")),
        Err(error) => {
            fathom_skip::record(&format!("fio cannot be run: {error}"));
            None
        }
    }
}

/// Splits a text into its JSON document, the text before and the text after.
fn split(text: &str) -> (&str, Value, &str) {
    let start = text.find("{\n").expect("JSON begins");
    let end = text.find("\n}\n").expect("JSON ends") + 3;
    (&text[..start], serde_json::from_str(&text[start..end]).expect("valid JSON"), &text[end..])
}

fn replay(arguments: &str, view: &ViewOptions) {
    let Some(output) = fio("json+,normal", arguments) else { return };
    let (_, document, normal) = split(&output);
    let format = fathom_report::by_name("normal").expect("known");
    let mut report = our_report(&document, view);
    // fio reads the time once per format, in either order, so the second may change between the two.
    let time = report.timestamp_ms;
    let near = [time, time + 1000, time.saturating_sub(1000)];
    report.timestamp_ms =
        near.into_iter().find(|time| normal.contains(&ctime(*time))).expect("times at most a second apart");
    let (ours, theirs) = (comparable(&text(format, &report)), comparable(normal));
    for (our_line, their_line) in ours.iter().zip(&theirs) {
        assert!(same(our_line, their_line), "{arguments}:\n{our_line}\n{their_line}");
    }
    assert_eq!(ours.len(), theirs.len(), "{arguments}");
    assert!(ours.len() > 15, "{ours:?}");
}

#[test]
fn terse_lines() {
    // A rate of 40 KiB/s shows whether the group's share is computed from whole KiB/s.
    let rates = ["3333k", "40k --bs=20k --bwavgtime=300", "3333k", "3333k"];
    for (version, rate) in [2, 3, 4, 5].into_iter().zip(rates) {
        let arguments = format!(
            "--terse-version={version} --disk_util=0 --name=t --ioengine=null --size=1g --rw=rw --rate={rate} \
             --runtime=1700ms --description=hello --iodepth=4"
        );
        let Some(output) = fio("terse,json+", &arguments) else { return };
        let (terse, document, _) = split(&output);
        let format =
            fathom_report::by_name("terse").and_then(|terse| terse.in_version(version)).expect("a version");
        let ours = text(format, &our_report(&document, &default_view()));
        let theirs = &terse[terse.find(&format!("{version};")).expect("a line")..];
        for (index, (our_field, their_field)) in ours.split(';').zip(theirs.split(';')).enumerate() {
            // Our figure is computed from the six decimals in the JSON, so its last digit may differ.
            let number = |field: &str| field.trim_end_matches('%').parse::<f64>();
            let equal = our_field == their_field
                || matches!((number(our_field), number(their_field)), (Ok(a), Ok(b)) if (a - b).abs() < 5e-6);
            assert!(equal, "version {version}, field {}: {our_field} and {their_field}", index + 1);
        }
        assert_eq!(ours.split(';').count(), theirs.split(';').count(), "version {version}: {ours}{theirs}");
    }
}

fn default_view() -> ViewOptions {
    ViewOptions::default()
}

#[test]
fn null_engine() {
    replay("--name=mix --ioengine=null --size=16m --rw=randrw", &default_view());
    replay("--name=deep --ioengine=null --size=16m --rw=randread --iodepth=16", &default_view());
    replay("--name=one --ioengine=null --size=4k --rw=read", &default_view());
}

#[test]
fn samples_of_a_second() {
    // The second job has few I/Os of odd sizes, so that means are not whole numbers.
    for rate in ["3333k", "40k --bs=20k --bwavgtime=300"] {
        replay(
            &format!(
                "--name=s --ioengine=null --size=1g --rw=rw --rate={rate} --runtime=1700ms --description=hello"
            ),
            &default_view(),
        );
    }
}

#[test]
fn several_jobs_and_groups() {
    replay(
        "--ioengine=null --rw=randwrite --name=a --size=1m --name=b --size=3m --bs=16k --name=c --size=7m --stonewall",
        &default_view(),
    );
}

#[test]
fn files_and_syncs() {
    let file = tempfile("syncs");
    replay(&format!("--name=f --filename={file} --size=400k --rw=write --fsync=4"), &default_view());
    replay(
        &format!("--name=f --filename={file} --size=4m --rw=randrw --ioengine=libaio --iodepth=8"),
        &default_view(),
    );
    std::fs::remove_file(file).expect("the file was made");
}

#[test]
fn views() {
    let base = "--name=v --ioengine=null --size=33m --rw=randrw --iodepth=4";
    let view = ViewOptions {
        percentiles: vec![1.0, 50.0, 99.9, 99.9999],
        lat_percentiles: true,
        slat_percentiles: true,
        ..default_view()
    };
    replay(
        &format!("{base} --percentile_list=1:50:99.9:99.9999 --lat_percentiles=1 --slat_percentiles=1"),
        &view,
    );
    let view = ViewOptions { kb_base: 1000, ..default_view() };
    replay(&format!("{base} --kb_base=1000"), &view);
    let view = ViewOptions { unit_base: 1, significant_figures: 6, ..default_view() };
    replay(&format!("{base} --unit_base=1 --significant_figures=6"), &view);
    let view = ViewOptions { clat_percentiles: false, ..default_view() };
    replay(&format!("{base} --clat_percentiles=0"), &view);
}

fn tempfile(name: &str) -> String {
    let path = std::env::temp_dir().join(format!("fathom-report-{}-{name}", std::process::id()));
    path.to_str().expect("the path is text").into()
}
