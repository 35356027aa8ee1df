//! The device whose content a sweep may destroy: named twice, unused and whole.

use super::GivenVolume;
use crate::Runner;
use crate::device::{Facts, SECTOR, check_named_twice, check_room, path_of_new_file, refused, whole_device};
use fathom_command::Failure;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// The kind of target on which file systems are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::sweep) enum Backing {
    /// A block device.
    Device,
    /// An existing file, attached to a loop device.
    File,
    /// An unnamed file in the directory of this path, which exists only during the sweep.
    Made,
}

/// A device that was found by its name.
pub(super) struct FoundDevice {
    /// Path of the device, without symbolic links.
    pub(super) path: PathBuf,
    pub(super) backing: Backing,
    pub(super) bytes: u64,
    /// The backing file, if the device is a loop device.
    pub(super) behind: String,
    /// Serial number of the device's disk, if known.
    pub(super) serial: String,
}

impl FoundDevice {
    fn file(path: PathBuf, backing: Backing, bytes: u64) -> FoundDevice {
        FoundDevice { path, backing, bytes, behind: String::new(), serial: String::new() }
    }
}

/// Examines what `--device` and `--destroy` refer to.
pub(super) fn examine(given: &GivenVolume, runner: &dyn Runner) -> Result<FoundDevice, Failure> {
    let named = given.device.as_deref().ok_or_else(|| {
        Failure::new(
            "--fs needs --device=DEVICE, and once more --destroy=DEVICE, since the content of the device will be lost",
        )
    })?;
    let metadata = match std::fs::metadata(named) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return examine_missing(named, given),
        Err(error) => return Err(Failure::file(named, &error)),
    };
    let path = std::fs::canonicalize(named).map_err(|error| Failure::file(named, &error))?;
    let kind = metadata.file_type();
    if !kind.is_block_device() && !kind.is_file() {
        return Err(refused(named, "it is neither a block device nor a regular file"));
    }
    check_named_twice(named, &metadata, given.destroy.as_deref())?;
    if given.device_size.is_some() {
        return Err(refused(named, "it exists and has a size; leave out --device-size"));
    }
    if let Some(used) = runner.use_of(&path) {
        return Err(refused(named, &format!("it is in use: {used}; name another device")));
    }
    if kind.is_file() {
        let allocated = metadata.st_blocks().saturating_mul(SECTOR);
        check_room(&path, metadata.len().saturating_sub(allocated))?;
        let bytes = metadata.len() / SECTOR * SECTOR;
        return Ok(FoundDevice::file(path, Backing::File, bytes));
    }
    let facts = Facts::of(&metadata);
    let bytes = whole_device(named, &path, &facts, true)?;
    let (behind, serial) = (facts.behind(), facts.serial());
    Ok(FoundDevice { path, backing: Backing::Device, bytes, behind, serial })
}

/// Examines a file that will be created for the duration of the sweep.
fn examine_missing(named: &Path, given: &GivenVolume) -> Result<FoundDevice, Failure> {
    let bytes = given.device_size.ok_or_else(|| {
        refused(
            named,
            "no such device or file; --device-size=SIZE would create a file for the duration of the sweep",
        )
    })?;
    let path = path_of_new_file(named)?;
    if given.destroy.as_deref().is_some_and(|destroy| destroy != named) {
        return Err(refused(named, "--destroy names something else"));
    }
    if !bytes.is_multiple_of(SECTOR) {
        return Err(Failure::new(format!("--device-size: a device has a multiple of {SECTOR} bytes")));
    }
    check_room(&path, bytes)?;
    Ok(FoundDevice::file(path, Backing::Made, bytes))
}
