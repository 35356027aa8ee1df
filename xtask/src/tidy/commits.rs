//! The subjects of unpublished commits must fit on a line of `git log`.

use std::path::Path;
use std::process::Command;

/// Maximum number of characters of a subject.
const LONGEST: usize = 72;

/// Long subjects among the commits that origin/main does not contain, or among the last few if there is no such
/// branch: a clone without a remote, or one of a single commit. Without git there is nothing to check.
pub(crate) fn check(root: &Path) -> Vec<String> {
    let branch = log(root, &["--max-count=200", "origin/main..HEAD"]);
    let subjects = branch.or_else(|| log(root, &["--max-count=20", "HEAD"])).unwrap_or_default();
    subjects.lines().filter_map(too_long).collect()
}

fn log(root: &Path, which: &[&str]) -> Option<String> {
    let format = ["log", "--no-merges", "--format=%h %s"];
    let output = Command::new("git").arg("-C").arg(root).args(format).args(which).arg("--").output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn too_long(line: &str) -> Option<String> {
    let (commit, subject) = line.split_once(' ')?;
    let length = subject.chars().count();
    (length > LONGEST)
        .then(|| format!("commit {commit}: a subject of {length} characters; {LONGEST} are the limit"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_subjects_are_found_with_and_without_a_remote() {
        let directory = tempfile::tempdir().expect("a directory");
        let git = |words: &[&str]| {
            let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
            let done =
                Command::new("git").arg("-C").arg(directory.path()).args(identity).args(words).output();
            assert!(done.is_ok_and(|output| output.status.success()), "{words:?}");
        };
        assert!(check(directory.path()).is_empty(), "no git here");
        git(&["init", "--quiet"]);
        git(&["commit", "--quiet", "--allow-empty", "-m", &"x".repeat(LONGEST + 1)]);
        git(&["commit", "--quiet", "--allow-empty", "-m", &"y".repeat(LONGEST)]);
        assert_eq!(check(directory.path()).len(), 1);
        git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
        assert!(check(directory.path()).is_empty(), "published commits are not checked");
        git(&["commit", "--quiet", "--allow-empty", "-m", &"z".repeat(LONGEST + 1)]);
        assert_eq!(check(directory.path()).len(), 1);
    }
}
