//! `--fail-if`: conditions for scripts.

use super::change;
use super::matching::{Matched, Pair};
use crate::figures;
use crate::measures::figure::{Figure, FigureOf};
use crate::measures::{Comparison, ComparisonVerdict};
use fathom_command::Failure;

/// A condition such as `JOB:read.p99 > +5%`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FailIf {
    /// As written.
    text: String,
    job: Option<String>,
    /// The figure, which may be limited to one direction.
    pub(super) figure: FigureOf,
    is_above: bool,
    bound: Bound,
    /// For a bandwidth, the unit of the bound and the number of bytes per second in it.
    unit: Option<(&'static str, f64)>,
}

/// The bound of a condition.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    /// Change from A to B in percent.
    Change(f64),
    /// Value in B, in the unit of the figure.
    Value(f64),
}

/// Outcome of a condition for one job and direction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LimitOutcome {
    /// The limit as the user wrote it.
    pub(super) limit: String,
    /// The job and direction.
    pub(super) title: String,
    /// Its state.
    pub(super) state: State,
    /// The values.
    pub(super) found: String,
}

/// Outcome of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The condition holds.
    Met,
    /// The condition does not hold.
    NotMet,
    /// The figure exceeds the bound, but that may be chance.
    MayBeChance,
    /// The figure exceeds the bound, but these results cannot show whether that is chance.
    Undecided,
    /// The figures of a side are wrong.
    Refused,
}

impl LimitOutcome {
    pub(super) fn is_met(&self) -> bool {
        self.state == State::Met
    }

    /// True if the condition cannot be decided because one side is wrong.
    pub(super) fn is_refused(&self) -> bool {
        self.state == State::Refused
    }

    /// One line for people.
    pub(super) fn line(&self) -> String {
        let LimitOutcome { limit, title, found, .. } = self;
        match self.state {
            State::Met => format!("FAILED {limit}: {title}: {found}"),
            State::NotMet => format!("passed: {title}: {found} does not meet {limit}"),
            State::MayBeChance => format!(
                "passed: {title}: {found} may be chance, so it does not count for {limit} (it does with --strict)"
            ),
            State::Refused => {
                format!("refused {limit}: {title}: {found}, but the figures of a side are wrong")
            }
            State::Undecided => format!(
                "undecided {limit}: {title}: {found}, and these results cannot show whether that is chance; compare \
                 repeated runs, or count it with --strict"
            ),
        }
    }

    /// The state as a word, for programs.
    pub(super) fn word(&self) -> &'static str {
        match self.state {
            State::Met => "met",
            State::NotMet => "not met",
            State::MayBeChance => "may be chance",
            State::Undecided => "undecided",
            State::Refused => "refused",
        }
    }
}

impl FailIf {
    /// Parses the value of the option.
    pub(super) fn parse(text: &str) -> Result<FailIf, Failure> {
        let wrong = |what: String| {
            Failure::new(format!(
                "--fail-if: `{text}`: {what}; write for example 'p99 > +5%' or 'JOB:read.bw < 100MB/s'"
            ))
        };
        let at = text.rfind(['>', '<']).ok_or_else(|| wrong("it has no > or <".to_owned()))?;
        let (name, rest) = text.split_at(at);
        let is_above = rest.starts_with('>');
        if rest[1..].starts_with('=') {
            return Err(wrong(format!("{} is not allowed, only > and <", &rest[..2])));
        }
        let (job, name) = match name.trim().rsplit_once(':') {
            Some((job, name)) => (Some(job.trim().to_owned()), name.trim()),
            None => (None, name.trim()),
        };
        let figure = FigureOf::parse(name).map_err(|failure| wrong(failure.to_string()))?;
        let value = rest[1..].trim();
        let bound = match value.strip_suffix('%') {
            Some(percent) => number(percent.trim()).map(Bound::Change),
            None => absolute(figure.figure, value).map(Bound::Value),
        };
        let bound = bound.ok_or_else(|| {
            wrong(format!("`{value}` is neither a change in percent nor a value in {}", units(figure.figure)))
        })?;
        let unit = BANDWIDTHS.into_iter().find(|(name, _)| unit_of(value).1 == *name);
        Ok(FailIf { text: text.to_owned(), job, figure, is_above, bound, unit })
    }

