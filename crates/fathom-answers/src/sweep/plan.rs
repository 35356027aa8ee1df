//! The plan of a sweep: a job, the varied options, the number of repeats and their order.

use super::file_systems::{self, Volume};
use super::labels::Label;
use super::variation::Variation;
use fathom_command::Failure;
use fathom_stats::split_mix::split_mix;
use serde::{Deserialize, Serialize};

/// Format version of results files.
pub(crate) const FORM: u32 = 1;
/// Maximum number of combinations; a larger number indicates a mistake in the arguments.
const MOST_CELLS: usize = 10_000;

/// Default of `--repeats`.
pub(super) const USUAL_REPEATS: u32 = 3;

/// The first line of a results file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SweepPlan {
    /// [`FORM`]; its key identifies results files.
    #[serde(rename = "fathom sweep")]
    pub(crate) form: u32,
    /// Version of the program that began the sweep.
    pub(crate) version: String,
    /// Name of the first job.
    pub(crate) first_job: String,
    /// The original job file.
    pub(crate) job: String,
    /// Varied options.
    pub(crate) vary: Vec<Variation>,
    /// Number of runs of each cell.
    pub(crate) repeats: u32,
    /// Seed of the order of cells.
    pub(crate) seed: u64,
    /// Pause between runs, ms.
    pub(crate) pause_ms: u64,
    /// Job file for the precondition.
    pub(crate) precondition: Option<String>,
    /// True if the precondition runs before every run instead of only before the first.
    pub(crate) precondition_each: bool,
    /// True if the job's command line has `--readonly`.
    pub(crate) readonly: bool,
    /// Order of the cells in each round.
    pub(crate) order: Vec<Vec<usize>>,
    /// Headings and names for the table.
    #[serde(default)]
    pub(crate) labels: Vec<Label>,
    /// Target of the file systems, if these vary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) volume: Option<Volume>,
}

/// A later line of a results file that changes the number of repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RepeatsChange {
    /// Number of repeats per cell from this line on. The key identifies this type of record in the results
    /// file.
    pub(crate) repeats: u32,
    /// Order of the additional rounds.
    pub(crate) order: Vec<Vec<usize>>,
}

impl SweepPlan {
    /// Number of combinations.
    pub(crate) fn cells(&self) -> usize {
        cells(&self.vary).unwrap_or(0)
    }

    /// Options and values of a cell.
    pub(crate) fn values_of(&self, cell: usize) -> Vec<(&str, &str)> {
        values_of(&self.vary, cell)
    }

    /// Name of a cell, such as `bs=4k, iodepth=1`; empty if no option varies.
    pub(crate) fn name_of(&self, cell: usize) -> String {
        name_of(&self.vary, cell)
    }

    /// The file system of a cell, if these vary.
    pub(super) fn file_system_of(&self, cell: usize) -> Option<(&Volume, &str)> {
        let volume = self.volume.as_ref()?;
        let values = self.values_of(cell);
        let found = values.iter().find(|(name, _)| *name == file_systems::DIMENSION)?;
        Some((volume, found.1))
    }

    /// Number of rounds that may contain runs. It exceeds the number of repeats if that was lowered later.
    pub(crate) fn rounds(&self) -> usize {
        self.order.len().max(self.repeats as usize)
    }

    /// The change to this number of repeats: an order for the additional rounds.
    pub(super) fn change_to(&self, repeats: u32) -> RepeatsChange {
        let mut order = order(self.cells(), repeats, self.seed);
        let known = self.order.len().min(order.len());
        RepeatsChange { repeats, order: order.split_off(known) }
    }

    /// Applies a change.
    pub(super) fn apply(&mut self, change: RepeatsChange) {
        self.repeats = change.repeats;
        self.order.extend(change.order);
    }

    /// Differences between this plan and a recorded one, as text. The order is not compared, because it is
    /// derived from the rest, and the number of repeats may differ.
    pub(super) fn differences(&self, recorded: &SweepPlan, is_seed_given: bool) -> Vec<String> {
        let mut found = Vec::new();
        let mut compare = |what: &str, own: String, theirs: String| {
            if own != theirs {
                found.push(format!("{what}: {theirs} there, {own} now"));
            }
        };
        let variation = |plan: &SweepPlan| {
            let list = plan.vary.iter().map(|vary| format!("{}={}", vary.name, vary.values.join(";")));
            list.collect::<Vec<_>>().join(" ")
        };
        compare("varied options", variation(self), variation(recorded));
        let outline =
            |plan: &SweepPlan| plan.volume.as_ref().map_or_else(|| "none".to_owned(), Volume::outline);
        compare("volume", outline(self), outline(recorded));
        compare("pause in ms", self.pause_ms.to_string(), recorded.pause_ms.to_string());
        compare(
            "--precondition-each",
            self.precondition_each.to_string(),
            recorded.precondition_each.to_string(),
        );
        compare("--readonly", self.readonly.to_string(), recorded.readonly.to_string());
        if is_seed_given {
            compare("seed", self.seed.to_string(), recorded.seed.to_string());
        }
        for (what, own, theirs) in [
            ("job", Some(&self.job), Some(&recorded.job)),
            ("precondition", self.precondition.as_ref(), recorded.precondition.as_ref()),
        ] {
            let lines = |text: Option<&String>| -> Vec<String> {
                text.into_iter().flat_map(|text| text.lines()).map(str::to_owned).collect()
            };
            let (own, theirs) = (lines(own), lines(theirs));
            let only = |lines: &[String], other: &[String]| -> String {
                let only: Vec<&str> =
                    lines.iter().filter(|line| !other.contains(line)).map(String::as_str).collect();
                if only.is_empty() { "nothing else".to_owned() } else { only.join(" ") }
            };
            if own != theirs {
                found.push(format!("{what}: {} there, {} now", only(&theirs, &own), only(&own, &theirs)));
            }
        }
        found
    }
}

