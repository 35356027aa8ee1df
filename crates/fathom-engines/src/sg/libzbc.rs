//! `libzbc`: zoned SCSI disks, accessed with the same commands as the library of this name uses, but without
//! that library. Reads and writes have 64-bit addresses. If the job names a block device, the kernel reports,
//! resets and finishes zones; otherwise, commands do.

use super::{Options, Sg, look_at_disk, zoned};
use crate::media::Media;
use fathom_run::engine::{Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::files::{FileEntry, FileError};
use fathom_run::storage::{Handle, Storage, SyncKind};
use fathom_run::unit::Operation;
use fathom_spec::JobSpec;
use fathom_spec::engines::sg::SgWriteMode;
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::{Errno, file};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// The engine.
pub(crate) struct Libzbc(Sg);

impl EngineType for Libzbc {
    const DEFINITION: &'static EngineDef = &engines::libzbc::DEFINITION;

    fn storage(_job: &JobSpec) -> Box<dyn Storage> {
        Box::new(Media::new(look_at).with_zones(Box::new(zoned::own_zones)).past_caches())
    }

    fn new(setup: &Setup<'_>) -> Result<Libzbc, SetupError> {
        let mode = SgWriteMode::Write;
        let options = Options { mode, read_flags: 0, write_flags: 0, flags: 0, is_far: true };
        Sg::open(setup, options, None).map(Libzbc)
    }
}

impl Engine for Libzbc {
    #[inline(always)]
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        if io.operation() == Operation::Trim {
            // This trim is from a replayed log and is not supported: zone resets are issued by the zone rules
            // (zonemode=zbd) in another way.
            return Queued::Done(-i64::from(libc::EOPNOTSUPP));
        }
        self.0.queue(slot, io)
    }

    fn sync_now(&mut self, handle: Handle, kind: SyncKind) -> Option<Result<(), Errno>> {
        self.0.sync_now(handle, kind)
    }

    fn protocol_status(&mut self, slot: u32) -> Option<String> {
        self.0.protocol_status(slot)
    }
}

/// Accepts only zoned SCSI disks, as block devices or as their generic devices.
fn look_at(path: PathBuf) -> Result<FileEntry, FileError> {
    let entry = look_at_disk("libzbc", path)?;
    let failed = |errno: Errno, why: &str| {
        let shown = entry.path.display();
        let line = format!("{shown}: zbc_open() failed, err={}", -errno.0);
        FileError::of_call(errno, "open", &entry.path).with_message(format!("{line}\nfathom: {shown}: {why}"))
    };
    let opened = file::open(&entry.path, libc::O_RDONLY | libc::O_NONBLOCK, 0)
        .map_err(|errno| failed(errno, "it cannot be opened"))?;
    match zoned::is_host_managed(opened.as_raw_fd()) {
        Ok(true) => Ok(entry),
        Ok(false) => {
            Err(failed(Errno(libc::ENOTTY), "it is a disk without zones; ioengine=sg sends commands to it"))
        }
        Err(why) => Err(failed(Errno(libc::EIO), &why.to_string())),
    }
}
