//! An output file of a command: an existing file is kept unless `--force` is given.

use crate::Failure;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// The output file of a command.
#[derive(Clone, Debug)]
pub struct NewFile {
    path: PathBuf,
    may_replace: bool,
}

/// The state of the path before anything is written.
enum Found {
    Nothing,
    /// A regular file that may be replaced: an empty one, or any file with `--force`.
    Replaceable,
    /// A terminal, a pipe, `/dev/null`.
    Stream,
}

impl NewFile {
    /// A file at this path. `may_replace` is true if the user gave `--force`.
    pub fn new(path: impl Into<PathBuf>, may_replace: bool) -> NewFile {
        NewFile { path: path.into(), may_replace }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Rejects a file that cannot be written, before time is spent on a measurement.
    pub fn check(&self) -> Result<(), Failure> {
        self.find().map(|_| ())
    }

    /// Writes the complete file.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.create()?.write_all(bytes).map_err(|error| Failure::file(&self.path, &error))
    }

    /// Opens the file for writing in several steps.
    pub fn create(&self) -> Result<File, Failure> {
        let mut options = OpenOptions::new();
        options.write(true);
        match self.find()? {
            Found::Nothing => options.create_new(true),
            Found::Replaceable => options.truncate(true),
            Found::Stream => &mut options,
        };
        options.open(&self.path).map_err(|error| Failure::file(&self.path, &error))
    }

    fn find(&self) -> Result<Found, Failure> {
        let kind = match fs::metadata(&self.path) {
            Ok(found) if found.is_file() && (self.may_replace || found.len() == 0) => {
                return Ok(Found::Replaceable);
            }
            Ok(found) if found.is_file() => {
                return Err(self.refused("this file exists; name a new one, or overwrite it with --force"));
            }
            Ok(found) => found.file_type(),
            Err(error) if error.kind() == ErrorKind::NotFound => return self.find_place(),
            Err(error) => return Err(Failure::file(&self.path, &error)),
        };
        match kind.is_dir() || kind.is_block_device() {
            true if kind.is_dir() => Err(self.refused("this is a directory; name a file in it")),
            true => Err(self.refused("this is a block device; name a file")),
            false => Ok(Found::Stream),
        }
    }

    /// The path does not exist: checks whether a file can be created.
    fn find_place(&self) -> Result<Found, Failure> {
        if fs::symlink_metadata(&self.path).is_ok() {
            return Err(self.refused("this link leads nowhere; name a new file"));
        }
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = fs::canonicalize(parent.unwrap_or(Path::new(".")));
        match directory {
            Ok(directory) if directory.starts_with("/dev") && !directory.starts_with("/dev/shm") => {
                Err(self.refused("no such device; fathom does not create regular files under /dev"))
            }
            Ok(directory) if directory.is_dir() => Ok(Found::Nothing),
            _ => Err(self.refused("cannot write a file there; name a file in a directory that exists")),
        }
    }

    fn refused(&self, why: &str) -> Failure {
        Failure::new(format!("{}: {why}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory that is removed on drop.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("fathom-new-file-{name}-{}", std::process::id()));
            fs::create_dir(&path).expect("a new directory");
            Scratch(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_exists_stays_as_it_is_without_force() {
        let scratch = Scratch::new("kept");
        let at = |name: &str| scratch.0.join(name);
        fs::write(at("precious"), "x").expect("written");
        fs::write(at("empty"), "").expect("written");
        fs::create_dir(at("folder")).expect("made");
        std::os::unix::fs::symlink("precious", at("link")).expect("made");
        std::os::unix::fs::symlink("gone", at("dangling")).expect("made");
        for (name, force, why) in [
            ("precious", false, "this file exists"),
            ("link", false, "this file exists"),
            ("dangling", true, "this link leads nowhere"),
            ("folder", true, "this is a directory"),
            ("nowhere/file", true, "in a directory that exists"),
        ] {
            let file = NewFile::new(at(name), force);
            for refused in [file.check(), file.write(b"new")] {
                assert!(refused.expect_err(name).to_string().contains(why), "{name}");
            }
        }
        assert_eq!(fs::read(at("precious")).expect("there"), b"x");
        assert!(NewFile::new("/dev/no-such-device", true).check().is_err());
        for (name, force) in [("empty", false), ("new", false), ("precious", true)] {
            NewFile::new(at(name), force).write(b"new").expect(name);
            assert_eq!(fs::read(at(name)).expect("there"), b"new");
        }
        NewFile::new("/dev/null", false).write(b"new").expect("what keeps nothing loses nothing");
    }
}
