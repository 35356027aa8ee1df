//! The results file: a line for the plan, then a line for each finished step, and one for each time that a test was resumed.

use super::course::{Course, Ending, Step};
use super::plan::{FORM, Plan};
use crate::measures::Figure;
use crate::measures::workload::{Traffic, Workload, workloads};
use crate::results_file::{Files, Journal, Mistake, Opened, ResultsFile, check_form, line_of};
use fathom_command::Failure;
use fathom_results::{RunResult, single_lines};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// What the line of a resumption begins with.
const RESUMED_MARK: &[u8] = b"{\"resumed\":";
/// Percentiles that are kept of each point.
pub(crate) const PERCENTILES: [f64; 5] = [50.0, 99.0, 99.9, 99.99, 99.999];

/// A finished step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Done {
    #[serde(flatten)]
    pub(crate) step: Step,
    /// Seconds since the epoch.
    pub(crate) ended: u64,
    /// How long it took.
    pub(crate) seconds: f64,
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
}

/// What a step gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    /// How the device was purged, or that it was not.
    Purged(String),
    /// Bytes.
    Written(u64),
    Measured(Measured),
}

/// What a point measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) read: Option<Figures>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) write: Option<Figures>,
    /// Both together.
    pub(crate) all: Figures,
}

/// Figures of I/O. Latencies are from the submission of an I/O to its completion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Figures {
    pub(crate) ios: u64,
    pub(crate) bytes: u64,
    pub(crate) iops: f64,
    pub(crate) bytes_per_second: f64,
    pub(crate) mean_ns: f64,
    pub(crate) max_ns: f64,
    /// In the order of [`PERCENTILES`]; fewer if there is no histogram.
    pub(crate) percentiles_ns: Vec<f64>,
}

impl Figures {
    fn of(traffic: &Traffic) -> Figures {
        let percentiles = PERCENTILES.map(|percent| traffic.percentile(percent));
        let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
        Figures {
            ios: traffic.total_ios,
            bytes: traffic.io_bytes,
            iops: finite(traffic.iops),
            bytes_per_second: finite(traffic.bytes_per_second),
            mean_ns: finite(traffic.mean_ns),
            max_ns: finite(traffic.max_ns),
            // The middle of the last bin may lie beyond the largest value.
            percentiles_ns: percentiles.into_iter().flatten().map(|ns| ns.min(traffic.max_ns)).collect(),
        }
    }

    /// A figure; `None` if nothing was done, or if it was not kept.
    pub(crate) fn value(&self, figure: Figure) -> Option<f64> {
        let has_latency = self.mean_ns > 0.0;
        match figure {
            Figure::Bandwidth => Some(self.bytes_per_second),
            Figure::Iops => Some(self.iops),
            Figure::LatencyMean => has_latency.then_some(self.mean_ns),
            Figure::LatencyMax => has_latency.then_some(self.max_ns),
            Figure::Percentile(percent) => {
                let place = PERCENTILES.iter().position(|kept| *kept == percent)?;
                self.percentiles_ns.get(place).copied()
            }
            Figure::ProcessorTime => None,
        }
    }
}

impl Measured {
    /// Of the only job of a run.
    pub(super) fn of(run: &RunResult) -> Measured {
        let workload = workloads(run).into_iter().next().unwrap_or_default();
        let figures =
            |direction| Workload::traffic(&workload, direction).map(|traffic| Figures::of(&traffic));
        Measured {
            read: figures(Some("read")),
            write: figures(Some("write")),
            all: figures(None).unwrap_or_default(),
        }
    }
}

/// A results file as it was read.
pub(crate) struct Recorded {
    pub(crate) plan: Plan,
    /// In their order.
    pub(crate) steps: Vec<Done>,
    /// Steps that were finished each time when the test was resumed.
    pub(crate) resumed_after: Vec<usize>,
    course: Course,
}

impl Recorded {
    pub(super) fn new(plan: Plan) -> Recorded {
        let course = Course::new(&plan);
        Recorded { plan, steps: Vec::new(), resumed_after: Vec::new(), course }
    }

    /// The step to do; `None` when the test is finished.
    pub(crate) fn next(&self) -> Option<Step> {
        self.course.next()
    }

    /// How the parts ended that have.
    pub(crate) fn endings(&self) -> &[Ending] {
        self.course.endings()
    }

    /// What the tracked point of a part measured, round by round.
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
        let is_next = self.course.take(&done);
        if is_next {
            self.steps.push(done);
        }
        is_next
    }
}

impl Journal for Recorded {
    const FILES: Files = Files {
        mark: "{\"fathom pts\":",
        command: "pts",
        name: "PTS test",
        subject: "test",
        line_of: "this test",
        repair: "remove it and all lines after it to go on from there",
    };

    fn begin(line: &[u8], path: &Path) -> Result<Recorded, Mistake> {
        let plan: Plan = serde_json::from_str(&single_lines(&String::from_utf8_lossy(line)))?;
        check_form(path, plan.form, FORM)?;
        match plan.mistake() {
            None => Ok(Recorded::new(plan)),
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
        match self.take_step(serde_json::from_str(&single_lines(&String::from_utf8_lossy(line)))?) {
            true => Ok(()),
            false => Err(Mistake::Line("it is not the step that follows the line before".to_owned())),
        }
    }
}

/// Begins a test.
pub(super) fn begin(opened: Opened<Recorded>, plan: &Plan) -> Result<ResultsFile<Recorded>, Failure> {
    opened.begin(json(plan)?)
}

/// Goes on with one.
pub(super) fn resume(opened: Opened<Recorded>, recorded: Recorded) -> Result<ResultsFile<Recorded>, Failure> {
    let mut file = opened.resume(recorded)?;
    file.add(format!("{{\"resumed\":{}}}", now()))?;
    Ok(file)
}

/// Adds a finished step; when this returns, it is on the disk.
pub(super) fn add(
    file: &mut ResultsFile<Recorded>,
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
    use super::super::plan::{Test, tests::plan};
    use super::*;
    use crate::results_file::parse;

    fn lines(count: usize) -> String {
        let plan = plan(Test::Latency);
        let mut text = json(&plan).expect("JSON") + "\n";
        let mut course = Course::new(&plan);
        for number in 0..count {
            let step = course.next().expect("a step");
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
            assert!(course.take(&done));
            text += &(json(&done).expect("JSON") + "\n");
        }
        text
    }

    #[test]
    fn a_torn_line_is_dropped_and_a_strange_one_told() {
        let text = lines(7);
        let path = Path::new("x");
        let read = |text: &str| parse::<Recorded>(text.as_bytes(), path);
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
