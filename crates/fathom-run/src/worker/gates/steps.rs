//! Arrivals at a rate that changes from step to step.
//!
//! Each step has its share of the arrivals exactly, whatever the distribution of the gaps: a model of a load must not do more or less
//! by chance. Gaps within a step come from a gamma distribution and are scaled to fill it, so the shares of the step that they take
//! are those of a Dirichlet distribution, drawn one by one.

use fathom_random::Shares;
use std::sync::Arc;

/// The steps, which all positions in the sequence share.
#[derive(Debug)]
struct Steps {
    /// Ticks of a step.
    length: f64,
    /// Arrivals from the start of a cycle to the end of each step.
    ends: Vec<f64>,
}

impl Steps {
    fn per_cycle(&self) -> f64 {
        self.ends.last().copied().unwrap_or(1.0)
    }

    /// The step in which an arrival is due, counted from the first cycle, and the number of arrivals before the step's end.
    fn of(&self, arrival: u64) -> (u64, u64) {
        let per_cycle = self.per_cycle();
        let mut cycle = (arrival as f64 / per_cycle).floor();
        // Arrivals before the end of a step are those with a number below it.
        let mut within = arrival as f64 - cycle * per_cycle;
        let last = self.ends.len() - 1;
        if within >= per_cycle {
            (cycle, within) = (cycle + 1.0, within - per_cycle);
        }
        let step = self.ends.partition_point(|end| *end <= within).min(last);
        let end = (cycle * per_cycle + self.ends[step]).ceil() as u64;
        (cycle as u64 * self.ends.len() as u64 + step as u64, end.max(arrival + 1))
    }
}

/// A position in the sequence of arrivals.
#[derive(Clone, Debug)]
pub(super) struct StepCursor {
    steps: Arc<Steps>,
    shares: Shares,
    /// Number of the arrival.
    arrival: u64,
    /// Number of the first arrival after the step.
    end: u64,
    /// End of the step in ticks since the start.
    until: f64,
    /// When the arrival is due, in ticks since the start.
    at: f64,
}

impl StepCursor {
    /// The first arrival. `length` is that of a step in ticks, `rate` the mean rate per tick, `weights` the rates of the steps
    /// relative to each other, not all 0.
    pub(super) fn new(length: f64, rate: f64, weights: &[f64], shares: Shares) -> StepCursor {
        let total: f64 = weights.iter().sum();
        assert!(total > 0.0 && rate > 0.0 && length > 0.0, "a schedule without arrivals");
        let per_cycle = rate * length * weights.len() as f64;
        let mut sum = 0.0;
        let end = |weight: &f64| {
            sum += weight;
            sum / total * per_cycle
        };
        let steps = Arc::new(Steps { length, ends: weights.iter().map(end).collect() });
        let mut cursor = StepCursor { steps, shares, arrival: 0, end: 0, until: 0.0, at: 0.0 };
        cursor.find();
        cursor
    }

    /// When the arrival is due, in ticks since the start.
    pub(super) fn at(&self) -> f64 {
        self.at
    }

    /// Goes to the next arrival.
    pub(super) fn advance(&mut self) {
        self.arrival += 1;
        self.find();
    }

    fn find(&mut self) {
        if self.arrival >= self.end {
            let (step, end) = self.steps.of(self.arrival);
            self.end = end;
            // The last arrival of the step before may be due at its very end.
            self.at = self.at.max(step as f64 * self.steps.length);
            self.until = (step + 1) as f64 * self.steps.length;
        }
        // The gaps after this one: one before each arrival left in the step, and the last one up to its end.
        let others = self.end - self.arrival;
        self.at += (self.until - self.at).max(0.0) * self.shares.next_share(others);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_step_has_its_arrivals_in_order(
            weights in prop::collection::vec(prop_oneof![Just(0.0), 0.0f64..9.0], 1..12),
            rate in 0.0003f64..3.0,
            length in 1.0f64..1e4,
            variation in prop_oneof![Just(0.0), Just(1.0), 0.05f64..60.0],
        ) {
            let total: f64 = weights.iter().sum();
            prop_assume!(total > 0.0);
            let mut cursor = StepCursor::new(length, rate, &weights, Shares::new(variation, 5));
            let per_cycle = rate * length * weights.len() as f64;
            let (mut last, mut counts) = (0.0, vec![0u32; weights.len()]);
            let cycles = 3.0;
            while cursor.at() < length * weights.len() as f64 * cycles && counts.iter().sum::<u32>() < 20_000 {
                prop_assert!(cursor.at() >= last, "{} after {last}", cursor.at());
                last = cursor.at();
                counts[(last / length) as usize % weights.len()] += 1;
                cursor.advance();
            }
            if counts.iter().sum::<u32>() < 20_000 {
                for (count, weight) in counts.iter().zip(&weights) {
                    // A gap of no length puts an arrival on the border of its step.
                    let wanted = weight / total * per_cycle * cycles;
                    let border = if variation > 1.0 { f64::INFINITY } else { 0.0 };
                    prop_assert!((f64::from(*count) - wanted).abs() <= cycles + border, "{counts:?} of {wanted}");
                }
            }
        }
    }
}
