//! The runs that a page shows: which of them, and what is said of each.

use super::changes::Judged;
use super::{failed, time};
use crate::report::runs::{Entries, Entry, MOST};
use fathom_command::Failure;
use fathom_history::record::Finding;
use fathom_history::{Listed, Store};
use std::collections::{BTreeMap, BTreeSet};

/// Entries of the runs in the charts: those at which something changed, and the newest.
pub(super) fn entries(store: &mut Store, judged: &[Judged]) -> Result<Entries, Failure> {
    let (chosen, all) = chosen(judged, MOST);
    let left_out = all - chosen.len();
    entries_of(store, &chosen, left_out)
}

/// Entries of the newest of these runs.
pub(super) fn newest(store: &mut Store, mut runs: Vec<i64>) -> Result<Entries, Failure> {
    runs.sort_unstable();
    runs.dedup();
    let left_out = runs.len().saturating_sub(MOST);
    entries_of(store, &runs[left_out..], left_out)
}

fn entries_of(store: &mut Store, chosen: &[i64], left_out: usize) -> Result<Entries, Failure> {
    let mut findings = store.findings(chosen).map_err(failed)?;
    let runs = store.described(chosen).map_err(failed)?.into_iter();
    let runs = runs.map(|run| {
        let of_run = findings.remove(&run.id).unwrap_or_default();
        entry(run, of_run)
    });
    Ok(Entries { runs: runs.collect(), left_out })
}

/// Numbers of at most `most` runs, the oldest first, and how many there are.
fn chosen(judged: &[Judged], most: usize) -> (Vec<i64>, usize) {
    let mut times: BTreeMap<i64, u64> = BTreeMap::new();
    let mut changed = BTreeSet::new();
    for (subject, found) in judged {
        times.extend(subject.series.points.iter().map(|point| (point.run, point.begun_ms)));
        let changes = found.iter().flat_map(|found| &found.changes);
        changed.extend(changes.map(|change| subject.run(change.number)));
    }
    let all = times.len();
    let mut runs: Vec<(bool, u64, i64)> =
        times.into_iter().map(|(run, begun)| (changed.contains(&run), begun, run)).collect();
    runs.sort_unstable_by(|a, b| b.cmp(a));
    runs.truncate(most);
    runs.sort_unstable_by_key(|&(_, begun, run)| (begun, run));
    (runs.into_iter().map(|(_, _, run)| run).collect(), all)
}

fn entry(run: Listed, findings: Vec<Finding>) -> Entry {
    let known = [
        ("verdict", run.verdict),
        ("program", run.program),
        ("host", run.host),
        ("kernel", run.kernel),
        ("device", run.device),
        ("model", run.model),
        ("firmware", run.firmware),
        ("serial", run.serial),
        ("file system", run.file_system),
        ("jobs", run.jobs.join(" ")),
    ];
    let known = known.map(|(name, value)| (name.to_owned(), value)).into_iter();
    let tags = run.tags.into_iter().map(|(name, value)| (format!("tag {name}"), value));
    let properties = known.chain(tags).chain([("source".to_owned(), run.source)]);
    Entry {
        number: run.id,
        begun: time(run.begun_ms),
        findings: findings
            .into_iter()
            .map(|finding| format!("{}: {}", finding.severity, finding.text))
            .collect(),
        properties: properties.filter(|(_, value)| !value.is_empty()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::question::tests::nights;
    use super::*;
    use fathom_changes::{Options, Worse, analyse};

    #[test]
    fn the_newest_runs_and_those_with_changes_are_chosen() {
        let subject = nights();
        let found = analyse(&subject.points(), &Options::new(Worse::Up));
        let judged = [(subject, found)];
        assert_eq!(chosen(&judged, 3), (vec![26, 39, 40], 40), "the change was in run 26");
        assert_eq!(chosen(&judged, 100).0.len(), 40);
    }
}
