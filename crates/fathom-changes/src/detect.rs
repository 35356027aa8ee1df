//! Detection: the series is cut at its most likely place as long as the cut is significant, then all cuts are judged
//! again between their neighbours, as in Hunter.

use crate::cause::{Around, causes};
use crate::drift::{Ramp, ramp};
use crate::energy::{FEWEST_OF_A_SEGMENT, candidate};
use crate::model::{Analysis, Change, Segment, Shape};
use crate::place::{Location, locate};
use crate::robust::{centre, mad, normal_scores};
use crate::series::{Evidence, Options, Point};
use crate::significance::{Judgement, judge};
use crate::{FEWEST_RUNS, Refusal};
use fathom_stats::inference::{CONFIDENCE, Interval, distributions::student_quantile, median, ranks};

/// Number of runs on either side that the size of a change is computed from; longer sides are thinned evenly to it.
const RUNS_OF_A_LEVEL: usize = 200;

/// A change between its neighbours.
#[derive(Clone, Copy, Debug)]
struct Cut {
    location: Location,
    judgement: Judgement,
    /// Change of the logarithm, from median to median.
    shift: f64,
    /// True if the 95 % interval of the change does not contain 0.
    has_direction: bool,
}

/// A step, or a drift that takes the place of steps.
#[derive(Clone, Copy, Debug)]
enum Found {
    Step(Cut),
    Drift(Ramp, Judgement),
}

/// Finds the changes of a series of runs in the order of time.
pub fn analyse(points: &[Point], options: &Options) -> Result<Analysis, Refusal> {
    let evidence = Evidence::of(points)?;
    let runs = evidence.logs.len();
    if runs < FEWEST_RUNS {
        return Err(Refusal::TooFew { has: runs, needs: FEWEST_RUNS });
    }
    let mut places = Vec::new();
    split(&evidence.logs, 0, options, &mut places);
    let cuts = settle(&evidence.logs, places, options);
    let found = with_drifts(&evidence.logs, &cuts, options);
    let (bounds, drifting) = bounds(&found, runs);
    let changes = found.iter().map(|found| change(points, &evidence, *found, &bounds, options)).collect();
    let segments = bounds.windows(2).map(|segment| self::segment(&evidence, segment, &drifting)).collect();
    Ok(Analysis { changes, segments, runs })
}

/// Cuts the runs, which begin at `first` of the series, and what is left on both sides.
fn split(logs: &[f64], first: usize, options: &Options, places: &mut Vec<usize>) {
    let scores = normal_scores(logs);
    let Some(candidate) = candidate(&scores) else { return };
    let judgement = judge(logs, &scores, candidate.place, candidate.end);
    if judgement.p_value < options.significance {
        split(&logs[..candidate.place], first, options, places);
        places.push(first + candidate.place);
        split(&logs[candidate.place..], first + candidate.place, options, places);
    }
}

/// Moves each cut to its best place between its neighbours and takes out the weakest, until all are significant, large
/// enough, and clearly up or down.
fn settle(logs: &[f64], mut places: Vec<usize>, options: &Options) -> Vec<Cut> {
    loop {
        let mut cuts: Vec<Cut> = Vec::new();
        for index in 0..places.len() {
            let first = if index == 0 { 0 } else { places[index - 1] };
            let end = places.get(index + 1).copied().unwrap_or(logs.len());
            let cut = cut(logs, first, places[index], end);
            places[index] = cut.location.place;
            cuts.push(cut);
        }
        let is_weak = |cut: &Cut| {
            cut.judgement.p_value >= options.significance
                || cut.shift.exp_m1().abs() < options.smallest
                || !cut.has_direction
        };
        let weak = cuts.iter().enumerate().filter(|(_, cut)| is_weak(cut));
        let weakest = weak.max_by(|a, b| a.1.judgement.p_value.total_cmp(&b.1.judgement.p_value));
        match weakest {
            Some((index, _)) => places.remove(index),
            None => return cuts,
        };
    }
}

/// Judges the cut at `place` between the runs from `first` and those up to `end`.
fn cut(logs: &[f64], first: usize, place: usize, end: usize) -> Cut {
    let around = &logs[first..end];
    let scores = normal_scores(around);
    let effective = crate::significance::effective(&scores[..place - first], &scores[place - first..]);
    let Location { place, range } = locate(around, place - first, effective);
    let judgement = judge(around, &scores, place, around.len());
    let shift = centre(&around[place..]) - centre(&around[..place]);
    let location = Location { place: first + place, range: (first + range.0, first + range.1) };
    let (_, interval) = size(&around[..place], &around[place..], judgement.effective);
    Cut { location, judgement, shift, has_direction: interval.low > 0.0 || interval.high < 0.0 }
}

/// Returns the change of the logarithm between two levels, and its interval, wider if runs are correlated.
fn size(before: &[f64], after: &[f64], effective: f64) -> (f64, Interval) {
    let (before, after) = (thinned(before), thinned(after));
    match ranks::shift(&before, &after) {
        Some(shift) => {
            let wider = |end: f64| shift.value + (end - shift.value) / effective.sqrt();
            (shift.value, shift.interval.map(wider))
        }
        // Unreachable for segments, whose fewest runs have an interval.
        None => {
            let shift = centre(&after) - centre(&before);
            (shift, Interval::around(shift, 0.0))
        }
    }
}

/// Takes runs at equal distances, so that the pairs of two long levels remain few.
fn thinned(logs: &[f64]) -> Vec<f64> {
    logs.iter().step_by(logs.len().div_ceil(RUNS_OF_A_LEVEL).max(1)).copied().collect()
}

