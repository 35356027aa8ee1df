//! The state of the run: the last tick, the history of some figures, and the last messages.

use crate::history::History;
use fathom_report::scale::{Base, Scale, duration, scaled};
use fathom_stats::PerDirection;
use fathom_stats::live::{LiveDetails, LiveTick};
use std::collections::VecDeque;

/// Messages kept.
const MESSAGES: usize = 32;
/// Maximum number of digits of a figure.
const FIGURES: u32 = 4;

/// The state of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) tick: LiveTick,
    pub(crate) details: LiveDetails,
    /// Bytes per second.
    pub(crate) rates: PerDirection<History>,
    /// p50, p99 and p99.9 of the completion latency, in ns.
    pub(crate) latencies: [History; 3],
    /// I/Os in flight.
    pub(crate) in_flight: History,
    /// The last messages, one line each.
    pub(crate) messages: VecDeque<String>,
}

impl State {
    /// Records the figures of a new tick.
    pub(crate) fn advance(&mut self, tick: &LiveTick, details: &LiveDetails) {
        self.tick.clone_from(tick);
        self.details.clone_from(details);
        for (direction, history) in self.rates.iter_mut() {
            let all: u64 = details.jobs.iter().map(|job| job.bytes_per_second[direction]).sum();
            history.push(Some(all));
        }
        let percentiles = self.percentiles();
        for (history, value) in self.latencies.iter_mut().zip(percentiles) {
            history.push(value);
        }
        let (in_flight, _) = details.depth();
        self.in_flight.push(Some(in_flight));
    }

    /// Adds a message, which may have several lines.
    pub(crate) fn add_message(&mut self, text: &str) {
        for line in text.lines().map(printable).filter(|line| !line.trim().is_empty()) {
            if self.messages.len() == MESSAGES {
                self.messages.pop_front();
            }
            self.messages.push_back(line);
        }
    }

    /// Returns p50, p99 and p99.9 of the last interval, in ns.
    pub(crate) fn percentiles(&self) -> [Option<u64>; 3] {
        let latency = self.details.latency;
        [
            latency.map(|values| values.p50_ns),
            latency.map(|values| values.p99_ns),
            latency.map(|values| values.p99_9_ns),
        ]
    }

    /// Formats a number of bytes per second in the units that the run requests.
    pub(crate) fn rate(&self, bytes_per_second: u64) -> String {
        // The units are unknown before the first tick.
        let kb_base = if self.tick.kb_base == 0 { 1024 } else { self.tick.kb_base };
        Scale::new(kb_base, self.tick.unit_base, FIGURES).rate(bytes_per_second)
    }
}

/// Formats a plain number in at most four digits: `316k`.
pub(crate) fn count(value: u64) -> String {
    scaled(value.into(), FIGURES, Base::Decimal, "")
}

/// Formats a latency; a dash if there is none.
pub(crate) fn latency(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), duration)
}

/// Returns the text without control characters, which a terminal would interpret.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}
