//! Formats one clear line for every mistake, which follows the lines that fio would print.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::message::Message;

/// The place where an option was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// The option is on the command line.
    CommandLine,
    /// In a job file.
    File {
        /// Name of the file, `-` for standard input.
        path: PathBuf,
        /// Line, counted from 1.
        line: usize,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::CommandLine => formatter.write_str("command line"),
            Origin::File { path, line } => write!(formatter, "{}:{line}", path.display()),
        }
    }
}

/// A mistake: what is wrong, where, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Location of the mistake.
    pub origin: Origin,
    /// The option in question.
    pub option: Option<String>,
    /// The value given.
    pub value: Option<String>,
    /// The values that were expected, or what is wrong with a combination.
    pub expected: String,
    /// The closest valid name.
    pub suggestion: Option<String>,
}

impl Diagnostic {
    /// A diagnostic about an option and its value.
    pub fn option(origin: &Origin, option: &str, value: Option<&str>, expected: impl Into<String>) -> Self {
        Diagnostic {
            origin: origin.clone(),
            option: Some(option.to_owned()),
            value: value.map(str::to_owned),
            expected: expected.into(),
            suggestion: None,
        }
    }

    /// A diagnostic that does not concern a single option.
    pub fn general(origin: &Origin, problem: impl Into<String>) -> Self {
        Diagnostic {
            origin: origin.clone(),
            option: None,
            value: None,
            expected: problem.into(),
            suggestion: None,
        }
    }

    /// Adds the closest valid name.
    #[must_use]
    pub fn suggest(self, suggestion: Option<&str>) -> Self {
        Diagnostic { suggestion: suggestion.map(str::to_owned), ..self }
    }

    /// The line for standard error.
    pub fn message(&self) -> Message {
        Message::stderr(self.to_string())
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "fathom: {}: ", self.origin)?;
        match (&self.option, &self.value) {
            (Some(option), Some(value)) => write!(formatter, "option {option}={value}")?,
            (Some(option), None) => write!(formatter, "option {option}")?,
            (None, _) => {}
        }
        if self.option.is_some() {
            formatter.write_str(": ")?;
        }
        formatter.write_str(&self.expected)?;
        match &self.suggestion {
            Some(suggestion) => write!(formatter, "; did you mean {suggestion}?"),
            None => Ok(()),
        }
    }
}

/// The error for an option that a job could not accept; all messages about it have been printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rejected;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_where_what_and_what_to_do() {
        let origin = Origin::File { path: "a.fio".into(), line: 3 };
        let line =
            Diagnostic::option(&origin, "bss", Some("4k"), "there is no such option").suggest(Some("bs"));
        assert_eq!(
            line.to_string(),
            "fathom: a.fio:3: option bss=4k: there is no such option; did you mean bs?"
        );
        let line = Diagnostic::general(&Origin::CommandLine, "no job was defined");
        assert_eq!(line.to_string(), "fathom: command line: no job was defined");
    }
}
