//! Detects hosts that are slower than the others.

use super::row::{HostRow, Straggling, StragglingFigure};
use crate::Direction;
use crate::inference::median::median;

/// Minimum number of hosts for a comparison; the median of fewer hosts is not meaningful.
pub const FEWEST_HOSTS: usize = 5;
/// Number of deviations from the median beyond which a host is a straggler.
pub const DEVIATIONS: f64 = 3.0;
/// Minimum distance from the median, as a share of it, even if the hosts hardly differ.
pub const LEAST_SHARE: f64 = 0.05;
/// Minimum number of I/Os for a 99th percentile, so that ten of them are slower than it.
pub const FEWEST_IOS: u64 = 1000;
/// Factor that converts a median absolute deviation to an estimate of the standard deviation of normal values:
/// 1 / Φ⁻¹(3/4).
const TO_DEVIATION: f64 = 1.4826;

/// The direction that is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worse {
    /// For rates.
    Below,
    /// For latencies.
    Above,
}

/// Marks the values that are too far from the median on the worse side.
///
/// A value is too far from the median if its distance exceeds both [`DEVIATIONS`] median absolute deviations,
/// scaled by 1.4826 so that they estimate standard deviations of normal values, and [`LEAST_SHARE`] of the
/// median. Unlike a standard deviation, the median of the distances is not affected by a few distant values.
/// Source: C. Leys, C. Ley, O. Klein, P. Bernard, L. Licata, "Detecting outliers: Do not use standard deviation
/// around the mean, use absolute deviation around the median", Journal of Experimental Social Psychology 49
/// (2013), where 3 is the conservative choice; the factor is that of P. J. Rousseeuw and C. Croux,
/// "Alternatives to the median absolute deviation", Journal of the American Statistical Association 88 (1993).
///
/// No value is marked if there are fewer than [`FEWEST_HOSTS`]. If more than half of the values are the same,
/// the deviation is 0, so only the share decides.
pub fn outliers(values: &[f64], worse: Worse) -> Vec<bool> {
    let limit = limit_of(values).filter(|_| values.len() >= FEWEST_HOSTS);
    let Some((middle, distance)) = limit else { return vec![false; values.len()] };
    let is_far = |value: &f64| match worse {
        Worse::Below => *value < middle - distance,
        Worse::Above => *value > middle + distance,
    };
    values.iter().map(is_far).collect()
}

/// Returns the median, and the maximum distance of values from it.
fn limit_of(values: &[f64]) -> Option<(f64, f64)> {
    let middle = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let deviation = TO_DEVIATION * median(&distances)?;
    Some((middle, (DEVIATIONS * deviation).max(LEAST_SHARE * middle.abs())))
}

/// Marks stragglers among the rows of hosts with the same jobs.
pub(super) fn mark(rows: &mut [HostRow], members: &[usize]) {
    for direction in Direction::ALL {
        let moves_data =
            members.iter().any(|&index| rows[index].directions[direction].bytes_per_second > 0.0);
        let did_any = members.iter().any(|&index| rows[index].directions[direction].total_ios > 0);
        if !did_any {
            continue;
        }
        let rates = members.iter().map(|&index| {
            let figures = &rows[index].directions[direction];
            (index, if moves_data { figures.bytes_per_second } else { figures.iops })
        });
        let rates: Vec<(usize, f64)> = rates.collect();
        let tails = members.iter().filter_map(|&index| {
            let figures = &rows[index].directions[direction];
            let percentiles = figures.percentiles.filter(|_| figures.total_ios >= FEWEST_IOS)?;
            Some((index, percentiles.p99_ns as f64))
        });
        let tails: Vec<(usize, f64)> = tails.collect();
        mark_figure(rows, &rates, direction, StragglingFigure::Rate);
        mark_figure(rows, &tails, direction, StragglingFigure::P99);
    }
}

