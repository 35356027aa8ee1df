//! The part of the devices that is recorded: all of it at low rates, a smaller one where recording would disturb the
//! jobs.
//!
//! The smaller of two samples is part of the larger one, so a change of the sample loses no I/O: one that was in flight
//! then belongs to the smallest sample of its time, all of whose events were recorded.

use fathom_record::Sample;
use std::collections::VecDeque;

/// Requests per second and processor that are recorded without a sample. A request costs the kernel and the recorder
/// about 4 µs, so this is a fiftieth of the machine.
const MOST_OF_PROCESSOR: usize = 5_000;
/// Requests per second beyond which one process cannot record them all.
const MOST_REQUESTS: usize = 100_000;
/// The sample is chosen anew after this time, ns.
const CHOICE_NS: u64 = 100_000_000;
/// Rates, as multiples of the most that is recorded, between which the sample stays the same.
const STAYS: std::ops::RangeInclusive<f64> = 0.25..=1.25;
const LARGEST_SHIFT: u32 = 12;
/// Changes that are remembered.
const MOST_CHANGES: usize = 1 << 12;

/// The samples of a run, and the choice of the next one.
pub(super) struct Sampling {
    region: u32,
    most_per_second: f64,
    chosen_ns: u64,
    requests_before: u64,
    /// Since when, in monotonic ns, all events of a sample were recorded, and the sample's shift; the newest last.
    changes: VecDeque<(u64, u32)>,
}

impl Sampling {
    /// Begins with everything, in regions of this size.
    pub(super) fn new(region: u32, now_ns: u64) -> Sampling {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Sampling {
            region,
            most_per_second: (MOST_OF_PROCESSOR * processors).min(MOST_REQUESTS) as f64,
            chosen_ns: now_ns,
            requests_before: 0,
            changes: VecDeque::from([(0, 0)]),
        }
    }

    /// Returns the sample that is recorded.
    pub(super) fn now(&self) -> Sample {
        self.sample(self.changes.back().map_or(0, |(_, shift)| *shift))
    }

    /// Returns the sample all of whose events from `start_ns` to `end_ns` were recorded; `None` if that is too long ago.
    pub(super) fn during(&self, start_ns: u64, end_ns: u64) -> Option<Sample> {
        let mut smallest = 0;
        for &(since_ns, shift) in self.changes.iter().rev().skip_while(|(since_ns, _)| *since_ns > end_ns) {
            smallest = shift.max(smallest);
            if since_ns <= start_ns {
                return Some(self.sample(smallest));
            }
        }
        None
    }

    /// Returns another sample if there were too many requests for this one or very few. `requests` is their number up to
    /// `until_ns`.
    pub(super) fn choose(&mut self, until_ns: u64, requests: u64) -> Option<Sample> {
        let span_ns = until_ns.saturating_sub(self.chosen_ns);
        if span_ns < CHOICE_NS {
            return None;
        }
        let per_second = (requests - self.requests_before) as f64 * 1e9 / span_ns as f64;
        (self.chosen_ns, self.requests_before) = (until_ns, requests);
        let times = per_second / self.most_per_second;
        let shift = self.now().shift;
        let wanted = match shift {
            _ if times > *STAYS.end() => (shift + times.log2().ceil() as u32).min(LARGEST_SHIFT),
            _ if times < *STAYS.start() => shift.saturating_sub(1),
            _ => shift,
        };
        (wanted != shift).then(|| self.sample(wanted))
    }

    /// Notes that the kernel was told of this sample between two times.
    pub(super) fn change(&mut self, sample: Sample, before_ns: u64, after_ns: u64) {
        // The events of a smaller sample were recorded before the change as well.
        let since_ns = if sample.shift > self.now().shift { before_ns } else { after_ns };
        if self.changes.len() >= MOST_CHANGES {
            self.changes.pop_front();
        }
        self.changes.push_back((since_ns, sample.shift));
    }

    fn sample(&self, shift: u32) -> Sample {
        Sample { region: self.region, shift }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn high_rates_are_sampled_and_low_ones_are_not() {
        let mut sampling = Sampling { most_per_second: 10_000.0, ..Sampling::new(7, 0) };
        assert_eq!(sampling.choose(SECOND / 1000, 1 << 40), None, "it is too soon");
        assert_eq!(sampling.choose(SECOND, 12_000), None);
        let smaller = sampling.choose(2 * SECOND, 12_000 + 70_000).expect("a change");
        assert_eq!(smaller, Sample { region: 7, shift: 3 });
        sampling.change(smaller, 2 * SECOND, 2 * SECOND + 5);
        assert_eq!(sampling.choose(3 * SECOND, 82_000 + 8_750), None);
        let larger = sampling.choose(4 * SECOND, 90_750 + 1_000).expect("a change");
        assert_eq!(larger.shift, 2);
    }

    #[test]
    fn changes_that_are_forgotten_make_old_ios_unknown() {
        let mut sampling = Sampling::new(7, 0);
        for number in 1..=MOST_CHANGES as u64 {
            let sample = Sample { region: 7, shift: (number % 2) as u32 };
            sampling.change(sample, number * 10, number * 10);
        }
        assert_eq!(sampling.during(0, 100), None);
        assert!(sampling.during(25, 100).is_some());
    }

    proptest! {
        /// The kernel had recorded all events of the sample at every instant of the I/O.
        #[test]
        fn an_io_has_the_smallest_sample_of_its_time(
            shifts in prop::collection::vec(0u32..6, 1..20),
            start in 0u64..2_500,
            length in 0u64..1_500,
        ) {
            let mut sampling = Sampling::new(7, 0);
            for (number, shift) in shifts.iter().enumerate() {
                let at = 100 * (number as u64 + 1);
                sampling.change(Sample { region: 7, shift: *shift }, at, at + 50);
            }
            // While it is being told, the kernel records at least the smaller of both.
            let at = |ns: u64| {
                let told = |place: u64| if place == 0 { 0 } else { shifts[(place as usize - 1).min(shifts.len() - 1)] };
                let (place, rest) = (ns / 100, ns % 100);
                match rest < 50 && place > 0 && place as usize <= shifts.len() {
                    true => told(place).max(told(place - 1)),
                    false => told(place),
                }
            };
            let smallest = (start..=start + length).map(at).max().unwrap_or(0);
            let found = sampling.during(start, start + length).expect("remembered");
            prop_assert_eq!(found.shift, smallest);
        }
    }
}
