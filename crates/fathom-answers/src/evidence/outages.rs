//! Outages: periods of a job without completions, between periods with many. They are found from the timeline
//! of the run and its longest latencies; a mean over the whole run hides them.

use super::{Evidence, own_limits};
use fathom_results::model::TimelineJobResult;
use fathom_stats::timeline::coarse_bin_of;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Length in ms from which a gap always counts as an outage.
const LONG_MS: f64 = 1000.0;
/// Length in ms from which a gap is an outage if it is a large enough share of the job's time.
const SHORT_MS: f64 = 500.0;
const SHARE: f64 = 0.1;
/// Minimum number of I/Os that would normally have completed during an outage; with fewer, the gap may be
/// chance.
const EXPECTED_IOS: f64 = 20.0;
/// Minimum ratio of an I/O's latency to the median for an I/O that waited for the end of an outage; a long
/// queue alone is not an outage.
const TIMES_MEDIAN: f64 = 5.0;
/// Minimum share of an outage's length that an I/O which waited for its end must have taken.
const WAITED: f64 = 0.5;
/// Number of consecutive points without I/O that prove an outage by themselves.
const EMPTY_POINTS: usize = 2;

/// What the job was waiting for during an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// I/Os submitted to the storage.
    Ios,
    /// A sync.
    Sync,
    /// No visible event; the job itself was stopped.
    Nothing,
}

/// A period without completions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outage {
    /// Start of the outage, ms since the start of the run.
    pub(crate) begin_ms: f64,
    pub(crate) length_ms: f64,
    pub(crate) awaited: Awaited,
    /// Points of the timeline that the outage distorts.
    pub(crate) points: RangeInclusive<usize>,
}

impl Outage {
    /// Share of the outage that another period covers.
    pub(crate) fn share_within(&self, begin_ms: f64, length_ms: f64) -> f64 {
        let end = (self.begin_ms + self.length_ms).min(begin_ms + length_ms);
        (end - self.begin_ms.max(begin_ms)).max(0.0) / self.length_ms.max(1.0)
    }
}

/// One point of the timeline, summed over all directions.
struct OutagePoint {
    start_ms: f64,
    end_ms: f64,
    ios: u64,
    bins: BTreeMap<u64, u64>,
}

impl Evidence<'_> {
    /// The outages of a job in order; none without a timeline.
    pub(crate) fn outages(&self) -> Vec<Outage> {
        let Some(timeline) = self.timeline() else { return Vec::new() };
        let points = points_of(timeline);
        let ios: u64 = points.iter().map(|point| point.ios).sum();
        let busy: f64 =
            points.iter().filter(|point| point.ios > 0).map(|point| point.end_ms - point.start_ms).sum();
        if ios == 0 {
            return Vec::new();
        }
        let search = Search {
            longest_ms: self
                .job
                .active()
                .iter()
                .map(|(_, own)| own.clat.max_ns.max(own.lat.max_ns) / 1e6)
                .collect(),
            longest_sync_ms: self.job.sync_latency().max_ns / 1e6,
            ios_per_ms: ios as f64 / busy.max(1.0),
            median_ms: median_ms(&points),
            depth: self.depth_asked(),
            sets_its_pace: self.sets_its_pace(),
            points,
        };
        (0..search.points.len()).filter_map(|at| search.ending_in(at)).collect()
    }

    /// True if gaps between I/Os may be pauses that the job itself makes.
    fn sets_its_pace(&self) -> bool {
        const OPTIONS: [&str; 12] = [
            "rate",
            "rate_iops",
            "rate_min",
            "rate_iops_min",
            "thinktime",
            "thinkcycles",
            "read_iolog",
            "flow",
            "latency_target",
            "openfiles",
            "unlink_each_loop",
            "exec_prerun",
        ];
        self.asked.verification.is_some()
            || own_limits::pauses(self).is_some()
            || OPTIONS.iter().any(|name| self.run.option(self.job, name).is_some())
    }
}

/// Data for the search for outages.
struct Search {
    points: Vec<OutagePoint>,
    /// The longest latency of each direction.
    longest_ms: Vec<f64>,
    longest_sync_ms: f64,
    ios_per_ms: f64,
    median_ms: f64,
    depth: f64,
    sets_its_pace: bool,
}

