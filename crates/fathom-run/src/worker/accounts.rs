//! Consistency checks of the counters: at the end of a job and, in debug builds, whenever the loop checks the time.

use super::Worker;
use crate::invariant::{CHECKS_ALL, holds};
use fathom_stats::samples::LatencySamples;
use std::sync::atomic::Ordering::Relaxed;

impl Worker<'_> {
    /// Checks at the end that nothing is in flight and that the counters agree.
    pub(super) fn check_end(&self) {
        self.slots.check_none_in_flight();
        self.check_accounts();
    }

    /// Checks the counters, in debug builds.
    pub(super) fn debug_check_accounts(&self) {
        if CHECKS_ALL {
            self.check_accounts();
        }
    }

    /// Checks that histograms and counters agree.
    fn check_accounts(&self) {
        // These features reset the counters while I/Os are in flight, so completions may exceed the counted
        // issues by up to the queue depth.
        let starts_anew = self.plan.time.ramp.is_some() || self.plan.latency.search.is_some();
        let issued_before = if starts_anew { u64::from(self.plan.depth) } else { 0 };
        let recording = &self.recording;
        let mut latencies = 0;
        for (direction, samples) in self.samples.directions.iter() {
            if samples.is_unused() && !CHECKS_ALL {
                continue;
            }
            let (issued, completed) = (samples.issued.load(Relaxed), samples.completed.load(Relaxed));
            let most = issued + issued_before;
            holds!(completed <= most, Ends, "{direction:?}: {completed} have ended of {issued} issued");
            check_histogram("slat", &samples.slat, recording.slat_bins);
            check_histogram("clat", &samples.clat, recording.clat_bins);
            check_histogram("lat", &samples.lat, recording.lat_bins);
            for (name, count) in
                [("slat", samples.slat.count()), ("clat", samples.clat.count()), ("lat", samples.lat.count())]
            {
                let fits = count <= completed;
                holds!(fits, Histogram, "{direction:?}: {count} times {name} of {completed} that have ended");
            }
            latencies += samples.clat.count();
        }
        check_histogram("sync", &self.samples.sync, true);
        let distributed: u64 = self.samples.distribution().iter().sum();
        let fits = distributed == latencies;
        holds!(
            fits,
            Histogram,
            "{distributed} latencies in the distribution of the report, {latencies} counted"
        );
    }
}

fn check_histogram(name: &str, samples: &LatencySamples, has_bins: bool) {
    let (binned, count) = (samples.in_bins(), samples.count());
    let wanted = if has_bins { count } else { 0 };
    holds!(binned == wanted, Histogram, "{name}: {binned} in its bins, {count} counted");
}
