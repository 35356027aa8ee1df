//! Where the bytes of a worker's files are on block devices.

use fathom_record::devices;
use fathom_sys::extents::{self, Extent};
use fathom_sys::mount_list::{self, MountLine};
use fathom_trace::Device;
use fathom_trace::side::RecordedDevice;
use std::fs::{self, File};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const SECTOR: u64 = 512;
/// An extent map that does not explain an I/O is read again after this time, and after this multiple of the time that
/// reading it takes.
const STALE: Duration = Duration::from_millis(100);
const PAUSE_PER_READ: u32 = 50;
/// Extents of a file that are kept at most.
const MOST_EXTENTS: usize = 1 << 20;
/// File systems that do not say where on their devices the data of a file is.
const UNPLACED: [&str; 5] = ["btrfs", "bcachefs", "zfs", "overlay", "erofs"];

/// Where an I/O is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On these sectors of a device.
    At(Device, Vec<Range<u64>>),
    /// On no block device of this machine, or in a hole: all of its time is above them.
    Nowhere,
    /// Unknown.
    Unknown,
}

/// A file of a worker.
pub(super) enum Target {
    /// A device: its disk, and the first sector of the partition.
    Device(RecordedDevice, u64),
    /// A file on such a device.
    File(RecordedDevice, u64, Box<ExtentMap>),
    /// A file of this file system, which has no block device on this machine.
    WithoutDevice(String),
    /// A file whose place is unknown, because of this.
    Unknown(String),
}

impl Target {
    /// Looks up a file or device.
    pub(super) fn of(path: &Path) -> Target {
        let Ok(metadata) = fs::metadata(path) else {
            return Target::Unknown("does not exist yet".to_owned());
        };
        let is_device = metadata.file_type().is_block_device();
        let number = if is_device { metadata.rdev() } else { metadata.dev() };
        if !is_device && !metadata.is_file() {
            return Target::Unknown("is not a file on a block device".to_owned());
        }
        if libc::major(number) == 0 {
            return without_number(path);
        }
        match devices::disk_of(number) {
            Some((disk, first)) if is_device => Target::Device(disk, first),
            Some((disk, first)) => Target::File(disk, first, Box::new(ExtentMap::of(path))),
            None => Target::Unknown("is on a device that /sys does not show".to_owned()),
        }
    }

    /// The disk that it is on.
    pub(super) fn disk(&self) -> Option<&RecordedDevice> {
        match self {
            Target::Device(disk, _) | Target::File(disk, ..) => Some(disk),
            Target::WithoutDevice(_) | Target::Unknown(_) => None,
        }
    }

    /// The place of bytes of the file.
    pub(super) fn place(&mut self, offset: u64, length: u64) -> Place {
        match self {
            Target::Device(disk, first) => {
                let begin = *first + offset / SECTOR;
                let end = *first + (offset + length).div_ceil(SECTOR);
                Place::At(disk.device, vec![Range { start: begin, end }])
            }
            Target::File(disk, first, map) => match map.ranges(offset, length) {
                Some(ranges) if ranges.is_empty() => Place::Nowhere,
                Some(ranges) => {
                    let sectors = |bytes: &Range<u64>| {
                        *first + bytes.start / SECTOR..*first + bytes.end.div_ceil(SECTOR)
                    };
                    Place::At(disk.device, ranges.iter().map(sectors).collect())
                }
                None => Place::Unknown,
            },
            Target::WithoutDevice(_) => Place::Nowhere,
            Target::Unknown(_) => Place::Unknown,
        }
    }

    /// Tells that no request was where the place of an I/O is: the file may have moved.
    pub(super) fn doubt(&mut self) {
        if let Target::File(_, _, map) = self {
            map.doubt();
        }
    }
}

