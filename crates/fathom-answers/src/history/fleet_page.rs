//! The page of a fleet: the drives of each group in order, and those that are worse.

use super::question::Subject;
use super::report::unit_of;
use super::siblings::{By, Measured};
use crate::report::fleet::{Distribution, Drive};
use fathom_changes::Worse;
use fathom_changes::fleet::{Fleet, Siblings};
use std::collections::BTreeMap;

/// The distributions of all groups and figures that have enough siblings to be judged.
pub(super) fn distributions(
    fleet: &Fleet,
    measured: &[Measured],
    subjects: &[Subject],
    by: By,
) -> Vec<Distribution> {
    let judged = fleet.siblings.iter().filter(|siblings| siblings.spread.is_some());
    judged.filter_map(|siblings| distribution(siblings, fleet, measured, subjects, by)).collect()
}

fn distribution(
    siblings: &Siblings,
    fleet: &Fleet,
    measured: &[Measured],
    subjects: &[Subject],
    by: By,
) -> Option<Distribution> {
    let Siblings { group, figure, centre, spread, .. } = siblings;
    let subject = subjects.iter().find(|subject| subject.figure == *figure)?;
    let is_of = |own: &&Measured| (&own.sample.group, &own.sample.figure) == (group, figure);
    let newest: BTreeMap<&str, i64> = measured
        .iter()
        .filter(is_of)
        .filter_map(|own| Some((own.sample.drive.as_str(), *own.runs.iter().max()?)))
        .collect();
    let is_worse = |name: &str| {
        fleet.outliers.iter().any(|outlier| (outlier.drive.as_str(), &outlier.group) == (name, group))
    };
    let mut drives: Vec<Drive> = siblings
        .medians
        .iter()
        .map(|(name, value)| Drive {
            name: name.clone(),
            value: *value,
            run: newest.get(name.as_str()).copied().unwrap_or(0),
            is_worse: is_worse(name),
        })
        .collect();
    drives.sort_by(|a, b| match subject.worse {
        Worse::Up => b.value.total_cmp(&a.value),
        Worse::Down => a.value.total_cmp(&b.value),
    });
    Some(Distribution {
        title: format!("{figure} of {group}"),
        figure: figure.clone(),
        unit: unit_of(subject.measure),
        noun: by.noun(),
        drives,
        centre: *centre,
        ends: spread.map(|spread| (centre / (1.0 + spread), centre * (1.0 + spread))),
    })
}
