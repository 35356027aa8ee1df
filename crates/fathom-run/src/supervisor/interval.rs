//! Reports at regular intervals. The figures of an interval are differences of each clone's samples. Intervals
//! contain only what the final report counts: a clone in its ramp contributes nothing, its first interval
//! begins at the end of its ramp, and the intervals add up to the total of the run.

use super::Supervisor;
use super::gather::Occasion;
use fathom_stats::interval::{IntervalJob, IntervalReport};
use fathom_stats::report::JobReport;
use fathom_sys::clock::wall_clock_ms;
use std::time::Duration;

/// State of the current interval and of the last closed one.
pub(super) struct IntervalWatch {
    length_ns: u64,
    /// Monotonic ns when the jobs of the run were started.
    origin_ns: u64,
    number: u64,
    since_ns: u64,
    since_wall_ms: u64,
    /// The figures of each clone at the start of the interval, and their epoch.
    before: Vec<Option<(u64, JobReport)>>,
    /// The interval that was closed most recently.
    latest: Option<IntervalReport>,
}

/// A final interval shorter than a regular one divided by this number shows no rates.
const SHORTEST_SHARE: u64 = 10;

impl IntervalWatch {
    /// Starts the first interval.
    pub(super) fn begin(length: Duration, clones: usize, now_ns: u64) -> IntervalWatch {
        IntervalWatch {
            length_ns: (length.as_nanos() as u64).max(1),
            origin_ns: now_ns,
            number: 0,
            since_ns: now_ns,
            since_wall_ms: wall_clock_ms(),
            before: (0..clones).map(|_| None).collect(),
            latest: None,
        }
    }

    /// Time until the next report is due. Due times are on a fixed grid, so that a late report does not delay
    /// the following ones.
    pub(super) fn time_to_next(&self, now_ns: u64) -> Duration {
        Duration::from_nanos(self.next_ns().saturating_sub(now_ns))
    }

    fn next_ns(&self) -> u64 {
        let passed = (self.since_ns - self.origin_ns) / self.length_ns;
        self.origin_ns + (passed + 1) * self.length_ns
    }

    /// The change of a clone's figures since the previous call. `epoch` counts resets of the figures and is
    /// `None` while they do not count.
    fn advance(&mut self, index: usize, epoch: Option<u64>, clone: &JobReport) -> IntervalJob {
        let Some(epoch) = epoch else {
            let nothing = IntervalJob::between(clone, clone);
            return IntervalJob { clones_not_recording: 1, ..nothing };
        };
        let earlier = self.before[index].replace((epoch, clone.clone()));
        match &earlier {
            Some((before, earlier)) if *before == epoch => IntervalJob::between(earlier, clone),
            _ => IntervalJob {
                clones_restarted: u32::from(earlier.is_some()),
                ..IntervalJob::between(&JobReport::default(), clone)
            },
        }
    }

    /// Closes the current interval.
    fn close(&mut self, jobs: Vec<IntervalJob>, now_ns: u64, is_last: bool) -> IntervalReport {
        self.number += 1;
        let now_wall_ms = wall_clock_ms();
        let mut report = IntervalReport {
            number: self.number,
            start_us: (self.since_ns - self.origin_ns) / 1000,
            end_us: (now_ns - self.origin_ns) / 1000,
            start_wall_ms: self.since_wall_ms,
            end_wall_ms: now_wall_ms,
            is_last,
            rates_since_us: None,
            jobs,
        };
        let is_short = (now_ns - self.since_ns).saturating_mul(SHORTEST_SHARE) < self.length_ns;
        if let Some(before) = self.latest.take().filter(|_| is_last && is_short) {
            report.join_rates(&before);
        }
        if !is_last {
            self.latest = Some(report.clone());
        }
        self.since_ns = now_ns;
        self.since_wall_ms = now_wall_ms;
        report
    }
}

impl Supervisor<'_> {
    /// Produces the report requested by `--status-interval`, if it is due.
    pub(super) fn report_if_due(&mut self, now_ns: u64) {
        let due = self.intervals.as_ref().is_some_and(|watch| now_ns >= watch.next_ns());
        if due {
            let report = self.report(Occasion::Interval);
            self.observer.interim_report(&report);
        }
    }

    /// Closes the interval, if intervals are kept. Each clone's report comes with its epoch, which is `None`
    /// while its figures do not count.
    pub(super) fn close_interval(
        &mut self,
        snapshots: &[(Option<u64>, JobReport)],
        now_ns: u64,
        is_last: bool,
    ) -> Option<IntervalReport> {
        let mut watch = self.intervals.take()?;
        let figures = snapshots
            .iter()
            .enumerate()
            .map(|(index, (epoch, clone))| watch.advance(index, *epoch, clone))
            .collect();
        let jobs = self.merged(figures, |entry| entry.group_id, IntervalJob::merge);
        let report = watch.close(jobs, now_ns, is_last);
        self.intervals = Some(watch);
        Some(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_stats::Direction;

    fn clone(bytes: u64) -> JobReport {
        let mut clone = JobReport::default();
        clone.directions[Direction::Read].io_bytes = bytes;
        clone
    }

    #[test]
    fn what_is_thrown_away_is_in_no_interval() {
        let mut watch = IntervalWatch::begin(Duration::from_secs(1), 1, 0);
        let mut bytes = |epoch, total| {
            let job = watch.advance(0, epoch, &clone(total));
            (job.directions[Direction::Read].io_bytes, job.clones_not_recording, job.clones_restarted)
        };
        // The steps are the ramp, the first figures that count, further figures, and a reset.
        assert_eq!(bytes(None, 100), (0, 1, 0));
        assert_eq!(bytes(Some(1), 30), (30, 0, 0));
        assert_eq!(bytes(Some(1), 70), (40, 0, 0));
        assert_eq!(bytes(Some(2), 50), (50, 0, 1));
        assert_eq!(bytes(Some(2), 50), (0, 0, 0));
    }

    #[test]
    fn a_last_interval_of_a_moment_has_the_rates_of_the_one_before_with_it() {
        const MS: u64 = 1_000_000;
        let close = |end_ms| {
            let mut watch = IntervalWatch::begin(Duration::from_secs(1), 1, 0);
            let jobs = vec![watch.advance(0, Some(0), &clone(160_000))];
            watch.close(jobs, 1000 * MS, false);
            let jobs = vec![watch.advance(0, Some(0), &clone(161_000))];
            let last = watch.close(jobs, end_ms * MS, true);
            let direction = &last.jobs[0].directions[Direction::Read];
            (direction.io_bytes, last.rates(direction).0.round())
        };
        assert_eq!(close(1002), (1000, (161_000.0_f64 / 1.002).round()));
        assert_eq!(close(1100), (1000, 10_000.0));
    }

    #[test]
    fn reports_are_due_on_a_grid() {
        let mut watch = IntervalWatch::begin(Duration::from_nanos(100), 0, 1000);
        assert_eq!(watch.next_ns(), 1100);
        watch.close(Vec::new(), 1130, false);
        assert_eq!(watch.next_ns(), 1200);
        watch.close(Vec::new(), 1430, false);
        assert_eq!((watch.next_ns(), watch.time_to_next(1490)), (1500, Duration::from_nanos(10)));
    }
}
