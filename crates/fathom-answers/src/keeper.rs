//! Makes records of results, and adds the results of a run to a store when the run has ended (`--history`).

use crate::checks;
use crate::results_file::{self, HasResults};
use crate::running::whole_document;
use fathom_command::Failure;
use fathom_history::{Access, Error, Place, Record, Store, VARIABLE};
use fathom_results::RunResult;
use fathom_stats::report::RunReport;
use fathom_stats::verdict::VerdictReport;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Tags of the runs.
pub(crate) type Tags = BTreeMap<String, String>;

/// A store that could be written before the run. It is not open during the run, because workers are forked and
/// must not inherit a connection, and because others may write meanwhile.
#[derive(Debug)]
pub struct Keeper {
    place: Place,
}

impl Keeper {
    /// Makes sure that results can be added, so that no run takes place in vain. Without a name, the store is that
    /// of `fathom history`.
    pub fn begin(named: Option<&OsStr>) -> Result<Keeper, Failure> {
        let place = Place::of_user(named.filter(|name| !name.is_empty())).map_err(refused)?;
        let checked = Store::open(&place, Access::Write).and_then(|mut store| store.check());
        checked.map(|()| Keeper { place }).map_err(refused)
    }

    /// The store that `--history[=STORE]` asks for, if it was given.
    pub(crate) fn asked(named: Option<&Option<OsString>>) -> Result<Option<Keeper>, Failure> {
        named.map(|named| Keeper::begin(named.as_deref())).transpose()
    }

    /// The name of the store, as `--history` takes it, in any working directory and for any process of this environment.
    pub fn name(&self, named: Option<&OsStr>) -> Result<OsString, Failure> {
        match &self.place {
            Place::File { path, .. } => {
                let whole = std::path::absolute(path);
                whole.map(PathBuf::into_os_string).map_err(|error| Failure::file(path, &error))
            }
            Place::Server(_) => {
                let named = named.filter(|name| !name.is_empty()).map(OsStr::to_owned);
                Ok(named.or_else(|| std::env::var_os(VARIABLE)).unwrap_or_default())
            }
        }
    }

    /// The store, for people.
    pub fn shown(&self) -> String {
        self.place.to_string()
    }

    /// Adds the result of one run. `output` is the file with the run's output, if it has one.
    pub fn add(&self, report: &RunReport, output: Option<&Path>) -> Result<(), Failure> {
        let document = whole_document(report)?;
        self.add_documents(&[String::from_utf8_lossy(&document).into_owned()], output)
    }

    /// Adds the results in these texts.
    pub(crate) fn add_documents(&self, texts: &[String], output: Option<&Path>) -> Result<(), Failure> {
        let record = |text: &String| record_of(text, output);
        self.add_records(&texts.iter().map(record).collect::<Result<Vec<_>, _>>()?)
    }

    /// Adds the runs of a results file, each with its combination.
    pub(crate) fn add_runs(
        &self,
        runs: impl IntoIterator<Item = (String, RunResult)>,
        path: &Path,
    ) -> Result<(), Failure> {
        let record = |(cell, result)| record(result, cell, Some(path), Tags::new());
        self.add_records(&runs.into_iter().map(record).collect::<Vec<_>>())
    }

    /// Adds the runs of a results file that has been written, with this content.
    pub(crate) fn add_runs_of<T: HasResults>(&self, recorded: &T, path: &Path) -> Result<(), Failure> {
        self.add_runs(results_file::results_of(recorded, path)?, path)
    }

    pub(crate) fn add_records(&self, records: &[Record]) -> Result<(), Failure> {
        let mut store = Store::open(&self.place, Access::Again).map_err(lost)?;
        records.iter().try_for_each(|record| store.add(record).map(|_| ())).map_err(lost)
    }
}

/// Why the store cannot be used, before the run.
fn refused(error: Error) -> Failure {
    Failure::new(format!("--history: {}", in_words(&error)))
}

/// Why the result is not in the store, after the run.
fn lost(error: Error) -> Failure {
    let advice = "the result is not in the history; fathom history add FILE adds it from JSON";
    Failure::new(format!("--history: {}; {advice}", in_words(&error)))
}

/// The store is named by another option than that of `fathom history`.
fn in_words(error: &Error) -> String {
    let text = error.to_string();
    text.replace("with --store", "with --history=").trim_start_matches("--store: ").to_owned()
}

/// The record of a document, and the file that has it, if there is one.
fn record_of(text: &str, path: Option<&Path>) -> Result<Record, Failure> {
    let result = fathom_results::parse(text, "").map_err(Failure::because)?;
    Ok(record(result, String::new(), path, Tags::new()))
}

/// The record of a result. A run of a sweep has its combination as the tag `cell`, and so has one of a curve or a
/// rehearsal its load.
pub(crate) fn record(result: RunResult, cell: String, path: Option<&Path>, mut tags: Tags) -> Record {
    if !cell.is_empty() {
        tags.insert("cell".to_owned(), cell);
    }
    judged_record(result, path, tags, checks::judge)
}

/// The record of a result, with the verdict of `judge`.
pub(crate) fn judged_record(
    mut result: RunResult,
    path: Option<&Path>,
    tags: Tags,
    judge: impl Fn(&RunResult) -> VerdictReport,
) -> Record {
    // The path has to be meaningful from other directories as well.
    if let Some(whole) = path.and_then(|path| std::path::absolute(path).ok()) {
        result.source = whole.display().to_string();
    }
    Record::new(&result, judge, tags)
}