    fn concerns(&self, pair: &Pair, comparison: &Comparison) -> bool {
        let is_job = self.job.as_ref().is_none_or(|job| *job == pair.name || *job == pair.job);
        let is_direction = self.figure.direction.is_none() || self.figure.direction == pair.direction;
        is_job && is_direction && self.figure.figure == comparison.figure
    }

    fn is_beyond(&self, value: f64, bound: f64) -> bool {
        if self.is_above { value > bound } else { value < bound }
    }

    fn outcome(&self, pair: &Pair, comparison: &Comparison, is_strict: bool) -> LimitOutcome {
        let (state, found) = match self.bound {
            _ if comparison.is_refused => (State::Refused, change::in_percent(comparison)),
            Bound::Change(bound) => self.of_change(bound, comparison, is_strict),
            Bound::Value(bound) => self.of_value(bound, comparison, is_strict),
        };
        LimitOutcome { limit: self.text.clone(), title: pair.title(), state, found }
    }

    fn of_change(&self, bound: f64, comparison: &Comparison, is_strict: bool) -> (State, String) {
        let Some(ratio) = comparison.plain_ratio else {
            return (State::Undecided, "A has no value to compute a percentage from".to_owned());
        };
        let change = (ratio - 1.0) * 100.0;
        let state = match comparison.verdict() {
            _ if !self.is_beyond(change, bound) => State::NotMet,
            ComparisonVerdict::Better | ComparisonVerdict::Worse => State::Met,
            _ if is_strict => State::Met,
            ComparisonVerdict::NotDistinguishable => State::MayBeChance,
            ComparisonVerdict::Unknown
            | ComparisonVerdict::TooFew
            | ComparisonVerdict::UnlikeCounts
            | ComparisonVerdict::Unresolved
            | ComparisonVerdict::Scattered => State::Undecided,
            ComparisonVerdict::Refused => State::Refused,
        };
        let obstacle = match comparison.verdict() {
            ComparisonVerdict::TooFew
            | ComparisonVerdict::UnlikeCounts
            | ComparisonVerdict::Unresolved
            | ComparisonVerdict::Scattered => {
                format!(" ({})", comparison.words())
            }
            _ => String::new(),
        };
        (state, format!("{}{obstacle}", change::in_percent(comparison)))
    }

    /// The outcome for a value. Without an interval, the value itself decides.
    fn of_value(&self, bound: f64, comparison: &Comparison, is_strict: bool) -> (State, String) {
        let b = comparison.b;
        let is_all_beyond = b.interval.is_none_or(|interval| {
            self.is_beyond(interval.low, bound) && self.is_beyond(interval.high, bound)
        });
        let state = match self.is_beyond(b.median, bound) {
            false => State::NotMet,
            true if is_strict || is_all_beyond => State::Met,
            true => State::MayBeChance,
        };
        let found = match self.unit {
            // The value is printed in the unit of the bound, which may be MiB/s.
            Some((unit, factor)) => format!("{} {unit}", figures::three_figures(b.median / factor)),
            None => comparison.figure.text(b.median),
        };
        (state, found)
    }
}

