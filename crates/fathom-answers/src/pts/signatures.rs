//! Identifies the content of a device by the signatures of file systems, volume managers and partition tables,
//! for the message about what will be lost. Offsets and bytes are taken from the definitions of the formats.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A format: its name, the offset of its signature, and the signature. A negative offset is relative to the end
/// of the device.
type Mark = (&'static str, i64, &'static [u8]);

const MARKS: [Mark; 37] = [
    ("GPT partition table", 512, b"EFI PART"),
    ("GPT partition table", 4096, b"EFI PART"),
    ("GPT partition table (copy)", -512, b"EFI PART"),
    ("GPT partition table (copy)", -4096, b"EFI PART"),
    ("boot sector or DOS partition table", 510, b"\x55\xaa"),
    ("ext2, ext3 or ext4 file system", 0x438, b"\x53\xef"),
    ("xfs file system", 0, b"XFSB"),
    ("btrfs file system", 0x10040, b"_BHRfS_M"),
    ("f2fs file system", 0x400, b"\x10\x20\xf5\xf2"),
    ("bcache device", 0x1018, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca"),
    ("bcachefs file system", 0x1018, b"\xc6\x85\x73\xf6\x66\xce\x90\xa9"),
    ("FAT file system", 0x36, b"FAT1"),
    ("FAT file system", 0x52, b"FAT32"),
    ("exFAT file system", 3, b"EXFAT   "),
    ("NTFS file system", 3, b"NTFS    "),
    ("ISO 9660 file system", 0x8001, b"CD001"),
    ("squashfs file system", 0, b"hsqs"),
    ("erofs file system", 0x400, b"\xe2\xe1\xf5\xe0"),
    ("reiserfs file system", 0x10034, b"ReIsEr"),
    ("jfs file system", 0x8000, b"JFS1"),
    ("gfs2 file system", 0x10000, b"\x01\x16\x19\x70"),
    ("ocfs2 file system", 0x800, b"OCFSV2"),
    ("ocfs2 file system", 0x1000, b"OCFSV2"),
    ("ZFS pool", 0x20000, b"\x0c\xb1\xba\x00"),
    ("swap space", 4086, b"SWAPSPACE2"),
    ("LUKS volume", 0, b"LUKS\xba\xbe"),
    ("LVM physical volume", 0x000, b"LABELONE"),
    ("LVM physical volume", 0x200, b"LABELONE"),
    ("LVM physical volume", 0x400, b"LABELONE"),
    ("LVM physical volume", 0x600, b"LABELONE"),
    ("member of an md array", 0, b"\xfc\x4e\x2b\xa9"),
    ("member of an md array", 0x1000, b"\xfc\x4e\x2b\xa9"),
    ("member of an md array", -0x2000, b"\xfc\x4e\x2b\xa9"),
    ("member of an md array", -0x10000, b"\xfc\x4e\x2b\xa9"),
    ("member of an Intel RAID", -1024, b"Intel Raid ISM Cfg Sig."),
    ("Ceph BlueStore", 0, b"bluestore block device"),
    ("VMFS volume", 0x100000, b"\x0d\xd0\x01\xc0"),
];

/// Formats that are found on a device of this size, without duplicates.
pub(super) fn found(device: &File, bytes: u64) -> io::Result<Vec<&'static str>> {
    let mut names: Vec<&'static str> = Vec::new();
    for (name, place, mark) in MARKS {
        let length = mark.len() as u64;
        let place = match u64::try_from(place) {
            Ok(place) => Some(place),
            Err(_) => bytes.checked_sub(place.unsigned_abs()),
        };
        let Some(place) = place.filter(|place| place.saturating_add(length) <= bytes) else { continue };
        let mut content = vec![0; mark.len()];
        device.read_exact_at(&mut content, place)?;
        if content == mark && !names.contains(&name) {
            names.push(name);
        }
    }
    // These formats contain a boot sector, which therefore does not count as a second format.
    if names.iter().any(|name| name.contains("GPT") || name.contains("FAT") || name.contains("NTFS")) {
        names.retain(|name| !name.starts_with("boot sector"));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_at_their_places() {
        let bytes = 4 << 20;
        let file = tempfile::tempfile().expect("a file");
        file.set_len(bytes).expect("sized");
        assert!(found(&file, bytes).expect("reads").is_empty());
        for (name, place, mark) in MARKS {
            let place = if place < 0 { bytes - place.unsigned_abs() } else { place as u64 };
            file.write_all_at(mark, place).expect("written");
            assert!(found(&file, bytes).expect("reads").contains(&name), "{name}");
            file.write_all_at(&vec![0; mark.len()], place).expect("written");
        }
        assert!(found(&file, bytes).expect("reads").is_empty());
        assert!(found(&file, 100).expect("a small device is no error").is_empty());
    }

    #[test]
    fn a_boot_sector_belongs_to_what_has_one() {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(1 << 20).expect("sized");
        file.write_all_at(b"\x55\xaa", 510).expect("written");
        assert_eq!(found(&file, 1 << 20).expect("reads"), ["boot sector or DOS partition table"]);
        file.write_all_at(b"EFI PART", 512).expect("written");
        assert_eq!(found(&file, 1 << 20).expect("reads"), ["GPT partition table"]);
    }
}
