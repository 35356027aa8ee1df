//! Whole numbers with size suffixes, switches and floating point numbers.

use super::{Element, OptionValue, ParseContext, ValueError};
use crate::definition::{Kind, OptionDef};
use crate::expression;

/// A whole number as parsed, before its conversion to a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Whole {
    /// The number, with the suffix applied.
    pub(crate) value: i128,
    /// The text after the number.
    pub(crate) ending: Ending,
}

/// Suffixes that change the unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Plain,
    Percent,
    Zones,
}

/// A number in an option, with a suffix or as an expression; `kb_base` is 1024 or 1000.
pub fn parse_amount(text: &str, kb_base: u32) -> Option<f64> {
    parse_whole(text, kb_base).map(|whole| whole.value as f64)
}

/// Parses `[sign]digits[.digits][suffix]` or an expression in parentheses. As in fio, everything after the
/// suffix is ignored; a value without digits is an error, and so is a fraction without a suffix.
pub(crate) fn parse_whole(text: &str, kb_base: u32) -> Option<Whole> {
    if let Some(value) = plain_digits(text) {
        return Some(Whole { value: value.into(), ending: Ending::Plain });
    }
    let text = text.trim();
    if text.starts_with('(') {
        let value = expression::evaluate(text, expression::Suffixes::Sizes)?;
        return Some(Whole { value: saturate(value)?, ending: Ending::Plain });
    }
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let (magnitude, rest) = if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"))
    {
        (read_digits(hex, 16)?.0, "")
    } else {
        read_digits(digits, 10)?
    };
    let (fraction, rest) = read_fraction(rest);
    let factor = multiplier(rest, kb_base);
    // A fraction is valid only with a suffix, because it has no unit otherwise.
    if factor == 1 && fraction > 0 {
        return None;
    }
    let value = magnitude.saturating_mul(factor).saturating_add(fraction * factor / FRACTION);
    let value = if negative { -value } else { value };
    let ending = match rest.as_bytes().first() {
        Some(b'%') => Ending::Percent,
        Some(b'z' | b'Z') => Ending::Zones,
        _ => Ending::Plain,
    };
    Some(Whole { value, ending })
}

/// Parses a number that consists only of digits. This case is fast, because every job starts with hundreds of
/// such numbers.
fn plain_digits(text: &str) -> Option<u64> {
    // Longer numbers may not fit into 64 bits.
    if !(1..=18).contains(&text.len()) {
        return None;
    }
    let take = |value: u64, digit: &u8| digit.is_ascii_digit().then(|| 10 * value + u64::from(digit - b'0'));
    text.as_bytes().iter().try_fold(0, take)
}

/// Denominator of fractions.
pub(crate) const FRACTION: i128 = 1_000_000_000;

/// Parses a point and the digits after it, if present; returns the fraction and the rest of the text.
pub(crate) fn read_fraction(text: &str) -> (i128, &str) {
    let Some(digits) = text.strip_prefix('.') else { return (0, text) };
    let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
    if end == 0 {
        return (0, text);
    }
    let mut place = FRACTION;
    let mut fraction = 0;
    for digit in digits[..end].chars().filter_map(|letter| letter.to_digit(10)) {
        place /= 10;
        fraction += i128::from(digit) * place;
    }
    (fraction, &digits[end..])
}

/// The end of a number that has no meaning and that fio drops silently, such as `b5` in `4kb5`. Empty for a
/// number that is used completely.
fn unread(text: &str) -> &str {
    let text = text.trim();
    let unsigned = text.trim_start_matches(['-', '+']);
    if unsigned.starts_with('(') {
        return "";
    }
    if let Some(hex) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        return hex.trim_start_matches(|letter: char| letter.is_ascii_hexdigit());
    }
    let mut rest = unsigned.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    for unit in ["kmgtp", "i", "b", "%z"] {
        rest = rest.strip_prefix(|letter: char| unit.contains(letter.to_ascii_lowercase())).unwrap_or(rest);
    }
    rest
}

