//! Zone rules: decide what happens to a drawn target.

use super::device::ZonedDevice;
use super::error::ZoneError;
use super::table::{Locked, Wanted, ZoneTable};
use crate::plan::model::zones::{WriteOrder, ZonePlan};
use crate::targets::Target;
use fathom_stats::Direction;
use fathom_sys::Errno;

/// What to do with a drawn target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Issue this I/O. A sequential job continues at `behind`.
    Issue {
        /// The target after all moves.
        target: Target,
        /// Offset in the file at which a sequential job continues.
        behind: u64,
    },
    /// Reset the zone that begins at this target instead of trimming it.
    Reset(Target),
    /// Retry the target after a completion.
    Wait,
    /// No data can be read below the write pointers, so a write has to come first.
    WriteFirst,
    /// The file has no targets left.
    FileDone,
}

/// One file of a worker.
pub(super) struct ZonedFile {
    pub(super) slot: usize,
    pub(super) device: Box<dyn ZonedDevice>,
    pub(super) zone_size: u64,
    /// First byte that the worker uses, and the end of its range.
    pub(super) start: u64,
    pub(super) end: u64,
    /// Number of bytes that a sequential job skips between two zones.
    pub(super) skip: u64,
    /// True if the zones belong to a device, which accepts writes only at the write pointer and discards data
    /// on a reset.
    pub(super) is_device: bool,
    /// The pass of the worker's last write to each zone; empty if the pass does not matter.
    pub(super) written_in: Vec<u64>,
}

impl ZonedFile {
    pub(super) fn zone_at(&self, offset: u64) -> usize {
        (offset / self.zone_size) as usize
    }

    pub(super) fn start_of(&self, zone: usize) -> u64 {
        zone as u64 * self.zone_size
    }

    /// The zones that the worker uses.
    pub(super) fn zones(&self) -> std::ops::Range<usize> {
        self.zone_at(self.start)..self.zone_at(self.end)
    }

    /// Start of the zone after this one in a sequential job; after the last zone, the end of the file. A job
    /// that skips zones wraps instead.
    pub(super) fn start_behind(&self, zone: usize) -> u64 {
        let next = self.start_of(zone + 1).saturating_add(self.skip);
        match next < self.end {
            true => next,
            false if self.skip > 0 => self.start,
            false => self.end,
        }
    }
}

/// The zone rules of one worker, with the zones that it uses.
pub struct ZoneRules<'a> {
    pub(super) table: &'a ZoneTable,
    pub(super) plan: &'a ZonePlan,
    /// Index of the worker.
    pub(super) worker: u32,
    pub(super) files: Vec<ZonedFile>,
    /// Number of writes above the reset threshold since the last reset that they caused.
    pub(super) writes_beyond: u64,
    /// Number of resets.
    pub(super) resets: u64,
    /// The zone that was reset last, if its data is gone: file, first byte, bytes.
    pub(super) emptied: Option<(u32, u64, u64)>,
    /// Number of passes started.
    pub(super) pass: u64,
}

