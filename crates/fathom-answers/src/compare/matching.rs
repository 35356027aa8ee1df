//! Matches the jobs of both sides by name and direction.

use super::input::Side;
use crate::measures::comparison::{Comparison, Sample, compare as compare_samples};
use crate::measures::figure::{Figure, FigureOf};
use crate::measures::within;
use crate::measures::workload::{Workload, workloads};
use fathom_stats::Histogram;

/// The jobs of both sides, matched with each other.
#[derive(Debug, Default)]
pub(super) struct Matched {
    /// Jobs and directions that both sides have.
    pub(super) pairs: Vec<Pair>,
    /// Jobs and directions that only A has.
    pub(super) only_a: Vec<String>,
    /// Jobs and directions that only B has.
    pub(super) only_b: Vec<String>,
}

/// A job and direction that both sides have.
#[derive(Debug)]
pub(super) struct Pair {
    /// Name of the job; for a sweep, together with its cell.
    pub(super) job: String,
    /// Name of the job alone.
    pub(super) name: String,
    /// `read`, `write`, `trim`, `mixed`; `None` for figures of the job as a whole.
    pub(super) direction: Option<&'static str>,
    /// Its figures.
    pub(super) comparisons: Vec<Comparison>,
    /// Latencies of all runs of A and of all runs of B, if both have histograms.
    pub(super) histograms: Option<[Histogram; 2]>,
    /// The largest latencies of A and of B.
    pub(super) max_ns: [f64; 2],
    /// True if the intervals of percentiles treat every I/O as an independent measurement.
    pub(super) supposes_independence: bool,
}

impl Pair {
    /// `job, direction`.
    pub(super) fn title(&self) -> String {
        match self.direction {
            Some(direction) => format!("{}, {direction}", self.job),
            None => self.job.clone(),
        }
    }
}

/// A job with its runs.
struct Repeated {
    job: String,
    name: String,
    runs: Vec<Workload>,
}

/// Compares all jobs and directions that both sides have.
pub(super) fn compare(a: &Side, b: &Side, figures: &[Figure]) -> Matched {
    let (jobs_a, jobs_b) = (repeated(a), repeated(b));
    let mut matched = Matched::default();
    for one in &jobs_a {
        let other = jobs_b.iter().find(|other| other.job == one.job);
        for direction in directions(one) {
            match other.filter(|other| directions(other).contains(&direction)) {
                Some(other) => matched.pairs.push(pair(one, other, direction, figures)),
                None => matched.only_a.push(format!("{}, {direction}", one.job)),
            }
        }
        if let Some(other) = other {
            add_processor_time(&mut matched.pairs, one, other);
        }
    }
    for other in &jobs_b {
        let one = jobs_a.iter().find(|one| one.job == other.job);
        let known = one.map(directions).unwrap_or_default();
        let new = directions(other).into_iter().filter(|direction| !known.contains(direction));
        matched.only_b.extend(new.map(|direction| format!("{}, {direction}", other.job)));
    }
    matched
}

/// The jobs of a side with all their runs.
fn repeated(side: &Side) -> Vec<Repeated> {
    let mut found: Vec<Repeated> = Vec::new();
    for run in &side.runs {
        for workload in workloads(&run.result) {
            let job = match run.cell.is_empty() {
                true => workload.name.clone(),
                false => format!("{} [{}]", workload.name, run.cell),
            };
            match found.iter_mut().find(|other| other.job == job) {
                Some(other) => other.runs.push(workload),
                None => found.push(Repeated { job, name: workload.name.clone(), runs: vec![workload] }),
            }
        }
    }
    found
}

/// Directions in which any run did I/O.
fn directions(job: &Repeated) -> Vec<&'static str> {
    let mut found = Vec::new();
    for (direction, _) in job.runs.iter().flat_map(|run| &run.directions) {
        if !found.contains(direction) {
            found.push(*direction);
        }
    }
    found
}

fn pair(one: &Repeated, other: &Repeated, direction: &'static str, figures: &[Figure]) -> Pair {
    let comparisons = figures.iter().filter_map(|&figure| {
        compare_samples(figure, &samples(one, direction, figure), &samples(other, direction, figure))
    });
    let percentile = Figure::Percentile(50.0);
    let is_single = one.runs.len() == 1 && other.runs.len() == 1;
    let all = [one, other].map(|job| traffic(job, direction));
    let is_independent = all
        .iter()
        .flatten()
        .any(|traffic| traffic.histogram.is_some() && within::supposes_independence(percentile, traffic));
    let max_ns = [0, 1].map(|side: usize| all[side].iter().map(|traffic| traffic.max_ns).fold(0.0, f64::max));
    let [first, second] = all.map(|runs| {
        runs.into_iter().map(|traffic| traffic.histogram.clone()).reduce(|sum, next| {
            let mut sum = sum?;
            sum.merge(&next?);
            Some(sum)
        })
    });
    Pair {
        job: one.job.clone(),
        name: one.name.clone(),
        direction: Some(direction),
        comparisons: comparisons.collect(),
        histograms: first.flatten().zip(second.flatten()).map(<[Histogram; 2]>::from),
        max_ns,
        supposes_independence: is_single && is_independent,
    }
}

fn traffic<'a>(job: &'a Repeated, direction: &str) -> Vec<&'a crate::measures::workload::Traffic> {
    let directions = job.runs.iter().flat_map(|run| &run.directions);
    directions.filter(|(name, _)| *name == direction).map(|(_, traffic)| traffic).collect()
}

fn samples(job: &Repeated, direction: &str, figure: Figure) -> Vec<Sample> {
    let sample = |traffic| {
        Some(Sample {
            value: figure.of_traffic(traffic)?,
            within: within::interval(figure, traffic),
            ios: Some(traffic.latency_count),
        })
    };
    traffic(job, direction).into_iter().filter_map(sample).collect()
}

/// CPU time belongs to the job. It is listed with the figures of the direction if the job has only one,
/// otherwise separately.
fn add_processor_time(pairs: &mut Vec<Pair>, one: &Repeated, other: &Repeated) {
    let figure = FigureOf { direction: None, figure: Figure::ProcessorTime };
    let samples = |job: &Repeated| -> Vec<Sample> {
        let values = job.runs.iter().filter_map(|run| figure.of(run));
        values.map(Sample::of).collect()
    };
    let Some(found) = compare_samples(Figure::ProcessorTime, &samples(one), &samples(other)) else { return };
    let is_own = |pair: &&mut Pair| pair.job == one.job;
    let own = pairs.iter_mut().filter(is_own).count();
    match pairs.iter_mut().find(is_own) {
        Some(pair) if own == 1 => pair.comparisons.push(found),
        Some(_) => pairs.push(Pair {
            job: one.job.clone(),
            name: one.name.clone(),
            direction: None,
            comparisons: vec![found],
            histograms: None,
            max_ns: [0.0; 2],
            supposes_independence: false,
        }),
        None => {}
    }
}