/// Refuses a number with an unknown unit, such as `4x`. Reports other text after the number as ignored.
pub(crate) fn judge_unread(text: &str, context: &mut ParseContext<'_>) -> Result<(), ValueError> {
    if plain_digits(text).is_some() {
        return Ok(());
    }
    let text = text.trim();
    let rest = unread(text);
    let read = &text[..text.len() - rest.len()];
    if rest.is_empty() {
        return Ok(());
    }
    // Hexadecimal numbers have no units; fio drops these.
    let has_unit = read.contains(['x', 'X']) || read.ends_with(|c: char| c.is_ascii_alphabetic() || c == '%');
    let word = rest.trim();
    // Some numbers are times in a fixed unit, as in cpuchunks=10us.
    let is_time = matches!(word, "us" | "usec" | "ms" | "msec" | "s" | "sec");
    if !has_unit && !is_time && word.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        return Err(ValueError::new(format!("one of k, m, g, t, p directly after {read}, not {word:?}")));
    }
    context.remark(format!("read as {read}; {rest:?} has no effect"));
    Ok(())
}

fn saturate(value: f64) -> Option<i128> {
    // The limit is far below that of i128, so the conversion does not distort the number.
    (value.is_finite() && value.abs() < 1e30).then_some(value as i128)
}

fn read_digits(text: &str, radix: u32) -> Option<(i128, &str)> {
    let end = text.find(|letter: char| !letter.is_digit(radix)).unwrap_or(text.len());
    if end == 0 {
        return None;
    }
    let mut value: i128 = 0;
    for letter in text[..end].chars() {
        let digit = i128::from(letter.to_digit(radix)?);
        value = value.saturating_mul(i128::from(radix)).saturating_add(digit).min(1 << 80);
    }
    Some((value, &text[end..]))
}

/// The factor of a suffix. With base 1024, `k` and `ki` are 1024 and `kib` is 1000. With base 1000, `k` is
/// 1000, and `ki` and `kib` are 1024.
fn multiplier(suffix: &str, kb_base: u32) -> i128 {
    let letters = suffix.as_bytes();
    let power = match letters.first().map(u8::to_ascii_lowercase) {
        Some(b'k') => 1,
        Some(b'm') => 2,
        Some(b'g') => 3,
        Some(b't') => 4,
        Some(b'p') => 5,
        _ => return 1,
    };
    let letter = |at: usize| letters.get(at).map(u8::to_ascii_lowercase);
    let has_i = letter(1) == Some(b'i');
    let base: i128 = match kb_base {
        1000 if has_i => 1024,
        1000 => 1000,
        _ if has_i && letter(2) == Some(b'b') => 1000,
        _ => 1024,
    };
    base.pow(power)
}

/// Parses a number for an option, and checks it against the declared range and against the range of its type.
pub(crate) fn parse_bounded(
    text: &str,
    definition: &OptionDef,
    context: &mut ParseContext<'_>,
    type_min: i128,
    type_max: i128,
) -> Result<i128, ValueError> {
    let Some(whole) = parse_whole(text, context.kb_base) else {
        return Err(ValueError::new(expected_number(definition, type_min, type_max)));
    };
    if whole.ending == Ending::Zones {
        context.complain(format!("{}: 'z' suffix isn't applicable", definition.name));
        return Err(ValueError::new("a number without the suffix z"));
    }
    judge_unread(text, context)?;
    let label =
        || if definition.kind == Kind::Bool { String::new() } else { format!("{}: ", definition.name) };
    let max = definition.bounds.max.map_or(type_max, |max| (max as i128).min(type_max));
    if whole.value > max {
        context.complain(format!("{}max value out of range: {} ({max} max)", label(), whole.value));
        return Err(ValueError::new(expected_number(definition, type_min, type_max)));
    }
    let min = definition.bounds.min.map_or(type_min, |min| (min as i128).max(type_min));
    if whole.value < min {
        context.complain(format!("{}min value out of range: {} ({min} min)", label(), whole.value));
        return Err(ValueError::new(expected_number(definition, type_min, type_max)));
    }
    Ok(whole.value)
}

