//! The gate: are the newest runs worse than the current level? Not the place of a change is asked here, so that nothing is
//! lost to the choice among many, and one run can be enough.
//!
//! Two tests have to agree. Student's t for new observations of a normal population is exact for few runs and knows by how much;
//! ranks do not depend on a distribution, so that a heavy tail is not a regression: a run that is not worse than nearly all of
//! the level is none, however small the level's deviation. With fewer runs than one by the significance, ranks cannot be as
//! sure as asked; the newest runs then have to be worse than all others.

use crate::energy::FEWEST_OF_A_SEGMENT;
use crate::model::{Analysis, Change};
use crate::robust::{centre, normal_scores, winsorised};
use crate::series::{Evidence, Options, Point, Worse};
use crate::significance::effective;
use crate::{Refusal, analyse};
use fathom_stats::inference::distributions::{student_cdf, student_quantile};
use fathom_stats::inference::{CONFIDENCE, Interval, mean, ranks, variance};

/// Number of runs of a drifting level that the newest are compared with: the last ones.
const RUNS_OF_A_DRIFT: usize = 20;

/// What the newest runs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No worse, and no better, than the level can explain.
    Fine,
    /// Worse.
    Regression,
    /// Better.
    Improvement,
}

/// The newest runs next to the level before them.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// What they are.
    pub verdict: Verdict,
    /// Number of newest runs that count.
    pub newest: usize,
    /// Numbers of the first and the last run of the level.
    pub level: (usize, usize),
    /// Number of runs of the level that count.
    pub runs: usize,
    /// Median of the level.
    pub centre: f64,
    /// Geometric mean of the newest runs.
    pub value: f64,
    /// Change relative to the level: 0.23 is 23 % more.
    pub relative: f64,
    /// 95 % interval of `relative`, for the level of the newest runs.
    pub interval: Interval,
    /// Probability that runs of the level are as far off in this direction.
    pub p_value: f64,
    /// Last change of the whole series, with the newest runs: what a small step of a few runs ago looks like.
    pub last_change: Option<Change>,
}

/// Compares the newest `count` runs with the current level of those before them.
pub fn check(points: &[Point], count: usize, options: &Options) -> Result<Gate, Refusal> {
    let count = count.clamp(1, points.len().max(1));
    let (before, newest) = points.split_at(points.len().saturating_sub(count));
    let new = Evidence::of(newest).map_err(|refusal| refusal.later(before.len()))?;
    if new.logs.is_empty() {
        return Err(Refusal::NewestIsNoEvidence { newest: count });
    }
    let old = Evidence::of(before)?;
    let analysis = analyse(before, options)?;
    let first = level(&analysis, &old)?;
    let base = &old.logs[first..];
    let difference = mean(&new.logs) - centre(base);
    let (error, degrees) = error(base, new.logs.len(), excess(before, newest, &old.numbers[first..]));
    let p_value = p_value(base, &new.logs, difference, error, degrees, options.significance);
    let relative = difference.exp_m1();
    let half = student_quantile(0.5 + CONFIDENCE / 2.0, degrees) * error;
    let is_change = p_value < options.significance && relative.abs() >= options.smallest;
    let verdict = match (is_change, options.worse.is_regression(relative)) {
        (false, _) => Verdict::Fine,
        (true, true) => Verdict::Regression,
        (true, false) => Verdict::Improvement,
    };
    let last = old.numbers.last().copied().unwrap_or_default();
    let gate = Gate {
        verdict,
        newest: new.logs.len(),
        level: (old.numbers[first], last),
        runs: base.len(),
        centre: centre(base).exp(),
        value: mean(&new.logs).exp(),
        relative,
        interval: Interval::around(difference, half).map(f64::exp_m1),
        p_value,
        last_change: analyse(points, options)?.changes.pop(),
    };
    assert!(gate.relative.is_finite() && gate.p_value.is_finite(), "{gate:?}");
    Ok(gate)
}

/// Returns the first run of the current level, by its place among the runs that count.
fn level(analysis: &Analysis, old: &Evidence) -> Result<usize, Refusal> {
    let Some(current) = analysis.current() else {
        return Err(Refusal::TooFew { has: 0, needs: FEWEST_OF_A_SEGMENT });
    };
    let runs = if current.is_drifting { current.runs.min(RUNS_OF_A_DRIFT) } else { current.runs };
    match runs < FEWEST_OF_A_SEGMENT {
        true => Err(Refusal::TooFew { has: runs, needs: FEWEST_OF_A_SEGMENT }),
        false => Ok(old.logs.len() - runs),
    }
}

/// Standard error of the difference between the mean of `count` new runs and the level, and its degrees of freedom.
/// Correlated runs count as fewer. `excess` is the variance that the new runs have of themselves beyond those of the level.
fn error(base: &[f64], count: usize, excess: f64) -> (f64, f64) {
    let effective = effective(&normal_scores(base), &[]);
    let spread = variance(&winsorised(base));
    let (runs, count) = (base.len() as f64 * effective, count as f64);
    let new = (spread + excess * effective) / (count * effective).max(1.0);
    ((new + spread / runs.max(1.0)).sqrt(), base.len() as f64 - 1.0)
}