impl<'a> ZoneRules<'a> {
    /// Creates the rules of a worker, without files.
    pub fn new(table: &'a ZoneTable, plan: &'a ZonePlan, worker: u32) -> ZoneRules<'a> {
        ZoneRules {
            table,
            plan,
            worker,
            files: Vec::new(),
            writes_beyond: 0,
            resets: 0,
            emptied: None,
            pass: 1,
        }
    }

    /// Adds the next file.
    pub fn add_file(
        &mut self,
        wanted: &Wanted<'_>,
        mut device: Box<dyn ZonedDevice>,
    ) -> Result<(), ZoneError> {
        let slot = self.table.attach(wanted, self.plan, device.as_mut())?;
        let zone_size = wanted.geometry.zone_size;
        let zones = match self.plan.keeps_data && self.plan.random {
            true => ((wanted.start + wanted.size) / zone_size) as usize,
            false => 0,
        };
        self.files.push(ZonedFile {
            slot,
            device,
            zone_size,
            start: wanted.start,
            end: wanted.start + wanted.size,
            is_device: wanted.geometry.is_device,
            written_in: vec![0; zones],
            skip: if self.plan.random { 0 } else { self.plan.skip_bytes(zone_size) },
        });
        Ok(())
    }

    /// Starts another pass. Writes of earlier passes have been read back by now, or never will be.
    pub fn begin_pass(&mut self) {
        self.pass += 1;
    }

    /// Number of zones reset since the last call.
    pub fn take_resets(&mut self) -> u64 {
        std::mem::take(&mut self.resets)
    }

    /// The zone reset since the last call, if its data is gone: file, first byte, bytes. Emulated zones keep
    /// old data in the file.
    pub fn take_emptied(&mut self) -> Option<(u32, u64, u64)> {
        self.emptied.take()
    }

    /// Decides on a target. An admitted target is in flight until [`settle`](ZoneRules::settle).
    pub fn admit(&mut self, target: Target) -> Result<Decision, Errno> {
        match target.direction {
            Direction::Read => self.admit_read(target),
            Direction::Write => self.admit_write(target),
            Direction::Trim => Ok(self.admit_trim(target)),
        }
    }

    fn admit_read(&mut self, target: Target) -> Result<Decision, Errno> {
        let placed = {
            let file = &self.files[target.file as usize];
            let locked = self.table.lock(file.slot);
            let shortest = self.plan.shortest[Direction::Read];
            let place = Reads { file, locked: &locked, shortest, beyond: self.plan.reads_beyond };
            let placed = if self.plan.random { place.random(target) } else { place.sequential(target) };
            if let Some((target, _)) = placed {
                locked.zones[file.zone_at(target.offset)].in_flight += 1;
            }
            placed
        };
        match placed {
            Some((target, behind)) => Ok(Decision::Issue { target, behind }),
            None if !self.plan.mixed => Ok(Decision::FileDone),
            None if self.plan.random => self.admit_write(self.as_write(target)),
            None => Ok(Decision::WriteFirst),
        }
    }

    /// The write that replaces a read.
    fn as_write(&self, read: Target) -> Target {
        let direction = Direction::Write;
        let (shortest, longest) = (self.plan.shortest[direction], self.plan.longest[direction]);
        let fits = (shortest..=longest).contains(&u64::from(read.length));
        Target { direction, length: if fits { read.length } else { shortest as u32 }, ..read }
    }

    /// Decides on a trim, which resets a zone. Random trims choose zones with data.
    fn admit_trim(&mut self, target: Target) -> Decision {
        let file = &self.files[target.file as usize];
        let locked = self.table.lock(file.slot);
        let drawn = file.zone_at(target.offset);
        let has_data = |locked: &Locked<'_>, zone: usize| {
            let zone = &locked.zones[zone];
            zone.write_pointer > 0 && !zone.is_conventional && !zone.is_dead
        };
        let chosen = match self.plan.random {
            true => nearest(file, drawn, |zone| has_data(&locked, zone)),
            false => Some(drawn),
        };
        let Some(number) = chosen else { return Decision::FileDone };
        let zone = &mut locked.zones[number];
        let target = Target { offset: file.start_of(number), ..target };
        if zone.is_conventional || zone.is_dead {
            zone.in_flight += 1;
            return Decision::Issue { target, behind: file.start_behind(number) };
        }
        if zone.in_flight > 0 || zone.is_resetting {
            return Decision::Wait;
        }
        zone.in_flight = 1;
        zone.is_resetting = true;
        Decision::Reset(target)
    }

    /// Counts an I/O whose position is already fixed.
    pub fn enter(&mut self, target: Target) {
        let file = &self.files[target.file as usize];
        self.table.lock(file.slot).zones[file.zone_at(target.offset)].in_flight += 1;
    }

    /// Records that an admitted write has been submitted, after which other workers may get positions after it.
    pub fn handed_over(&mut self, target: Target) {
        let file = &self.files[target.file as usize];
        let locked = self.table.lock(file.slot);
        let zone = &mut locked.zones[file.zone_at(target.offset)];
        // These writes are counted only where writes out of order would fail.
        zone.placed = zone.placed.saturating_sub(1);
    }

    /// True if [`handed_over`](ZoneRules::handed_over) must be called.
    pub fn hears_of_handing_over(&self) -> bool {
        self.plan.write_order == WriteOrder::HandingOver && self.files.iter().any(|file| file.is_device)
    }

    /// Offset at which a sequential job continues after a trimmed zone.
    pub fn behind_trim(&self, target: Target) -> u64 {
        let file = &self.files[target.file as usize];
        file.start_behind(file.zone_at(target.offset))
    }

    /// Performs a reset; returns a result like that of an I/O.
    pub fn reset_for_trim(&mut self, target: Target) -> i64 {
        let file = &mut self.files[target.file as usize];
        match file.device.reset(target.offset, file.zone_size) {
            Ok(()) => i64::from(target.length),
            Err(errno) => -i64::from(errno.0),
        }
    }

    /// Discards I/O in flight of workers that were lost, for which this worker would wait forever.
    pub fn forget_lost(&mut self) {
        for file in &self.files {
            self.table.lock(file.slot).forget_in_flight();
        }
    }
}

