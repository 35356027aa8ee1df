//! Zone state that all workers of a run share: one slot per file, one record per zone. Each slot has a lock,
//! which is held only briefly, for a decision on one I/O or for one command to the device. If a worker dies
//! while holding it, the next worker takes the lock over.

use super::device::ZonedDevice;
use super::error::ZoneError;
use super::geometry::Geometry;
use crate::files::names::planned_paths;
use crate::plan::Plan;
use crate::plan::model::zones::ZonePlan;
use fathom_sys::memory::Mapping;
use fathom_sys::zoned::Condition;
use fathom_sys::{Errno, futex, process};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Upper bound of the limit on open zones, as in the options.
pub const MOST_OPEN: usize = 4096;
/// Number of zones of all files together. Their memory costs nothing until it is used.
const POOL: usize = 1 << 22;
/// Maximum number of files with zones.
const MOST_FILES: usize = 1024;

/// The state of one zone. All-zero memory is an empty zone.
#[derive(Default)]
#[repr(C)]
pub struct Zone {
    /// Position of the next write, relative to the start of the zone.
    pub write_pointer: u64,
    /// Number of bytes from the start whose writes have completed.
    pub readable: u64,
    /// Usable bytes; 0 if the capacity in the file's geometry applies.
    pub own_capacity: u64,
    /// Start of the first failed write, plus 1; 0 for none.
    pub hole: u64,
    /// Number of I/Os in flight in this zone.
    pub in_flight: u32,
    /// Number of writes in flight in this zone.
    pub writes_in_flight: u32,
    /// Number of writes that have a position in the zone but are not submitted yet.
    pub placed: u32,
    /// Index of the worker with these positions, plus 1.
    pub placed_by: u32,
    /// Index of the worker that opened the zone, plus 1; 0 if it is not open.
    pub opener: u32,
    /// True for a conventional zone, which has no write pointer.
    pub is_conventional: bool,
    /// True if the zone can no longer be written.
    pub is_dead: bool,
    /// True if the zone will be finished once its writes have completed.
    pub is_finishing: bool,
    /// True while the zone is being reset.
    pub is_resetting: bool,
}

/// State of a file with zones.
#[repr(C)]
pub struct FileZones {
    identity: [u64; 2],
    /// Distance between the starts of two zones in bytes; 0 if the slot is free.
    pub zone_size: u64,
    capacity: u64,
    /// `max_open_zones` of the jobs that use the file.
    asked_limit: u32,
    /// Maximum number of open zones; 0 for no limit.
    pub limit: u32,
    /// The zones that any job uses: index of the first, and the end.
    used: [u64; 2],
    /// Number of workers that write.
    pub writers: u32,
    /// The part used by the first writing job: first byte and end.
    written: [u64; 2],
    /// Total capacity of the used zones, and the bytes that they hold.
    pub used_capacity: u64,
    /// See `used_capacity`.
    pub filled: u64,
    open_count: u32,
    /// True if workers were lost, so that their I/O in flight no longer counts.
    pub has_lost: bool,
    /// Open zones in the order of opening; kept only if a limit applies.
    open: [u32; MOST_OPEN],
}

#[repr(C)]
struct Lock {
    /// Process that holds the lock; 0 if it is free.
    owner: AtomicU32,
    waiters: AtomicU32,
}

#[repr(C)]
struct Slot {
    lock: Lock,
    file: UnsafeCell<FileZones>,
}

