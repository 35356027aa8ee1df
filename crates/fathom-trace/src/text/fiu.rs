//! FIU: time, process ID, process name, first block, number of blocks, operation, major and minor device
//! number, and a hash of the content.
//!
//! ```text
//! 89967404834393 4892 syslogd 904265560 8 W 6 0 531e779e39a6d4dd2cb2d7a5dcd4d8b5
//! ```
//!
//! Times are in ns; a block is 512 bytes.

use super::Said;
use super::fields::number;
use super::request::{Request, Volume, letter};
use crate::names::Device;

pub(super) fn parse(line: &str) -> Result<Said<'_>, &'static str> {
    let mut fields = line.split_ascii_whitespace();
    let mut field = || fields.next().unwrap_or_default();
    let (time, process, _name, block, blocks) = (field(), field(), field(), field(), field());
    let direction = letter(field())?;
    let device = |text| number(text).and_then(|number| u32::try_from(number).ok());
    let device = device(field()).zip(device(field())).map(|(major, minor)| Device { major, minor });
    let device = device.ok_or("its device numbers are not numbers")?;
    let process = number(process).and_then(|process| u32::try_from(process).ok());
    Ok(Said::Request(Request {
        time_ns: number(time).ok_or("its time is not a number of nanoseconds")?,
        process: process.ok_or("its process id is not a number")?,
        ..Request::of_sectors(Volume::Device(device), direction, block, blocks)?
    }))
}
