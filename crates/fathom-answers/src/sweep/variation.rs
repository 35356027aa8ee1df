//! A varied option and its values, parsed from an argument.

use fathom_command::Failure;
use fathom_spec::registry::find_job_option;
use serde::{Deserialize, Serialize};

/// An option and its values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Variation {
    /// Canonical name of the option.
    pub(crate) name: String,
    /// The values, in the order of the table.
    pub(crate) values: Vec<String>,
}

impl Variation {
    /// Parses `NAME=A,B,C`, or `NAME=A;B;C` for values with commas.
    pub(crate) fn parse(text: &str) -> Result<Variation, Failure> {
        let wrong = |what: &str| {
            Failure::new(format!("--vary: `{text}`: {what}; write for example --vary=iodepth=1,4,16"))
        };
        if text.trim().is_empty() {
            return Err(Failure::new(
                "--vary: it needs an option and its values, such as --vary=iodepth=1,4,16; leave it out to repeat one job",
            ));
        }
        let (name, list) = text.split_once('=').ok_or_else(|| wrong("it has no ="))?;
        let name = name.trim();
        let name = find_job_option(name).map_or(name, |option| option.name);
        if name.is_empty() || name == "name" {
            return Err(wrong("the name of a job cannot vary; all cells run the same jobs"));
        }
        let values = values(list);
        if values.iter().any(String::is_empty) {
            return Err(wrong("a value is empty"));
        }
        if let Some(twice) = values.iter().enumerate().find(|(at, value)| values[..*at].contains(value)) {
            return Err(wrong(&format!("the value {} appears twice", twice.1)));
        }
        Ok(Variation { name: name.to_owned(), values })
    }
}

/// Splits a list at commas, or at semicolons if it contains any.
pub(crate) fn values(list: &str) -> Vec<String> {
    let mark = if list.contains(';') { ';' } else { ',' };
    list.split(mark).map(|value| value.trim().to_owned()).collect()
}
