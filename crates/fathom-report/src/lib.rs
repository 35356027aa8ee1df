//! Output formats: a [`RunReport`] in, bytes out.
//!
//! A format is one file that implements [`Format`] and one line in [`FORMATS`]; the command line, the help, completions
//! and the run follow from what it declares. Formats know nothing about each other, about the run, or about where their
//! bytes go. The texts that appear around a report (job headers, the
//! status line) are made here too, because their numbers follow the same rules.

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

/// One way to write a report.
pub trait Format {
    /// What the command line and the run have to know of it.
    fn declaration(&self) -> &'static FormatDeclaration;

    /// The word that `--output-format` knows it by.
    fn name(&self) -> &'static str {
        self.declaration().name
    }

    /// The same form in another version, where it comes in several and this is one of them.
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

/// All formats, in the order in which they are written when several are asked for.
pub static FORMATS: &[&(dyn Format + Sync)] =
    &[&terse::DEFAULT, &json::Json, &json_plus::JsonPlus, &json_lines::JsonLines, &csv::Csv, &normal::Normal];

/// What all formats declare, for the parser of command lines.
pub fn declarations() -> Vec<&'static FormatDeclaration> {
    FORMATS.iter().map(|format| format.declaration()).collect()
}

/// All that `json+` says of a run.
pub fn result(report: &RunReport) -> RunResult {
    document::result(report, true)
}

/// The format of that name.
pub fn by_name(name: &str) -> Option<&'static (dyn Format + Sync)> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}

/// What `--idle-prof=calibrate` prints.
pub fn calibration(report: &IdlenessReport) -> String {
    format!("CPU idleness:\n{}", normal::unit_work_line(report))
}
