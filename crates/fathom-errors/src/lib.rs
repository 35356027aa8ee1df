//! Errors of the system in messages: their text without the number that the standard library appends, and
//! advice for a user without permission. `tidy` and the tests of the program check that no message contains the
//! number.

#![forbid(unsafe_code)]

use std::fmt::Display;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Text that the standard library appends to an error of the system, before its number.
const NUMBER: &str = " (os error ";

/// The text of an error without the number of the system's error: `Permission denied`. The errors of libraries contain
/// those of the system.
pub fn plain(error: &(impl Display + ?Sized)) -> String {
    let mut text = error.to_string();
    while let Some(start) = text.find(NUMBER) {
        let Some(length) = text[start..].find(')') else { break };
        text.replace_range(start..=start + length, "");
    }
    text
}

/// Advice about a path that this user may not use: the users who may, according to its owner and mode. `None`
/// if the mode is not the reason, as for root and for a file of this user.
pub fn access(path: &Path) -> Option<String> {
    let user = fs::metadata("/proc/self").ok()?.uid();
    access_of(path, user)
}

fn access_of(path: &Path, user: u32) -> Option<String> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let (what, found) = match fs::metadata(path) {
        Ok(found) => ("it".to_owned(), found),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            (format!("its directory {}", directory.display()), fs::metadata(directory).ok()?)
        }
        Err(_) => {
            return Some(
                "a directory above it is closed to this user: run fathom as a user who may enter it"
                    .to_owned(),
            );
        }
    };
    (user != 0).then(|| whose(&what, &found, user))?
}

fn whose(what: &str, found: &Metadata, user: u32) -> Option<String> {
    let mode = found.mode() & 0o7777;
    match found.uid() {
        owner if owner == user => None,
        0 => Some(format!("{what} belongs to root, with mode {mode:04o}: run fathom as root")),
        owner => Some(format!(
            "{what} belongs to user {owner}, with mode {mode:04o}: run fathom as that user or root"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn the_number_is_left_out_wherever_it_is() {
        assert_eq!(plain(&io::Error::from_raw_os_error(13)), "Permission denied");
        let wrapped = "connect: Connection refused (os error 111): try again";
        assert_eq!(plain(wrapped), "connect: Connection refused: try again");
        assert_eq!(plain("x (os error 2) (os error 3)"), "x");
        assert_eq!(plain("left open (os error 2"), "left open (os error 2");
        assert_eq!(plain(&io::Error::other("a (b)")), "a (b)");
    }

    #[test]
    fn the_owner_of_a_path_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let owner = fs::metadata(directory.path()).expect("it exists").uid();
        let stranger = owner + 1;
        let file = directory.path().join("file");
        fs::write(&file, "").expect("written");
        let said = access_of(&file, stranger).expect("another user's");
        assert!(said.starts_with("it belongs to ") && said.contains("with mode 06"), "{said}");
        let said = access_of(&directory.path().join("new"), stranger).expect("another user's");
        assert!(
            said.starts_with(&format!("its directory {} belongs to ", directory.path().display())),
            "{said}"
        );
        assert_eq!(access_of(&file, owner), None);
        assert_eq!(access_of(&file, 0), None);
    }
}
