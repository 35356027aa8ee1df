//! `jsonl`: one line per report, with the figures of its interval and of the whole run so far.

use crate::Format;
use crate::document::interval::Interval;
use crate::document::{layout, result, result_with};
use fathom_results::RunResult;
use fathom_spec::FormatDeclaration;
use fathom_stats::report::RunReport;
use serde::Serialize;
use std::io;
use std::time::Duration;

/// `--output-format=jsonl`.
pub(crate) struct JsonLines;

/// Figures since the previous line, and of the whole run so far.
#[derive(Serialize)]
struct Line {
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<Interval>,
    #[serde(rename = "final")]
    is_last: bool,
    #[serde(flatten)]
    result: RunResult,
}

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
        // A run that makes a single report has no intervals, so the report is also the last one.
        let is_last = report.interval.as_ref().is_none_or(|interval| interval.is_last);
        let line = Line {
            interval: report.interval.as_ref().map(Interval::from),
            is_last,
            // Only the last line contains the results of each host, which would bloat the others.
            result: match is_last {
                true => result(report, true),
                false => result_with(report, true, |_| RunResult::default()),
            },
        };
        out.write_all(&layout::line(&line)?)
    }
}
