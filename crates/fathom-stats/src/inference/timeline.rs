//! Computes a figure of one run with an interval from its timeline. Consecutive points are correlated: a device
//! that is slow now is probably still slow a second later. If each point of the timeline were treated as an
//! independent measurement, the precision would be overstated. Therefore points are combined into batches, and
//! the interval is widened by the remaining correlation between batches.

use super::distributions::student_quantile;
use super::{CONFIDENCE, Interval};

/// Maximum number of batches. Source: B. Schmeiser, "Batch size effects in the analysis of simulation output",
/// Operations Research 30 (1982): more than 30 batches improve the result only slightly.
const MOST_BATCHES: usize = 20;
/// Minimum number of points; with fewer, there is no interval.
pub const FEWEST_POINTS: usize = 5;

/// An estimate with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The figure of the whole run.
    pub value: f64,
    /// Standard error of the figure.
    pub standard_error: f64,
    /// Degrees of freedom of the standard error.
    pub degrees: f64,
}

impl Estimate {
    /// Returns the half width of the 95 % interval.
    pub fn half_width(&self) -> f64 {
        student_quantile(0.5 + CONFIDENCE / 2.0, self.degrees) * self.standard_error
    }

    /// The 95 % interval.
    pub fn interval(&self) -> Interval {
        Interval::around(self.value, self.half_width())
    }
}

/// Estimates the sum of `amounts` divided by the sum of `sizes`, with one of each per point of the timeline:
/// bytes by seconds for a rate, or I/Os above a limit by I/Os for a share. `None` for too few points, or if the
/// sizes are 0.
///
/// The standard error is that of a ratio of sums over up to 20 batches (W. G. Cochran, "Sampling Techniques",
/// 1977, section 6.4). n correlated batches count for only n (1 - r) / (1 + r), where r is the correlation of
/// neighbours, as in a process that forgets exponentially (G. V. Bayley and J. M. Hammersley, "The effective
/// number of independent observations in an autocorrelated time series", JRSS Supplement 8, 1946), with
/// Kendall's correction of r for short series.
pub fn ratio_of_sums(amounts: &[f64], sizes: &[f64]) -> Option<Estimate> {
    let points = amounts.len().min(sizes.len());
    let total: f64 = sizes.iter().take(points).sum();
    if points < FEWEST_POINTS || total <= 0.0 {
        return None;
    }
    let value = amounts.iter().take(points).sum::<f64>() / total;
    let batches = points.min(MOST_BATCHES);
    let residuals: Vec<f64> = (0..batches)
        .map(|batch| {
            let range = batch * points / batches..(batch + 1) * points / batches;
            let (amount, size): (f64, f64) = (amounts[range.clone()].iter().sum(), sizes[range].iter().sum());
            amount - value * size
        })
        .collect();
    let count = batches as f64;
    let effective = effective_number(&residuals);
    let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
    // Each effective batch covers an equal share of the run, so the error is scaled by their number.
    let deviation = (squares / (count - 1.0)).sqrt() * count / total;
    Some(Estimate {
        value,
        standard_error: deviation / effective.sqrt(),
        degrees: (effective - 1.0).max(1.0),
    })
}

/// Returns the number of independent batches with the same information as these, whose mean is zero.
fn effective_number(residuals: &[f64]) -> f64 {
    let count = residuals.len() as f64;
    let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
    if squares == 0.0 {
        return count;
    }
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let raw = products / squares;
    let correlation = (raw + (1.0 + 3.0 * raw) / count).clamp(0.0, 0.95);
    (count * (1.0 - correlation) / (1.0 + correlation)).max(2.0)
}

/// Estimates a rate of which only the mean, the standard deviation and the number of samples are known, but not
/// their order. The correlation of neighbouring samples is unknown, so four of them count as one, up to 20 in
/// total. `None` for too few samples.
pub fn mean_of_samples(mean: f64, deviation: f64, samples: u64) -> Option<Estimate> {
    let effective = (samples as f64 / 4.0).min(MOST_BATCHES as f64);
    let standard_error = deviation / effective.sqrt();
    (samples >= 8 && deviation.is_finite() && mean > 0.0).then_some(Estimate {
        value: mean,
        standard_error,
        degrees: effective - 1.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::simulation::{Noise, coverage};
    use proptest::prelude::*;

    /// Returns an autoregressive rate: each point keeps the share `memory` of the previous point's distance
    /// from the mean.
    fn wandering(noise: &mut Noise, points: usize, memory: f64) -> Vec<f64> {
        let mut distance = noise.normal();
        let fresh = (1.0 - memory * memory).sqrt();
        (0..points)
            .map(|_| {
                distance = memory * distance + fresh * noise.normal();
                100.0 + 5.0 * distance
            })
            .collect()
    }

    #[test]
    fn intervals_hold_the_truth_although_moments_resemble_each_other() {
        for (points, memory) in [(40, 0.0), (40, 0.5), (120, 0.8), (240, 0.9), (8, 0.0)] {
            let share = coverage(|noise: &mut Noise| {
                let rates = wandering(noise, points, memory);
                let estimate = ratio_of_sums(&rates, &vec![1.0; points]).expect("there are enough");
                estimate.interval().contains(100.0)
            });
            assert!(share > 0.92, "{share} of {points} points that keep {memory}");
        }
    }

    #[test]
    fn too_short_a_timeline_says_nothing() {
        assert_eq!(ratio_of_sums(&[1.0; 4], &[1.0; 4]), None);
        assert_eq!(ratio_of_sums(&[0.0; 9], &[0.0; 9]), None);
        assert_eq!(mean_of_samples(100.0, 5.0, 7), None);
    }

    #[test]
    fn a_steady_rate_has_no_width() {
        let estimate = ratio_of_sums(&[50.0; 30], &[0.5; 30]).expect("there are enough");
        assert_eq!((estimate.value, estimate.half_width()), (100.0, 0.0));
    }

    proptest! {
        #[test]
        fn the_unit_does_not_matter(rates in prop::collection::vec(1.0f64..1e3, 5..100), unit in 0.001f64..1e3) {
            let sizes = vec![0.25; rates.len()];
            let scaled: Vec<f64> = rates.iter().map(|rate| rate * unit).collect();
            let (one, other) = (ratio_of_sums(&rates, &sizes), ratio_of_sums(&scaled, &sizes));
            let (one, other) = (one.expect("enough"), other.expect("enough"));
            prop_assert!((one.value * unit / other.value - 1.0).abs() < 1e-9);
            prop_assert!((one.half_width() * unit - other.half_width()).abs() <= 1e-9 * other.half_width() + 1e-9);
        }
    }
}
