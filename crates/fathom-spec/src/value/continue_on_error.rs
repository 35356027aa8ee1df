//! `continue_on_error`: failures that do not end a job.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{OptionValue, ParseContext, ValueError, no_such_choice};
use crate::definition::{Choice, OptionDef};

/// The classes of failures that a job survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ContinueOnError {
    /// Failed reads.
    pub read: bool,
    /// Failed writes.
    pub write: bool,
    /// Data that differs from what was written.
    pub verify: bool,
}

impl ContinueOnError {
    /// The words of the option.
    pub const CHOICES: &'static [Choice] = &[
        Choice { name: "none", help: "End the job at the first error" },
        Choice { name: "read", help: "Continue after failed reads" },
        Choice { name: "write", help: "Continue after failed writes" },
        Choice { name: "io", help: "Continue after failed reads and writes" },
        Choice { name: "verify", help: "Continue after data that does not match" },
        Choice { name: "all", help: "Continue after all of these" },
        Choice { name: "0", help: "Same as none" },
        Choice { name: "1", help: "Same as all" },
    ];
}

impl fmt::Display for ContinueOnError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match (self.read, self.write, self.verify) {
            (false, false, false) => "none",
            (true, false, false) => "read",
            (false, true, false) => "write",
            (true, true, false) => "io",
            (false, false, true) => "verify",
            (true, true, true) => "all",
            // This combination has no word of its own; only `ignore_error` uses it.
            (true, false, true) => "read,verify",
            (false, true, true) => "write,verify",
        })
    }
}

impl OptionValue for ContinueOnError {
    fn unset() -> Self {
        ContinueOnError::default()
    }

    fn assign(
        &mut self,
        text: &str,
        definition: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let (read, write, verify) = match text.split(':').next().unwrap_or(text) {
            "none" | "0" => (false, false, false),
            "read" => (true, false, false),
            "write" => (false, true, false),
            "io" => (true, true, false),
            "verify" => (false, false, true),
            "all" | "1" => (true, true, true),
            other => return Err(no_such_choice(definition, other, context)),
        };
        *self = ContinueOnError { read, write, verify };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::parse;
    use super::*;

    #[test]
    fn every_word_is_a_set_of_classes_and_prints_back() {
        for choice in ContinueOnError::CHOICES {
            let value: ContinueOnError = parse(choice.name).unwrap();
            assert_eq!(parse(&value.to_string()), Ok(value), "{}", choice.name);
        }
        assert_eq!(parse("io"), Ok(ContinueOnError { read: true, write: true, verify: false }));
        assert!(parse::<ContinueOnError>("foo").is_err());
    }
}
