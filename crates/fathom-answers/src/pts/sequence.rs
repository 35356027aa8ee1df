//! Derives the next step from the finished ones. After a killed test, reading its results file restores the
//! same state, so no step is done twice.

use super::definition::{Ends, Part};
use super::plan::PtsPlan;
use super::steady_state::Window;
use super::step::{Done, Outcome, Step};

/// How a part ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ending {
    /// The last five rounds are steady.
    Steady(Window),
    /// The maximum number of rounds was reached without steady state; holds the last window, if there is one.
    NotSteady(Option<Window>),
    /// The required amount was written.
    Written,
    /// The time limit was reached.
    TimeOver,
}

/// The state of a test in progress.
pub(crate) struct Sequence {
    parts: Vec<Part>,
    most_rounds: usize,
    /// Number of bytes after which a part that ends by amount is over.
    fill_bytes: u64,
    figure: crate::measures::Figure,
    next: Option<Step>,
    /// The tracking variable in the completed rounds of the part.
    tracked: Vec<f64>,
    /// Number of bytes written in the rounds of the part.
    written: u64,
    endings: Vec<Ending>,
}

impl Sequence {
    pub(crate) fn new(plan: &PtsPlan) -> Sequence {
        let parts = plan.parts();
        let fills = parts.iter().find_map(|part| match part.ends {
            Ends::Written { fills, .. } => Some(fills),
            Ends::Steady => None,
        });
        Sequence {
            next: (!parts.is_empty()).then_some(Step::Purge { part: 0 }),
            parts,
            most_rounds: plan.most_rounds,
            fill_bytes: fills.map_or(0, |fills| plan.fill_bytes(fills)),
            figure: plan.test.definition().figure,
            tracked: Vec::new(),
            written: 0,
            endings: Vec::new(),
        }
    }

    /// The next step; `None` when the test is finished.
    pub(crate) fn next(&self) -> Option<Step> {
        self.next
    }

    /// How the finished parts ended.
    pub(crate) fn endings(&self) -> &[Ending] {
        &self.endings
    }

    /// Advances the state by a finished step. If that is not the next step, returns false and changes nothing.
    pub(crate) fn take(&mut self, done: &Done) -> bool {
        if self.next != Some(done.step) {
            return false;
        }
        self.next = match done.step {
            Step::Purge { part } => Some(self.precondition_or_round(part, 0)),
            Step::Precondition { part, pass } => Some(self.precondition_or_round(part, pass + 1)),
            Step::Point { part, round, point } => {
                self.count(done, part, point);
                match point + 1 < self.parts[part].points.len() {
                    true => Some(Step::Point { part, round, point: point + 1 }),
                    false => self.after_round(part, round),
                }
            }
        };
        true
    }

    fn precondition_or_round(&self, part: usize, pass: u32) -> Step {
        match pass < self.parts[part].passes {
            true => Step::Precondition { part, pass },
            false => Step::Point { part, round: 0, point: 0 },
        }
    }

    fn count(&mut self, done: &Done, part: usize, point: usize) {
        let Outcome::Measured(measured) = &done.outcome else { return };
        self.written = self.written.saturating_add(measured.write.as_ref().map_or(0, |write| write.bytes));
        if point == self.parts[part].tracked {
            self.tracked.push(measured.all.value(self.figure).unwrap_or(f64::NAN));
        }
    }

