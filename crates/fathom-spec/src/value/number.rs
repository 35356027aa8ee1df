//! Whole numbers with size suffixes, switches and floating point numbers.

use super::{Element, OptionValue, ParseContext, ValueError};
use crate::definition::{Kind, OptionDef};
use crate::expression;

/// A whole number as read, before it is fitted into a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Whole {
    /// The number, suffix applied.
    pub(crate) value: i128,
    /// What followed the number.
    pub(crate) ending: Ending,
}

/// The suffixes that change what a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Plain,
    Percent,
    Zones,
}

/// Reads `[sign]digits[suffix]` or an expression in parentheses. Everything behind the
/// suffix is ignored, as fio does; no digits at all is an error.
pub(crate) fn parse_whole(text: &str, kb_base: u32) -> Option<Whole> {
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
    let value = magnitude.saturating_mul(multiplier(rest, kb_base));
    let value = if negative { -value } else { value };
    let ending = match rest.as_bytes().first() {
        Some(b'%') => Ending::Percent,
        Some(b'z' | b'Z') => Ending::Zones,
        _ => Ending::Plain,
    };
    Some(Whole { value, ending })
}

fn saturate(value: f64) -> Option<i128> {
    // Far below the limits of i128, so the conversion cannot distort the number further.
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

/// What a suffix multiplies by. With the usual base `k` is 1024 and `kib` 1000; the other
/// base turns both around.
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
    let turned = letters.len() >= 3
        && letters[1].eq_ignore_ascii_case(&b'i')
        && letters[2].eq_ignore_ascii_case(&b'b');
    let base: i128 = if (kb_base == 1000) == turned { 1024 } else { 1000 };
    base.pow(power)
}

/// Reads a number for an option and holds it against the declared range and the range of
/// the type it is kept in.
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
    let label = if definition.kind == Kind::Bool { String::new() } else { format!("{}: ", definition.name) };
    let max = definition.bounds.max.map_or(type_max, |max| (max as i128).min(type_max));
    if whole.value > max {
        context.complain(format!("{label}max value out of range: {} ({max} max)", whole.value));
        return Err(ValueError::new(expected_number(definition, type_min, type_max)));
    }
    let min = definition.bounds.min.map_or(type_min, |min| (min as i128).max(type_min));
    if whole.value < min {
        context.complain(format!("{label}min value out of range: {} ({min} min)", whole.value));
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
                let value = parse_bounded(text, definition, context, <$type>::MIN.into(), <$type>::MAX.into())?;
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
                let first = super::per_direction::split_values(text, definition.kind);
                *self = <$type>::parse_element(first[0], definition, context)?;
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
            // Named without a value means on; any number but 0 does, too.
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

/// Reads a floating point number that fills the whole text.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|value| value.is_finite())
}

/// At most this many entries fit a list of floating point numbers.
const LIST_LENGTH: usize = 20;

/// Reads a list of floating point numbers. Entries outside the declared range and entries
/// beyond the twentieth are reported and left out.
fn parse_floats(
    text: &str,
    definition: &OptionDef,
    context: &mut ParseContext<'_>,
) -> Result<Vec<f64>, ValueError> {
    let mut values = Vec::new();
    for part in text.split(':') {
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
        if !values.is_empty() {
            *self = values;
        }
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
        if let Some(first) = parse_floats(text, definition, context)?.first() {
            *self = *first;
        }
        Ok(())
    }
}