/// The zone nearest to `from` that `fits` accepts. Of two zones at the same distance, the later one is
/// returned.
fn nearest(file: &ZonedFile, from: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
    let zones = file.zones();
    (0..zones.len())
        .flat_map(|distance| [from + distance, from.wrapping_sub(distance)])
        .find(|zone| zones.contains(zone) && fits(*zone))
}

/// Chooses the positions of reads.
struct Reads<'a> {
    file: &'a ZonedFile,
    locked: &'a Locked<'a>,
    shortest: u64,
    beyond: bool,
}

impl Reads<'_> {
    /// Number of readable bytes in a zone.
    fn readable(&self, number: usize) -> u64 {
        let zone = &self.locked.zones[number];
        match () {
            () if zone.is_conventional || self.beyond => self.file.zone_size,
            () if zone.is_resetting => 0,
            () => zone.readable,
        }
    }

    /// A position in the drawn zone, or in the nearest zone with data. Offsets beyond the data are wrapped into
    /// it.
    fn random(&self, target: Target) -> Option<(Target, u64)> {
        if self.crosses_zones(target) {
            return Some((target, target.offset + u64::from(target.length)));
        }
        let drawn = self.file.zone_at(target.offset);
        let number = nearest(self.file, drawn, |zone| self.readable(zone) >= self.shortest)?;
        let readable = self.readable(number);
        let length = self.cut(u64::from(target.length), readable);
        let within = target.offset % self.file.zone_size;
        let within = match readable - length {
            _ if within + length <= readable => within,
            0 => 0,
            spare => within % spare / self.shortest * self.shortest,
        };
        let offset = self.file.start_of(number) + within;
        Some((Target { offset, length: length as u32, ..target }, offset + length))
    }

    /// The job's current position, or the start of the next zone with data.
    fn sequential(&self, target: Target) -> Option<(Target, u64)> {
        if self.crosses_zones(target) {
            return Some((target, target.offset + u64::from(target.length)));
        }
        let mut offset = target.offset;
        for _ in self.file.zones() {
            let number = self.file.zone_at(offset);
            let within = offset % self.file.zone_size;
            let left = self.readable(number).saturating_sub(within);
            if left >= self.shortest {
                let length = self.cut(u64::from(target.length), left);
                let zone_is_over = self.locked.is_full(number) && left - length < self.shortest;
                let behind = if zone_is_over { self.file.start_behind(number) } else { offset + length };
                return Some((Target { offset, length: length as u32, ..target }, behind));
            }
            offset = self.file.start_behind(number);
            if offset >= self.file.end {
                return None;
            }
        }
        None
    }

    /// True if write pointers do not matter, so that blocks stay where they would be without zones.
    fn crosses_zones(&self, target: Target) -> bool {
        let last = target.offset + u64::from(target.length.max(1)) - 1;
        self.beyond && self.file.zone_at(target.offset) != self.file.zone_at(last) && last < self.file.end
    }

    /// Limits a length to `room`; a shortened length is a multiple of the shortest block.
    fn cut(&self, length: u64, room: u64) -> u64 {
        if length <= room { length } else { room / self.shortest * self.shortest }
    }
}
