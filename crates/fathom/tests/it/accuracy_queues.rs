//! `make accuracy`: response times of open loops compared with queueing theory, on a FUSE file system.

use crate::accuracy::{Rows, percent_off, run, worst_percentile};
use crate::hung_fs::{Faults, HungFs};
use crate::support::{MIB, json, scratch};
use serde_json::Value;
use std::time::{Duration, Instant};

/// The read statistics of an open loop with one slot on a device with these faults, and the completion times.
fn open_loop(faults: Faults, words: &str) -> Result<(Value, Vec<Instant>), String> {
    let device = HungFs::mount(MIB, faults)?;
    let directory = scratch();
    let words = format!(
        "--filename={} --ioengine=psync --rw=randread --bs=4k --size=1m --time_based --open_loop=1 {words}",
        device.file().display()
    );
    Ok((json::job(&run(directory.path(), &words), "a")["read"].clone(), device.ends()))
}

/// The device stalls during the last second of every five. The file system records when it answered each I/O;
/// I/Os are due at even intervals.
pub(crate) fn stalls(rows: &mut Rows) {
    const RATE: f64 = 1000.0;
    const SECONDS: f64 = 20.0;
    let figure = "response times, 1 s of each 5 s stalled";
    let faults =
        Faults { pauses: Some((Duration::from_secs(5), Duration::from_secs(1))), ..Faults::default() };
    let words = format!("--runtime={SECONDS} --rate_iops={RATE} --percentile_list=82:85:90:95:99");
    let Ok((read, ends)) = open_loop(faults, &words) else {
        return rows.add(figure, "arithmetic", "needs root and /dev/fuse".into(), None);
    };
    let due_ns = |arrival: usize| arrival as f64 * 1e9 / RATE;
    let mut truths: Vec<f64> = ends
        .iter()
        .enumerate()
        .map(|(arrival, end)| end.duration_since(ends[0]).as_nanos() as f64 - due_ns(arrival))
        .collect();
    // I/Os delayed by a pause at the very end have waited until the end of the run.
    let due = json::integer(&read, "arrivals/due") as usize;
    truths.extend((ends.len()..due).map(|arrival| SECONDS * 1e9 - due_ns(arrival)));
    let worst = worst_percentile(&read["resp_ns"], truths);
    rows.add(
        figure,
        &format!(
            "{} completion times recorded by a FUSE file system, minus the scheduled times; 82nd to 99th percentile",
            ends.len()
        ),
        format!("{worst:.2} % at most"),
        Some(("1 %", worst <= 1.0)),
    );
}

/// Poisson arrivals at a device that serves one I/O at a time. With service times S and R arrivals per
/// second, the mean response time is E\[S\] + R E\[S²\] / 2(1 - R E\[S\]) (Pollaczek and Khinchine), which
/// yields the formulas of M/D/1 and M/M/1 for their distributions.
pub(crate) fn one_server(rows: &mut Rows) {
    for (queue, service_is_random) in [("M/D/1", false), ("M/M/1", true)] {
        let figure = format!("mean response time, {queue}");
        let faults = Faults { service: Duration::from_millis(1), service_is_random, ..Faults::default() };
        let words = "--runtime=30 --rate_iops=450 --rate_process=poisson";
        let Ok((read, _)) = open_loop(faults, words) else {
            return rows.add(&figure, "the formula", "needs root and /dev/fuse".into(), None);
        };
        let arrivals = &read["arrivals"];
        let of_service = |name: &str| arrivals["service_ns"][name].as_f64().expect("ns") / 1e9;
        let (mean, deviation) = (of_service("mean"), of_service("stddev"));
        let rate = arrivals["offered_iops"].as_f64().expect("a rate");
        let truth = mean + rate * (mean.powi(2) + deviation.powi(2)) / (2.0 * (1.0 - rate * mean));
        let found = read["resp_ns"]["mean"].as_f64().expect("ns") / 1e9;
        let off = percent_off(found, truth);
        rows.add(
            &figure,
            &format!(
                "the formula, with the mean and deviation of the service times, load {:.2}",
                rate * mean
            ),
            format!("{off:+.1} % of {:.2} ms", truth * 1e3),
            Some(("10 %, by chance", off.abs() <= 10.0)),
        );
    }
}
