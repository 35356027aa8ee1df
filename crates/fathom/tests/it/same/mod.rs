//! Runs the same command lines with fathom and with fio, each in its own directory. Exit status, messages, reports and files must be equal.
//!
//! `rows/` holds the tables, a file for each family; adding a case is adding a line. Where fathom differs intentionally, the row says where
//! and why. [`random`] generates further jobs from the table of options, and [`exchange`] lets each program
//! verify what the other has written. `make compare-fio` runs all of this, the random parts for a given time.

mod case;
mod chance;
mod difference;
mod exchange;
mod known;
mod observed;
mod random;
mod rows;

use crate::support::program;
use case::{Case, Row};
use difference::Difference;
use std::path::{Path, PathBuf};

/// Releases of fio whose behaviour fathom follows. The tables were made with the first.
const REFERENCES: [(u32, u32); 2] = [(3, 41), (3, 42)];

/// A family: rows that share arguments.
pub(super) struct Family {
    /// Arguments before those of each row.
    base: &'static str,
    rows: &'static [Row],
}

/// The fio to compare with; the error says why there is none.
pub(super) fn reference() -> Result<PathBuf, String> {
    let reference = program::reference()?;
    let version = program::version(&reference).ok_or("the fio to compare with does not tell its version")?;
    match REFERENCES.contains(&version) {
        true => Ok(reference),
        false => Err(format!(
            "fathom follows fio {}.{}, and this is {}.{}: scripts/reference-fio.sh gets the right one",
            REFERENCES[1].0, REFERENCES[1].1, version.0, version.1
        )),
    }
}

/// Compares every row, and fails with a list of those that differ.
#[track_caller]
fn check(family: &Family) {
    let reference = match reference() {
        Ok(reference) => reference,
        Err(reason) => skip!("{reason}"),
    };
    // With a later release a declared difference may be gone.
    let made_the_tables = program::version(&reference) == Some(REFERENCES[0]);
    let wrong = |row: &Row| failure(family, row, &reference, made_the_tables);
    let failures: Vec<String> = family.rows.iter().filter_map(wrong).collect();
    assert!(
        failures.is_empty(),
        "{} of {} rows:\n{}",
        failures.len(),
        family.rows.len(),
        failures.join("\n")
    );
}

/// Failure of a row: an undeclared difference, or a declared one that is gone.
fn failure(family: &Family, row: &Row, reference: &Path, made_the_tables: bool) -> Option<String> {
    let words = format!("{} {}", family.base, row.words);
    let case = Case { words: &words, job_file: row.job_file };
    let found = case.compare(reference);
    let is_declared = |place: &str| row.differs_at.iter().any(|start| place.starts_with(start));
    let mut lines: Vec<String> = found
        .iter()
        .filter(|one| !is_declared(&one.place))
        .map(|one| format!("    {}: {}", one.place, one.text))
        .collect();
    for start in row.differs_at.iter().filter(|_| made_the_tables) {
        let is_there = |found: &[Difference]| found.iter().any(|one| one.place.starts_with(start));
        // It may not show in every run.
        let is_gone = !is_there(&found) && !(0..2).any(|_| is_there(&case.compare_once(reference)));
        if is_gone {
            lines.push(format!("    {start}: no difference any more, though declared: {}", row.reason));
        }
    }
    let file = if row.job_file.is_empty() { String::new() } else { format!("\n{}", row.job_file) };
    (!lines.is_empty()).then(|| format!("  {words}{file}\n{}", lines.join("\n")))
}
