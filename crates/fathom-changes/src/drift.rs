//! Drift: a level that changes gradually, as that of a drive that ages or of a cache that fills. E-divisive cuts a slope
//! into steps, as many as there are runs to show them. Successive steps in one direction are therefore compared with one ramp: a
//! level, a slope, and another level. The one with the better Bayesian information criterion is reported.

use crate::robust::mad;
use fathom_stats::inference::mean;
use std::ops::Range;

/// Minimum length of a drift; a shorter ramp is a step.
const SHORTEST: usize = 10;
/// Number of places that are tried for either end of a ramp.
const TRIED: usize = 24;
/// Parameters of a line over all runs: level, slope, and its choice instead of steps, which would be mistaken for it.
const LINE: usize = 3;
/// Parameters of a ramp: the levels, and two ends that are each the best of many.
const RAMP: usize = 6;
/// Residuals beyond this many robust standard deviations are pulled in.
const WINSOR: f64 = 3.0;

/// A ramp that fits better than steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ramp {
    /// First run of the slope.
    pub(crate) start: usize,
    /// End of the slope.
    pub(crate) end: usize,
    /// Change of the logarithm from its start to its end.
    pub(crate) rise: f64,
    /// Standard error of the rise.
    pub(crate) error: f64,
    /// Robust standard deviation of the runs around the ramp.
    pub(crate) spread: f64,
}

/// Returns the ramp that fits `logs` better than levels that change at `places` do. `None` if the steps fit better.
pub(crate) fn ramp(logs: &[f64], places: &[usize]) -> Option<Ramp> {
    let count = logs.len();
    let bounds: Vec<usize> = [&[0], places, &[count]].concat();
    let mut stairs = Vec::with_capacity(count);
    for step in bounds.windows(2) {
        let level = crate::robust::centre(&logs[step[0]..step[1]]);
        stairs.extend(std::iter::repeat_n(level, step[1] - step[0]));
    }
    let residuals: Vec<f64> = logs.iter().zip(&stairs).map(|(log, level)| log - level).collect();
    let scale = mad(&residuals);
    if scale <= 0.0 || count < SHORTEST {
        return None;
    }
    let pulled: Vec<f64> = stairs
        .iter()
        .zip(&residuals)
        .map(|(level, residual)| level + residual.clamp(-WINSOR * scale, WINSOR * scale))
        .collect();
    let of_stairs: f64 = bounds.windows(2).map(|step| squares(&pulled[step[0]..step[1]])).sum();
    let stairs_cost = criterion(of_stairs, count, 2 * places.len() + 1);
    let fits = ends(count).into_iter().filter_map(|slope| {
        let is_line = slope == (0..count);
        let fit = fit(&pulled, slope)?;
        Some((criterion(fit.1, count, if is_line { LINE } else { RAMP }), fit.0))
    });
    let (cost, mut ramp) = fits.min_by(|a, b| a.0.total_cmp(&b.0))?;
    ramp.spread = scale;
    (cost < stairs_cost).then_some(ramp)
}

/// The slopes that are tried.
fn ends(count: usize) -> Vec<Range<usize>> {
    let tried = |index: usize| index * count / TRIED;
    let all = (0..TRIED).flat_map(|first| (first + 1..=TRIED).map(move |last| tried(first)..tried(last)));
    all.filter(|slope| slope.len() >= SHORTEST).collect()
}

/// Bayesian information criterion of normal residuals. Source: G. Schwarz, "Estimating the dimension of a model", Annals of
/// Statistics 6 (1978).
fn criterion(squares: f64, count: usize, parameters: usize) -> f64 {
    let count = count as f64;
    count * (squares / count).max(f64::MIN_POSITIVE).ln() + parameters as f64 * count.ln()
}

/// Sum of squares around the mean.
fn squares(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|value| (value - centre).powi(2)).sum()
}

/// Least squares of a level before the slope and one after it; and the sum of squares.
fn fit(values: &[f64], slope: Range<usize>) -> Option<(Ramp, f64)> {
    let length = slope.len() as f64;
    let shape = |run: usize| ((run as f64 + 0.5 - slope.start as f64) / length).clamp(0.0, 1.0);
    let shapes: Vec<f64> = (0..values.len()).map(shape).collect();
    let (middle, centre) = (mean(&shapes), mean(values));
    let (mut across, mut along) = (0.0, 0.0);
    for (shape, value) in shapes.iter().zip(values) {
        across += (shape - middle) * (value - centre);
        along += (shape - middle).powi(2);
    }
    let rise = (along > 0.0).then(|| across / along)?;
    let rest = (squares(values) - rise * across).max(0.0);
    let error = (rest / (values.len() as f64 - 2.0) / along).sqrt();
    Some((Ramp { start: slope.start, end: slope.end, rise, error, spread: 0.0 }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small saw tooth: noise that is the same in every test.
    fn noise(run: usize) -> f64 {
        ((run * 7) % 11) as f64 * 0.1 - 0.5
    }

    #[test]
    fn a_slope_is_a_ramp_and_a_step_is_none() {
        let slope: Vec<f64> = (0..90).map(|run| run as f64 / 30.0 + noise(run)).collect();
        let found = ramp(&slope, &[30, 60]).expect("a slope");
        assert_eq!((found.start, found.end), (0, 90));
        assert!((found.rise - 3.0).abs() < 3.0 * found.error && found.error < 0.2, "{found:?}");
        let step: Vec<f64> = (0..90).map(|run| if run < 40 { 0.0 } else { 2.0 } + noise(run)).collect();
        assert_eq!(ramp(&step, &[40]), None);
        let stairs: Vec<f64> = (0..90).map(|run| (run / 30) as f64 * 2.0 + noise(run)).collect();
        assert_eq!(ramp(&stairs, &[30, 60]), None);
    }

    #[test]
    fn a_slope_between_two_levels_has_its_ends() {
        let logs: Vec<f64> =
            (0..120).map(|run| ((run as f64 - 40.0) / 10.0).clamp(0.0, 4.0) + noise(run)).collect();
        let found = ramp(&logs, &[50, 60, 70]).expect("a slope");
        assert!(found.start.abs_diff(40) <= 5 && found.end.abs_diff(80) <= 5, "{found:?}");
    }
}
