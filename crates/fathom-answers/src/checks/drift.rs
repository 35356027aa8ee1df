//! `drift` and `step`: the rate changed during the run. A step down after some amount of I/O is typical of an exhausted
//! credit: burst credits of a cloud volume, or the fast cache of a disk.

use super::{DIRECTIONS, Found, MANY, Severity};
use crate::evidence::outages::Outage;
use crate::evidence::trend::{Trend, rates};
use crate::evidence::{Evidence, own_limits};
use crate::figures;
use fathom_results::model::TimelineJobResult;

/// Minimum number of timeline points for a step or a slope, for a large step, and on either side of a step.
const LEAST_POINTS: usize = 12;
const LEAST_POINTS_OF_LARGE: usize = 8;
const LEAST_ON_A_SIDE: usize = 3;
/// A step is a fall by at least this factor, between two stretches whose variation is at most `VARIATION` of
/// their means, if the fall explains most of the variance. If it explains nearly all of the variance, the rest
/// may vary more: under a limit that admits I/O in slices, a point contains only a few slices, and their number
/// varies by one.
const STEP: f64 = 1.4;
const EXPLAINED: f64 = 0.8;
const STEADY: f64 = 0.2;
const NEARLY_ALL: f64 = 0.95;
/// Factor of a change after which more noise is tolerated, as long as neither stretch has a trend. A stretch
/// has no trend if a line through it changes by at most the second value, as a share of the step.
const LARGE_STEP: f64 = 2.0;
const LARGE_EXPLAINED: f64 = 0.7;
const LEVEL: f64 = 0.35;
/// Minimum ratio of a slope to its standard error; a lower ratio counts as chance.
const ERRORS_OF_LEVEL: f64 = 2.5;
/// Share of the mean by which a line through the timeline must change to count as a drift, if its slope also
/// differs significantly from zero.
const DRIFT: f64 = 0.1;
const ERRORS: f64 = 4.0;

/// The best position at which to split a timeline in two.
#[derive(Debug, PartialEq)]
struct Cut {
    /// Number of points in total, and before the split.
    points: usize,
    at: usize,
    before: f64,
    after: f64,
    /// Share of the sum of squares that the split explains.
    explained: f64,
    /// Coefficients of variation before and after the split.
    variation_before: f64,
    variation_after: f64,
    /// Change of the lines through both sides, relative to the height of the step.
    slope: f64,
}

impl Cut {
    fn is_step(&self) -> bool {
        let stayed = self.variation_after <= STEADY || self.explained >= NEARLY_ALL;
        let is_clear = self.points >= LEAST_POINTS
            && self.explained >= EXPLAINED
            && self.variation_before <= STEADY
            && stayed;
        let is_large =
            self.factor() >= LARGE_STEP && self.explained >= LARGE_EXPLAINED && self.slope <= LEVEL;
        let is_fall = self.before > self.after;
        // A rise is reported only if it is unambiguous, because warming up can also look like small steps.
        self.factor() >= STEP && (is_large || is_fall && is_clear)
    }

    fn factor(&self) -> f64 {
        let (low, high) = (self.before.min(self.after), self.before.max(self.after));
        high / low.max(1.0)
    }
}

pub(super) fn step(evidence: &Evidence<'_>) -> Vec<Found> {
    each_direction(evidence, of_step)
}

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    each_direction(evidence, |timeline, direction| match of_step(timeline, direction) {
        // Only one finding is reported for each event.
        Some(_) => None,
        None => of_trend(timeline, direction).or_else(|| of_line(timeline, direction)),
    })
}

