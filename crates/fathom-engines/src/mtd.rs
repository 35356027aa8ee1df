//! `mtd`: flash memory (`/dev/mtd0`), accessed by `pread`, `pwrite` and erasing. A trim erases whole blocks;
//! nothing is erased before a write.

use crate::media::Media;
use crate::shared::outcome;
use fathom_run::engine::{Engine, EngineType, Io, OpenFile, Queued, Setup, SetupError};
use fathom_run::files::{FileEntry, FileError, FileKind};
use fathom_run::storage::Storage;
use fathom_run::unit::Operation;
use fathom_spec::JobSpec;
use fathom_spec::engines::{self, EngineDef};
use fathom_spec::options::verification::VerifyMethod;
use fathom_stats::counted;
use fathom_sys::Errno;
use fathom_sys::flash::{self, Geometry};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

pub(crate) struct Mtd {
    devices: Vec<Device>,
    /// Why the engine refused the current I/O.
    refusal: Option<String>,
}

/// One device.
struct Device {
    name: String,
    geometry: Geometry,
    /// For each erase block, whether it is bad and must be skipped; empty if all can be used.
    bad: Box<[bool]>,
    /// Number of I/Os that were skipped because of a bad block.
    skipped: u64,
}

impl EngineType for Mtd {
    const DEFINITION: &'static EngineDef = &engines::mtd::DEFINITION;

    fn storage(_job: &JobSpec) -> Box<dyn Storage> {
        Box::new(Media::new(look_at))
    }

    fn new(setup: &Setup<'_>) -> Result<Mtd, SetupError> {
        let devices = setup.files.iter().map(|file| Device::of(setup, file)).collect::<Result<_, _>>()?;
        Ok(Mtd { devices, refusal: None })
    }
}

impl Engine for Mtd {
    #[inline(always)]
    fn queue(&mut self, _slot: u32, io: &Io) -> Queued {
        let device = &mut self.devices[io.file() as usize];
        Queued::Done(match io.operation() {
            Operation::Trim if !device.is_whole(io) => {
                self.refusal =
                    Some(device.told(io, "trims erase whole blocks of", device.geometry.erase_size));
                i64::from(-libc::EINVAL)
            }
            Operation::Read | Operation::Write | Operation::Trim => {
                let moved = if device.bad.is_empty() {
                    perform(io, 0, io.length())
                } else {
                    device.perform_around(io)
                };
                if moved == i64::from(-libc::EINVAL) && io.operation() == Operation::Write {
                    self.refusal =
                        Some(device.told(io, "writes fill whole pages of", device.geometry.write_size));
                }
                moved
            }
            // A sync has nothing to do, because the kernel writes to flash memory without caching.
            Operation::Sync | Operation::DataSync | Operation::RangeSync => 0,
        })
    }

    fn protocol_status(&mut self, _slot: u32) -> Option<String> {
        self.refusal.take()
    }

    fn remarks(&mut self) -> Vec<String> {
        let skipped = self.devices.iter_mut().filter(|device| device.skipped > 0);
        skipped
            .map(|device| {
                let (count, name) = (std::mem::take(&mut device.skipped), &device.name);
                format!(
                    "{} reached bad erase blocks of {name}: nothing was done there (skip_bad=1)",
                    counted(count, "I/O")
                )
            })
            .collect()
    }
}

impl Device {
    fn of(setup: &Setup<'_>, file: &OpenFile) -> Result<Device, SetupError> {
        let geometry = geometry(Path::new(&file.name)).map_err(|errno| SetupError::new(errno, "stat"))?;
        let bad = if setup.job.private.mtd.skip_bad { bad_blocks(file, &geometry)? } else { Box::default() };
        if !bad.is_empty() && setup.job.verification.verify != VerifyMethod::None {
            return Err(SetupError::new(Errno(libc::EINVAL), "skip_bad").with_advice(format!(
                "{} has bad erase blocks, where nothing is written that could be checked; leave out verify=, \
                or choose a part without them by offset= and size=",
                file.name
            )));
        }
        Ok(Device { name: file.name.clone(), geometry, bad, skipped: 0 })
    }

