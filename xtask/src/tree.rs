//! The files of the repository: those tracked by git, or without git all except build output.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A file and its text.
pub(crate) struct File {
    /// Path from the root of the repository.
    pub(crate) path: PathBuf,
    /// Its text; binary files are left out of the tree.
    pub(crate) text: String,
}

impl File {
    /// The path as text.
    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// True for a file with that extension.
    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        self.path.extension().is_some_and(|own| own == extension)
    }
}

/// All text files of the repository.
pub(crate) struct Tree {
    /// Its location.
    pub(crate) root: PathBuf,
    /// Its files, sorted by path.
    pub(crate) files: Vec<File>,
}

impl Tree {
    /// Reads the whole tree.
    pub(crate) fn read(root: &Path) -> Result<Tree, String> {
        let mut paths = match tracked(root) {
            Some(paths) => paths,
            None => found(root, Path::new(""))?,
        };
        paths.sort();
        let mut files = Vec::new();
        for path in paths {
            // A tracked file may be deleted in the working tree, and some files are binary; both are ignored.
            if let Ok(text) = std::fs::read_to_string(root.join(&path)) {
                files.push(File { path, text });
            }
        }
        match files.is_empty() {
            true => Err(format!("{}: no files found; is this the repository?", root.display())),
            false => Ok(Tree { root: root.to_path_buf(), files }),
        }
    }

    /// A tree constructed for tests.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        let file = |&(path, text): &(&str, &str)| File { path: path.into(), text: text.to_owned() };
        Tree { root: PathBuf::from("."), files: files.iter().map(file).collect() }
    }
}

fn tracked(root: &Path) -> Option<Vec<PathBuf>> {
    let listed = Command::new("git").arg("-C").arg(root).args(["ls-files", "-z"]).output().ok()?;
    let text = String::from_utf8(listed.stdout).ok()?;
    let paths: Vec<PathBuf> = text.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from).collect();
    (listed.status.success() && !paths.is_empty()).then_some(paths)
}

fn found(root: &Path, below: &Path) -> Result<Vec<PathBuf>, String> {
    let directory = root.join(below);
    let fail = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(&directory).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let path = below.join(entry.file_name());
        let kind = entry.file_type().map_err(fail)?;
        if kind.is_file() {
            paths.push(path);
        } else if kind.is_dir() && path != Path::new("target") && path != Path::new(".git") {
            paths.extend(found(root, &path)?);
        }
    }
    Ok(paths)
}
