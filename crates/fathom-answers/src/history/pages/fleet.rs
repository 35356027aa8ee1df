//! The page of a fleet: the same as that of `fathom history fleet --output`, but each mark is a link to the page of a run.

use super::super::fleet::Answered;
use super::super::question::Question;
use super::super::siblings::{By, CHOICES};
use super::of_run;
use crate::report::fleet::sections;
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
    Ok(sections(&Answered::of(question, by)?.drawn(), &of_run))
}