    fn is_whole(&self, io: &Io) -> bool {
        let size = self.geometry.erase_size;
        io.offset().is_multiple_of(size) && u64::from(io.length()).is_multiple_of(size)
    }

    /// Performs one I/O, erase block by erase block, skipping bad ones. Skipped bytes count as done.
    #[cold]
    #[inline(never)]
    fn perform_around(&mut self, io: &Io) -> i64 {
        let (mut done, mut reached_bad) = (0, false);
        while done < io.length() {
            let offset = io.offset() + u64::from(done);
            let in_block = self.geometry.erase_size - offset % self.geometry.erase_size;
            let length = (io.length() - done).min(u32::try_from(in_block).unwrap_or(u32::MAX));
            if self.bad.get((offset / self.geometry.erase_size) as usize) == Some(&true) {
                reached_bad = true;
                done += length;
                continue;
            }
            match perform(io, done, length) {
                moved if moved == i64::from(length) => done += length,
                error @ ..0 if done == 0 => return error,
                // Returns the number of bytes moved so far. The rest is retried, and the retry returns the
                // error.
                moved => return i64::from(done) + moved.max(0),
            }
        }
        self.skipped += u64::from(reached_bad);
        i64::from(io.length())
    }

    /// Explains why an I/O is refused because of its offset or length.
    #[cold]
    fn told(&self, io: &Io, rule: &str, unit: u64) -> String {
        format!("{rule} {}, of {unit} bytes, not offset={} length={}", self.name, io.offset(), io.length())
    }
}

/// Performs part of an I/O; returns the number of bytes moved or erased, or `-errno`.
#[inline(always)]
fn perform(io: &Io, from: u32, length: u32) -> i64 {
    let (fd, offset) = (io.handle().descriptor(), io.offset() + u64::from(from));
    // SAFETY: `from` and `length` are within the I/O, whose buffer is as long and not used elsewhere during
    // the call.
    let returned = unsafe {
        let buffer = io.buffer().wrapping_add(from as usize).cast();
        match io.operation() {
            Operation::Read => libc::pread(fd, buffer, length as usize, offset as libc::off_t),
            Operation::Write => libc::pwrite(fd, buffer, length as usize, offset as libc::off_t),
            _ => {
                let erased = flash::erase(fd, offset, u64::from(length));
                return erased.map_or_else(|errno| i64::from(-errno.0), |()| i64::from(length));
            }
        }
    };
    outcome(returned)
}

/// Bad erase blocks of a device within the job's range; empty if it has none.
fn bad_blocks(file: &OpenFile, geometry: &Geometry) -> Result<Box<[bool]>, SetupError> {
    let size = geometry.erase_size;
    let (first, end) = (file.start / size, (file.start + file.size).div_ceil(size));
    let mut bad = vec![false; end as usize];
    for block in first..end {
        bad[block as usize] = flash::is_bad(file.handle.descriptor(), block * size)
            .map_err(|errno| SetupError::new(errno, "MEMGETBADBLOCK"))?;
    }
    Ok(if bad.contains(&true) { bad.into() } else { Box::default() })
}

/// Accepts only character devices of flash memory as targets.
fn look_at(path: PathBuf) -> Result<FileEntry, FileError> {
    match geometry(&path) {
        Ok(geometry) => Ok(FileEntry::new(path, FileKind::Medium, Some(geometry.size))),
        Err(errno) => Err(FileError::of_call(errno, "open", &path).with_message(format!(
            "fathom: {} is not flash memory; ioengine=mtd works on character devices such as /dev/mtd0 ({errno})",
            path.display()
        ))),
    }
}

fn geometry(path: &Path) -> Result<Geometry, Errno> {
    let found = std::fs::metadata(path).map_err(Errno::from)?;
    if !found.file_type().is_char_device() {
        return Err(Errno(libc::EINVAL));
    }
    flash::geometry(found.rdev()).ok_or(Errno(libc::ENODEV))
}
