//! Sums of the ranks' results on their way to rank 0.
//!
//! The reports of a thousand ranks are too much for one socket: each rank adds its report to sums and keeps
//! only the contents of its row ([`Merged::shorten`]). Each rank sends up one report of sums, however many
//! ranks are below it, and a row for each of them.

use crate::communicator::Ranks;
use crate::orders::{broadcast, written};
use fathom_hosts::frames;
use fathom_local::here;
use fathom_run::supervisor::Outcome;
use fathom_stats::hosts::{HostEnd, HostRunReport, Merged, OverlapWindow};
use serde::{Deserialize, Serialize};

/// Result of a rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RankResult {
    pub(crate) host: HostRunReport,
    pub(crate) failed_jobs: u32,
    pub(crate) is_broken: bool,
    /// The signal that ended its jobs early.
    pub(crate) signal: Option<i32>,
    pub(crate) lost_logs: bool,
}

/// Results of some of the ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sum {
    merged: Merged,
    failed: u32,
    is_broken: bool,
    signal: Option<i32>,
    lost_logs: bool,
}

impl Sum {
    /// Appends a rank.
    pub(crate) fn add(&mut self, result: RankResult) {
        let failed = match result.host.end {
            HostEnd::Whole => result.failed_jobs,
            _ => 1,
        };
        self.merged.add(result.host);
        self.failed = self.failed.saturating_add(failed);
        self.is_broken |= result.is_broken;
        self.signal = self.signal.or(result.signal);
        self.lost_logs |= result.lost_logs;
    }

    fn merge(&mut self, other: Sum) {
        self.merged.merge(other.merged);
        self.failed = self.failed.saturating_add(other.failed);
        self.is_broken |= other.is_broken;
        self.signal = self.signal.or(other.signal);
        self.lost_logs |= other.lost_logs;
    }

    /// The run of all of them.
    pub(crate) fn outcome(self) -> Outcome {
        let mut report = self.merged.finish();
        if report.version.is_empty() {
            here::COMPATIBLE_VERSION.clone_into(&mut report.version);
            report.timestamp_ms = fathom_sys::clock::wall_clock_ms();
        }
        Outcome {
            report,
            failed_jobs: self.failed,
            is_broken: self.is_broken,
            signal: self.signal,
            lost_logs: self.lost_logs,
        }
    }
}

/// Sums the results of all ranks; returned on rank 0.
pub(crate) fn add_up(ranks: &Ranks, own: RankResult) -> Option<Sum> {
    // The time in which all were running must be known before figures for it can be summed.
    let add =
        |window: &mut OverlapWindow, bytes: Vec<u8>| window.merge(frames::read(&bytes).unwrap_or_default());
    let window = ranks.fold(OverlapWindow::of(&own.host), add, written);
    let window: OverlapWindow = broadcast(ranks, window.as_ref()).unwrap_or_default();
    let mut sum = Sum::default();
    sum.add(own);
    sum.merged.shorten(&window);
    let add = |sum: &mut Sum, bytes: Vec<u8>| match frames::read(&bytes) {
        Ok(below) => sum.merge(below),
        // Impossible, because all ranks run the same program; otherwise the exit code would report it.
        Err(_) => sum.lost_logs = true,
    };
    ranks.fold(sum, add, written)
}