/// Variance of the logarithms of the newest runs by their own standard errors, beyond that of the typical run of the level.
fn excess(before: &[Point], newest: &[Point], numbers: &[usize]) -> f64 {
    let own = |point: &Point| {
        let error = point.standard_error.filter(|error| error.is_finite())?;
        point.is_evidence.then(|| (error / point.value).powi(2))
    };
    let typical: Vec<f64> = numbers.iter().filter_map(|number| own(&before[*number])).collect();
    let new: Vec<f64> = newest.iter().filter_map(own).collect();
    match new.is_empty() {
        true => 0.0,
        false => (mean(&new) - centre(&typical)).max(0.0),
    }
}

/// One-sided p-value of both tests together.
fn p_value(base: &[f64], new: &[f64], difference: f64, error: f64, degrees: f64, significance: f64) -> f64 {
    let by_means = match error > 0.0 {
        true => student_cdf(-difference.abs() / error, degrees),
        // The level does not vary at all: any difference is one, no difference is none.
        false => f64::from(u8::from(difference == 0.0)),
    };
    let by_ranks = ranks::mann_whitney(base, new).map_or(1.0, |test| test.p_value / 2.0);
    let is_beyond =
        |worse: Worse| new.iter().all(|run| base.iter().all(|other| worse.is_regression(run - other)));
    let is_extreme = is_beyond(if difference > 0.0 { Worse::Up } else { Worse::Down });
    // Nothing is further off than beyond all others, so ranks have no more to say.
    if is_extreme && by_ranks >= significance { by_means } else { by_means.max(by_ranks) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FEWEST_RUNS;

    fn level_of(runs: usize) -> Vec<Point> {
        (0..runs).map(|run| Point::new(100.0 + ((run * 7) % 11) as f64 * 0.4)).collect()
    }

    fn checked(mut points: Vec<Point>, newest: &[f64], worse: Worse) -> Gate {
        points.extend(newest.iter().map(|value| Point::new(*value)));
        check(&points, newest.len(), &Options::new(worse)).expect("there are enough")
    }

    #[test]
    fn direction_decides_what_is_a_regression() {
        for (value, worse, verdict) in [
            (123.0, Worse::Up, Verdict::Regression),
            (123.0, Worse::Down, Verdict::Improvement),
            (80.0, Worse::Down, Verdict::Regression),
            (102.0, Worse::Up, Verdict::Fine),
        ] {
            let gate = checked(level_of(30), &[value], worse);
            assert_eq!(gate.verdict, verdict, "{gate:?}");
            assert!(gate.interval.contains(gate.relative), "{gate:?}");
        }
    }

    #[test]
    fn several_runs_show_what_one_does_not() {
        assert_eq!(checked(level_of(40), &[105.0], Worse::Up).verdict, Verdict::Fine);
        assert_eq!(checked(level_of(40), &[105.0; 4], Worse::Up).verdict, Verdict::Regression);
    }

    #[test]
    fn a_small_change_is_fine_however_sure() {
        let steady = vec![Point::new(100.0); 30];
        assert_eq!(checked(steady.clone(), &[101.0; 5], Worse::Up).verdict, Verdict::Fine);
        let gate = checked(steady, &[103.0], Worse::Up);
        assert!(gate.verdict == Verdict::Regression && gate.p_value < 1e-6, "{gate:?}");
    }

    #[test]
    fn the_level_begins_after_the_last_change() {
        let mut points = level_of(30);
        points.extend(level_of(20).into_iter().map(|point| Point::new(point.value * 2.0)));
        let gate = checked(points, &[205.0], Worse::Up);
        assert_eq!((gate.verdict, gate.level), (Verdict::Fine, (30, 49)));
        assert_eq!(gate.last_change.map(|change| change.number), Some(30));
    }

    #[test]
    fn an_uncertain_run_needs_more_to_be_a_regression() {
        let mut points = level_of(30);
        points.iter_mut().for_each(|point| point.standard_error = Some(0.5));
        points.push(Point { standard_error: Some(10.0), ..Point::new(110.0) });
        assert_eq!(check(&points, 1, &Options::new(Worse::Up)).expect("enough").verdict, Verdict::Fine);
        points[30].standard_error = Some(0.5);
        assert_eq!(check(&points, 1, &Options::new(Worse::Up)).expect("enough").verdict, Verdict::Regression);
    }

    #[test]
    fn wrong_runs_and_short_series_have_no_answer() {
        let mut points = level_of(30);
        points[29].is_evidence = false;
        let options = Options::new(Worse::Up);
        assert_eq!(check(&points, 1, &options), Err(Refusal::NewestIsNoEvidence { newest: 1 }));
        assert_eq!(check(&level_of(8), 1, &options), Err(Refusal::TooFew { has: 7, needs: FEWEST_RUNS }));
        assert_eq!(check(&[], 1, &options), Err(Refusal::NewestIsNoEvidence { newest: 1 }));
        points[29] = Point::new(f64::NAN);
        assert_eq!(check(&points, 1, &options), Err(Refusal::NotFinite { number: 29 }));
    }
}
