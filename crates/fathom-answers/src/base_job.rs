//! The job that a command makes variations of: read from a job file or a command line, and kept as the text of one job file.

use crate::Runner;
use crate::job_text::{self, Section};
use fathom_command::Failure;
use fathom_spec::{Eta, JobSpec, ProgramOptions, RunSpec};
use std::path::Path;

/// The job without variations.
pub(crate) struct BaseJob {
    /// Of its job file.
    pub(crate) sections: Vec<Section>,
    /// `--readonly` of its command line.
    pub(crate) readonly: bool,
}

impl BaseJob {
    /// Reads a job file. `command` is what varies it, for messages: `sweep`.
    pub(crate) fn of_file(path: &Path, command: &str, runner: &dyn Runner) -> Result<BaseJob, Failure> {
        let word =
            path.to_str().ok_or_else(|| Failure::new(format!("{path:?}: the path is not valid UTF-8")))?;
        // A name that begins with a dash is a file here.
        let word = if word.starts_with('-') { format!("./{word}") } else { word.to_owned() };
        BaseJob::of(&runner.parse(&[word], "")?, command, runner)
    }

    /// Reads the words of a command line.
    pub(crate) fn of_words(words: &[String], command: &str, runner: &dyn Runner) -> Result<BaseJob, Failure> {
        BaseJob::of(&runner.parse(words, "")?, command, runner)
    }

    fn of(spec: &RunSpec, command: &str, runner: &dyn Runner) -> Result<BaseJob, Failure> {
        let readonly = spec.program.readonly;
        let plain =
            ProgramOptions { readonly, sections: spec.program.sections.clone(), ..ProgramOptions::default() };
        if spec.program != plain {
            let progress = if spec.program.eta == Eta::Auto { "" } else { " and --eta" };
            return Err(Failure::new(format!(
                "program options such as --output, --output-format, --profile or --status-interval{progress} have no effect \
                 in a {command}; leave them out"
            )));
        }
        let base = BaseJob { sections: job_text::sections(spec), readonly };
        let again = read(&job_text::text(&base.sections), readonly, runner)?;
        let same = |one: &JobSpec, other: &JobSpec| {
            meaning_of(one).is_some_and(|own| Some(own) == meaning_of(other))
        };
        let are_same = spec.jobs.len() == again.jobs.len()
            && spec.jobs.iter().zip(&again.jobs).all(|(one, other)| same(one, other));
        match are_same {
            true => Ok(base),
            false => Err(Failure::new(format!(
                "these jobs cannot be merged into one job file, which a {command} needs: the [global] options of one file do not \
                 apply to the jobs of another; put the jobs into one file"
            ))),
        }
    }

    /// Name of the first job.
    pub(crate) fn first_job(&self) -> String {
        let first = self.sections.iter().find(|section| section.name != "global");
        first.map_or_else(String::new, |section| section.name.clone())
    }
}

/// Everything about a job except where and how it was written.
fn meaning_of(job: &JobSpec) -> Option<serde_json::Value> {
    let mut value = serde_json::to_value(job).ok()?;
    for key in ["origin", "written", "given"] {
        value.as_object_mut()?.remove(key);
    }
    // A section of a job file is its name; a command line has an option for it.
    value.get_mut("job_description")?.as_object_mut()?.remove("name");
    Some(value)
}

/// Reads the text of a job file.
pub(crate) fn read(text: &str, readonly: bool, runner: &dyn Runner) -> Result<RunSpec, Failure> {
    let mut words = vec!["-".to_owned()];
    if readonly {
        words.insert(0, "--readonly".to_owned());
    }
    runner.parse(&words, text)
}
