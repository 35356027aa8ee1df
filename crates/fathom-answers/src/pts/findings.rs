//! Evaluates a results file: each part with its rounds, the measurement window, and deviations from the
//! specification.

use super::definition::{Part, Point};
use super::plan::PtsPlan;
use super::record::RecordedTest;
use super::sequence::Ending;
use super::steady_state::{ROUNDS, Window};
use super::step::Step;
use super::step::{Done, Measured, Outcome};
use crate::figures;
use crate::measures::Figure;
use std::ops::Range;

/// A test, possibly unfinished.
pub(crate) struct Findings<'a> {
    pub(crate) plan: &'a PtsPlan,
    pub(crate) parts: Vec<PartFindings<'a>>,
    /// Why the test is not a valid result under the specification; empty if it is valid.
    pub(crate) why_not: Vec<String>,
    /// Other remarks for the reader.
    pub(crate) remarks: Vec<String>,
    /// Time at which the last step ended, in seconds since the epoch.
    pub(crate) ended: u64,
    pub(crate) is_finished: bool,
}

/// A part of a test.
pub(crate) struct PartFindings<'a> {
    pub(crate) part: Part,
    /// How the device was purged, and how long the purge took.
    pub(crate) purge: Option<(&'a str, f64)>,
    /// Bytes and duration in seconds of each preconditioning pass.
    pub(crate) passes: Vec<(u64, f64)>,
    /// The points of each round; the last round may be incomplete.
    pub(crate) rounds: Vec<Vec<&'a Measured>>,
    /// How the part ended; `None` while it is in progress.
    pub(crate) ending: Option<Ending>,
}

