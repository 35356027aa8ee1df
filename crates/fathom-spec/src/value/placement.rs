//! `plids`: placement identifiers.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::number_range::number_range;
use super::{OptionValue, ParseContext, ValueError};
use crate::definition::OptionDef;

/// Maximum number of identifiers. No device has more, so a larger number indicates a mistyped range.
const MOST: usize = 1024;

/// Placement identifiers in the order written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PlacementIds(pub Vec<u32>);

impl fmt::Display for PlacementIds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<String> = self.0.iter().map(u32::to_string).collect();
        formatter.write_str(&ids.join(","))
    }
}

impl OptionValue for PlacementIds {
    fn unset() -> Self {
        PlacementIds::default()
    }

    fn assign(
        &mut self,
        text: &str,
        _: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let expected = || ValueError::new("placement identifiers and ranges such as 0,2-5");
        let mut ids = Vec::new();
        for part in text.split(',').map(str::trim) {
            let range = number_range(part).ok_or_else(expected)?;
            if (range.end() - range.start()) as usize >= MOST - ids.len() {
                return Err(expected());
            }
            if *range.end() > 0xffff {
                context.complain("Placement IDs cannot exceed 0xFFFF");
                return Err(ValueError::new("identifiers of at most 65535"));
            }
            ids.extend(range);
        }
        *self = PlacementIds(ids);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::parse;
    use super::*;

    #[test]
    fn ranges_are_spelled_out() {
        let ids = PlacementIds(vec![3, 0, 1, 2]);
        assert_eq!(parse("3,0-2"), Ok(ids.clone()));
        assert_eq!(parse(&ids.to_string()), Ok(ids));
        assert_eq!(parse("65535"), Ok(PlacementIds(vec![65535])));
        for text in ["", "a", "2-1", "0-99999999", "65536", "70000"] {
            assert!(parse::<PlacementIds>(text).is_err(), "{text}");
        }
    }
}
