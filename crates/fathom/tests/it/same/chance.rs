//! Reproducible random choices.

use fathom_stats::split_mix::split_mix;
use std::time::{Duration, Instant};

/// A generator.
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (split_mix(&mut self.0) % end.max(1) as u64) as usize
    }

    /// True in this many of a hundred cases.
    pub(super) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// A random element of a list.
    pub(super) fn one<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// The seeds of random jobs, starting with `COMPARE_SEED` (default 1): for `COMPARE_SECONDS`, or this many jobs if that is not set.
pub(super) fn seeds(jobs: u64) -> impl Iterator<Item = u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (first, seconds) = (number("COMPARE_SEED").unwrap_or(1), number("COMPARE_SECONDS"));
    let begun = Instant::now();
    let goes_on = move |done: &u64| match seconds {
        Some(seconds) => begun.elapsed() < Duration::from_secs(seconds),
        None => *done < jobs,
    };
    (0..).take_while(goes_on).map(move |done| first.wrapping_add(done))
}
