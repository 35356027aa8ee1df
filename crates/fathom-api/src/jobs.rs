//! Jobs: a job file, parsed.

use crate::error::JobsError;
use crate::plan::Plan;
use fathom_local::source::TextSource;
use fathom_run::plan::PlanError;
use fathom_spec::mistakes::{Mistake, mistakes};
use fathom_spec::{Outcome, RunSpec};
use std::fmt;
use std::path::{Path, PathBuf};

/// The jobs of a job file. Parsing does not create, write or open any file.
#[derive(Clone, PartialEq)]
pub struct Jobs {
    /// The argument that names the job file, `-` for `text`.
    name: String,
    text: String,
    spec: RunSpec,
}

impl Jobs {
    /// Parses the text of a job file. Variables (`${NAME}`) are those of this process, and `include` names files of this
    /// machine.
    ///
    /// ```
    /// let error = fathom::Jobs::parse("[reads]\nrw=randread\nbs=four\n").unwrap_err();
    /// assert_eq!(error.mistakes[0].line, Some(3));
    /// ```
    pub fn parse(text: &str) -> Result<Jobs, JobsError> {
        Jobs::of(&[], "-", text)
    }

    /// Parses a job file.
    pub fn read(path: &Path) -> Result<Jobs, JobsError> {
        // A relative name could be mistaken for an option or for standard input, so it gets a directory.
        let path = if path.is_relative() { Path::new(".").join(path) } else { PathBuf::from(path) };
        match path.to_str() {
            Some(path) => Jobs::of(&[], path, ""),
            None => {
                Err(JobsError::of(format!("{}: this name is not UTF-8; rename the file", path.display())))
            }
        }
    }

    fn of(options: &[&str], name: &str, text: &str) -> Result<Jobs, JobsError> {
        let words: Vec<String> = options.iter().chain([&name]).map(|&word| word.to_owned()).collect();
        match fathom_spec::parse("fathom", &words, &TextSource::new(text)) {
            Outcome::Run(spec) => Ok(Jobs { name: name.to_owned(), text: text.to_owned(), spec: *spec }),
            Outcome::Exit(reply) => Err(JobsError { mistakes: mistakes(&reply.messages) }),
            _ => Err(JobsError::of("a job file that asks for something other than running jobs".to_owned())),
        }
    }

    /// Restricts the jobs to reading: jobs that would write or create anything are rejected, here or by
    /// [`plan`](Jobs::plan).
    pub fn read_only(self) -> Result<Jobs, JobsError> {
        Jobs::of(&["--readonly"], &self.name, &self.text)
    }

    /// The names of the jobs in text order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.spec.jobs.iter().map(|job| job.name.as_str())
    }

    /// Warnings about options that are valid but probably do not have the intended effect.
    pub fn notes(&self) -> Vec<Mistake> {
        match self.spec.messages.is_empty() {
            true => Vec::new(),
            false => mistakes(&self.spec.messages),
        }
    }

    /// Plans the jobs for this machine.
    pub fn plan(&self) -> Result<Plan, PlanError> {
        fathom_run::plan::Plan::new(&self.spec, fathom_engines::definition_of).map(Plan::of)
    }
}

/// Shows only the names, because a job has three hundred options.
impl fmt::Debug for Jobs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Jobs").field(&self.names().collect::<Vec<_>>()).finish()
    }
}

impl JobsError {
    fn of(text: String) -> JobsError {
        JobsError { mistakes: vec![Mistake { line: None, text }] }
    }
}
