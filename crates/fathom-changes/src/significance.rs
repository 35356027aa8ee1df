//! Significance of a candidate: three tests of the runs before and after it, each for what another cannot do.
//!
//! * **Ranks** say how probable the candidate is in a series without a change. The scores of ranks have the same
//!   distribution whatever that of the runs, so one calibration holds for normal, skewed and heavy-tailed noise and for
//!   spikes. The candidate is the best of many places; [`places`] says how many independent ones they count for.
//! * **Welch's t-test** on winsorised logarithms guards against noise that changes: five noisy runs that happen to be on
//!   one side do not make a level. Each side has the larger of its variance and the common one, because that of few runs may be
//!   small by chance. If it is twelve times surer than it has to be of the best of all places, ranks are not asked: the ranks of
//!   five runs among 100 cannot say by how much they are further off than the others.
//! * **The same without winsorisation**, and with the degrees of freedom of the smaller side, takes over where few runs
//!   differ by much: five against five have too few orders for ranks to show anything, however far they are apart. It has
//!   to be a lot surer.
//!
//! All three count correlated runs as fewer (`effective`).

use crate::robust::winsorised;
use fathom_stats::inference::distributions::{normal_cdf, student_cdf};
use fathom_stats::inference::{mean, variance};

/// Significance level of the guard: that of Apache Otava's test.
const GUARD: f64 = 0.001;
/// How much surer than ranks the guard has to be to stand in for them.
const SURER: f64 = 12.0;
/// How much surer than the significance the t-test has to be to stand alone.
const ALONE: f64 = 0.02;
/// Correlation of neighbours beyond which a series is a random walk for all that can be said.
const MOST_CORRELATION: f64 = 0.9;

/// Two neighbouring sets of runs, and what the tests say of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Judgement {
    /// Probability of such a candidate in a series without a change.
    pub(crate) p_value: f64,
    /// The share of information in correlated runs, from 0 to 1: 1 for independent ones.
    pub(crate) effective: f64,
}

/// Judges the change between `logs[..place]` and `logs[place..end]`. `scores` are those of all `logs`.
pub(crate) fn judge(logs: &[f64], scores: &[f64], place: usize, end: usize) -> Judgement {
    let effective = effective(&scores[..place], &scores[place..end]);
    let (before, after) = (&logs[..place], &logs[place..end]);
    let scan = places(logs.len());
    let guard = by_means(&winsorised(before), &winsorised(after), effective, Degrees::Common);
    let by_ranks = match guard < GUARD {
        true => scan * by_scores(&scores[..end], place, effective),
        false => 1.0,
    };
    let by_distance = scan * guard * SURER;
    let alone = by_means(before, after, effective, Degrees::Satterthwaite) * logs.len() as f64 / ALONE;
    let p_value = by_ranks.min(by_distance).min(alone).clamp(0.0, 1.0);
    Judgement { p_value, effective }
}

/// Number of independent places that the choice of a candidate among `runs` counts for: every place and every end of
/// the set after it, which is why it grows nearly with the square. Fitted to the candidates of 10 to 1,000 runs in random
/// order at the default significance, and on the safe side for all of them, by a third at 100. `examples/proof.rs` measures
/// what comes of it.
fn places(runs: usize) -> f64 {
    (75.0 * (runs as f64 / 100.0).powf(1.8)).max(1.0)
}

/// Two-sided p-value of the difference of scores between the first `place` and the others, if all orders are equally likely.
fn by_scores(scores: &[f64], place: usize, effective: f64) -> f64 {
    let (before, after) = scores.split_at(place);
    let sizes = 1.0 / before.len() as f64 + 1.0 / after.len() as f64;
    let error = (variance(scores) * sizes / effective).sqrt();
    match error > 0.0 {
        true => 2.0 * normal_cdf(-((mean(after) - mean(before)) / error).abs()),
        false => 1.0,
    }
}

