//! The short parts of a report, computed from all hosts.

use super::join::{Entry, join};
use super::{HostEnd, HostRunReport};
use crate::facts::RunFacts;
use crate::limits::GroupLimits;
use crate::mounts::MountReport;
use crate::report::{
    DiskReport, IdlenessReport, JobChoices, ProcessorShares, ReplayReport, RunReport, StageReport,
    VerificationReport,
};
use crate::slices::{Slice, SliceReport};
use std::collections::HashMap;

/// Maximum number of hosts that a note names; further hosts are only counted.
const MOST_NAMED: usize = 3;

impl Entry for JobChoices {
    fn key(&self) -> (u32, &str) {
        (0, &self.name)
    }
}

impl Entry for VerificationReport {
    fn key(&self) -> (u32, &str) {
        (0, &self.job)
    }
}

impl Entry for ReplayReport {
    fn key(&self) -> (u32, &str) {
        (0, &self.job)
    }
}

/// Returns a report without sums.
pub(super) fn report_of(hosts: &[HostRunReport]) -> RunReport {
    let mut report = RunReport { notes: notes(hosts), ..RunReport::default() };
    let with_reports = hosts.iter().filter_map(|host| Some((host, host.report.as_deref()?)));
    let with_reports: Vec<(&HostRunReport, &RunReport)> = with_reports.collect();
    if let Some((_, first)) = with_reports.first() {
        report.version.clone_from(&first.version);
        report.global_options.clone_from(&first.global_options);
    }
    let has_stages = with_reports.iter().any(|(_, own)| !own.stages.is_empty());
    for (host, own) in &with_reports {
        let name = &host.name;
        report.timestamp_ms = report.timestamp_ms.max(own.timestamp_ms);
        report.disks.extend(disks_of(name, &own.disks));
        report.mounts.extend(mounts_of(name, &own.mounts));
        if let Some(layers) = &own.layers {
            report.layers.get_or_insert_default().merge(layers);
        }
        if let Some(facts) = &own.facts {
            report.facts.get_or_insert_default().merge(&facts_of(name, facts));
        }
        if has_stages {
            stages_of(name, own).into_iter().for_each(|stage| add_stage(&mut report.stages, stage));
        }
        let (choices, verification) = (choices_of(name, own), verification_of(name, own));
        join(&mut report.choices, &choices, add_choices);
        join(&mut report.verification, &verification, add_verification);
        join(&mut report.replays, &own.replays, add_replay);
    }
    report.slices = slices(hosts, &with_reports);
    report.idleness = idleness(&with_reports);
    report
}

/// Returns the hosts' notes, each listed once with its hosts, after the notes on missing figures.
fn notes(hosts: &[HostRunReport]) -> Vec<String> {
    let mut notes: Vec<String> = hosts.iter().filter_map(what_is_missing).collect();
    let mut order: Vec<&str> = Vec::new();
    let mut hosts_of: HashMap<&str, Vec<&str>> = HashMap::new();
    for host in hosts {
        for note in host.report.iter().flat_map(|report| &report.notes) {
            let named = hosts_of.entry(note).or_default();
            if named.is_empty() {
                order.push(note);
            }
            if named.last() != Some(&&*host.name) {
                named.push(&host.name);
            }
        }
    }
    for note in order {
        let named = hosts_of.get(note).map_or(&[][..], Vec::as_slice);
        notes.push(match named.len() {
            number if number > MOST_NAMED && number == hosts.len() => format!("all {number} hosts: {note}"),
            number if number > MOST_NAMED => {
                let (first, others) = named.split_at(MOST_NAMED - 1);
                format!("{} and {} more hosts: {note}", first.join(", "), others.len())
            }
            _ => format!("{}: {note}", named.join(", ")),
        });
    }
    notes
}

