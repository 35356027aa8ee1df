//! The files of a clone: which ones, how large, and which part of each the clone uses. [`resolve`] only
//! examines; [`layout`] creates and fills what is missing; [`open`] opens for the run. A [`Storage`] implements
//! these steps for its kind of target.

pub mod entry;
mod evidence;
pub mod filling;
pub mod layout;
pub mod names;
pub mod open;
mod shares;

use crate::cause::Cause;
use crate::plan::WorkerPlan;
use crate::plan::model::amounts::Amounts;
use crate::plan::model::distribution::DistributionRule;
use crate::plan::model::files::PartPlan;
use crate::plan::model::replay::ReplayPlan;
use crate::plan::model::zones::ZonePlan;
use crate::random::SeedUse;
use crate::storage::Storage;
use crate::zones::fit;
pub use entry::{FileEntry, FileError, FileKind};
use fathom_spec::value::SizeSpec;
use fathom_stats::Direction;
use fathom_sys::Errno;
use std::path::PathBuf;

/// The current files of a clone.
pub fn resolve(storage: &dyn Storage, plan: &WorkerPlan) -> Result<Vec<FileEntry>, FileError> {
    if let Some(replay) = &plan.replay {
        return resolve_replay(storage, plan, replay);
    }
    let mut entries = Vec::new();
    for name in storage.names(&plan.files.names) {
        entries.push(look_at(storage, plan, name)?);
    }
    match &plan.zones {
        Some(zones) => place_in_zones(storage, plan, zones, &mut entries)?,
        None if plan.metadata.is_some_and(|metadata| metadata.makes_targets() || metadata.on_directories) => {
            // The engine accesses nothing that has a size, so each file gets the size that the job requests.
            entries.iter_mut().for_each(|entry| entry.size = plan.target_plan.smallest_length());
        }
        None => {
            place_all(plan, &plan.amounts, &mut entries)?;
            shares::keep_share(plan, &mut entries)?;
        }
    }
    check_plan(plan, &entries)?;
    if entries.is_empty() {
        let message = match &plan.files.names.opened_directory {
            Some(directory) => format!("{}: there is no file below opendir={directory}", plan.name),
            None => format!("{}: filename= names no file", plan.name),
        };
        return Err(FileError::of_job(Cause::SIZES, message));
    }
    // `filesize` may end where `offset` begins. A job with an explicit size then has no bytes to work on.
    let filesize_given = plan.files.part.lengths.is_some();
    let is_empty = entries.iter().all(|entry| entry.size == 0);
    if is_empty && filesize_given && matches!(plan.amounts.size, Some(SizeSpec::Bytes(_))) {
        return Ok(entries);
    }
    if is_empty && !filesize_given {
        return Err(missing_size(plan, &entries));
    }
    let smallest = plan.target_plan.smallest_length();
    // For the first clone, any positive size counts as an explicit size, even if it is smaller than a block.
    let available = entries.iter().map(|entry| entry.size).fold(0, u64::saturating_add);
    let share_is_empty = matches!(
        plan.amounts.io_size,
        Some(SizeSpec::Percent(percent)) if percent > 0 && share_of(available, percent) < smallest
    );
    if share_is_empty || entries.iter().all(|entry| entry.size < smallest) {
        return Err(too_small(plan, &entries, smallest));
    }
    Ok(entries)
}

/// Looks up a target and checks its size. Servers and devices may report any size; beyond the maximum file
/// size, offsets would wrap around.
fn look_at(storage: &dyn Storage, plan: &WorkerPlan, path: PathBuf) -> Result<FileEntry, FileError> {
    check_size(&plan.name, storage.look_at(plan, path)?)
}

fn check_size(job: &str, entry: FileEntry) -> Result<FileEntry, FileError> {
    match entry.present_size.filter(|size| i64::try_from(*size).is_err()) {
        None => Ok(entry),
        Some(size) => Err(FileError::of_job(
            Cause::SIZES,
            format!(
                "fathom: job {job}: {} claims {size} bytes, more than any file can have: check its size on the server or device",
                entry.name()
            ),
        )),
    }
}

