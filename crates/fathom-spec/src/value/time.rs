//! Durations.

use std::time::Duration;

use super::number::{FRACTION, read_fraction};
use super::range::split_outside_parentheses;
use super::{Element, OptionValue, ParseContext, ValueError};
use crate::definition::{OptionDef, TimeUnit};
use crate::expression;

/// Maximum time: 100 years. Times can therefore be converted to nanoseconds and added to other times without
/// overflowing 64 bits.
const LONGEST_TIME: Duration = Duration::from_secs(100 * 365 * 86_400);

/// The number of microseconds in a unit.
///
/// fio knows only the one-letter forms (with `us`, `ms` and their `sec` spellings) and reads any other word,
/// even `sec` or `min`, as microseconds. Here spelled-out units mean what they say, and unknown words are
/// refused.
fn unit_microseconds(word: &str) -> Option<u64> {
    Some(match word.to_ascii_lowercase().as_str() {
        "us" | "usec" | "usecs" => 1,
        "ms" | "msec" | "msecs" => 1_000,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000_000,
        "h" | "hour" | "hours" => 3_600_000_000,
        "d" | "day" | "days" => 86_400_000_000,
        _ => return None,
    })
}

/// Parses a duration; a number without a unit is in `unit`.
pub fn parse_time(text: &str, unit: TimeUnit) -> Option<Duration> {
    let text = text.trim();
    if text.starts_with('(') {
        let number = expression::evaluate(text, expression::Suffixes::Times(unit))?;
        // The conversion saturates at the maximum.
        return (number >= 0.0).then(|| bounded(number as u64));
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..end].parse().ok()?;
    let (fraction, word) = read_fraction(&text[end..]);
    let word = word.trim().trim_start_matches('.');
    let factor = if word.is_empty() { unit.microseconds() } else { unit_microseconds(word)? };
    let parts = fraction * i128::from(factor);
    // Times are stored in whole microseconds, so smaller fractions cannot be represented.
    if parts % FRACTION != 0 {
        return None;
    }
    let fraction = u64::try_from(parts / FRACTION).ok()?;
    Some(bounded(number.saturating_mul(factor).saturating_add(fraction)))
}

fn bounded(microseconds: u64) -> Duration {
    Duration::from_micros(microseconds).min(LONGEST_TIME)
}

fn expected_time() -> ValueError {
    ValueError::new("a time such as 30s, 500ms or 2h")
}

impl Element for Duration {
    fn unset_element() -> Self {
        Duration::ZERO
    }

    fn parse_element(
        text: &str,
        definition: &OptionDef,
        _: &mut ParseContext<'_>,
    ) -> Result<Self, ValueError> {
        parse_time(text, definition.unit).ok_or_else(expected_time)
    }
}

impl OptionValue for Duration {
    fn unset() -> Self {
        Duration::ZERO
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        _: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        *self = parse_time(text, definition.unit).ok_or_else(expected_time)?;
        Ok(())
    }
}

/// A range from which a time is drawn; both ends are equal if only one was given.
impl OptionValue for (Duration, Duration) {
    fn unset() -> Self {
        (Duration::ZERO, Duration::ZERO)
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        _: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let ends = split_outside_parentheses(text, &[',', '-', ':']);
        let low = parse_time(ends[0], definition.unit).ok_or_else(expected_time)?;
        let high = match ends.get(1) {
            Some(high) => parse_time(high, definition.unit).ok_or_else(expected_time)?,
            None => low,
        };
        *self = (low.min(high), low.max(high));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(text: &str) -> Option<Duration> {
        parse_time(text, TimeUnit::Seconds)
    }

    #[test]
    fn units_are_understood() {
        assert_eq!(seconds("10"), Some(Duration::from_secs(10)));
        assert_eq!(seconds("10ms"), Some(Duration::from_millis(10)));
        assert_eq!(seconds("3usec"), Some(Duration::from_micros(3)));
        assert_eq!(seconds("2m"), Some(Duration::from_secs(120)));
        assert_eq!(seconds("1h"), Some(Duration::from_secs(3600)));
        assert_eq!(seconds("1d"), Some(Duration::from_secs(86400)));
        assert_eq!(parse_time("7", TimeUnit::Microseconds), Some(Duration::from_micros(7)));
        assert_eq!(parse_time("7", TimeUnit::Milliseconds), Some(Duration::from_millis(7)));
    }

    #[test]
    fn fractions_are_meant() {
        for (text, microseconds) in [
            ("1.5s", Some(1_500_000)),
            ("1.5", Some(1_500_000)),
            ("0.5ms", Some(500)),
            ("0.25m", Some(15_000_000)),
            ("2.0s", Some(2_000_000)),
            ("1.", Some(1_000_000)),
            ("0.1us", None),
            ("1.0000001s", None),
            (".5s", None),
            ("1.5x", None),
        ] {
            assert_eq!(seconds(text), microseconds.map(Duration::from_micros), "{text}");
        }
    }

    #[test]
    fn words_mean_what_they_say() {
        assert_eq!(seconds("1sec"), Some(Duration::from_secs(1)));
        assert_eq!(seconds("1min"), Some(Duration::from_secs(60)));
        assert_eq!(seconds("abc"), None);
        assert_eq!(seconds("10x"), None);
        assert_eq!(seconds("-1"), None);
    }

    #[test]
    fn expressions_are_evaluated() {
        assert_eq!(seconds("(1m+30s)"), Some(Duration::from_secs(90)));
        assert_eq!(seconds("(2*3)"), Some(Duration::from_secs(6)));
    }

    #[test]
    fn endless_times_are_long_and_no_more() {
        for text in [
            "18446744074",
            "18446744073709551615",
            "18446744073709551615d",
            "(99999999999*99999999999)",
            "9999999999h",
        ] {
            assert_eq!(seconds(text), Some(LONGEST_TIME), "{text}");
        }
        assert_eq!(seconds("18446744073709551616"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*") {
            let _ = seconds(&text);
        }

        /// Several times plus the clock fit into 64 bits of nanoseconds.
        #[test]
        fn no_time_overflows(number in any::<u64>(), word in prop::sample::select(vec!["", "us", "ms", "s", "m", "h", "d"])) {
            let time = seconds(&format!("{number}{word}")).expect("a time");
            prop_assert!(time.as_nanos() * 5 < u128::from(u64::MAX));
        }
    }

    #[test]
    fn a_span_may_be_written_from_either_end() {
        let span = (Duration::from_secs(1), Duration::from_secs(3));
        assert_eq!(super::super::testing::parse("3-1"), Ok(span));
        assert_eq!(super::super::testing::parse("1,3"), Ok(span));
    }
}
