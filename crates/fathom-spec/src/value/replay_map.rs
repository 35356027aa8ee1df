//! `replay_map`: how the offsets of a log are fitted into the target of its replay.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{OptionValue, ParseContext, ValueError, parse_whole};
use crate::definition::OptionDef;

/// A way to fit offsets, and the bytes of the target that may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplayMap {
    /// In proportion.
    Scale(u64),
    /// From the start again where the target ends.
    Wrap(u64),
}

impl fmt::Display for ReplayMap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayMap::Scale(bytes) => write!(formatter, "scale:{bytes}"),
            ReplayMap::Wrap(bytes) => write!(formatter, "wrap:{bytes}"),
        }
    }
}

impl OptionValue for ReplayMap {
    fn unset() -> Self {
        ReplayMap::Wrap(0)
    }

    fn assign(
        &mut self,
        text: &str,
        _: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let expected =
            || ValueError::new("scale:SIZE or wrap:SIZE, where SIZE is the part of the target to use");
        let (word, size) = text.split_once(':').ok_or_else(expected)?;
        let size = parse_whole(size.trim(), context.kb_base).map(|size| size.value).filter(|size| *size > 0);
        let size = size.and_then(|size| u64::try_from(size).ok()).ok_or_else(expected)?;
        *self = match word.trim() {
            "scale" => ReplayMap::Scale(size),
            "wrap" => ReplayMap::Wrap(size),
            _ => return Err(expected()),
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::parse;
    use super::*;

    #[test]
    fn maps_print_back() {
        assert_eq!(parse("scale:10g"), Ok(ReplayMap::Scale(10 << 30)));
        assert_eq!(parse::<ReplayMap>("wrap:1m").map(|map| map.to_string()), Ok("wrap:1048576".into()));
        for wrong in ["", "wrap", "wrap:", "wrap:0", "fold:1g", "scale:x", "wrap:-1"] {
            assert!(parse::<ReplayMap>(wrong).is_err(), "{wrong}");
        }
    }
}
