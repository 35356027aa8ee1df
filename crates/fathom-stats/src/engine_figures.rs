//! The engine's own counters and timers, by name: connections, responses by status, times to the first byte.

use crate::latency::LatencyStats;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Figures of one clone, or of several clones, whose figures merge exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineFigures {
    /// Counts and amounts.
    pub counts: BTreeMap<String, u64>,
    /// Times in ns.
    pub times: BTreeMap<String, LatencyStats>,
}

impl EngineFigures {
    /// Adds a number to a counter.
    pub fn count(&mut self, what: &str, number: u64) {
        match self.counts.get_mut(what) {
            Some(sum) => *sum += number,
            None => drop(self.counts.insert(what.to_owned(), number)),
        }
    }

    /// Adds a time in ns.
    pub fn record(&mut self, what: &str, ns: u64) {
        match self.times.get_mut(what) {
            Some(stats) => stats.record(ns),
            None => self.times.entry(what.to_owned()).or_default().record(ns),
        }
    }

    /// Adds all figures of `other`.
    pub fn merge(&mut self, other: &EngineFigures) {
        for (what, number) in &other.counts {
            self.count(what, *number);
        }
        for (what, stats) in &other.times {
            self.times.entry(what.clone()).or_default().merge(stats);
        }
    }

    /// True if there are no figures.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty() && self.times.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_is_recording_together() {
        let (mut one, mut other, mut both) = Default::default();
        let add = |figures: &mut EngineFigures, ns| {
            figures.count("status 200", 1);
            figures.record("get", ns);
        };
        (1..50).for_each(|ns| add(&mut one, ns * 1000));
        (1..9).for_each(|ns| add(&mut other, ns * 777));
        other.count("retries", 2);
        (1..50).for_each(|ns| add(&mut both, ns * 1000));
        (1..9).for_each(|ns| add(&mut both, ns * 777));
        both.count("retries", 2);
        one.merge(&other);
        assert_eq!(one, both);
    }
}
