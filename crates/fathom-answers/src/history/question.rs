//! What `changes`, `check` and `fleet` have in common: their options, the series they are asked of, and how a
//! change is put into words.

use super::{condition, failed, local_time, open};
use fathom_changes::{Cause, Change, Options, Point, Shape, Worse};
use fathom_command::{Failure, arguments};
use fathom_history::{Access, Condition, FigureName, Measure, Series, Store};
use fathom_stats::inference::Interval;
use lexopt::Arg::{Long, Short};
use lexopt::Parser;
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Figures that are judged unless the user names others.
const USUAL: [&str; 2] = ["iops", "p99"];
/// Causes that are named in a sentence.
const MOST_CAUSES: usize = 3;

/// What the user asks.
#[derive(Default)]
pub(super) struct Question {
    conditions: Vec<Condition>,
    store: Option<OsString>,
    figures: Vec<String>,
    smallest: Option<f64>,
}

/// A series with the figure that it is of.
pub(super) struct Subject {
    /// The figure, as the user wrote it.
    pub(super) figure: String,
    /// The direction in which it is worse.
    pub(super) worse: Worse,
    /// What it measures.
    pub(super) measure: Measure,
    /// Host and device, if other series differ from this one by them alone; otherwise empty.
    pub(super) place: String,
    /// The series.
    pub(super) series: Series,
}

impl Question {
    /// Reads the arguments of a subcommand. `own` takes the options that are not shared, by their names, and says false of
    /// all others.
    pub(super) fn read(
        mut parser: Parser,
        subcommand: &str,
        mut own: impl FnMut(&str, &mut Parser) -> Result<bool, Failure>,
    ) -> Result<Question, Failure> {
        let mut question = Question::default();
        while let Some(argument) = parser.next()? {
            let name = match argument {
                Long(name) => name.to_owned(),
                Short('o') => "output".to_owned(),
                other => return Err(other.unexpected().into()),
            };
            if !own(&name, &mut parser)? && !question.take(&name, &mut parser)? {
                return Err(Failure::new(format!(
                    "`--{name}` is not an option of fathom history {subcommand}"
                )));
            }
        }
        Ok(question)
    }

    /// A question that was not asked with arguments.
    pub(super) fn new(
        conditions: Vec<Condition>,
        store: OsString,
        figures: Vec<String>,
        smallest: Option<&str>,
    ) -> Result<Question, Failure> {
        let smallest = smallest.map(smallest_of).transpose()?;
        Ok(Question { conditions, store: Some(store), figures, smallest })
    }

