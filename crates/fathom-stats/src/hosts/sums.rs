//! The long parts of a report, summed over hosts as they arrive: jobs, groups, timeline and interval.

use super::join::{Entry, join, join_with};
use super::{HostEnd, HostRunReport, timeline};
use crate::interval::{IntervalJob, IntervalReport};
use crate::report::{GroupDirection, GroupReport, JobReport, RunReport, scale_per_second};
use crate::timeline::Timeline;
use serde::{Deserialize, Serialize};

/// The sums over some hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Sums {
    jobs: Vec<JobReport>,
    groups: Vec<GroupReport>,
    timeline: Option<Timeline>,
    interval: Option<IntervalReport>,
}

impl Sums {
    /// Adds a host.
    pub(super) fn add(&mut self, host: &HostRunReport) {
        let Some(report) = &host.report else { return };
        self.add_jobs(&report.jobs, &host.name);
        self.add_groups(&report.groups);
        if let Some(timeline) = &report.timeline {
            timeline::add_host(&mut self.timeline, timeline, host.skew_ns());
        }
        // A lost host's last interval is earlier than those of the others, so it is left out.
        if let (Some(interval), false) = (&report.interval, matches!(host.end, HostEnd::Lost { .. })) {
            self.add_interval(interval);
        }
    }

    /// Adds other hosts.
    pub(super) fn merge(&mut self, other: &Sums) {
        self.add_jobs(&other.jobs, "");
        self.add_groups(&other.groups);
        if let Some(timeline) = &other.timeline {
            timeline::add_sum(&mut self.timeline, timeline);
        }
        if let Some(interval) = &other.interval {
            self.add_interval(interval);
        }
    }

    /// Removes the parts of a host's report that are in the sums or that the merged report does not use.
    pub(super) fn shorten(report: &mut RunReport) {
        report.jobs = Vec::new();
        report.groups = Vec::new();
        report.timeline = None;
        report.interval = None;
        report.host = None;
    }

    /// Stores the sums in a report.
    pub(super) fn finish_into(self, report: &mut RunReport) {
        report.groups = self.groups;
        report.timeline = self.timeline;
        report.interval = self.interval.map(|interval| in_order_of(&self.jobs, interval));
        report.jobs = self.jobs;
    }

    /// `host` is the owner of the jobs; empty if the jobs already name their host.
    fn add_jobs(&mut self, jobs: &[JobReport], host: &str) {
        let named = |theirs: &JobReport| {
            let mut job = theirs.clone();
            if host.is_empty() {
                return job;
            }
            job.devices = job.devices.iter().map(|device| format!("{host}:{device}")).collect();
            if let Some(error) = &mut job.error {
                error.text = match &error.text[..] {
                    "" => host.to_owned(),
                    text => format!("{host}: {text}"),
                };
            }
            job
        };
        let absorb = |own: &mut JobReport, theirs: &JobReport| {
            own.merge(&named(theirs));
            // Each host determines its own steady state, so the merged report has none.
            own.steady_state = None;
        };
        join_with(&mut self.jobs, jobs, absorb, named);
    }

    fn add_groups(&mut self, groups: &[GroupReport]) {
        join(&mut self.groups, groups, add_group);
    }

    fn add_interval(&mut self, theirs: &IntervalReport) {
        let Some(own) = &mut self.interval else {
            self.interval = Some(theirs.clone());
            return;
        };
        own.number = own.number.max(theirs.number);
        let since = |interval: &IntervalReport| interval.rates_since_us.unwrap_or(interval.start_us);
        own.rates_since_us = (own.rates_since_us.is_some() || theirs.rates_since_us.is_some())
            .then(|| since(own).min(since(theirs)));
        own.start_us = own.start_us.min(theirs.start_us);
        own.end_us = own.end_us.max(theirs.end_us);
        own.start_wall_ms = own.start_wall_ms.min(theirs.start_wall_ms);
        own.end_wall_ms = own.end_wall_ms.max(theirs.end_wall_ms);
        own.is_last &= theirs.is_last;
        join(&mut own.jobs, &theirs.jobs, IntervalJob::merge);
    }
}

impl Entry for JobReport {
    fn key(&self) -> (u32, &str) {
        (self.group_id, &self.name)
    }
}

impl Entry for IntervalJob {
    fn key(&self) -> (u32, &str) {
        (self.group_id, &self.name)
    }
}

impl Entry for GroupReport {
    fn key(&self) -> (u32, &str) {
        (self.group_id, "")
    }
}

/// Returns the interval with one entry per job, in the order of the jobs. A job may belong to a host whose last
/// interval does not count.
fn in_order_of(jobs: &[JobReport], mut interval: IntervalReport) -> IntervalReport {
    let blank = |job: &JobReport| IntervalJob {
        name: job.name.clone(),
        group_id: job.group_id,
        ..IntervalJob::default()
    };
    let mut ordered: Vec<IntervalJob> = jobs.iter().map(blank).collect();
    join(&mut ordered, &interval.jobs, IntervalJob::merge);
    interval.jobs = ordered;
    interval
}

fn add_group(own: &mut GroupReport, theirs: &GroupReport) {
    // A host without jobs in a group does not know the group's display options, so they are taken from the
    // other.
    if own.mixed.max_runtime_ms == 0 && theirs.mixed.max_runtime_ms > 0 {
        own.kb_base = theirs.kb_base;
        own.unit_base = theirs.unit_base;
        own.significant_figures = theirs.significant_figures;
        own.unified = theirs.unified;
    }
    for (own, theirs) in own.directions.values_mut().zip(theirs.directions.values()) {
        add_group_direction(own, theirs);
    }
    add_group_direction(&mut own.mixed, &theirs.mixed);
}

/// Adds a direction of a group, with the same result as if all clones had been counted together.
fn add_group_direction(own: &mut GroupDirection, theirs: &GroupDirection) {
    match (own.max_runtime_ms, theirs.max_runtime_ms) {
        (_, 0) => return,
        (0, _) => *own = theirs.clone(),
        _ => {
            own.min_bw_bytes = own.min_bw_bytes.min(theirs.min_bw_bytes);
            own.max_bw_bytes = own.max_bw_bytes.max(theirs.max_bw_bytes);
            own.min_runtime_ms = own.min_runtime_ms.min(theirs.min_runtime_ms);
            own.max_runtime_ms = own.max_runtime_ms.max(theirs.max_runtime_ms);
            own.io_bytes += theirs.io_bytes;
        }
    }
    own.total_bw_bytes = scale_per_second(own.io_bytes, own.max_runtime_ms);
}
