//! Finds holes in the file below a job's loop device, because reads of holes do not reach a disk. A worker
//! searches once, after it has opened its targets, and only on local file systems.

use crate::crew::backing_file;
use crate::files::open::OpenFiles;
use crate::mounts::{mount_of, mounts};
use crate::region::HoleCounters;
use fathom_sys::{Errno, file};
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Local file systems that report holes in their files.
const KINDS: [&str; 7] = ["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs"];
/// Maximum number of extents of a file that are examined.
const MOST_PIECES: usize = 10_000;

/// Examines all loop devices among the targets.
pub(super) fn look(files: &OpenFiles, found: &HoleCounters) {
    for (target, entry) in files.list.iter().zip(files.entries()).filter(|(target, _)| target.is_block_device)
    {
        let Ok(device) = fs::metadata(&entry.path).map(|metadata| metadata.rdev()) else { continue };
        let directory =
            PathBuf::from(format!("/sys/dev/block/{}:{}", libc::major(device), libc::minor(device)));
        if let Some(holes) = holes_of(&directory, target.start, target.size) {
            found.add(device, target.size, holes);
        }
    }
}

/// Bytes of holes in a part of the loop device of this sysfs directory; `None` if unknown.
fn holes_of(directory: &Path, start: u64, size: u64) -> Option<u64> {
    let path = backing_file(directory)?;
    let mounts = mounts();
    if !KINDS.contains(&mount_of(&mounts, &path)?.report.kind.as_str()) {
        return None;
    }
    let offset: u64 = fs::read_to_string(directory.join("loop/offset")).ok()?.trim().parse().ok()?;
    let backing = File::open(path).ok()?;
    let (first, end) = (offset + start, offset + start + size);
    let (mut at, mut holes) = (first, 0);
    for _ in 0..MOST_PIECES {
        if at >= end {
            break;
        }
        let data = match file::next_data(backing.as_raw_fd(), at) {
            Ok(data) => data.min(end),
            // The file has no data beyond this offset.
            Err(Errno(libc::ENXIO)) => end,
            Err(_) => return None,
        };
        holes += data - at;
        if data == end {
            break;
        }
        at = file::next_hole(backing.as_raw_fd(), data).ok()?;
    }
    Some(holes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    /// A sysfs directory that describes a loop device backed by this file.
    fn described(file: &Path, offset: u64) -> tempfile::TempDir {
        let directory = tempfile::tempdir().expect("a directory");
        fs::create_dir(directory.path().join("loop")).expect("can be made");
        fs::write(directory.path().join("loop/backing_file"), format!("{}\n", file.display()))
            .expect("written");
        fs::write(directory.path().join("loop/offset"), format!("{offset}\n")).expect("written");
        directory
    }

    #[test]
    fn holes_of_the_part_are_counted() {
        const MIB: u64 = 1 << 20;
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("image");
        let image = File::create(&path).expect("a file");
        image.set_len(8 * MIB).expect("room");
        image.write_all_at(&vec![1; MIB as usize], 2 * MIB).expect("written");
        let directory = described(&path, 0);
        let of = |start, size| holes_of(directory.path(), start, size);
        let kind = mount_of(&mounts(), &path).map(|mount| mount.report.kind.clone()).unwrap_or_default();
        if !KINDS.contains(&kind.as_str()) {
            // An overlay does not report holes in its files.
            assert_eq!(of(0, 8 * MIB), None, "{kind}");
            return;
        }
        assert_eq!((of(0, 8 * MIB), of(2 * MIB, MIB), of(3 * MIB, MIB)), (Some(7 * MIB), Some(0), Some(MIB)));
        assert_eq!(of(MIB + 4096, 2 * MIB), Some(MIB), "the part begins and ends anywhere");
        let shifted = described(&path, MIB);
        assert_eq!(holes_of(shifted.path(), MIB, MIB), Some(0));
        let none = tempfile::tempdir().expect("a directory");
        assert_eq!(holes_of(none.path(), 0, MIB), None);
    }
}
