//! The bandwidth of all jobs together (`--bandwidth-log`), sampled from the workers' counters.

use super::{LogFile, LogRegion};
use crate::message::MessageSender;
use crate::plan::Plan;
use crate::region::Region;
use fathom_stats::PerDirection;
use fathom_sys::clock::monotonic_ns;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Interval between lines.
const INTERVAL_NS: u64 = 500_000_000;

/// Bytes of one worker at the last sample. A worker restarts from zero when it begins to record, so bytes of
/// its ramp are in no line.
struct Seen {
    epoch: u64,
    bytes: PerDirection<u64>,
}

/// Appends a line per interval to each of the three files (read, write, trim) until the run is over. Line n
/// covers the time from n - 1 to n intervals after the start; the last line covers the rest.
pub(crate) fn sample_bandwidth(
    plan: &Plan,
    region: &Region,
    logs: &LogRegion,
    mut files: Vec<LogFile>,
    messages: &MessageSender,
) {
    let start = monotonic_ns();
    let mut seen: Vec<Seen> =
        plan.workers.iter().map(|_| Seen { epoch: 0, bytes: PerDirection::default() }).collect();
    let (mut last, mut next) = (start, start + INTERVAL_NS);
    loop {
        let finished = logs.is_finished();
        let now = monotonic_ns();
        if now < next && !finished {
            logs.aggregate_thread().sleep(Duration::from_nanos(next - now));
            continue;
        }
        let moved = bytes_since(region, &mut seen);
        // A short remainder at the end gets a line only if it moved bytes.
        if finished && now - last < INTERVAL_NS / 10 && moved == PerDirection::default() {
            return;
        }
        let span = u128::from((now - last).max(1));
        for (file, (direction, moved)) in files.iter_mut().zip(moved.iter()) {
            let kib_per_second = u128::from(*moved) * 1_000_000_000 / 1024 / span;
            let time_ms = (now - start) / 1_000_000;
            let mut line = format!("{time_ms}, {kib_per_second}, {}, 0, 0\n", direction.index()).into_bytes();
            file.write(&mut line, logs, messages);
        }
        if finished {
            return;
        }
        last = now;
        next += INTERVAL_NS * ((now - next) / INTERVAL_NS + 1);
    }
}

fn bytes_since(region: &Region, seen: &mut [Seen]) -> PerDirection<u64> {
    let mut moved = PerDirection::default();
    for (index, seen) in seen.iter_mut().enumerate() {
        let worker = region.worker(index);
        let samples = &worker.samples;
        let records = worker.start_ns.load(Relaxed) != 0;
        let epoch = samples.epoch.load(Relaxed);
        if epoch != seen.epoch {
            *seen = Seen { epoch, bytes: PerDirection::default() };
        }
        for (direction, moved) in moved.iter_mut() {
            let bytes = samples.directions[direction].bytes.load(Relaxed);
            if records {
                *moved += bytes.saturating_sub(seen.bytes[direction]);
            }
            seen.bytes[direction] = bytes;
        }
    }
    moved
}
