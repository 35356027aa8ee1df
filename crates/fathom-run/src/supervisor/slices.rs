//! Slices of time in which the shares of slow reads are told (`--profile=act`). The figures are differences of the
//! workers' samples; the workers do nothing for it.

use super::{Observer, Supervisor};
use crate::plan::Plan;
use crate::region::Region;
use fathom_stats::slices::{Slice, SliceReport};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How a run is cut.
#[derive(Clone, Copy, Debug)]
pub struct SliceRule {
    /// Length of a slice.
    pub length: Duration,
    /// Slices of the whole run; what comes after the end of the last belongs to it.
    pub count: u64,
}

/// The slices so far.
pub(super) struct SliceWatch {
    rule: SliceRule,
    /// Indices of the clones that read.
    readers: Vec<usize>,
    closed: Vec<Slice>,
    /// All reads when the last slice was closed.
    before: Slice,
}

impl SliceWatch {
    /// `None` if no clone reads.
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

    /// Monotonic ns when the first clone began; `None` before that.
    fn origin_ns(&self, region: &Region) -> Option<u64> {
        let starts = self.readers.iter().map(|&index| region.worker(index).start_ns.load(Relaxed));
        starts.filter(|&start| start != 0).min()
    }

    /// Monotonic ns when the current slice ends and another follows.
    fn end_ns(&self, region: &Region) -> Option<u64> {
        let ended = self.closed.len() as u64 + 1;
        let is_last = ended >= self.rule.count;
        let length = self.rule.length.as_nanos() as u64;
        (!is_last).then(|| Some(self.origin_ns(region)? + ended * length)).flatten()
    }

    fn close(&mut self, region: &Region) {
        let mut total = Slice::default();
        for &index in &self.readers {
            let reads = &region.worker(index).samples.directions[0];
            total.merge(&Slice::of(&reads.clat.snapshot().histogram));
        }
        self.closed.push(total.since(&self.before));
        self.before = total;
    }
}

impl<O: Observer> Supervisor<'_, O> {
    /// Closes the slice that has ended, if one has.
    pub(super) fn watch_slices(&mut self, now_ns: u64) {
        let Some(watch) = &mut self.slices else { return };
        if watch.end_ns(&self.region).is_some_and(|end| now_ns >= end) {
            watch.close(&self.region);
        }
    }

    /// All slices, the last of which ends with the run; nothing if no clone came to read.
    pub(super) fn slice_report(&mut self) -> Option<SliceReport> {
        let has_failed_jobs = (0..self.tracked.len()).any(|index| self.has_failed(index));
        let watch = self.slices.as_mut()?;
        watch.origin_ns(&self.region)?;
        watch.close(&self.region);
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
        let plan = plan(
            "--ioengine=null --size=1m --name=a --rw=write --name=b --rw=randread --name=c --rw=randread",
        );
        let region = Region::for_plan(&plan).expect("memory");
        let rule = SliceRule { length: Duration::from_nanos(100), count: 3 };
        let mut watch = SliceWatch::of(rule, &plan).expect("readers");
        assert_eq!(watch.end_ns(&region), None);
        for (index, start) in [(0, 10), (1, 1030), (2, 1000)] {
            region.worker(index).samples.reset();
            region.worker(index).start_ns.store(start, Relaxed);
        }
        let read = |index: usize, ms: u64| {
            region.worker(index).samples.directions[0].clat.record(ms * 1_000_000, true);
        };
        assert_eq!(watch.end_ns(&region), Some(1100));
        read(1, 0);
        read(2, 10);
        watch.close(&region);
        assert_eq!(watch.end_ns(&region), Some(1200));
        read(2, 2);
        watch.close(&region);
        // The third is the last: it ends with the run.
        assert_eq!(watch.end_ns(&region), None);
        watch.close(&region);
        let slice = |reads, above| Slice { reads, above };
        assert_eq!(watch.closed, [slice(2, [1, 1, 0]), slice(1, [1, 0, 0]), slice(0, [0; 3])]);
    }

    #[test]
    fn without_readers_there_is_nothing_to_tell() {
        let rule = SliceRule { length: Duration::from_nanos(100), count: 3 };
        let plan = plan("--ioengine=null --size=1m --name=a --rw=write");
        assert!(SliceWatch::of(rule, &plan).is_none());
    }
}
