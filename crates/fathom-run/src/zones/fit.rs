//! The geometry of a file's zones, and the part of it that consists of whole zones.

use crate::cause::Cause;
use crate::files::entry::{FileEntry, FileError, FileKind};
use crate::plan::WorkerPlan;
use crate::plan::model::zones::ZonePlan;
use crate::storage::Storage;
use crate::zones::device::OwnZones;
use crate::zones::geometry::Geometry;
use fathom_stats::Direction;
use fathom_sys::{file, zoned};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Determines the zones of each file of a job.
pub fn look_at(
    storage: &dyn Storage,
    plan: &WorkerPlan,
    rules: &ZonePlan,
    entries: &[FileEntry],
) -> Result<Vec<Geometry>, FileError> {
    entries.iter().map(|entry| geometry_of(storage, plan, rules, entry)).collect()
}

fn geometry_of(
    storage: &dyn Storage,
    plan: &WorkerPlan,
    rules: &ZonePlan,
    entry: &FileEntry,
) -> Result<Geometry, FileError> {
    let name = entry.name();
    let refuse = |text: String| Err(FileError::without_line(format!("{name}: {text}")));
    let on_device = match entry.kind {
        FileKind::Character => {
            return refuse("zonemode=zbd needs a regular file or a block device".to_owned());
        }
        FileKind::Medium => storage.own_zones(entry, false)?.map(|OwnZones { zone_size, limit, .. }| {
            Geometry { zone_size, capacity: zone_size, is_device: true, limit, notes: Vec::new() }
        }),
        FileKind::Block => zones_of_device(entry)?,
        _ => None,
    };
    let geometry = match on_device {
        Some(found) if rules.zone_size != 0 && rules.zone_size != found.zone_size => {
            let (asked, found) = (rules.zone_size, found.zone_size);
            return refuse(format!("zonesize {asked} does not match the device zone size {found}."));
        }
        Some(found) => found,
        None if rules.zone_size == 0 => {
            return refuse(
                "Specifying the zone size is mandatory for regular file/block device with --zonemode=zbd"
                    .to_owned(),
            );
        }
        None if rules.zone_size < 512 => {
            return refuse("zone size must be at least 512 bytes for --zonemode=zbd".to_owned());
        }
        None => {
            let capacity = if rules.capacity > 0 { rules.capacity } else { rules.zone_size };
            Geometry { zone_size: rules.zone_size, capacity, is_device: false, limit: 0, notes: Vec::new() }
        }
    };
    if geometry.capacity > geometry.zone_size {
        let Geometry { capacity, zone_size, .. } = geometry;
        return refuse(format!("job parameter zonecapacity {capacity} is larger than zone size {zone_size}"));
    }
    check_skip(rules, &geometry, &name)?;
    // Only block devices have a page cache, which may write at any time.
    let has_cache = geometry.is_device && entry.kind == FileKind::Block;
    if has_cache && plan.changes_data() && !plan.files.opening.direct {
        return Err(FileError::without_line(format!(
            "Using direct I/O is mandatory for writing to ZBD drives\nfathom: {name} is one: add direct=1"
        )));
    }
    Ok(geometry)
}

fn check_skip(plan: &ZonePlan, geometry: &Geometry, name: &str) -> Result<(), FileError> {
    let (skip, zone_size) = (plan.skip_bytes(geometry.zone_size), geometry.zone_size);
    if skip % zone_size != 0 {
        let text = format!("{name}: zoneskip {skip} is not a multiple of the device zone size {zone_size}.");
        return Err(FileError::without_line(text));
    }
    Ok(())
}

/// Reads a queue setting of the block device with this number.
fn queue_setting(device: u64, name: &str) -> Option<String> {
    let base = format!("/sys/dev/block/{}:{}", libc::major(device), libc::minor(device));
    // A partition uses the queue of its disk.
    let text = ["queue", "../queue"]
        .iter()
        .find_map(|queue| std::fs::read_to_string(Path::new(&base).join(queue).join(name)).ok());
    text.map(|text| text.trim().to_owned())
}

