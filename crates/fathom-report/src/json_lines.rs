//! `jsonl`: one line per report, with the figures of its interval and those of the whole run so far.

use crate::Format;
use crate::document::{document, document_with, interval, layout::Object};
use fathom_spec::FormatDeclaration;
use fathom_stats::report::RunReport;
use std::io;
use std::time::Duration;

/// `--output-format=jsonl`.
pub(crate) struct JsonLines;

impl Format for JsonLines {
    fn declaration(&self) -> &'static FormatDeclaration {
        const {
            &FormatDeclaration {
                name: "jsonl",
                stands_alone: Some("every line of its output is a JSON document"),
                verdict: true,
                every: Some(Duration::from_secs(1)),
                ..FormatDeclaration::BLANK
            }
        }
    }

    fn write(&self, report: &RunReport, out: &mut dyn io::Write) -> io::Result<()> {
        let mut line = Object::default();
        if let Some(interval) = &report.interval {
            line.add("interval", interval::object(interval));
        }
        // A report that stands alone is a last one.
        let is_last = report.interval.as_ref().is_none_or(|interval| interval.is_last);
        line.add("final", is_last);
        // All results of all hosts, time and again, would drown what the lines are for.
        line.append(match is_last {
            true => document(report, true),
            false => document_with(report, true, |_| Object::default()),
        });
        out.write_all(line.line().as_bytes())
    }
}
