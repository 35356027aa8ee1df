//! Output formats: a [`RunReport`] in, bytes out.
//!
//! A format is one file that implements [`Format`] and one line in [`FORMATS`]. Formats know nothing about each
//! other, about the run, or about where their bytes go. The texts that appear around a report (job headers, the
//! status line) are made here too, because their numbers follow the same rules.

#![forbid(unsafe_code)]

pub mod ctime;
pub mod eta;
pub mod header;
mod json;
mod normal;
pub mod scale;
mod shares;
mod terse;

use fathom_stats::report::{IdlenessReport, RunReport};
use std::io;

/// One way to write a report.
pub trait Format {
    /// The word that `--output-format` knows it by.
    fn name(&self) -> &'static str;

    /// Writes the whole report.
    fn write(&self, report: &RunReport, out: &mut dyn io::Write) -> io::Result<()>;
}

/// All formats, in the order in which they are written when several are asked for.
pub static FORMATS: &[&(dyn Format + Sync)] =
    &[&terse::DEFAULT, &json::Json, &json::JsonPlus, &json::JsonLines, &normal::Normal];

/// The format of that name.
pub fn by_name(name: &str) -> Option<&'static (dyn Format + Sync)> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}

/// What `--idle-prof=calibrate` prints.
pub fn calibration(report: &IdlenessReport) -> String {
    format!("CPU idleness:\n{}", normal::unit_work_line(report))
}

/// `terse` in the version that `--terse-version` asks for; `None` when there is no such version.
pub fn terse(version: u32) -> Option<&'static (dyn Format + Sync)> {
    terse::of_version(version).map(|format| format as &(dyn Format + Sync))
}
