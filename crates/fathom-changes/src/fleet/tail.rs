//! Probabilities of deviations of healthy drives, of which the fast side shows how heavy their tails are.
//!
//! Student's t alone takes the far ends of a heavy tail for slow drives. The p-value is therefore at least that of a
//! generalised Pareto distribution which is fitted to the far end of the fast side, where there are no slow drives. It
//! assumes that the slow side of healthy drives, as logarithms, is no heavier than their fast side.

use fathom_stats::inference::distributions::student_cdf;
use fathom_stats::inference::mean;

/// Number of siblings from which on the tail is fitted.
const FEWEST_FOR_TAIL: usize = 200;
/// One drive in this many is in the tail.
const SHARE: usize = 20;
/// Minimum number of drives in the tail.
const FEWEST_OF_A_TAIL: usize = 20;

/// What is added to the shape of the tail: half of all fits are too light.
const CAUTION: f64 = 0.1;
/// Heaviest shape; from 1 on, a tail has no mean.
const HEAVIEST: f64 = 0.9;

/// The tail beyond a threshold.
#[derive(Clone, Copy, Debug)]
struct Tail {
    /// Where it begins.
    threshold: f64,
    /// Share of the drives beyond.
    share: f64,
    scale: f64,
    /// From 0, an exponential tail, upwards.
    shape: f64,
}

/// Returns the one-sided p-values of deviations, which are positive where drives are worse.
pub(super) fn p_values(deviations: &[f64]) -> Vec<f64> {
    let degrees = (deviations.len() as f64 - 1.0).max(1.0);
    let tail = tail(deviations);
    let beyond = |deviation: f64| tail.map_or(0.0, |tail| tail.beyond(deviation));
    deviations.iter().map(|deviation| student_cdf(-deviation, degrees).max(beyond(*deviation))).collect()
}

/// Fits the tail of the fast side by probability-weighted moments. Source: J. R. M. Hosking and J. R. Wallis, "Parameter and
/// quantile estimation for the generalized Pareto distribution", Technometrics 29 (1987).
fn tail(deviations: &[f64]) -> Option<Tail> {
    let count = (deviations.len() / SHARE).max(FEWEST_OF_A_TAIL);
    if deviations.len() < FEWEST_FOR_TAIL {
        return None;
    }
    let mut fast: Vec<f64> = deviations.iter().map(|deviation| -deviation).collect();
    fast.sort_by(f64::total_cmp);
    let first = fast.len() - count;
    let threshold = fast[first - 1];
    let excesses: Vec<f64> = fast[first..].iter().map(|deviation| deviation - threshold).collect();
    let n = count as f64;
    let weighted = |(index, excess): (usize, &f64)| (1.0 - (index as f64 + 0.65) / n) * excess / n;
    let first_moment = mean(&excesses);
    let second_moment: f64 = excesses.iter().enumerate().map(weighted).sum();
    let shape = 2.0 - first_moment / (first_moment - 2.0 * second_moment);
    let share = n / fast.len() as f64;
    if !(threshold > 0.0 && first_moment > 0.0 && shape.is_finite()) {
        return None;
    }
    // Lighter tails than the exponential are not believed, and a part of the standard error of the shape (0.14 for 50
    // excesses) is added to it. The mean of the excesses stays what it is.
    let shape = (shape + CAUTION).clamp(0.0, HEAVIEST);
    Some(Tail { threshold, share, scale: first_moment * (1.0 - shape), shape })
}

impl Tail {
    /// Probability of a deviation beyond this one.
    fn beyond(&self, deviation: f64) -> f64 {
        let excess = (deviation - self.threshold) / self.scale;
        if excess <= 0.0 {
            return 0.0;
        }
        let beyond = match self.shape > 1e-6 {
            true => (1.0 + self.shape * excess).powf(-1.0 / self.shape),
            false => (-excess).exp(),
        };
        self.share * beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_stats::inference::distributions::student_quantile;

    /// The quantiles of Student's t, as a sample without luck.
    fn sample(degrees: f64, count: usize) -> Vec<f64> {
        (0..count).map(|index| student_quantile((index as f64 + 0.5) / count as f64, degrees)).collect()
    }

    #[test]
    fn heavy_tails_are_recognised() {
        for (degrees, deviation) in [(3.0, 12.0), (5.0, 8.0)] {
            let mut deviations = sample(degrees, 1_000);
            deviations.push(deviation);
            let found = *p_values(&deviations).last().expect("it is there");
            let truth = student_cdf(-deviation, degrees);
            assert!((0.5..5.0).contains(&(found / truth)), "{degrees}: {found} for {truth}");
        }
    }

    #[test]
    fn normal_tails_stay_light() {
        let mut deviations = sample(1e3, 1_000);
        deviations.push(6.0);
        let found = *p_values(&deviations).last().expect("it is there");
        assert!(found < 5e-5, "{found}");
        assert!(p_values(&[0.0; 300]).iter().all(|p_value| (p_value - 0.5).abs() < 1e-12));
    }
}
