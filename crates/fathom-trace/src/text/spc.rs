//! The trace format of the Storage Performance Council, revision 1.0.1: `ASU,LBA,Size,Opcode,Timestamp`, and optional fields.
//!
//! ```text
//! 0,20941264,8192,W,0.551706
//! ```
//!
//! The address is in 512-byte blocks within an application's storage unit (ASU), the size in bytes, and the
//! time in s since the start.

use super::Said;
use super::fields::decimal;
use super::request::{Request, Volume, letter};

pub(super) fn parse(line: &str) -> Result<Said<'_>, &'static str> {
    let mut fields = line.split(',').map(str::trim);
    let mut field = || fields.next().unwrap_or_default();
    let (unit, block, size, operation, time) = (field(), field(), field(), field(), field());
    let direction = letter(operation)?;
    Ok(Said::Request(Request {
        time_ns: decimal(time, 1_000_000_000).ok_or("its time is not a number of seconds")?,
        ..Request::of_block(Volume::Name(unit), direction, block, size)?
    }))
}
