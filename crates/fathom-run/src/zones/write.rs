//! Chooses the positions of writes, and prepares their zones.

use super::rules::{Decision, ZoneRules, ZonedFile};
use super::table::{Locked, Zone};
use crate::plan::model::zones::WriteOrder;
use crate::targets::Target;
use fathom_stats::Direction;
use fathom_sys::Errno;

/// Result of trying one zone.
enum Step {
    Done(Decision),
    /// Try the zone that contains this byte.
    GoTo(u64),
}

impl ZoneRules<'_> {
    /// Moves a write to the write pointer of a zone: normally the zone that it was drawn for, one of the open
    /// zones if no more may be opened, or, in a sequential job, the next zone if the drawn one is full.
    pub(super) fn admit_write(&mut self, target: Target) -> Result<Decision, Errno> {
        let mut position = target.offset;
        let table = self.table;
        let mut files = std::mem::take(&mut self.files);
        let result = self.try_zones(&mut files[target.file as usize], table, target, &mut position);
        self.files = files;
        result
    }

    fn try_zones(
        &mut self,
        file: &mut ZonedFile,
        table: &super::table::ZoneTable,
        target: Target,
        position: &mut u64,
    ) -> Result<Decision, Errno> {
        let mut locked = table.lock(file.slot);
        // Each zone may be tried twice: once to be finished, once to be left.
        for _ in 0..file.zones().len() * 2 + 2 {
            if *position >= file.end {
                break;
            }
            match self.write_at(file, &mut locked, Target { offset: *position, ..target })? {
                Step::Done(decision) => return Ok(decision),
                Step::GoTo(offset) => *position = offset,
            }
        }
        Ok(Decision::FileDone)
    }

    fn write_at(
        &mut self,
        file: &mut ZonedFile,
        locked: &mut Locked<'_>,
        target: Target,
    ) -> Result<Step, Errno> {
        let drawn = file.zone_at(target.offset);
        if locked.zones[drawn].is_dead {
            return Ok(Step::GoTo(self.start_after(file, drawn)));
        }
        if locked.zones[drawn].is_conventional {
            return Ok(write_anywhere(file, locked, target));
        }
        if !self.may_write(file, locked, drawn) {
            return Ok(match self.zone_with_room(file, locked, target.offset, drawn) {
                Some(number) => Step::GoTo(file.start_of(number)),
                None => Step::Done(Decision::FileDone),
            });
        }
        let number = match self.place(file, locked, target.offset, drawn)? {
            Some(number) => number,
            None => return Ok(Step::Done(Decision::Wait)),
        };
        let zone = &locked.zones[number];
        if zone.is_resetting {
            return Ok(Step::Done(Decision::Wait));
        }
        let is_full = locked.is_full(number) || zone.is_finishing;
        let at_start = target.offset == file.start_of(number);
        // A sequential job that finds its zone filled by another job continues at the start of the next zone.
        if is_full && !self.plan.random && !at_start && !self.shares_writes(locked) {
            return Ok(Step::GoTo(self.start_after(file, number)));
        }
        if is_full || self.is_reset_for_threshold(locked, number) {
            if locked.zones[number].in_flight > 0 || locked.zones[number].is_finishing {
                return Ok(Step::Done(Decision::Wait));
            }
            file.device.reset(file.start_of(number), file.zone_size)?;
            self.resets += 1;
            if file.is_device {
                self.emptied = Some((target.file, file.start_of(number), file.zone_size));
            }
            locked.empty(number);
        }
        self.append(file, locked, number, target)
    }

    /// True for a sequential job that shares its zones with other writers.
    fn shares_writes(&self, locked: &Locked<'_>) -> bool {
        locked.file.writers > 1 && !self.plan.keeps_data
    }

    /// True if the job must repeat its rounds until it has written all of its bytes, because writes of other
    /// jobs also advance the write pointers.
    pub fn goes_round(&self) -> bool {
        let writes_alone = self.plan.writes && !self.plan.mixed && !self.plan.random;
        writes_alone && self.files.iter().any(|file| self.shares_writes(&self.table.lock(file.slot)))
    }

    /// False for a zone that is full of data from this pass which has yet to be read back.
    fn may_write(&self, file: &ZonedFile, locked: &Locked<'_>, number: usize) -> bool {
        let is_full = locked.is_full(number) || locked.zones[number].is_finishing;
        !is_full || file.written_in.get(number) != Some(&self.pass)
    }

    /// Another zone for a write whose own zone must not be changed: an open one, chosen as in
    /// [`place`](ZoneRules::place), if their number is limited; otherwise the next one with room.
    fn zone_with_room(
        &self,
        file: &ZonedFile,
        locked: &Locked<'_>,
        offset: u64,
        drawn: usize,
    ) -> Option<usize> {
        let is_usable = |number: usize| !locked.zones[number].is_dead && self.may_write(file, locked, number);
        let zones = file.zones();
        if locked.file.limit > 0 {
            let open = locked.open_zones().iter().map(|&zone| zone as usize);
            let open: Vec<usize> = open
                .filter(|number| zones.contains(number) && is_usable(*number) && !locked.is_full(*number))
                .filter(|&number| self.plan.job_max_open == 0 || self.is_own(locked, number as u32))
                .collect();
            let part = u128::from(offset - file.start) * open.len() as u128;
            if let Some(&number) = open.get((part / u128::from(file.end - file.start)) as usize) {
                return Some(number);
            }
        }
        zones.clone().skip_while(|&number| number <= drawn).chain(zones).find(|&number| is_usable(number))
    }

    /// Start of the zone after this one. A random job wraps.
    fn start_after(&self, file: &ZonedFile, number: usize) -> u64 {
        match file.start_behind(number) {
            next if next < file.end || !self.plan.random => next,
            _ => file.start,
        }
    }

    /// The zone to write to: the drawn one if it is open or may be opened, otherwise an open one. `None` if
    /// another zone has to be closed first.
    fn place(
        &self,
        file: &mut ZonedFile,
        locked: &mut Locked<'_>,
        offset: u64,
        drawn: usize,
    ) -> Result<Option<usize>, Errno> {
        if locked.zones[drawn].opener != 0 || locked.file.limit == 0 {
            return Ok(Some(drawn));
        }
        let own = locked.open_zones().iter().filter(|&&zone| self.is_own(locked, zone)).count();
        let no_more_own = self.plan.job_max_open > 0 && own >= self.plan.job_max_open as usize;
        let no_more = locked.open_zones().len() >= locked.file.limit as usize;
        if !no_more && !no_more_own {
            return Ok(Some(drawn));
        }
        let zones = file.zones();
        let fits = |zone: &u32| {
            let number = *zone as usize;
            zones.contains(&number)
                && (!no_more_own || self.is_own(locked, *zone))
                && !locked.is_full(number)
                && !locked.zones[number].is_finishing
                && !locked.zones[number].is_resetting
        };
        let candidates = locked.open_zones().iter().copied().filter(fits);
        let count = candidates.clone().count();
        if count == 0 {
            return self.make_room(file, locked, drawn, no_more_own);
        }
        // The position in the list of open zones corresponds to the position in the file, as in fio.
        let part = u128::from(offset - file.start) * count as u128 / u128::from(file.end - file.start);
        Ok(candidates.clone().nth(part as usize).map(|zone| zone as usize))
    }

    fn is_own(&self, locked: &Locked<'_>, zone: u32) -> bool {
        locked.zones[zone as usize].opener == self.worker + 1
    }

    /// Finishes an open zone without writes in flight, to make room for the drawn zone if this worker's part
    /// has no open zone. Without this, two jobs could wait for each other forever.
    fn make_room(
        &self,
        file: &mut ZonedFile,
        locked: &mut Locked<'_>,
        drawn: usize,
        own_only: bool,
    ) -> Result<Option<usize>, Errno> {
        let idle = locked.open_zones().iter().copied().find(|&zone| {
            locked.zones[zone as usize].in_flight == 0 && (!own_only || self.is_own(locked, zone))
        });
        let Some(idle) = idle else { return Ok(None) };
        finish(file, locked, idle as usize)?;
        Ok(Some(drawn))
    }

    /// Counts a write against the reset threshold; returns true if the zone must be reset before it.
    fn is_reset_for_threshold(&mut self, locked: &Locked<'_>, number: usize) -> bool {
        let (Some(threshold), Some(frequency)) = (self.plan.reset_threshold, self.plan.reset_frequency)
        else {
            return false;
        };
        if (locked.file.filled as f64) < threshold * locked.file.used_capacity as f64 {
            return false;
        }
        self.writes_beyond += 1;
        let zone = &locked.zones[number];
        let is_due = self.writes_beyond as f64 >= 1.0 / frequency;
        // Resetting an empty zone would have no effect.
        if !is_due || zone.write_pointer == 0 {
            return false;
        }
        if zone.in_flight == 0 {
            self.writes_beyond = 0;
        }
        true
    }

    /// True if a write placed now could reach the device before one that was placed earlier.
    fn may_overtake(&self, zone: &Zone) -> bool {
        let waits_for_another = zone.placed > 0 && zone.placed_by != self.worker + 1;
        let waits_for_any = self.plan.write_order == WriteOrder::Nothing && zone.writes_in_flight > 0;
        waits_for_another || waits_for_any
    }

    /// Takes the next bytes of a zone that has space.
    fn append(
        &mut self,
        file: &mut ZonedFile,
        locked: &mut Locked<'_>,
        number: usize,
        target: Target,
    ) -> Result<Step, Errno> {
        if file.is_device && self.may_overtake(&locked.zones[number]) {
            return Ok(Step::Done(Decision::Wait));
        }
        let shortest = self.plan.shortest[Direction::Write];
        let position = locked.zones[number].write_pointer;
        let room = locked.capacity(number) - position;
        let length = match u64::from(target.length) {
            length if length <= room => length,
            _ if room >= shortest => room / shortest * shortest,
            _ if self.plan.writes_remainder => room,
            _ if locked.zones[number].writes_in_flight > 0 => return Ok(Step::Done(Decision::Wait)),
            _ => {
                finish(file, locked, number)?;
                return Ok(Step::GoTo(if self.plan.random {
                    target.offset
                } else {
                    file.start_behind(number)
                }));
            }
        };
        if locked.zones[number].opener == 0 && !locked.open_zone(number, self.worker) {
            return Ok(Step::Done(Decision::Wait));
        }
        locked.set_write_pointer(number, position + length);
        if let Some(pass) = file.written_in.get_mut(number) {
            *pass = self.pass;
        }
        let left = room - length;
        let zone = &mut locked.zones[number];
        zone.in_flight += 1;
        zone.writes_in_flight += 1;
        if file.is_device {
            (zone.placed, zone.placed_by) = (zone.placed + 1, self.worker + 1);
        }
        zone.is_finishing = left > 0 && left < shortest && !self.plan.writes_remainder;
        let zone_is_over = left == 0 || zone.is_finishing;
        let offset = file.start_of(number) + position;
        let behind = if zone_is_over { file.start_behind(number) } else { offset + length };
        let target = Target { offset, length: length as u32, ..target };
        Ok(Step::Done(Decision::Issue { target, behind }))
    }
}

/// Places a write in a conventional zone, which accepts writes at any position; a write must not extend into
/// the next zone.
fn write_anywhere(file: &ZonedFile, locked: &mut Locked<'_>, target: Target) -> Step {
    let number = file.zone_at(target.offset);
    let room = file.start_of(number + 1) - target.offset;
    let length = u64::from(target.length).min(room);
    locked.zones[number].in_flight += 1;
    locked.zones[number].writes_in_flight += 1;
    let target = Target { length: length as u32, ..target };
    let behind = if length == room { file.start_behind(number) } else { target.offset + length };
    Step::Done(Decision::Issue { target, behind })
}

/// Finishes a zone without writes in flight.
pub(super) fn finish(file: &mut ZonedFile, locked: &mut Locked<'_>, number: usize) -> Result<(), Errno> {
    file.device.finish(file.start_of(number), file.zone_size)?;
    let capacity = locked.capacity(number);
    locked.set_write_pointer(number, capacity);
    locked.zones[number].is_finishing = false;
    locked.close_zone(number);
    Ok(())
}
