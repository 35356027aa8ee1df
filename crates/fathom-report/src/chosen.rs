//! The output formats of one run.

use crate::{FORMATS, Format};
use fathom_stats::report::RunReport;
use std::time::Duration;

/// The requested formats, in the order of [`FORMATS`], and the data that they need from the run.
pub struct Chosen {
    formats: Vec<&'static (dyn Format + Sync)>,
    /// True once a report has been written.
    has_written: bool,
}

impl Chosen {
    /// Selects the formats with these names, except formats that another one includes; the format for people if
    /// there are no names. The version applies to formats that have several.
    pub fn new(names: &[String], version: u32) -> Chosen {
        let is_named = |name: &str| names.iter().any(|asked| asked == name);
        let is_asked = |format: &&&(dyn Format + Sync)| match names {
            [] => format.declaration().for_people,
            _ => is_named(format.name()),
        };
        let asked: Vec<_> = FORMATS.iter().filter(is_asked).copied().collect();
        let is_included = |format: &&(dyn Format + Sync)| {
            asked.iter().any(|other| other.declaration().includes.contains(&format.name()))
        };
        let written = asked.iter().copied().filter(|format| !is_included(format));
        let formats = written.map(|format| format.in_version(version).unwrap_or(format)).collect();
        Chosen { formats, has_written: false }
    }

    /// True if one of the formats is human-readable.
    pub fn are_for_people(&self) -> bool {
        self.formats.iter().any(|format| format.declaration().for_people)
    }

    /// Returns the interval between reports during the run.
    pub fn every(&self) -> Option<Duration> {
        self.formats.iter().filter_map(|format| format.declaration().every).min()
    }

    /// True if one of the formats includes the timeline.
    pub fn need_timeline(&self) -> bool {
        self.formats.iter().any(|format| format.declaration().timeline)
    }

    /// True if one of the formats includes the verdict on the result.
    pub fn need_verdict(&self) -> bool {
        self.formats.iter().any(|format| format.declaration().verdict)
    }

    /// Writes the report in each format; from the second call on, in the form that continues the same output.
    pub fn write(&mut self, report: &RunReport) -> Vec<Vec<u8>> {
        let is_next = std::mem::replace(&mut self.has_written, true);
        let written = |format: &&'static (dyn Format + Sync)| {
            let mut bytes = Vec::new();
            let done = match is_next {
                true => format.write_next(report, &mut bytes),
                false => format.write(report, &mut bytes),
            };
            // A format fails only if its output does, and writing to memory cannot fail.
            done.ok().map(|()| bytes)
        };
        self.formats.iter().filter_map(written).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(asked: &[&str]) -> Vec<&'static str> {
        let asked: Vec<String> = asked.iter().map(|name| (*name).to_owned()).collect();
        Chosen::new(&asked, 3).formats.iter().map(|format| format.name()).collect()
    }

    #[test]
    fn people_are_told_unless_others_are_asked_for() {
        assert_eq!(names(&[]), ["normal"]);
        assert_eq!(names(&["json"]), ["json"]);
    }

    #[test]
    fn each_is_written_once_in_the_fixed_order() {
        assert_eq!(names(&["normal", "json", "normal", "terse"]), ["terse", "json", "normal"]);
        assert_eq!(names(&["json", "json+"]), ["json+"]);
    }

    #[test]
    fn what_they_need_is_what_one_of_them_needs() {
        let chosen = |name: &str| Chosen::new(&["terse".to_owned(), name.to_owned()], 3);
        assert!(chosen("json").need_timeline() && !chosen("normal").need_timeline());
        assert!(chosen("normal").are_for_people() && !chosen("json").are_for_people());
        assert!(chosen("jsonl").need_verdict() && !chosen("normal").need_verdict());
        assert!(chosen("jsonl").every().is_some());
        assert!(chosen("json").every().is_none());
    }

    #[test]
    fn the_version_is_that_of_the_terse_form() {
        let text = |version| {
            let job = fathom_stats::report::JobReport::default();
            let report = RunReport { jobs: vec![job], ..Default::default() };
            String::from_utf8(Chosen::new(&["terse".to_owned()], version).write(&report).concat())
        };
        assert!(text(5).is_ok_and(|text| text.starts_with("5;")));
    }
}
