//! A test of the grid: its figures are those of one run, or medians of several runs with intervals.

use crate::figures;
use crate::measures::comparison::{Sample, Summary, summary};
use fathom_results::model::QuickTest;
use fathom_results::{DirectionResult, RunResult};
use fathom_stats::inference::Interval;

/// A test with at least one run, and the doubts about it.
pub(super) struct TestLine<'a> {
    pub(super) test: &'a QuickTest,
    /// One result for each run that includes the test; runs that a signal ended earlier are missing.
    runs: Vec<&'a DirectionResult>,
}

/// A figure of a test.
pub(super) type Figure = fn(&DirectionResult) -> Option<f64>;

pub(super) const BYTES_PER_SECOND: Figure = |direction| Some(direction.bytes_per_second);
pub(super) const IOPS: Figure = |direction| Some(direction.iops);
/// The latencies p50, p99 and p99.9 in ns.
pub(super) const PERCENTILES: [Figure; 3] = [
    |direction| direction.latency().percentile(50.0),
    |direction| direction.latency().percentile(99.0),
    |direction| direction.latency().percentile(99.9),
];

impl<'a> TestLine<'a> {
    /// Collects the results of a test from all runs.
    pub(super) fn of(test: &'a QuickTest, runs: &'a [RunResult]) -> TestLine<'a> {
        let direction = usize::from(test.direction == "write");
        let of_run = |run: &'a RunResult| {
            run.jobs.iter().find(|job| job.name == test.jobname)?.directions()[direction]
        };
        TestLine { test, runs: runs.iter().filter_map(of_run).collect() }
    }

    pub(super) fn has_figures(&self) -> bool {
        !self.runs.is_empty()
    }

    fn summary(&self, figure: Figure) -> Option<Summary> {
        let values = self.runs.iter().filter_map(|run| figure(run));
        summary(&values.map(Sample::of).collect::<Vec<Sample>>())
    }

    /// The figure of a single run, or the median of several runs.
    pub(super) fn value(&self, figure: Figure) -> Option<f64> {
        self.summary(figure).map(|summary| summary.median)
    }

    /// Minimum, maximum and median over several runs.
    pub(super) fn range(&self, figure: Figure) -> Option<(f64, f64, f64)> {
        let values = || self.runs.iter().filter_map(|run| figure(run));
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        (self.runs.len() > 1).then_some((low, high, self.value(figure)?))
    }

    /// The 95 % interval between runs; `None` for a single run.
    pub(super) fn interval(&self, figure: Figure) -> Option<Interval> {
        self.summary(figure)?.interval
    }

    /// The pattern: `sequential 1 MiB` or `random 4 KiB`.
    pub(super) fn pattern(&self) -> String {
        let place = if self.test.random { "random" } else { "sequential" };
        format!("{place} {}", block_size(&self.test.block_size))
    }

    pub(super) fn is_of(&self, direction: &str, is_random: bool) -> bool {
        self.test.direction == direction && self.test.random == is_random
    }

    /// MB/s, IOPS and the percentiles as text; empty cells if the test was not run.
    pub(super) fn cells(&self) -> Vec<String> {
        let (Some(bytes), Some(iops)) = (self.value(BYTES_PER_SECOND), self.value(IOPS)) else {
            return Vec::new();
        };
        let percentiles =
            PERCENTILES.iter().map(|&figure| self.value(figure).map_or("-".to_owned(), figures::duration));
        [figures::three_figures(bytes / 1e6), figures::count(iops)].into_iter().chain(percentiles).collect()
    }

    /// The interval of the bandwidth in MB/s.
    pub(super) fn bandwidth_interval(&self) -> String {
        self.interval(BYTES_PER_SECOND).map_or_else(String::new, |ends| {
            let [low, high] = [ends.low, ends.high].map(|end| figures::three_figures(end / 1e6));
            format!("{low} to {high}")
        })
    }
}

/// `4 KiB` of `4k`.
fn block_size(written: &str) -> String {
    let unit = written.strip_suffix('k').map(|size| (size, "KiB"));
    match unit.or_else(|| written.strip_suffix('m').map(|size| (size, "MiB"))) {
        Some((size, unit)) => format!("{size} {unit}"),
        None => written.to_owned(),
    }
}