/// Replaces successive steps in one direction by a drift where one fits better.
fn with_drifts(logs: &[f64], cuts: &[Cut], options: &Options) -> Vec<Found> {
    let mut found = Vec::new();
    // Groups overlap in the level that they share; what a drift has taken of it is not the next group's.
    let (mut done, mut taken) = (0, 0);
    for group in cuts.chunk_by(|a, b| (a.shift > 0.0) == (b.shift > 0.0)) {
        let first = if done == 0 { 0 } else { cuts[done - 1].location.place.max(taken) };
        done += group.len();
        let end = cuts.get(done).map_or(logs.len(), |next| next.location.place);
        let places: Vec<usize> = group.iter().map(|cut| cut.location.place - first).collect();
        let least = |a: &&Cut, b: &&Cut| a.judgement.p_value.total_cmp(&b.judgement.p_value);
        let surest = group.iter().min_by(least).map(|cut| cut.judgement);
        let ramp = if places.contains(&0) { None } else { ramp(&logs[first..end], &places) };
        match (ramp, surest) {
            (Some(ramp), Some(judgement)) if ramp.rise.exp_m1().abs() >= options.smallest => {
                taken = first + ramp.end;
                let ramp = Ramp { start: first + ramp.start, end: first + ramp.end, ..ramp };
                found.push(Found::Drift(ramp, judgement));
            }
            _ => found.extend(group.iter().copied().map(Found::Step)),
        }
    }
    found
}

/// Returns the ends of all segments, with 0 and the number of runs, and the starts of those that drift.
fn bounds(found: &[Found], runs: usize) -> (Vec<usize>, Vec<usize>) {
    let mut bounds = vec![0];
    let mut drifting = Vec::new();
    for found in found {
        match found {
            Found::Step(cut) => bounds.push(cut.location.place),
            Found::Drift(ramp, _) => {
                bounds.extend([ramp.start, ramp.end]);
                drifting.push(ramp.start);
            }
        }
    }
    bounds.push(runs);
    bounds.dedup();
    (bounds, drifting)
}

fn change(
    points: &[Point],
    evidence: &Evidence,
    found: Found,
    bounds: &[usize],
    options: &Options,
) -> Change {
    let change = match found {
        Found::Step(cut) => step(points, evidence, cut, bounds),
        Found::Drift(ramp, judgement) => drift(evidence, ramp, judgement),
    };
    let change = Change { is_regression: options.worse.is_regression(change.relative), ..change };
    let figures = [change.relative, change.interval.low, change.interval.high, change.p_value];
    assert!(figures.iter().all(|figure| figure.is_finite()), "{change:?}");
    change
}

fn step(points: &[Point], evidence: &Evidence, cut: Cut, bounds: &[usize]) -> Change {
    let Location { place, range } = cut.location;
    let numbers = &evidence.numbers;
    let first = bounds.iter().rev().find(|bound| **bound < place).copied().unwrap_or(0);
    let end = bounds.iter().find(|bound| **bound > place).copied().unwrap_or(numbers.len());
    let (before, after) = (&evidence.logs[first..place], &evidence.logs[place..end]);
    let (shift, interval) = size(before, after, cut.judgement.effective);
    let around = |set: &[f64]| {
        let level = centre(set);
        set.iter().map(move |log| log - level).collect::<Vec<f64>>()
    };
    let spread = mad(&[around(before), around(after)].concat());
    Change {
        number: numbers[place],
        range: (numbers[range.0], numbers[range.1]),
        shape: Shape::Step,
        relative: shift.exp_m1(),
        interval: interval.map(f64::exp_m1),
        deviations: (spread > 0.0).then(|| shift / spread),
        p_value: cut.judgement.p_value,
        is_regression: false,
        causes: causes(points, numbers, Around { first, place, range, end }),
    }
}

/// A drift has no cause: what changes gradually is not changed by the run at which it begins.
fn drift(evidence: &Evidence, ramp: Ramp, judgement: Judgement) -> Change {
    let degrees = (evidence.logs.len() as f64 * judgement.effective - 2.0).max(1.0);
    let half = student_quantile(0.5 + CONFIDENCE / 2.0, degrees) * ramp.error / judgement.effective.sqrt();
    let number = evidence.numbers[ramp.start];
    Change {
        number,
        range: (number, number),
        shape: Shape::Drift { until: evidence.numbers[ramp.end - 1] },
        relative: ramp.rise.exp_m1(),
        interval: Interval::around(ramp.rise, half).map(f64::exp_m1),
        deviations: (ramp.spread > 0.0).then(|| ramp.rise / ramp.spread),
        p_value: judgement.p_value,
        is_regression: false,
        causes: Vec::new(),
    }
}

fn segment(evidence: &Evidence, bounds: &[usize], drifting: &[usize]) -> Segment {
    let (first, end) = (bounds[0], bounds[1]);
    let logs = &evidence.logs[first..end];
    Segment {
        first: evidence.numbers[first],
        last: evidence.numbers[end - 1],
        runs: logs.len(),
        centre: centre(logs).exp(),
        interval: median::interval(logs).map(|interval| interval.map(f64::exp)),
        spread: mad(logs).exp_m1(),
        is_drifting: drifting.contains(&first),
    }
}

/// Number of runs that a series must have at least.
pub(crate) const fn fewest() -> usize {
    2 * FEWEST_OF_A_SEGMENT
}
