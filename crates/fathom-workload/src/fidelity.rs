//! How close one load comes to another: the error of each property, and the accuracy of all of them.
//!
//! The accuracy is 1 minus the mean of the errors, each at most 1, as Tarasov and others count it in "Extracting Flexible, Replayable
//! Models from Large Block Traces", FAST 2012. Depth and latencies are results of the device rather than the load, so they do not count.

use crate::model::arrivals::spread;
use crate::profile::{DirectionProfile, Profile};
use crate::sizes::Sizes;
use fathom_stats::Direction;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Directions, sequential runs, and sizes of fewer than this share of the requests are not compared.
const LEAST_SHARE: f64 = 0.02;
/// Fewest windows of a scale in which arrivals are compared: fewer have a dispersion by chance.
const FEWEST_WINDOWS: f64 = 30.0;
/// Steps over which rates are compared.
const STEPS: usize = 20;

/// A property that two loads are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "property")]
pub enum Property {
    /// Requests per second.
    Rate,
    /// Bytes per second.
    Bandwidth,
    /// Shares of reads, writes and trims.
    Directions,
    /// Distribution of the sizes.
    Sizes(Of),
    /// Share of the requests in sequential streams.
    Sequential(Of),
    /// Requests per sequential run.
    RunLength(Of),
    /// Popularity of blocks.
    Skew(Of),
    /// Bytes that were accessed.
    Footprint,
    /// Accesses that caches of each size would serve.
    Reuse,
    /// Syncs and flushes per second.
    Flushes,
    /// Rate over time.
    OverTime,
    /// Variation of the arrivals in windows of this many seconds.
    Burstiness {
        /// Length of a window.
        window_s: f64,
    },
}

/// The direction of a property.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Of {
    /// Reads, writes or trims.
    #[serde(with = "crate::profile::word")]
    pub direction: Direction,
}

/// The error of a property.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The property.
    #[serde(flatten)]
    pub property: Property,
    /// Its value in the trace; of a distribution, the one figure that describes it best.
    pub trace: f64,
    /// The same of the model.
    pub model: f64,
    /// From 0 (equal) to 1: the relative difference of figures, the largest distance of distributions, half the sum of differences of
    /// shares and rates.
    pub error: f64,
}

/// A model compared with its trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fidelity {
    /// Each property that the trace has.
    pub properties: Vec<Compared>,
}

impl Fidelity {
    /// Compares the load of a model with that of its trace, played at `rate` times its speed.
    pub fn of(trace: &Profile, model: &Profile, rate: f64) -> Fidelity {
        let mut found = Fidelity::default();
        let per_second = |count: f64, of: &Profile| count / of.seconds.max(1e-9);
        found.add_figures(
            Property::Rate,
            per_second(trace.requests as f64, trace) * rate,
            per_second(model.requests as f64, model),
        );
        found.add_figures(
            Property::Bandwidth,
            per_second(trace.bytes as f64, trace) * rate,
            per_second(model.bytes as f64, model),
        );
        found.add_directions(trace, model);
        for own in
            trace.directions.iter().filter(|own| own.requests as f64 >= LEAST_SHARE * trace.requests as f64)
        {
            found.add_direction(own, model.directions.iter().find(|other| other.direction == own.direction));
        }
        found.add_space(trace, model);
        let flushes = |of: &Profile| per_second((of.flushes.flushes + of.flushes.flushing_writes) as f64, of);
        if trace.flushes.flushes + trace.flushes.flushing_writes >= 10 {
            found.add_figures(Property::Flushes, flushes(trace) * rate, flushes(model));
        }
        found.add_times(trace, model, rate);
        found
    }

    /// From 0 to 1.
    pub fn accuracy(&self) -> f64 {
        let sum: f64 = self.properties.iter().map(|compared| compared.error).sum();
        1.0 - sum / self.properties.len().max(1) as f64
    }

    fn add(&mut self, property: Property, trace: f64, model: f64, error: f64) {
        self.properties.push(Compared { property, trace, model, error: error.clamp(0.0, 1.0) });
    }

    fn add_figures(&mut self, property: Property, trace: f64, model: f64) {
        self.add(property, trace, model, (trace - model).abs() / trace.abs().max(f64::MIN_POSITIVE));
    }

    fn add_directions(&mut self, trace: &Profile, model: &Profile) {
        let shares = |of: &Profile| {
            let share = |direction: Direction| {
                let found = of.directions.iter().find(|found| found.direction == direction);
                found.map_or(0.0, |found| found.requests as f64 / of.requests.max(1) as f64)
            };
            Direction::ALL.map(share)
        };
        let (own, other) = (shares(trace), shares(model));
        let error = own.iter().zip(&other).map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0;
        self.add(Property::Directions, own[0], other[0], error);
    }

