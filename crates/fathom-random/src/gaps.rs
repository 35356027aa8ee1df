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
