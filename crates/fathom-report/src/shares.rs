//! Percentages shared between formats, with lower limits that distinguish "rarely" from "never".

use fathom_stats::PerDirection;
use fathom_stats::report::{DEPTH_BUCKETS, DISTRIBUTION_BUCKETS, GroupReport, JobReport};

/// Smallest share in percent that is shown for a non-empty bucket of a depth distribution.
const SMALLEST_DEPTH_SHARE: f64 = 0.1;
/// Smallest share in percent that is shown for a non-empty bucket of the latency distribution.
const SMALLEST_LATENCY_SHARE: f64 = 0.01;

/// Returns the share of I/Os issued at each depth. Syncs count in the depths but not in the total, so the sum
/// may exceed 100.
pub(crate) fn depths(job: &JobReport) -> [f64; DEPTH_BUCKETS] {
    shares(
        &job.depth_map,
        job.directions.values().map(|direction| direction.issued).sum(),
        SMALLEST_DEPTH_SHARE,
    )
}

/// Returns the share of submissions or reaps with each number of I/Os.
pub(crate) fn batches(map: &[u64; DEPTH_BUCKETS]) -> [f64; DEPTH_BUCKETS] {
    shares(map, map.iter().sum(), SMALLEST_DEPTH_SHARE)
}

/// Returns the share of I/Os in each bucket of the latency distribution.
pub(crate) fn distribution(job: &JobReport) -> [f64; DISTRIBUTION_BUCKETS] {
    shares(&job.distribution, job.distribution.iter().sum(), SMALLEST_LATENCY_SHARE)
}

/// Returns user and system time in percent of the run time of all clones.
pub(crate) fn processor(job: &JobReport) -> (f64, f64) {
    let total_us = job.runtime_total_ms as f64 * 1000.0;
    let share = |us: u64| if total_us > 0.0 { 100.0 * us as f64 / total_us } else { 0.0 };
    (share(job.cpu.user_us), share(job.cpu.system_us))
}

/// Returns a job's mean bandwidth in percent of its group's, at most 100, because samples from the fast end of
/// a run can exceed the group's mean. As in fio, the mean is in whole KiB/s.
pub(crate) fn of_group(mean_kib: f64, group_bytes_per_second: u64) -> f64 {
    capped_percent(mean_kib.trunc(), group_bytes_per_second as f64 / 1024.0)
}

/// Returns the same percentage for the terse format, in which the group's rate is in whole KiB/s.
pub(crate) fn of_group_for_terse(mean_kib: f64, group_bytes_per_second: u64) -> f64 {
    capped_percent(mean_kib, (group_bytes_per_second >> 10) as f64)
}

fn capped_percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 && part > 0.0 { (100.0 * part / whole).min(100.0) } else { 0.0 }
}

/// Returns the rate of a job's group in bytes per second: per direction, and of all directions together.
pub(crate) fn group_rates(groups: &[GroupReport], group_id: u32) -> (PerDirection<u64>, u64) {
    groups
        .iter()
        .find(|group| group.group_id == group_id)
        .map(|group| {
            (
                group.directions.each_ref().map(|direction| direction.total_bw_bytes),
                group.mixed.total_bw_bytes,
            )
        })
        .unwrap_or_default()
}

fn shares<const N: usize>(map: &[u64; N], total: u64, smallest: f64) -> [f64; N] {
    map.map(|count| match (count, total) {
        (0, _) | (_, 0) => 0.0,
        _ => (100.0 * count as f64 / total as f64).max(smallest),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_stats::Direction;
    use fathom_stats::report::DirectionReport;

    #[test]
    fn rare_is_not_never() {
        assert_eq!(shares(&[999_999, 1, 0], 1_000_000, 0.1), [99.9999, 0.1, 0.0]);
    }

    #[test]
    fn syncs_push_the_depths_over_a_hundred() {
        let mut job = JobReport { depth_map: [103, 0, 0, 0, 0, 0, 0], ..Default::default() };
        job.directions[Direction::Write] = DirectionReport { issued: 100, ..Default::default() };
        assert_eq!(depths(&job)[0], 103.0);
    }

    #[test]
    fn nothing_done_is_zero_everywhere() {
        let job = JobReport::default();
        assert_eq!(depths(&job), [0.0; 7]);
        assert_eq!(processor(&job), (0.0, 0.0));
        assert_eq!(of_group(100.0, 0), 0.0);
        assert_eq!(of_group(2048.0, 1024), 100.0);
        assert_eq!(of_group_for_terse(100.0, 1000), 0.0);
    }

    #[test]
    fn each_format_rounds_the_share_of_the_group_its_own_way() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
        // Expected values are from the output of fio 3.33 for these figures.
        assert!(close(of_group(43.333_333, 48_159), 91.430_470));
        assert!(close(of_group_for_terse(43.333_333, 48_159), 92.198_581));
    }
}