/// Returns a note on the figures missing from a host that was lost or never started.
fn what_is_missing(host: &HostRunReport) -> Option<String> {
    let name = &host.name;
    match &host.end {
        HostEnd::Whole => None,
        HostEnd::NeverBegan { reason } => {
            Some(format!("{name} never began: {reason}; the figures are without it"))
        }
        HostEnd::Lost { reason, snapshot_ms: Some(ms) } if host.report.is_some() => Some(format!(
            "{name} was lost: {reason}; the figures include only its first {:.1} s",
            *ms as f64 / 1e3
        )),
        HostEnd::Lost { reason, .. } => {
            let has = match host.report {
                Some(_) => "the figures include only what it had reported by then",
                None => "the figures are without it",
            };
            Some(format!("{name} was lost: {reason}; {has}"))
        }
    }
}

fn disks_of(host: &str, disks: &[DiskReport]) -> Vec<DiskReport> {
    let of_host = |disk: &DiskReport| DiskReport {
        name: format!("{host}:{}", disk.name),
        members: disks_of(host, &disk.members),
        ..disk.clone()
    };
    disks.iter().map(of_host).collect()
}

fn facts_of(host: &str, facts: &RunFacts) -> RunFacts {
    let mut facts = facts.clone();
    facts.devices.iter_mut().for_each(|device| device.name = format!("{host}:{}", device.name));
    facts
}

fn mounts_of(host: &str, mounts: &[MountReport]) -> Vec<MountReport> {
    let of_host = |mount: &MountReport| MountReport {
        directory: format!("{host}:{}", mount.directory),
        ..mount.clone()
    };
    mounts.iter().map(of_host).collect()
}

/// Returns the stages of a host. A host with only one stage does not list it.
fn stages_of(host: &str, report: &RunReport) -> Vec<StageReport> {
    let of_host = |groups: Vec<u32>, disks: &[DiskReport], mounts: &[MountReport]| StageReport {
        groups,
        disks: disks_of(host, disks),
        mounts: mounts_of(host, mounts),
    };
    if report.stages.is_empty() {
        let groups: Vec<u32> = report.groups.iter().map(|group| group.group_id).collect();
        return if groups.is_empty() {
            Vec::new()
        } else {
            vec![of_host(groups, &report.disks, &report.mounts)]
        };
    }
    report.stages.iter().map(|stage| of_host(stage.groups.clone(), &stage.disks, &stage.mounts)).collect()
}

fn add_stage(stages: &mut Vec<StageReport>, mut new: StageReport) {
    let is_same = |stage: &&mut StageReport| stage.groups.iter().any(|group| new.groups.contains(group));
    match stages.iter_mut().find(is_same) {
        Some(own) => {
            own.groups.append(&mut new.groups);
            own.groups.sort_unstable();
            own.groups.dedup();
            own.disks.append(&mut new.disks);
            own.mounts.append(&mut new.mounts);
        }
        None => {
            stages.push(new);
            stages.sort_by_key(|stage| stage.groups.first().copied());
        }
    }
}

fn choices_of(host: &str, report: &RunReport) -> Vec<JobChoices> {
    let of_host = |job: &JobChoices| {
        let mut job = job.clone();
        let GroupLimits { processors, io } = &mut job.limits;
        let groups = processors.iter_mut().map(|limit| &mut limit.group);
        for group in groups.chain(io.iter_mut().map(|limit| &mut limit.group)) {
            *group = format!("{host}:{group}");
        }
        io.iter_mut().for_each(|limit| limit.device = format!("{host}:{}", limit.device));
        job
    };
    report.choices.iter().map(of_host).collect()
}

fn add_choices(own: &mut JobChoices, theirs: &JobChoices) {
    // A feature is listed only if all hosts used it.
    own.engine_features.retain(|feature| theirs.engine_features.contains(feature));
    own.processor_wait_ms = sum_of(own.processor_wait_ms, theirs.processor_wait_ms, |a, b| a + b);
    own.processors = sum_of(own.processors, theirs.processors, |a, b| ProcessorShares {
        user_ms: a.user_ms + b.user_ms,
        busy_ms: a.busy_ms + b.busy_ms,
        stolen_ms: a.stolen_ms + b.stolen_ms,
        total_ms: a.total_ms + b.total_ms,
    });
    own.limits.processors.extend_from_slice(&theirs.limits.processors);
    own.limits.io.extend_from_slice(&theirs.limits.io);
}

