//! Statistical inference from measurements: intervals, differences and effect sizes, as pure functions of
//! numbers.
//!
//! Two situations must be distinguished. With *repeated runs*, every run is one value, and the conclusions
//! apply to the next run too: [`median`], [`difference`], [`ranks`], [`effect`]. With *one run*, there are only
//! the figures within it: [`timeline`] computes intervals from its timeline, in which neighbouring points are
//! correlated, and [`percentile`] from its histogram. Such an interval shows how much a figure varied during
//! the run, not by how much the next run may differ.
//!
//! All intervals have a confidence of 95 %. If the data does not allow a valid interval, as for a single value,
//! there is none.

pub mod difference;
pub mod distributions;
pub mod effect;
pub mod median;
pub mod percentile;
pub mod ranks;
#[cfg(test)]
mod simulation;
pub mod timeline;

use serde::{Deserialize, Serialize};

/// Confidence level of all intervals.
pub const CONFIDENCE: f64 = 0.95;

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Returns the interval `centre` plus or minus `half_width`.
    pub fn around(centre: f64, half_width: f64) -> Interval {
        Interval { low: centre - half_width, high: centre + half_width }
    }

    /// True if the interval contains the value; its ends count as inside.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Limits the interval of a figure that cannot be negative.
    pub fn not_below_zero(self) -> Interval {
        Interval { low: self.low.max(0.0), high: self.high.max(0.0) }
    }

    /// Applies an increasing function to both ends.
    pub fn map(self, function: impl Fn(f64) -> f64) -> Interval {
        Interval { low: function(self.low), high: function(self.high) }
    }
}

/// Returns the mean; NaN without values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the sample variance (n - 1); NaN for fewer than two values.
pub fn variance(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}
