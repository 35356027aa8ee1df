//! Merges the results of several hosts.

use super::parts;
use super::sums::Sums;
use super::{HostDigest, HostRunReport, HostsReport, Overlap, OverlapWindow, overlap};
use crate::report::RunReport;
use serde::{Deserialize, Serialize};

/// The sum of the results of some of the hosts. Hosts may be added one by one with [`add`](Merged::add), or in
/// a tree: [`merge`](Merged::merge) is associative, and the hosts keep the order in which they were added.
/// (Only the means and deviations of bandwidth and IOPS samples are fractions, whose last bits depend on the
/// tree.) The type is plain data, so that hosts can send it to each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Merged {
    hosts: Vec<HostRunReport>,
    /// Sums of the long parts; empty while there is only one host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sums: Option<Box<Sums>>,
    /// The hosts' figures in the given time window, if there is a window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    overlap: Option<Overlap>,
}

impl Merged {
    /// Appends a host.
    pub fn add(&mut self, host: HostRunReport) {
        if let Some(sums) = &mut self.sums {
            sums.add(&host);
        } else if !self.hosts.is_empty() {
            let mut sums = self.take_sums();
            sums.add(&host);
            self.sums = Some(sums);
        }
        self.hosts.push(host);
    }

    /// Appends other hosts.
    pub fn merge(&mut self, mut other: Merged) {
        match (&mut self.overlap, other.overlap.take()) {
            (Some(own), Some(theirs)) => overlap::add(own, &theirs),
            (own, theirs) => *own = own.take().or(theirs),
        }
        match &other.hosts[..] {
            [] => {}
            [_] if other.sums.is_none() => other.hosts.drain(..).for_each(|host| self.add(host)),
            _ if self.hosts.is_empty() => (self.hosts, self.sums) = (other.hosts, other.sums),
            _ => {
                let mut sums = self.take_sums();
                sums.merge(&other.take_sums());
                self.sums = Some(sums);
                self.hosts.append(&mut other.hosts);
            }
        }
    }

    /// Drops the long parts of the hosts' reports, except for the figures in their rows. The sums include all
    /// figures and stay exact. This is for large numbers of hosts, whose reports would be too large for one
    /// machine: each host shortens its own report and merges it with others. The figures in the window of all
    /// hosts are summed too.
    pub fn shorten(&mut self, window: &OverlapWindow) {
        let mut overlap = window.overlap();
        let sums = self.take_sums();
        for host in &mut self.hosts {
            if let (Some(overlap), Some(share)) = (&mut overlap, window.share_of(host)) {
                overlap::add(overlap, &share);
            }
            host.digest = Some(Box::new(HostDigest::of(host)));
            if let Some(report) = &mut host.report {
                Sums::shorten(report);
            }
        }
        self.sums = Some(sums);
        self.overlap = overlap;
    }

    /// Returns the hosts so far, in their order.
    pub fn hosts(&self) -> &[HostRunReport] {
        &self.hosts
    }

    /// Returns the report of the run. The time in which all hosts were running is computed from their
    /// timelines.
    pub fn finish(mut self) -> RunReport {
        let overlap = self.overlap.take().or_else(|| overlap::overlap(&self.hosts));
        let sums = self.take_sums();
        let mut report = parts::report_of(&self.hosts);
        sums.finish_into(&mut report);
        report.hosts = Some(HostsReport { hosts: self.hosts, overlap, files: Vec::new() });
        report
    }

    fn take_sums(&mut self) -> Box<Sums> {
        self.sums.take().unwrap_or_else(|| {
            let mut sums = Box::<Sums>::default();
            self.hosts.iter().for_each(|host| sums.add(host));
            sums
        })
    }
}

/// Merges the hosts' reports. The merged report contains them as its `hosts`. The time in which all hosts were
/// running is computed from their timelines unless it is given.
pub fn merge(results: HostsReport) -> RunReport {
    let HostsReport { hosts, overlap, files } = results;
    let mut merged = Merged::default();
    hosts.into_iter().for_each(|host| merged.add(host));
    let mut report = merged.finish();
    if let Some(hosts) = &mut report.hosts {
        hosts.overlap = overlap.or_else(|| hosts.overlap.take());
        hosts.files = files;
    }
    report
}
