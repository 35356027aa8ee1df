//! A figure of a job: its name, its value, and whether larger values are better.

use super::workload::{Traffic, Workload};
use crate::figures;
use fathom_command::Failure;
use fathom_stats::Direction;
use std::fmt;

/// Kind of figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Figure {
    /// Bytes per second.
    Bandwidth,
    /// I/Os per second.
    Iops,
    /// Mean latency in ns.
    LatencyMean,
    /// The latency in ns that this percentage of the I/Os does not exceed.
    Percentile(f64),
    /// Maximum latency in ns.
    LatencyMax,
    /// Processor time per I/O in ns, for the whole job.
    ProcessorTime,
}

/// The figures of a comparison, in their order.
pub(crate) const COMPARED: [Figure; 9] = [
    Figure::Bandwidth,
    Figure::Iops,
    Figure::LatencyMean,
    Figure::Percentile(50.0),
    Figure::Percentile(95.0),
    Figure::Percentile(99.0),
    Figure::Percentile(99.9),
    Figure::LatencyMax,
    Figure::ProcessorTime,
];

/// The names that [`Figure::parse`] accepts, for help and messages.
pub(crate) const KNOWN: &str = "bw, iops, lat, p50 (any percentile), max, cpu";

impl Figure {
    /// Parses the name of a figure.
    pub(crate) fn parse(word: &str) -> Option<Figure> {
        Some(match word {
            "bw" | "bandwidth" => Figure::Bandwidth,
            "iops" => Figure::Iops,
            "lat" | "lat-mean" | "mean" => Figure::LatencyMean,
            "max" | "lat-max" => Figure::LatencyMax,
            "cpu" => Figure::ProcessorTime,
            _ => {
                let percent: f64 = word.strip_prefix('p')?.parse().ok()?;
                Figure::Percentile(Some(percent).filter(|percent| *percent > 0.0 && *percent < 100.0)?)
            }
        })
    }

    /// Name of the figure as a heading.
    pub(crate) fn heading(self) -> String {
        match self {
            Figure::Bandwidth => "bandwidth".to_owned(),
            Figure::Iops => "IOPS".to_owned(),
            Figure::LatencyMean => "mean lat".to_owned(),
            Figure::Percentile(percent) => format!("p{percent}"),
            Figure::LatencyMax => "max lat".to_owned(),
            Figure::ProcessorTime => "CPU/IO".to_owned(),
        }
    }

    /// True for rates, for which larger values are better.
    pub(crate) fn more_is_better(self) -> bool {
        matches!(self, Figure::Bandwidth | Figure::Iops)
    }

    /// Unit of the figure in output for programs.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Figure::Bandwidth => "bytes/s",
            Figure::Iops => "1/s",
            _ => "ns",
        }
    }

    /// Formats a value with its unit for people. Bandwidths are in MB/s, as in all commands except `sweep`.
    pub(crate) fn text(self, value: f64) -> String {
        match self {
            Figure::Bandwidth => figures::bandwidth(value),
            Figure::Iops => figures::count(value),
            _ => figures::duration(value),
        }
    }

    /// Formats a value with bandwidths in MiB/s, as in published tables of sweeps.
    pub(crate) fn text_in_binary(self, value: f64) -> String {
        match self {
            Figure::Bandwidth => format!("{} MiB/s", figures::three_figures(value / f64::from(1 << 20))),
            other => other.text(value),
        }
    }

    /// Formats both ends of an interval with a common unit; bandwidths are in MiB/s.
    pub(crate) fn range_in_binary(self, low: f64, high: f64) -> String {
        let (low, high) = (self.text_in_binary(low), self.text_in_binary(high));
        match (low.split_once(' '), high.split_once(' ')) {
            (Some((low, unit)), Some((_, same))) if unit == same => format!("{low} to {high}"),
            _ => format!("{low} to {high}"),
        }
    }

    /// Value of the figure; `None` if the result does not have it.
    pub(crate) fn of_traffic(self, traffic: &Traffic) -> Option<f64> {
        match self {
            Figure::Bandwidth => Some(traffic.bytes_per_second),
            Figure::Iops => Some(traffic.iops),
            Figure::LatencyMean => (traffic.latency_count > 0).then_some(traffic.mean_ns),
            Figure::Percentile(percent) => traffic.percentile(percent),
            Figure::LatencyMax => (traffic.latency_count > 0).then_some(traffic.max_ns),
            Figure::ProcessorTime => None,
        }
    }
}

/// A figure of one direction, or of all directions together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FigureOf {
    /// The direction: `read`, `write`, `trim` or `mixed`; `None` for the job as a whole.
    pub(crate) direction: Option<&'static str>,
    /// The figure.
    pub(crate) figure: Figure,
}

impl FigureOf {
    /// Parses a name such as `p99`, `read.p99` or `read-bw`.
    pub(crate) fn parse(word: &str) -> Result<FigureOf, Failure> {
        let lower = word.trim().to_ascii_lowercase();
        let mut known = Direction::ALL.map(Direction::word).into_iter().chain(["mixed"]);
        let split = known.find_map(|name| {
            let rest = lower.strip_prefix(name)?;
            Some((name, rest.strip_prefix(['.', '-'])?))
        });
        let (direction, name) = match split {
            Some((direction, name)) => (Some(direction), name),
            None => (None, lower.as_str()),
        };
        let figure = Figure::parse(name).filter(|figure| {
            // Processor time is not counted separately for each direction.
            direction.is_none() || *figure != Figure::ProcessorTime
        });
        figure.map(|figure| FigureOf { direction, figure }).ok_or_else(|| {
            Failure::new(format!(
                "`{word}` is not a figure; there are {KNOWN}, all but cpu also for one direction, such as read.p99"
            ))
        })
    }

    /// Value of the figure in a run; `None` if the result does not have it.
    pub(crate) fn of(&self, workload: &Workload) -> Option<f64> {
        match self.figure {
            Figure::ProcessorTime => workload.processor_ns_per_io(),
            figure => figure.of_traffic(&*workload.traffic(self.direction)?),
        }
    }
}

impl fmt::Display for FigureOf {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(direction) = self.direction {
            write!(formatter, "{direction} ")?;
        }
        formatter.write_str(&self.figure.heading())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_with_either_mark() {
        let figure = |word: &str| FigureOf::parse(word).map(|found| (found.direction, found.figure)).ok();
        assert_eq!(figure("p99.9"), Some((None, Figure::Percentile(99.9))));
        assert_eq!(figure("read-bw"), Some((Some("read"), Figure::Bandwidth)));
        assert_eq!(figure("write.lat-mean"), Some((Some("write"), Figure::LatencyMean)));
        assert_eq!(figure("IOPS"), Some((None, Figure::Iops)));
        for wrong in ["p0", "p100", "p", "speed", "read.cpu", "read.", "readbw", ""] {
            assert_eq!(figure(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn units_are_written_once() {
        assert_eq!(Figure::Bandwidth.text(53.8e6), "53.8 MB/s");
        assert_eq!(Figure::Bandwidth.text_in_binary(53.8 * 1_048_576.0), "53.8 MiB/s");
        assert_eq!(Figure::LatencyMean.range_in_binary(110e3, 130e3), "110 to 130 µs");
        assert_eq!(Figure::LatencyMean.range_in_binary(990e3, 1.2e6), "990 µs to 1.20 ms");
        assert_eq!(Figure::Iops.range_in_binary(900.0, 1500.0), "900 to 1.50k");
    }
}
