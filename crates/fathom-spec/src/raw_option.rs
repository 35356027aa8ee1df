//! An option whose value has not been parsed yet.

use crate::diagnostic::Origin;

/// An option as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawOption {
    /// The name, as typed.
    pub(crate) name: String,
    /// The text after the `=`.
    pub(crate) value: Option<String>,
    /// Where it was written.
    pub(crate) origin: Origin,
    /// The line of the job file, if variables or keywords were replaced in it.
    pub(crate) unexpanded: Option<String>,
}

impl RawOption {
    /// An option without variables.
    pub(crate) fn new(name: &str, value: Option<String>, origin: Origin) -> Self {
        RawOption { name: name.to_owned(), value, origin, unexpanded: None }
    }

    /// The option as `name=value`, or the name alone. Variables are shown as written, as in fio.
    pub(crate) fn text(&self) -> String {
        match (&self.unexpanded, &self.value) {
            (Some(line), _) => line.clone(),
            (None, Some(value)) => format!("{}={value}", self.name),
            (None, None) => self.name.clone(),
        }
    }

    /// The value up to its first colon: the word itself, for values that are words with arguments.
    pub(crate) fn word(&self) -> &str {
        self.value.as_deref().unwrap_or("").split(':').next().unwrap_or("")
    }
}
