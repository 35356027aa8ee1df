//! The runs of each drive, or host, of a fleet.

use super::question::Subject;
use fathom_changes::fleet::{Outlier, Sample};
use std::collections::BTreeMap;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// Drives of one model.
    Model,
    /// Drives of any model.
    Serial,
    /// Hosts.
    Host,
}

pub(super) const CHOICES: [(&str, By); 3] =
    [("model", By::Model), ("serial", By::Serial), ("host", By::Host)];

impl By {
    /// What one of the siblings is.
    pub(super) fn noun(self) -> &'static str {
        if self == By::Host { "host" } else { "drive" }
    }
}

/// A sample, and the runs that it is of.
pub(super) struct Measured {
    pub(super) sample: Sample,
    pub(super) runs: Vec<i64>,
}

/// Puts the runs of each drive, or host, together. Runs without its name are left out, as are wrong ones.
pub(super) fn measured(subjects: &[Subject], by: By) -> Vec<Measured> {
    let mut found: BTreeMap<(String, String, String), Measured> = BTreeMap::new();
    for subject in subjects {
        let series = &subject.series;
        for (point, of_store) in
            subject.points().into_iter().zip(&series.points).filter(|(point, _)| point.is_evidence)
        {
            let attribute = |name: &str| point.attributes.get(name).cloned();
            let Some(unit) = attribute(if by == By::Host { "host" } else { "serial" }) else { continue };
            let model = if by == By::Model { attribute("model").unwrap_or_default() } else { String::new() };
            let load = format!("{} ({}, {})", series.job, series.direction, &series.fingerprint);
            let group = format!("{model}{}{load}", if model.is_empty() { "" } else { ", " });
            let entry =
                found.entry((group.clone(), subject.figure.clone(), unit.clone())).or_insert_with(|| {
                    Measured {
                        sample: Sample {
                            drive: unit,
                            group,
                            figure: subject.figure.clone(),
                            worse: subject.worse,
                            values: Vec::new(),
                        },
                        runs: Vec::new(),
                    }
                });
            entry.sample.values.push(point.value);
            entry.runs.push(of_store.run);
        }
    }
    found.into_values().collect()
}

/// Numbers of the runs of an outlier.
pub(super) fn runs_of(outlier: &Outlier, measured: &[Measured]) -> Vec<i64> {
    let is_of = |measured: &&Measured| {
        let sample = &measured.sample;
        (&sample.drive, &sample.group, &sample.figure) == (&outlier.drive, &outlier.group, &outlier.figure)
    };
    measured.iter().find(is_of).map(|measured| measured.runs.clone()).unwrap_or_default()
}
