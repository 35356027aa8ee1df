//! Measures detection on made series: false alarms, power, places. `proof` prints the tables of
//! docs/history-changes.md; `proof SERIES COURSE` sets the number of series of each kind, and the courses by the beginning of
//! their names, or the gate by that word. `proof series COUNT` prints series as lines
//! of JSON, for `scripts/compare-otava.py`.

#[path = "../tests/support/made.rs"]
mod made;

use fathom_changes::{Analysis, Options, Shape, Verdict, Worse, analyse, check};
use made::{Course, Made, NOISES, Noise, made};
use std::io::Write;
use std::time::Instant;

const RUNS: usize = 100;

const COURSES: [Course; 11] = [
    Course::Flat,
    Course::Step(1.0),
    Course::Step(2.0),
    Course::Step(3.0),
    Course::StepBefore(2.0, 5),
    Course::StepBefore(2.0, 10),
    Course::StepBefore(2.0, 20),
    Course::StepBefore(4.0, 5),
    Course::Episode(2.0),
    Course::Slope(2.0),
    Course::Slope(4.0),
];

/// What was found in series of one kind, as counts.
#[derive(Default)]
struct Tally {
    series: usize,
    /// Series with any change.
    any: usize,
    /// Series with a drift.
    drifts: usize,
    /// Series with a step within 5 runs of the true one.
    near: usize,
    /// Of those, the ones whose range of places contains the true one.
    covered: usize,
    /// Series with a change that is more than 5 runs from the true one.
    elsewhere: usize,
}

impl Tally {
    fn count(&mut self, made: &Made, analysis: &Analysis) {
        self.series += 1;
        self.any += usize::from(!analysis.changes.is_empty());
        self.drifts += usize::from(analysis.changes.iter().any(|change| change.shape != Shape::Step));
        let Some(place) = made.place else { return };
        let near = analysis.changes.iter().find(|change| change.number.abs_diff(place) <= 5);
        self.near += usize::from(near.is_some());
        self.covered += usize::from(near.is_some_and(|near| (near.range.0..=near.range.1).contains(&place)));
        self.elsewhere +=
            usize::from(analysis.changes.iter().any(|change| change.number.abs_diff(place) > 5));
    }

    fn row(&self) -> String {
        let share = |count: usize| format!("{:.2} %", 100.0 * count as f64 / self.series as f64);
        let covered = 100.0 * self.covered as f64 / self.near.max(1) as f64;
        format!(
            "| {} | {} | {} | {covered:.1} % | {} |",
            share(self.any),
            share(self.drifts),
            share(self.near),
            share(self.elsewhere)
        )
    }
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: u64| {
        arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let mut out = std::io::stdout().lock();
    if arguments.first().is_some_and(|word| word == "series") {
        return print_series(&mut out, number(1, 100));
    }
    writeln!(out, "| noise | course | any | drift | within 5 | place in range | elsewhere |")?;
    let options = Options::new(Worse::Up);
    let wanted =
        |course: &Course| arguments.get(1).is_none_or(|word| format!("{course:?}").starts_with(word));
    for course in COURSES.into_iter().filter(wanted) {
        for noise in NOISES {
            let mut tally = Tally::default();
            for seed in 0..number(0, 10_000) {
                let made = made(noise, course, RUNS, seed);
                let analysis = analyse(&made.points(), &options).expect("made series are judged");
                tally.count(&made, &analysis);
            }
            writeln!(out, "| {noise:?} | {course:?} {}", tally.row())?;
        }
    }
    if arguments.get(1).is_some_and(|word| word != "gate") {
        return Ok(());
    }
    gate(&mut out, &options, number(0, 10_000))?;
    speed(&mut out, &options)
}

/// The gate: regressions among the newest runs after 60 of one level.
fn gate(out: &mut impl Write, options: &Options, series: u64) -> std::io::Result<()> {
    const LEVEL: usize = 60;
    writeln!(out, "| noise | newest runs | false alarms | steps of 2 | of 3 | of 5 |")?;
    for noise in NOISES {
        for newest in [1, 3, 5] {
            let regressions = |step: f64| {
                let is_regression = |seed: &u64| {
                    let made = made(noise, Course::StepBefore(step, newest), LEVEL + newest, *seed);
                    check(&made.points(), newest, options)
                        .is_ok_and(|gate| gate.verdict == Verdict::Regression)
                };
                format!("{:.2} %", 100.0 * (0..series).filter(is_regression).count() as f64 / series as f64)
            };
            let [flat, two, three, five] = [0.0, 2.0, 3.0, 5.0].map(regressions);
            writeln!(out, "| {noise:?} | {newest} | {flat} | {two} | {three} | {five} |")?;
        }
    }
    Ok(())
}

fn speed(out: &mut impl Write, options: &Options) -> std::io::Result<()> {
    for runs in [100, 1_000, 10_000] {
        for course in [Course::Flat, Course::Step(2.0), Course::Slope(4.0)] {
            let points = made(Noise::Normal, course, runs, 1).points();
            let start = Instant::now();
            let analysis = analyse(&points, options).expect("made series are judged");
            let took = start.elapsed().as_secs_f64() * 1e3;
            writeln!(out, "{runs} runs, {course:?}: {took:.1} ms, {} changes", analysis.changes.len())?;
        }
    }
    Ok(())
}

fn print_series(out: &mut impl Write, count: u64) -> std::io::Result<()> {
    for course in COURSES {
        for noise in NOISES {
            for seed in 0..count {
                let made = made(noise, course, RUNS, seed);
                let place = made.place.map_or("null".to_owned(), |place| place.to_string());
                let values = made.values;
                writeln!(
                    out,
                    r#"{{"noise":"{noise:?}","course":"{course:?}","place":{place},"values":{values:?}}}"#
                )?;
            }
        }
    }
    Ok(())
}
