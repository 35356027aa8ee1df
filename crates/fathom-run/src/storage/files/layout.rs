//! Refuses targets that must not be written to, and lays files out for a run. A file that is too short is extended at its
//! end: existing content stays. (fio removes or empties such a file first; fathom never discards data that a job did not ask
//! it to overwrite.)

use super::in_use::{Machine, Search, Tables};
use crate::files::filling::Filling;
use crate::files::{FileEntry, FileError, FileKind};
use crate::plan::WorkerPlan;
use crate::plan::model::files::{FilesPlan, LayoutPlan};
use fathom_spec::options::file::Fallocate;
use fathom_sys::{Errno, file};
use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Refuses paths that must not be created or changed.
pub(super) fn check(plan: &WorkerPlan, entries: &[FileEntry]) -> Result<(), FileError> {
    entries.iter().try_for_each(check_device_name)?;
    check_uses(plan, entries)
}

/// Refuses pseudo-files of the kernel, which have no size and must never be filled.
pub(super) fn check_layout(entry: &FileEntry) -> Result<(), FileError> {
    if entry.present_size.is_none() {
        return Ok(());
    }
    let real = std::fs::canonicalize(&entry.path).unwrap_or_else(|_| entry.path.clone());
    if !real.starts_with("/proc") && !real.starts_with("/sys") {
        return Ok(());
    }
    let refused = FileError::of_call(Errno(libc::EINVAL), "open", &entry.path);
    Err(refused.with_message(format!(
        "fathom: {} belongs to the kernel and cannot be laid out; leave out size= or name another file",
        entry.path.display()
    )))
}

/// Refuses a regular file in /dev: the path is probably a mistyped device name, and the file would fill memory
/// instead of a disk.
fn check_device_name(entry: &FileEntry) -> Result<(), FileError> {
    let is_device_name = entry.path.starts_with("/dev") && !entry.path.starts_with("/dev/shm");
    let is_made = matches!(entry.kind, FileKind::Regular | FileKind::Directory | FileKind::Name);
    if !is_made || entry.present_size.is_some() || !is_device_name {
        return Ok(());
    }
    let refused = FileError::of_call(Errno(libc::ENOENT), "open", &entry.path);
    Err(refused.with_message(format!(
        "fathom: there is no device {}; fathom does not create regular files under /dev",
        entry.path.display()
    )))
}

/// Refuses to change targets in use. The actual kind of a path decides, regardless of `filetype`.
fn check_uses(plan: &WorkerPlan, entries: &[FileEntry]) -> Result<(), FileError> {
    let is_changed = |entry: &&FileEntry| {
        let there =
            matches!(entry.kind, FileKind::Block | FileKind::Character) || entry.present_size.is_some();
        there && (plan.changes_data() || entry.is_short())
    };
    if plan.files.layout.overwrites_used || !entries.iter().any(|entry| is_changed(&entry)) {
        return Ok(());
    }
    let changed = entries.iter().filter(is_changed).map(|entry| (entry, entry.path.clone()));
    refuse_used(&Machine::this(), plan, changed)
}

/// Refuses opened targets in use. Since the first check, a name may have been reassigned or its target may have
/// come into use.
pub(super) fn check_opened(
    plan: &WorkerPlan,
    entries: &[FileEntry],
    opened: &dyn Fn(usize) -> Option<RawFd>,
) -> Result<(), FileError> {
    if plan.files.layout.overwrites_used || !plan.changes_data() {
        return Ok(());
    }
    let path = |(index, entry): (usize, &FileEntry)| {
        let link = opened(index).map(|descriptor| PathBuf::from(format!("/proc/self/fd/{descriptor}")));
        link.filter(|link| link.exists()).unwrap_or_else(|| entry.path.clone())
    };
    let machine = Machine::without_reading();
    refuse_used(
        &machine,
        plan,
        entries.iter().enumerate().map(|(index, entry)| (entry, path((index, entry)))),
    )
}

/// Refuses the job if any of these targets is in use. Each target comes with a path that leads to it.
fn refuse_used<'e>(
    machine: &Machine<'_>,
    plan: &WorkerPlan,
    entries: impl Iterator<Item = (&'e FileEntry, PathBuf)>,
) -> Result<(), FileError> {
    let tables = Tables::read(machine);
    for (entry, leads_there) in entries {
        let Some(used) = Search::of(machine, &tables, &leads_there) else { continue };
        let path = entry.path.display();
        let mut message = format!(
            "fathom: job {}: {path} is in use: {used}; name another target, or set allow_mounted_write=1 to \
            overwrite it nevertheless",
            plan.name
        );
        if used.is_mount {
            let line = format!("fio: {path} appears mounted, and 'allow_mounted_write' isn't set. Aborting.");
            message = format!("{line}\n{message}");
        }
        return Err(FileError::of_call(Errno(libc::EBUSY), "open", &entry.path).with_message(message));
    }
    Ok(())
}

