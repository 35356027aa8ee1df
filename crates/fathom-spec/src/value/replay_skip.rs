//! `replay_skip`: kinds of recorded I/O that are not replayed.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{OptionValue, ParseContext, ValueError};
use crate::definition::OptionDef;

/// The kinds that are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReplaySkip {
    /// Reads.
    pub read: bool,
    /// Writes.
    pub write: bool,
    /// Trims.
    pub trim: bool,
    /// All kinds of sync.
    pub sync: bool,
}

impl fmt::Display for ReplaySkip {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [("read", self.read), ("write", self.write), ("trim", self.trim), ("sync", self.sync)];
        let words: Vec<&str> = kinds.into_iter().filter(|(_, skips)| *skips).map(|(word, _)| word).collect();
        formatter.write_str(&words.join(","))
    }
}

impl OptionValue for ReplaySkip {
    fn unset() -> Self {
        ReplaySkip::default()
    }

    fn assign(
        &mut self,
        text: &str,
        _: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let mut skip = ReplaySkip::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                "read" => skip.read = true,
                "write" => skip.write = true,
                "trim" => skip.trim = true,
                "sync" => skip.sync = true,
                other => {
                    context.complain(format!("Unknown skip type: {other}"));
                    return Err(ValueError::new("a list of read, write, trim and sync, separated by commas"));
                }
            }
        }
        *self = skip;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{parse, parse_noting};
    use super::*;

    #[test]
    fn a_list_of_kinds_prints_back() {
        let value: ReplaySkip = parse("sync, read").unwrap();
        assert_eq!(value, ReplaySkip { read: true, sync: true, ..ReplaySkip::default() });
        assert_eq!(parse(&value.to_string()), Ok(value));
        let (result, lines) = parse_noting::<ReplaySkip>("foo");
        assert!(result.is_err() && lines == ["Unknown skip type: foo"]);
    }
}