/// Checks all conditions. A condition that matches no figure is an error.
pub(super) fn check(
    limits: &[FailIf],
    matched: &Matched,
    is_strict: bool,
) -> Result<Vec<LimitOutcome>, Failure> {
    let mut outcomes = Vec::new();
    for limit in limits {
        let before = outcomes.len();
        for pair in &matched.pairs {
            let own = pair.comparisons.iter().filter(|comparison| limit.concerns(pair, comparison));
            outcomes.extend(own.map(|comparison| limit.outcome(pair, comparison, is_strict)));
        }
        let is_job = |pair: &Pair| limit.job.as_ref().is_none_or(|job| *job == pair.name || *job == pair.job);
        if let Some(job) = limit.job.as_ref().filter(|_| !matched.pairs.iter().any(is_job)) {
            let mut names: Vec<&str> = matched.pairs.iter().map(|pair| pair.job.as_str()).collect();
            names.dedup();
            return Err(Failure::new(format!(
                "--fail-if: `{}`: no job {job} is in both results; both have {}",
                limit.text,
                names.join(", ")
            )));
        }
        if outcomes.len() == before {
            let titles: Vec<String> = matched.pairs.iter().map(Pair::title).collect();
            return Err(Failure::new(format!(
                "--fail-if: `{}`: no job and direction has this figure in both results; both have {}; percentiles \
                 need a result that lists them, or JSON+",
                limit.text,
                titles.join("; ")
            )));
        }
    }
    Ok(outcomes)
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

fn units(figure: Figure) -> &'static str {
    match figure {
        Figure::Bandwidth => "MB/s, MiB/s, GB/s, GiB/s, kB/s, KiB/s or B/s",
        Figure::Iops => "I/Os per second (with k or M)",
        _ => "ns, us, ms or s",
    }
}

/// Units of bandwidths in bytes per second.
const BANDWIDTHS: [(&str, f64); 7] = [
    ("MB/s", 1e6),
    ("MiB/s", 1_048_576.0),
    ("GB/s", 1e9),
    ("GiB/s", 1_073_741_824.0),
    ("kB/s", 1e3),
    ("KiB/s", 1024.0),
    ("B/s", 1.0),
];

/// Splits a value into digits and unit.
fn unit_of(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    (digits, unit.trim())
}

/// A value with its unit, converted to the unit of the figure.
fn absolute(figure: Figure, text: &str) -> Option<f64> {
    let (digits, unit) = unit_of(text);
    let factor = match (figure, unit) {
        (Figure::Bandwidth, unit) => BANDWIDTHS.into_iter().find(|(name, _)| *name == unit)?.1,
        (Figure::Iops, "") => 1.0,
        (Figure::Iops, "k") => 1e3,
        (Figure::Iops, "M") => 1e6,
        (Figure::Iops, _) => return None,
        (_, "ns") => 1.0,
        (_, "us" | "µs") => 1e3,
        (_, "ms") => 1e6,
        (_, "s") => 1e9,
        _ => return None,
    };
    Some(number(digits)? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read() {
        let limit = FailIf::parse("my job:read.p99.9 > +5%").expect("reads");
        assert_eq!((limit.job.as_deref(), limit.is_above), (Some("my job"), true));
        assert_eq!(limit.bound, Bound::Change(5.0));
        assert_eq!(limit.figure, FigureOf { direction: Some("read"), figure: Figure::Percentile(99.9) });
        assert_eq!(FailIf::parse("bw<-3 %").map(|limit| limit.bound).ok(), Some(Bound::Change(-3.0)));
        assert_eq!(FailIf::parse("p99 > 2ms").map(|limit| limit.bound).ok(), Some(Bound::Value(2e6)));
        assert_eq!(
            FailIf::parse("bw < 1.5 GiB/s").map(|limit| limit.bound).ok(),
            Some(Bound::Value(1.5 * 1073741824.0))
        );
        assert_eq!(FailIf::parse("write-iops < 20k").map(|limit| limit.bound).ok(), Some(Bound::Value(2e4)));
        for wrong in ["p99", "p99 > ", "p99 > 5", "iops < 2ms", "speed > 5%", "p99 > x%", "bw < 100", "> 5%"]
        {
            assert!(FailIf::parse(wrong).is_err(), "{wrong}");
        }
    }
}
