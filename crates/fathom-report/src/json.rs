//! `json`: the machine-readable report.

use crate::Format;
use crate::document::{layout, result};
use fathom_spec::FormatDeclaration;
use fathom_stats::report::RunReport;
use std::io;

/// `--output-format=json`.
pub(crate) struct Json;

impl Format for Json {
    fn declaration(&self) -> &'static FormatDeclaration {
        const { &FormatDeclaration { name: "json", timeline: true, verdict: true, ..FormatDeclaration::BLANK } }
    }

    fn write(&self, report: &RunReport, out: &mut dyn io::Write) -> io::Result<()> {
        let mut result = result(report, false);
        // The timeline is shortened so that programs that read fio's document get one of similar size.
        if let Some(timeline) = &mut result.timeline {
            timeline.condense();
        }
        out.write_all(&layout::document(&result)?)
    }
}
