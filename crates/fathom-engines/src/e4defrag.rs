//! `e4defrag`: exchanges blocks of files with a donor, by `EXT4_IOC_MOVE_EXT`. The files keep their data, and
//! stay usable.

use crate::shared::Immediate;
use fathom_run::engine::{Engine, EngineType, Io, OpenFile, Queued, Setup, SetupError};
use fathom_run::unit::Operation;
use fathom_spec::JobSpec;
use fathom_spec::engines::e4defrag::E4defragOptions;
use fathom_spec::engines::{self, EngineDef};
use fathom_spec::value::split_file_names;
use fathom_sys::{Errno, extents, file, file_system};
use std::fs::{File, Metadata, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

pub(crate) struct E4defrag {
    immediate: Immediate,
    donor: File,
    /// True if the donor's blocks are allocated for each I/O and freed after it.
    in_place: bool,
    /// Size of a file system block in bytes.
    block: u64,
    why: Option<String>,
}

impl EngineType for E4defrag {
    const DEFINITION: &'static EngineDef = &engines::e4defrag::DEFINITION;

    fn new(setup: &Setup<'_>) -> Result<E4defrag, SetupError> {
        let options = &setup.job.private.e4defrag;
        let path = donor_path(setup.job, options, setup.clone);
        let told = |errno: Errno, call: &'static str, reason: &str| {
            SetupError::new(errno, call).with_advice(format!("donorname: {}: {reason}", path.display()))
        };
        let opened = open_donor(&path);
        let (donor, is_new) = opened.map_err(|errno| {
            told(errno, "open", &format!("{errno}; the donor is a separate file next to those of the job"))
        })?;
        let found = donor.metadata().map_err(|error| SetupError::new(Errno::from(error), "fstat"))?;
        check(&found, &donor, setup.files).map_err(|(errno, reason)| {
            if is_new {
                // The file is empty and would be left behind, so it is removed.
                let _ = std::fs::remove_file(&path);
            }
            told(errno, "EXT4_IOC_MOVE_EXT", &reason)
        })?;
        let in_place = options.inplace == Some(1);
        if !in_place {
            let end = setup.files.iter().map(|file| file.start + file.size).max().unwrap_or(0);
            file::fallocate(donor.as_raw_fd(), 0, 0, end).map_err(|errno| {
                told(errno, "fallocate", &format!("{end} bytes cannot be allocated for it: {errno}"))
            })?;
        }
        Ok(E4defrag { immediate: Immediate::new(setup), donor, in_place, block: found.blksize(), why: None })
    }
}

impl Engine for E4defrag {
    fn queue(&mut self, _slot: u32, io: &Io) -> Queued {
        if io.operation() != Operation::Write {
            return Queued::Done(self.immediate.perform(io));
        }
        let result = self.exchange(io).unwrap_or_else(|errno| i64::from(-errno.0));
        Queued::Done(result)
    }

    fn protocol_status(&mut self, _slot: u32) -> Option<String> {
        self.why.take()
    }
}

impl E4defrag {
    fn exchange(&mut self, io: &Io) -> Result<i64, Errno> {
        let (donor, length) = (self.donor.as_raw_fd(), u64::from(io.length()));
        if !io.offset().is_multiple_of(self.block) || !length.is_multiple_of(self.block) {
            self.why = Some(format!(
                "whole blocks of {} bytes are exchanged; bs= and offset= are not multiples",
                self.block
            ));
            return Err(Errno(libc::EINVAL));
        }
        if self.in_place {
            file::fallocate(donor, 0, io.offset(), length)?;
        }
        let moved =
            extents::exchange(io.handle().descriptor(), donor, io.offset() / self.block, length / self.block);
        if self.in_place {
            file::truncate(donor, 0)?;
        }
        match moved {
            Ok(blocks) => Ok((blocks * self.block).min(length) as i64),
            Err(errno) => {
                self.why = reason(errno).map(str::to_owned);
                Err(errno)
            }
        }
    }
}

/// Explains an errno of the exchange.
fn reason(errno: Errno) -> Option<&'static str> {
    match errno.0 {
        libc::ENOTTY | libc::EOPNOTSUPP => Some("this file system cannot exchange extents"),
        libc::ENODATA => Some(
            "the file or its donor has no blocks there: another job with the same donor may have freed them",
        ),
        libc::EINVAL => Some("the file is shorter than that, immutable, or the donor is"),
        libc::EBUSY => Some(
            "other I/O holds its pages, and the kernel has tried for a while; ignore_error=,EBUSY continues with the next",
        ),
        libc::ETXTBSY => Some("it is used as swap"),
        _ => None,
    }
}

/// Path of the donor, which is in the same directory as the job's files.
fn donor_path(job: &JobSpec, options: &E4defragOptions, clone: u32) -> PathBuf {
    let name = options.donorname.as_deref().unwrap_or_default();
    let directories = split_file_names(job.file.directory.as_deref().unwrap_or_default());
    let place = if job.file.filename.is_some() { 0 } else { clone as usize };
    match directories.get(place % directories.len().max(1)) {
        Some(directory) => Path::new(directory).join(name),
        None => PathBuf::from(name),
    }
}

/// Opens the donor; also returns whether it was created. Symbolic links are refused, because they would lead to
/// a file that the job has not named.
fn open_donor(path: &Path) -> Result<(File, bool), Errno> {
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(libc::O_NOFOLLOW).mode(0o644);
    match options.clone().create_new(true).open(path) {
        Ok(donor) => Ok((donor, true)),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Ok((options.create(true).open(path)?, false))
        }
        Err(error) => Err(Errno::from(error)),
    }
}

/// Refuses an unsuitable donor before anything is changed.
fn check(found: &Metadata, donor: &File, files: &[OpenFile]) -> Result<(), (Errno, String)> {
    if !found.is_file() {
        return Err((Errno(libc::EINVAL), "is not a regular file".to_owned()));
    }
    match file_system::is_on_ext4(donor.as_raw_fd()) {
        Ok(true) => {}
        Ok(false) => {
            return Err((
                Errno(libc::EOPNOTSUPP),
                "is not on ext4, the only file system that exchanges extents".to_owned(),
            ));
        }
        Err(errno) => return Err((errno, errno.to_string())),
    }
    for file in files {
        let own = std::fs::metadata(&file.name).map_err(|error| {
            let errno = Errno::from(error);
            (errno, format!("its file {}: {errno}", file.name))
        })?;
        if own.dev() != found.dev() {
            return Err((Errno(libc::EXDEV), format!("is on another file system than {}", file.name)));
        }
        if own.ino() == found.ino() {
            return Err((
                Errno(libc::EINVAL),
                format!("is {} itself, which cannot be its own donor", file.name),
            ));
        }
    }
    Ok(())
}
