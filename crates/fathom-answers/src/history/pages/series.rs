//! The page of series with their changes: the same as that of `fathom history report`, but each mark is a link to the page
//! of its run. A browser is given as much as it can draw.

use super::super::changes::{Judged, judge};
use super::super::question::Question;
use super::super::report::{course, lead};
use super::of_run;
use crate::report::history::{Course, sections};
use fathom_command::Failure;
use maud::{Markup, html};

/// Maximum number of series that are drawn.
const MOST_SERIES: usize = 100;
/// Maximum number of sentences about all of them.
const MOST_SENTENCES: usize = 200;

pub(super) fn content(question: &Question) -> Result<Markup, Failure> {
    let mut judged: Vec<Judged> = judge(question, question.subjects()?);
    let mut lead = lead(&judged);
    let untold = lead.len().saturating_sub(MOST_SENTENCES);
    if untold > 0 {
        // The last sentences are about series without a change.
        lead.drain(MOST_SENTENCES..lead.len().saturating_sub(2).max(MOST_SENTENCES));
    }
    // Those that changed come first.
    judged.sort_by_key(|(_, found)| found.as_ref().map_or(2, |found| u8::from(found.changes.is_empty())));
    let left_out = judged.len().saturating_sub(MOST_SERIES);
    judged.truncate(MOST_SERIES);
    let courses: Vec<Course> = judged.iter().map(|(subject, found)| course(subject, found)).collect();
    Ok(html! {
        @if left_out > 0 { p {
            (courses.len()) " series are drawn, those with changes first; " (left_out) " are not. A condition selects others."
        } }
        (sections(&lead, &courses, &of_run))
    })
}
