//! Alibaba block traces: `device_id,opcode,offset,length,timestamp`.
//!
//! ```text
//! 419,W,11584184320,12288,1577808144360767
//! ```
//!
//! Offset and length are in bytes, times in µs since 1970.

use super::Said;
use super::fields::number;
use super::request::{Request, Volume, letter};

pub(super) fn parse(line: &str) -> Result<Said<'_>, &'static str> {
    let mut fields = line.split(',').map(str::trim);
    let mut field = || fields.next().unwrap_or_default();
    let (volume, operation) = (field(), field());
    if volume == "device_id" {
        return Ok(Said::Nothing);
    }
    let direction = letter(operation)?;
    let (offset, length, time) = (field(), field(), field());
    let time = number(time).and_then(|time| time.checked_mul(1000));
    Ok(Said::Request(Request {
        time_ns: time.ok_or("its time is not a number of microseconds")?,
        ..Request::of_bytes(Volume::Name(volume), direction, offset, length)?
    }))
}