/// Makes files end where the space ran out, if they were filled and are then read.
pub fn end_where_filled(storage: &dyn Storage, plan: &WorkerPlan, entries: &mut [FileEntry]) {
    let layout = &plan.files.layout;
    if !layout.fills_device || !(layout.content_needed || plan.keeps_data()) {
        return;
    }
    for entry in entries.iter_mut().filter(|entry| entry.kind.can_grow()) {
        let found = look_at(storage, plan, entry.path.clone());
        let present = found.ok().and_then(|found| found.present_size).unwrap_or(0);
        entry.present_size = Some(present);
        entry.size = entry.size.min(present.saturating_sub(entry.start));
    }
}

/// The files of a replayed log, each as long as the log's accesses require.
fn resolve_replay(
    storage: &dyn Storage,
    plan: &WorkerPlan,
    replay: &ReplayPlan,
) -> Result<Vec<FileEntry>, FileError> {
    if let Some(failure) = &replay.failure {
        let cause = if failure.is_of_reading { Cause::LOG_READ } else { Cause::LOG_START };
        return Err(FileError {
            errno: failure.errno,
            text: Some(cause.line(Errno(failure.errno))),
            message: Some(failure.message.clone()),
        });
    }
    let mut entries = Vec::new();
    for (path, scanned) in names::planned_paths(&plan.files.names).into_iter().zip(&replay.scan.files) {
        let mut entry = look_at(storage, plan, path)?;
        if let Some(present) = entry.present_size.filter(|_| entry.kind.has_fixed_size())
            && present < scanned.end
        {
            let shown = entry.path.display();
            return Err(FileError::of_job(
                Cause::SIZES,
                format!(
                    "fathom: job {}: {shown} has {present} bytes, and {} goes up to {}; replay_scale= brings offsets closer \
                     together, replay_redirect= names a larger target",
                    plan.name, replay.name, scanned.end
                ),
            ));
        }
        if entry.is_too_short_to_map(plan, scanned.end) {
            let shown = entry.path.display();
            return Err(FileError::of_job(
                Cause::SIZES,
                format!(
                    "fathom: job {}: {} goes up to {} in {shown}, which is shorter; ioengine=mmap cannot make a file longer, any \
                     other engine can",
                    plan.name, replay.name, scanned.end
                ),
            ));
        }
        entry.size = scanned.end;
        entries.push(entry);
    }
    Ok(entries)
}

fn place_all(plan: &WorkerPlan, amounts: &Amounts, entries: &mut [FileEntry]) -> Result<(), FileError> {
    let sizes = file_sizes(plan, amounts, entries)?;
    entries.iter_mut().zip(sizes).try_for_each(|(entry, wanted)| place(plan, amounts, entry, wanted))
}

/// Like `place`, for amounts that may be given in zones; rounds to whole zones.
fn place_in_zones(
    storage: &dyn Storage,
    plan: &WorkerPlan,
    zones: &ZonePlan,
    entries: &mut [FileEntry],
) -> Result<(), FileError> {
    let found = fit::look_at(storage, plan, zones, entries)?;
    let zone_size = found.first().map_or(0, |geometry| geometry.zone_size);
    entries.iter_mut().zip(found).for_each(|(entry, geometry)| entry.zones = Some(geometry));
    place_all(plan, &plan.amounts.in_bytes(zone_size), entries)?;
    fit::fit(plan, zones, entries)
}

