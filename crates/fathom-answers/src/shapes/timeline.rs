//! The timeline: rates and latencies by interval.

use fathom_results::model::TimelineJobResult;
use std::collections::BTreeMap;

/// An interval of the timeline.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Moment {
    /// Seconds since the start of the run.
    pub(crate) start_s: f64,
    pub(crate) end_s: f64,
    pub(crate) bytes_per_second: f64,
    pub(crate) iops: f64,
    /// Number of I/Os by completion latency in ns, in coarse bins.
    pub(crate) bins: BTreeMap<u64, u64>,
}

impl Moment {
    /// A percentile of the completion latencies in ns; `None` without completions.
    pub(crate) fn percentile(&self, percent: f64) -> Option<f64> {
        let total: u64 = self.bins.values().sum();
        let wanted = percent / 100.0 * total as f64;
        let mut passed = 0;
        self.bins
            .iter()
            .find(|(_, count)| {
                passed += **count;
                passed as f64 >= wanted
            })
            .map(|(&ns, _)| ns as f64)
    }
}

/// The points of a direction, summed over all entries, from the first to the last point with I/O. Entries of
/// one run have the same points.
pub(super) fn of(entries: &[TimelineJobResult], direction: usize) -> Vec<Moment> {
    let Some(longest) = entries.iter().max_by_key(|entry| entry.points.len()) else { return Vec::new() };
    let mut moments: Vec<(Moment, u64)> = Vec::new();
    for (index, point) in longest.points.iter().enumerate() {
        let (start_ms, end_ms) = (longest.start_ms(index), point.end_ms);
        let length_ms = end_ms.saturating_sub(start_ms).max(1) as f64;
        let mut moment =
            Moment { start_s: start_ms as f64 / 1000.0, end_s: end_ms as f64 / 1000.0, ..Moment::default() };
        let mut ios = 0;
        for figures in entries
            .iter()
            .filter_map(|entry| entry.points.get(index))
            .map(|point| point.directions()[direction])
        {
            ios += figures.total_ios;
            moment.bytes_per_second += figures.io_bytes as f64 * 1000.0 / length_ms;
            moment.iops += figures.total_ios as f64 * 1000.0 / length_ms;
            for (&ns, &count) in &figures.clat_bins {
                *moment.bins.entry(ns).or_default() += count;
            }
        }
        moments.push((moment, ios));
    }
    let Some(first) = moments.iter().position(|(_, ios)| *ios > 0) else { return Vec::new() };
    let last = moments.iter().rposition(|(_, ios)| *ios > 0).unwrap_or(first);
    moments.drain(first..=last).map(|(moment, _)| moment).collect()
}

/// Drops a first and last interval that the job covered only partly, because their rates are too low. How much
/// the job did not cover follows from the run time in ms.
pub(super) fn without_part_ends(mut moments: Vec<Moment>, runtime_ms: u64) -> Vec<Moment> {
    let is_low = |end: &Moment, next: &Moment| end.iops < 0.5 * next.iops;
    let is_part = |moments: &[Moment], end: &Moment| {
        let span_s = moments[moments.len() - 1].end_s - moments[0].start_s;
        runtime_ms > 0 && span_s - runtime_ms as f64 / 1000.0 > 0.5 * (end.end_s - end.start_s)
    };
    if let [.., before, last] = &moments[..]
        && moments.len() > 2
        && is_low(last, before)
        && is_part(&moments, last)
    {
        moments.pop();
    }
    if let [first, after, ..] = &moments[..]
        && moments.len() > 2
        && is_low(first, after)
        && is_part(&moments, first)
    {
        moments.remove(0);
    }
    moments
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_results::model::{TimelineFiguresResult, TimelinePointResult};

    #[test]
    fn entries_are_added_up() {
        let entry = |bytes: [u64; 3]| TimelineJobResult {
            points: bytes
                .iter()
                .zip(1..)
                .map(|(&io_bytes, number)| TimelinePointResult {
                    end_ms: 500 * number,
                    read: TimelineFiguresResult {
                        io_bytes,
                        total_ios: io_bytes / 100,
                        clat_bins: [(1000 * number, io_bytes / 100)].into(),
                    },
                    ..TimelinePointResult::default()
                })
                .collect(),
            ..TimelineJobResult::default()
        };
        let moments = of(&[entry([0, 1000, 0]), entry([0, 500, 500])], 0);
        assert_eq!(moments.len(), 2);
        assert_eq!((moments[0].start_s, moments[0].end_s), (0.5, 1.0));
        assert_eq!((moments[0].bytes_per_second, moments[0].iops), (3000.0, 30.0));
        assert_eq!(moments[1].percentile(99.0), Some(3000.0));
        assert!(of(&[entry([0, 0, 0])], 0).is_empty());
    }

    #[test]
    fn ends_that_the_job_had_no_part_in_are_left_out() {
        let moments = |rates: &[f64]| -> Vec<Moment> {
            let moment = |(index, &iops): (usize, &f64)| Moment {
                start_s: index as f64,
                end_s: index as f64 + 1.0,
                iops,
                ..Moment::default()
            };
            rates.iter().enumerate().map(moment).collect()
        };
        let left = |rates: &[f64], runtime_ms: u64| -> Vec<f64> {
            without_part_ends(moments(rates), runtime_ms).iter().map(|moment| moment.iops).collect()
        };
        assert_eq!(left(&[100.0, 100.0, 100.0, 5.0], 3050), [100.0, 100.0, 100.0]);
        assert_eq!(left(&[5.0, 100.0, 100.0, 100.0], 3050), [100.0, 100.0, 100.0]);
        assert_eq!(left(&[10.0, 100.0, 100.0, 5.0], 2150), [100.0, 100.0]);
        // The job ran all the time but became slow, so its last interval is kept.
        assert_eq!(left(&[100.0, 100.0, 100.0, 5.0], 4000).len(), 4);
        assert_eq!(left(&[100.0, 100.0, 100.0, 80.0], 3050).len(), 4);
        assert_eq!(left(&[100.0, 5.0], 1050).len(), 2);
    }
}
