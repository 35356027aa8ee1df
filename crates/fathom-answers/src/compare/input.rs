//! Reads the results of one side.

use crate::results_file;
use crate::sweep::record::RecordedSweep;
use crate::sweep::variation::values;
use fathom_command::Failure;
use fathom_results::RunResult;
use fathom_spec::registry::find_job_option;
use std::path::{Path, PathBuf};

/// Results of repeated runs of the same jobs.
#[derive(Debug)]
pub(super) struct Side {
    /// The runs; at least one.
    pub(super) runs: Vec<ComparedRun>,
}

/// One result.
#[derive(Debug)]
pub(super) struct ComparedRun {
    /// The values of the varied options, for results of a sweep; otherwise empty.
    pub(super) cell: String,
    /// The result.
    pub(super) result: RunResult,
}

impl Side {
    /// Names of the jobs, without duplicates.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for job in self.runs.iter().flat_map(|run| &run.result.jobs) {
            if !names.contains(&job.name.as_str()) {
                names.push(&job.name);
            }
        }
        names
    }

    /// Renames a job everywhere.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        let change = |name: &mut String| {
            if name == from {
                to.clone_into(name);
            }
        };
        for run in self.runs.iter_mut().map(|run| &mut run.result) {
            run.jobs.iter_mut().for_each(|job| change(&mut job.name));
            run.choices.iter_mut().for_each(|choices| change(&mut choices.name));
            run.timeline
                .iter_mut()
                .flat_map(|timeline| &mut timeline.jobs)
                .for_each(|entry| change(&mut entry.jobname));
        }
    }

    /// Files in order, without duplicates.
    pub(super) fn sources(&self) -> Vec<&str> {
        let mut sources: Vec<&str> = self.runs.iter().map(|run| run.result.source.as_str()).collect();
        sources.dedup();
        sources
    }
}

/// Reads the files of one side, including those in directories.
pub(super) fn side(paths: &[PathBuf]) -> Result<Side, Failure> {
    let mut runs = Vec::new();
    for path in paths {
        if path.is_dir() {
            for file in results_of(path)? {
                runs.extend(runs_of(&file)?);
            }
        } else {
            runs.extend(runs_of(path)?);
        }
    }
    Ok(Side { runs })
}

/// The runs in a file.
pub(super) fn runs_of(path: &Path) -> Result<Vec<ComparedRun>, Failure> {
    if results_file::is_results::<RecordedSweep>(path) {
        return cells_of(path, &[]);
    }
    if let Some((file, wanted)) =
        path.to_str().filter(|_| !path.exists()).and_then(|path| path.rsplit_once(':'))
    {
        let file = Path::new(file);
        if results_file::is_results::<RecordedSweep>(file) {
            return cells_of(file, &wanted_values(wanted)?);
        }
    }
    let result = fathom_results::read(path).map_err(|error| Failure::new(error.to_string()))?;
    Ok(vec![ComparedRun { cell: String::new(), result }])
}

/// Pairs from `NAME=VALUE,NAME=VALUE`.
fn wanted_values(text: &str) -> Result<Vec<(String, String)>, Failure> {
    let pair = |pair: String| {
        let (name, value) = pair.split_once('=').ok_or_else(|| {
            Failure::new(format!(
                "`{text}`: expected pairs such as iodepth=4,bs=4k after the name of a results file"
            ))
        })?;
        let name = find_job_option(name).map_or(name, |option| option.name);
        Ok((name.to_owned(), value.to_owned()))
    };
    values(text).into_iter().map(pair).collect()
}

/// The runs of a sweep: all of them, or those of the cells with these values. The selected options have the
/// same values in all cells, so they are not part of the cells' names.
fn cells_of(path: &Path, wanted: &[(String, String)]) -> Result<Vec<ComparedRun>, Failure> {
    let recorded: RecordedSweep = results_file::read(path)?;
    let plan = &recorded.plan;
    let mut runs = Vec::new();
    for cell in 0..plan.cells() {
        let values = plan.values_of(cell);
        let has = |(name, value): &(String, String)| values.contains(&(name.as_str(), value.as_str()));
        if !wanted.iter().all(has) {
            continue;
        }
        let is_open = |name: &str| !wanted.iter().any(|(own, _)| own == name);
        let open =
            values.iter().filter(|(name, _)| is_open(name)).map(|(name, value)| format!("{name}={value}"));
        let name = open.collect::<Vec<String>>().join(", ");
        let own = recorded.runs_of(cell).into_iter();
        runs.extend(own.map(|run| ComparedRun { cell: name.clone(), result: run.report.clone() }));
    }
    // The name distinguishes two selections from one file.
    if !wanted.is_empty() {
        let pairs: Vec<String> = wanted.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let source = format!("{}:{}", path.display(), pairs.join(","));
        runs.iter_mut().for_each(|run| run.result.source.clone_from(&source));
    }
    match runs.is_empty() {
        true => Err(Failure::new(format!(
            "{}: no finished run with these values; it varies {}",
            path.display(),
            plan.vary
                .iter()
                .map(|vary| format!("{} ({})", vary.name, vary.values.join(" ")))
                .collect::<Vec<_>>()
                .join(", ")
        ))),
        false => Ok(runs),
    }
}

/// The results in a directory, sorted by name.
fn results_of(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let fail = |error: std::io::Error| Failure::file(directory, &error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let is_result = path.extension().is_some_and(|extension| extension == "json" || extension == "jsonl");
        if is_result && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    match files.is_empty() {
        true => Err(Failure::new(format!(
            "{}: no results in it; the names of results end in .json or .jsonl",
            directory.display()
        ))),
        false => Ok(files),
    }
}
