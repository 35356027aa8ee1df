//! Detects the steady state of a workload: its last N samples are close enough to their mean, or to a
//! horizontal line.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The figures of one sampling step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// I/Os per second.
    pub iops: u64,
    /// Bytes per second.
    pub bytes_per_second: u64,
    /// Mean completion latency in ns.
    pub latency_ns: u64,
}

/// The steady-state criterion.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    /// The metric.
    pub metric: SteadyStateMetric,
    /// True to judge the slope of a line through the samples instead of their largest deviation from the mean.
    pub slope: bool,
    /// True if the limit is a percentage of the mean.
    pub percent: bool,
    /// The limit: in percent, or in I/Os per second, bytes per second or ns (for a slope, per sample).
    pub limit: f64,
}

/// The distance of the samples from a steady state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Judgement {
    /// Largest distance of a sample from the mean; 0 if the slope is judged.
    pub max_deviation: f64,
    /// Slope per sample; 0 if the deviation is judged.
    pub slope: f64,
    /// The judged value, in percent of the mean if the limit is a percentage.
    pub criterion: f64,
    /// True if the judged value is below the limit.
    pub attained: bool,
}

/// The last samples of a run.
#[derive(Clone, Debug)]
pub struct Window {
    length: usize,
    samples: VecDeque<Sample>,
}

impl Window {
    /// Creates a window of `length` samples, which is at least one.
    pub fn new(length: usize) -> Window {
        Window { length: length.max(1), samples: VecDeque::with_capacity(length.max(1)) }
    }

    /// Adds a sample, and removes the oldest if the window is full.
    pub fn push(&mut self, sample: Sample) {
        if self.samples.len() == self.length {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// Removes all samples.
    pub fn clear(&mut self) {
        self.samples.clear();
    }

    /// Returns one figure of every sample, oldest first; missing samples are 0.
    pub fn figures(&self, figure: impl Fn(&Sample) -> u64) -> Vec<u64> {
        let missing = std::iter::repeat_n(0, self.length - self.samples.len());
        self.samples.iter().map(figure).chain(missing).collect()
    }

    /// Compares the samples with a criterion; `None` until the window is full.
    pub fn judge(&self, criterion: &Criterion) -> Option<Judgement> {
        if self.samples.len() < self.length {
            return None;
        }
        let values: Vec<f64> = self
            .samples
            .iter()
            .map(|sample| match criterion.metric {
                SteadyStateMetric::Iops => sample.iops as f64,
                SteadyStateMetric::Bandwidth => sample.bytes_per_second as f64,
                SteadyStateMetric::Latency => sample.latency_ns as f64,
            })
            .collect();
        let mean = mean(&values);
        let (max_deviation, slope) =
            if criterion.slope { (0.0, slope(&values)) } else { (max_deviation(&values), 0.0) };
        let watched = if criterion.slope { slope } else { max_deviation };
        let value = match criterion.percent {
            // An idle job is not regarded as steady.
            true if mean == 0.0 => return Some(Judgement { max_deviation, slope, ..Judgement::default() }),
            true => 100.0 * watched / mean,
            false => watched,
        };
        let attained = mean > 0.0 && value.abs() < criterion.limit;
        Some(Judgement { max_deviation, slope, criterion: value, attained })
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the largest distance from the mean.
fn max_deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max)
}

/// Returns the slope per step of the least-squares line through the values; 0 for fewer than two.
fn slope(values: &[f64]) -> f64 {
    let middle = (values.len().max(1) - 1) as f64 / 2.0;
    let mean = mean(values);
    let (mut products, mut squares) = (0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let distance = index as f64 - middle;
        products += distance * (value - mean);
        squares += distance * distance;
    }
    if squares == 0.0 { 0.0 } else { products / squares }
}

/// The metric of `steadystate=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SteadyStateMetric {
    /// I/Os per second.
    #[default]
    Iops,
    /// Bandwidth.
    Bandwidth,
    /// Completion latency.
    Latency,
}

/// The outcome of `steadystate=`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SteadyStateReport {
    /// The metric.
    pub metric: SteadyStateMetric,
    /// True if the slope of a line through the window is judged instead of the largest deviation from its mean.
    pub slope_mode: bool,
    /// True if the limit is a percentage of the mean.
    pub percent: bool,
    /// The limit.
    pub limit: f64,
    /// Length of the window in seconds.
    pub duration_seconds: u64,
    /// True if the criterion was met.
    pub attained: bool,
    /// Value that was compared with the limit.
    pub criterion: f64,
    /// Largest deviation from the mean of the window.
    pub max_deviation: f64,
    /// Slope of the line through the window.
    pub slope: f64,
    /// I/Os per second in each second of the window.
    pub iops: Vec<u64>,
    /// Bytes per second in each second of the window.
    pub bytes_per_second: Vec<u64>,
    /// Mean latency in ns in each second of the window, for the latency metric.
    pub latency_ns: Vec<u64>,
}

