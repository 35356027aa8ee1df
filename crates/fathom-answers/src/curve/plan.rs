//! The plan of a curve: a job, the loads offered to it, and the required precision.

use crate::loads::precision::Precision;
use crate::sweep::plan;
use crate::sweep::variation::Variation;
use serde::{Deserialize, Serialize};

/// Format version of results files.
pub(super) const FORM: u32 = 1;
/// Default rates of the steps, as shares of the rate without a limit.
const SHARES: [f64; 10] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// The first line of a results file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CurvePlan {
    /// [`FORM`]; its key identifies results files.
    #[serde(rename = "fathom curve")]
    pub(super) form: u32,
    /// Version of the program that created the file.
    pub(super) version: String,
    /// Name of the first job.
    pub(super) first_job: String,
    /// The job file into which loads are inserted.
    pub(super) job: String,
    /// Options that vary in addition to the load; there is one curve for each combination of values.
    pub(super) vary: Vec<Variation>,
    /// I/Os per second summed over all jobs; empty if they are derived from the rate without a limit.
    pub(super) rates: Vec<f64>,
    /// True to search for the highest rates that meet the objectives instead of running fixed steps.
    pub(super) searches: bool,
    /// Limits of response times.
    pub(super) objectives: Vec<String>,
    /// Arrival process of the I/Os, as in `rate_process`.
    pub(super) process: String,
    /// Length of a run, ms.
    pub(super) time_ms: u64,
    /// Ramp time before each run, ms.
    pub(super) ramp_ms: u64,
    /// Required precision: a step is repeated until half of its interval is at most this share of its p99, in
    /// percent.
    pub(super) precision: f64,
    /// Maximum number of runs of a step.
    pub(super) most_runs: u32,
    /// Seed of the random order of steps.
    pub(super) seed: u64,
    /// True if the job's command line has `--readonly`.
    pub(super) readonly: bool,
}

impl CurvePlan {
    /// The required precision of a step.
    pub(super) fn precision(&self) -> Precision {
        Precision { percent: self.precision, most_runs: self.most_runs }
    }

    /// Number of curves.
    pub(super) fn curves(&self) -> usize {
        self.vary.iter().map(|variation| variation.values.len()).product()
    }

    /// Options and values of a curve.
    pub(super) fn values_of(&self, curve: usize) -> Vec<(&str, &str)> {
        plan::values_of(&self.vary, curve)
    }

    /// Name of a curve, such as `bs=4k, iodepth=1`; empty if no option varies.
    pub(super) fn name_of(&self, curve: usize) -> String {
        plan::name_of(&self.vary, curve)
    }

    /// The rates of a curve whose jobs reach this rate without a limit.
    pub(super) fn steps(&self, capacity: f64) -> Vec<f64> {
        match self.rates.is_empty() {
            false => self.rates.clone(),
            true => SHARES.map(|share| rounded(share * capacity)).to_vec(),
        }
    }

    /// All curves and steps of a round, in random order.
    pub(super) fn order(&self, steps: &[usize], round: u32) -> Vec<(usize, usize)> {
        let mut all: Vec<(usize, usize)> = steps
            .iter()
            .enumerate()
            .flat_map(|(curve, &count)| (0..count).map(move |step| (curve, step)))
            .collect();
        let mut state = self.seed.wrapping_add(u64::from(round) << 32);
        plan::shuffle(&mut all, &mut state);
        all
    }

    /// Differences between this plan and a recorded one.
    pub(super) fn differences(&self, recorded: &CurvePlan, is_seed_given: bool) -> Vec<&'static str> {
        let pairs = [
            ("the job", self.job != recorded.job),
            ("--vary", self.vary != recorded.vary),
            ("--rates", self.rates != recorded.rates),
            ("--slo", self.objectives != recorded.objectives || self.searches != recorded.searches),
            ("--process", self.process != recorded.process),
            ("--time", self.time_ms != recorded.time_ms),
            ("--ramp", self.ramp_ms != recorded.ramp_ms),
            ("--precision", self.precision.to_bits() != recorded.precision.to_bits()),
            ("--most-runs", self.most_runs != recorded.most_runs),
            ("--readonly", self.readonly != recorded.readonly),
            ("--seed", is_seed_given && self.seed != recorded.seed),
        ];
        pairs.into_iter().filter(|(_, differs)| *differs).map(|(what, _)| what).collect()
    }
}

/// Rounds a rate to three significant figures and to whole I/Os per second.
pub(super) fn rounded(rate: f64) -> f64 {
    let unit = 10_f64.powf(rate.max(1.0).log10().floor() - 2.0).max(1.0);
    ((rate / unit).round() * unit).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_have_three_figures() {
        for (rate, shown) in
            [(0.2, 1.0), (7.4, 7.0), (123.4, 123.0), (98_765.0, 98_800.0), (1_234_567.0, 1_230_000.0)]
        {
            assert_eq!(rounded(rate), shown);
        }
    }

    proptest! {
        #[test]
        fn a_round_has_each_step_once(steps in prop::collection::vec(0usize..12, 0..5), round: u32, seed: u64) {
            let plan = CurvePlan {
                form: FORM, version: String::new(), first_job: String::new(), job: String::new(), vary: Vec::new(),
                rates: Vec::new(), searches: false, objectives: Vec::new(), process: String::new(), time_ms: 1, ramp_ms: 0,
                precision: 10.0, most_runs: 5, seed, readonly: false,
            };
            let order = plan.order(&steps, round);
            prop_assert_eq!(&order, &plan.order(&steps, round));
            let mut sorted = order;
            sorted.sort_unstable();
            sorted.dedup();
            prop_assert_eq!(sorted.len(), steps.iter().sum::<usize>());
        }
    }
}
