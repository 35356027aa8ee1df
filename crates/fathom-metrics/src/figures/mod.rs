//! Converts a report to families of series. Every metric is declared here, with its name, unit and meaning.
//! Names are OpenTelemetry's (`fathom.job.io`, unit `By`); Prometheus' names (`fathom_job_io_bytes_total`)
//! follow from them by OpenTelemetry's rules, so both exporters produce the same series.

mod devices;
mod jobs;
mod run;

use crate::Snapshot;
use fathom_stats::LatencyStats;

/// Names and values that distinguish the series of a family.
pub type Labels = Vec<(&'static str, String)>;

/// Unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// A share, 0 to 1.
    Ratio,
    /// A plain number; the name of the metric says what it counts.
    Things,
}

impl Unit {
    /// Suffix of the metric's name in Prometheus' style.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Unit::Bytes => "_bytes",
            Unit::Seconds => "_seconds",
            Unit::Ratio => "_ratio",
            Unit::Things => "",
        }
    }
}

/// The behaviour of the values of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// The value only increases, except when a job restarts its figures, as at the end of its ramp.
    Counter,
    /// The value increases and decreases.
    Gauge,
}

/// Name and meaning of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Words joined by dots.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// One sentence without a full stop.
    pub meaning: &'static str,
}

/// The values of a family, one per series.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Numbers.
    Numbers(MetricKind, Vec<(Labels, f64)>),
    /// Distributions of latencies.
    Latencies(Vec<(Labels, LatencyStats)>),
}

/// A metric with its series.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The metric.
    pub metric: Metric,
    /// Its series.
    pub values: Values,
}

impl Family {
    fn is_empty(&self) -> bool {
        match &self.values {
            Values::Numbers(_, series) => series.is_empty(),
            Values::Latencies(series) => series.is_empty(),
        }
    }
}

/// Every family that has a series.
pub fn families(snapshot: &Snapshot) -> Vec<Family> {
    let mut families = run::families(snapshot);
    families.extend(jobs::families(&snapshot.report));
    families.extend(devices::families(&snapshot.report));
    families.retain(|family| !family.is_empty());
    families
}

/// Families that are known before the first snapshot.
pub fn families_of_nothing(version: &str) -> Vec<Family> {
    vec![run::about(version)]
}

/// Reports that become series, with the host's label: those of the hosts, if there are several.
fn parts(report: &fathom_stats::report::RunReport) -> Vec<(Labels, &fathom_stats::report::RunReport)> {
    match &report.hosts {
        None => vec![(Labels::new(), report)],
        Some(hosts) => hosts
            .hosts
            .iter()
            .filter_map(|host| Some((vec![("host", host.name.clone())], host.report.as_deref()?)))
            .collect(),
    }
}

/// These labels, plus one.
fn with(labels: &Labels, name: &'static str, value: impl Into<String>) -> Labels {
    let mut labels = labels.clone();
    labels.push((name, value.into()));
    labels
}

/// Builder of a family of numbers.
struct Numbers {
    metric: Metric,
    kind: MetricKind,
    series: Vec<(Labels, f64)>,
}

impl Numbers {
    fn counter(name: &'static str, unit: Unit, meaning: &'static str) -> Numbers {
        Numbers { metric: Metric { name, unit, meaning }, kind: MetricKind::Counter, series: Vec::new() }
    }

    fn gauge(name: &'static str, unit: Unit, meaning: &'static str) -> Numbers {
        Numbers { kind: MetricKind::Gauge, ..Numbers::counter(name, unit, meaning) }
    }

    fn add(&mut self, labels: Labels, value: f64) {
        self.series.push((labels, value));
    }
}

impl From<Numbers> for Family {
    fn from(numbers: Numbers) -> Family {
        Family { metric: numbers.metric, values: Values::Numbers(numbers.kind, numbers.series) }
    }
}

#[cfg(test)]
mod tests;
