//! One row of a table: a command line that both programs run, each in its own directory with the same files.

use super::difference::{Difference, differences};
use super::observed::Observed;
use crate::support::program::{self, Launch};
use crate::support::{KIB, file_of, scratch};
use std::path::Path;
use std::time::Duration;

/// Time limit of a run, generous enough for a loaded machine. A run that exceeds it is killed, and the outcome is compared.
const PATIENCE: Duration = Duration::from_secs(60);

/// The input of both programs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Arguments, which follow those of the family.
    pub(super) words: &'static str,
    /// The content of `job.fio` in the directory.
    pub(super) job_file: &'static str,
    /// Places where the two may differ, as prefixes of `Difference::place`.
    pub(super) differs_at: &'static [&'static str],
    /// The reason.
    pub(super) reason: &'static str,
}

/// Both must behave identically.
pub(super) const fn same(words: &'static str) -> Row {
    Row { words, job_file: "", differs_at: &[], reason: "" }
}

/// Both must behave identically with this as `job.fio`.
pub(super) const fn job_file(job_file: &'static str) -> Row {
    Row { words: "job.fio", job_file, differs_at: &[], reason: "" }
}

impl Row {
    /// Declares places where fathom differs intentionally.
    pub(super) const fn differs(self, at: &'static [&'static str], reason: &'static str) -> Row {
        Row { differs_at: at, reason, ..self }
    }
}

/// A command line, ready to be run.
pub(super) struct Case<'a> {
    pub(super) words: &'a str,
    pub(super) job_file: &'a str,
}

impl Case<'_> {
    /// Differences between the two programs. A run may vary, so only differences found three times count.
    pub(super) fn compare(&self, reference: &Path) -> Vec<Difference> {
        let mut found = self.compare_once(reference);
        for _ in 0..2 {
            if found.is_empty() {
                break;
            }
            let again = self.compare_once(reference);
            found.retain(|one| again.iter().any(|other| other.place == one.place));
        }
        found
    }

    /// Differences in one run of each.
    pub(super) fn compare_once(&self, reference: &Path) -> Vec<Difference> {
        differences(self.words, &self.observe(reference), &self.observe(&program::path()))
    }

    /// Runs a program and observes its results.
    fn observe(&self, program: &Path) -> Observed {
        let directory = scratch();
        file_of(directory.path(), "present", 256 * KIB);
        if !self.job_file.is_empty() {
            std::fs::write(directory.path().join("job.fio"), self.job_file).expect("a file can be written");
        }
        // Both are started as `fio` through paths of equal length, so that messages which contain the path match.
        let names = scratch();
        let called = names.path().join("fio");
        std::os::unix::fs::symlink(program, &called).expect("a link can be made");
        let reports = if self.names_its_reports() { "" } else { "--output-format=normal,terse,json" };
        let launch = Launch::of(&called, directory.path()).words(reports).words(self.words).timeout(PATIENCE);
        let mut running = launch.start();
        let finished = running.finish_in_time();
        drop(running);
        Observed::new(finished, &called, directory.path())
    }

    /// True if the arguments choose the reports and their destination.
    fn names_its_reports(&self) -> bool {
        let words =
            ["--output", "--minimal", "--parse-only", "--showcmd", "--version", "-v", "--append-terse"];
        self.words.split_whitespace().any(|word| words.iter().any(|start| word.starts_with(start)))
    }
}
