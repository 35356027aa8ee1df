//! The runs at one load, summed up.

use super::measure::MeasuredLoad;
use super::objective::ResponseFigure;
use super::precision::{LEAST_RUNS, is_sustained};
use crate::figures;
use fathom_stats::inference::{Interval, median};
use serde_json::{Map, Value as Json, json};

/// Percentiles of a step that are shown.
pub(crate) const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];

/// A load together with the results of its runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoadStep {
    /// Offered I/Os per second.
    pub(crate) rate: f64,
    /// Number of valid runs.
    pub(crate) runs: usize,
    /// I/Os per second that became due, and I/Os per second that completed.
    pub(crate) offered: f64,
    pub(crate) served: f64,
    /// Response times at [`PERCENTILES`], ns: the median over the runs and its interval.
    pub(crate) percentiles: [Option<(f64, Option<Interval>)>; PERCENTILES.len()],
    /// Mean response time, ns.
    pub(crate) mean_ns: f64,
    /// Mean number of waiting I/Os.
    pub(crate) backlog: f64,
    /// True if the backlog does not grow.
    pub(crate) is_sustained: bool,
    /// p99 of the tester's own delay, ns.
    pub(crate) own_delay_ns: f64,
}

impl LoadStep {
    /// The median of a percentile, by its index in [`PERCENTILES`].
    pub(crate) fn percentile_text(&self, place: usize) -> String {
        self.percentiles[place].map_or_else(|| "-".to_owned(), |(ns, _)| figures::duration(ns))
    }

    /// Its interval; empty if there is none.
    pub(crate) fn interval_text(&self, place: usize) -> String {
        let ends = self.percentiles[place].and_then(|(_, interval)| interval);
        ends.map_or_else(String::new, |ends| {
            format!("{} – {}", figures::duration(ends.low), figures::duration(ends.high))
        })
    }

    /// True if the tester's own delay is a visible part of the response times of a sustained load.
    fn is_late(&self) -> bool {
        let p50 = self.percentiles[0].map_or(0.0, |(ns, _)| ns);
        self.is_sustained && self.own_delay_ns > 0.1 * p50
    }

    /// All percentiles with their intervals, by name.
    pub(crate) fn percentiles_json(&self) -> Map<String, Json> {
        let one = |(percent, figure): (&f64, &Option<(f64, Option<Interval>)>)| {
            let ends = figure.and_then(|(_, interval)| interval);
            let value = json!({
                "ns": figure.map(|(ns, _)| ns),
                "low": ends.map(|ends| ends.low),
                "high": ends.map(|ends| ends.high),
            });
            (format!("p{percent}"), value)
        };
        PERCENTILES.iter().zip(&self.percentiles).map(one).collect()
    }
}

/// Says at which loads the tester was late; `named` is the list of their names.
pub(crate) fn late<'s>(
    steps: impl Iterator<Item = &'s LoadStep>,
    named: impl Fn(Vec<f64>) -> String,
) -> Option<String> {
    let late: Vec<f64> = steps.filter(|step| step.is_late()).map(|step| step.rate).collect();
    (!late.is_empty()).then(|| {
        format!(
            "At {}, fathom itself was late: the p99 of its delay exceeds a tenth of the median.",
            named(late)
        )
    })
}

/// Sums up the runs of a load.
pub(crate) fn step(rate: f64, runs: &[&MeasuredLoad]) -> LoadStep {
    let middle = |value: &dyn Fn(&MeasuredLoad) -> f64| {
        let values: Vec<f64> = runs.iter().map(|run| value(run)).collect();
        median::median(&values).unwrap_or(0.0)
    };
    let percentiles = PERCENTILES.map(|percent| {
        let values: Vec<f64> =
            runs.iter().filter_map(|run| run.figure(None, ResponseFigure::Percentile(percent))).collect();
        let has_interval = values.len() >= LEAST_RUNS as usize;
        let interval = median::interval(&values).filter(|_| has_interval).map(Interval::not_below_zero);
        Some((median::median(&values)?, interval))
    });
    LoadStep {
        rate,
        runs: runs.len(),
        offered: middle(&|run| run.offered),
        served: middle(&|run| run.served),
        percentiles,
        mean_ns: middle(&|run| run.figure(None, ResponseFigure::Mean).unwrap_or(0.0)),
        backlog: middle(&|run| run.backlog),
        is_sustained: is_sustained(runs),
        own_delay_ns: middle(&|run| run.own_delay_ns),
    }
}