fn expected_number(definition: &OptionDef, type_min: i128, type_max: i128) -> String {
    let min = definition.bounds.min.map_or(type_min, |min| min as i128);
    match definition.bounds.max {
        Some(max) => format!("a whole number from {min} to {}", (max as i128).min(type_max)),
        None => format!("a whole number, at least {min}, with k, m, g, t or p for larger ones"),
    }
}

macro_rules! whole_number {
    ($($type:ty),+) => { $(
        impl Element for $type {
            fn unset_element() -> Self {
                0
            }

            fn parse_element(
                text: &str,
                definition: &OptionDef,
                context: &mut ParseContext<'_>,
            ) -> Result<Self, ValueError> {
                let (min, max) = (<$type>::MIN.into(), <$type>::MAX.into());
                let value = parse_bounded(text, definition, context, min, max)?;
                <$type>::try_from(value).map_err(|_| ValueError::new("a smaller number"))
            }
        }

        impl OptionValue for $type {
            fn unset() -> Self {
                0
            }

            fn assign(
                &mut self,
                text: &str,
                definition: &OptionDef,
                context: &mut ParseContext<'_>,
            ) -> Result<(), ValueError> {
                let parts = super::per_direction::split_values(text, definition.kind);
                *self = <$type>::parse_element(parts[0], definition, context)?;
                if parts.len() > 1 {
                    context.remark(format!("read as {}; it takes one value", parts[0].trim()));
                }
                Ok(())
            }
        }
    )+ };
}

whole_number!(u32, u64, i32, i64);

impl OptionValue for bool {
    fn unset() -> Self {
        false
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let text = text.trim();
        if definition.kind == Kind::Flag {
            // An option without a value is on; so is any number except 0.
            *self = match parse_whole(text, context.kb_base) {
                _ if text.is_empty() => true,
                Some(whole) => whole.value != 0,
                None => return Err(ValueError::new("no value, 0 or 1")),
            };
            return Ok(());
        }
        let Some(number) = parse_whole(text, context.kb_base) else {
            return Err(ValueError::new("0 or 1"));
        };
        if number.value > 1 {
            context.complain(format!("max value out of range: {} (1 max)", number.value));
        } else if number.value < 0 {
            context.complain(format!("min value out of range: {} (0 min)", number.value));
        }
        if !(0..=1).contains(&number.value) {
            return Err(ValueError::new("0 or 1"));
        }
        *self = number.value == 1;
        Ok(())
    }
}

/// Parses a floating point number that spans the whole text.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|value| value.is_finite())
}

/// Maximum number of entries in a list of floating point numbers.
const LIST_LENGTH: usize = 20;

/// Parses a list of floating point numbers. Entries outside the declared range, and entries beyond the
/// twentieth, are reported and dropped.
fn parse_floats(
    text: &str,
    definition: &OptionDef,
    context: &mut ParseContext<'_>,
) -> Result<Vec<f64>, ValueError> {
    let mut values = Vec::new();
    // fio silently drops a comma and the text after it, but the user meant all of the numbers.
    for part in text.split([':', ',']) {
        if values.len() == LIST_LENGTH {
            context.complain(format!("the list exceeding max length {LIST_LENGTH}"));
            break;
        }
        let Some(value) = parse_float(part) else {
            context.complain(format!("not a floating point value: {part}"));
            return Err(ValueError::new("floating point numbers separated by colons"));
        };
        if let Some(max) = definition.bounds.max.filter(|max| value > *max) {
            context.complain(format!("value out of range: {value:.6} (range max: {max:.6})"));
        } else if let Some(min) = definition.bounds.min.filter(|min| value < *min) {
            context.complain(format!("value out of range: {value:.6} (range min: {min:.6})"));
        } else {
            values.push(value);
        }
    }
    Ok(values)
}

impl OptionValue for Vec<f64> {
    fn unset() -> Self {
        Vec::new()
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let values = parse_floats(text, definition, context)?;
        if values.is_empty() {
            return Err(ValueError::new("numbers in the range of the option"));
        }
        *self = values;
        Ok(())
    }
}