    fn after_round(&mut self, part: usize, round: usize) -> Option<Step> {
        let ending = match self.parts[part].ends {
            Ends::Steady => {
                let window = Window::last_of(&self.tracked);
                match window {
                    Some(window) if window.is_steady() => Some(Ending::Steady(window)),
                    window => (round + 1 >= self.most_rounds).then_some(Ending::NotSteady(window)),
                }
            }
            Ends::Written { .. } if self.written >= self.fill_bytes => Some(Ending::Written),
            Ends::Written { rounds, .. } => (round + 1 >= rounds).then_some(Ending::TimeOver),
        };
        let Some(ending) = ending else { return Some(Step::Point { part, round: round + 1, point: 0 }) };
        self.endings.push(ending);
        self.tracked.clear();
        self.written = 0;
        (part + 1 < self.parts.len()).then_some(Step::Purge { part: part + 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::{PtsTest, tests::plan};
    use super::super::step::{Figures, Measured};
    use super::*;
    use proptest::prelude::*;

    /// Result of a step on a device that does this many IOPS.
    fn done(step: Step, iops: f64) -> Done {
        let figures =
            Figures { iops, bytes_per_second: iops, mean_ns: iops, bytes: 4096, ..Figures::default() };
        let outcome = match step {
            Step::Purge { .. } => Outcome::Purged("discard".into()),
            Step::Precondition { .. } => Outcome::Written(1),
            Step::Point { .. } => Outcome::Measured(Measured {
                write: Some(figures.clone()),
                all: figures,
                ..Measured::default()
            }),
        };
        Done { step, ended: 0, seconds: 1.0, outcome }
    }

    fn steps(sequence: &mut Sequence, value: impl Fn(usize, usize) -> f64) -> Vec<Step> {
        let mut steps = Vec::new();
        while let Some(step) = sequence.next() {
            let level = match step {
                Step::Point { part, round, .. } => value(part, round),
                _ => 0.0,
            };
            assert!(sequence.take(&done(step, level)));
            steps.push(step);
        }
        steps
    }

    #[test]
    fn a_steady_device_takes_five_rounds_and_another_one_all() {
        let plan = plan(PtsTest::Throughput);
        let mut sequence = Sequence::new(&plan);
        // The first part reaches steady state in round 7 (counted from 1), the second part never does.
        let found = steps(&mut sequence, |part, round| match part {
            0 if round < 2 => 1000.0,
            0 => 500.0,
            _ => 1000.0 / (round + 1) as f64,
        });
        let rounds = |part: usize| {
            let is_it =
                |step: &&Step| matches!(step, Step::Point { part: own, point: 0, .. } if *own == part);
            found.iter().filter(is_it).count()
        };
        assert_eq!((rounds(0), rounds(1)), (7, 25));
        assert_eq!(
            found[..4],
            [
                Step::Purge { part: 0 },
                Step::Precondition { part: 0, pass: 0 },
                Step::Precondition { part: 0, pass: 1 },
                Step::Point { part: 0, round: 0, point: 0 },
            ]
        );
        assert!(
            matches!(&sequence.endings()[0], Ending::Steady(window) if window.first == 2),
            "{:?}",
            sequence.endings()
        );
        assert!(matches!(&sequence.endings()[1], Ending::NotSteady(Some(window)) if window.first == 20));
        assert_eq!(sequence.endings().len(), 2);
    }

    #[test]
    fn saturation_ends_by_amount_or_time() {
        let mut plan = plan(PtsTest::Saturation);
        plan.target.bytes = 1 << 20;
        plan.scale = 0.001;
        // The test fills a thousandth of the capacity four times, but at least 128 KiB, which is 32 minutes of
        // 4 KiB writes.
        let mut sequence = Sequence::new(&plan);
        assert_eq!(steps(&mut sequence, |_, _| 1.0).len(), 1 + 32);
        assert_eq!(sequence.endings(), [Ending::Written]);
        plan.scale = 1.0;
        plan.target.bytes = 1 << 40;
        let mut sequence = Sequence::new(&plan);
        assert_eq!(steps(&mut sequence, |_, _| 1.0).len(), 1 + 360);
        assert_eq!(sequence.endings(), [Ending::TimeOver]);
    }

    #[test]
    fn only_the_next_step_is_taken() {
        let plan = plan(PtsTest::Iops);
        let mut sequence = Sequence::new(&plan);
        assert!(!sequence.take(&done(Step::Precondition { part: 0, pass: 0 }, 0.0)));
        assert!(sequence.take(&done(Step::Purge { part: 0 }, 0.0)));
        assert!(!sequence.take(&done(Step::Purge { part: 0 }, 0.0)), "no step twice");
    }

    proptest! {
        /// Replaying the finished steps gives the same state, regardless of where the test was interrupted.
        #[test]
        fn a_replayed_sequence_goes_on_alike(
            levels in prop::collection::vec(1.0f64..2.0, 25), cut in 0usize..400, which in 0usize..4
        ) {
            let mut plan = plan([PtsTest::Iops, PtsTest::Throughput, PtsTest::Latency, PtsTest::Saturation][which]);
            plan.scale = 0.1;
            let value = |_, round: usize| levels[round % levels.len()];
            let mut whole = Sequence::new(&plan);
            let all = steps(&mut whole, value);
            let mut replayed = Sequence::new(&plan);
            let level = |step: &Step| match step { Step::Point { part, round, .. } => value(*part, *round), _ => 0.0 };
            for step in all.iter().take(cut) {
                prop_assert!(replayed.take(&done(*step, level(step))));
            }
            let rest = steps(&mut replayed, value);
            prop_assert_eq!(&rest[..], &all[cut.min(all.len())..]);
            prop_assert_eq!(replayed.endings(), whole.endings());
            let mut once = all.clone();
            once.sort_by_key(|step| format!("{step:?}"));
            once.dedup();
            prop_assert_eq!(once.len(), all.len());
        }
    }
}
