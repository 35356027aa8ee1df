//! Finds volume groups (LVM2) by the metadata on their devices. While no volume of a group is active, the
//! kernel does not know the group, and its devices look unused.

use fathom_sys::file;
use fathom_sys::memory::Mapping;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

const SECTOR: usize = 512;
/// Number of sectors at the start of a device that may hold the label.
const LABELS: usize = 4;
/// Maximum length of a group's name in bytes.
const NAME: usize = 128;

/// The volume group of a device, for messages; `None` if the device has no label or cannot be read.
pub(super) fn of(device: &Path) -> Option<String> {
    let device = Front::open(device)?;
    let front = device.read(0, LABELS * SECTOR)?;
    let is_label = |sector: &&[u8]| sector.starts_with(b"LABELONE") && sector[24..].starts_with(b"LVM2 001");
    let sector = front.chunks(SECTOR).find(is_label)?;
    let named = metadata_areas(sector).into_iter().find_map(|area| name_in(area, &device));
    Some(match named {
        Some(name) => format!("the volume group {name}"),
        None => "a volume group (LVM)".to_owned(),
    })
}

/// A device whose first bytes are read with direct I/O, because buffered reads would leave data in the page
/// cache that could answer the jobs' reads.
struct Front {
    device: OwnedFd,
    buffer: Mapping,
}

/// Alignment and length of direct reads; a description fits into this length.
const BLOCK: usize = 4096;
const BLOCKS: usize = 2;

impl Front {
    fn open(path: &Path) -> Option<Front> {
        let flags = libc::O_RDONLY | libc::O_NONBLOCK;
        let device =
            file::open(path, flags | libc::O_DIRECT, 0).or_else(|_| file::open(path, flags, 0)).ok()?;
        Some(Front { device, buffer: Mapping::private(BLOCK * BLOCKS).ok()? })
    }

    /// Reads bytes from the device; returns fewer at the end of the device.
    fn read(&self, at: u64, length: usize) -> Option<Vec<u8>> {
        let first = at - at % BLOCK as u64;
        let wanted = if (at - first) as usize + length <= BLOCK { BLOCK } else { BLOCK * BLOCKS };
        // SAFETY: the buffer has room for that many bytes.
        let count = unsafe {
            let address = self.buffer.address().cast();
            libc::pread(self.device.as_raw_fd(), address, wanted, libc::off_t::try_from(first).ok()?)
        };
        // SAFETY: the kernel has written `count` bytes, and nothing else writes to the buffer.
        let bytes =
            unsafe { std::slice::from_raw_parts(self.buffer.address(), usize::try_from(count).ok()?) };
        let start = (at - first) as usize;
        Some(bytes.get(start..bytes.len().min(start + length))?.to_vec())
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Locations of the group's descriptions. The device's header, after the label, has a zero-terminated list of
/// data areas, followed by the list of these locations.
fn metadata_areas(sector: &[u8]) -> Vec<u64> {
    const HEADER: usize = 40;
    let content = sector.get(20..24).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes);
    let mut at = content as usize + HEADER;
    let mut areas = Vec::new();
    let mut lists = 0;
    while let (0..=1, Some(start)) = (lists, number(sector, at)) {
        match (start, lists) {
            (0, _) => lists += 1,
            (start, 1) => areas.push(start),
            _ => {}
        }
        at += 16;
    }
    areas
}

/// The name of the group, from the start of the newest description in an area.
fn name_in(area: u64, device: &Front) -> Option<String> {
    let header = device.read(area, SECTOR)?;
    if !header.get(4..)?.starts_with(b" LVM2 x[5A%r0N*>") {
        return None;
    }
    let start = number(&header, 40).filter(|start| *start > 0)?;
    let text = device.read(area.checked_add(start)?, NAME)?;
    let name: Vec<u8> =
        text.into_iter().take_while(|byte| !byte.is_ascii_whitespace() && *byte != b'{').collect();
    let name = String::from_utf8(name).ok()?;
    (!name.is_empty() && name.chars().all(|letter| letter.is_ascii_graphic())).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An image of a device after pvcreate and vgcreate.
    fn device(name: Option<&str>) -> tempfile::NamedTempFile {
        let mut bytes = vec![0; 1 << 20];
        let label = &mut bytes[SECTOR..2 * SECTOR];
        label[..8].copy_from_slice(b"LABELONE");
        label[20..24].copy_from_slice(&32u32.to_le_bytes());
        label[24..32].copy_from_slice(b"LVM2 001");
        for (at, value) in
            [(72, 1 << 20), (80, 0), (88, 0), (96, 0), (104, 4096), (112, 1 << 16), (120, 0), (128, 0)]
        {
            label[at..at + 8].copy_from_slice(&u64::to_le_bytes(value));
        }
        bytes[4100..4116].copy_from_slice(b" LVM2 x[5A%r0N*>");
        if let Some(name) = name {
            bytes[4096 + 40..4096 + 48].copy_from_slice(&512u64.to_le_bytes());
            bytes[4096 + 512..4096 + 512 + name.len()].copy_from_slice(name.as_bytes());
        }
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), bytes).expect("written");
        file
    }

    #[test]
    fn a_label_names_the_group() {
        assert_eq!(of(device(Some("data {\n")).path()).as_deref(), Some("the volume group data"));
        assert_eq!(of(device(None).path()).as_deref(), Some("a volume group (LVM)"));
        let empty = tempfile::NamedTempFile::new().expect("a file");
        assert_eq!(of(empty.path()), None);
        std::fs::write(empty.path(), vec![7; 1 << 16]).expect("written");
        assert_eq!(of(empty.path()), None);
    }
}