    /// Takes an option that the subcommands share, by its name. False if it is none of them.
    fn take(&mut self, name: &str, parser: &mut Parser) -> Result<bool, Failure> {
        match name {
            "where" => self.conditions.push(condition(parser)?),
            "store" => self.store = Some(parser.value()?),
            "figure" => self.figures.push(arguments::text(parser, "--figure")?),
            "smallest" => {
                self.smallest = Some(smallest_of(&arguments::text(parser, "--smallest")?)?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Opens the store for reading.
    pub(super) fn store(&self) -> Result<Store, Failure> {
        open(self.store.as_ref(), Access::Read)
    }

    /// Reads the series from the store.
    pub(super) fn subjects(&self) -> Result<Vec<Subject>, Failure> {
        let mut store = self.store()?;
        let usual = USUAL.map(str::to_owned);
        let figures = if self.figures.is_empty() { usual.as_slice() } else { &self.figures };
        let mut subjects = Vec::new();
        for figure in figures {
            let name = FigureName::parse(figure).map_err(failed)?;
            let worse = if name.more_is_better() { Worse::Down } else { Worse::Up };
            let series = store.series(&name, &self.conditions).map_err(failed)?;
            let places = series.into_iter().flat_map(by_place);
            subjects.extend(places.map(|(place, series)| Subject {
                figure: figure.clone(),
                worse,
                measure: name.measure(),
                place,
                series,
            }));
        }
        match subjects.is_empty() {
            true => Err(Failure::new(format!(
                "no run that meets the conditions has {}; fathom history list shows the runs",
                figures.join(" or ")
            ))),
            false => Ok(subjects),
        }
    }

    /// The smallest change that is reported.
    pub(super) fn smallest(&self, usual: f64) -> f64 {
        self.smallest.unwrap_or(usual)
    }

    /// How a series is judged.
    pub(super) fn options(&self, subject: &Subject) -> Options {
        let usual = Options::new(subject.worse);
        Options { smallest: self.smallest(usual.smallest), ..usual }
    }
}

impl Subject {
    /// Name of the series: `p99 of randread (read)`.
    pub(super) fn name(&self) -> String {
        let Series { job, clone, direction, .. } = &self.series;
        let number = if *clone == 0 { String::new() } else { format!(" #{}", clone + 1) };
        format!("{} of {job}{number} ({direction}){}", self.figure, self.place)
    }

    /// The runs. One whose verdict is *wrong*, or whose figure is not above 0, does not count.
    pub(super) fn points(&self) -> Vec<Point> {
        let point = |point: &fathom_history::Point| Point {
            value: point.value,
            standard_error: None,
            is_evidence: point.verdict != "wrong" && point.value.is_finite() && point.value > 0.0,
            attributes: point.attributes.clone(),
        };
        self.series.points.iter().map(point).collect()
    }

    /// Number of a run in the store, by its place in the series.
    pub(super) fn run(&self, number: usize) -> i64 {
        self.series.points.get(number).map_or(0, |point| point.run)
    }

    /// The day of a run, or its number if the time is unknown.
    pub(super) fn day(&self, number: usize) -> String {
        let begun = self.series.points.get(number).and_then(|point| local_time(point.begun_ms, "%-d %b %Y"));
        begun.unwrap_or_else(|| format!("run {}", self.run(number)))
    }

    /// The change as a sentence: `since 14 Oct 2026, p99 of randread (read) +23 % [19, 27]; the same day the kernel went
    /// 6.12.8 → 6.12.11`.
    pub(super) fn sentence(&self, change: &Change) -> String {
        let size = size(change.relative, Some(change.interval));
        let day = self.day(change.number);
        let when = match change.shape {
            Shape::Step => format!("since {day}"),
            Shape::Drift { until } => format!("drifting from {day} to {}", self.day(until)),
        };
        let steady = change.causes.iter().filter(|cause| cause.is_steady);
        let named: Vec<&Cause> = match steady.clone().next() {
            Some(_) => steady.take(MOST_CAUSES).collect(),
            None => change.causes.iter().take(MOST_CAUSES).collect(),
        };
        let causes = named.iter().enumerate().map(|(index, cause)| {
            let own_day = self.day(cause.number);
            let at = if own_day == day { "the same day".to_owned() } else { format!("on {own_day}") };
            let begin = if index == 0 { ';' } else { ',' };
            format!("{begin} {at} {}", went(cause))
        });
        format!("{when}, {} {size}{}", self.name(), causes.collect::<String>())
    }
}

/// The value of `--smallest`, as a share.
fn smallest_of(text: &str) -> Result<f64, Failure> {
    let percent: Option<f64> = text.trim().trim_end_matches('%').trim_end().parse().ok();
    let share = percent.filter(|percent| (0.0..1000.0).contains(percent)).map(|percent| percent / 100.0);
    share.ok_or_else(|| Failure::new(format!("--smallest={text}: expected a change in percent, such as 5%")))
}

/// Divides a series by hosts and names of devices, which would alternate in it. Another drive of the same name on the same
/// host stays in its series: the change is what is looked for.
fn by_place(series: Series) -> Vec<(String, Series)> {
    let mut parts: BTreeMap<String, Series> = BTreeMap::new();
    for point in series.points {
        let names = [("host", ""), ("hosts", " hosts"), ("device", "")];
        let known = names.iter().filter_map(|(name, noun)| Some((point.attributes.get(*name)?, noun)));
        let place: String = known.map(|(name, noun)| format!(" on {name}{noun}")).collect();
        let part = parts.entry(place).or_insert_with(|| Series {
            job: series.job.clone(),
            clone: series.clone,
            direction: series.direction,
            fingerprint: series.fingerprint.clone(),
            points: Vec::new(),
        });
        part.points.push(point);
    }
    match parts.len() {
        1 => parts.into_values().map(|series| (String::new(), series)).collect(),
        _ => parts.into_iter().collect(),
    }
}

/// What an attribute did.
fn went(cause: &Cause) -> String {
    let name = cause
        .name
        .strip_prefix("tag.")
        .map_or_else(|| cause.name.replace('_', " "), |tag| format!("tag {tag}"));
    match (&cause.before, &cause.after) {
        (Some(before), Some(after)) => format!("the {name} went {before} → {after}"),
        (None, Some(after)) => format!("the {name} became known: {after}"),
        (Some(before), None) => format!("the {name}, {before}, became unknown"),
        (None, None) => format!("the {name} changed"),
    }
}

/// A relative change with its interval: `+23 % [19, 27]`.
pub(super) fn size(relative: f64, interval: Option<Interval>) -> String {
    let percent = |share: f64| {
        let digits = if (share * 100.0).abs() < 9.95 { 1 } else { 0 };
        // A negative number that rounds to zero is zero.
        let text = format!("{:.digits$}", share * 100.0);
        if text.trim_start_matches('-').parse() == Ok(0.0) {
            text.trim_start_matches('-').to_owned()
        } else {
            text
        }
    };
    let sign = if relative > 0.0 { "+" } else { "" };
    let interval =
        interval.map(|interval| format!(" [{}, {}]", percent(interval.low), percent(interval.high)));
    format!("{sign}{} %{}", percent(relative), interval.unwrap_or_default())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Forty nights, the last 15 of which are 23 % slower, since another kernel.
    pub(in super::super) fn nights() -> Subject {
        let point = |night: u64| fathom_history::Point {
            run: night as i64 + 1,
            begun_ms: 1_790_000_000_000 + night * 86_400_000,
            value: (250_000.0 + 1_000.0 * ((night * 7) % 11) as f64) * if night < 25 { 1.0 } else { 1.23 },
            verdict: "no doubts".to_owned(),
            attributes: BTreeMap::from([(
                "kernel".to_owned(),
                if night < 25 { "6.12.8" } else { "6.12.11" }.to_owned(),
            )]),
        };
        let series = Series {
            job: "randread".to_owned(),
            clone: 0,
            direction: "read",
            fingerprint: "0123456789abcdef".to_owned(),
            points: (0..40).map(point).collect(),
        };
        Subject {
            figure: "p99".to_owned(),
            worse: Worse::Up,
            measure: Measure::Time,
            place: String::new(),
            series,
        }
    }

    #[test]
    fn a_change_is_a_sentence_with_its_cause() {
        let subject = nights();
        let found = fathom_changes::analyse(&subject.points(), &Options::new(Worse::Up)).expect("enough");
        let sentence = subject.sentence(&found.changes[0]);
        let day = subject.day(25);
        assert!(sentence.starts_with(&format!("since {day}, p99 of randread (read) +2")), "{sentence}");
        assert!(sentence.ends_with("]; the same day the kernel went 6.12.8 → 6.12.11"), "{sentence}");
    }

    #[test]
    fn hosts_and_devices_do_not_alternate_in_a_series() {
        let mut series = nights().series;
        for (index, point) in series.points.iter_mut().enumerate() {
            let (host, serial) = (["a", "b"][index % 2], if index < 20 { "1" } else { "2" });
            let all = [("host", host), ("device", "nvme0n1"), ("serial", serial)];
            point.attributes = all.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        }
        let parts = by_place(series);
        let found: Vec<_> = parts.iter().map(|(place, part)| (place.as_str(), part.points.len())).collect();
        assert_eq!(found, [(" on a on nvme0n1", 20), (" on b on nvme0n1", 20)], "whatever its serial number");
        assert_eq!(by_place(nights().series)[0].0, "");
    }

    #[test]
    fn wrong_runs_are_no_evidence() {
        let mut subject = nights();
        subject.series.points[3].verdict = "wrong".to_owned();
        subject.series.points[4].value = 0.0;
        let left_out = subject.points().iter().filter(|point| !point.is_evidence).count();
        assert_eq!(left_out, 2);
    }

    #[test]
    fn sizes_have_digits_where_they_matter() {
        let interval = Interval { low: 0.19, high: 0.27 };
        assert_eq!(size(0.23, Some(interval)), "+23 % [19, 27]");
        assert_eq!(size(-0.054, None), "-5.4 %");
        assert_eq!(size(0.0, Some(Interval { low: -1e-9, high: 0.0 })), "0.0 % [0.0, 0.0]");
    }
}