impl Search {
    /// The outage that ended when I/O resumed in this point, if there was one.
    fn ending_in(&self, at: usize) -> Option<Outage> {
        let point = &self.points[at];
        if point.ios == 0 {
            return None;
        }
        let empty = self.points[..at].iter().rev().take_while(|point| point.ios == 0).count();
        let before = (at - empty).checked_sub(1).map(|index| &self.points[index]);
        let empty_ms = if before.is_some() { point.start_ms - self.points[at - empty].start_ms } else { 0.0 };
        let (longest_ms, long_ios) = self.longest_in(point);
        let is_unusual = longest_ms >= TIMES_MEDIAN * self.median_ms;
        // An outage requires that no I/O completed, or that all I/Os in flight took that long.
        let all_waited = empty >= EMPTY_POINTS && before.is_some() || long_ios as f64 >= self.depth;
        let (length_ms, awaited) = if is_unusual && all_waited && longest_ms >= WAITED * empty_ms {
            (longest_ms.max(empty_ms), Awaited::Ios)
        } else if empty >= EMPTY_POINTS && self.longest_sync_ms >= WAITED * empty_ms {
            (
                self.longest_sync_ms.clamp(empty_ms, empty_ms + 2.0 * (point.end_ms - point.start_ms)),
                Awaited::Sync,
            )
        } else if empty >= EMPTY_POINTS && !self.sets_its_pace {
            (empty_ms, Awaited::Nothing)
        } else {
            return None;
        };
        let begin_ms = self.begin_of(at, empty, length_ms);
        let outage = Outage { begin_ms, length_ms, awaited, points: (at - empty).saturating_sub(1)..=at };
        self.is_outage(&outage).then_some(outage)
    }

    fn is_outage(&self, outage: &Outage) -> bool {
        let span_ms = self.points.last().map_or(0.0, |point| point.end_ms);
        let is_long = outage.length_ms >= LONG_MS || outage.length_ms >= SHORT_MS.max(SHARE * span_ms);
        is_long && self.ios_per_ms * outage.length_ms >= EXPECTED_IOS
    }

    /// The longest latency in a point, ms, and the number of I/Os that took at least half of it. Histogram bins
    /// are coarse, but the longest latency of each direction is known exactly.
    fn longest_in(&self, point: &OutagePoint) -> (f64, u64) {
        let Some(&longest) = point.bins.keys().next_back() else { return (0.0, 0) };
        let is_in_bin = |ms: &&f64| coarse_bin_of((**ms * 1e6) as u64) == coarse_bin_of(longest);
        let exact = self.longest_ms.iter().filter(is_in_bin).copied().fold(0.0, f64::max);
        let long_ios = point.bins.range(longest / 2..).map(|(_, count)| count).sum();
        (if exact > 0.0 { exact } else { longest as f64 / 1e6 }, long_ios)
    }

    /// Start of an outage that ended in this point. It is in the last earlier point with an I/O, as far as the
    /// outage's length allows.
    fn begin_of(&self, at: usize, empty: usize, length_ms: f64) -> f64 {
        let point = &self.points[at];
        let (earliest, latest) = (point.start_ms - length_ms, point.end_ms - length_ms);
        let Some(before) = (at - empty).checked_sub(1).map(|index| &self.points[index]) else {
            return ((earliest + latest) / 2.0).max(0.0);
        };
        let (earliest, latest) = (earliest.max(before.start_ms), latest.min(before.end_ms));
        if earliest <= latest && empty > 0 {
            (earliest + latest) / 2.0
        } else {
            (point.start_ms - length_ms).max(0.0)
        }
    }
}

fn points_of(timeline: &TimelineJobResult) -> Vec<OutagePoint> {
    let point = |(index, point): (usize, &fathom_results::model::TimelinePointResult)| {
        let mut bins = BTreeMap::new();
        for figures in point.directions() {
            figures.clat_bins.iter().for_each(|(ns, count)| *bins.entry(*ns).or_default() += count);
        }
        OutagePoint {
            start_ms: timeline.start_ms(index) as f64,
            end_ms: point.end_ms as f64,
            ios: point.directions().iter().map(|figures| figures.total_ios).sum(),
            bins,
        }
    };
    timeline.points.iter().enumerate().map(point).collect()
}

/// The median latency of all points, ms.
fn median_ms(points: &[OutagePoint]) -> f64 {
    let mut all = BTreeMap::<u64, u64>::new();
    points.iter().flat_map(|point| &point.bins).for_each(|(ns, count)| *all.entry(*ns).or_default() += count);
    let mut left = all.values().sum::<u64>() / 2;
    let median = all.iter().find(|(_, count)| {
        let is_it = left < **count;
        left = left.saturating_sub(**count);
        is_it
    });
    median.map_or(0.0, |(ns, _)| *ns as f64 / 1e6)
}
