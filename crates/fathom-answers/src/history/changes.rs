//! `fathom history changes`: when did a figure change, by how much, and what changed with it?

use super::question::{Question, Subject};
use crate::output;
use fathom_changes::{Analysis, Refusal, Shape, analyse};
use fathom_command::{Failure, Streams, arguments};
use lexopt::Parser;
use serde_json::{Value, json};

/// A series, and what was found.
pub(super) type Judged = (Subject, Result<Analysis, Refusal>);

pub(super) fn run(parser: Parser, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let mut is_json = false;
    let question = Question::read(parser, "changes", |name, parser| {
        let is_own = name == "format";
        if is_own {
            is_json = arguments::choice(parser, "--format", &[("text", false), ("json", true)])?;
        }
        Ok(is_own)
    })?;
    let judged = judged(&question)?;
    match is_json {
        true => {
            let all: Vec<Value> = judged.iter().map(|(subject, found)| document(subject, found)).collect();
            streams.out.write_all(output::json(&all)?.as_bytes())?;
        }
        false => {
            let lines = judged.iter().flat_map(|(subject, found)| told(subject, found));
            output::print_long(streams, &lines.map(|line| line + "\n").collect::<String>())?;
        }
    }
    Ok(if judged.iter().all(|(_, found)| found.is_err()) { 1 } else { 0 })
}

/// The series that are asked of, each with its changes, or with why nothing can be said.
pub(super) fn judged(question: &Question) -> Result<Vec<Judged>, Failure> {
    Ok(judge(question, question.subjects()?))
}

/// The changes of these series.
pub(super) fn judge(question: &Question, subjects: Vec<Subject>) -> Vec<Judged> {
    let judge = |subject: Subject| {
        let found = analyse(&subject.points(), &question.options(&subject));
        (subject, found)
    };
    subjects.into_iter().map(judge).collect()
}

/// A sentence per change, or one that says why there is none.
pub(super) fn told(subject: &Subject, found: &Result<Analysis, Refusal>) -> Vec<String> {
    match found {
        Err(refusal) => vec![format!("{}: {refusal}", subject.name())],
        Ok(found) if found.changes.is_empty() => {
            vec![format!("{}: no change in {} runs", subject.name(), found.runs)]
        }
        Ok(found) => found.changes.iter().map(|change| subject.sentence(change)).collect(),
    }
}

fn document(subject: &Subject, found: &Result<Analysis, Refusal>) -> Value {
    let series = &subject.series;
    let mut document = json!({
        "figure": subject.figure,
        "job": series.job,
        "clone": series.clone,
        "direction": series.direction,
        "place": subject.place.trim_start(),
        "fingerprint": series.fingerprint,
    });
    match found {
        Err(refusal) => document["refused"] = json!(refusal.to_string()),
        Ok(found) => {
            document["runs"] = json!(found.runs);
            document["changes"] = found.changes.iter().map(|change| change_of(subject, change)).collect();
            let segments = found.segments.iter().map(|segment| {
                json!({
                    "first_run": subject.run(segment.first),
                    "last_run": subject.run(segment.last),
                    "runs": segment.runs,
                    "centre": segment.centre,
                    "interval": segment.interval,
                    "spread": segment.spread,
                    "is_drifting": segment.is_drifting,
                })
            });
            document["segments"] = segments.collect();
        }
    }
    document
}

fn change_of(subject: &Subject, change: &fathom_changes::Change) -> Value {
    let causes = change.causes.iter().map(|cause| {
        json!({
            "attribute": cause.name,
            "before": cause.before,
            "after": cause.after,
            "run": subject.run(cause.number),
            "is_steady": cause.is_steady,
        })
    });
    let until = match change.shape {
        Shape::Step => None,
        Shape::Drift { until } => Some(subject.run(until)),
    };
    json!({
        "run": subject.run(change.number),
        "earliest_run": subject.run(change.range.0),
        "latest_run": subject.run(change.range.1),
        "drifts_until_run": until,
        "relative": change.relative,
        "interval": change.interval,
        "deviations": change.deviations,
        "p_value": change.p_value,
        "is_regression": change.is_regression,
        "causes": causes.collect::<Vec<Value>>(),
        "sentence": subject.sentence(change),
    })
}

#[cfg(test)]
mod tests {
    use super::super::question::tests::nights;
    use super::*;
    use fathom_changes::{Options, Worse};

    #[test]
    fn a_series_has_a_line_for_each_change_or_one_without() {
        let mut subject = nights();
        let judged = |subject: &Subject| told(subject, &analyse(&subject.points(), &Options::new(Worse::Up)));
        assert_eq!(judged(&subject).len(), 1);
        subject.series.points.truncate(25);
        assert_eq!(judged(&subject), ["p99 of randread (read): no change in 25 runs"]);
        subject.series.points.truncate(4);
        assert_eq!(judged(&subject), ["p99 of randread (read): not enough runs: 4 of at least 10"]);
    }

    #[test]
    fn json_has_the_numbers_of_the_store() {
        let subject = nights();
        let found = document(&subject, &analyse(&subject.points(), &Options::new(Worse::Up)));
        assert_eq!(
            (&found["changes"][0]["run"], &found["segments"][1]["first_run"]),
            (&json!(26), &json!(26))
        );
        assert_eq!(found["changes"][0]["causes"][0]["after"], "6.12.11");
    }
}
