//! Results over time and among siblings, as pure functions of figures: when did a series of runs change, by how much and
//! what changed with it ([`analyse`]); are the newest runs a regression ([`check()`]); which drives of a fleet are worse
//! than their siblings ([`fleet`]).
//!
//! # Change points
//!
//! E-divisive (`energy`) finds where a series is most likely to have changed; it is cut there if that is significant
//! (`significance`), and both parts in turn. Then each cut is moved to its best place between its neighbours (`place`) and
//! judged again, the weakest first, as in M. Fleming et al., "Hunter: using change point detection to hunt for performance
//! regressions" (ICPE 2023), which Apache Otava implements. What is different, and why:
//!
//! * **Logarithms**: changes are ratios, and noise is usually proportional to the level.
//! * **Ranks** for the candidate and its significance: a spike is one high rank however high it is, and what is true of
//!   one distribution is true of all. With Hunter's t-test, one threshold means another rate of false alarms for
//!   each kind of noise.
//! * **The choice of the place is accounted for** by a calibrated factor. A t-test of the best of 100 places at 0.001 is wrong
//!   in far more than one of 1,000 series.
//! * **A guard against changing noise**, because E-divisive finds changes of any kind, and ranks alone can mistake noise that
//!   becomes louder for a level.
//! * **Correlated runs count as fewer**, by the correlation within each level. A random walk has no levels, and what is
//!   said of it is not defended.
//! * **A slope is a drift**: successive steps in one direction are compared with a ramp (`drift`).
//!
//! A change needs five runs on either side. With five of 100, a step of two standard deviations is found in three of ten
//! series: their mean is then 4.4 standard errors off, and the best place of a series without a change is 3.9 off once
//! in 200 series. The gate does not search for the place and is surer of the newest runs.
//!
//! What is not modelled: weekly patterns, and two noises that alternate, such as two hosts in one series. Tell
//! them apart before.

#![forbid(unsafe_code)]

mod cause;
mod check;
mod detect;
mod drift;
mod energy;
pub mod fleet;
mod model;
mod place;
mod robust;
mod series;
mod significance;

pub use check::{Gate, Verdict, check};
pub use detect::analyse;
pub use energy::FEWEST_OF_A_SEGMENT;
pub use model::{Analysis, Cause, Change, Segment, Shape};
pub use series::{Options, Point, Worse};

use thiserror::Error;

/// Minimum number of runs of a series: two segments.
pub const FEWEST_RUNS: usize = detect::fewest();

/// Why a series has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum Refusal {
    /// There are too few runs for any conclusion.
    #[error("not enough runs: {has} of at least {needs}")]
    TooFew {
        /// Number of runs that count.
        has: usize,
        /// Number of runs that are needed.
        needs: usize,
    },
    /// A figure is infinite or not a number.
    #[error("run {number}: the figure is not a finite number")]
    NotFinite {
        /// Number of the run.
        number: usize,
    },
    /// A figure has no ratio to others.
    #[error("run {number}: the figure is {value}; changes are ratios and need figures above 0")]
    NotPositive {
        /// Number of the run.
        number: usize,
        /// The figure.
        value: f64,
    },
    /// None of the newest runs counts.
    #[error("none of the newest {newest} runs counts")]
    NewestIsNoEvidence {
        /// Number of newest runs that were asked for.
        newest: usize,
    },
}

impl Refusal {
    /// The same for runs that are numbered from `first` on.
    pub(crate) fn later(self, first: usize) -> Refusal {
        match self {
            Refusal::NotFinite { number } => Refusal::NotFinite { number: number + first },
            Refusal::NotPositive { number, value } => Refusal::NotPositive { number: number + first, value },
            other => other,
        }
    }
}
