//! The output: changes, segments, and what changed in the runs' attributes at the same point. Runs have the caller's numbers.

use fathom_stats::inference::Interval;

/// What is known of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// Changes of level, in the order of time.
    pub changes: Vec<Change>,
    /// Runs between changes, in the order of time; never empty.
    pub segments: Vec<Segment>,
    /// Number of runs that count.
    pub runs: usize,
}

impl Analysis {
    /// The segment of the newest runs.
    pub fn current(&self) -> Option<&Segment> {
        self.segments.last()
    }
}

/// How the level changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Between one run and the next.
    Step,
    /// Gradually, until this run: a slope fits better than steps.
    Drift {
        /// Number of the last run of the drift.
        until: usize,
    },
}

/// A change of level.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Number of the first run of the new level, or of the drift.
    pub number: usize,
    /// Numbers of the earliest and the latest run that may be the first, with a confidence of about 95 %.
    pub range: (usize, usize),
    /// Step or drift.
    pub shape: Shape,
    /// The change relative to the level before: 0.23 is 23 % more.
    pub relative: f64,
    /// 95 % interval of `relative`.
    pub interval: Interval,
    /// The change in standard deviations of the runs on both sides. `None` if they do not vary.
    pub deviations: Option<f64>,
    /// Probability that a series without a change is given one like this; the choice of the place is accounted for.
    pub p_value: f64,
    /// True if the change is in the direction in which the figure is worse.
    pub is_regression: bool,
    /// Attributes that changed at the same point, the likeliest cause first.
    pub causes: Vec<Cause>,
}

/// Runs of one level.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Number of the first run that counts.
    pub first: usize,
    /// Number of the last run that counts.
    pub last: usize,
    /// Number of runs that count.
    pub runs: usize,
    /// The median.
    pub centre: f64,
    /// 95 % interval of the median. `None` for one run.
    pub interval: Option<Interval>,
    /// Robust standard deviation as a share of the centre.
    pub spread: f64,
    /// True if the runs are those of a drift.
    pub is_drifting: bool,
}

/// An attribute that changed where the level did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Name of the attribute.
    pub name: String,
    /// Its value before; `None` if it was not there.
    pub before: Option<String>,
    /// Its value after; `None` if it was not there.
    pub after: Option<String>,
    /// Number of the first run with the new value.
    pub number: usize,
    /// True if all runs of the level before have the one value, and all runs of the level after the other.
    pub is_steady: bool,
}