fn each_direction(
    evidence: &Evidence<'_>,
    find: impl Fn(&Timeline<'_>, usize) -> Option<Found>,
) -> Vec<Found> {
    // A rate that the job itself limits says nothing about the storage.
    let is_own = own_limits::rates(evidence).iter().any(own_limits::OwnLimit::was_met);
    let Some(timeline) = evidence.timeline().filter(|_| evidence.has_storage() && !is_own) else {
        return Vec::new();
    };
    let outages = evidence.outages();
    let is_disturbed = evidence.processor_wait().is_some_and(|wait| wait.others_are_busy());
    let timeline = Timeline { timeline, is_disturbed, outages: &outages };
    (0..DIRECTIONS.len())
        .filter_map(|direction| Some(find(&timeline, direction)?.in_direction(direction)))
        .collect()
}

/// The timeline of a job, without the part that is reported as an outage.
struct Timeline<'a> {
    timeline: &'a TimelineJobResult,
    /// True if other programs used the processors during the run.
    is_disturbed: bool,
    outages: &'a [Outage],
}

impl Timeline<'_> {
    /// The rates of complete points in which the storage responded, with the positions of these points.
    fn whole_points(&self, direction: usize) -> Vec<(usize, f64)> {
        let all = rates(self.timeline, direction);
        let inner = all.len().saturating_sub(1).max(1);
        let first = self.first(direction).unwrap_or_default();
        let is_outage = |place: usize| self.outages.iter().any(|outage| outage.points.contains(&place));
        let places = all.iter().enumerate().take(inner).skip(1).map(|(index, rate)| (first + index, *rate));
        places.filter(|(place, _)| !is_outage(*place)).collect()
    }

    fn rates(&self, direction: usize) -> Vec<f64> {
        self.whole_points(direction).into_iter().map(|(_, rate)| rate).collect()
    }

    /// The first point with I/O.
    fn first(&self, direction: usize) -> Option<usize> {
        self.timeline.points.iter().position(|point| point.directions()[direction].total_ios > 0)
    }
}

fn of_step(timeline: &Timeline<'_>, direction: usize) -> Option<Found> {
    let points = timeline.whole_points(direction);
    let cut = best_cut(&timeline.rates(direction)).filter(Cut::is_step)?;
    let first = timeline.first(direction)?;
    // The step happened in the point before the split.
    let place = points.get(cut.at)?.0 - 1;
    let timeline = timeline.timeline;
    let bytes: u64 =
        timeline.points[..=place].iter().map(|point| point.directions()[direction].io_bytes).sum();
    let seconds = (timeline.points[place].end_ms.saturating_sub(timeline.start_ms(first))) as f64 / 1e3;
    let (before, after) = (figures::bandwidth(cut.before), figures::bandwidth(cut.after));
    let (moved, when) = (figures::size(bytes), figures::duration(seconds * 1e9));
    let of = MANY[direction];
    let text = match cut.before > cut.after {
        true => format!(
            "the rate of {of} fell from {before} to {after} in one step, after {moved} and {when}, and stayed \
            there: a credit or a cache was used up (burst credits of a volume, the fast part of a disk, or a \
            limit that took effect)"
        ),
        false => format!(
            "the rate of {of} rose from {before} to {after} in one step, after {moved} and {when}, and stayed \
            there: what slowed it down before had ended (other work on the device, a limit that was lifted), \
            or a cache was filled"
        ),
    };
    let found = Found::new(
        Severity::Doubtful,
        text,
        "begin to measure after the step (ramp_time), or run it for longer",
    );
    let figures = [
        ("before_bytes_per_second", cut.before),
        ("after_bytes_per_second", cut.after),
        ("step_after_bytes", bytes as f64),
        ("step_after_ms", seconds * 1e3),
    ];
    Some(found.with(&figures).weighing(cut.factor()))
}