/// Returns the sum over the hosts that report the figure.
fn sum_of<T>(one: Option<T>, other: Option<T>, add: impl Fn(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(add(one, other)),
        (one, other) => one.or(other),
    }
}

fn verification_of(host: &str, report: &RunReport) -> Vec<VerificationReport> {
    let of_host = |job: &VerificationReport| VerificationReport {
        listed_in: job.listed_in.iter().map(|path| format!("{host}:{path}")).collect(),
        ..job.clone()
    };
    report.verification.iter().map(of_host).collect()
}

fn add_verification(own: &mut VerificationReport, theirs: &VerificationReport) {
    own.checked_reads += theirs.checked_reads;
    own.checked_bytes += theirs.checked_bytes;
    own.unchecked_blocks =
        own.unchecked_blocks.zip(theirs.unchecked_blocks).map(|(own, theirs)| own + theirs);
    own.from_memory_bytes += theirs.from_memory_bytes;
    own.unknown_source_bytes += theirs.unknown_source_bytes;
    own.keeps_cache |= theirs.keeps_cache;
    own.shares_blocks |= theirs.shares_blocks;
    own.takes_any_run |= theirs.takes_any_run;
    for (class, count) in &theirs.miscompares {
        *own.miscompares.entry(class.clone()).or_default() += count;
    }
    own.listed_in.extend_from_slice(&theirs.listed_in);
}

fn add_replay(own: &mut ReplayReport, theirs: &ReplayReport) {
    let new = theirs.logs.iter().filter(|log| !own.logs.contains(log));
    let new: Vec<String> = new.cloned().collect();
    own.logs.extend(new);
    own.entries += theirs.entries;
    own.lateness.merge(&theirs.lateness);
}

/// Merges the slices of all hosts by index. Slices of an index began within the start skew, which is short
/// compared with a slice.
fn slices(hosts: &[HostRunReport], with_reports: &[(&HostRunReport, &RunReport)]) -> Option<SliceReport> {
    let of_hosts: Vec<&SliceReport> =
        with_reports.iter().filter_map(|(_, report)| report.slices.as_ref()).collect();
    let longest = of_hosts.iter().map(|report| report.slices.len()).max()?;
    let mut slices = vec![Slice::default(); longest];
    for report in &of_hosts {
        slices.iter_mut().zip(&report.slices).for_each(|(own, theirs)| own.merge(theirs));
    }
    let was_lost = hosts.iter().any(|host| matches!(host.end, HostEnd::Lost { .. }));
    Some(SliceReport {
        slices,
        has_failed_jobs: of_hosts.iter().any(|report| report.has_failed_jobs),
        is_interrupted: was_lost || of_hosts.iter().any(|report| report.is_interrupted),
    })
}

/// Returns the mean over all hosts, whose processors are distinct.
fn idleness(with_reports: &[(&HostRunReport, &RunReport)]) -> Option<IdlenessReport> {
    let of_hosts: Vec<&IdlenessReport> =
        with_reports.iter().filter_map(|(_, report)| report.idleness.as_ref()).collect();
    let mean = |value: fn(&IdlenessReport) -> f64| {
        of_hosts.iter().map(|report| value(report)).sum::<f64>() / of_hosts.len().max(1) as f64
    };
    (!of_hosts.is_empty()).then(|| IdlenessReport {
        system_percent: mean(|report| report.system_percent),
        per_cpu_percent: Vec::new(),
        unit_mean_us: mean(|report| report.unit_mean_us),
        unit_stddev_us: mean(|report| report.unit_stddev_us),
    })
}
