//! Fleets: which drives are slower than their siblings, by which figure, by how much, and how sure.
//!
//! * A drive's score is the median of the logarithms of its runs. Centre and scale of its siblings are the median of the
//!   scores and Rousseeuw and Croux' Qn, which half of the drives may be wrong for. A drive with fewer runs than usual
//!   has a larger error, by the deviation between runs of one drive.
//! * The p-value is that of Student's t, one-sided: only slow drives are asked for. Healthy fleets may have heavier tails
//!   than the normal distribution, which would be taken for slow drives. Of 200 siblings or more, the p-value is
//!   therefore at least that of a tail fitted to the fast side, where there are no slow drives (`tail`).
//! * Several figures of a drive are combined by Bonferroni, which holds for correlated figures. The false discovery
//!   rate over all drives of all groups is that of Benjamini and Hochberg.

mod discoveries;
mod tail;

use crate::robust::{centre, qn};
use crate::series::Worse;
use fathom_stats::inference::distributions::student_quantile;
use fathom_stats::inference::{CONFIDENCE, Interval, variance};
use std::collections::{BTreeMap, BTreeSet};

/// Minimum number of siblings with a figure. Below, the scale itself is too uncertain.
pub const FEWEST_SIBLINGS: usize = 10;
/// Variance of the median relative to that of the mean, for three runs or more.
const MEDIAN: f64 = std::f64::consts::FRAC_PI_2;

/// The runs of one drive that have a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The drive, such as its serial number.
    pub drive: String,
    /// What makes siblings: model, and the load that was run.
    pub group: String,
    /// Name of the figure.
    pub figure: String,
    /// The direction in which the figure is worse.
    pub worse: Worse,
    /// The figure of each run; what is not above 0 is left out.
    pub values: Vec<f64>,
}

/// What counts as an outlier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Highest expected share of healthy drives among those that are reported.
    pub false_discoveries: f64,
    /// Smallest distance from the siblings that is reported, as a share: 0.05 is 5 %.
    pub smallest: f64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { false_discoveries: 0.05, smallest: 0.05 }
    }
}

/// A drive that is worse than its siblings.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlier {
    /// The drive.
    pub drive: String,
    /// Its group.
    pub group: String,
    /// The figure that shows it most surely.
    pub figure: String,
    /// The drive's median.
    pub value: f64,
    /// Median of the siblings.
    pub siblings: f64,
    /// The drive relative to its siblings: -0.38 is 38 % less.
    pub relative: f64,
    /// 95 % interval of `relative` by the variation between runs. `None` if no drive of the group has two runs.
    pub interval: Option<Interval>,
    /// Distance in robust standard deviations of the siblings, positive where worse.
    pub deviations: f64,
    /// Probability that a healthy drive is as far off by any of its figures.
    pub p_value: f64,
    /// Expected share of healthy drives among those that are at least as sure as this one.
    pub q_value: f64,
    /// Number of the drive's runs with the figure.
    pub runs: usize,
}

/// Siblings as a whole, for one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Siblings {
    /// The group.
    pub group: String,
    /// The figure.
    pub figure: String,
    /// Number of drives.
    pub drives: usize,
    /// Median of the drives.
    pub centre: f64,
    /// Each drive, and the median of its runs.
    pub medians: Vec<(String, f64)>,
    /// Robust standard deviation between drives as a share of the centre. `None` if there are too few drives to judge.
    pub spread: Option<f64>,
}

/// A fleet, judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fleet {
    /// Drives that are worse than their siblings, the one that is furthest off first.
    pub outliers: Vec<Outlier>,
    /// All groups and figures, also those with too few drives.
    pub siblings: Vec<Siblings>,
    /// Number of drives that were judged.
    pub judged: usize,
}

/// Judges all drives of all groups.
pub fn judge(samples: &[Sample], limits: &Limits) -> Fleet {
    let mut sets: BTreeMap<(&str, &str), Vec<Scored>> = BTreeMap::new();
    for sample in samples {
        if let Some(scored) = Scored::of(sample) {
            sets.entry((&sample.group, &sample.figure)).or_default().push(scored);
        }
    }
    let mut fleet = Fleet::default();
    let mut drives: BTreeMap<(&str, &str), Vec<Outlier>> = BTreeMap::new();
    for ((group, figure), set) in &sets {
        let (siblings, outliers) = siblings(group, figure, set);
        fleet.siblings.push(siblings);
        for (scored, outlier) in set.iter().zip(outliers) {
            drives.entry((*group, scored.sample.drive.as_str())).or_default().push(outlier);
        }
    }
    let mut worst: Vec<Outlier> = drives.into_values().filter_map(surest_figure).collect();
    fleet.judged =
        worst.iter().map(|outlier| (&outlier.group, &outlier.drive)).collect::<BTreeSet<_>>().len();
    let p_values: Vec<f64> = worst.iter().map(|outlier| outlier.p_value).collect();
    for (outlier, q_value) in worst.iter_mut().zip(discoveries::q_values(&p_values)) {
        outlier.q_value = q_value;
    }
    worst.retain(|outlier| {
        outlier.q_value <= limits.false_discoveries
            && outlier.deviations > 0.0
            && outlier.relative.abs() >= limits.smallest
    });
    worst.sort_by(|a, b| b.relative.ln_1p().abs().total_cmp(&a.relative.ln_1p().abs()));
    fleet.outliers = worst;
    fleet
}

