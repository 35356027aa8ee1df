//! `dev-dax`: persistent memory as a character device (`/dev/dax0.0`), mapped.

use super::Memory;
use crate::media::Media;
use fathom_run::engine::{Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::files::{FileEntry, FileError, FileKind};
use fathom_run::storage::{Handle, Storage, SyncKind};
use fathom_spec::JobSpec;
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::Errno;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

pub(crate) struct DevDax(Memory);

impl EngineType for DevDax {
    const DEFINITION: &'static EngineDef = &engines::persistent::DEV_DAX;

    fn storage(_job: &JobSpec) -> Box<dyn Storage> {
        Box::new(Media::new(look_at))
    }

    fn new(setup: &Setup<'_>) -> Result<DevDax, SetupError> {
        let unit =
            |path: &str| number(Path::new(path), "align").map_err(|errno| SetupError::new(errno, "stat"));
        Memory::map(setup, |file| unit(&file.name).map(|unit| unit.max(1))).map(DevDax)
    }
}

impl Engine for DevDax {
    #[inline(always)]
    fn queue(&mut self, _slot: u32, io: &Io) -> Queued {
        Queued::Done(self.0.perform(io))
    }

    fn sync_now(&mut self, _handle: Handle, _kind: SyncKind) -> Option<Result<(), Errno>> {
        fathom_sys::persistent_memory::drain();
        Some(Ok(()))
    }

    fn features(&self) -> Vec<&'static str> {
        self.0.features()
    }
}

/// Accepts only DAX devices as targets.
fn look_at(path: PathBuf) -> Result<FileEntry, FileError> {
    match number(&path, "size") {
        Ok(size) => Ok(FileEntry::new(path, FileKind::Medium, Some(size))),
        Err(errno) => Err(FileError::of_call(errno, "open", &path).with_message(format!(
            "fathom: {} is not a DAX device; ioengine=dev-dax works on character devices such as /dev/dax0.0 ({errno})",
            path.display()
        ))),
    }
}

/// An attribute of a DAX device in sysfs.
fn number(path: &Path, what: &str) -> Result<u64, Errno> {
    let found = std::fs::metadata(path).map_err(Errno::from)?;
    let device = found.rdev();
    let directory = format!("/sys/dev/char/{}:{}", libc::major(device), libc::minor(device));
    let is_dax = found.file_type().is_char_device()
        && std::fs::canonicalize(format!("{directory}/subsystem")).is_ok_and(|path| path.ends_with("dax"));
    if !is_dax {
        return Err(Errno(libc::ENODEV));
    }
    let text = std::fs::read_to_string(format!("{directory}/{what}")).map_err(Errno::from)?;
    text.trim().parse().map_err(|_| Errno(libc::EINVAL))
}
