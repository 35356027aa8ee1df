//! The recorded load: what a trace has, and the latencies that its device had.

use crate::characterize::trace::{Characterized, characterize_with, open};
use crate::characterize::{output, sentence};
use crate::device::refused;
use crate::loads::step::PERCENTILES;
use fathom_command::Failure;
use fathom_stats::Direction;
use fathom_stats::latency::{LatencyStats, at_most};
use fathom_trace::reader::Reader;
use fathom_trace::scan::{Scan, scan};
use fathom_trace::{Rules, TraceError};
use fathom_workload::Characterizer;
use serde::{Deserialize, Serialize};

use std::path::Path;

/// Minimum share of durable writes that is mentioned.
const LEAST_DURABLE: f64 = 0.01;

/// A recorded load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Production {
    /// The load in a sentence; empty for a log of I/Os, which is not characterized.
    pub(crate) sentence: String,
    /// What a reader must know of the trace, and of what its replay lacks.
    pub(crate) caveats: Vec<String>,
    /// Time from the first to the last I/O in s.
    pub(crate) seconds: f64,
    /// Number of I/Os that are replayed.
    pub(crate) requests: u64,
    /// Latencies by direction; empty if the trace has none.
    pub(crate) latencies: Vec<RecordedLatency>,
}

/// The latencies of one direction, from arrival to completion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordedLatency {
    /// `read`, `write` or `trim`.
    pub(crate) direction: String,
    /// Number of requests.
    pub(crate) count: u64,
    /// Mean in ns.
    pub(crate) mean_ns: f64,
    /// At [`PERCENTILES`], in ns.
    pub(crate) percentiles: [f64; PERCENTILES.len()],
}

/// A trace that was read.
pub(super) struct Trace {
    pub(super) production: Production,
    /// What is replayed.
    pub(super) scan: Scan,
    /// The profile, for a model; `None` for a log of I/Os.
    pub(super) characterized: Option<Characterized>,
}

/// Reads a trace or log; `None` if the file is neither.
pub(super) fn read(path: &Path) -> Result<Option<Trace>, Failure> {
    let scan = match scan_of(path) {
        Ok(scan) => scan,
        Err(TraceError::OldVersion | TraceError::Empty) => return Ok(None),
        Err(TraceError::Io(error)) => return Err(Failure::file(path, &error)),
        Err(error) => return Err(refused(path, &error.to_string())),
    };
    if scan.entries() == 0 {
        return Err(refused(path, "it has no I/Os to rehearse"));
    }
    let Some(last_due_ns) = scan.last_due_ns else {
        return Err(refused(
            path,
            "its I/Os have no times; a rehearsal needs a log of version 3 or a block trace",
        ));
    };
    let characterized = match scan.is_trace {
        true => Some(characterize_with(path, Characterizer::with_parts(), None)?),
        false => None,
    };
    let production = Production {
        sentence: characterized.as_ref().map(sentence::sentence).unwrap_or_default(),
        caveats: characterized.as_ref().map(caveats).unwrap_or_default(),
        seconds: last_due_ns as f64 / 1e9,
        requests: scan.entries() - scan.syncs,
        latencies: characterized.as_ref().map(latencies).unwrap_or_default(),
    };
    Ok(Some(Trace { production, scan, characterized }))
}

fn scan_of(path: &Path) -> Result<Scan, TraceError> {
    let reader = fathom_trace::plain(open(path)?)?;
    Ok(scan(Reader::new(reader, Rules::default())?)?.0)
}

fn caveats(found: &Characterized) -> Vec<String> {
    let mut told = output::caveats(found);
    let profile = &found.profile;
    let writes = profile.directions.iter().find(|direction| direction.direction == Direction::Write);
    let share =
        writes.map_or(0.0, |writes| profile.flushes.durable_writes as f64 / writes.requests.max(1) as f64);
    if share >= LEAST_DURABLE {
        told.push(format!(
            "{:.0} % of the recorded writes were durable on completion (FUA); they are replayed as plain writes.",
            share * 100.0
        ));
    }
    told
}

fn latencies(found: &Characterized) -> Vec<RecordedLatency> {
    let of = |stats: &LatencyStats| {
        let largest = stats.max_ns;
        let found = stats.histogram.percentiles(&PERCENTILES);
        std::array::from_fn(|place| found.get(place).map_or(0.0, |&ns| at_most(ns, largest) as f64))
    };
    let directions = found.profile.directions.iter();
    let measured = directions.filter(|direction| direction.service.total.count > 0);
    measured
        .map(|direction| {
            let total = &direction.service.total;
            RecordedLatency {
                direction: direction.direction.word().to_owned(),
                count: total.count,
                mean_ns: total.sum_ns as f64 / total.count as f64,
                percentiles: of(total),
            }
        })
        .collect()
}
