//! One step of a test, and its result.

use crate::measures::Figure;
use crate::measures::workload::{Traffic, Workload, workloads};
use fathom_results::RunResult;
use serde::{Deserialize, Serialize};

/// Percentiles that are kept for each point.
pub(crate) const PERCENTILES: [f64; 5] = [50.0, 99.0, 99.9, 99.99, 99.999];

/// One step of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "lowercase")]
pub(crate) enum Step {
    /// The device is purged.
    Purge { part: usize },
    /// The device is written once from start to end.
    Precondition { part: usize, pass: u32 },
    /// A point is measured.
    Point { part: usize, round: usize, point: usize },
}

/// A finished step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Done {
    #[serde(flatten)]
    pub(crate) step: Step,
    /// Time at which the step ended, in seconds since the epoch.
    pub(crate) ended: u64,
    /// Duration of the step.
    pub(crate) seconds: f64,
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
}

/// Result of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    /// How the device was purged, or why it was not.
    Purged(String),
    /// Bytes written.
    Written(u64),
    Measured(Measured),
}

/// Measurements of a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) read: Option<Figures>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) write: Option<Figures>,
    /// Figures of reads and writes combined.
    pub(crate) all: Figures,
}

/// Figures of I/O. Latencies are measured from the submission of an I/O to its completion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Figures {
    pub(crate) ios: u64,
    pub(crate) bytes: u64,
    pub(crate) iops: f64,
    pub(crate) bytes_per_second: f64,
    pub(crate) mean_ns: f64,
    pub(crate) max_ns: f64,
    /// Latencies at the [`PERCENTILES`], in ns; empty without a histogram.
    pub(crate) percentiles_ns: Vec<f64>,
}

impl Figures {
    fn of(traffic: &Traffic) -> Figures {
        let percentiles = PERCENTILES.map(|percent| traffic.percentile(percent));
        let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
        Figures {
            ios: traffic.total_ios,
            bytes: traffic.io_bytes,
            iops: finite(traffic.iops),
            bytes_per_second: finite(traffic.bytes_per_second),
            mean_ns: finite(traffic.mean_ns),
            max_ns: finite(traffic.max_ns),
            // The middle of the last bin may exceed the maximum, so percentiles are limited to it.
            percentiles_ns: percentiles.into_iter().flatten().map(|ns| ns.min(traffic.max_ns)).collect(),
        }
    }

    /// The value of a figure; `None` without I/O, or if the figure was not kept.
    pub(crate) fn value(&self, figure: Figure) -> Option<f64> {
        let has_latency = self.mean_ns > 0.0;
        match figure {
            Figure::Bandwidth => Some(self.bytes_per_second),
            Figure::Iops => Some(self.iops),
            Figure::LatencyMean => has_latency.then_some(self.mean_ns),
            Figure::LatencyMax => has_latency.then_some(self.max_ns),
            Figure::Percentile(percent) => {
                let place = PERCENTILES.iter().position(|kept| *kept == percent)?;
                self.percentiles_ns.get(place).copied()
            }
            Figure::ProcessorTime => None,
        }
    }
}

impl Measured {
    /// The measurements of the only job of a run.
    pub(super) fn of(run: &RunResult) -> Measured {
        let workload = workloads(run).into_iter().next().unwrap_or_default();
        let figures =
            |direction| Workload::traffic(&workload, direction).map(|traffic| Figures::of(&traffic));
        Measured {
            read: figures(Some("read")),
            write: figures(Some("write")),
            all: figures(None).unwrap_or_default(),
        }
    }
}
