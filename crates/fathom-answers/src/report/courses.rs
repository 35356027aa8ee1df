//! Figures over the runs of a history, as a page shows them.

use super::chart::scale::Unit;

/// A sentence, and the run that it is about.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) run: Option<i64>,
}

impl From<String> for Said {
    fn from(text: String) -> Said {
        Said { text, run: None }
    }
}

/// A figure over the runs.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    /// Which figure of which job.
    pub(crate) title: String,
    /// Its unit.
    pub(crate) unit: Unit,
    /// The runs, the oldest first.
    pub(crate) runs: Vec<Run>,
    /// The levels, in order of time.
    pub(crate) levels: Vec<Level>,
    /// What is said of it.
    pub(crate) told: Vec<Said>,
}

/// A run of a course.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Its number in the history.
    pub(crate) number: i64,
    /// When it was.
    pub(crate) time: String,
    /// The figure.
    pub(crate) value: f64,
    /// False if its verdict is *wrong*.
    pub(crate) is_evidence: bool,
}

/// Runs of one level; places count from 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    /// Places of its first and its last run.
    pub(crate) runs: (usize, usize),
    /// The median.
    pub(crate) centre: f64,
    /// Its 95 % interval.
    pub(crate) ends: Option<(f64, f64)>,
}
