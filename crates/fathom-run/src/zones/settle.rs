//! The effect of a completed I/O on its zone.

use super::rules::{ZoneRules, ZonedFile};
use super::table::Locked;
use super::write::finish;
use crate::invariant::holds;
use crate::plan::model::zones::WriteOrder;
use crate::targets::Target;
use fathom_stats::Direction;
use fathom_sys::Errno;

impl ZoneRules<'_> {
    /// Handles the completion of an admitted I/O. `moved` is false if it failed.
    pub fn settle(&mut self, target: Target, moved: bool) -> Result<(), Errno> {
        let recovers = self.plan.recovers;
        let file = &mut self.files[target.file as usize];
        let mut locked = self.table.lock(file.slot);
        let number = file.zone_at(target.offset);
        let has_lost = locked.file.has_lost;
        let zone = &mut locked.zones[number];
        one_less(&mut zone.in_flight, has_lost, number);
        match target.direction {
            Direction::Read => Ok(()),
            Direction::Trim if zone.is_resetting && moved => {
                // Resetting an empty zone does not count as a reset.
                self.resets += u64::from(zone.write_pointer > 0);
                locked.empty(number);
                if file.is_device {
                    self.emptied = Some((target.file, file.start_of(number), file.zone_size));
                }
                Ok(())
            }
            Direction::Trim => {
                zone.is_resetting = false;
                Ok(())
            }
            Direction::Write if zone.is_conventional => {
                one_less(&mut zone.writes_in_flight, has_lost, number);
                Ok(())
            }
            Direction::Write => {
                one_less(&mut zone.writes_in_flight, has_lost, number);
                if self.plan.write_order != WriteOrder::HandingOver {
                    zone.placed = zone.placed.saturating_sub(1);
                }
                note_end(&mut locked, number, target, file, moved);
                close_if_quiet(file, &mut locked, number, recovers)
            }
        }
    }

    /// Retracts an admitted write that will not be issued.
    pub fn retract(&mut self, target: Target) {
        let file = &mut self.files[target.file as usize];
        let mut locked = self.table.lock(file.slot);
        let number = file.zone_at(target.offset);
        let within = target.offset % file.zone_size;
        let is_last = locked.zones[number].write_pointer == within + u64::from(target.length);
        let is_sequential_write =
            target.direction == Direction::Write && !locked.zones[number].is_conventional;
        let has_lost = locked.file.has_lost;
        let zone = &mut locked.zones[number];
        one_less(&mut zone.in_flight, has_lost, number);
        if target.direction == Direction::Write {
            one_less(&mut zone.writes_in_flight, has_lost, number);
            zone.placed = zone.placed.saturating_sub(1);
        }
        zone.is_resetting = false;
        if is_sequential_write && is_last {
            zone.is_finishing = false;
            locked.set_write_pointer(number, within);
        } else if is_sequential_write {
            mark_hole(&mut locked, number, within);
        }
    }
}

/// Decrements a counter of a zone. After workers were lost, completions may arrive that were already discarded.
fn one_less(count: &mut u32, has_lost: bool, number: usize) {
    holds!(*count > 0 || has_lost, Zone, "zone {number}");
    *count = count.saturating_sub(1);
}

/// Advances the end of the readable data.
fn note_end(locked: &mut Locked<'_>, number: usize, target: Target, file: &ZonedFile, moved: bool) {
    let within = target.offset % file.zone_size;
    if !moved {
        return mark_hole(locked, number, within);
    }
    let zone = &mut locked.zones[number];
    if zone.hole != 0 {
        return;
    }
    // Writes usually complete in order. Otherwise, the last one to complete makes all data readable.
    if zone.readable == within {
        zone.readable = within + u64::from(target.length);
    }
    if zone.writes_in_flight == 0 {
        zone.readable = zone.write_pointer;
    }
}

fn mark_hole(locked: &mut Locked<'_>, number: usize, within: u64) {
    let zone = &mut locked.zones[number];
    zone.hole = if zone.hole == 0 { within + 1 } else { zone.hole.min(within + 1) };
    zone.readable = zone.readable.min(within);
}

/// Performs the actions that wait until all writes in a zone have completed: recovery, finishing, closing.
fn close_if_quiet(
    file: &mut ZonedFile,
    locked: &mut Locked<'_>,
    number: usize,
    recovers: bool,
) -> Result<(), Errno> {
    if locked.zones[number].writes_in_flight > 0 {
        return Ok(());
    }
    if locked.zones[number].hole != 0 && recovers {
        recover(file, locked, number)?;
    }
    if locked.zones[number].is_finishing {
        finish(file, locked, number)?;
    } else if locked.is_full(number) || locked.zones[number].write_pointer == 0 {
        locked.close_zone(number);
    }
    Ok(())
}

/// Recovers a zone after a failed write: the write pointer is read from the device, or set to the start of the
/// failed write.
fn recover(file: &mut ZonedFile, locked: &mut Locked<'_>, number: usize) -> Result<(), Errno> {
    let report = file.device.report(file.start_of(number))?;
    let failed_at = locked.zones[number].hole - 1;
    let position = match report.as_deref() {
        Some([first, ..]) => first.written,
        _ => failed_at,
    };
    locked.set_write_pointer(number, position);
    let zone = &mut locked.zones[number];
    (zone.hole, zone.readable, zone.is_finishing) = (0, position, false);
    Ok(())
}
