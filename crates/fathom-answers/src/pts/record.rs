//! The results file: one line for the plan, one line for each finished step, and one for each resumption of the
//! test.

use super::plan::{FORM, PtsPlan};
use super::sequence::{Ending, Sequence};
use super::step::{Done, Figures, Outcome, Step};
use crate::results_file::{Files, Journal, Mistake, Opened, ResultsFile, check_form, line_of, value_in};
use fathom_command::Failure;
use fathom_results::single_lines;
use serde::Serialize;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Start of a line that records a resumption.
const RESUMED_MARK: &[u8] = b"{\"resumed\":";
/// The content of a results file.
pub(crate) struct RecordedTest {
    pub(crate) plan: PtsPlan,
    /// Results of finished steps, in order.
    pub(crate) steps: Vec<Done>,
    /// Number of finished steps at each resumption.
    pub(crate) resumed_after: Vec<usize>,
    sequence: Sequence,
}

impl RecordedTest {
    pub(super) fn new(plan: PtsPlan) -> RecordedTest {
        let sequence = Sequence::new(&plan);
        RecordedTest { plan, steps: Vec::new(), resumed_after: Vec::new(), sequence }
    }

    /// The next step; `None` when the test is finished.
    pub(crate) fn next(&self) -> Option<Step> {
        self.sequence.next()
    }

    /// How the finished parts ended.
    pub(crate) fn endings(&self) -> &[Ending] {
        self.sequence.endings()
    }

    /// Values of a part's tracking variable, round by round.
    pub(crate) fn tracked_in(&self, part: usize) -> impl Iterator<Item = &Figures> {
        let tracked = self.plan.parts().get(part).map_or(0, |part| part.tracked);
        self.steps.iter().filter_map(move |done| match (done.step, &done.outcome) {
            (Step::Point { part: own, point, .. }, Outcome::Measured(measured)) => {
                (own == part && point == tracked).then_some(&measured.all)
            }
            _ => None,
        })
    }

    fn take_step(&mut self, done: Done) -> bool {
        let is_next = self.sequence.take(&done);
        if is_next {
            self.steps.push(done);
        }
        is_next
    }
}

impl Journal for RecordedTest {
    const FILES: Files = Files {
        mark: "{\"fathom pts\":",
        command: "pts",
        name: "PTS test",
        subject: "test",
        line_of: "this test",
        repair: "remove it and all lines after it to continue from there",
    };

    fn begin(line: &[u8], path: &Path) -> Result<RecordedTest, Mistake> {
        let plan: PtsPlan = value_in(line)?;
        check_form(path, plan.form, FORM)?;
        match plan.mistake() {
            None => Ok(RecordedTest::new(plan)),
            Some(mistake) => {
                let told = format!("{}: not a plan of these tests: {mistake}", path.display());
                Err(Failure::new(told).into())
            }
        }
    }

    fn take(&mut self, line: &[u8], _path: &Path) -> Result<(), Mistake> {
        if line.starts_with(RESUMED_MARK) {
            self.resumed_after.push(self.steps.len());
            return Ok(());
        }
        match self.take_step(value_in(line)?) {
            true => Ok(()),
            false => Err(Mistake::Line("it is not the step that follows the line before".to_owned())),
        }
    }
}

/// Begins a test.
pub(super) fn begin(
    opened: Opened<RecordedTest>,
    plan: &PtsPlan,
) -> Result<ResultsFile<RecordedTest>, Failure> {
    opened.begin(json(plan)?)
}

/// Resumes a test.
pub(super) fn resume(
    opened: Opened<RecordedTest>,
    recorded: RecordedTest,
) -> Result<ResultsFile<RecordedTest>, Failure> {
    let mut file = opened.resume(recorded)?;
    file.add(format!("{{\"resumed\":{}}}", now()))?;
    Ok(file)
}

/// Appends a finished step and syncs it to disk.
pub(super) fn add(
    file: &mut ResultsFile<RecordedTest>,
    step: Step,
    seconds: f64,
    outcome: Outcome,
) -> Result<(), Failure> {
    file.add(json(&Done { step, ended: now(), seconds, outcome })?)
}

fn json<T: Serialize>(value: &T) -> Result<String, Failure> {
    Ok(single_lines(&line_of(value)?).into_owned())
}

/// Seconds since the epoch.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::super::plan::{PtsTest, tests::plan};
    use super::super::step::Measured;
    use super::*;
    use crate::results_file::parse;

    fn lines(count: usize) -> String {
        let plan = plan(PtsTest::Latency);
        let mut text = json(&plan).expect("JSON") + "\n";
        let mut sequence = Sequence::new(&plan);
        for number in 0..count {
            let step = sequence.next().expect("a step");
            let figures = Figures {
                mean_ns: 1e5,
                iops: number as f64,
                percentiles_ns: vec![1.0; 5],
                ..Figures::default()
            };
            let outcome = match step {
                Step::Purge { .. } => Outcome::Purged("discard".into()),
                Step::Precondition { .. } => Outcome::Written(9),
                Step::Point { .. } => {
                    Outcome::Measured(Measured { read: None, write: Some(figures.clone()), all: figures })
                }
            };
            let done = Done { step, ended: 5, seconds: 0.25, outcome };
            assert!(sequence.take(&done));
            text += &(json(&done).expect("JSON") + "\n");
        }
        text
    }

    #[test]
    fn a_torn_line_is_dropped_and_a_strange_one_told() {
        let text = lines(7);
        let path = Path::new("x");
        let read = |text: &str| parse::<RecordedTest>(text.as_bytes(), path);
        let (recorded, whole) = read(&text).expect("reads");
        let recorded = recorded.expect("a plan");
        assert_eq!(
            (recorded.steps.len(), whole, recorded.next()),
            (7, text.len(), Some(Step::Point { part: 0, round: 0, point: 4 }))
        );
        for cut in 0..text.len() {
            let (recorded, whole) = read(&text[..cut]).expect("reads what is whole");
            let steps = recorded.map_or(0, |recorded| recorded.steps.len());
            assert_eq!(text[..whole].lines().count().saturating_sub(1), steps);
        }
        let twice = text.clone() + text.lines().last().expect("a line") + "\n";
        let told = read(&twice).err().map(|failure| failure.to_string()).unwrap_or_default();
        assert!(told.contains("x, line 9: ") && told.contains("not the step that follows"), "{told}");
        let other = text.replace("{\"fathom pts\":1", "{\"fathom pts\":2");
        assert!(read(&other).is_err_and(|failure| failure.to_string().contains("format 2")));
        let resumed = text + "{\"resumed\":7}\n";
        assert_eq!(read(&resumed).expect("reads").0.map(|recorded| recorded.resumed_after), Some(vec![7]));
    }
}