/// Two-sided p-value of a t-test in which each side has at least the common variance.
fn by_means(before: &[f64], after: &[f64], effective: f64, degrees: Degrees) -> f64 {
    let (m, n) = (before.len() as f64, after.len() as f64);
    let (one, other) = (variance(before), variance(after));
    let common = ((m - 1.0) * one + (n - 1.0) * other) / (m + n - 2.0);
    let (one, other) = (one.max(common) / m, other.max(common) / n);
    let error = ((one + other) / effective).sqrt();
    let distance = (mean(after) - mean(before)).abs();
    let degrees = match degrees {
        Degrees::Common => m + n - 2.0,
        Degrees::Satterthwaite => (one + other).powi(2) / (one * one / (m - 1.0) + other * other / (n - 1.0)),
    };
    match error > 0.0 {
        true => 2.0 * student_cdf(-distance / error, degrees),
        false => f64::from(u8::from(distance == 0.0)),
    }
}

/// Degrees of freedom of a t-test.
#[derive(Clone, Copy)]
enum Degrees {
    /// Of the common variance.
    Common,
    /// Of two variances: about those of the side that contributes more to the error.
    Satterthwaite,
}

/// The share of information in runs that resemble their neighbours: (1 - r) / (1 + r), where r is the correlation of
/// neighbours within each set. Source: G. V. Bayley and J. M. Hammersley, "The effective number of independent
/// observations in an autocorrelated time series", JRSS Supplement 8 (1946), with Kendall's correction of r for each
/// set's own mean.
pub(crate) fn effective(before: &[f64], after: &[f64]) -> f64 {
    let (mut products, mut squares) = (0.0, 0.0);
    for set in [before, after] {
        let centre = mean(set);
        squares += set.iter().map(|score| (score - centre).powi(2)).sum::<f64>();
        products += set.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).sum::<f64>();
    }
    if squares <= 0.0 {
        return 1.0;
    }
    let raw = products / squares;
    let count = (before.len() + after.len()) as f64;
    let correlation = (raw + 2.0 * (1.0 + 3.0 * raw) / count).clamp(0.0, MOST_CORRELATION);
    (1.0 - correlation) / (1.0 + correlation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robust::normal_scores;

    fn judged(logs: &[f64], place: usize) -> Judgement {
        judge(logs, &normal_scores(logs), place, logs.len())
    }

    #[test]
    fn ten_runs_show_a_change_only_if_it_is_large() {
        let noise = [0.0, 0.01, -0.01, 0.005, -0.004, 0.003, -0.01, 0.01, 0.002, -0.006];
        let with_step = |step: f64| -> Vec<f64> {
            noise
                .iter()
                .enumerate()
                .map(|(run, noise)| noise + step * f64::from(u8::from(run >= 5)))
                .collect()
        };
        assert!(judged(&with_step(0.02), 5).p_value > 0.005);
        assert!(judged(&with_step(0.5), 5).p_value < 0.005);
    }

    #[test]
    fn five_runs_far_apart_from_each_other_are_no_level() {
        let mut logs: Vec<f64> = (0..95).map(|run| f64::from((run * 7) % 11) * 0.1 - 0.5).collect();
        logs.extend([0.2, 2.5, 0.6, 4.0, 0.1]);
        assert!(judged(&logs, 95).p_value > 0.005);
        logs.truncate(95);
        logs.extend([1.9, 2.0, 2.1, 2.0, 1.9]);
        assert!(judged(&logs, 95).p_value < 0.005);
    }

    #[test]
    fn correlated_runs_count_as_fewer() {
        let alternating: Vec<f64> = (0..40).map(|run| f64::from(run % 2)).collect();
        let waves: Vec<f64> = (0..40).map(|run| f64::from((run / 10) % 2)).collect();
        assert!((effective(&alternating[..20], &alternating[20..]) - 1.0).abs() < 1e-12);
        assert!(effective(&waves[..20], &waves[20..]) < 0.2);
        assert!((effective(&[1.0; 5], &[1.0; 5]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn equal_runs_are_no_change() {
        assert!((judged(&[1.0; 20], 10).p_value - 1.0).abs() < 1e-12);
    }
}