/// The split whose two means explain most of the variance.
fn best_cut(points: &[f64]) -> Option<Cut> {
    if points.len() < LEAST_POINTS_OF_LARGE {
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
    // The rate fell during this point, so it belongs to neither side.
    let (first, second) = (&points[..at - 1], &points[at + 1..]);
    let deviation = |part: &[f64]| (squares(part) / part.len() as f64).sqrt() / mean(part).max(1.0);
    let climb = |part: &[f64]| {
        let slope = slope(part);
        let is_chance = slope.abs() < ERRORS_OF_LEVEL * error_of_slope(part, slope);
        if is_chance { 0.0 } else { (slope * (part.len() - 1) as f64).abs() }
    };
    let height = (mean(first) - mean(second)).abs().max(f64::MIN_POSITIVE);
    (all > 0.0).then(|| Cut {
        slope: climb(first).max(climb(second)) / height,
        points: points.len(),
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

/// Slope of the least-squares line through points.
fn slope(points: &[f64]) -> f64 {
    let (centre, middle) = ((points.len() as f64 - 1.0) / 2.0, mean(points));
    let parts = points.iter().enumerate().map(|(index, rate)| {
        let from_centre = index as f64 - centre;
        (from_centre * (rate - middle), from_centre.powi(2))
    });
    let (product, spread) = parts.fold((0.0, 0.0), |sum: (f64, f64), part| (sum.0 + part.0, sum.1 + part.1));
    if spread > 0.0 { product / spread } else { 0.0 }
}

/// Standard error of a slope, assuming independent points.
fn error_of_slope(points: &[f64], slope: f64) -> f64 {
    let (centre, middle) = ((points.len() as f64 - 1.0) / 2.0, mean(points));
    let from_centre = |index: usize| index as f64 - centre;
    let spread: f64 = (0..points.len()).map(|index| from_centre(index).powi(2)).sum();
    let residuals = points.iter().enumerate().map(|(index, rate)| rate - middle - slope * from_centre(index));
    let squares: f64 = residuals.map(|residual| residual.powi(2)).sum();
    let freedom = points.len() as f64 - 2.0;
    if freedom > 0.0 { (squares / freedom / spread).sqrt() } else { f64::INFINITY }
}

/// Compares the rates in the first and the last third.
fn of_trend(timeline: &Timeline<'_>, direction: usize) -> Option<Found> {
    let trend = Trend::of_rates(&timeline.rates(direction))?;
    let (first, last) = (figures::bandwidth(trend.first), figures::bandwidth(trend.last));
    let figures = [("first_bytes_per_second", trend.first), ("last_bytes_per_second", trend.last)];
    // Other work on the machine may have caused the change.
    let disturbed = if timeline.is_disturbed { "other work on the machine, " } else { "" };
    if trend.fell() {
        let text = format!(
            "the rate fell from {first} to {last} during the test: {disturbed}throttling, or a full device cache"
        );
        let found = Found::new(Severity::Doubtful, text, "a longer run shows where it settles");
        return Some(found.with(&figures).weighing(trend.first / trend.last.max(1.0)));
    }
    trend.rose().then(|| {
        let text = match timeline.is_disturbed {
            true => format!(
                "the rate was still rising, from {first} to {last}: other work on the machine, or warming up"
            ),
            false => format!("the rate was still rising, from {first} to {last}: warming up"),
        };
        let found = Found::new(Severity::Doubtful, text, "a longer run shows where it settles");
        found.with(&figures).weighing(trend.last / trend.first.max(1.0))
    })
}

/// Finds a drift from a line through all points whose slope is small but significant.
fn of_line(timeline: &Timeline<'_>, direction: usize) -> Option<Found> {
    let points = timeline.rates(direction);
    let line = FittedLine::through(&points)?;
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

/// A least-squares line through a timeline.
struct FittedLine {
    /// Value at the middle of the line, which is the mean of the points.
    middle: f64,
    /// Change per point.
    slope: f64,
    /// Standard error of the slope, widened for the correlation of neighbouring points.
    error: f64,
}

impl FittedLine {
    fn through(points: &[f64]) -> Option<FittedLine> {
        if points.len() < LEAST_POINTS {
            return None;
        }
        let (count, middle, slope) = (points.len() as f64, mean(points), slope(points));
        let from_centre = |index: usize| index as f64 - (count - 1.0) / 2.0;
        let spread: f64 = (0..points.len()).map(|index| from_centre(index).powi(2)).sum();
        let residuals: Vec<f64> = points
            .iter()
            .enumerate()
            .map(|(index, rate)| rate - middle - slope * from_centre(index))
            .collect();
        let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
        let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let correlation = (products / squares.max(f64::MIN_POSITIVE)).clamp(0.0, 0.9);
        let widening = (1.0 + correlation) / (1.0 - correlation);
        Some(FittedLine { middle, slope, error: (squares / (count - 2.0) / spread * widening).sqrt() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    /// A result of a job that read these numbers of MB, one per quarter of a second.
    fn after(find: fn(&Evidence<'_>) -> Vec<Found>, points: &[u64]) -> Vec<(Severity, String)> {
        let point = |(index, mb): (usize, &u64)| {
            format!(
                r#"{{"end_ms":{},"read":{{"io_bytes":{},"total_ios":{}}}}}"#,
                250 * (index + 1),
                mb * 1_000_000,
                9 * mb.min(&1)
            )
        };
        let points: Vec<String> = points.iter().enumerate().map(point).collect();
        let timeline = format!(
            r#""fathom timeline":{{"interval_ms":250,"jobs":[{{"jobname":"a","points":[{}]}}]}}"#,
            points.join(",")
        );
        of_job(find, &run("", r#""read":{"total_ios":9,"io_bytes":9}"#, &timeline))
    }

    #[test]
    fn a_credit_that_is_used_up_is_a_step() {
        let mut timeline = vec![50; 10];
        timeline.extend([20; 12]);
        // The rate falls during this point, so it belongs to neither side.
        timeline[10] = 33;
        is_told(&after(step, &timeline), Severity::Doubtful, "fell from 200 MB/s to 8");
        is_told(&after(step, &timeline), Severity::Doubtful, "in one step, after 477 MiB and 2.50 s");
        assert_eq!(after(find, &timeline), [], "one event is told once");
        assert_eq!(after(step, &[50; 22]), []);
        let mut deep = vec![50; 10];
        deep.push(25);
        deep.extend([4; 11]);
        is_told(&after(step, &deep), Severity::Doubtful, "to 16.0 MB/s in one step");
        // A limit admits I/O in slices: a point has one or two slices, or none at first.
        for slices in [[26, 38, 26, 38, 26, 25, 39, 38, 26, 38], [13, 26, 0, 26, 13, 26, 13, 0, 26, 13]] {
            let limited: Vec<u64> = [500; 10].into_iter().chain(slices).collect();
            is_told(&after(step, &limited), Severity::Doubtful, "fell from 2000 MB/s to ");
        }
        // A slow decline, a decline that begins late, a spike and noise are not steps.
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
    }

    #[test]
    fn large_steps_are_told_up_and_down_through_noise() {
        let noisy = |mb: u64, index: u64| mb + mb * (index * 7 % 5) / 6 - mb / 3;
        let timeline = |first: u64, second: u64, at: u64, count: u64| -> Vec<u64> {
            (0..count).map(|index| noisy(if index < at { first } else { second }, index)).collect()
        };
        for (at, count) in [(10, 22), (6, 14), (5, 11), (14, 20)] {
            is_told(
                &after(step, &timeline(500, 100, at, count)),
                Severity::Doubtful,
                "the rate of reads fell from ",
            );
            is_told(
                &after(step, &timeline(100, 500, at, count)),
                Severity::Doubtful,
                "the rate of reads rose from ",
            );
            assert_eq!(after(find, &timeline(500, 100, at, count)), [], "one event is told once");
            assert_eq!(after(find, &timeline(100, 500, at, count)), [], "one event is told once");
        }
        // A steady fall or rise is not a step, regardless of its total size.
        let fall: Vec<u64> = (0..22).map(|index| 1000 - 44 * index).collect();
        let rise: Vec<u64> = fall.iter().rev().copied().collect();
        let decay: Vec<u64> = (0..22).map(|index| (1000.0 * 0.88f64.powi(index)) as u64).collect();
        for timeline in [fall, rise, decay] {
            assert_eq!(after(step, &timeline), [], "{timeline:?}");
            assert_eq!(after(find, &timeline).len(), 1, "{timeline:?}");
        }
    }

    #[test]
    fn an_outage_is_neither_a_step_nor_a_drift() {
        let mut timeline = vec![50; 22];
        timeline[15..21].fill(0);
        assert_eq!((after(step, &timeline), after(find, &timeline)), (Vec::new(), Vec::new()));
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
