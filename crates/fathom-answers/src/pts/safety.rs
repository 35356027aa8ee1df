//! Checks what a test may write to, without changing anything: an unused device that was named twice, or a
//! file.

use super::plan::{TargetKind, TestTarget};
use super::signatures;
use crate::Runner;
use crate::device::{Facts, SECTOR, check_named_twice, check_room, path_of_new_file, refused};
use crate::figures;
use fathom_command::Failure;
use std::fs::{File, Metadata};
use std::io;
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Minimum size of a target; figures of a smaller one are meaningless.
const LEAST_BYTES: u64 = 16 << 20;

/// The options that name the target on the command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GivenTarget {
    pub(super) device: Option<PathBuf>,
    pub(super) file: Option<PathBuf>,
    /// The confirmation, in which the user names the same target again.
    pub(super) destroy: Option<PathBuf>,
    /// Size of a file to be created.
    pub(super) size: Option<u64>,
}

/// A checked target, and the content that the test will destroy.
pub(super) struct Examined {
    pub(super) target: TestTarget,
    /// Names of the partitions and file systems on the target.
    pub(super) holds: Vec<String>,
}

/// Examines the target. `begun` is the target of a resumed test, whose file does not have to be named twice.
pub(super) fn examine(
    given: &GivenTarget,
    begun: Option<&TestTarget>,
    runner: &dyn Runner,
) -> Result<Examined, Failure> {
    match (&given.device, &given.file) {
        (Some(device), None) => examine_device(device, given, runner),
        (None, Some(file)) => examine_file(file, given, begun, runner),
        (Some(_), Some(_)) => Err(Failure::new("both a device and --file given; a test has one of them")),
        (None, None) => Err(Failure::new(
            "no device given; write for example fathom pts iops /dev/nvme0n1 --destroy=/dev/nvme0n1, or --file=PATH --size=SIZE",
        )),
    }
}

fn examine_device(named: &Path, given: &GivenTarget, runner: &dyn Runner) -> Result<Examined, Failure> {
    let metadata = std::fs::metadata(named).map_err(|error| Failure::file(named, &error))?;
    if !metadata.file_type().is_block_device() {
        return Err(refused(named, "it is not a block device; a file is named with --file=PATH"));
    }
    if given.size.is_some() {
        return Err(refused(named, "a device has a fixed size; leave out --size"));
    }
    let path = std::fs::canonicalize(named).map_err(|error| Failure::file(named, &error))?;
    let facts = Facts::of(&metadata);
    let bytes = facts.bytes();
    let holds = match bytes {
        0 => return Err(refused(named, "the kernel reports no size for it; it may have no medium")),
        bytes => holdings(named, &facts, bytes)?,
    };
    if given.destroy.is_none() && !holds.is_empty() {
        return Err(refused(
            named,
            &format!(
                "it is not empty ({}), and its whole content will be lost; if that is meant, name it again: --destroy={}",
                holds.join("; "),
                named.display()
            ),
        ));
    }
    check_named_twice(named, &metadata, given.destroy.as_deref())?;
    if facts.is_read_only() {
        return Err(refused(named, "it is read only"));
    }
    if let Some(used) = runner.use_of(&path) {
        return Err(refused(named, &format!("it is in use: {used}; end that, or name another device")));
    }
    if facts.value_of_disk("queue/zoned") == "host-managed" {
        return Err(refused(
            named,
            "its zones accept writes only in order, but these tests write at random; zonemode=zbd in a job can test it",
        ));
    }
    check_size(named, bytes)?;
    let sector = facts.value_of_disk("queue/logical_block_size").parse().unwrap_or(SECTOR);
    let text = |name: &str| fathom_results::single_line(&facts.value_of_disk(name));
    let firmware = [text("device/firmware_rev"), text("device/rev")];
    let target = TestTarget {
        path,
        kind: TargetKind::Device,
        bytes,
        sector,
        model: text("device/model"),
        serial: facts.serial(),
        firmware: firmware.into_iter().find(|text| !text.is_empty()).unwrap_or_default(),
        behind: facts.behind(),
        write_cache: text("queue/write_cache"),
        inode: 0,
    };
    Ok(Examined { target, holds })
}

