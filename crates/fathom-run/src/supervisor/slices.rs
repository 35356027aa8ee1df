//! Slices of time in which the shares of slow reads are listed (`--profile=act`). The figures are differences
//! of the workers' samples, taken without involving the workers.

use super::Supervisor;
use crate::crew::{Crew, LatencyKind};
use crate::plan::Plan;
use fathom_stats::Direction;
use fathom_stats::slices::{Slice, SliceReport};
use std::time::Duration;

/// How a run is divided into slices.
#[derive(Clone, Copy, Debug)]
pub struct SliceRule {
    /// Length of a slice.
    pub length: Duration,
    /// Number of slices. Time after the end of the last slice is added to it.
    pub count: u64,
}

/// The slices recorded so far.
pub(super) struct SliceWatch {
    rule: SliceRule,
    /// Indices of the clones that read.
    readers: Vec<usize>,
    closed: Vec<Slice>,
    /// Totals of all reads at the end of the last slice.
    before: Slice,
}

impl SliceWatch {
    /// Creates the watch; `None` if no clone reads.
    pub(super) fn of(rule: SliceRule, plan: &Plan) -> Option<SliceWatch> {
        let readers: Vec<usize> =
            (0..plan.workers.len()).filter(|&index| plan.workers[index].reads_data()).collect();
        (!readers.is_empty()).then(|| SliceWatch {
            rule,
            readers,
            closed: Vec::new(),
            before: Slice::default(),
        })
    }

    /// Monotonic time at which the current slice ends, ns; `None` for the last slice. The first slice begins at
    /// `origin_ns`.
    fn end_ns(&self, origin_ns: u64) -> Option<u64> {
        let ended = self.closed.len() as u64 + 1;
        let is_last = ended >= self.rule.count;
        let length = self.rule.length.as_nanos() as u64;
        (!is_last).then_some(origin_ns + ended * length)
    }

    /// Monotonic time at which the first clone began, ns; `None` before that.
    fn origin_ns(&self, crew: &dyn Crew) -> Option<u64> {
        let starts = self.readers.iter().map(|&index| crew.state(index).start_ns);
        starts.filter(|&start| start != 0).min()
    }

    /// The reads of all clones so far.
    fn total(&self, crew: &dyn Crew) -> Slice {
        let mut total = Slice::default();
        for &index in &self.readers {
            total.merge(&Slice::of(&crew.latencies(index, Direction::Read, LatencyKind::Completion)));
        }
        total
    }

    /// Closes the slice. `total` is the total of all reads at its end.
    fn close(&mut self, total: Slice) {
        self.closed.push(total.since(&self.before));
        self.before = total;
    }
}

impl Supervisor<'_> {
    /// Closes the current slice if it has ended.
    pub(super) fn watch_slices(&mut self, now_ns: u64) {
        let Some(watch) = &mut self.slices else { return };
        let Some(origin_ns) = watch.origin_ns(self.crew) else { return };
        if watch.end_ns(origin_ns).is_some_and(|end| now_ns >= end) {
            watch.close(watch.total(self.crew));
        }
    }

    /// All slices; the last one ends with the run. `None` if no clone started reading.
    pub(super) fn slice_report(&mut self) -> Option<SliceReport> {
        let has_failed_jobs = (0..self.tracked.len()).any(|index| self.has_failed(index));
        let watch = self.slices.as_mut()?;
        watch.origin_ns(self.crew)?;
        watch.close(watch.total(self.crew));
        let is_interrupted = self.signal.is_some();
        Some(SliceReport { slices: watch.closed.clone(), has_failed_jobs, is_interrupted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::engines::plain::NULL;
    use fathom_spec::{Outcome, SystemSource, parse};

    fn plan(words: &str) -> Plan {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let Outcome::Run(spec) = parse("fathom", &words, &SystemSource::new(4096)) else {
            panic!("{words:?}")
        };
        Plan::new(&spec, |_| Some(NULL)).expect("a plan")
    }

    #[test]
    fn slices_follow_each_other_from_the_first_start_on() {
        let plan = plan("--ioengine=null --size=1m --name=a --rw=write --name=b --rw=randread");
        let rule = SliceRule { length: Duration::from_nanos(100), count: 3 };
        let mut watch = SliceWatch::of(rule, &plan).expect("readers");
        assert_eq!(watch.readers, [1]);
        let slice = |reads, above| Slice { reads, above };
        assert_eq!(watch.end_ns(1000), Some(1100));
        watch.close(slice(2, [1, 1, 0]));
        assert_eq!(watch.end_ns(1000), Some(1200));
        watch.close(slice(3, [2, 1, 0]));
        // The third slice is the last one, so it has no end before the run's.
        assert_eq!(watch.end_ns(1000), None);
        watch.close(slice(3, [2, 1, 0]));
        assert_eq!(watch.closed, [slice(2, [1, 1, 0]), slice(1, [1, 0, 0]), slice(0, [0; 3])]);
    }

    #[test]
    fn without_readers_there_is_nothing_to_tell() {
        let rule = SliceRule { length: Duration::from_nanos(100), count: 3 };
        let plan = plan("--ioengine=null --size=1m --name=a --rw=write");
        assert!(SliceWatch::of(rule, &plan).is_none());
    }
}
