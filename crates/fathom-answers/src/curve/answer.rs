//! Evaluates a curve: its steps, its knee, and the highest rate that meets the limits.

use super::record::RecordedCurve;
use crate::loads::highest::{Highest, highest};
use crate::loads::measure::MeasuredLoad;
use crate::loads::objective::Objective;
use crate::loads::step::{LoadStep, step};

/// The curve of one combination of varied values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    /// `bs=4k`; empty when nothing varies.
    pub(crate) name: String,
    /// Rate without a rate limit, if it was measured.
    pub(crate) capacity: Option<f64>,
    /// Ascending.
    pub(crate) steps: Vec<LoadStep>,
    /// Index of the step with the highest ratio of rate to response time.
    pub(crate) knee: Option<usize>,
    /// The highest rate within the limits, if limits were given.
    pub(crate) highest: Option<Highest>,
}

/// The curves of a results file.
pub(crate) fn curves(recorded: &RecordedCurve, objectives: &[Objective]) -> Vec<Curve> {
    (0..recorded.plan.curves()).map(|number| curve(recorded, number, objectives)).collect()
}

fn curve(recorded: &RecordedCurve, number: usize, objectives: &[Objective]) -> Curve {
    let loads: Vec<(f64, Vec<&MeasuredLoad>)> =
        recorded.rates_of(number).into_iter().map(|rate| (rate, recorded.runs_at(number, rate))).collect();
    let steps: Vec<LoadStep> = loads.iter().map(|(rate, runs)| step(*rate, runs)).collect();
    Curve {
        name: recorded.plan.name_of(number),
        capacity: recorded.capacity(number),
        knee: knee(&steps),
        highest: if objectives.is_empty() { None } else { highest(&loads, objectives) },
        steps,
    }
}

/// L. Kleinrock's "power", rate divided by response time, is largest where more load begins to cost more than
/// it brings ("Power and deterministic rules of thumb for probabilistic problems in computer communications",
/// ICC 1979).
fn knee(steps: &[LoadStep]) -> Option<usize> {
    let power = |step: &LoadStep| step.served / step.mean_ns;
    let all = steps.iter().enumerate().filter(|(_, step)| step.is_sustained && step.mean_ns > 0.0);
    let best = all.max_by(|a, b| power(a.1).total_cmp(&power(b.1)))?.0;
    // A maximum at either end is not a knee, because the curve may continue beyond it.
    (best > 0 && best + 1 < steps.len()).then_some(best)
}
