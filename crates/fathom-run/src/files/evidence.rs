//! Data of an earlier run that a job is to verify. A target that is missing or too short is refused before any
//! target is opened, because laying it out would fill the gap with data that fails verification.

use super::{FileEntry, FileError};
use crate::plan::WorkerPlan;
use fathom_sys::Errno;

/// Refuses targets that do not hold everything the job is to verify.
pub(super) fn check(plan: &WorkerPlan, entries: &[FileEntry]) -> Result<(), FileError> {
    let used = || entries.iter().filter(|entry| entry.size > 0);
    let missing: Vec<&FileEntry> =
        used().filter(|entry| entry.kind.can_grow() && entry.present_size.is_none()).collect();
    if let Some(first) = missing.first() {
        let problem = format!(
            "{} does not exist{}, and {}; nothing was created: check filename= and directory=, or write the data first",
            first.name(),
            others(missing.len()),
            purpose(plan)
        );
        let refused = FileError::of_call(Errno(libc::ENOENT), "open", &first.path);
        return Err(refused.with_message(format!("fathom: job {}: {problem}", plan.name)));
    }
    if may_end_early(plan) {
        return Ok(());
    }
    let short: Vec<&FileEntry> = used().filter(|entry| entry.kind.can_grow() && is_short(entry)).collect();
    let Some(first) = short.first() else { return Ok(()) };
    let present = first.present_size.unwrap_or(0);
    let problem = format!(
        "{} has {}, the job {} {}{}; nothing was changed: the rest is lost or was never written; a smaller size= verifies \
         what is there, and verify_state_load=1 what an interrupted run had written",
        first.name(),
        amount(present),
        if plan.only_checks() { "wrote" } else { "verifies" },
        amount(end(first)),
        others(short.len()),
    );
    let refused = FileError::of_call(Errno(libc::ENODATA), "open", &first.path);
    Err(refused.with_message(format!("fathom: job {}: {problem}", plan.name)))
}

/// True if the data may end before the job's range does: the writing job filled the device or file system, or
/// it was interrupted and its saved state says where.
fn may_end_early(plan: &WorkerPlan) -> bool {
    let has_state = plan.verify.as_ref().is_some_and(|verify| verify.state_to_load.is_some());
    plan.files.layout.fills_device || has_state
}

/// The end of the part that the job verifies, which may be before the layout size of the data set.
fn end(entry: &FileEntry) -> u64 {
    entry.start.saturating_add(entry.size)
}

fn is_short(entry: &FileEntry) -> bool {
    entry.present_size.unwrap_or(0) < end(entry)
}

fn purpose(plan: &WorkerPlan) -> &'static str {
    match plan.only_checks() {
        true => "verify_only checks what an earlier run wrote",
        false => "a job that only reads verifies what an earlier run wrote",
    }
}

fn others(count: usize) -> String {
    match count {
        0 | 1 => String::new(),
        2 => " (and 1 more file)".to_owned(),
        more => format!(" (and {} more files)", more - 1),
    }
}

/// Formats an exact amount in the largest binary unit that divides it.
fn amount(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.iter().find(|(shift, _)| bytes > 0 && bytes.trailing_zeros() >= *shift) {
        Some((shift, unit)) => format!("{} {unit}", bytes >> shift),
        None => format!("{bytes} bytes"),
    }
}