impl<'a> Findings<'a> {
    pub(crate) fn of(recorded: &'a RecordedTest) -> Findings<'a> {
        let plan = &recorded.plan;
        let endings = recorded.endings();
        let parts = plan.parts().into_iter().enumerate().map(|(number, part)| {
            PartFindings::of(part, number, &recorded.steps, endings.get(number).cloned())
        });
        let mut findings = Findings {
            plan,
            parts: parts.collect(),
            why_not: Vec::new(),
            remarks: Vec::new(),
            ended: recorded.steps.last().map_or(plan.began, |done| done.ended),
            is_finished: recorded.next().is_none(),
        };
        findings.why_not = findings.deviations(recorded);
        findings.remarks = findings.remarks_on(plan);
        findings
    }

    fn deviations(&self, recorded: &RecordedTest) -> Vec<String> {
        let plan = self.plan;
        let mut found = Vec::new();
        if plan.scale < 1.0 {
            found.push(format!("all times and amounts were shortened (--scale={})", plan.scale));
        }
        if !plan.target.is_device() {
            found.push(
                "the target is a file: the file system and its other files influence all figures".to_owned(),
            );
        }
        if !plan.direct {
            found.push(
                "the file system does not support direct I/O, so memory influences all figures".to_owned(),
            );
        }
        if !self.is_finished {
            found.push("the test is not finished; --resume continues it".to_owned());
        }
        for (number, part) in self.parts.iter().enumerate() {
            let lead =
                if part.part.name.is_empty() { String::new() } else { format!("{}: ", part.part.name) };
            if matches!(part.ending, Some(Ending::NotSteady(_))) {
                found.push(format!("{lead}no steady state in {}", rounds(part.rounds.len())));
            }
            // With --no-purge, the user purges the device before the test, but not between its parts.
            let is_purged_before = !plan.purges && number == 0;
            if let Some((purge, _)) = part.purge
                && purge.starts_with("none")
                && plan.target.is_device()
                && !is_purged_before
            {
                found.push(format!("{lead}purge: {purge}"));
            }
        }
        if let Some(after) = recorded.resumed_after.last() {
            let count = recorded.resumed_after.len();
            let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
            found.push(format!(
                "it was interrupted {times}, the last time after step {after}; an idle device recovers a little"
            ));
        }
        found
    }

    fn remarks_on(&self, plan: &PtsPlan) -> Vec<String> {
        let mut found = Vec::new();
        let left_out: Vec<String> = plan.left_out().into_iter().map(figures::size).collect();
        if !left_out.is_empty() {
            found.push(format!(
                "Blocks of {} are left out: a sector of the device has {}.",
                left_out.join(", "),
                figures::size(plan.target.sector)
            ));
        }
        if self.parts.iter().any(|part| part.purge.is_some_and(|(purge, _)| purge.starts_with("discard"))) {
            found.push(
                "The purge was a discard. A format or sanitize of the drive may reach further; see --no-purge.".to_owned(),
            );
        }
        if !plan.purges && plan.target.is_device() {
            found.push(
                "fathom did not purge the device; a published result has to say how it was purged."
                    .to_owned(),
            );
        }
        if !plan.target.behind.is_empty() {
            found.push(
                "It is a loop device: the storage below it was neither purged nor preconditioned itself."
                    .to_owned(),
            );
        }
        found
    }

    /// Bytes written by all steps.
    pub(crate) fn written(&self) -> u64 {
        let passes = |part: &PartFindings<'_>| sum(part.passes.iter().map(|(bytes, _)| *bytes));
        sum(self.parts.iter().map(|part| passes(part).saturating_add(part.written())))
    }
}

impl<'a> PartFindings<'a> {
    fn of(part: Part, number: usize, steps: &'a [Done], ending: Option<Ending>) -> PartFindings<'a> {
        let mut findings = PartFindings { part, purge: None, passes: Vec::new(), rounds: Vec::new(), ending };
        for done in steps {
            match (done.step, &done.outcome) {
                (Step::Purge { part }, Outcome::Purged(how)) if part == number => {
                    findings.purge = Some((how, done.seconds));
                }
                (Step::Precondition { part, .. }, Outcome::Written(bytes)) if part == number => {
                    findings.passes.push((*bytes, done.seconds));
                }
                (Step::Point { part, round, .. }, Outcome::Measured(measured)) if part == number => {
                    findings.rounds.resize_with(round + 1, Vec::new);
                    findings.rounds[round].push(measured);
                }
                _ => {}
            }
        }
        findings
    }

    /// A figure of a point in a round.
    pub(crate) fn value(&self, point: usize, round: usize, figure: Figure) -> Option<f64> {
        self.rounds.get(round)?.get(point)?.all.value(figure)
    }

    /// Number of complete rounds.
    pub(crate) fn complete_rounds(&self) -> usize {
        self.rounds.iter().filter(|round| round.len() == self.part.points.len()).count()
    }

    /// The window of the last five rounds, regardless of whether it is steady.
    pub(crate) fn window(&self) -> Option<&Window> {
        match &self.ending {
            Some(Ending::Steady(window) | Ending::NotSteady(Some(window))) => Some(window),
            _ => None,
        }
    }

    /// The rounds that the tables show, counted from 0: the window, or the latest rounds so far.
    pub(crate) fn counted_rounds(&self) -> Range<usize> {
        let complete = self.complete_rounds();
        match self.window() {
            Some(window) => window.rounds(),
            None => complete.saturating_sub(ROUNDS)..complete,
        }
    }

    /// A figure of a point over the rounds that count. Maxima are combined to the largest one, other figures to
    /// their mean.
    pub(crate) fn in_window(&self, point: usize, figure: Figure) -> Option<f64> {
        let values: Vec<f64> =
            self.counted_rounds().filter_map(|round| self.value(point, round, figure)).collect();
        match figure {
            _ if values.is_empty() => None,
            Figure::LatencyMax => values.into_iter().reduce(f64::max),
            _ => Some(values.iter().sum::<f64>() / values.len() as f64),
        }
    }

    /// Bytes written in the rounds of the part.
    pub(crate) fn written(&self) -> u64 {
        sum(self.rounds.iter().map(|round| written_in(round)))
    }

    /// Block sizes and mixes of the part's points, in order.
    pub(crate) fn axes(&self) -> (Vec<u64>, Vec<u8>) {
        let (mut blocks, mut mixes) = (Vec::new(), Vec::new());
        for point in &self.part.points {
            if !blocks.contains(&point.block_bytes) {
                blocks.push(point.block_bytes);
            }
            if !mixes.contains(&point.read_percent) {
                mixes.push(point.read_percent);
            }
        }
        (blocks, mixes)
    }

    /// The index of a point in the part.
    pub(crate) fn point_of(&self, block_bytes: u64, read_percent: u8) -> Option<usize> {
        let is_it = |point: &Point| point.block_bytes == block_bytes && point.read_percent == read_percent;
        self.part.points.iter().position(is_it)
    }

    /// A sentence on the steady state.
    pub(crate) fn verdict(&self, figure: Figure) -> String {
        let tracked = &self.part.points[self.part.tracked].name();
        let window = |window: &Window| {
            format!(
                "{tracked}: {} on average; range {} (at most 20 %), slope {} (at most 10 %)",
                figure.text(window.average),
                figures::percent(100.0 * window.range_share()),
                figures::percent(100.0 * window.slope_share())
            )
        };
        match &self.ending {
            Some(Ending::Steady(found)) => {
                format!("rounds {} to {}; {}", found.first + 1, found.first + ROUNDS, window(found))
            }
            Some(Ending::NotSteady(Some(found))) => {
                format!("not reached in {}; the last five: {}", rounds(self.rounds.len()), window(found))
            }
            Some(Ending::NotSteady(None)) => {
                format!("not reached: a window has {ROUNDS} rounds, and there were {}", self.rounds.len())
            }
            Some(Ending::Written) => "not required; the amount was written".to_owned(),
            Some(Ending::TimeOver) => "not required; the time was over".to_owned(),
            None => format!("not reached yet, after {}", rounds(self.complete_rounds())),
        }
    }
}

/// `1 round`, `5 rounds`.
pub(crate) fn rounds(count: usize) -> String {
    if count == 1 { "1 round".to_owned() } else { format!("{count} rounds") }
}

/// Bytes written by the points of a round.
pub(crate) fn written_in(round: &[&Measured]) -> u64 {
    sum(round.iter().filter_map(|measured| measured.write.as_ref()).map(|write| write.bytes))
}

/// The values come from a file and may be arbitrarily large, so the sum saturates.
fn sum(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::saturating_add)
}
