//! Names for people: headings of options and figures, and names of option values.

use super::file_systems;
use super::variation::{Variation, values};
use crate::measures::FigureOf;
use fathom_command::Failure;
use fathom_spec::registry::find_job_option;
use serde::{Deserialize, Serialize};

/// A heading for a column, with optional names for its values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Label {
    /// Canonical name of the option, or name of the figure.
    pub(crate) name: String,
    /// Heading of the column; if empty, the option's name is used.
    pub(crate) heading: String,
    /// One name per value, in order; if empty, the values themselves are used.
    pub(crate) values: Vec<String>,
}

impl Label {
    /// Parses `NAME=HEADING` or `NAME=HEADING:A,B,C`.
    pub(crate) fn parse(text: &str) -> Result<Label, Failure> {
        let (name, rest) = text
            .split_once('=')
            .filter(|(name, rest)| !name.trim().is_empty() && !rest.is_empty())
            .ok_or_else(|| {
                Failure::new(format!(
                    "--label: `{text}` is not NAME=HEADING or NAME=HEADING:NAME-OF-FIRST-VALUE,..."
                ))
            })?;
        let name = name.trim();
        let name = find_job_option(name).map_or(name, |option| option.name).to_owned();
        let (heading, list) = match rest.split_once(':') {
            Some((heading, list)) => (heading, values(list)),
            None => (rest, Vec::new()),
        };
        Ok(Label { name, heading: heading.trim().to_owned(), values: list })
    }
}

/// Headings for a table of file systems, as in published tables.
pub(super) fn of_file_systems() -> Vec<Label> {
    let pairs = [
        (file_systems::DIMENSION, "Filesystem"),
        ("ioengine", "IO Interface"),
        ("read-bw", "Read"),
        ("write-bw", "Write"),
        ("trim-bw", "Trim"),
        ("lat", "Latency"),
        ("iops", "IOPS"),
    ];
    let label = |(name, heading): (&str, &str)| Label {
        name: name.to_owned(),
        heading: heading.to_owned(),
        values: Vec::new(),
    };
    pairs.map(label).into()
}

/// Refuses a label that matches no column or has the wrong number of names.
pub(super) fn check(vary: &[Variation], labels: &[Label]) -> Result<(), Failure> {
    for label in labels {
        match vary.iter().find(|vary| vary.name == label.name) {
            Some(vary) if !label.values.is_empty() && label.values.len() != vary.values.len() => {
                return Err(Failure::new(format!(
                    "--label: {} has {} values ({}), but {} names are given",
                    label.name,
                    vary.values.len(),
                    vary.values.join(", "),
                    label.values.len()
                )));
            }
            Some(_) => {}
            None if FigureOf::parse(&label.name).is_ok() && label.values.is_empty() => {}
            None => {
                return Err(Failure::new(format!(
                    "--label: `{}` is neither a varied option nor a figure",
                    label.name
                )));
            }
        }
    }
    Ok(())
}

/// The heading of an option.
pub(super) fn heading_of_option(labels: &[Label], name: &str) -> String {
    let found = labels.iter().find(|label| label.name == name && !label.heading.is_empty());
    found.map_or_else(|| name.to_owned(), |label| label.heading.clone())
}

/// The heading of a figure.
pub(super) fn heading_of_figure(labels: &[Label], figure: &FigureOf) -> String {
    let found = labels.iter().find(|label| FigureOf::parse(&label.name).is_ok_and(|own| own == *figure));
    found
        .filter(|label| !label.heading.is_empty())
        .map_or_else(|| figure.to_string(), |label| label.heading.clone())
}

/// The name of a value of an option.
pub(super) fn name_of_value(labels: &[Label], vary: &[Variation], option: &str, value: &str) -> String {
    let place = vary
        .iter()
        .find(|vary| vary.name == option)
        .and_then(|vary| vary.values.iter().position(|own| own == value));
    let label = labels.iter().find(|label| label.name == option);
    let name = label.zip(place).and_then(|(label, place)| label.values.get(place));
    name.map_or_else(|| value.to_owned(), Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_and_names() {
        let label = Label::parse("filename=Filesystem:Ext4,XFS,None").expect("reads");
        assert_eq!(
            (label.name.as_str(), label.heading.as_str(), label.values.len()),
            ("filename", "Filesystem", 3)
        );
        let label = Label::parse("read-iops=IOPS").expect("reads");
        assert_eq!((label.name.as_str(), label.values.len()), ("read-iops", 0));
        for wrong in ["x", "=y", "x="] {
            assert!(Label::parse(wrong).is_err(), "{wrong}");
        }
    }
}
