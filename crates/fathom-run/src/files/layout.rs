//! Creates and fills the missing parts of a clone's targets before a run: rules that apply to every storage.

use super::filling::Filling;
use super::{FileEntry, FileError, FileKind, evidence};
use crate::plan::WorkerPlan;
use crate::plan::model::files::LayoutPlan;
use crate::storage::Storage;
use fathom_sys::Errno;

/// Checks the targets of a clone; creates and extends missing ones. `announce` receives the number of files to
/// lay out and their total bytes, before the first one is touched.
pub fn prepare(
    storage: &mut dyn Storage,
    plan: &WorkerPlan,
    entries: &[FileEntry],
    readonly: bool,
    announce: impl FnOnce(usize, u64),
) -> Result<(), FileError> {
    prepare_unless(storage, &|| false, plan, entries, readonly, announce)
}

/// Like [`prepare`], but ends with EINTR soon after `stopped` returns true. The file being laid out is then
/// truncated to its previous length.
pub fn prepare_unless(
    storage: &mut dyn Storage,
    stopped: &dyn Fn() -> bool,
    plan: &WorkerPlan,
    entries: &[FileEntry],
    readonly: bool,
    announce: impl FnOnce(usize, u64),
) -> Result<(), FileError> {
    let layout = &plan.files.layout;
    if plan.keeps_data() {
        evidence::check(plan, entries)?;
        return storage.check(plan, entries);
    }
    entries.iter().try_for_each(|entry| check_creation(layout, entry))?;
    storage.check(plan, entries)?;
    // A replayed log uses the files as they are, so nothing is created.
    if plan.replay.is_some() {
        return Ok(());
    }
    check_growth(plan, entries)?;
    if !readonly && layout.creates {
        storage.make_directories(&plan.files.names)?;
    }
    // Appended data must begin at the current end of the file.
    if layout.happens_at_open || plan.files.part.appends {
        return Ok(());
    }
    let short: Vec<&FileEntry> = entries.iter().filter(|entry| entry.is_short()).collect();
    if short.is_empty() {
        return Ok(());
    }
    if readonly {
        let refused = FileError::of_call(Errno(libc::EROFS), "open", &short[0].path);
        return Err(refused.with_message("fio: refusing extend of file due to read-only".to_owned()));
    }
    short.iter().try_for_each(|entry| storage.check_layout(entry))?;
    // With `fill_device` there is no size to announce.
    if !plan.files.part.fills_space && short[0].kind != FileKind::Directory {
        announce(short.len(), short.iter().map(|entry| entry.wanted_size()).fold(0, u64::saturating_add));
    }
    // The size of a full device is unknown in advance: the job's own writes discover when it is full.
    if layout.fills_device && !layout.content_needed && !plan.files.are_mapped {
        return Ok(());
    }
    let longest = short.iter().map(|entry| entry.wanted_size()).max().unwrap_or(0);
    let mut filling = layout
        .content_needed
        .then(|| Filling::new(plan, longest))
        .transpose()
        .map_err(|errno| FileError::of_call(errno, "malloc", &short[0].path))?;
    short.iter().try_for_each(|entry| storage.lay_out(plan, entry, filling.as_mut(), stopped))
}

/// With `allow_file_create=0` nothing is created.
fn check_creation(layout: &LayoutPlan, entry: &FileEntry) -> Result<(), FileError> {
    if layout.creates || !entry.kind.can_be_made() || entry.present_size.is_some() {
        return Ok(());
    }
    let refused = FileError::of_call(Errno(libc::ENOENT), "open", &entry.path);
    Err(refused.with_message("fio: file creation disallowed by allow_file_create=0".to_owned()))
}

/// With `allow_file_create=0` no file is extended, unless the job appends or opens files as they are.
fn check_growth(plan: &WorkerPlan, entries: &[FileEntry]) -> Result<(), FileError> {
    let (layout, part) = (&plan.files.layout, &plan.files.part);
    if layout.creates || layout.happens_at_open || part.appends {
        return Ok(());
    }
    let Some(entry) = entries.iter().find(|entry| entry.is_short()) else { return Ok(()) };
    let wanted = match part.fills_space {
        true => "is to be filled".to_owned(),
        false => format!("would need {}", entry.wanted_size()),
    };
    let refused = FileError::of_call(Errno(libc::EPERM), "open", &entry.path);
    Err(refused.with_message(format!(
        "fio: file creation disallowed by allow_file_create=0\nfathom: job {}: {} has {} bytes and {wanted}; use a smaller size= \
         or offset=, or let the file grow with allow_file_create=1",
        plan.name,
        entry.path.display(),
        entry.present_size.unwrap_or(0)
    )))
}
