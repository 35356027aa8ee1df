//! Output formats: convert a [`RunReport`] to bytes. To add a format, write one file that implements [`Format`]
//! and add one line to [`FORMATS`]; the command line, the help, completions and the run use its declaration.
//! Formats do not know each other, the run, or the destination of their bytes. The texts around a report (job
//! headers, the status line) are also here, because they format numbers in the same way.

#![forbid(unsafe_code)]

mod chosen;
pub mod clients;
mod csv;
pub mod ctime;
mod document;
pub mod eta;
pub mod header;
mod json;
mod json_lines;
mod json_plus;
mod normal;
pub mod scale;
mod shares;
mod terse;

pub use chosen::Chosen;

use fathom_results::RunResult;
use fathom_spec::FormatDeclaration;
use fathom_stats::report::{IdlenessReport, RunReport};
use std::io;

/// An output format.
pub trait Format {
    /// Returns the format's declaration, for the command line and the run.
    fn declaration(&self) -> &'static FormatDeclaration;

    /// Returns the format's name in `--output-format`.
    fn name(&self) -> &'static str {
        self.declaration().name
    }

    /// Returns the same format in another version; `None` if it does not have this version.
    fn in_version(&self, _version: u32) -> Option<&'static (dyn Format + Sync)> {
        None
    }

    /// Writes the whole report.
    fn write(&self, report: &RunReport, out: &mut dyn io::Write) -> io::Result<()>;

    /// Writes a report that follows others in the same output.
    fn write_next(&self, report: &RunReport, out: &mut dyn io::Write) -> io::Result<()> {
        self.write(report, out)
    }
}

/// All formats, in the order in which they are written if several are requested.
pub static FORMATS: &[&(dyn Format + Sync)] =
    &[&terse::DEFAULT, &json::Json, &json_plus::JsonPlus, &json_lines::JsonLines, &csv::Csv, &normal::Normal];

/// Returns the declarations of all formats, for the command line parser.
pub fn declarations() -> Vec<&'static FormatDeclaration> {
    FORMATS.iter().map(|format| format.declaration()).collect()
}

/// Returns the result of a run as in `json+`.
pub fn result(report: &RunReport) -> RunResult {
    document::result(report, true)
}

/// Returns the format with this name.
pub fn by_name(name: &str) -> Option<&'static (dyn Format + Sync)> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}

/// Returns the output of `--idle-prof=calibrate`.
pub fn calibration(report: &IdlenessReport) -> String {
    format!("CPU idleness:\n{}", normal::unit_work_line(report))
}
