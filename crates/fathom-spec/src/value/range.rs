//! Ranges of sizes.

use std::fmt;

use fathom_stats::PerDirection;
use serde::{Deserialize, Serialize};

use super::per_direction::spread;
use super::{OptionValue, ParseContext, ValueError, parse_whole};
use crate::definition::OptionDef;

/// A range from a minimum to a maximum number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SizeRange {
    /// Minimum, in bytes.
    pub min: u64,
    /// Maximum, in bytes.
    pub max: u64,
}

impl fmt::Display for SizeRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.min, self.max)
    }
}

/// Splits text at separators outside of parentheses.
pub(crate) fn split_outside_parentheses<'a>(text: &'a str, separators: &[char]) -> Vec<&'a str> {
    let mut depth = 0usize;
    text.split(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && separators.contains(&letter)
    })
    .collect()
}

fn parse_bytes(
    text: &str,
    definition: &OptionDef,
    context: &mut ParseContext<'_>,
) -> Result<u64, ValueError> {
    let expected = || ValueError::new("a range of sizes such as 4k-64k");
    let value = parse_whole(text, context.kb_base).ok_or_else(expected)?.value;
    let min = definition.bounds.min.map_or(0, |min| min as i128);
    if value < min {
        context.complain(format!("{}: min value out of range: {value} ({min} min)", definition.name));
        return Err(expected());
    }
    u64::try_from(value).map_err(|_| expected())
}

/// Parses `low-high` or `low:high`, in either order.
fn parse_range(
    text: &str,
    definition: &OptionDef,
    context: &mut ParseContext<'_>,
) -> Result<SizeRange, ValueError> {
    let ends = split_outside_parentheses(text, &['-', ':']);
    let [low, high, ..] = ends[..] else {
        return Err(ValueError::new("a range of sizes such as 4k-64k"));
    };
    let low = parse_bytes(low, definition, context)?;
    let high = parse_bytes(high, definition, context)?;
    Ok(SizeRange { min: low.min(high), max: low.max(high) })
}

impl OptionValue for PerDirection<SizeRange> {
    fn unset() -> Self {
        PerDirection::default()
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let parts = split_outside_parentheses(text, &[',', '/']);
        spread(self, &parts, |part| parse_range(part, definition, context))
    }
}

/// A single size is a range whose ends are equal.
impl OptionValue for SizeRange {
    fn unset() -> Self {
        SizeRange::default()
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let ends = split_outside_parentheses(text, &[',', '-', ':']);
        let low = parse_bytes(ends[0], definition, context)?;
        let high = ends.get(1).map_or(Ok(low), |high| parse_bytes(high, definition, context))?;
        *self = SizeRange { min: low.min(high), max: low.max(high) };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::parse;
    use super::*;

    #[test]
    fn ends_may_come_in_either_order() {
        let range = SizeRange { min: 4096, max: 65536 };
        assert_eq!(parse::<SizeRange>("64k-4k"), Ok(range));
        assert_eq!(parse::<SizeRange>(&range.to_string()), Ok(range));
        assert_eq!(parse::<SizeRange>("1k"), Ok(SizeRange { min: 1024, max: 1024 }));
        assert_eq!(parse::<SizeRange>("64k:4k"), Ok(range));
    }

    proptest! {
        #[test]
        fn printing_parses_back(low in any::<u64>(), high in any::<u64>()) {
            let range = SizeRange { min: low.min(high), max: low.max(high) };
            prop_assert_eq!(parse(&range.to_string()), Ok(range));
            let ranges = PerDirection::new([range, SizeRange { min: 1, max: 2 }, range]);
            prop_assert_eq!(parse(&ranges.to_string()), Ok(ranges));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = parse::<SizeRange>(&text);
            let _ = parse::<PerDirection<SizeRange>>(&text);
        }
    }

    #[test]
    fn directions_are_separated_by_commas_or_slashes() {
        let expected = PerDirection::new([
            SizeRange { min: 1, max: 2 },
            SizeRange { min: 3, max: 4 },
            SizeRange { min: 3, max: 4 },
        ]);
        assert_eq!(parse("1-2,3-4"), Ok(expected));
        assert_eq!(parse("1-2/3-4"), Ok(expected));
        assert_eq!(parse("1:2,4:3"), Ok(expected));
        assert_eq!(parse("2:1/3-4"), Ok(expected));
        assert!(parse::<PerDirection<SizeRange>>("5").is_err());
        assert!(parse::<PerDirection<SizeRange>>("5:").is_err());
        assert!(parse::<PerDirection<SizeRange>>("a-b").is_err());
    }
}