/// Names of the partitions and file systems on a device.
fn holdings(named: &Path, facts: &Facts, bytes: u64) -> Result<Vec<String>, Failure> {
    let device = File::open(named).map_err(|error| Failure::file(named, &error))?;
    let marks = signatures::found(&device, bytes).map_err(|error| Failure::file(named, &error))?;
    let mut holds: Vec<String> = Vec::new();
    let partitions = facts.partitions();
    if !partitions.is_empty() {
        holds.push(format!("partitions {}", partitions.join(" ")));
    }
    holds.extend(marks.into_iter().map(str::to_owned));
    Ok(holds)
}

fn check_size(named: &Path, bytes: u64) -> Result<(), Failure> {
    match bytes < LEAST_BYTES {
        true => Err(refused(
            named,
            &format!(
                "{} are too small to measure; the minimum is {}",
                figures::size(bytes),
                figures::size(LEAST_BYTES)
            ),
        )),
        false => Ok(()),
    }
}

fn examine_file(
    named: &Path,
    given: &GivenTarget,
    begun: Option<&TestTarget>,
    runner: &dyn Runner,
) -> Result<Examined, Failure> {
    let metadata = match std::fs::metadata(named) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return examine_missing(named, given, begun);
        }
        Err(error) => return Err(Failure::file(named, &error)),
    };
    if !metadata.is_file() {
        return Err(refused(named, "it is not a regular file; a device is named without --file"));
    }
    let path = std::fs::canonicalize(named).map_err(|error| Failure::file(named, &error))?;
    let own = begun.filter(|target| is_made(target, &path, &metadata));
    if own.is_none() {
        if given.size.is_some() {
            return Err(refused(named, "it exists and has a size; leave out --size"));
        }
        check_named_twice(named, &metadata, given.destroy.as_deref())?;
    }
    if let Some(used) = runner.use_of(&path) {
        return Err(refused(named, &format!("it is in use: {used}; name another file")));
    }
    let bytes = own.map_or(metadata.len() >> 20 << 20, |target| target.bytes);
    check_size(named, bytes)?;
    check_room(&path, bytes.saturating_sub(metadata.st_blocks().saturating_mul(SECTOR)))?;
    let kind = if own.is_some() { TargetKind::Made } else { TargetKind::File };
    Ok(Examined { target: file_target(path, kind, bytes, metadata.st_ino()), holds: Vec::new() })
}

/// True for the file that the test itself created.
fn is_made(target: &TestTarget, path: &Path, metadata: &Metadata) -> bool {
    target.kind == TargetKind::Made && target.path == path && target.inode == metadata.st_ino()
}

fn examine_missing(
    named: &Path,
    given: &GivenTarget,
    begun: Option<&TestTarget>,
) -> Result<Examined, Failure> {
    if begun.is_some() {
        return Err(refused(
            named,
            "the file of the unfinished test no longer exists; remove the results file as well, or name another one with --output",
        ));
    }
    let bytes = given.size.ok_or_else(|| {
        refused(named, "no such file; --size=SIZE creates one for the duration of the test")
    })?;
    let path = path_of_new_file(named)?;
    if given.destroy.as_deref().is_some_and(|destroy| destroy != named) {
        return Err(refused(named, "--destroy names something else"));
    }
    let bytes = bytes >> 20 << 20;
    check_size(named, bytes)?;
    check_room(&path, bytes)?;
    Ok(Examined { target: file_target(path, TargetKind::Made, bytes, 0), holds: Vec::new() })
}

fn file_target(path: PathBuf, kind: TargetKind, bytes: u64, inode: u64) -> TestTarget {
    TestTarget {
        path,
        kind,
        bytes,
        // This value is used until the block sizes that direct I/O supports are known.
        sector: SECTOR,
        model: String::new(),
        serial: String::new(),
        firmware: String::new(),
        behind: String::new(),
        write_cache: String::new(),
        inode,
    }
}
