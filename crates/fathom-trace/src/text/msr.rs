//! MSR Cambridge: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! ```text
//! 128166372003061629,hm,1,Read,383496192,32768,413
//! ```
//!
//! Times are in units of 100 ns; timestamps are relative to 1601 and are those of the arrival of a request.
//! Offset and size are in bytes.

use super::Said;
use super::fields::number;
use super::request::{Request, Volume};
use fathom_stats::Direction;

/// Unit of both times in ns.
const TICK: u64 = 100;
/// First word of the heading that some copies have.
const HEADING: &str = "timestamp";

pub(super) fn parse(line: &str) -> Result<Said<'_>, &'static str> {
    let mut fields = line.split(',').map(str::trim);
    let mut field = || fields.next().unwrap_or_default();
    let (time, host, disk, operation) = (field(), field(), field(), field());
    if time.eq_ignore_ascii_case(HEADING) {
        return Ok(Said::Nothing);
    }
    let direction = match operation {
        "Read" | "read" => Direction::Read,
        "Write" | "write" => Direction::Write,
        _ => return Err("its type is neither Read nor Write"),
    };
    let (offset, size, response) = (field(), field(), field());
    let ticks = |text| number(text).and_then(|ticks| ticks.checked_mul(TICK));
    Ok(Said::Request(Request {
        time_ns: ticks(time).ok_or("its time is not a number of 100 ns")?,
        response_ns: Some(ticks(response).ok_or("its response time is not a number of 100 ns")?),
        ..Request::of_bytes(Volume::Disk(host, disk), direction, offset, size)?
    }))
}
