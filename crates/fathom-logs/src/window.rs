//! Averages over windows of fixed length.
//!
//! Window number k covers the time from k times the width up to, not including, k + 1 times the width since the
//! job started recording, and an I/O belongs to the window in which it ended. A window's line carries the time
//! of the window's end. Every line, including the last, covers a complete window, so that the figures of all
//! lines times the width add up to the job's total.

use crate::entry::Entry;
use crate::record::IoRecord;
use crate::rules::{LogKind, LogRules, WindowValue};

/// The open window of one direction.
#[derive(Clone, Copy, Default)]
struct Sums {
    count: u64,
    bytes: u64,
    /// Sum and maximum of submission, completion and total latency in ns.
    latencies: [(u128, u64); 3],
    /// I/Os with a submission latency.
    submitted: u64,
    /// Number, sum and maximum of response times in ns.
    responses: (u64, u128, u64),
    /// Remainder of rounding down in earlier windows, so that the sum over windows is exact.
    bytes_carry: u128,
    ios_carry: u128,
}

/// The open window of a job.
pub(crate) struct Windows {
    width_ns: u64,
    end_ns: u64,
    value: WindowValue,
    directions: [bool; 3],
    last_moment_ns: u64,
    sums: [Sums; 3],
}

impl Windows {
    pub(crate) fn new(rules: &LogRules) -> Windows {
        Windows {
            width_ns: rules.window_ns,
            end_ns: rules.window_ns,
            value: rules.window_value,
            directions: rules.directions,
            last_moment_ns: rules.runtime_ns,
            sums: [Sums::default(); 3],
        }
    }

    /// Adds an I/O. Windows that end before it are passed to `emit`.
    pub(crate) fn add(&mut self, record: &IoRecord, emit: impl FnMut(LogKind, &Entry)) {
        self.advance(within_run_time(record.end_ns, self.last_moment_ns, self.width_ns), emit);
        let Some(sums) = self.sums.get_mut(usize::from(record.direction)) else { return };
        sums.count += 1;
        sums.bytes += u64::from(record.length);
        sums.submitted += u64::from(record.slat_ns.is_some());
        let values = [record.slat_ns.unwrap_or(0), record.clat_ns, record.lat_ns()];
        for ((sum, largest), ns) in sums.latencies.iter_mut().zip(values) {
            *sum += u128::from(ns);
            *largest = ns.max(*largest);
        }
    }

    /// Adds the response time of an I/O.
    pub(crate) fn add_response(&mut self, record: &IoRecord, emit: impl FnMut(LogKind, &Entry)) {
        self.advance(within_run_time(record.end_ns, self.last_moment_ns, self.width_ns), emit);
        let Some(sums) = self.sums.get_mut(usize::from(record.direction)) else { return };
        let (count, sum, largest) = &mut sums.responses;
        *count += 1;
        *sum += u128::from(record.clat_ns);
        *largest = record.clat_ns.max(*largest);
    }

    /// Passes all windows that end at or before this time to `emit`.
    fn advance(&mut self, now_ns: u64, mut emit: impl FnMut(LogKind, &Entry)) {
        while self.end_ns <= now_ns {
            self.close_window(&mut emit);
        }
    }

    /// Ends the log, and passes the remaining windows to `emit`.
    pub(crate) fn finish(&mut self, end_ns: u64, mut emit: impl FnMut(LogKind, &Entry)) {
        self.advance(within_run_time(end_ns, self.last_moment_ns, self.width_ns), &mut emit);
        if self.sums.iter().any(|sums| sums.count > 0) {
            self.close_window(&mut emit);
        }
    }

    fn close_window(&mut self, emit: &mut impl FnMut(LogKind, &Entry)) {
        let time_ms = self.end_ns / 1_000_000;
        for (direction, used) in self.directions.into_iter().enumerate() {
            let sums = &mut self.sums[direction];
            if used || sums.count > 0 {
                sums.emit(self.width_ns, self.value, time_ms, direction as u8, emit);
            }
        }
        self.end_ns += self.width_ns;
    }
}

/// Assigns an I/O that was in flight when the run time ended to the last window, if it completed within a tenth
/// of a window after the end, so that it does not start a new window.
pub(crate) fn within_run_time(end_ns: u64, runtime_ns: u64, width_ns: u64) -> u64 {
    match runtime_ns != 0 && end_ns >= runtime_ns && end_ns - runtime_ns < width_ns / 10 {
        true => runtime_ns - 1,
        false => end_ns,
    }
}

impl Sums {
    /// Passes the window's figures to `emit` and starts a new window. A latency without I/O has no value.
    fn emit(
        &mut self,
        width_ns: u64,
        value: WindowValue,
        time_ms: u64,
        direction: u8,
        emit: &mut impl FnMut(LogKind, &Entry),
    ) {
        let rate = |amount: u64, unit: u128, carry: &mut u128| {
            let (total, whole) = (*carry + u128::from(amount) * 1_000_000_000, unit * u128::from(width_ns));
            *carry = total % whole;
            (total / whole) as u64
        };
        let kib_per_second = rate(self.bytes, 1024, &mut self.bytes_carry);
        let iops = rate(self.count, 1, &mut self.ios_carry);
        let mut put = |kind, mean: u64, largest: u64| {
            let (value, maximum) = match value {
                WindowValue::Mean => (mean, None),
                WindowValue::Maximum => (largest, None),
                WindowValue::Both => (mean, Some(largest)),
            };
            emit(kind, &Entry { time_ms, value, maximum, direction, ..Entry::default() });
        };
        put(LogKind::Bandwidth, kib_per_second, kib_per_second);
        put(LogKind::Iops, iops, iops);
        let kinds = [
            (LogKind::SubmissionLatency, self.submitted),
            (LogKind::CompletionLatency, self.count),
            (LogKind::Latency, self.count),
        ];
        for ((kind, count), (sum, largest)) in kinds.into_iter().zip(self.latencies) {
            if count > 0 {
                put(kind, (sum / u128::from(count)) as u64, largest);
            }
        }
        let (count, sum, largest) = self.responses;
        if count > 0 {
            put(LogKind::Response, (sum / u128::from(count)) as u64, largest);
        }
        *self = Sums { bytes_carry: self.bytes_carry, ios_carry: self.ios_carry, ..Sums::default() };
    }
}