/// Checks the job against the sizes of its files.
fn check_plan(plan: &WorkerPlan, entries: &[FileEntry]) -> Result<(), FileError> {
    // Files that are read need a known end, because only data before it exists.
    let has_end = |entry: &FileEntry| match entry.kind {
        FileKind::Block | FileKind::Medium | FileKind::Volume => true,
        FileKind::Regular | FileKind::Object | FileKind::Objects | FileKind::Character => {
            plan.files.layout.content_needed || plan.keeps_data()
        }
        FileKind::Directory | FileKind::Name | FileKind::None => false,
    };
    let part = &plan.files.part;
    if part.fills_space && !entries.iter().all(has_end) && (plan.target_plan.random || !plan.writes_data()) {
        let message = format!(
            "{}: fill_device=1 without a size needs sequential writes, not rw={}",
            plan.name, part.pattern
        );
        return Err(FileError::of_job(Cause::SIZES, message));
    }
    if let DistributionRule::Sequence { blocks: list, .. } = &plan.target_plan.distribution {
        let furthest = list.iter().max().copied().unwrap_or(0);
        let blocks_of = |entry: &FileEntry| {
            let used = plan.target_plan.used_directions();
            used.iter().map(|&direction| plan.target_plan.blocks_of(direction, entry.size)).min().unwrap_or(0)
        };
        if let Some(entry) = entries.iter().find(|entry| entry.size > 0 && blocks_of(entry) <= furthest) {
            let message = format!(
                "fio: sequence access block {furthest} in base pattern out of bounds (max {}) for file {}",
                blocks_of(entry),
                entry.name()
            );
            return Err(FileError::of_job(Cause::SEQUENCE, message));
        }
    }
    if let DistributionRule::ZonedAbsolute(shares) = &plan.target_plan.distribution {
        let longest = plan
            .target_plan
            .used_directions()
            .iter()
            .map(|&direction| shares[direction].iter().map(|share| share.size).sum::<u64>())
            .max()
            .unwrap_or(0);
        if entries.iter().any(|entry| entry.size < longest) {
            let message = "fio: zoned_abs sizes exceed file size".to_owned();
            return Err(FileError::without_line(message));
        }
    }
    Ok(())
}

fn missing_size(plan: &WorkerPlan, entries: &[FileEntry]) -> FileError {
    let job = &plan.name;
    let why = match entries.first() {
        Some(entry) if entry.present_size.is_none() => format!(
            "{} does not exist, and no size says how large to make it: add one, such as size=1g, or name a file that exists",
            entry.name()
        ),
        Some(entry) => {
            format!(
                "{} is empty, and no size says how much of it to use: add one, such as size=1g",
                entry.name()
            )
        }
        None => "no size is given: add one, such as size=1g".to_owned(),
    };
    FileError::of_job(
        Cause::TOTAL_SIZE,
        format!("{job}: you need to specify size=\nfathom: job {job}: {why}"),
    )
}

/// Reports that none of the files has room for a block.
fn too_small(plan: &WorkerPlan, entries: &[FileEntry], smallest: u64) -> FileError {
    let largest = entries.iter().max_by_key(|entry| entry.size);
    let why = largest.map_or_else(String::new, |entry| {
        format!(
            "\nfathom: job {}: {} has room for {} bytes from offset {} on, less than the smallest block of {smallest}: \
             use a smaller bs= or offset=, or a larger size=",
            plan.name,
            entry.name(),
            entry.size,
            entry.start
        )
    });
    FileError::without_line(format!("fio: blocksize is larger than data set range{why}"))
}

/// The requested size of the part of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// A number of bytes.
    Bytes(u64),
    /// A share of the current size.
    Percent(u32),
    /// The whole file.
    Everything,
    /// The rest of the file after the offset, or a percentage of the file's length.
    Within { length: u64, share: Option<u32> },
}