    fn add_direction(&mut self, own: &DirectionProfile, other: Option<&DirectionProfile>) {
        let of = Of { direction: own.direction };
        let mean = |sizes: &Sizes| sizes.bytes() as f64 / sizes.requests().max(1) as f64;
        let Some(other) = other else {
            return self.add(Property::Sizes(of), mean(&own.sizes), 0.0, 1.0);
        };
        let error = size_distance(&own.sizes, &other.sizes);
        self.add(Property::Sizes(of), mean(&own.sizes), mean(&other.sizes), error);
        let sequential =
            |of: &DirectionProfile| of.streams.sequential_requests as f64 / of.requests.max(1) as f64;
        let (share, in_model) = (sequential(own), sequential(other));
        self.add(Property::Sequential(of), share, in_model, (share - in_model).abs());
        if share >= LEAST_SHARE {
            let length = |of: &DirectionProfile| {
                of.streams.sequential_requests as f64 / of.streams.sequential_runs.max(1) as f64
            };
            // Runs differ by orders of magnitude: twice as long is an error of a half, as half as long is.
            let (length, in_model) = (length(own), length(other));
            let ratio = length.min(in_model) / length.max(in_model).max(f64::MIN_POSITIVE);
            self.add(Property::RunLength(of), length, in_model, 1.0 - ratio);
        }
        if let Some(skew) = &own.skew {
            let curve = other.skew.as_ref().map(|other| &other.curve);
            // Without blocks that came again, all are equally popular.
            let at = |place: f64| {
                curve
                    .and_then(|curve| curve.iter().find(|point| point.0 == place))
                    .map_or(place, |point| point.1)
            };
            let error = skew.curve.iter().map(|point| (point.1 - at(point.0)).abs()).fold(0.0, f64::max);
            let tenth = skew.curve.iter().find(|point| point.0 >= 0.1).copied().unwrap_or((0.1, 0.1));
            self.add(Property::Skew(of), tenth.1, at(tenth.0), error);
        }
    }

    fn add_space(&mut self, trace: &Profile, model: &Profile) {
        let (own, other) = (&trace.space, &model.space);
        if own.footprint == 0 {
            return;
        }
        self.add_figures(Property::Footprint, own.footprint as f64, other.footprint as f64);
        let at = |reuse: &[(u64, f64)], size: u64| {
            reuse.iter().take_while(|point| point.0 <= size).last().map_or(0.0, |point| point.1)
        };
        let sizes: BTreeSet<u64> = own.reuse.iter().chain(&other.reuse).map(|point| point.0).collect();
        let distance = |size: u64| (at(&own.reuse, size) - at(&other.reuse, size)).abs();
        let error = sizes.into_iter().map(distance).fold(0.0, f64::max);
        self.add(Property::Reuse, own.reused, other.reused, error);
    }

    fn add_times(&mut self, trace: &Profile, model: &Profile, rate: f64) {
        let (own, other) = (rates(trace, rate), rates(model, 1.0));
        let sum: f64 = own.iter().sum();
        let error = own.iter().zip(&other).map(|(a, b)| (a - b).abs()).sum::<f64>()
            / (sum + other.iter().sum::<f64>()).max(f64::MIN_POSITIVE);
        let largest = |rates: &[f64]| rates.iter().copied().fold(0.0, f64::max);
        self.add(Property::OverTime, largest(&own), largest(&other), error);
        for &(window_s, dispersion) in &trace.arrivals.dispersion {
            if trace.seconds < window_s * FEWEST_WINDOWS {
                continue;
            }
            let found = model.arrivals.dispersion.iter().find(|(window, _)| *window == window_s);
            let Some(&(_, found)) = found else { continue };
            // Standard deviations in units of what chance alone would give, with that added: between loads that are
            // more even than chance, a ratio says nothing.
            let (own, other) = (dispersion.sqrt(), found.sqrt());
            let error = (own - other).abs() / (own.max(other) + 1.0);
            self.add(Property::Burstiness { window_s }, own, other, error);
        }
    }
}

/// Largest distance of the shares of requests up to a size.
fn size_distance(own: &Sizes, other: &Sizes) -> f64 {
    let sizes: BTreeSet<u32> = own.counts.keys().chain(other.counts.keys()).copied().collect();
    let (mut below, mut distance) = ((0u64, 0u64), 0.0f64);
    let (all, others) = (own.requests().max(1) as f64, other.requests().max(1) as f64);
    for size in sizes {
        below.0 += own.counts.get(&size).unwrap_or(&0);
        below.1 += other.counts.get(&size).unwrap_or(&0);
        distance = distance.max((below.0 as f64 / all - below.1 as f64 / others).abs());
    }
    distance
}

/// Requests per second in equal shares of the time.
fn rates(of: &Profile, factor: f64) -> Vec<f64> {
    let step = of.seconds / STEPS as f64;
    let mut counts = vec![0.0; STEPS];
    for moment in &of.over_time {
        let requests = moment.requests.iter().sum::<u64>() as f64;
        spread(requests, (moment.start_s, moment.end_s.min(of.seconds)), step, &mut counts);
    }
    counts.iter().map(|count| count * factor / step.max(1e-9)).collect()
}
