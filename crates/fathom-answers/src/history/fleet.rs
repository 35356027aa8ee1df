//! `fathom history fleet`: which drives are slower than their siblings, by which figure, by how much, and how sure?

use super::fleet_page::distributions;
use super::question::{Question, Subject, size};
use super::runs;
use super::siblings::{By, CHOICES, Measured, measured, runs_of};
use crate::report::fleet::{self, FleetAnswer};
use crate::report::put;
use crate::table::{Align, FORMATS, Format, Table, print_as};
use crate::{columns, output};
use fathom_changes::fleet::{FEWEST_SIBLINGS, Fleet, Limits, Sample, judge};
use fathom_command::{Failure, Streams, arguments};
use lexopt::Parser;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The page that is written, if it is asked for.
#[derive(Default)]
struct Page {
    output: Option<PathBuf>,
    title: Option<String>,
    force: bool,
}

pub(super) fn run(parser: Parser, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let (mut by, mut format, mut page) = (By::Model, Format::Text, Page::default());
    let question = Question::read(parser, "fleet", |name, parser| {
        match name {
            "by" => by = arguments::choice(parser, "--by", &CHOICES)?,
            "format" => format = arguments::choice(parser, "--format", &FORMATS)?,
            "output" => page.output = Some(PathBuf::from(parser.value()?)),
            "title" => page.title = Some(arguments::text(parser, "--title")?),
            "force" => page.force = true,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let answered = Answered::of(&question, by)?;
    let Answered { fleet, measured, limits, .. } = &answered;
    let code = if fleet.judged == 0 { 1 } else { 0 };
    if let Some(output) = &page.output {
        let behind = fleet.outliers.iter().flat_map(|outlier| runs_of(outlier, measured));
        let entries = runs::newest(&mut question.store()?, behind.collect())?;
        let title = page.title.unwrap_or_else(|| "Fleet".to_owned());
        let html = fleet::page(&title, &answered.drawn(), &entries);
        return put(output, &html, page.force, streams).map(|_| code);
    }
    match format {
        Format::Text => {
            let rows = if fleet.outliers.is_empty() {
                String::new()
            } else {
                table(fleet, measured).text(0, columns::of_terminal())
            };
            output::print_long(streams, &(rows + &summary(fleet, by, limits)))?;
        }
        Format::Markdown => print_as(format, streams, &table(fleet, measured).markdown())?,
        Format::Csv => print_as(format, streams, &table(fleet, measured).csv())?,
        Format::Json => print_as(format, streams, &output::json(&document(fleet, measured))?)?,
    }
    Ok(code)
}

/// A fleet, judged.
pub(super) struct Answered {
    by: By,
    limits: Limits,
    subjects: Vec<Subject>,
    measured: Vec<Measured>,
    fleet: Fleet,
}

impl Answered {
    pub(super) fn of(question: &Question, by: By) -> Result<Answered, Failure> {
        let usual = Limits::default();
        let limits = Limits { smallest: question.smallest(usual.smallest), ..usual };
        let subjects = question.subjects()?;
        let measured = measured(&subjects, by);
        if measured.is_empty() {
            let missing =
                if by == By::Host { "host name" } else { "serial number; --by=host compares hosts" };
            return Err(Failure::new(format!("none of the runs has a {missing}")));
        }
        let samples: Vec<Sample> = measured.iter().map(|measured| measured.sample.clone()).collect();
        let fleet = judge(&samples, &limits);
        Ok(Answered { by, limits, subjects, measured, fleet })
    }

    /// The answer as a page shows it.
    pub(super) fn drawn(&self) -> FleetAnswer {
        let Answered { by, limits, subjects, measured, fleet } = self;
        FleetAnswer {
            summary: summary(fleet, *by, limits).lines().map(str::to_owned).collect(),
            worse: (!fleet.outliers.is_empty()).then(|| table(fleet, measured)),
            distributions: distributions(fleet, measured, subjects, *by),
        }
    }
}

fn table(fleet: &Fleet, measured: &[Measured]) -> Table {
    let mut table = Table::new(&[
        ("drive", Align::Name),
        ("siblings", Align::Name),
        ("figure", Align::Left),
        ("against siblings", Align::Right),
        ("deviations", Align::Right),
        ("q", Align::Right),
        ("runs", Align::Name),
    ]);
    for outlier in &fleet.outliers {
        let runs: Vec<String> = runs_of(outlier, measured).iter().map(i64::to_string).collect();
        table.row(vec![
            outlier.drive.clone(),
            outlier.group.clone(),
            outlier.figure.clone(),
            size(outlier.relative, outlier.interval),
            format!("{:.1}", outlier.deviations),
            format!("{:.1e}", outlier.q_value),
            runs.join(" "),
        ]);
    }
    table
}

/// What was judged, below the table.
fn summary(fleet: &Fleet, by: By, limits: &Limits) -> String {
    let unit = format!("{}s", by.noun());
    let few = fleet.siblings.iter().filter(|siblings| siblings.spread.is_none()).count();
    let left_out = match few {
        0 => String::new(),
        _ => format!(
            "not judged, with fewer than {FEWEST_SIBLINGS} {unit}: {few} of {} figures of groups\n",
            fleet.siblings.len()
        ),
    };
    format!(
        "{} of {} {unit} are worse than their siblings; at most {:.0} % of them by chance\n{left_out}",
        fleet.outliers.len(),
        fleet.judged,
        limits.false_discoveries * 100.0
    )
}

fn document(fleet: &Fleet, measured: &[Measured]) -> Value {
    let outliers = fleet.outliers.iter().map(|outlier| {
        json!({
            "drive": outlier.drive,
            "group": outlier.group,
            "figure": outlier.figure,
            "value": outlier.value,
            "siblings": outlier.siblings,
            "relative": outlier.relative,
            "interval": outlier.interval,
            "deviations": outlier.deviations,
            "p_value": outlier.p_value,
            "q_value": outlier.q_value,
            "runs": runs_of(outlier, measured),
        })
    });
    let siblings = fleet.siblings.iter().map(|siblings| {
        json!({
            "group": siblings.group,
            "figure": siblings.figure,
            "drives": siblings.drives,
            "centre": siblings.centre,
            "spread": siblings.spread,
        })
    });
    json!({
        "judged": fleet.judged,
        "outliers": outliers.collect::<Vec<Value>>(),
        "siblings": siblings.collect::<Vec<Value>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::question::tests::nights;
    use super::*;
    use std::collections::BTreeMap;

    /// One run on each of 30 drives, one of which is slow.
    fn drives() -> Subject {
        let mut subject = nights();
        subject.series.points.truncate(30);
        for (index, point) in subject.series.points.iter_mut().enumerate() {
            let serial = format!("S{index:02}");
            point.value = 250_000.0 + 1_000.0 * ((index * 7) % 11) as f64;
            point.attributes =
                BTreeMap::from([("serial".to_owned(), serial), ("model".to_owned(), "X".to_owned())]);
        }
        subject.series.points[12].value *= 1.6;
        subject
    }

    #[test]
    fn the_slow_drive_is_listed_with_its_run() {
        let measured = measured(&[drives()], By::Model);
        let samples: Vec<Sample> = measured.iter().map(|measured| measured.sample.clone()).collect();
        let fleet = judge(&samples, &Limits::default());
        assert_eq!((fleet.outliers.len(), fleet.judged), (1, 30));
        assert_eq!(fleet.outliers[0].drive, "S12");
        assert_eq!(runs_of(&fleet.outliers[0], &measured), [13]);
        assert_eq!(document(&fleet, &measured)["outliers"][0]["runs"], json!([13]));
        assert!(summary(&fleet, By::Model, &Limits::default()).starts_with("1 of 30 drives "));
    }

    #[test]
    fn runs_without_a_serial_number_are_left_out() {
        let mut subject = drives();
        subject.series.points[0].attributes.clear();
        subject.series.points[1].verdict = "wrong".to_owned();
        assert_eq!(measured(&[subject], By::Serial).len(), 28);
    }
}
