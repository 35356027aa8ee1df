//! Lists of file and directory names, separated by colons.

use std::path::Path;

use super::{ParseContext, ValueError};
use crate::outcome::Message;

/// Cuts a list of names at its colons; a backslash before a colon makes it part of the name.
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

/// Refuses directories that do not exist, unless only the text counts: it may be meant for another machine.
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
    use super::*;

    #[test]
    fn a_backslash_keeps_a_colon_in_a_name() {
        assert_eq!(split_file_names("a:b"), ["a", "b"]);
        assert_eq!(split_file_names(r"a\:b:c"), ["a:b", "c"]);
        assert_eq!(split_file_names("a::"), ["a"]);
        assert_eq!(split_file_names(""), Vec::<String>::new());
    }
}