/// A drive's figure as a logarithm.
struct Scored<'a> {
    sample: &'a Sample,
    score: f64,
    runs: usize,
    /// Variance between its runs, without the bias of few of them.
    within: Option<f64>,
}

impl Scored<'_> {
    fn of(sample: &Sample) -> Option<Scored<'_>> {
        let usable = sample.values.iter().filter(|value| value.is_finite() && **value > 0.0);
        let logs: Vec<f64> = usable.map(|value| value.ln()).collect();
        let degrees = logs.len() as f64 - 1.0;
        // The median of a variance is below its mean: Wilson and Hilferty's cube for chi-squared.
        let bias = (1.0 - 2.0 / (9.0 * degrees)).powi(3);
        let within = (logs.len() > 1).then(|| variance(&logs) / bias);
        (!logs.is_empty()).then(|| Scored { sample, score: centre(&logs), runs: logs.len(), within })
    }

    /// Variance of the score by that between runs.
    fn error(&self, within: f64) -> f64 {
        within * if self.runs > 2 { MEDIAN } else { 1.0 } / self.runs as f64
    }
}

/// Judges one figure of siblings: no outliers if there are too few.
fn siblings(group: &str, figure: &str, set: &[Scored]) -> (Siblings, Vec<Outlier>) {
    let scores: Vec<f64> = set.iter().map(|scored| scored.score).collect();
    let middle = centre(&scores);
    let scale = qn(&scores);
    let is_enough = set.len() >= FEWEST_SIBLINGS;
    let siblings = Siblings {
        group: group.to_owned(),
        figure: figure.to_owned(),
        drives: set.len(),
        centre: middle.exp(),
        medians: set.iter().map(|scored| (scored.sample.drive.clone(), scored.score.exp())).collect(),
        spread: is_enough.then(|| scale.exp_m1()),
    };
    if !is_enough {
        return (siblings, Vec::new());
    }
    let known: Vec<f64> = set.iter().filter_map(|scored| scored.within).collect();
    let within = centre(&known);
    let errors: Vec<f64> = set.iter().map(|scored| scored.error(within)).collect();
    let usual = centre(&errors);
    let deviations: Vec<f64> = set
        .iter()
        .zip(&errors)
        .map(|(scored, error)| {
            let sign = if scored.sample.worse == Worse::Up { 1.0 } else { -1.0 };
            let scale = (scale * scale + (error - usual).max(0.0)).sqrt();
            let distance = sign * (scored.score - middle);
            match scale > 0.0 {
                true => distance / scale,
                // Half of the siblings are equal: nothing is known of how far apart healthy drives are.
                false => 0.0,
            }
        })
        .collect();
    let p_values = tail::p_values(&deviations);
    let half_width = student_quantile(0.5 + CONFIDENCE / 2.0, known.len().max(1) as f64);
    let outliers = set.iter().zip(deviations).zip(errors).zip(p_values).map(|(drive, p_value)| {
        let ((scored, deviations), error) = drive;
        let shift = scored.score - middle;
        let half = half_width * error.sqrt();
        Outlier {
            drive: scored.sample.drive.clone(),
            group: group.to_owned(),
            figure: figure.to_owned(),
            value: scored.score.exp(),
            siblings: middle.exp(),
            relative: shift.exp_m1(),
            interval: (!known.is_empty()).then(|| Interval::around(shift, half).map(f64::exp_m1)),
            deviations,
            p_value,
            q_value: 1.0,
            runs: scored.runs,
        }
    });
    (siblings, outliers.collect())
}

/// Takes the figure of a drive with the smallest p-value, which counts for all of them.
fn surest_figure(figures: Vec<Outlier>) -> Option<Outlier> {
    let count = figures.len() as f64;
    let surest = figures.into_iter().min_by(|a, b| a.p_value.total_cmp(&b.p_value))?;
    let p_value = (surest.p_value * count).min(1.0);
    assert!(p_value.is_finite() && surest.relative.is_finite(), "{surest:?}");
    Some(Outlier { p_value, ..surest })
}

#[cfg(test)]
mod tests;
