//! `drift` and `step`: the rate did not stay what it was. A step down after so many bytes is what a credit that was used up looks
//! like: burst credits of a cloud volume, or the fast cache of a disk.

use super::{DIRECTIONS, Found, MANY, Severity};
use crate::evidence::trend::rates;
use crate::evidence::{Evidence, own_limits};
use crate::figures;
use fathom_results::model::CourseEntry;

/// Points that are needed to find a step, and on either side of it.
const LEAST_POINTS: usize = 12;
const LEAST_ON_A_SIDE: usize = 3;
/// A step is a fall by at least this factor, which explains this share of how far the points are from their mean, between two
/// stretches that vary by no more than that of their means. After a fall that explains nearly everything, what is left may vary more: a
/// limit that lets I/O through in slices leaves few of them in a point, now one more and now one less.
const STEP: f64 = 1.4;
const EXPLAINED: f64 = 0.8;
const STEADY: f64 = 0.2;
const NEARLY_ALL: f64 = 0.95;
/// A line through the course that climbs or falls by more than this share of the mean still drifts, if its slope is so many of its
/// standard errors away from zero.
const DRIFT: f64 = 0.1;
const ERRORS: f64 = 4.0;

/// The best place to cut a course in two.
#[derive(Debug, PartialEq)]
struct Cut {
    /// Points before it.
    at: usize,
    before: f64,
    after: f64,
    /// Share of the squares that the cut explains.
    explained: f64,
    /// Variation on the two sides, over their means.
    variation_before: f64,
    variation_after: f64,
}

impl Cut {
    fn is_step(&self) -> bool {
        let stayed = self.variation_after <= STEADY || self.explained >= NEARLY_ALL;
        self.before >= STEP * self.after
            && self.explained >= EXPLAINED
            && self.variation_before <= STEADY
            && stayed
    }
}

pub(super) fn step(evidence: &Evidence<'_>) -> Vec<Found> {
    each_direction(evidence, of_step)
}

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    each_direction(evidence, |course, direction| match of_step(course, direction) {
        // One finding on one event.
        Some(_) => None,
        None => of_trend(evidence, direction).or_else(|| of_line(course, direction)),
    })
}

fn each_direction(
    evidence: &Evidence<'_>,
    find: impl Fn(&CourseEntry, usize) -> Option<Found>,
) -> Vec<Found> {
    // A rate that the job itself sets says nothing of the storage.
    let is_own = own_limits::rates(evidence).iter().any(own_limits::Limit::was_met);
    let Some(course) = evidence.course().filter(|_| evidence.has_storage() && !is_own) else {
        return Vec::new();
    };
    (0..DIRECTIONS.len())
        .filter_map(|direction| Some(find(course, direction)?.in_direction(direction)))
        .collect()
}

/// The points for which the job was there all of the time.
fn whole_points(course: &CourseEntry, direction: usize) -> Vec<f64> {
    let all = rates(course, direction);
    let inner = all.len().saturating_sub(1).max(1);
    all.get(1..inner).unwrap_or_default().to_vec()
}

fn of_step(course: &CourseEntry, direction: usize) -> Option<Found> {
    let points = whole_points(course, direction);
    let cut = best_cut(&points).filter(Cut::is_step)?;
    let first = course.points.iter().position(|point| point.directions()[direction].total_ios > 0)?;
    let place = first + cut.at;
    let bytes: u64 = course.points[..=place].iter().map(|point| point.directions()[direction].io_bytes).sum();
    let seconds = (course.points[place].end_ms.saturating_sub(course.start_ms(first))) as f64 / 1e3;
    let found = Found::new(
        Severity::Doubtful,
        format!(
            "the rate of {} fell from {} to {} in one step, after {} and {}, and stayed there: a credit or a cache was used up \
             (burst credits of a volume, the fast part of a disk, or a limit that set in)",
            MANY[direction],
            figures::bandwidth(cut.before),
            figures::bandwidth(cut.after),
            figures::size(bytes),
            figures::duration(seconds * 1e9)
        ),
        "begin to measure after the step (ramp_time), or run it for longer",
    );
    let figures = [
        ("before_bytes_per_second", cut.before),
        ("after_bytes_per_second", cut.after),
        ("step_after_bytes", bytes as f64),
        ("step_after_ms", seconds * 1e3),
    ];
    Some(found.with(&figures).weighing(cut.before / cut.after.max(1.0)))
}

