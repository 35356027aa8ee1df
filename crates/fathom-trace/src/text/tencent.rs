//! Tencent block traces (SNIA's CBS): `timestamp,offset,size,ioType,volumeID`.
//!
//! ```text
//! 1538323200,12910952,128,0,1063
//! ```
//!
//! Times are in s since 1970, and offset and size in 512-byte sectors. Type 0 is a read, and type 1 a write.

use super::Said;
use super::fields::decimal;
use super::request::{Request, Volume};
use fathom_stats::Direction;

pub(super) fn parse(line: &str) -> Result<Said<'_>, &'static str> {
    let mut fields = line.split(',').map(str::trim);
    let mut field = || fields.next().unwrap_or_default();
    let (time, offset, size, operation, volume) = (field(), field(), field(), field(), field());
    if time.eq_ignore_ascii_case("timestamp") {
        return Ok(Said::Nothing);
    }
    let direction = match operation {
        "0" => Direction::Read,
        "1" => Direction::Write,
        _ => return Err("its type is neither 0 nor 1"),
    };
    Ok(Said::Request(Request {
        time_ns: decimal(time, 1_000_000_000).ok_or("its time is not a number of seconds")?,
        ..Request::of_sectors(Volume::Name(volume), direction, offset, size)?
    }))
}
