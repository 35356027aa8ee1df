//! The input: the runs of a series in the order of time, and what the caller wants to know of them.

use crate::Refusal;
use std::collections::BTreeMap;

/// One run of a series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// The figure, such as a rate or a latency; above 0.
    pub value: f64,
    /// Standard error of the figure within its run, in the figure's unit, if it is known.
    pub standard_error: Option<f64>,
    /// False if the run does not count, because its verdict is *wrong* or the figure is missing. It keeps its number.
    pub is_evidence: bool,
    /// What the run ran on: kernel, firmware, device, version and other tags.
    pub attributes: BTreeMap<String, String>,
}

impl Point {
    /// A run that counts, without attributes.
    pub fn new(value: f64) -> Point {
        Point { value, is_evidence: true, ..Point::default() }
    }

    /// The same run with an attribute.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Point {
        self.attributes.insert(name.to_owned(), value.to_owned());
        self
    }
}

/// The direction in which a figure is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worse {
    /// Up, as for latencies.
    Up,
    /// Down, as for rates.
    Down,
}

impl Worse {
    /// Whether a relative change in this direction is a regression.
    pub fn is_regression(self, relative: f64) -> bool {
        match self {
            Worse::Up => relative > 0.0,
            Worse::Down => relative < 0.0,
        }
    }
}

/// What counts as a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The direction in which the figure is worse.
    pub worse: Worse,
    /// Highest probability that a series without a change is given one.
    pub significance: f64,
    /// Smallest change of level that is reported, as a share: 0.02 is 2 %.
    pub smallest: f64,
}

impl Options {
    /// The default: at most one false alarm in 200 series, changes of at least 2 %.
    pub fn new(worse: Worse) -> Options {
        Options { worse, significance: 0.005, smallest: 0.02 }
    }
}

/// The runs that count, as logarithms, with their numbers in the caller's series.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    /// Natural logarithms of the figures: differences are ratios.
    pub(crate) logs: Vec<f64>,
    /// Number of each run in the caller's series.
    pub(crate) numbers: Vec<usize>,
}

impl Evidence {
    pub(crate) fn of(points: &[Point]) -> Result<Evidence, Refusal> {
        let mut evidence = Evidence { logs: Vec::new(), numbers: Vec::new() };
        for (number, point) in points.iter().enumerate().filter(|(_, point)| point.is_evidence) {
            if !point.value.is_finite() {
                return Err(Refusal::NotFinite { number });
            }
            if point.value <= 0.0 {
                return Err(Refusal::NotPositive { number, value: point.value });
            }
            evidence.logs.push(point.value.ln());
            evidence.numbers.push(number);
        }
        Ok(evidence)
    }
}
