//! `json+`: the machine-readable report, with all histograms.

use crate::Format;
use crate::document::{layout, result};
use fathom_spec::FormatDeclaration;
use fathom_stats::report::RunReport;
use std::io;

/// `--output-format=json+`.
pub(crate) struct JsonPlus;

impl Format for JsonPlus {
    fn declaration(&self) -> &'static FormatDeclaration {
        const {
            &FormatDeclaration {
                name: "json+",
                timeline: true,
                verdict: true,
                includes: &["json"],
                ..FormatDeclaration::BLANK
            }
        }
    }

    fn write(&self, report: &RunReport, out: &mut dyn io::Write) -> io::Result<()> {
        out.write_all(&layout::document(&result(report, true))?)
    }
}