/// Adds an option that varies.
pub(crate) fn vary(all: &mut Vec<Variation>, variation: Variation) -> Result<(), Failure> {
    let name = &variation.name;
    if all.iter().any(|other| other.name == *name) {
        return Err(Failure::new(format!("--vary: {name} is varied twice; give all its values in one list")));
    }
    all.push(variation);
    Ok(())
}

/// Options and values of a combination, in the order of the options; the last option varies fastest.
pub(crate) fn values_of(vary: &[Variation], cell: usize) -> Vec<(&str, &str)> {
    let mut rest = cell;
    let mut values: Vec<(&str, &str)> = Vec::new();
    for variation in vary.iter().rev() {
        let count = variation.values.len().max(1);
        let value = variation.values.get(rest % count).map_or("", String::as_str);
        values.push((&variation.name, value));
        rest /= count;
    }
    values.reverse();
    values
}

/// Name of a combination, such as `bs=4k, iodepth=1`; empty if no option varies.
pub(crate) fn name_of(vary: &[Variation], cell: usize) -> String {
    let pairs: Vec<String> =
        values_of(vary, cell).iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join(", ")
}

/// Number of combinations; fails if there are too many.
pub(super) fn cells(vary: &[Variation]) -> Result<usize, Failure> {
    let product = vary.iter().try_fold(1usize, |product, vary| product.checked_mul(vary.values.len()));
    product.filter(|count| *count <= MOST_CELLS).ok_or_else(|| {
        Failure::new(format!("--vary: there are more than {MOST_CELLS} combinations; vary fewer options"))
    })
}

/// Order of the cells in each round: every round contains all cells, shuffled again. For a given seed, the
/// first rounds do not depend on the number of repeats.
pub(super) fn order(cells: usize, repeats: u32, seed: u64) -> Vec<Vec<usize>> {
    let mut state = seed;
    let mut round = || {
        let mut order: Vec<usize> = (0..cells).collect();
        shuffle(&mut order, &mut state);
        order
    };
    (0..repeats).map(|_| round()).collect()
}

/// Shuffles a list. The algorithm is the Fisher-Yates shuffle as in D. E. Knuth, "The Art of Computer
/// Programming", algorithm 3.4.2P; the random numbers are those of SplitMix64.
pub(crate) fn shuffle<T>(all: &mut [T], state: &mut u64) {
    for last in (1..all.len()).rev() {
        // Rounding down changes the probability of a place by at most one in 2^50.
        let place = ((u128::from(split_mix(state)) * (last as u128 + 1)) >> 64) as usize;
        all.swap(last, place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_have_commas_or_semicolons() {
        let parse = |text: &str| Variation::parse(text).map(|found| (found.name, found.values)).ok();
        let list = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
        assert_eq!(parse("blocksize=4k, 8k"), Some(("bs".into(), list(&["4k", "8k"]))));
        assert_eq!(parse("bs=4k,8k;16k"), Some(("bs".into(), list(&["4k,8k", "16k"]))));
        for wrong in ["bs", "bs=", "bs=4k,,8k", "bs=4k,4k", "name=a,b", "=1"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_last_option_varies_fastest() {
        let vary = ["bs=4k,8k", "iodepth=1,2,3"].map(|text| Variation::parse(text).expect("reads"));
        let plan = SweepPlan {
            form: FORM,
            version: String::new(),
            first_job: String::new(),
            job: String::new(),
            vary: vary.into(),
            repeats: 1,
            seed: 1,
            pause_ms: 0,
            precondition: None,
            precondition_each: false,
            readonly: false,
            order: Vec::new(),
            labels: Vec::new(),
            volume: None,
        };
        assert_eq!(plan.cells(), 6);
        assert_eq!(
            (plan.name_of(0), plan.name_of(5)),
            ("bs=4k, iodepth=1".into(), "bs=8k, iodepth=3".into())
        );
        assert_eq!(plan.name_of(3), "bs=8k, iodepth=1");
        let more = SweepPlan { repeats: 5, seed: 2, job: "[a]\nrw=read\n".into(), ..plan.clone() };
        assert_eq!(more.differences(&plan, false), ["job: nothing else there, [a] rw=read now"]);
        assert_eq!(more.differences(&plan, true).len(), 2);
    }

    proptest! {
        #[test]
        fn every_round_has_every_cell_once(cells in 0usize..60, repeats in 0u32..5, seed: u64) {
            let rounds = order(cells, repeats, seed);
            prop_assert_eq!(rounds.len(), repeats as usize);
            for mut round in rounds.clone() {
                round.sort_unstable();
                prop_assert_eq!(round, (0..cells).collect::<Vec<_>>());
            }
            prop_assert_eq!(&rounds, &order(cells, repeats, seed));
            let more = order(cells, repeats + 3, seed);
            prop_assert_eq!(&more[..repeats as usize], &rounds[..]);
        }
    }
}
