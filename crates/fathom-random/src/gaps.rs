//! Interarrival gaps with a mean of 1.

use crate::Taus88;
use rand_core::TryRng;
use rand_distr::{Distribution, Gamma};
use std::convert::Infallible;

/// The distribution of gaps, and the position in its sequence. A clone of this value continues with the same gaps.
#[derive(Clone, Debug)]
pub enum Gaps {
    /// Always 1.
    Even,
    /// Exponential, as in a Poisson process.
    Exponential(Taus88),
    /// Gamma.
    Gamma(Gamma<f64>, Taus88),
}

impl Gaps {
    /// Exponential gaps.
    pub fn exponential(seed: u64) -> Gaps {
        Gaps::Exponential(Taus88::new(seed))
    }

    /// Gaps from a gamma distribution with this standard deviation; even gaps for 0 or NaN.
    pub fn gamma(variation: f64, seed: u64) -> Gaps {
        let shape = 1.0 / (variation * variation);
        match Gamma::new(shape, 1.0 / shape) {
            Ok(gamma) if shape.is_finite() => Gaps::Gamma(gamma, Taus88::new(seed)),
            _ => Gaps::Even,
        }
    }

    /// The next gap.
    pub fn next_gap(&mut self) -> f64 {
        match self {
            Gaps::Even => 1.0,
            Gaps::Exponential(numbers) => exponential_gap(numbers.next_u32()),
            Gaps::Gamma(gamma, numbers) => gamma.sample(numbers),
        }
    }
}

/// The shares that consecutive gaps take of a span that they fill together.
#[derive(Clone, Debug)]
pub struct Shares {
    /// Shape of the gamma distribution of the gaps; `None` for even ones.
    shape: Option<f64>,
    numbers: Taus88,
}

impl Shares {
    /// Gaps from a gamma distribution whose standard deviation is `variation` times its mean; even gaps for 0 or NaN.
    pub fn new(variation: f64, seed: u64) -> Shares {
        let shape = 1.0 / (variation * variation);
        Shares { shape: Some(shape).filter(|shape| shape.is_finite()), numbers: Taus88::new(seed) }
    }

    /// The share of the next gap of what is left of the span, with `others` gaps after it: a beta distribution, as the share of one
    /// gamma variable in the sum of two.
    pub fn next_share(&mut self, others: u64) -> f64 {
        let even = 1.0 / (others as f64 + 1.0);
        let Some(shape) = self.shape else { return even };
        let mut draw =
            |shape: f64| Gamma::new(shape, 1.0).map_or(0.0, |gamma| gamma.sample(&mut self.numbers));
        let (own, rest) = (draw(shape), draw(shape * others as f64));
        match own + rest > 0.0 {
            true => own / (own + rest),
            // Both draws underflowed to 0, so one gap takes all that is left: this one with probability `even`.
            false => f64::from(u8::from(f64::from(self.numbers.next_u32()) / 4_294_967_296.0 < even)),
        }
    }
}

/// The gap for a random number, in a Poisson process with a mean gap of 1.
#[inline]
pub fn exponential_gap(number: u32) -> f64 {
    // 1 - u is never 0.
    -(1.0 - f64::from(number) / 4_294_967_296.0).ln()
}

impl TryRng for Taus88 {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(Taus88::next_u32(self))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let high = u64::from(Taus88::next_u32(self));
        Ok(high << 32 | u64::from(Taus88::next_u32(self)))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for part in bytes.chunks_mut(4) {
            let number = Taus88::next_u32(self).to_le_bytes();
            part.copy_from_slice(&number[..part.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const COUNT: usize = 200_000;

    /// Mean and standard deviation of many gaps.
    fn moments(mut gaps: Gaps) -> (f64, f64) {
        let values: Vec<f64> = (0..COUNT).map(|_| gaps.next_gap()).collect();
        let mean = values.iter().sum::<f64>() / COUNT as f64;
        let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / COUNT as f64;
        (mean, square.sqrt())
    }

    #[test]
    fn gaps_have_the_mean_and_the_deviation_that_they_should() {
        for (gaps, deviation) in [
            (Gaps::Even, 0.0),
            (Gaps::exponential(7), 1.0),
            (Gaps::gamma(0.0, 7), 0.0),
            (Gaps::gamma(0.25, 7), 0.25),
            (Gaps::gamma(1.0, 7), 1.0),
            (Gaps::gamma(3.0, 7), 3.0),
        ] {
            let (mean, found) = moments(gaps.clone());
            assert!((mean - 1.0).abs() < 0.03, "{gaps:?}: mean {mean}");
            assert!((found - deviation).abs() <= 0.05 * deviation, "{gaps:?}: deviation {found}");
        }
    }

    #[test]
    fn shares_of_a_span_are_equal_on_average() {
        for variation in [0.0, 0.5, 1.0, 3.0, 80.0] {
            let mut shares = Shares::new(variation, 9);
            let mut sums = [0.0; 4];
            for _ in 0..50_000 {
                let mut left = 1.0;
                for (place, sum) in sums.iter_mut().enumerate() {
                    let gap = left * shares.next_share(3 - place as u64);
                    left -= gap;
                    *sum += gap / 50_000.0;
                }
            }
            assert!(sums[..3].iter().all(|sum| (sum - 0.25).abs() < 0.02), "{variation}: {sums:?}");
        }
    }

    proptest! {
        #[test]
        fn a_clone_goes_on_alike(seed: u64, variation in 0.0f64..100.0, before in 0usize..50) {
            for mut gaps in [Gaps::exponential(seed), Gaps::gamma(variation, seed)] {
                (0..before).for_each(|_| { gaps.next_gap(); });
                let mut other = gaps.clone();
                for _ in 0..50 {
                    let gap = gaps.next_gap();
                    prop_assert!(gap.is_finite() && gap >= 0.0);
                    prop_assert_eq!(gap, other.next_gap());
                }
            }
        }
    }
}