impl Lock {
    fn take(&self) {
        const PATIENCE: Duration = Duration::from_millis(1);
        let own = process::own_pid();
        let mut tries = 0u32;
        while let Err(owner) = self.owner.compare_exchange(0, own, Ordering::Acquire, Ordering::Relaxed) {
            tries += 1;
            // A lock holder that died will never release the lock.
            if tries.is_multiple_of(64) && owner != own && !process::exists(owner) {
                let _ = self.owner.compare_exchange(owner, 0, Ordering::Relaxed, Ordering::Relaxed);
                continue;
            }
            if tries < 32 {
                std::hint::spin_loop();
                continue;
            }
            self.waiters.fetch_add(1, Ordering::Relaxed);
            futex::wait_while(&self.owner, owner, Some(PATIENCE));
            self.waiters.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn give(&self) {
        if self.waiters.load(Ordering::Relaxed) == 0 {
            self.owner.store(0, Ordering::Release);
        } else {
            futex::set_and_wake(&self.owner, 0);
        }
    }
}

/// The zones of all files of a run.
pub struct ZoneTable {
    slots: Mapping,
    zones: Mapping,
    files: usize,
    zones_per_file: usize,
}

/// A worker's request for the zones of a file.
pub struct Wanted<'a> {
    /// Two numbers that identify the file.
    pub identity: [u64; 2],
    /// Name for messages.
    pub name: &'a str,
    /// Its zones.
    pub geometry: &'a Geometry,
    /// First byte that the worker uses.
    pub start: u64,
    /// Number of bytes that the worker uses.
    pub size: u64,
}

impl Wanted<'_> {
    fn range(&self) -> [u64; 2] {
        [self.start, self.start + self.size]
    }
}

impl ZoneTable {
    /// Allocates memory for the jobs of a plan; `None` if no job uses zones.
    pub fn for_plan(plan: &Plan) -> Result<Option<ZoneTable>, Errno> {
        let zoned = plan.workers.iter().filter(|worker| worker.zones.is_some());
        let files: usize = zoned
            .map(|worker| {
                let names = &worker.files.names;
                // The files of a directory are not known yet, so more slots are reserved.
                let more = if names.opened_directory.is_some() { 64 } else { 0 };
                planned_paths(names).len().max(1) + more
            })
            .sum();
        if files == 0 { Ok(None) } else { ZoneTable::new(files.min(MOST_FILES)).map(Some) }
    }

    /// Allocates memory for this many files.
    pub fn new(files: usize) -> Result<ZoneTable, Errno> {
        let zones_per_file = (POOL / files.max(1)).clamp(4096, 1 << 20);
        Ok(ZoneTable {
            slots: Mapping::shared(std::mem::size_of::<Slot>() * files)?,
            zones: Mapping::shared(std::mem::size_of::<Zone>() * files * zones_per_file)?,
            files,
            zones_per_file,
        })
    }

    fn slot(&self, index: usize) -> &Slot {
        assert!(index < self.files);
        // SAFETY: the mapping has room for that many slots, is page aligned, and zeros are a valid slot.
        // Non-atomic parts are only accessed under the lock.
        unsafe { &*self.slots.address().cast::<Slot>().add(index) }
    }

    /// Takes the lock of a file.
    pub fn lock(&self, index: usize) -> Locked<'_> {
        let slot = self.slot(index);
        slot.lock.take();
        let first = index * self.zones_per_file;
        // SAFETY: the lock is held until the guard is dropped, and the file and its zones are not accessed
        // without it; the ranges of two files are disjoint, and zeros are valid in both.
        let (file, zones) = unsafe {
            let zones = self.zones.address().cast::<Zone>().add(first);
            (&mut *slot.file.get(), std::slice::from_raw_parts_mut(zones, self.zones_per_file))
        };
        Locked { lock: &slot.lock, file, zones }
    }

    /// Finds the slot of a file, or takes a new one.
    pub fn attach(
        &self,
        wanted: &Wanted<'_>,
        plan: &ZonePlan,
        device: &mut dyn ZonedDevice,
    ) -> Result<usize, ZoneError> {
        for index in 0..self.files {
            let mut locked = self.lock(index);
            if locked.file.zone_size == 0 {
                self.check_room(wanted)?;
                locked.begin(wanted, plan, device)?;
            } else if locked.file.identity != wanted.identity {
                continue;
            } else {
                self.check_room(wanted)?;
                locked.check_agreement(wanted, plan)?;
            }
            locked.count_used(wanted, plan);
            return Ok(index);
        }
        Err(ZoneError::TooManyFiles { name: wanted.name.to_owned(), most: self.files })
    }

    fn check_room(&self, wanted: &Wanted<'_>) -> Result<(), ZoneError> {
        let zones = wanted.start.saturating_add(wanted.size).div_ceil(wanted.geometry.zone_size);
        if zones <= self.zones_per_file as u64 {
            return Ok(());
        }
        Err(ZoneError::TooManyZones { name: wanted.name.to_owned(), zones, most: self.zones_per_file })
    }
}

