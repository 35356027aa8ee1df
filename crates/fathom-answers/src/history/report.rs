//! `fathom history report`: a page of the figures over the runs, their levels and their changes.

use super::changes::{Judged, judged, told};
use super::question::{Question, Subject};
use super::{runs, time};
use crate::report::chart::scale::Unit;
use crate::report::history::{Course, Level, Run, page};
use crate::report::put;
use crate::report::runs::Said;
use fathom_changes::{Analysis, Refusal};
use fathom_command::{Failure, Streams, arguments};
use fathom_history::Measure;
use lexopt::Parser;
use std::path::PathBuf;

/// The page if `--output` names no other.
const OUTPUT: &str = "history.html";

pub(super) fn run(parser: Parser, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let (mut output, mut title, mut force) = (None, None, false);
    let question = Question::read(parser, "report", |name, parser| {
        match name {
            "output" => output = Some(PathBuf::from(parser.value()?)),
            "title" => title = Some(arguments::text(parser, "--title")?),
            "force" => force = true,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let judged = judged(&question)?;
    let courses: Vec<Course> = judged.iter().map(|(subject, found)| course(subject, found)).collect();
    let entries = runs::entries(&mut question.store()?, &judged)?;
    let title = title.unwrap_or_else(|| "Storage over time".to_owned());
    put(
        &output.unwrap_or_else(|| PathBuf::from(OUTPUT)),
        &page(&title, &lead(&judged), &courses, &entries),
        force,
        streams,
    )
}

/// What is said of all series: the changes, or that there are none.
pub(super) fn lead(judged: &[Judged]) -> Vec<Said> {
    let (mut lines, mut steady, mut refused) = (Vec::new(), 0, 0);
    for (subject, found) in judged {
        match found {
            Err(_) => refused += 1,
            Ok(found) if found.changes.is_empty() => steady += 1,
            Ok(_) => lines.extend(said(subject, found)),
        }
    }
    if steady > 0 {
        lines.push(format!("No change in {steady} series.").into());
    }
    if refused > 0 {
        lines.push(format!("No answer for {refused} series: the reasons are above their charts.").into());
    }
    lines
}

/// What is said of a series, with the runs at which it changed.
fn said(subject: &Subject, found: &Result<Analysis, Refusal>) -> Vec<Said> {
    let changes = found.iter().flat_map(|found| &found.changes);
    let mut runs = changes.map(|change| subject.run(change.number));
    told(subject, found).into_iter().map(|text| Said { text, run: runs.next() }).collect()
}

pub(super) fn course(subject: &Subject, found: &Result<Analysis, Refusal>) -> Course {
    let runs = subject.series.points.iter().zip(subject.points()).map(|(of_store, point)| Run {
        number: of_store.run,
        time: time(of_store.begun_ms),
        value: of_store.value,
        is_evidence: point.is_evidence,
    });
    let levels = found.iter().flat_map(|found| &found.segments).map(|segment| Level {
        runs: (segment.first, segment.last),
        centre: segment.centre,
        ends: segment.interval.map(|interval| (interval.low, interval.high)),
    });
    Course {
        title: subject.name(),
        unit: unit_of(subject.measure),
        runs: runs.collect(),
        levels: levels.collect(),
        told: said(subject, found),
    }
}

pub(super) fn unit_of(measure: Measure) -> Unit {
    match measure {
        Measure::Time => Unit::Latency,
        Measure::Bandwidth => Unit::Bandwidth,
        Measure::Share => Unit::Percent,
        Measure::Number => Unit::Count,
    }
}