/// A file on a file system that has no device number from a block device.
fn without_number(path: &Path) -> Target {
    let canonical = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let text = mount_list::text();
    let mounts = text.lines().filter_map(MountLine::parse);
    let mount = mount_list::holder(mounts, &canonical, |mount| mount_list::plain(mount.directory));
    let kind = mount.map_or("an unknown file system", |mount| mount.kind);
    match UNPLACED.contains(&kind) {
        true => Target::Unknown(format!("is on {kind}, which does not say where its data is on a device")),
        false => Target::WithoutDevice(format!("is on {kind}, which has no block device on this machine")),
    }
}

/// The extents of a file, read when they are first needed.
pub(super) struct ExtentMap {
    path: PathBuf,
    extents: Vec<Extent>,
    /// All extents before this offset are known.
    known_to: u64,
    read: Instant,
    took: Duration,
    is_in_doubt: bool,
}

impl ExtentMap {
    fn of(path: &Path) -> ExtentMap {
        ExtentMap {
            path: path.to_owned(),
            extents: Vec::new(),
            known_to: 0,
            read: Instant::now(),
            took: Duration::ZERO,
            is_in_doubt: false,
        }
    }

    fn doubt(&mut self) {
        self.is_in_doubt = true;
    }

    /// Reads the map up to this offset; `None` if the file system does not have one.
    fn read_to(&mut self, end: u64) -> Option<()> {
        if self.is_in_doubt && self.read.elapsed() > STALE.max(self.took * PAUSE_PER_READ) {
            self.extents.clear();
            self.known_to = 0;
        }
        if self.known_to >= end {
            return Some(());
        }
        let begin = Instant::now();
        let file = File::open(&self.path).ok()?;
        while self.known_to < end && self.extents.len() < MOST_EXTENTS {
            let (found, known_to) = extents::extents_from(file.as_raw_fd(), self.known_to).ok()?;
            self.extents.extend(found);
            // A file that grows while it is read must not be read for ever.
            if known_to <= self.known_to {
                break;
            }
            self.known_to = known_to;
        }
        (self.read, self.took, self.is_in_doubt) = (Instant::now(), begin.elapsed(), false);
        Some(())
    }

    /// The bytes of the device that hold these bytes of the file; none for those in holes.
    fn ranges(&mut self, offset: u64, length: u64) -> Option<Vec<Range<u64>>> {
        let end = offset.saturating_add(length);
        self.read_to(end)?;
        let first = self.extents.partition_point(|extent| extent.logical + extent.length <= offset);
        let mut ranges = Vec::new();
        for extent in self.extents[first..].iter().take_while(|extent| extent.logical < end) {
            let begin = extent.logical.max(offset);
            let until = (extent.logical + extent.length).min(end);
            let physical = extent.physical + (begin - extent.logical);
            ranges.push(physical..physical + (until - begin));
        }
        if ranges.is_empty() {
            // The file may have been written since.
            self.doubt();
        }
        Some(ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_where_the_extents_are() {
        let extent = |logical, physical, length| Extent { logical, physical, length };
        let mut map = ExtentMap {
            extents: vec![
                extent(0, 1 << 20, 8192),
                extent(8192, 4 << 20, 4096),
                extent(65536, 8 << 20, 4096),
            ],
            known_to: u64::MAX,
            ..ExtentMap::of(Path::new("/none"))
        };
        let base = 1 << 20;
        assert_eq!(map.ranges(4096, 4096), Some(vec![Range { start: base + 4096, end: base + 8192 }]));
        assert_eq!(map.ranges(4096, 8192), Some(vec![base + 4096..base + 8192, 4 << 20..(4 << 20) + 4096]));
        assert_eq!(map.ranges(16384, 4096), Some(Vec::new()), "a hole");
        assert!(map.is_in_doubt);
    }

    #[test]
    fn files_in_memory_have_no_device() {
        assert!(
            matches!(Target::of(Path::new("/proc/self/stat")), Target::WithoutDevice(why) if why.contains("proc"))
        );
        assert!(matches!(Target::of(Path::new("/dev/null")), Target::Unknown(_)));
        assert!(matches!(Target::of(Path::new("/no/such")), Target::Unknown(_)));
    }
}