impl SteadyStateReport {
    /// Returns the mean I/Os per second of the window.
    pub fn iops_mean(&self) -> u64 {
        mean_of(&self.iops) as u64
    }

    /// Returns the mean bytes per second of the window.
    pub fn bandwidth_mean(&self) -> u64 {
        mean_of(&self.bytes_per_second) as u64
    }

    /// Returns the mean latency of the window in ns.
    pub fn latency_mean_ns(&self) -> f64 {
        mean_of(&self.latency_ns)
    }
}

fn mean_of(values: &[u64]) -> f64 {
    let sum: u128 = values.iter().map(|&value| u128::from(value)).sum();
    sum as f64 / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn judged(iops: &[u64], slope: bool, percent: bool, limit: f64) -> Judgement {
        let mut window = Window::new(iops.len());
        iops.iter().for_each(|&iops| window.push(Sample { iops, ..Sample::default() }));
        let criterion = Criterion { metric: SteadyStateMetric::Iops, slope, percent, limit };
        window.judge(&criterion).expect("the window is full")
    }

    #[test]
    fn figures_of_recorded_runs() {
        // The samples and outcomes are those that an installed fio reported.
        let deviation = judged(&[1000, 1001, 1000, 1001], false, true, 5.0);
        assert_eq!(format!("{:.6}", deviation.criterion), "0.049975");
        assert_eq!((deviation.max_deviation, deviation.slope, deviation.attained), (0.5, 0.0, true));
        let slope = judged(&[4_096_000, 4_099_934, 4_100_100], true, true, 0.000_001);
        assert_eq!(format!("{:.6}", slope.criterion), "0.050016");
        assert_eq!((slope.max_deviation, slope.slope, slope.attained), (0.0, 2050.0, false));
    }

    #[test]
    fn an_idle_job_is_not_steady() {
        assert!(!judged(&[0, 0, 0], false, true, 50.0).attained);
        assert!(!judged(&[0, 0, 0], false, false, 50.0).attained);
    }

    #[test]
    fn only_a_full_window_is_judged() {
        let mut window = Window::new(3);
        let criterion =
            Criterion { metric: SteadyStateMetric::Bandwidth, slope: false, percent: false, limit: 1.0 };
        for bytes_per_second in [7, 9] {
            window.push(Sample { bytes_per_second, ..Sample::default() });
            assert_eq!(window.judge(&criterion), None);
        }
        assert_eq!(window.figures(|sample| sample.bytes_per_second), [7, 9, 0]);
        window.push(Sample { bytes_per_second: 9, ..Sample::default() });
        window.push(Sample { bytes_per_second: 9, ..Sample::default() });
        assert_eq!(window.figures(|sample| sample.bytes_per_second), [9, 9, 9]);
        assert!(window.judge(&criterion).expect("full").attained);
    }

    proptest! {
        #[test]
        fn a_line_has_its_own_slope(start in 10_000u64..1_000_000, step in -100i64..100, count in 2usize..50) {
            let values: Vec<u64> = (0..count).map(|index| (start as i64 + step * index as i64) as u64).collect();
            let judgement = judged(&values, true, false, 1.0);
            prop_assert!((judgement.slope - step as f64).abs() < 1e-6);
            prop_assert_eq!(judgement.attained, step == 0);
        }

        #[test]
        fn no_sample_is_farther_than_the_deviation(values in prop::collection::vec(1u64..1 << 40, 1..40)) {
            let judgement = judged(&values, false, false, f64::MAX);
            let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
            let tolerance = 1e-9 * mean;
            for &value in &values {
                prop_assert!((value as f64 - mean).abs() <= judgement.max_deviation + tolerance);
            }
            let percent = judged(&values, false, true, f64::MAX);
            prop_assert!((percent.criterion - 100.0 * judgement.max_deviation / mean).abs() < 1e-6);
        }

        #[test]
        fn no_line_fits_better(values in prop::collection::vec(0u64..1000, 2..20), other in -50.0f64..50.0) {
            let slope = judged(&values, true, false, 1.0).slope;
            let floats: Vec<f64> = values.iter().map(|&value| value as f64).collect();
            let (middle, mean) = ((floats.len() - 1) as f64 / 2.0, mean(&floats));
            let error = |slope: f64| -> f64 {
                floats.iter().enumerate().map(|(x, y)| (y - mean - slope * (x as f64 - middle)).powi(2)).sum()
            };
            prop_assert!(error(slope) <= error(other) + 1e-6);
        }
    }
}
