//! Assigns windows of histogram logs to time intervals.

use super::histogram::{Histogram, Layout};
use crate::input;
use crate::log_summary::series::open_log;
use fathom_command::Failure;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Maximum number of intervals; more indicate a wrong interval.
const MOST_INTERVALS: f64 = 1e6;

/// Rules for reading and assigning logs.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) layout: Layout,
    /// Milliseconds.
    pub(super) interval_ms: f64,
    /// Length of a window; `None` if a window begins at the end of the previous one.
    pub(super) window_ms: Option<f64>,
    /// True to assign counts by overlap; otherwise all counts go to the end of the window.
    pub(super) by_overlap: bool,
    /// The only direction that is read; `None` for all.
    pub(super) direction: Option<u8>,
    /// Latency in nanoseconds above which I/Os are ignored.
    pub(super) latency_limit_ns: f64,
}

/// A line of a log.
#[derive(Clone, Debug)]
pub(super) struct Window {
    start_ms: f64,
    pub(super) end_ms: f64,
    direction: u8,
    counts: Vec<u64>,
    coarseness: u32,
}

impl Window {
    /// True for windows of this direction; always true without one.
    pub(super) fn is_of(&self, direction: Option<u8>) -> bool {
        direction.is_none_or(|direction| direction == self.direction)
    }
}

/// One interval with the I/Os that fall into it.
#[derive(Debug)]
pub(super) struct Interval {
    pub(super) start_ms: f64,
    pub(super) end_ms: f64,
    pub(super) histogram: Histogram,
}

/// The windows of all logs.
pub(super) fn read(files: &[PathBuf], rules: &Rules) -> Result<Vec<Window>, Failure> {
    let mut all = Vec::new();
    for file in files {
        read_file(file, rules, &mut all)?;
    }
    all.retain(|window: &Window| window.is_of(rules.direction));
    if all.is_empty() {
        return Err(Failure::new("the logs have no windows"));
    }
    Ok(all)
}

/// Reason for which a line does not belong to a histogram log.
#[derive(Debug, Error)]
enum BadLine {
    #[error(
        "not a line of a histogram log: expected milliseconds, direction (0 to 2), block size at its start"
    )]
    Start,
    #[error("a bin is not a whole number")]
    Bin,
    #[error("{bins} bins; expected {expected}, or fewer by a power of two")]
    Number { bins: usize, expected: usize },
}

fn read_file(file: &Path, rules: &Rules, all: &mut Vec<Window>) -> Result<(), Failure> {
    let mut last_ms: [Option<f64>; 3] = [None; 3];
    let mut reader = open_log(file)?;
    let first = all.len();
    input::lines(file, &mut reader, |line| {
        let mut numbers = line.trim_end_matches(',').split(',').map(|field| field.trim().parse::<u64>().ok());
        let mut next = || numbers.next().flatten();
        let head = (next(), next(), next());
        let (Some(time), Some(direction @ 0..=2), Some(_block_size)) = head else {
            return Err(BadLine::Start);
        };
        let counts: Option<Vec<u64>> = numbers.collect();
        let counts = counts.ok_or(BadLine::Bin)?;
        let coarseness = rules
            .layout
            .coarseness(counts.len())
            .ok_or_else(|| BadLine::Number { bins: counts.len(), expected: rules.layout.bins() })?;
        let end_ms = time as f64;
        let last = &mut last_ms[direction as usize];
        let start_ms = match (rules.window_ms, *last) {
            (Some(window), _) => (end_ms - window).max(0.0),
            (None, Some(last)) => last.min(end_ms),
            // The length is corrected below, once the next window shows it.
            (None, None) => 0.0,
        };
        if last.is_some() && rules.window_ms.is_none() {
            correct_first(&mut all[first..], direction as u8, end_ms);
        }
        *last = Some(end_ms);
        all.push(Window { start_ms, end_ms, direction: direction as u8, counts, coarseness });
        Ok(())
    })
}

/// Corrects the first window to be as long as the second, because times may be relative to another epoch than
/// the start of the job.
fn correct_first(windows: &mut [Window], direction: u8, second_end_ms: f64) {
    let mut own = windows.iter_mut().filter(|window| window.direction == direction);
    if let (Some(first), None) = (own.next(), own.next()) {
        first.start_ms = (first.end_ms - (second_end_ms - first.end_ms)).clamp(0.0, first.end_ms);
    }
}

/// Assigns the windows to intervals, from the first used one to the last.
pub(super) fn divide(windows: &[Window], rules: &Rules) -> Result<Vec<Interval>, Failure> {
    let interval_ms = rules.interval_ms;
    let start = windows.iter().map(|window| window.start_ms).fold(f64::INFINITY, f64::min);
    let end = windows.iter().map(|window| window.end_ms).fold(0.0, f64::max);
    let first = (start / interval_ms).floor();
    let count = ((end / interval_ms).ceil() - first).max(1.0);
    if count > MOST_INTERVALS {
        return Err(Failure::new(format!(
            "intervals of {interval_ms} ms make {count:.0} lines; use longer intervals"
        )));
    }
    let coarseness = windows.iter().map(|window| window.coarseness).max().unwrap_or_default();
    let mut intervals: Vec<Option<Histogram>> = vec![None; count as usize];
    let mut add = |index: usize, window: &Window, weight: f64| {
        let histogram = intervals[index].get_or_insert_with(|| Histogram::new(rules.layout, coarseness));
        histogram.add(&window.counts, weight);
    };
    let last = count as usize - 1;
    // A time at the boundary of two intervals belongs to the first.
    let ending_at = |time: f64| ((time / interval_ms - first).ceil() as usize).saturating_sub(1).min(last);
    for window in windows {
        let length = window.end_ms - window.start_ms;
        if !rules.by_overlap || length <= 0.0 {
            add(ending_at(window.end_ms), window, 1.0);
            continue;
        }
        let from = ((window.start_ms / interval_ms - first).floor() as usize).min(last);
        for index in from..=ending_at(window.end_ms) {
            let start = (first + index as f64) * interval_ms;
            let overlap = window.end_ms.min(start + interval_ms) - window.start_ms.max(start);
            if overlap > 0.0 {
                add(index, window, overlap / length);
            }
        }
    }
    let filled = intervals.into_iter().enumerate().filter_map(|(index, histogram)| {
        let mut histogram = histogram?;
        histogram.cut_above(rules.latency_limit_ns);
        let start_ms = (first + index as f64) * interval_ms;
        Some(Interval { start_ms, end_ms: start_ms + interval_ms, histogram })
    });
    Ok(filled.collect())
}

/// The sum of all windows.
pub(super) fn whole(windows: &[Window], rules: &Rules) -> Histogram {
    let coarseness = windows.iter().map(|window| window.coarseness).max().unwrap_or_default();
    let mut histogram = Histogram::new(rules.layout, coarseness);
    windows.iter().for_each(|window| histogram.add(&window.counts, 1.0));
    histogram.cut_above(rules.latency_limit_ns);
    histogram
}