/// Where two means explain most of how far the points are from one.
fn best_cut(points: &[f64]) -> Option<Cut> {
    if points.len() < LEAST_POINTS {
        return None;
    }
    let squares = |part: &[f64]| {
        let mean = mean(part);
        part.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>()
    };
    let all = squares(points);
    let cuts = LEAST_ON_A_SIDE..=points.len() - LEAST_ON_A_SIDE;
    let left = |at: usize| squares(&points[..at]) + squares(&points[at..]);
    let at = cuts.min_by(|&a, &b| left(a).total_cmp(&left(b)))?;
    // The point in which it fell belongs to neither side.
    let (first, second) = (&points[..at - 1], &points[at + 1..]);
    let deviation = |part: &[f64]| (squares(part) / part.len() as f64).sqrt() / mean(part).max(1.0);
    (all > 0.0).then(|| Cut {
        at,
        before: mean(first),
        after: mean(second),
        explained: 1.0 - left(at) / all,
        variation_before: deviation(first),
        variation_after: deviation(second),
    })
}

fn mean(points: &[f64]) -> f64 {
    points.iter().sum::<f64>() / points.len().max(1) as f64
}

/// Between the first and the last third.
fn of_trend(evidence: &Evidence<'_>, direction: usize) -> Option<Found> {
    let trend = evidence.trend(direction)?;
    let (first, last) = (figures::bandwidth(trend.first), figures::bandwidth(trend.last));
    let figures = [("first_bytes_per_second", trend.first), ("last_bytes_per_second", trend.last)];
    if trend.fell() {
        let text = format!(
            "the rate fell from {first} to {last} during the test: throttling, or a full device cache"
        );
        let found = Found::new(Severity::Doubtful, text, "a longer run shows where it settles");
        return Some(found.with(&figures).weighing(trend.first / trend.last.max(1.0)));
    }
    trend.rose().then(|| {
        let text = format!("the rate was still rising, from {first} to {last}: warming up");
        let found = Found::new(Severity::Doubtful, text, "a longer run shows where it settles");
        found.with(&figures).weighing(trend.last / trend.first.max(1.0))
    })
}

/// A line through all points, where its slope is small and no chance.
fn of_line(course: &CourseEntry, direction: usize) -> Option<Found> {
    let points = whole_points(course, direction);
    let line = Line::through(&points)?;
    let change = line.slope * (points.len() - 1) as f64;
    let is_no_chance = line.slope.abs() > ERRORS * line.error;
    (is_no_chance && change.abs() > DRIFT * line.middle).then(|| {
        let (from, to) = (line.middle - change / 2.0, line.middle + change / 2.0);
        let text = format!(
            "the rate of {} still drifted, on a line from {} to {}",
            MANY[direction],
            figures::bandwidth(from),
            figures::bandwidth(to)
        );
        Found::new(Severity::Note, text, "a longer run shows where it settles")
            .with(&[("first_bytes_per_second", from), ("last_bytes_per_second", to)])
            .weighing(change.abs() / line.middle.max(1.0))
    })
}

/// The line through a course by least squares.
struct Line {
    /// Its value in the middle, which is the mean.
    middle: f64,
    /// Per point.
    slope: f64,
    /// The standard error of the slope. What neighbouring points have in common widens it.
    error: f64,
}