fn file_sizes(plan: &WorkerPlan, amounts: &Amounts, entries: &[FileEntry]) -> Result<Vec<Wanted>, FileError> {
    let part = &plan.files.part;
    let count = entries.len().max(1) as u64;
    if let Some(range) = &part.lengths {
        let mut generator = plan.files.seeds.generator(SeedUse::FileSize);
        let unit = plan.target_plan.lengths[Direction::Read].min().max(1);
        let share = match amounts.size {
            Some(SizeSpec::Percent(percent)) => Some(percent),
            _ => None,
        };
        // Files that do not exist yet have no lengths yet, so `size` is divided evenly among them if
        // the shares fit the range.
        let shared_size = match amounts.size {
            Some(SizeSpec::Bytes(total)) => Some(total / count),
            _ => None,
        };
        return Ok(entries
            .iter()
            .map(|entry| {
                let drawn = range.min + generator.below((range.max - range.min).saturating_add(1));
                let length = match shared_size {
                    _ if range.min == range.max => drawn,
                    Some(each) if entry.kind == FileKind::None && each <= range.max => each.max(range.min),
                    _ => (drawn / unit * unit).max(range.min),
                };
                Wanted::Within { length, share }
            })
            .collect());
    }
    Ok(match &amounts.size {
        _ if part.fills_space => vec![Wanted::Everything; entries.len()],
        None => vec![Wanted::Everything; entries.len()],
        Some(SizeSpec::Percent(percent)) => vec![Wanted::Percent(*percent); entries.len()],
        Some(SizeSpec::Zones(_)) => return Err(missing_size(plan, &[])),
        Some(SizeSpec::Bytes(total)) => {
            let smallest = plan.target_plan.smallest_length();
            let (each, rest) = (total / count, total % count * u64::from(count > 1));
            // If the remainder consists of whole blocks, each of the first files gets one more block.
            let extra_files = if rest % smallest == 0 { rest / smallest } else { 0 };
            (0..count)
                .map(|index| Wanted::Bytes(each + if index < extra_files { smallest } else { 0 }))
                .collect()
        }
    })
}

/// The base of offsets in percent: the current size, or the requested size if the target has yet to grow. All
/// clones get the same result, before and after the layout.
fn percent_reference(part: &PartPlan, amounts: &Amounts, entry: &FileEntry, wanted: Wanted) -> u64 {
    let present = entry.present_size.unwrap_or(0);
    let bytes = match wanted {
        _ if entry.kind.has_fixed_size() => return present,
        Wanted::Bytes(bytes) => bytes,
        Wanted::Within { length, .. } => return length.max(present),
        Wanted::Percent(_) | Wanted::Everything => return present,
    };
    let furthest = start_of_clone(amounts, part.later_clones, present, part);
    if furthest.saturating_add(bytes) <= present { present } else { bytes }
}

/// Start offset of a clone that follows `clones_before` others. It is rounded up to the alignment if it
/// contains percentages of the target's size.
fn start_of_clone(amounts: &Amounts, clones_before: u32, reference: u64, part: &PartPlan) -> u64 {
    let times = |spec: &SizeSpec, count: u32| match spec {
        SizeSpec::Bytes(bytes) => bytes.saturating_mul(u64::from(count)),
        SizeSpec::Percent(percent) => {
            let share = u128::from(reference) * u128::from(*percent) * u128::from(count) / 100;
            u64::try_from(share).unwrap_or(u64::MAX)
        }
        SizeSpec::Zones(_) => 0,
    };
    let start = times(&amounts.offset, 1).saturating_add(times(&amounts.offset_increment, clones_before));
    let is_share = |spec: &SizeSpec| matches!(spec, SizeSpec::Percent(_));
    match is_share(&amounts.offset) || is_share(&amounts.offset_increment) {
        true => start.checked_next_multiple_of(part.alignment).unwrap_or(u64::MAX),
        false => start,
    }
}

pub(crate) fn share_of(bytes: u64, percent: u32) -> u64 {
    (u128::from(bytes) * u128::from(percent) / 100) as u64
}

