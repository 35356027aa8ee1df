//! A timeline for traces whose length is not known beforehand: a bounded number of bins that double their width
//! when the trace outgrows them.

/// Maximum number of bins. A trace longer than this number of the shortest bins has at least half as many.
pub const MOST_BINS: usize = 256;
/// Initial width of the bins in ns.
const SHORTEST: u64 = 1_000_000;

/// The content of a bin.
pub trait Bin: Default {
    /// Adds the content of the next bin to this one.
    fn absorb(&mut self, next: Self);
}

/// Bins that start at the time of the first value.
#[derive(Clone, Debug)]
pub struct Timeline<B> {
    start_ns: Option<u64>,
    width_ns: u64,
    bins: Vec<B>,
}

impl<B> Default for Timeline<B> {
    fn default() -> Timeline<B> {
        Timeline { start_ns: None, width_ns: SHORTEST, bins: Vec::new() }
    }
}

impl<B: Bin> Timeline<B> {
    /// Returns the bin of a time; the first bin for times before the start.
    pub fn at(&mut self, time_ns: u64) -> &mut B {
        let index = self.index(time_ns);
        &mut self.bins[index]
    }

    fn index(&mut self, time_ns: u64) -> usize {
        let start = *self.start_ns.get_or_insert(time_ns);
        let since = time_ns.saturating_sub(start);
        while since / self.width_ns >= MOST_BINS as u64 {
            self.halve();
        }
        let index = (since / self.width_ns) as usize;
        if index >= self.bins.len() {
            self.bins.resize_with(index + 1, B::default);
        }
        index
    }

    /// Splits a span among its bins: `change` gets each bin, and the number of nanoseconds of the span within
    /// the bin.
    pub fn share(&mut self, from_ns: u64, to_ns: u64, mut change: impl FnMut(&mut B, u64)) {
        // The first time that is looked up becomes the start.
        self.index(from_ns);
        let last = self.index(to_ns);
        let first = self.index(from_ns).min(last);
        let start = self.start_ns.unwrap_or(from_ns);
        for (index, bin) in self.bins[first..=last].iter_mut().enumerate() {
            let begin = start.saturating_add((first + index) as u64 * self.width_ns);
            let end = begin.saturating_add(self.width_ns);
            let within = to_ns.min(end).saturating_sub(from_ns.max(begin));
            change(bin, within);
        }
    }

    fn halve(&mut self) {
        let mut bins = std::mem::take(&mut self.bins).into_iter();
        while let Some(mut bin) = bins.next() {
            if let Some(next) = bins.next() {
                bin.absorb(next);
            }
            self.bins.push(bin);
        }
        self.width_ns *= 2;
    }

    /// Returns the width of the bins in ns.
    pub fn width_ns(&self) -> u64 {
        self.width_ns
    }

    /// Returns the bins from the start on.
    pub fn bins(&self) -> &[B] {
        &self.bins
    }

    /// Returns all bins for modification.
    pub fn bins_mut(&mut self) -> &mut [B] {
        &mut self.bins
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Default)]
    struct Sum(u64);

    impl Bin for Sum {
        fn absorb(&mut self, next: Sum) {
            self.0 += next.0;
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_the_number_of_bins_is_bounded(steps in prop::collection::vec(0u64..40_000_000_000, 1..200)) {
            let mut timeline = Timeline::<Sum>::default();
            let mut now = 5_000;
            for step in &steps {
                now += step;
                timeline.at(now).0 += 1;
            }
            prop_assert_eq!(timeline.bins().iter().map(|bin| bin.0).sum::<u64>(), steps.len() as u64);
            prop_assert!(timeline.bins().len() <= MOST_BINS);
        }

        #[test]
        fn spans_are_shared_to_the_nanosecond(from in 0u64..1_000_000_000, length in 0u64..50_000_000_000) {
            let mut timeline = Timeline::<Sum>::default();
            timeline.at(0);
            timeline.share(from, from + length, |bin, ns| bin.0 += ns);
            prop_assert_eq!(timeline.bins().iter().map(|bin| bin.0).sum::<u64>(), length);
        }
    }
}
