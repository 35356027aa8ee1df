//! An output directory of a command: it must be new or empty, so that it contains only files of that command.

use crate::{Failure, NewFile};
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

/// The output directory of a command with several results.
#[derive(Clone, Debug)]
pub struct NewDirectory {
    path: PathBuf,
}

impl NewDirectory {
    /// A directory with this path.
    pub fn new(path: impl Into<PathBuf>) -> NewDirectory {
        NewDirectory { path: path.into() }
    }

    /// Rejects a directory that cannot be filled, before time is spent on a measurement.
    pub fn check(&self) -> Result<(), Failure> {
        match fs::read_dir(&self.path).map(|mut entries| entries.next().is_none()) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.refused("this directory is not empty; name a new one")),
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                Err(self.refused("this is a file; name a new directory, which gets a file for each run"))
            }
            // The path does not exist, so the checks for a new file apply to the directory as well.
            Err(error) if error.kind() == ErrorKind::NotFound => NewFile::new(&self.path, false).check(),
            Err(error) => Err(Failure::file(&self.path, &error)),
        }
    }

    /// Creates the directory and writes its files.
    pub fn write(&self, files: &[(String, Vec<u8>)]) -> Result<(), Failure> {
        self.check()?;
        match fs::create_dir(&self.path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(Failure::file(&self.path, &error));
            }
            _ => {}
        }
        files.iter().try_for_each(|(name, bytes)| NewFile::new(self.path.join(name), false).write(bytes))
    }

    fn refused(&self, why: &str) -> Failure {
        Failure::new(format!("{}: {why}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_new_or_empty_directory_is_filled() {
        let scratch = std::env::temp_dir().join(format!("fathom-new-directory-{}", std::process::id()));
        fs::create_dir(&scratch).expect("a new directory");
        let at = |name: &str| scratch.join(name);
        fs::create_dir(at("empty")).expect("made");
        fs::write(at("file"), "x").expect("written");
        std::os::unix::fs::symlink("gone", at("dangling")).expect("made");
        let files = [("1.json".to_owned(), b"one".to_vec()), ("2.json".to_owned(), b"two".to_vec())];
        for name in ["new", "empty"] {
            NewDirectory::new(at(name)).write(&files).expect(name);
            assert_eq!(fs::read(at(name).join("2.json")).expect("there"), b"two");
        }
        for (name, why) in [
            ("new", "not empty"),
            ("file", "this is a file"),
            ("dangling", "leads nowhere"),
            ("nowhere/new", "in a directory that exists"),
        ] {
            let directory = NewDirectory::new(at(name));
            for refused in [directory.check(), directory.write(&files)] {
                assert!(refused.expect_err(name).to_string().contains(why), "{name}");
            }
        }
        assert_eq!(fs::read(at("file")).expect("there"), b"x");
        fs::remove_dir_all(&scratch).expect("removed");
    }
}