fn place(
    plan: &WorkerPlan,
    amounts: &Amounts,
    entry: &mut FileEntry,
    wanted: Wanted,
) -> Result<(), FileError> {
    let part = &plan.files.part;
    let present = entry.present_size.unwrap_or(0);
    let smallest = plan.target_plan.smallest_length();
    let reference = percent_reference(part, amounts, entry, wanted);
    entry.start = start_of_clone(amounts, amounts.increments, reference, part);
    if part.appends && entry.kind.can_grow() {
        entry.start = entry.start.saturating_add(present);
    }
    check_start(plan, entry, wanted)?;
    let room = present.saturating_sub(entry.start);
    entry.size = match wanted {
        Wanted::Everything if part.fills_space => fill_size(entry),
        Wanted::Everything => room,
        Wanted::Percent(percent) => share_of(present, percent).min(room) / smallest * smallest,
        Wanted::Within { length, share } => {
            let room = end_within(entry, length).saturating_sub(entry.start);
            share.map_or(room, |percent| (share_of(length, percent) / smallest * smallest).min(room))
        }
        // A server's volume does not grow, and fio treats media the same way.
        Wanted::Bytes(bytes) if matches!(entry.kind, FileKind::Volume | FileKind::Medium) => bytes.min(room),
        // One `size` must suit devices of different sizes, so it is limited to the size of each device.
        Wanted::Bytes(bytes) if entry.kind.has_fixed_size() => bytes.min(room),
        Wanted::Bytes(bytes) => bytes,
    };
    entry.beyond_end = match wanted {
        Wanted::Bytes(bytes) => bytes - entry.size,
        _ => 0,
    };
    // The kernel uses 63-bit offsets; within them, no sum of an offset and a length overflows.
    let end = entry.start.checked_add(entry.size).filter(|end| *end <= i64::MAX as u64);
    if end.is_none() {
        let message = format!(
            "{}: offset {} plus size {} go beyond the end of any file; use a smaller offset=, offset_increment= or size=",
            plan.name, entry.start, entry.size
        );
        return Err(FileError::of_job(Cause::SIZES, message));
    }
    Ok(())
}

/// End of the clone's part of a file that will have this length. Devices keep their own length.
fn end_within(entry: &FileEntry, length: u64) -> u64 {
    let fixed = entry.present_size.filter(|_| entry.kind.has_fixed_size());
    fixed.map_or(length, |present| length.min(present))
}

/// Refuses offsets beyond the current and future end of the file.
fn check_start(plan: &WorkerPlan, entry: &FileEntry, wanted: Wanted) -> Result<(), FileError> {
    let present = entry.present_size.unwrap_or(0);
    let (is_beyond, end) = match wanted {
        Wanted::Within { length, .. } => {
            let end = end_within(entry, length);
            (entry.start > end, end)
        }
        _ => {
            let of_present = matches!(wanted, Wanted::Everything | Wanted::Percent(_));
            let fixed_size = entry.kind.has_fixed_size() || (entry.present_size.is_some() && of_present);
            (fixed_size && entry.kind != FileKind::None && entry.start > 0 && entry.start >= present, present)
        }
    };
    if !is_beyond {
        return Ok(());
    }
    let job = &plan.name;
    Err(FileError::without_line(format!(
        "{job}: you need to specify valid offset=\nfathom: job {job}: offset {} is not within {}, which ends at {end}: \
         use a smaller offset= or offset_increment=",
        entry.start,
        entry.name()
    )))
}

/// The size to fill: up to the end for a device, unlimited for a file system, which is filled until a write
/// fails.
fn fill_size(entry: &FileEntry) -> u64 {
    let end = match entry.kind.has_fixed_size() {
        true => entry.present_size.unwrap_or(0),
        false => i64::MAX as u64,
    };
    end.saturating_sub(entry.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_no_file_has_are_refused() {
        let volume = |size| FileEntry::new("v".into(), FileKind::Volume, Some(size));
        assert!(check_size("j", volume(i64::MAX as u64)).is_ok());
        let refusal = check_size("j", volume(1 << 63)).expect_err("too large");
        assert!(refusal.message.is_some_and(|text| text.contains("v claims 9223372036854775808 bytes")));
    }
}
