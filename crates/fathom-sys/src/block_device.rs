//! Queries and commands for block devices.

use crate::errno::{Errno, check};
use std::fs;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

// From linux/fs.h: _IOR(0x12, 114, size_t), _IO(0x12, 95), _IO(0x12, 97), _IO(0x12, 104), _IO(0x12, 119).
const BLKGETSIZE64: libc::c_ulong = 0x8008_1272;
const BLKRRPART: libc::c_ulong = 0x125F;
const BLKFLSBUF: libc::c_ulong = 0x1261;
const BLKSSZGET: libc::c_ulong = 0x1268;
const BLKDISCARD: libc::c_ulong = 0x1277;

/// Maximum number of attempts of a discard that another program's claim makes fail: half a second in total.
const CLAIM_TRIES: u32 = 500;
const CLAIM_PAUSE: Duration = Duration::from_millis(1);

/// Returns the size of a block device in bytes.
pub fn size(fd: RawFd) -> Result<u64, Errno> {
    let mut bytes: u64 = 0;
    // SAFETY: BLKGETSIZE64 stores one u64 through the pointer.
    let result = unsafe { libc::ioctl(fd, BLKGETSIZE64 as _, &mut bytes) };
    check(i64::from(result)).map(|_| bytes)
}

/// Returns the size in bytes of a logical block, the smallest addressable unit.
pub fn logical_block_size(fd: RawFd) -> Result<u64, Errno> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: BLKSSZGET stores one int through the pointer.
    let result = unsafe { libc::ioctl(fd, BLKSSZGET as _, &mut bytes) };
    check(i64::from(result))?;
    u64::try_from(bytes).map_err(|_| Errno(libc::EINVAL))
}

/// Returns the sysfs directories of the devices from which this one is built, such as the disks of a dm or md
/// device.
pub fn members(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory.join("slaves")).into_iter().flatten().flatten();
    entries.filter_map(|entry| fs::canonicalize(entry.path()).ok())
}

/// Writes back and drops the buffer cache of a block device.
pub fn flush_buffers(fd: RawFd) -> Result<(), Errno> {
    // SAFETY: BLKFLSBUF takes no argument.
    let result = unsafe { libc::ioctl(fd, BLKFLSBUF as _, 0) };
    check(i64::from(result)).map(|_| ())
}

/// Reads the partition table again, which removes partitions that are no longer in it. Fails for devices
/// without partitions.
pub fn reread_partitions(fd: RawFd) -> Result<(), Errno> {
    // SAFETY: BLKRRPART takes no argument.
    let result = unsafe { libc::ioctl(fd, BLKRRPART as _, 0) };
    check(i64::from(result)).map(|_| ())
}

/// Discards a range of a block device. The kernel claims the device for the discard, which fails with EBUSY
/// while another program has it open with O_EXCL to check whether it is in use. Such checks are brief, so the
/// call is retried.
pub fn discard(fd: RawFd, offset: u64, length: u64) -> Result<(), Errno> {
    let range = [offset, length];
    let mut tries = 0;
    loop {
        // SAFETY: BLKDISCARD reads two u64 through the pointer.
        let result = unsafe { libc::ioctl(fd, BLKDISCARD as _, range.as_ptr()) };
        match check(i64::from(result)) {
            Err(Errno(libc::EBUSY)) if tries < CLAIM_TRIES => tries += 1,
            result => return result.map(|_| ()),
        }
        std::thread::sleep(CLAIM_PAUSE);
    }
}

/// Returns the path of the block device with this number; `None` if this machine has no such device.
pub fn device_path(major: u32, minor: u32) -> Option<PathBuf> {
    let text = std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/uevent")).ok()?;
    let name = text.lines().find_map(|line| line.strip_prefix("DEVNAME="))?;
    Some(Path::new("/dev").join(name))
}

/// Integrity profile of a block device: the layout of the metadata of its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integrity {
    /// Number of data bytes per metadata tuple.
    pub interval: u32,
    /// Size of a metadata tuple in bytes.
    pub metadata: u32,
    /// Offset of the protection information within the tuple.
    pub offset: u32,
    /// The checksum.
    pub guard: GuardKind,
}

/// A checksum of protection information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardKind {
    /// CRC-16 of T10.
    Crc16,
    /// CRC-64 of NVMe.
    Crc64,
    /// An IP checksum, or none.
    Other,
}

/// Returns the integrity profile of a block device (Linux 6.17).
pub fn integrity(fd: RawFd) -> Result<Integrity, Errno> {
    /// `struct logical_block_metadata_cap` of linux/fs.h.
    #[repr(C)]
    #[derive(Default)]
    struct Capabilities {
        flags: u32,
        interval: u16,
        size: u8,
        opaque_size: u8,
        opaque_offset: u8,
        protection_size: u8,
        protection_offset: u8,
        guard: u8,
        application_size: u8,
        reference_size: u8,
        storage_size: u8,
        padding: u8,
    }
    // _IOWR(0x15, 2, struct logical_block_metadata_cap).
    const FS_IOC_GETLBMD_CAP: libc::c_ulong = 0xC010_1502;
    const CRC16: u8 = 2;
    const CRC64: u8 = 4;
    let mut found = Capabilities::default();
    // SAFETY: the kernel writes as many bytes as the request says, which is the size of the structure.
    check(i64::from(unsafe { libc::ioctl(fd, FS_IOC_GETLBMD_CAP as _, &mut found) }))?;
    if found.interval == 0 || found.size == 0 || found.protection_size == 0 {
        return Err(Errno(libc::EOPNOTSUPP));
    }
    Ok(Integrity {
        interval: found.interval.into(),
        metadata: found.size.into(),
        offset: found.protection_offset.into(),
        guard: match found.guard {
            CRC16 => GuardKind::Crc16,
            CRC64 => GuardKind::Crc64,
            _ => GuardKind::Other,
        },
    })
}
