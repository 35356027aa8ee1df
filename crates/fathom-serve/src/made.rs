//! Files created by runs, as they were at the end of the run. If a file differs from its record, another
//! program has replaced or changed it, even under the same name.

use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A regular file at one point in time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Made {
    pub(crate) path: PathBuf,
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds of mtime, which a program that copies files may set, and of ctime, which no
    /// program can set.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Made {
    /// Reads the file's current state; `None` if it does not exist or is not a regular file.
    pub(crate) fn of(path: &Path) -> Option<Made> {
        let found = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        let path = std::path::absolute(path).ok()?;
        // JSON cannot represent names that are not UTF-8.
        path.to_str()?;
        Some(Made {
            path,
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }

    /// Returns the reason why a run may not create or overwrite these files: they have changed since it was
    /// accepted.
    pub(crate) fn obstacle(makes: &[PathBuf], remakes: &[Made]) -> Option<String> {
        let is_new = |path: &&PathBuf| std::fs::metadata(path).is_ok_and(|found| found.len() > 0);
        let is_other = |made: &&Made| Made::of(&made.path).is_some_and(|now| now != **made);
        let path = makes.iter().find(is_new).or_else(|| Some(&remakes.iter().find(is_other)?.path))?;
        Some(format!(
            "{} has changed since the run was accepted, and is left as it is; start the run again",
            path.display()
        ))
    }
}

/// The files that all runs created.
pub(crate) type AllMade = HashSet<Made>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_others_have_touched_are_theirs() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("x");
        assert_eq!(Made::of(&path), None);
        std::fs::write(&path, "ours").expect("it can be written");
        let made = Made::of(&path).expect("a file");
        assert_eq!(Made::of(&path), Some(made.clone()), "nothing has happened");
        let (new, old) = ([path.clone()], [made.clone()]);
        assert!(Made::obstacle(&[], &old).is_none());
        assert!(Made::obstacle(&new, &[]).is_some_and(|text| text.contains("has changed")));
        // This is another file with the same name, length and time.
        let other = directory.path().join("y");
        std::fs::write(&other, "mine").expect("it can be written");
        let times = std::fs::FileTimes::new()
            .set_modified(std::fs::metadata(&path).and_then(|found| found.modified()).expect("a time"));
        std::fs::File::options()
            .write(true)
            .open(&other)
            .and_then(|file| file.set_times(times))
            .expect("times");
        std::fs::rename(&other, &path).expect("it is replaced");
        let now = Made::of(&path).expect("a file");
        assert_eq!((now.size, now.modified), (made.size, made.modified));
        assert_ne!(now, made);
        assert!(Made::obstacle(&[], &old).is_some());
        assert_eq!(Made::of(directory.path()), None, "a directory is no file");
    }
}
