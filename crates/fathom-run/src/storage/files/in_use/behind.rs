//! Character devices that reach the medium of a block device: SCSI generic (`/dev/sg0`, `/dev/bsg/...`), NVMe generic (`/dev/ng0n1`) and flash
//! memory (`/dev/mtd0`).

use std::fs;
use std::path::{Path, PathBuf};

/// The block device that belongs to the character device with this number, if one exists; `sys` is the mount
/// point of sysfs.
pub(super) fn block_device(sys: &Path, character: u64) -> Option<u64> {
    let (major, minor) = (libc::major(character), libc::minor(character));
    let own = fs::canonicalize(sys.join(format!("dev/char/{major}:{minor}"))).ok()?;
    let name = own.file_name()?.to_str()?;
    let candidates: Vec<PathBuf> = match name {
        // ng0n1 and nvme0n1 belong to one controller or one subsystem.
        generic if generic.starts_with("ng") => {
            let block = format!("nvme{}", &generic[2..]);
            vec![own.join("device").join(&block), sys.join("class/block").join(&block)]
        }
        flash if flash.starts_with("mtd") => {
            // mtd0ro is the read-only device of the memory that mtd0 accesses.
            let block = format!("mtdblock{}", flash[3..].trim_end_matches("ro"));
            vec![sys.join("class/block").join(block)]
        }
        _ => fs::read_dir(own.join("device/block")).ok()?.flatten().map(|entry| entry.path()).collect(),
    };
    candidates.iter().find_map(|device| number(&fs::read_to_string(device.join("dev")).ok()?))
}

/// Number of the flash memory of this character device; `mtd0` and the read-only `mtd0ro` are the same.
pub(super) fn flash(character: u64) -> Option<u32> {
    const FLASH: u32 = 90;
    (libc::major(character) == FLASH).then(|| libc::minor(character) / 2)
}

/// Number of the flash memory of this block device.
pub(super) fn flash_of_block(block: u64) -> Option<u32> {
    const FLASH: u32 = 31;
    (libc::major(block) == FLASH).then(|| libc::minor(block))
}

/// The block device of a flash memory, if the kernel provides one.
pub(super) fn flash_block(sys: &Path, flash: u32) -> Option<u64> {
    number(&fs::read_to_string(sys.join(format!("class/block/mtdblock{flash}/dev"))).ok()?)
}

/// Parses a device number in the form `8:16`.
fn number(text: &str) -> Option<u64> {
    let (major, minor) = text.trim().split_once(':')?;
    Some(libc::makedev(major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A sysfs tree with one device of each kind.
    fn sysfs() -> tempfile::TempDir {
        let directory = tempfile::tempdir().expect("a directory");
        let sys = directory.path();
        for (character, place, block, number) in [
            ("21:0", "devices/host0/scsi_generic/sg0", Some("device/block/sda"), "8:0"),
            ("239:0", "devices/host0/bsg/0:0:0:0", Some("device/block/sdb"), "8:16"),
            ("240:0", "devices/nvme0/ng0n1", Some("device/nvme0n1"), "259:0"),
            ("1:3", "devices/virtual/mem/null", None, ""),
        ] {
            let own = sys.join(place);
            fs::create_dir_all(&own).expect("made");
            fs::create_dir_all(sys.join("dev/char")).expect("made");
            symlink(&own, sys.join("dev/char").join(character)).expect("made");
            if let Some(block) = block {
                fs::create_dir_all(own.join(block)).expect("made");
                fs::write(own.join(block).join("dev"), format!("{number}\n")).expect("made");
            }
        }
        for (character, name) in [("90:0", "mtd0"), ("90:1", "mtd0ro")] {
            let own = sys.join("devices/virtual/mtd").join(name);
            fs::create_dir_all(&own).expect("made");
            symlink(&own, sys.join("dev/char").join(character)).expect("made");
        }
        fs::create_dir_all(sys.join("class/block/mtdblock0")).expect("made");
        fs::write(sys.join("class/block/mtdblock0/dev"), "31:0\n").expect("made");
        directory
    }

    #[test]
    fn each_kind_of_device_leads_to_its_disk() {
        let sys = sysfs();
        let behind = |major, minor| block_device(sys.path(), libc::makedev(major, minor));
        assert_eq!(behind(21, 0), Some(libc::makedev(8, 0)));
        assert_eq!(behind(239, 0), Some(libc::makedev(8, 16)));
        assert_eq!(behind(240, 0), Some(libc::makedev(259, 0)));
        assert_eq!(behind(90, 0), Some(libc::makedev(31, 0)));
        assert_eq!(behind(90, 1), Some(libc::makedev(31, 0)));
        assert_eq!(behind(1, 3), None);
        assert_eq!(behind(4, 64), None);
    }
}
