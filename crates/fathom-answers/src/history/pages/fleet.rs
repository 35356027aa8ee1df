//! The page of a fleet: the same as that of `fathom history fleet --output`, but each mark is a link to the page of a run.

use super::super::fleet::{summary, table};
use super::super::fleet_page::distributions;
use super::super::question::Question;
use super::super::siblings::{By, CHOICES, measured};
use super::of_run;
use crate::report::fleet::{FleetAnswer, sections};
use fathom_changes::fleet::{Limits, Sample, judge};
use fathom_command::Failure;
use maud::Markup;

/// What can be compared, with its description.
pub(super) const KINDS: [(&str, &str); 3] =
    [("model", "drives of one model"), ("serial", "all drives"), ("host", "hosts")];

/// The content; `by` is a value of `--by`, or empty for the usual one.
pub(super) fn content(question: &Question, by: &str) -> Result<Markup, Failure> {
    let by = match CHOICES.iter().find(|(name, _)| *name == by) {
        Some((_, by)) => *by,
        None if by.is_empty() => By::Model,
        None => return Err(Failure::new(format!("--by={by}: expected model, serial or host"))),
    };
    let usual = Limits::default();
    let limits = Limits { smallest: question.smallest(usual.smallest), ..usual };
    let subjects = question.subjects()?;
    let measured = measured(&subjects, by);
    if measured.is_empty() {
        let missing = if by == By::Host { "host name" } else { "serial number; compare hosts instead" };
        return Err(Failure::new(format!("none of the runs has a {missing}")));
    }
    let samples: Vec<Sample> = measured.iter().map(|measured| measured.sample.clone()).collect();
    let fleet = judge(&samples, &limits);
    let answer = FleetAnswer {
        summary: summary(&fleet, by, &limits).lines().map(str::to_owned).collect(),
        worse: (!fleet.outliers.is_empty()).then(|| table(&fleet, &measured)),
        distributions: distributions(&fleet, &measured, &subjects, by),
    };
    Ok(sections(&answer, &of_run))
}