/// A locked file.
pub struct Locked<'a> {
    lock: &'a Lock,
    /// The file.
    pub file: &'a mut FileZones,
    /// Its zones.
    pub zones: &'a mut [Zone],
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.lock.give();
    }
}

impl Locked<'_> {
    fn begin(
        &mut self,
        wanted: &Wanted<'_>,
        plan: &ZonePlan,
        device: &mut dyn ZonedDevice,
    ) -> Result<(), ZoneError> {
        self.file.identity = wanted.identity;
        self.file.capacity = wanted.geometry.capacity;
        self.file.asked_limit = plan.max_open;
        self.file.limit = limit(wanted, plan)?;
        self.file.used = [u64::MAX, 0];
        (self.file.written, self.file.writers) = ([0, 0], 0);
        self.file.open_count = 0;
        self.read_report(wanted, device)?;
        // The zone size is set last, because from then on other workers find the slot.
        self.file.zone_size = wanted.geometry.zone_size;
        Ok(())
    }

    /// Reads the state of the zones from the device.
    fn read_report(&mut self, wanted: &Wanted<'_>, device: &mut dyn ZonedDevice) -> Result<(), ZoneError> {
        let zone_size = wanted.geometry.zone_size;
        let name = || wanted.name.to_owned();
        let failed = |errno: Errno| ZoneError::NoReport { name: name(), errno };
        let mut offset = 0;
        while let Some(list) = device.report(offset).map_err(failed)? {
            let Some(last) = list.last() else { break };
            let behind = last.start.saturating_add(last.length);
            if behind <= offset {
                return Err(ZoneError::EndlessReport { name: name(), offset });
            }
            offset = behind;
            for report in &list {
                let start = report.start;
                if !start.is_multiple_of(zone_size) || report.capacity.max(report.written) > zone_size {
                    return Err(ZoneError::Misplaced { name: name(), start, zone_size });
                }
                let number = (start / zone_size) as usize;
                let Some(zone) = self.zones.get_mut(number) else { return Ok(()) };
                *zone = Zone {
                    write_pointer: report.written,
                    readable: report.written,
                    own_capacity: report.capacity,
                    is_conventional: report.condition == Condition::Conventional,
                    is_dead: matches!(report.condition, Condition::ReadOnly | Condition::Offline),
                    ..Zone::default()
                };
                if report.condition == Condition::Active && !self.open_zone(number, 0) {
                    return Err(ZoneError::TooManyOpen { name: name(), limit: self.file.limit });
                }
            }
        }
        Ok(())
    }

    fn check_agreement(&self, wanted: &Wanted<'_>, plan: &ZonePlan) -> Result<(), ZoneError> {
        let name = || wanted.name.to_owned();
        let (size, own) = (wanted.geometry.zone_size, self.file.zone_size);
        if size != own {
            return Err(ZoneError::OtherSize { name: name(), size, own });
        }
        if wanted.geometry.capacity != self.file.capacity {
            let (capacity, own) = (wanted.geometry.capacity, self.file.capacity);
            return Err(ZoneError::OtherCapacity { name: name(), capacity, own });
        }
        if plan.max_open != self.file.asked_limit {
            return Err(ZoneError::OtherLimit { name: name() });
        }
        let others = self.file.written;
        if plan.writes && plan.reset_threshold.is_some() && others != [0, 0] && others != wanted.range() {
            return Err(ZoneError::OtherRange);
        }
        check_own_limit(plan, self.file.limit)
    }

    /// Counts the zones of a worker as used.
    fn count_used(&mut self, wanted: &Wanted<'_>, plan: &ZonePlan) {
        let size = self.file.zone_size;
        let [first, end] = self.file.used;
        self.file.writers += u32::from(plan.writes);
        // The reset threshold refers to the part that is written.
        if plan.writes && self.file.written == [0, 0] {
            self.file.written = wanted.range();
        }
        self.file.used = [first.min(wanted.start / size), end.max((wanted.start + wanted.size) / size)];
        let written = self.file.written.map(|offset| (offset / size) as usize);
        let sequential = || (written[0]..written[1]).filter(|&number| !self.zones[number].is_conventional);
        let capacity = sequential().map(|number| self.capacity(number)).sum();
        let filled = sequential().map(|number| self.zones[number].write_pointer).sum();
        (self.file.used_capacity, self.file.filled) = (capacity, filled);
    }

    /// Usable bytes of a zone.
    pub fn capacity(&self, number: usize) -> u64 {
        match self.zones[number].own_capacity {
            0 => self.file.capacity,
            own => own,
        }
    }

    /// True if a zone accepts no more data.
    pub fn is_full(&self, number: usize) -> bool {
        self.zones[number].write_pointer >= self.capacity(number)
    }

    /// Open zones in the order of opening.
    pub fn open_zones(&self) -> &[u32] {
        &self.file.open[..self.file.open_count as usize]
    }

    /// Opens a zone; false if the limit is reached.
    pub fn open_zone(&mut self, number: usize, worker: u32) -> bool {
        if self.file.limit > 0 {
            let count = self.file.open_count;
            if count >= self.file.limit || count as usize >= MOST_OPEN {
                return false;
            }
            self.file.open[count as usize] = number as u32;
            self.file.open_count = count + 1;
        }
        self.zones[number].opener = worker + 1;
        true
    }

    /// Closes a zone.
    pub fn close_zone(&mut self, number: usize) {
        let count = self.file.open_count as usize;
        if let Some(place) = self.open_zones().iter().position(|&open| open as usize == number) {
            self.file.open.copy_within(place + 1..count, place);
            self.file.open_count -= 1;
        }
        self.zones[number].opener = 0;
    }

    /// Moves a write pointer, and counts the data in the zones.
    pub fn set_write_pointer(&mut self, number: usize, position: u64) {
        let before = std::mem::replace(&mut self.zones[number].write_pointer, position);
        self.file.filled = self.file.filled.saturating_sub(before) + position;
    }

    /// Marks a zone as empty.
    pub fn empty(&mut self, number: usize) {
        self.set_write_pointer(number, 0);
        self.close_zone(number);
        let zone = &mut self.zones[number];
        (zone.readable, zone.hole) = (0, 0);
        (zone.is_finishing, zone.is_resetting) = (false, false);
    }

    /// Discards the I/O in flight of workers that were lost, because it never completes.
    pub fn forget_in_flight(&mut self) {
        self.file.has_lost = true;
        let used = self.file.used[0] as usize..self.file.used[1] as usize;
        for zone in &mut self.zones[used] {
            (zone.in_flight, zone.writes_in_flight, zone.placed, zone.is_resetting) = (0, 0, 0, false);
        }
    }
}

/// Maximum number of open zones.
fn limit(wanted: &Wanted<'_>, plan: &ZonePlan) -> Result<u32, ZoneError> {
    let of_device = if plan.ignores_limits { 0 } else { wanted.geometry.limit };
    if of_device > 0 && plan.max_open > of_device {
        let (name, asked) = (wanted.name.to_owned(), plan.max_open);
        return Err(ZoneError::AboveDevice { name, asked, allowed: of_device });
    }
    let limit = if plan.max_open > 0 { plan.max_open } else { of_device.min(MOST_OPEN as u32) };
    check_own_limit(plan, limit).map(|()| limit)
}

fn check_own_limit(plan: &ZonePlan, limit: u32) -> Result<(), ZoneError> {
    if plan.job_max_open > 0 && limit == 0 {
        return Err(ZoneError::NoLimit);
    }
    Ok(())
}