impl OptionValue for f64 {
    fn unset() -> Self {
        0.0
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        // As in fio, further values after a colon are reported and ignored, and a comma with everything after
        // it is ignored silently.
        let mut parts = text.split(':');
        let first = parts.next().and_then(|part| part.split(',').next()).unwrap_or("");
        let values = parse_floats(first, definition, context)?;
        parts.for_each(|_| context.complain("the list exceeding max length 1"));
        *self = *values.first().ok_or_else(|| ValueError::new("a number in the range of the option"))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{parse, parse_as};
    use super::*;
    use crate::definition::Bounds;

    fn whole(text: &str) -> Option<i128> {
        parse_whole(text, 1024).map(|whole| whole.value)
    }

    #[test]
    fn suffixes_multiply() {
        for (text, value) in [
            ("4", 4),
            ("+7", 7),
            ("-4", -4),
            ("4k", 4096),
            ("4K", 4096),
            ("4kb", 4096),
            ("4ki", 4096),
            ("4kib", 4000),
            ("4mi", 4 << 20),
            ("4mib", 4_000_000),
            ("2g", 2 << 30),
            ("1t", 1 << 40),
            ("1p", 1 << 50),
            ("0x10", 16),
            ("-0x10", -16),
            (" 8k ", 8192),
            ("(4k+4)", 4100),
            ("1.5k", 1536),
            ("-0.5m", -(1 << 19)),
            ("1.5kib", 1500),
            ("1.1k", 1126),
            ("4.0k", 4096),
            ("4.0", 4),
            ("0.000000001g", 1),
        ] {
            assert_eq!(whole(text), Some(value), "{text}");
        }
        assert_eq!(parse_whole("4k", 1000).map(|whole| whole.value), Some(4000));
        assert_eq!(parse_whole("4kib", 1000).map(|whole| whole.value), Some(4096));
        assert_eq!(parse_whole("4ki", 1000).map(|whole| whole.value), Some(4096));
        assert_eq!(parse_whole("4ki", 1024).map(|whole| whole.value), Some(4096));
    }

    #[test]
    fn what_has_no_meaning_is_said_or_refused() {
        let judge = |text: &str| {
            let source = crate::testing::MemorySource::default();
            let mut context = ParseContext::new(&source);
            judge_unread(text, &mut context).map(|()| context.remarks)
        };
        for text in
            ["4", "4k", "4kb", "4KiB", "4b", "50%", "3z", "0x10", "-1", "+4k", "1.5m", "(4k+2)", " 8 "]
        {
            assert_eq!(judge(text), Ok(Vec::new()), "{text}");
        }
        for (text, read, rest) in [
            ("4kk", "4k", "k"),
            ("10mb5", "10mb", "5"),
            ("5;", "5", ";"),
            ("0x1k", "0x1", "k"),
            ("10us", "10", "us"),
        ] {
            assert_eq!(judge(text), Ok(vec![format!("read as {read}; {rest:?} has no effect")]), "{text}");
        }
        for text in ["4x", "1 GiB", "10 m", "8sectors"] {
            assert!(judge(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_follows_the_suffix_is_ignored() {
        for (text, value) in
            [("4x", 4), ("4kk", 4096), ("1e3", 1), ("1.", 1), ("4 k", 4), ("0x1k", 1), ("0x10k", 16)]
        {
            assert_eq!(whole(text), Some(value), "{text}");
        }
    }

    #[test]
    fn numbers_need_digits() {
        for text in ["", "abc", "k", "-", "+", "0x", "--1", "(1", ".5k", "1.5", "1.5x", "1.5%", "1.5z"] {
            assert_eq!(whole(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_stay_within_their_type_and_range() {
        assert_eq!(parse("4294967295"), Ok(u32::MAX));
        assert!(parse::<u32>("4294967296").is_err());
        assert!(parse::<u64>("99999999999999999999999").is_err());
        assert_eq!(parse("-1"), Ok(-1i32));
        let percent = OptionDef { name: "share", bounds: Bounds::between(1.0, 100.0), ..OptionDef::BLANK };
        let (result, notes) = parse_as::<u32>("101", &percent);
        assert!(result.is_err());
        assert_eq!(notes, ["share: max value out of range: 101 (100 max)"]);
        assert_eq!(parse_as::<u32>("0", &percent).1, ["share: min value out of range: 0 (1 min)"]);
        assert_eq!(parse_as::<u32>("-1", &percent).1, ["share: min value out of range: -1 (1 min)"]);
        assert_eq!(parse_as::<u32>("4z", &percent).1, ["share: 'z' suffix isn't applicable"]);
    }

    #[test]
    fn switches_take_0_and_1_and_flags_any_number() {
        let switch = OptionDef { kind: Kind::Bool, ..OptionDef::BLANK };
        assert_eq!(parse_as("1", &switch).0, Ok(true));
        assert_eq!(parse_as("0", &switch).0, Ok(false));
        assert_eq!(parse_as::<bool>("2", &switch).1, ["max value out of range: 2 (1 max)"]);
        assert!(parse_as::<bool>("yes", &switch).0.is_err());
        assert!(parse_as::<bool>("", &switch).0.is_err());
        let flag = OptionDef { kind: Kind::Flag, ..OptionDef::BLANK };
        assert_eq!(parse_as("", &flag).0, Ok(true));
        assert_eq!(parse_as("2", &flag).0, Ok(true));
        assert_eq!(parse_as("0", &flag).0, Ok(false));
        assert!(parse_as::<bool>("on", &flag).0.is_err());
    }

    #[test]
    fn lists_of_floating_point_numbers_are_limited() {
        let percentiles = OptionDef { bounds: Bounds::between(0.0, 100.0), ..OptionDef::BLANK };
        assert_eq!(parse_as("50:99.9", &percentiles).0, Ok(vec![50.0, 99.9]));
        assert_eq!(parse_as("50,90:99.9", &percentiles), (Ok(vec![50.0, 90.0, 99.9]), Vec::new()));
        let (result, notes) = parse_as::<Vec<f64>>("101:1", &percentiles);
        assert_eq!(result, Ok(vec![1.0]));
        assert_eq!(notes, ["value out of range: 101.000000 (range max: 100.000000)"]);
        assert_eq!(parse_as::<Vec<f64>>("a", &percentiles).1, ["not a floating point value: a"]);
        let (result, notes) = parse_as::<Vec<f64>>(&["1"; 25].join(":"), &percentiles);
        assert_eq!(result.map(|list| list.len()), Ok(20));
        assert_eq!(notes, ["the list exceeding max length 20"]);
    }

    #[test]
    fn a_list_of_one_takes_the_first() {
        let share = OptionDef { bounds: Bounds::between(0.0, 1.0), ..OptionDef::BLANK };
        let surplus = "the list exceeding max length 1";
        for (text, value, complaints) in [
            (".4", 0.4, &[][..]),
            (".4:.6", 0.4, &[surplus]),
            (".1:.2:x", 0.1, &[surplus, surplus]),
            (".4,.6", 0.4, &[]),
        ] {
            let (result, notes) = parse_as::<f64>(text, &share);
            assert_eq!(
                (result, notes),
                (Ok(value), complaints.iter().map(ToString::to_string).collect()),
                "{text}"
            );
        }
        let (result, notes) = parse_as::<f64>("2:.3", &share);
        assert!(result.is_err());
        assert_eq!(notes, ["value out of range: 2.000000 (range max: 1.000000)", surplus]);
        assert!(parse_as::<f64>(",.6", &share).0.is_err());
    }

    proptest! {
        #[test]
        fn printed_numbers_parse_back(value in any::<i64>(), large in any::<u64>()) {
            prop_assert_eq!(whole(&value.to_string()), Some(i128::from(value)));
            prop_assert_eq!(parse(&large.to_string()), Ok(large));
        }

        #[test]
        fn no_text_panics(text in ".*", number in "[-+0-9xXkmgtpib%z.]*") {
            whole(&text);
            whole(&number);
        }
    }
}
