//! biosnoop, of BCC and of libbpf-tools: a line with the names of the columns, then a line per completed
//! request.
//!
//! ```text
//! TIME(s)     COMM           PID    DISK      T SECTOR     BYTES  QUE(ms) LAT(ms)
//! 0.000004    supervise      1950   xvda1     W 13092560   4096      0.00    0.74
//! ```
//!
//! Times are times of completion. A request was issued LAT(ms) before it, and queued for QUE(ms) before that.
//! The name of a process may contain blanks, so the columns after it are located by their distance from the
//! end. bpftrace's own biosnoop has neither sectors nor sizes.

use super::Said;
use super::fields::{decimal, number};
use super::request::{Request, Volume, letter};

/// Positions of the columns. Columns after the process name have their distance from the end of the line; that
/// of the last column is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    disk: usize,
    operation: usize,
    sector: usize,
    bytes: usize,
    process: usize,
    queued: Option<usize>,
    latency: usize,
}

/// Returns the columns of a heading; `None` if the line is not a heading.
pub(super) fn heading(line: &str) -> Option<Columns> {
    let names: Vec<&str> = line.split_ascii_whitespace().collect();
    if names.first() != Some(&"TIME(s)") || names.get(1) != Some(&"COMM") {
        return None;
    }
    let at = |wanted: &str| names.iter().rev().position(|name| *name == wanted);
    Some(Columns {
        disk: at("DISK")?,
        operation: at("T")?,
        sector: at("SECTOR")?,
        bytes: at("BYTES")?,
        process: at("PID").or_else(|| at("TID"))?,
        queued: at("QUE(ms)"),
        latency: at("LAT(ms)")?,
    })
}

pub(super) fn parse(line: &str, columns: Columns) -> Result<Said<'_>, &'static str> {
    let at = |place: usize| line.split_ascii_whitespace().nth_back(place).unwrap_or_default();
    let end = line.split_ascii_whitespace().next().unwrap_or_default();
    let end = decimal(end, 1_000_000_000).ok_or("its time is not a number of seconds")?;
    // Flushes and commands have other letters and no data, so they are skipped.
    let Ok(direction) = letter(at(columns.operation)) else { return Ok(Said::Nothing) };
    let milliseconds = |place: usize| decimal(at(place), 1_000_000);
    let service = milliseconds(columns.latency).ok_or("its latency is not a number of milliseconds")?;
    let queued = columns.queued.map_or(Some(0), milliseconds);
    let response =
        service.saturating_add(queued.ok_or("its time in the queue is not a number of milliseconds")?);
    let process = number(at(columns.process)).and_then(|process| u32::try_from(process).ok());
    Ok(Said::Request(Request {
        // A request may have begun before the recording, so its time must not become negative.
        time_ns: end.saturating_sub(response),
        response_ns: Some(response),
        service_ns: columns.queued.is_some().then_some(service),
        process: process.unwrap_or(0),
        ..Request::of_block(Volume::Name(at(columns.disk)), direction, at(columns.sector), at(columns.bytes))?
    }))
}