fn has_zones(device: u64) -> bool {
    matches!(queue_setting(device, "zoned").as_deref(), Some("host-managed" | "host-aware"))
}

/// True for a block device with zones that require sequential writes.
pub fn is_zoned(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device() && has_zones(found.rdev()))
}

/// Zone geometry of a block device, from sysfs and the kernel; `None` for a device without zones.
fn zones_of_device(entry: &FileEntry) -> Result<Option<Geometry>, FileError> {
    let metadata = std::fs::metadata(&entry.path)
        .map_err(|error| FileError::of_call(error.into(), "stat", &entry.path))?;
    let device = metadata.rdev();
    if !has_zones(device) {
        return Ok(None);
    }
    let failed = |call: &'static str| move |errno| FileError::of_call(errno, call, &entry.path);
    let descriptor = file::open(&entry.path, libc::O_RDONLY, 0).map_err(failed("open"))?;
    let zone_size = zoned::zone_size(descriptor.as_raw_fd()).map_err(failed("zone size"))?;
    if zone_size == 0 {
        return Ok(None);
    }
    // A zone that was written but not finished counts against both limits, even if it is not open.
    let limits = ["max_open_zones", "max_active_zones"]
        .map(|name| queue_setting(device, name).and_then(|text| text.parse().ok()));
    let limit = limits.into_iter().flatten().filter(|&limit: &u32| limit > 0).min().unwrap_or(0);
    Ok(Some(Geometry { zone_size, capacity: zone_size, is_device: true, limit, notes: Vec::new() }))
}

/// Aligns the used part of each file to zone boundaries.
pub fn fit(plan: &WorkerPlan, rules: &ZonePlan, entries: &mut [FileEntry]) -> Result<(), FileError> {
    for entry in entries {
        fit_one(entry)?;
        let Some(geometry) = &entry.zones else { continue };
        check_lengths(plan, rules, geometry, &entry.name())?;
    }
    Ok(())
}

fn fit_one(entry: &mut FileEntry) -> Result<(), FileError> {
    let name = entry.name();
    let Some(geometry) = &mut entry.zones else { return Ok(()) };
    let zone_size = geometry.zone_size;
    let end = entry.start.saturating_add(entry.size);
    let whole = end.max(entry.present_size.unwrap_or(0));
    if whole < zone_size {
        let text = format!("{name}: file/device size {whole} is smaller than zone size {zone_size}");
        return Err(FileError::of_job(Cause::ZONES, text));
    }
    let start = entry.start.div_ceil(zone_size).saturating_mul(zone_size);
    if start != entry.start {
        geometry.notes.push(format!("{name}: rounded up offset from {} to {start}", entry.start));
    }
    let left = end.saturating_sub(start);
    let size = left / zone_size * zone_size;
    if size == 0 {
        let text = format!("{name}: io_size must be at least one zone");
        return Err(FileError::without_line(text));
    }
    if size != left {
        geometry.notes.push(format!("{name}: rounded down io_size from {left} to {size}"));
    }
    (entry.start, entry.size) = (start, size);
    Ok(())
}

/// Checks that a block fits into a zone; a trim must be a whole zone.
fn check_lengths(
    plan: &WorkerPlan,
    rules: &ZonePlan,
    geometry: &Geometry,
    name: &str,
) -> Result<(), FileError> {
    let zone_size = geometry.zone_size;
    for &direction in plan.target_plan.used_directions() {
        let (shortest, longest) = (rules.shortest[direction], rules.longest[direction]);
        if direction == Direction::Trim && (shortest, longest) != (zone_size, zone_size) {
            let text = format!("{name}: trim block size {shortest} is not the zone size {zone_size}");
            return Err(FileError::without_line(text));
        }
        let room = geometry.capacity;
        // A read stays inside its zone, or ignores zones.
        if direction == Direction::Write && (longest > zone_size || shortest > room) {
            let text = format!(
                "{name}: blocks of {longest} bytes do not fit zones with {room} usable bytes; use a smaller bs="
            );
            return Err(FileError::of_job(Cause::ZONE_LENGTH, text));
        }
    }
    Ok(())
}