impl Line {
    fn through(points: &[f64]) -> Option<Line> {
        if points.len() < LEAST_POINTS {
            return None;
        }
        let (count, middle) = (points.len() as f64, mean(points));
        let from_centre = |index: usize| index as f64 - (count - 1.0) / 2.0;
        let spread: f64 = (0..points.len()).map(|index| from_centre(index).powi(2)).sum();
        let product: f64 =
            points.iter().enumerate().map(|(index, rate)| from_centre(index) * (rate - middle)).sum();
        let slope = product / spread;
        let residuals: Vec<f64> = points
            .iter()
            .enumerate()
            .map(|(index, rate)| rate - middle - slope * from_centre(index))
            .collect();
        let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
        let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let correlation = (products / squares.max(f64::MIN_POSITIVE)).clamp(0.0, 0.9);
        let widening = (1.0 + correlation) / (1.0 - correlation);
        Some(Line { middle, slope, error: (squares / (count - 2.0) / spread * widening).sqrt() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    /// A job that read so many MB in each quarter of a second.
    fn after(find: fn(&Evidence<'_>) -> Vec<Found>, points: &[u64]) -> Vec<(Severity, String)> {
        let point = |(index, mb): (usize, &u64)| {
            format!(
                r#"{{"end_ms":{},"read":{{"io_bytes":{},"total_ios":9}}}}"#,
                250 * (index + 1),
                mb * 1_000_000
            )
        };
        let points: Vec<String> = points.iter().enumerate().map(point).collect();
        let course = format!(
            r#""fathom timeline":{{"interval_ms":250,"jobs":[{{"jobname":"a","points":[{}]}}]}}"#,
            points.join(",")
        );
        of_job(find, &run("", r#""read":{"total_ios":9,"io_bytes":9}"#, &course))
    }

    #[test]
    fn a_credit_that_is_used_up_is_a_step() {
        let mut course = vec![50; 10];
        course.extend([20; 12]);
        // The point in which it fell belongs to neither side.
        course[10] = 33;
        is_told(&after(step, &course), Severity::Doubtful, "fell from 200 MB/s to 8");
        is_told(&after(step, &course), Severity::Doubtful, "in one step, after 477 MiB and 2.50 s");
        assert_eq!(after(find, &course), [], "one event is told once");
        assert_eq!(after(step, &[50; 22]), []);
        let mut deep = vec![50; 10];
        deep.push(25);
        deep.extend([4; 11]);
        is_told(&after(step, &deep), Severity::Doubtful, "to 16.0 MB/s in one step");
        // What a limit lets through in slices: one or two of them in a point, or none at first.
        for slices in [[26, 38, 26, 38, 26, 25, 39, 38, 26, 38], [13, 26, 0, 26, 13, 26, 13, 0, 26, 13]] {
            let limited: Vec<u64> = [500; 10].into_iter().chain(slices).collect();
            is_told(&after(step, &limited), Severity::Doubtful, "fell from 2000 MB/s to ");
        }
        // A slow decline, one that begins late, a spike and noise are no steps.
        let decline: Vec<u64> = (0..22).map(|index| 100 - 3 * index).collect();
        assert_eq!(after(step, &decline), []);
        let late: Vec<u64> =
            [1000; 8].into_iter().chain((0..14).map(|index| 1000 * 4 / (4 + index))).collect();
        assert_eq!(after(step, &late), []);
        let mut spike = vec![50; 22];
        spike[9] = 5;
        assert_eq!(after(step, &spike), []);
        let noise: Vec<u64> = (0..22).map(|index| [50, 20, 35][index % 3]).collect();
        assert_eq!(after(step, &noise), []);
        let rise: Vec<u64> = course.iter().rev().copied().collect();
        assert_eq!(after(step, &rise), []);
    }

    #[test]
    fn rates_that_drift_are_told() {
        let line = |from: i64, by: i64| (0..24).map(|index| (from + by * index) as u64).collect::<Vec<u64>>();
        is_told(&after(find, &line(100, -3)), Severity::Doubtful, "the rate fell from ");
        is_told(&after(find, &line(30, 3)), Severity::Doubtful, "the rate was still rising, from ");
        is_told(&after(find, &line(1000, -9)), Severity::Note, "still drifted, on a line from ");
        assert_eq!(after(find, &[100; 24]), []);
        let noise: Vec<u64> = (0..24).map(|index| [100, 90, 110, 95][index % 4]).collect();
        assert_eq!(after(find, &noise), []);
        assert_eq!(after(find, &[100, 50, 25]), []);
    }
}
