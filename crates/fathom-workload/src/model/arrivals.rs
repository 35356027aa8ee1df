//! When the requests of a job come: a mean rate, how it changes with time, and how uneven the gaps are.

use crate::parts::Part;

/// Maximum number of steps of a rate that changes with time.
const MOST_STEPS: usize = 128;
/// Coefficients of variation of the gaps below the first are even, and between the others random.
const EVEN: f64 = 0.1;
const POISSON: (f64, f64) = (0.85, 1.15);
/// Minimum number of arrivals per window, on average, of a scale that says how uneven gaps are.
const FEWEST_PER_WINDOW: f64 = 1.0;
/// Variance of the rates of steps, divided by their squared mean, below which the rate is constant.
const LEAST_CHANGE: f64 = 0.01;
/// Dispersion of clumped arrivals.
const CLUMPED: f64 = 1.5;
/// Minimum number of windows per step of a scale that says how uneven gaps within steps are.
const SCALES_PER_STEP: f64 = 4.0;
/// Maximum coefficient of variation that a job can have.
const LARGEST_VARIATION: f64 = 100.0;

/// The arrivals of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    /// Mean requests per second of each clone.
    pub per_second: f64,
    /// Length of a step, s.
    pub step_s: f64,
    /// Requests per second in each step, relative to each other; empty if the rate is constant.
    pub steps: Vec<f64>,
    /// Standard deviation of the gaps within a step divided by their mean.
    pub variation: f64,
}

impl Arrivals {
    /// Joins steps until there are at most this many.
    pub(super) fn shorten(&mut self, most: usize) {
        let most = most.max(3);
        if self.steps.len() <= most {
            return;
        }
        let joined = self.steps.len().div_ceil(most);
        let seconds = self.step_s * self.steps.len() as f64;
        let number = self.steps.len() / joined;
        let mut counts = vec![0.0; number];
        for (place, rate) in self.steps.iter().enumerate() {
            let start = place as f64 * self.step_s;
            spread(rate * self.step_s, (start, start + self.step_s), seconds / number as f64, &mut counts);
        }
        self.step_s = seconds / number as f64;
        self.steps = counts.iter().map(|count| count / self.step_s).collect();
    }
}

/// The arrivals of this share of a part, in a trace of this length.
pub fn of(part: &Part, seconds: f64, share: f64) -> Arrivals {
    let seconds = seconds.max(1e-6);
    let per_second = part.requests() as f64 * share / seconds;
    let counts = counts(part, seconds);
    let step_s = seconds / counts.len() as f64;
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let square = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / counts.len() as f64;
    let change = square / (mean * mean).max(f64::MIN_POSITIVE);
    let variation = variation(part, seconds, step_s, change);
    // Chance changes the rates of a Poisson process as well: by the reciprocal of the arrivals of a step.
    let is_constant = counts.len() < 3 || change < 3.0 * variation.min(1.0) / mean + LEAST_CHANGE;
    let steps = if is_constant { Vec::new() } else { counts.iter().map(|count| count / step_s).collect() };
    Arrivals { per_second, step_s, steps, variation }
}

/// Arrivals in steps of equal length that end with the trace, which its bins do not.
fn counts(part: &Part, seconds: f64) -> Vec<f64> {
    let bins = (seconds / part.step_s).ceil().max(1.0);
    let number = (bins as usize).clamp(1, MOST_STEPS);
    let step = seconds / number as f64;
    let mut counts = vec![0.0; number];
    for (bin, &count) in part.over_time.iter().enumerate() {
        let start = bin as f64 * part.step_s;
        spread(count as f64, (start, (start + part.step_s).min(seconds)), step, &mut counts);
    }
    counts
}

/// Divides a count among the steps that its span overlaps.
pub(crate) fn spread(count: f64, (start, end): (f64, f64), step: f64, counts: &mut [f64]) {
    let last = counts.len() - 1;
    let place = |time: f64| ((time / step.max(1e-9)) as usize).min(last);
    let (first, until, length) = (place(start), place(end), end - start);
    for (index, sum) in counts.iter_mut().enumerate().take(until + 1).skip(first) {
        let overlap = end.min((index + 1) as f64 * step) - start.max(index as f64 * step);
        *sum += match length > 0.0 {
            true => count * (overlap / length).clamp(0.0, 1.0),
            // The last bin may have no length: the trace ends as it begins.
            false => count / (until - first + 1) as f64,
        };
    }
}

/// The coefficient of variation of gaps that gives counts the dispersion of the trace, where that does not come from the steps.
///
/// The dispersion of a renewal process over long windows is the square of that coefficient. Source: Cox, "Renewal Theory", 1962.
fn variation(part: &Part, seconds: f64, step_s: f64, change: f64) -> f64 {
    let rate = part.requests() as f64 / seconds.max(1e-9);
    // Windows with few arrivals show how clumped these are, but not how even.
    let is_usable = |scale: f64, found: f64| {
        (scale * rate >= FEWEST_PER_WINDOW || found > CLUMPED)
            && (scale * SCALES_PER_STEP <= step_s || scale < 0.002)
    };
    let usable: Vec<(f64, f64)> =
        part.dispersion.iter().copied().filter(|(scale, found)| is_usable(*scale, *found)).collect();
    if usable.iter().any(|(_, found)| *found < EVEN * EVEN) {
        return 0.0;
    }
    let within =
        usable.iter().map(|(scale, found)| found - scale * rate * change).filter(|within| *within > 0.0);
    let logs: Vec<f64> = within.map(f64::ln).collect();
    if logs.is_empty() {
        return 1.0;
    }
    let found = (logs.iter().sum::<f64>() / logs.len() as f64).exp().sqrt();
    match found {
        found if found < EVEN => 0.0,
        found if (POISSON.0..=POISSON.1).contains(&found) => 1.0,
        found => found.min(LARGEST_VARIATION),
    }
}
