//! Lines of a histogram log, `msec, direction, block size, bin, bin, ...`, and the windows that they describe.
//!
//! Bins are those of fio's histogram logs, 1856 of them ([`fathom_stats::histogram`] has their bounds), halved
//! in number `log_hist_coarseness` times. A line contains only the I/Os of its window. A latency beyond the
//! last bin counts in the last bin.

use crate::entry::push_number;
use crate::record::IoRecord;
use crate::rules::LogRules;
use crate::window::within_run_time;
use fathom_stats::histogram::bin_of;

/// Number of bins of a log that is not coarsened.
pub const LOGGED_BINS: usize = 1856;

/// A line of a histogram log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistogramLine {
    /// End of the window, milliseconds since the job started recording.
    pub time_ms: u64,
    /// 0 read, 1 write, 2 trim.
    pub direction: u8,
    /// Bytes of the window's last I/O.
    pub block_size: u64,
    /// I/Os per bin.
    pub bins: Vec<u64>,
}

impl HistogramLine {
    /// Appends the line to `text`.
    pub fn write_line(&self, text: &mut Vec<u8>) {
        push_number(text, self.time_ms);
        for number in [u64::from(self.direction), self.block_size].iter().chain(&self.bins) {
            text.extend_from_slice(b", ");
            push_number(text, *number);
        }
        text.push(b'\n');
    }

    /// Parses a line; `None` if it is invalid, or its number of bins matches no coarseness.
    pub fn parse(line: &str) -> Option<HistogramLine> {
        let mut numbers =
            line.trim().trim_end_matches(',').split(',').map(|field| field.trim().parse::<u64>().ok());
        let time_ms = numbers.next()??;
        let direction = u8::try_from(numbers.next()??).ok().filter(|direction| *direction < 3)?;
        let block_size = numbers.next()??;
        let bins: Vec<u64> = numbers.collect::<Option<_>>()?;
        coarseness_of(bins.len())?;
        Some(HistogramLine { time_ms, direction, block_size, bins })
    }
}

/// The coarseness of a line with this number of bins.
pub fn coarseness_of(bins: usize) -> Option<u32> {
    (0..=6).find(|coarseness| LOGGED_BINS >> coarseness == bins)
}

/// The open window of a job's histograms.
pub(crate) struct HistogramWindows {
    /// Width of a window; 0 for the whole run.
    width_ns: u64,
    end_ns: u64,
    runtime_ns: u64,
    coarseness: u32,
    directions: [Counts; 3],
}

#[derive(Default)]
struct Counts {
    used: bool,
    block_size: u64,
    bins: Vec<u64>,
}

impl HistogramWindows {
    pub(crate) fn new(rules: &LogRules) -> HistogramWindows {
        HistogramWindows {
            width_ns: rules.histogram_window_ns,
            end_ns: rules.histogram_window_ns,
            runtime_ns: rules.runtime_ns,
            coarseness: rules.coarseness,
            directions: rules.directions.map(|used| Counts {
                used,
                block_size: 0,
                bins: vec![0; LOGGED_BINS],
            }),
        }
    }

    /// Adds an I/O. Windows that end before it are passed to `emit`.
    pub(crate) fn add(&mut self, record: &IoRecord, emit: impl FnMut(&HistogramLine)) {
        if self.width_ns > 0 {
            self.advance(within_run_time(record.end_ns, self.runtime_ns, self.width_ns), emit);
        }
        let Some(counts) = self.directions.get_mut(usize::from(record.direction)) else { return };
        counts.used = true;
        counts.block_size = u64::from(record.length);
        let bin = bin_of(record.clat_ns).unwrap_or(LOGGED_BINS).min(LOGGED_BINS - 1);
        counts.bins[bin] += 1;
    }

    fn advance(&mut self, now_ns: u64, mut emit: impl FnMut(&HistogramLine)) {
        while self.end_ns <= now_ns {
            self.close_window(self.end_ns, &mut emit);
            self.end_ns += self.width_ns;
        }
    }

    /// Ends the log, and passes the remaining windows to `emit`.
    pub(crate) fn finish(&mut self, end_ns: u64, mut emit: impl FnMut(&HistogramLine)) {
        if self.width_ns > 0 {
            self.advance(within_run_time(end_ns, self.runtime_ns, self.width_ns), &mut emit);
        }
        if self.directions.iter().any(|counts| counts.bins.iter().any(|&count| count > 0)) {
            let end_ns = if self.width_ns > 0 { self.end_ns } else { end_ns };
            self.close_window(end_ns, &mut emit);
        }
    }

    fn close_window(&mut self, end_ns: u64, emit: &mut impl FnMut(&HistogramLine)) {
        for (direction, counts) in self.directions.iter_mut().enumerate() {
            if counts.used {
                let bins = counts.bins.chunks(1 << self.coarseness).map(|chunk| chunk.iter().sum()).collect();
                counts.bins.fill(0);
                emit(&HistogramLine {
                    time_ms: end_ns / 1_000_000,
                    direction: direction as u8,
                    block_size: counts.block_size,
                    bins,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn broken_lines_are_none() {
        for broken in ["", "1, 0, 4096", "1, 3, 4096, 0", "1, 0, 4096, 1, 2, 3", "a, 0, 4096, 1"] {
            assert_eq!(HistogramLine::parse(broken), None, "{broken}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_can_be_read(time_ms: u64, direction in 0u8..3, block_size: u64, coarseness in 0u32..7, seed: u64) {
            let bins = (0..LOGGED_BINS as u64 >> coarseness).map(|bin| bin.wrapping_mul(seed)).collect();
            let line = HistogramLine { time_ms, direction, block_size, bins };
            let mut text = Vec::new();
            line.write_line(&mut text);
            prop_assert_eq!(HistogramLine::parse(&String::from_utf8(text).expect("ASCII")), Some(line));
        }
    }
}