fn mark_figure(
    rows: &mut [HostRow],
    of_hosts: &[(usize, f64)],
    direction: Direction,
    figure: StragglingFigure,
) {
    let values: Vec<f64> = of_hosts.iter().map(|(_, value)| *value).collect();
    let worse = if figure == StragglingFigure::Rate { Worse::Below } else { Worse::Above };
    let middle = median(&values).unwrap_or(0.0);
    let found = of_hosts.iter().zip(outliers(&values, worse)).filter(|(_, is_far)| *is_far);
    for ((index, value), _) in found {
        rows[*index].straggling.push(Straggling { direction, figure, value: *value, median: middle });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PerDirection;
    use crate::hosts::{HostEnd, HostRunReport, rows};
    use crate::report::{DirectionReport, JobReport, RunReport, StageReport, ToleratedErrors};
    use proptest::prelude::*;

    #[test]
    fn the_limit_is_that_of_the_paper() {
        // In the example of Leys et al. with 1, 3, 3, 6, 8, 10, 10, 1000, the median is 7 and its deviation is
        // 3.5 * 1.4826 = 5.1891.
        let values = [1.0, 3.0, 3.0, 6.0, 8.0, 10.0, 10.0, 1000.0];
        let (middle, distance) = limit_of(&values).expect("there are values");
        assert!((middle - 7.0).abs() < 1e-9 && (distance - 15.567_3).abs() < 1e-9, "{middle} {distance}");
        let above = outliers(&values, Worse::Above);
        assert_eq!(above.iter().position(|far| *far), Some(7));
        assert_eq!(outliers(&values, Worse::Below), [false; 8]);
    }

    #[test]
    fn equal_values_leave_it_to_the_share() {
        let mut values = vec![100.0; 6];
        values.extend([96.0, 94.0]);
        assert_eq!(outliers(&values, Worse::Below)[6..], [false, true]);
        assert_eq!(outliers(&values[4..], Worse::Below), [false; 4]);
    }

    proptest! {
        #[test]
        fn outliers_are_few_and_on_one_side(values in prop::collection::vec(0.0f64..1e9, 0..40), scale in 0.001f64..1e3) {
            let below = outliers(&values, Worse::Below);
            let above = outliers(&values, Worse::Above);
            let count = |marks: &[bool]| marks.iter().filter(|mark| **mark).count();
            prop_assert!(2 * (count(&below) + count(&above)) <= values.len());
            if values.len() < FEWEST_HOSTS {
                prop_assert_eq!(count(&below) + count(&above), 0);
            }
            let scaled: Vec<f64> = values.iter().map(|value| value * 2f64.powf(scale.log2().round())).collect();
            prop_assert_eq!(outliers(&scaled, Worse::Below), below.clone());
            let middle = median(&values).unwrap_or(0.0);
            for (value, mark) in values.iter().zip(&below) {
                prop_assert!(!mark || *value < middle * (1.0 - LEAST_SHARE));
                // A host that is even slower must be a straggler as well.
                let slower = values.iter().zip(&below).filter(|(other, _)| *other <= value);
                prop_assert!(!mark || slower.clone().all(|(_, other)| *other));
            }
        }

        #[test]
        fn a_host_at_half_speed_among_like_ones_is_found(values in prop::collection::vec(98.0f64..102.0, 5..40), place in any::<prop::sample::Index>()) {
            let place = place.index(values.len());
            let mut values = values;
            values[place] = 50.0;
            let marks = outliers(&values, Worse::Below);
            prop_assert_eq!(marks.iter().filter(|mark| **mark).count(), 1);
            prop_assert!(marks[place]);
        }
    }

    /// Returns a host that read 4 KiB this many times in one second, with this latency in µs.
    fn host(ios: u64, us: u64) -> HostRunReport {
        let mut read = DirectionReport {
            io_bytes: ios * 4096,
            issued: ios,
            total_ios: ios,
            runtime_ms: 1000,
            ..Default::default()
        };
        (0..ios).for_each(|_| read.clat.record(us * 1000));
        let directions = PerDirection::new([read, Default::default(), Default::default()]);
        let job = JobReport { name: "a".into(), directions, ..JobReport::default() };
        let report = RunReport { jobs: vec![job], ..RunReport::default() };
        HostRunReport { report: Some(Box::new(report)), start_skew_ns: Some(0), ..HostRunReport::default() }
    }

    fn reasons(hosts: &[HostRunReport]) -> Vec<Vec<String>> {
        rows(hosts).iter().map(|row| row.straggling.iter().map(ToString::to_string).collect()).collect()
    }

    #[test]
    fn stragglers_have_their_reasons() {
        let mut hosts: Vec<HostRunReport> = (0..6).map(|index| host(1010 + index, 100)).collect();
        assert_eq!(reasons(&hosts).concat(), [""; 0]);
        hosts[2] = host(400, 100);
        hosts[4] = host(1000, 150);
        hosts[5] = host(1000, 700);
        let reasons_now = reasons(&hosts);
        assert_eq!(reasons_now[2], ["read rate 60% below the median"]);
        assert_eq!(reasons_now[4], ["read p99 50% above the median"]);
        assert!(
            reasons_now[5][0].starts_with("read p99 7.") && reasons_now[5][0].ends_with("times the median")
        );
        hosts[5] = host(990, 700);
        assert_eq!(reasons(&hosts)[5], [""; 0]);
        // A host without I/O is the slowest.
        hosts[2] = host(0, 0);
        assert_eq!(reasons(&hosts)[2], ["read rate 100% below the median"]);
        // Lost hosts, and hosts with different jobs, are not compared.
        hosts[2].end = HostEnd::Lost { reason: String::new(), snapshot_ms: None };
        assert_eq!(reasons(&hosts)[2], [""; 0]);
        (hosts[2].end, hosts[5].report.as_mut().expect("it has one").jobs[0].name) =
            (HostEnd::Whole, "b".into());
        assert_eq!(reasons(&hosts)[5], [""; 0]);
        assert_eq!(reasons(&hosts[1..5]).concat(), [""; 0]);
    }

    #[test]
    fn rows_add_up_the_jobs_of_a_host() {
        let mut report = *host(1000, 100).report.expect("it has one");
        let mut second = report.jobs[0].clone();
        second.group_id = 1;
        second.directions[Direction::Read] =
            host(200, 300).report.expect("it has one").jobs[0].directions[Direction::Read].clone();
        second.directions[Direction::Read].runtime_ms = 500;
        second.tolerated_errors = Some(ToleratedErrors { total: 3, first: 5 });
        report.jobs.push(second);
        report.jobs[0].error = Some(Default::default());
        let row_of = |report: &RunReport| {
            let host = HostRunReport { report: Some(Box::new(report.clone())), ..HostRunReport::default() };
            rows(&[host]).remove(0)
        };
        let row = row_of(&report);
        let read = row.directions[Direction::Read];
        // The first stage takes one second, and the second half a second.
        assert!(
            (read.iops - 800.0).abs() < 1e-6 && (read.bytes_per_second - 800.0 * 4096.0).abs() < 1e-3,
            "{read:?}"
        );
        assert_eq!((read.total_ios, read.max_ns, row.errors), (1200, Some(300_000), 4));
        let percentiles = read.percentiles.expect("there are latencies");
        assert!(percentiles.p50_ns.abs_diff(100_000) < 1000 && percentiles.p99_ns.abs_diff(300_000) < 3000);
        assert_eq!(row.directions[Direction::Write], Default::default());
        // Both groups now belong to one stage.
        report.stages = vec![StageReport { groups: vec![0, 1], ..StageReport::default() }];
        assert!((row_of(&report).directions[Direction::Read].iops - 1200.0).abs() < 1e-6);
    }
}
