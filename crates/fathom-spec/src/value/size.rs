//! Sizes that may be given in bytes, as a percentage of the target, or as a number of zones.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::number::{Ending, judge_unread};
use super::per_direction::split_values;
use super::{OptionValue, ParseContext, ValueError, parse_whole};
use crate::definition::{Kind, OptionDef};

/// An amount of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SizeSpec {
    /// A number of bytes.
    Bytes(u64),
    /// A percentage of the target's size.
    Percent(u32),
    /// A number of zones of a zoned target.
    Zones(u64),
}

impl fmt::Display for SizeSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SizeSpec::Bytes(bytes) => write!(formatter, "{bytes}"),
            SizeSpec::Percent(percent) => write!(formatter, "{percent}%"),
            SizeSpec::Zones(zones) => write!(formatter, "{zones}z"),
        }
    }
}

impl OptionValue for SizeSpec {
    fn unset() -> Self {
        SizeSpec::Bytes(0)
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let expected =
            || ValueError::new("a size such as 512m, a percentage such as 50%, or zones such as 4z");
        // If several values are given, the last one applies, as in fio.
        let parts = split_values(text, Kind::Int);
        let text = parts.last().copied().unwrap_or(text);
        let whole = parse_whole(text, context.kb_base).ok_or_else(expected)?;
        judge_unread(text, context)?;
        if parts.len() > 1 {
            context.remark(format!(
                "read as {}: it takes no range, and of several values the last counts",
                text.trim()
            ));
        }
        if whole.value < 0 {
            context.complain(format!("{}: min value out of range: {} (0 min)", definition.name, whole.value));
            return Err(expected());
        }
        *self = match whole.ending {
            Ending::Plain => SizeSpec::Bytes(u64::try_from(whole.value).map_err(|_| expected())?),
            Ending::Zones => SizeSpec::Zones(u64::try_from(whole.value).map_err(|_| expected())?),
            Ending::Percent => {
                if whole.value > 100 {
                    // fio never finishes laying out a size above 100%, so it is refused, as io_size is.
                    context.complain(format!(
                        "fio: {} values greater than 100% aren't supported",
                        definition.name
                    ));
                    return Err(ValueError::new("a percentage of at most 100%"));
                }
                SizeSpec::Percent(u32::try_from(whole.value).map_err(|_| expected())?)
            }
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{parse, parse_noting};
    use super::*;

    #[test]
    fn suffixes_tell_the_three_kinds_apart() {
        assert_eq!(parse("4m"), Ok(SizeSpec::Bytes(4 << 20)));
        assert_eq!(parse("50%"), Ok(SizeSpec::Percent(50)));
        assert_eq!(parse("3z"), Ok(SizeSpec::Zones(3)));
        assert_eq!(parse("4kib"), Ok(SizeSpec::Bytes(4000)));
    }

    #[test]
    fn more_than_everything_is_refused() {
        let (result, notes) = parse_noting::<SizeSpec>("150%");
        assert!(result.is_err());
        assert_eq!(notes, ["fio: test values greater than 100% aren't supported"]);
        assert!(parse::<SizeSpec>("-1").is_err());
        assert!(parse::<SizeSpec>("abc").is_err());
    }

    proptest! {
        #[test]
        fn printing_parses_back(bytes in any::<u64>(), percent in 0u32..=100) {
            for value in [SizeSpec::Bytes(bytes), SizeSpec::Zones(bytes), SizeSpec::Percent(percent)] {
                prop_assert_eq!(parse(&value.to_string()), Ok(value));
            }
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = parse::<SizeSpec>(&text);
        }
    }
}
