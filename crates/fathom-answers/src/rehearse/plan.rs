//! The plan of a rehearsal: a load, its target, and what is to be found out.

use super::production::Production;
use crate::loads::precision::Precision;
use crate::sweep::plan::shuffle;
use serde::{Deserialize, Serialize};

/// Format version of results files.
pub(super) const FORM: u32 = 1;

/// Where the I/Os of a rehearsal come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    /// A recording, which is replayed at its recorded times.
    Replay,
    /// A recording, which is replayed with the dependencies and think times of its programs.
    Dependencies,
    /// Jobs with rates.
    Jobs,
}

/// The first line of a results file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RehearsalPlan {
    /// [`FORM`]; its key identifies results files.
    #[serde(rename = "fathom rehearse")]
    pub(super) form: u32,
    /// Version of the program that created the file.
    pub(super) version: String,
    /// The trace or job file as the user named it.
    pub(crate) load: String,
    /// Where the I/Os come from.
    pub(crate) source: Source,
    /// The recorded load; `None` if only jobs are known.
    pub(crate) production: Option<Production>,
    /// The device or file on which the load is rehearsed.
    pub(crate) target: String,
    /// Its size in bytes.
    pub(super) target_bytes: u64,
    /// The job file at the scale 1.
    pub(super) job: String,
    /// Length of the load at the scale 1 in ms; `None` if the jobs determine it.
    pub(super) time_ms: Option<u64>,
    /// Scales to run, ascending; empty to search.
    pub(super) scales: Vec<f64>,
    /// Limits of response times.
    pub(super) objectives: Vec<String>,
    /// Required precision: a scale is repeated until half of its interval is at most this share of its p99, in
    /// percent.
    pub(super) precision: f64,
    /// Maximum number of runs of a scale.
    pub(super) most_runs: u32,
    /// Seed of the order of scales, and of the arrivals of jobs.
    pub(super) seed: u64,
}

impl RehearsalPlan {
    /// The required precision of a scale.
    pub(super) fn precision(&self) -> Precision {
        Precision { percent: self.precision, most_runs: self.most_runs }
    }

    /// The scales of a round, in random order.
    pub(super) fn order(&self, round: u32) -> Vec<f64> {
        let mut all = self.scales.clone();
        let mut state = self.seed.wrapping_add(u64::from(round) << 32);
        shuffle(&mut all, &mut state);
        all
    }

    /// Differences between this plan and a recorded one.
    pub(super) fn differences(&self, recorded: &RehearsalPlan, is_seed_given: bool) -> Vec<&'static str> {
        let pairs = [
            ("the load", self.job != recorded.job || self.source != recorded.source),
            ("the recorded load", self.production != recorded.production),
            ("--on", self.target != recorded.target || self.target_bytes != recorded.target_bytes),
            ("--time", self.time_ms != recorded.time_ms),
            ("--scales", self.scales != recorded.scales),
            ("--slo", self.objectives != recorded.objectives),
            ("--precision", self.precision.to_bits() != recorded.precision.to_bits()),
            ("--most-runs", self.most_runs != recorded.most_runs),
            ("--seed", is_seed_given && self.seed != recorded.seed),
        ];
        pairs.into_iter().filter(|(_, differs)| *differs).map(|(what, _)| what).collect()
    }
}
