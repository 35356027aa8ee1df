//! A request as most text formats describe it: one line with its arrival and location, and in some formats its
//! response time.

use super::fields::number;
use crate::blktrace::{Event, SECTOR, code};
use crate::names::Device;
use fathom_stats::Direction;

/// The target of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Volume<'a> {
    /// A named volume.
    Name(&'a str),
    /// A disk of a host: host name, disk.
    Disk(&'a str, &'a str),
    /// A device by its number.
    Device(Device),
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    /// Time of arrival in ns.
    pub(super) time_ns: u64,
    /// Time from arrival to completion in ns.
    pub(super) response_ns: Option<u64>,
    /// Time from issue to completion in ns.
    pub(super) service_ns: Option<u64>,
    pub(super) volume: Volume<'a>,
    pub(super) direction: Direction,
    pub(super) sector: u64,
    pub(super) bytes: u32,
    /// The process ID, or 0 if unknown.
    pub(super) process: u32,
}

impl<'a> Request<'a> {
    /// Returns a request whose offset and length are in bytes.
    pub(super) fn of_bytes(
        volume: Volume<'a>,
        direction: Direction,
        offset: &str,
        length: &str,
    ) -> Result<Request<'a>, &'static str> {
        let offset = number(offset).ok_or("its offset is not a number")?;
        if offset % SECTOR != 0 {
            return Err("its offset is not a multiple of 512");
        }
        Request::new(volume, direction, offset / SECTOR, number(length))
    }

    /// Returns a request whose offset and length are in sectors.
    pub(super) fn of_sectors(
        volume: Volume<'a>,
        direction: Direction,
        sector: &str,
        sectors: &str,
    ) -> Result<Request<'a>, &'static str> {
        let sector = number(sector).ok_or("its offset is not a number")?;
        let bytes = number(sectors).map(|sectors| sectors.saturating_mul(SECTOR));
        Request::new(volume, direction, sector, bytes)
    }

    /// Returns a request whose offset is in sectors and whose length is in bytes.
    pub(super) fn of_block(
        volume: Volume<'a>,
        direction: Direction,
        sector: &str,
        length: &str,
    ) -> Result<Request<'a>, &'static str> {
        let sector = number(sector).ok_or("its offset is not a number")?;
        Request::new(volume, direction, sector, number(length))
    }

    fn new(
        volume: Volume<'a>,
        direction: Direction,
        sector: u64,
        bytes: Option<u64>,
    ) -> Result<Request<'a>, &'static str> {
        let bytes = match bytes.ok_or("its length is not a number")? {
            0 => return Err("it moves no bytes"),
            bytes => u32::try_from(bytes).map_err(|_| "it is longer than 4 GiB")?,
        };
        if volume == Volume::Name("") {
            return Err("it names no volume");
        }
        let (time_ns, response_ns, service_ns, process) = (0, None, None, 0);
        Ok(Request { time_ns, response_ns, service_ns, volume, direction, sector, bytes, process })
    }

    /// Returns the event of this action at a time, for a device with this number.
    pub(super) fn event(&self, action: u32, time_ns: u64, device: Device) -> Event {
        let category = match self.direction {
            Direction::Read => code::READ,
            Direction::Write => code::WRITE,
            Direction::Trim => code::DISCARD | code::WRITE,
        };
        Event {
            time_ns,
            sector: self.sector,
            bytes: self.bytes,
            pid: self.process,
            device,
            ..Event::of_code(action | category | code::FILE_SYSTEM)
        }
    }
}

/// Returns the direction of an operation that is named by one letter.
pub(super) fn letter(operation: &str) -> Result<Direction, &'static str> {
    match operation {
        "R" | "r" => Ok(Direction::Read),
        "W" | "w" => Ok(Direction::Write),
        "D" | "d" => Ok(Direction::Trim),
        _ => Err("its operation is neither R nor W"),
    }
}