/// Lays out one file.
pub(super) fn lay_out(
    plan: &FilesPlan,
    entry: &FileEntry,
    filling: Option<&mut Filling>,
    stopped: &dyn Fn() -> bool,
    remarks: &mut Vec<String>,
) -> Result<(), FileError> {
    let failed = |call: &'static str| move |errno: Errno| FileError::of_call(errno, call, &entry.path);
    create_parents(&entry.path).map_err(failed("mkdir"))?;
    let flags = libc::O_WRONLY | libc::O_CREAT;
    let mut file: File = file::open(&entry.path, flags, 0o644).map_err(failed("open"))?.into();
    let present = entry.present_size.unwrap_or(0);
    let missing = entry.missing();
    let needs_content = filling.is_some();
    let mut tolerate = |reserved| tolerate_refusal(reserved, plan.layout.reservation, &entry.path, remarks);
    let laid_out = match filling {
        Some(filling) => {
            let reserved = tolerate(reserve(&plan.layout, &file, present, missing));
            reserved.and_then(|()| fill_in(&plan.layout, &mut file, filling, (present, missing), stopped))
        }
        None => tolerate(preallocate(&plan.layout, &file, present, missing)).and_then(|()| {
            // Writes through a mapping do not extend a file.
            let set =
                if plan.are_mapped { file::truncate(file.as_raw_fd(), present + missing) } else { Ok(()) };
            set.map_err(|errno| ("ftruncate", errno))
        }),
    };
    match laid_out {
        // A lack of space for preallocation is not an error here: the job's own writes will report it.
        Err(("fallocate", Errno(libc::ENOSPC))) if !needs_content => {
            file::truncate(file.as_raw_fd(), present).map_err(failed("ftruncate"))
        }
        Err(("write", errno)) if plan.layout.fills_device && errno.is_out_of_space() => Ok(()),
        Err((call, errno)) => {
            let mut error = failed(call)(errno);
            put_back(entry, &file);
            if let Some(message) = error.message.as_mut().filter(|_| errno.is_out_of_space()) {
                *message += match entry.present_size {
                    None => "; the file is removed again",
                    Some(_) => "; the file has its earlier length again",
                };
            }
            Err(error)
        }
        Ok(()) => Ok(()),
    }
}

/// Writes the missing content of a file. Its error includes the name of the failed call.
fn fill_in(
    layout: &LayoutPlan,
    file: &mut File,
    filling: &mut Filling,
    (present, missing): (u64, u64),
    stopped: &dyn Fn() -> bool,
) -> Result<(), (&'static str, Errno)> {
    std::io::Seek::seek(file, std::io::SeekFrom::Start(present)).map_err(|error| ("lseek", error.into()))?;
    filling.fill(file, (present, missing), stopped).map_err(|errno| ("write", errno))?;
    if layout.syncs {
        file::sync(file.as_raw_fd()).map_err(|errno| ("fsync", errno))?;
    }
    // Laid-out data must not be read from the cache afterwards; a failure to drop it is harmless.
    let _ = file::advise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED);
    Ok(())
}

/// Undoes a failed or interrupted layout to free its space.
fn put_back(entry: &FileEntry, file: &File) {
    // A failure can no longer be reported; the next run completes the file.
    let _ = match entry.present_size {
        None => std::fs::remove_file(&entry.path).map_err(Errno::from),
        Some(present) => file::truncate(file.as_raw_fd(), present),
    };
}

/// Creates missing directories above a file, with access for the user only.
pub(super) fn create_parents(path: &Path) -> Result<(), Errno> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() && !parent.exists() => {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(Errno::from)
        }
        _ => Ok(()),
    }
}

/// Reserves space for content without setting the file's size: regardless of how the layout ends, the size
/// shows how much content exists, and the next run fills in the rest.
fn reserve(layout: &LayoutPlan, file: &File, present: u64, missing: u64) -> Result<(), Errno> {
    match layout.reservation {
        _ if layout.fills_device => Ok(()),
        Fallocate::None | Fallocate::Truncate => Ok(()),
        Fallocate::Posix | Fallocate::Keep | Fallocate::Native => {
            file::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, present, missing)
        }
    }
}

fn preallocate(layout: &LayoutPlan, file: &File, present: u64, missing: u64) -> Result<(), Errno> {
    let fd = file.as_raw_fd();
    match layout.reservation {
        Fallocate::None => Ok(()),
        Fallocate::Truncate => file::truncate(fd, present + missing),
        Fallocate::Posix => file::posix_fallocate(fd, present, missing),
        Fallocate::Keep => file::fallocate(fd, libc::FALLOC_FL_KEEP_SIZE, present, missing),
        Fallocate::Native => file::fallocate(fd, 0, present, missing),
    }
}

/// Preallocation is optional: file systems without it work, as do programs whose seccomp filter or security
/// module forbids it. Only errors that writes would also encounter end the job here.
fn tolerate_refusal(
    result: Result<(), Errno>,
    asked: Fallocate,
    path: &Path,
    remarks: &mut Vec<String>,
) -> Result<(), (&'static str, Errno)> {
    let (is_unsupported, is_forbidden) = match result {
        Ok(()) => return Ok(()),
        Err(Errno(error)) => (
            matches!(error, libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL),
            matches!(error, libc::EPERM | libc::EACCES | libc::EINTR),
        ),
    };
    match (result, asked) {
        // Unlike preallocation, setting the file's size is required.
        (Err(errno), Fallocate::Truncate) => Err(("ftruncate", errno)),
        (Err(errno), _) if !is_unsupported && !is_forbidden => Err(("fallocate", errno)),
        (Err(errno), Fallocate::Posix) if errno.0 != libc::EOPNOTSUPP => {
            remarks.push(format!("fio: posix_fallocate fails: {errno}"));
            Ok(())
        }
        (Err(errno), Fallocate::Keep) if is_forbidden => {
            let path = path.display();
            remarks.push(format!(
                "fathom: {path}: fallocate=keep: {errno}; the job continues without reserved space"
            ));
            Ok(())
        }
        _ => Ok(()),
    }
}
