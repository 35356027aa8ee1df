//! The base job that a command varies, read from a job file or a command line and kept as the text of one job file.

use crate::Runner;
use crate::job_text::{self, Section};
use fathom_command::Failure;
use fathom_spec::{Eta, JobSpec, ProgramOptions, RunSpec};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Source of a command's job.
#[derive(Debug, PartialEq)]
pub(crate) enum JobSource {
    /// A job file, or a results file.
    File(PathBuf),
    /// Arguments of a command line.
    Words(Vec<String>),
}

impl JobSource {
    /// Determines the source from a command's file arguments and from the arguments after `--`.
    pub(crate) fn of(
        files: Vec<PathBuf>,
        words: Option<&[OsString]>,
        command: &str,
    ) -> Result<JobSource, Failure> {
        match (<[PathBuf; 1]>::try_from(files), words) {
            (Ok([file]), None) => Ok(JobSource::File(file)),
            (Err(files), Some(words)) if files.is_empty() => Ok(JobSource::Words(texts_of(words)?)),
            (Err(files), None) if files.is_empty() => Err(Failure::new(
                "no job given; name a job file, or write -- and the arguments of a command line",
            )),
            (Err(files), None) => Err(Failure::new(format!(
                "{} job files given; {command} takes one, which may hold several jobs",
                files.len()
            ))),
            _ => Err(Failure::new("both a job file and arguments after -- given; give only one of them")),
        }
    }

    /// Default results file in the current directory.
    pub(crate) fn default_output(&self, first_job: &str, command: &str) -> PathBuf {
        let name = match self {
            JobSource::File(path) => path.file_stem().map(|stem| stem.to_string_lossy().into_owned()),
            JobSource::Words(_) => first_job.split(['/', '\0']).next_back().map(str::to_owned),
        };
        let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| "job".to_owned());
        PathBuf::from(format!("{name}.{command}.jsonl"))
    }
}

fn texts_of(words: &[OsString]) -> Result<Vec<String>, Failure> {
    let text = |word: &OsString| {
        word.clone().into_string().map_err(|word| Failure::new(format!("{word:?} is not valid UTF-8")))
    };
    match words.is_empty() {
        true => Err(Failure::new("there is no job after --")),
        false => words.iter().map(text).collect(),
    }
}

/// The job that a command varies, before any variation.
pub(crate) struct BaseJob {
    /// Sections of the job file.
    pub(crate) sections: Vec<Section>,
    /// `--readonly` was given.
    pub(crate) readonly: bool,
}

impl BaseJob {
    /// Reads the job. `command` is the verb for messages: `sweep`.
    pub(crate) fn from(source: &JobSource, command: &str, runner: &dyn Runner) -> Result<BaseJob, Failure> {
        match source {
            JobSource::File(path) => BaseJob::of_file(path, command, runner),
            JobSource::Words(words) => BaseJob::of(&runner.parse(words, "")?, command, runner),
        }
    }

    /// Reads a job file.
    pub(crate) fn of_file(path: &Path, command: &str, runner: &dyn Runner) -> Result<BaseJob, Failure> {
        let word =
            path.to_str().ok_or_else(|| Failure::new(format!("{path:?}: the path is not valid UTF-8")))?;
        // Here, a name that begins with a dash is a file name, not an option.
        let word = if word.starts_with('-') { format!("./{word}") } else { word.to_owned() };
        BaseJob::of(&runner.parse(&[word], "")?, command, runner)
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

/// All settings of a job except the location and wording of its source.
fn meaning_of(job: &JobSpec) -> Option<serde_json::Value> {
    let mut value = serde_json::to_value(job).ok()?;
    for key in ["origin", "written", "given"] {
        value.as_object_mut()?.remove(key);
    }
    // The name is removed, because a job file has it as a section header and a command line as an option.
    value.get_mut("job_description")?.as_object_mut()?.remove("name");
    Some(value)
}

/// Parses the text of a job file.
pub(crate) fn read(text: &str, readonly: bool, runner: &dyn Runner) -> Result<RunSpec, Failure> {
    let mut words = vec!["-".to_owned()];
    if readonly {
        words.insert(0, "--readonly".to_owned());
    }
    runner.parse(&words, text)
}
