//! Lists of file and directory names, separated by colons.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{OptionValue, ParseContext, ValueError};
use crate::definition::OptionDef;
use crate::message::Message;

/// The names in `filename`, which accumulate if the option is repeated; duplicates are dropped.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileNames(pub Vec<String>);

impl fmt::Display for FileNames {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.0.iter().map(|name| name.replace(':', "\\:")).collect();
        formatter.write_str(&names.join(":"))
    }
}

impl OptionValue for FileNames {
    fn unset() -> Self {
        FileNames::default()
    }

    fn assign(&mut self, text: &str, _: &OptionDef, _: &mut ParseContext<'_>) -> Result<(), ValueError> {
        let mut further = split_file_names(text);
        further.retain(|name| !self.0.contains(name));
        self.0.append(&mut further);
        Ok(())
    }
}

/// Splits a list of names at colons; a backslash before a colon makes it part of the name.
pub fn split_file_names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&':') => {
                letters.next();
                name.push(':');
            }
            ':' => names.push(std::mem::take(&mut name)),
            letter => name.push(letter),
        }
    }
    names.push(name);
    names.retain(|name| !name.is_empty());
    names
}

/// Refuses directories that do not exist. When only the text is checked, they need not exist, because the job
/// may be meant for another machine.
pub(crate) fn check_directories(text: &str, context: &mut ParseContext<'_>) -> Result<(), ValueError> {
    if context.parse_only {
        return Ok(());
    }
    for name in split_file_names(text) {
        if !context.source.is_directory(Path::new(&name)) {
            context
                .notes
                .push(Message::stdout("fio: file:options.c, func=lstat, error=No such file or directory"));
            context.complain(format!("fio: {name} is not a directory"));
            return Err(ValueError::new("directories that exist"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::parse;
    use super::*;
    use crate::resolve::testing::quiet_job;

    #[test]
    fn names_given_again_add_up() {
        let names =
            |words: &str| quiet_job(words).file.filename.map_or(String::new(), |names| names.to_string());
        assert_eq!(names("--name=a --filename=f --filename=g"), "f:g");
        assert_eq!(names("--filename=f --name=a --filename=g:h --filename=h:i"), "f:g:h:i");
        assert_eq!(names("--filename=f --name=a"), "f");
        assert_eq!(names(r"--name=a --filename=f\:1:g --filename=f\:1"), r"f\:1:g");
        assert_eq!(
            parse::<FileNames>(r"f\:1:g").map(|names| names.0),
            Ok(vec!["f:1".to_owned(), "g".to_owned()])
        );
        let job = quiet_job("--filename=f --name=a --filename=g --filename=h");
        let written: Vec<String> =
            job.written.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(written, ["name=a", "filename=g", "filename=h"]);
    }

    #[test]
    fn a_backslash_keeps_a_colon_in_a_name() {
        assert_eq!(split_file_names("a:b"), ["a", "b"]);
        assert_eq!(split_file_names(r"a\:b:c"), ["a:b", "c"]);
        assert_eq!(split_file_names("a::"), ["a"]);
        assert_eq!(split_file_names(""), Vec::<String>::new());
    }
}
