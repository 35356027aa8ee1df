//! `sync_file_range`: how and how often written ranges are written back.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{OptionValue, ParseContext, ValueError, no_such_choice, parse_whole};
use crate::definition::{Choice, OptionDef};

/// The steps of `sync_file_range(2)` and the number of writes between two calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SyncFileRange {
    /// Wait for writes in progress before the call.
    pub wait_before: bool,
    /// Start writeback.
    pub write: bool,
    /// Wait for the started writes.
    pub wait_after: bool,
    /// Number of writes between two calls.
    pub every: u32,
}

impl SyncFileRange {
    /// The words of the option.
    pub const CHOICES: &'static [Choice] = &[
        Choice { name: "wait_before", help: "First wait for writes in progress" },
        Choice { name: "write", help: "Start writeback" },
        Choice { name: "wait_after", help: "Wait until the data is written" },
    ];
}

impl fmt::Display for SyncFileRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        for (word, on) in
            [("wait_before", self.wait_before), ("write", self.write), ("wait_after", self.wait_after)]
        {
            if on {
                words.push(word);
            }
        }
        write!(formatter, "{}:{}", words.join(","), self.every)
    }
}

impl OptionValue for SyncFileRange {
    fn unset() -> Self {
        SyncFileRange::default()
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let (words, count) = text.split_once(':').unwrap_or((text, "1"));
        let mut value = SyncFileRange::default();
        for word in words.split(',') {
            match word.trim() {
                "wait_before" => value.wait_before = true,
                "write" => value.write = true,
                "wait_after" => value.wait_after = true,
                other => return Err(no_such_choice(definition, other, context)),
            }
        }
        value.every = parse_whole(count, 1024)
            .and_then(|whole| u32::try_from(whole.value).ok())
            .filter(|every| *every > 0)
            .ok_or_else(|| ValueError::new("a number of writes after the colon, at least 1"))?;
        *self = value;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::parse;
    use super::*;

    #[test]
    fn steps_and_count_print_back() {
        let value = SyncFileRange { wait_before: false, write: true, wait_after: true, every: 8 };
        assert_eq!(parse("write,wait_after:8"), Ok(value));
        assert_eq!(parse(&value.to_string()), Ok(value));
        assert_eq!(parse::<SyncFileRange>("write").map(|value| value.every), Ok(1));
        assert!(parse::<SyncFileRange>("foo:1").is_err());
        assert!(parse::<SyncFileRange>("write:0").is_err());
    }
}
