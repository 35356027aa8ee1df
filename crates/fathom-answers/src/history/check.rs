//! `fathom history check`: are the newest runs a regression? A gate for continuous integration: one line, and the exit status.

use super::question::{Question, Subject, size};
use crate::output;
use crate::table::{Align, Format, Table, print_as};
use fathom_changes::{Gate, Options, Refusal, Verdict, check};
use fathom_command::{Failure, Streams, arguments};
use lexopt::Parser;

/// Exit status of a regression.
const REGRESSION: u8 = 2;
/// Exit status if no series has an answer.
const NO_ANSWER: u8 = 1;

type Checked = (Subject, Result<Gate, Refusal>);

pub(super) fn run(parser: Parser, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    const OFFERED: [(&str, Format); 2] = [("text", Format::Text), ("markdown", Format::Markdown)];
    let (mut newest, mut format) = (1, Format::Text);
    let question = Question::read(parser, "check", |name, parser| {
        match name {
            "newest" => newest = arguments::number(parser, "--newest", 1)?,
            "format" => format = arguments::choice(parser, "--format", &OFFERED)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let newest = usize::try_from(newest).unwrap_or(usize::MAX);
    let subjects = of_newest_run(question.subjects()?);
    // All series together have the rate of false alarms of one.
    let share = subjects.len().max(1) as f64;
    let checked: Vec<Checked> = subjects
        .into_iter()
        .map(|subject| {
            let options = question.options(&subject);
            let options = Options { significance: options.significance / share, ..options };
            let gate = check(&subject.points(), newest, &options);
            (subject, gate)
        })
        .collect();
    let text = match format {
        Format::Markdown => format!("{}\n{}", line(&checked), table(&checked).markdown()),
        _ => line(&checked),
    };
    match format {
        Format::Text => output::print_long(streams, &text)?,
        _ => print_as(format, streams, &text)?,
    }
    Ok(status(&checked))
}

/// The series that the newest run is part of: others were not measured this time.
fn of_newest_run(subjects: Vec<Subject>) -> Vec<Subject> {
    let last = |subject: &Subject| subject.series.points.last().map(|point| (point.begun_ms, point.run));
    let newest = subjects.iter().filter_map(last).max();
    subjects.into_iter().filter(|subject| last(subject) == newest).collect()
}

fn status(checked: &[Checked]) -> u8 {
    let is = |wanted: Verdict| {
        checked.iter().any(|(_, gate)| gate.as_ref().is_ok_and(|gate| gate.verdict == wanted))
    };
    match () {
        () if is(Verdict::Regression) => REGRESSION,
        () if checked.iter().all(|(_, gate)| gate.is_err()) => NO_ANSWER,
        () => 0,
    }
}

/// The answer on one line.
fn line(checked: &[Checked]) -> String {
    let of = |wanted: Verdict| {
        let of_verdict = checked.iter().filter_map(|(subject, gate)| Some((subject, gate.as_ref().ok()?)));
        of_verdict.filter(move |(_, gate)| gate.verdict == wanted)
    };
    let answered = checked.iter().filter(|(_, gate)| gate.is_ok()).count();
    let regressions: Vec<String> = of(Verdict::Regression)
        .map(|(subject, gate)| {
            format!(
                "{} {} against {} runs since {} (p {:.1e})",
                subject.name(),
                size(gate.relative, Some(gate.interval)),
                gate.runs,
                subject.day(gate.level.0),
                gate.p_value
            )
        })
        .collect();
    let improvements: Vec<String> = of(Verdict::Improvement)
        .map(|(subject, gate)| format!("{} {}", subject.name(), size(gate.relative, Some(gate.interval))))
        .collect();
    match (regressions.is_empty(), improvements.is_empty()) {
        (false, _) => format!("regression: {}\n", regressions.join("; ")),
        (true, false) => format!("fine, and better: {}\n", improvements.join("; ")),
        (true, true) if answered > 0 => format!("fine: no change in {answered} series\n"),
        (true, true) => {
            let why = checked.first().and_then(|(_, gate)| gate.as_ref().err()).map(Refusal::to_string);
            format!("no answer: {}\n", why.unwrap_or_else(|| "no series was found".to_owned()))
        }
    }
}

/// All series, for a pull request.
fn table(checked: &[Checked]) -> Table {
    let mut table = Table::new(&[
        ("series", Align::Left),
        ("verdict", Align::Left),
        ("change", Align::Right),
        ("p", Align::Right),
        ("runs before", Align::Right),
    ]);
    for (subject, gate) in checked {
        table.row(match gate {
            Err(refusal) => vec![subject.name(), refusal.to_string()],
            Ok(gate) => vec![
                subject.name(),
                match gate.verdict {
                    Verdict::Fine => "fine",
                    Verdict::Regression => "**regression**",
                    Verdict::Improvement => "better",
                }
                .to_owned(),
                size(gate.relative, Some(gate.interval)),
                format!("{:.1e}", gate.p_value),
                gate.runs.to_string(),
            ],
        });
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::question::tests::nights;
    use super::*;
    use fathom_changes::Worse;

    fn checked(newest: f64) -> Vec<Checked> {
        let mut subject = nights();
        subject.series.points[39].value = newest;
        let gate = check(&subject.points(), 1, &Options::new(Worse::Up));
        vec![(subject, gate)]
    }

    #[test]
    fn the_line_and_the_status_agree() {
        let slow = checked(450_000.0);
        assert_eq!(status(&slow), REGRESSION);
        assert!(line(&slow).starts_with("regression: p99 of randread (read) +"), "{}", line(&slow));
        assert!(table(&slow).markdown().contains("**regression**"));
        let usual = checked(313_000.0);
        assert_eq!((status(&usual), line(&usual).as_str()), (0, "fine: no change in 1 series\n"));
        let fast = checked(200_000.0);
        assert_eq!(status(&fast), 0);
        assert!(line(&fast).starts_with("fine, and better: "), "{}", line(&fast));
    }

    #[test]
    fn few_runs_have_no_answer() {
        let mut subject = nights();
        subject.series.points.truncate(5);
        let gate = check(&subject.points(), 1, &Options::new(Worse::Up));
        let few = vec![(subject, gate)];
        assert_eq!((status(&few), status(&[])), (NO_ANSWER, NO_ANSWER));
        assert_eq!(line(&few), "no answer: not enough runs: 4 of at least 10\n");
    }

    #[test]
    fn series_without_the_newest_run_are_not_asked() {
        let mut old = nights();
        old.series.points.truncate(30);
        assert_eq!(of_newest_run(vec![old, nights()]).len(), 1);
    }
}
