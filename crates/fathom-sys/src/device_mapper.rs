//! Tables of mapped devices, which state where each part of a device is located.

use crate::errno::{Errno, check};
use crate::file;
use std::os::fd::AsRawFd;
use std::path::Path;

// From linux/dm-ioctl.h.
const TABLE_STATUS: libc::c_ulong = 0xC138_FD0C;
const STATUS_TABLE: u32 = 1 << 4;
const BUFFER_FULL: u32 = 1 << 8;
/// Maximum size of a table in bytes.
const MOST_BYTES: usize = 16 << 20;

/// `struct dm_ioctl`.
#[repr(C)]
struct Header {
    version: [u32; 3],
    data_size: u32,
    data_start: u32,
    target_count: u32,
    open_count: i32,
    flags: u32,
    event_number: u32,
    padding: u32,
    device: u64,
    name: [u8; 128],
    uuid: [u8; 129],
    data: [u8; 7],
}

/// A part of a mapped device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// First sector, of 512 bytes.
    pub start: u64,
    /// Number of sectors.
    pub length: u64,
    /// Type of the mapping, such as `linear`.
    pub kind: String,
    /// Parameters of the mapping: for `linear`, device and offset, such as `8:0 2048`.
    pub parameters: String,
}

/// Returns the table of the mapped device with this number.
pub fn table(device: u64) -> Result<Vec<Target>, Errno> {
    let control = file::open(Path::new("/dev/mapper/control"), libc::O_RDWR, 0)?;
    let mut size = 64 << 10;
    loop {
        // 64-bit words, so that the structure at the start is aligned.
        let mut memory = vec![0u64; size / 8];
        let header = Header {
            version: [4, 0, 0],
            data_size: size as u32,
            data_start: size_of::<Header>() as u32,
            target_count: 0,
            open_count: 0,
            flags: STATUS_TABLE,
            event_number: 0,
            padding: 0,
            device,
            name: [0; 128],
            uuid: [0; 129],
            data: [0; 7],
        };
        let place: *mut Header = memory.as_mut_ptr().cast();
        // SAFETY: the memory is longer than the structure and aligned for it.
        unsafe { place.write(header) };
        // SAFETY: the structure contains the size of the buffer that it begins; the kernel writes no further.
        check(i64::from(unsafe { libc::ioctl(control.as_raw_fd(), TABLE_STATUS as _, place) }))?;
        // SAFETY: the kernel has written the structure, all of whose fields are numbers.
        let (start, count, flags) = unsafe { ((*place).data_start, (*place).target_count, (*place).flags) };
        if flags & BUFFER_FULL != 0 && size < MOST_BYTES {
            size *= 8;
            continue;
        }
        let bytes: Vec<u8> = memory.iter().flat_map(|word| word.to_ne_bytes()).collect();
        return Ok(targets(bytes.get(start as usize..).unwrap_or_default(), count as usize));
    }
}

/// Parses the kernel's response: a `struct dm_target_spec`, a text, and so on. Each contains the offset of the
/// next one from the start.
fn targets(bytes: &[u8], count: usize) -> Vec<Target> {
    const SPEC: usize = 40;
    let mut found = Vec::new();
    let mut at = 0;
    while let (true, Some(spec)) = (found.len() < count, bytes.get(at..at + SPEC)) {
        let long = |from: usize| spec[from..from + 8].try_into().map(u64::from_ne_bytes).unwrap_or(0);
        let next = spec[20..24].try_into().map(u32::from_ne_bytes).unwrap_or(0) as usize;
        let text = |bytes: &[u8]| {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        };
        found.push(Target {
            start: long(0),
            length: long(8),
            kind: text(&spec[24..]),
            parameters: text(bytes.get(at + SPEC..).unwrap_or_default()),
        });
        if next <= at {
            break;
        }
        at = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_the_kernels() {
        assert_eq!(size_of::<Header>(), 312);
    }

    #[test]
    fn targets_follow_each_other() {
        let spec = |start: u64, length: u64, next: u32, kind: &str, parameters: &str| {
            let mut bytes = [start.to_ne_bytes(), length.to_ne_bytes()].concat();
            bytes.extend([[0; 4], next.to_ne_bytes()].concat());
            bytes.extend(format!("{kind:\0<16}{parameters}\0").bytes());
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            bytes
        };
        let one = spec(0, 8, 56, "linear", "8:0 2048");
        assert_eq!(one.len(), 56);
        let bytes = [one, spec(8, 16, 0, "striped", "2 128 8:0 0 8:16 0")].concat();
        let found = targets(&bytes, 2);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].kind.as_str(), found[0].parameters.as_str()), ("linear", "8:0 2048"));
        assert_eq!((found[1].start, found[1].length), (8, 16));
        assert_eq!(targets(&bytes[..50], 2).len(), 1);
        assert_eq!(targets(&bytes, 0), []);
    }
}
