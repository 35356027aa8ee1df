//! Firmware revision and serial number of a disk. Which unit was measured, and with which firmware, explains
//! differences between results that are otherwise alike.

use std::fs;
use std::path::Path;

/// Where udev keeps what it found out about each device.
const UDEV: &str = "/run/udev/data";

/// Header of the vital product data page 0x80: device type, page code, and the length in two bytes.
const PAGE_HEADER: usize = 4;

/// Firmware revision of the disk with this sysfs directory; empty if unknown. NVMe, MMC and SCSI each have their
/// own name for it, and `rev` of MMC is something else.
pub(super) fn firmware(directory: &Path) -> String {
    first(["device/firmware_rev", "device/fwrev", "device/rev"].map(|name| text(&directory.join(name))))
}

/// Serial number of the disk with this sysfs directory; empty if unknown.
pub(super) fn serial(directory: &Path) -> String {
    serial_of(directory, Path::new(UDEV))
}

fn serial_of(directory: &Path, udev: &Path) -> String {
    let kept = first([
        text(&directory.join("device/serial")),
        fs::read(directory.join("device/vpd_pg80")).map(|page| of_page(&page)).unwrap_or_default(),
        of_udev(directory, udev),
    ]);
    // For this file, virtio asks the device, while the others are kept by the kernel. A device that hangs would
    // not answer.
    match kept.is_empty() && is_idle(directory) {
        true => text(&directory.join("serial")),
        false => kept,
    }
}

/// Serial number in a vital product data page.
fn of_page(page: &[u8]) -> String {
    let Some((header, rest)) = page.split_at_checked(PAGE_HEADER) else { return String::new() };
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    clean(&rest[..length.min(rest.len())])
}

/// Serial number in udev's database. `ID_SERIAL` has the model as well, except for virtio.
fn of_udev(directory: &Path, udev: &Path) -> String {
    let number = text(&directory.join("dev"));
    let known = fs::read(udev.join(format!("b{number}"))).unwrap_or_default();
    let known = String::from_utf8_lossy(&known);
    let value = |name: &str| {
        let line =
            known.lines().find_map(|line| line.strip_prefix("E:")?.strip_prefix(name)?.strip_prefix('='));
        clean(line.unwrap_or_default().as_bytes())
    };
    match directory.join("serial").exists() {
        true => first([value("ID_SERIAL_SHORT"), value("ID_SERIAL")]),
        false => value("ID_SERIAL_SHORT"),
    }
}

/// True if no I/O is on its way.
fn is_idle(directory: &Path) -> bool {
    text(&directory.join("inflight")).split_whitespace().all(|count| count == "0")
}

fn first<const COUNT: usize>(found: [String; COUNT]) -> String {
    found.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

fn text(path: &Path) -> String {
    fs::read(path).map(|bytes| clean(&bytes)).unwrap_or_default()
}

/// Text of a device without padding and without anything that a terminal would obey.
fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.replace(char::is_control, "").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    /// A sysfs directory of a device, or a database of udev, with these files.
    fn tree(files: &[(&str, &[u8])]) -> TempDir {
        let directory = tempfile::tempdir().expect("a directory");
        for (name, content) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, content).expect("written");
        }
        directory
    }

    /// Firmware and serial of a device with these files, without udev.
    fn identity(files: &[(&str, &[u8])]) -> (String, String) {
        let (device, udev) = (tree(files), tree(&[]));
        (firmware(device.path()), serial_of(device.path(), udev.path()))
    }

    fn pair(firmware: &str, serial: &str) -> (String, String) {
        (firmware.to_owned(), serial.to_owned())
    }

    #[test]
    fn nvme_is_padded_with_spaces() {
        let files: [(&str, &[u8]); 2] =
            [("device/firmware_rev", b"4B2QJXD7\n"), ("device/serial", b"S7DNNJ0WC0 1234F     \n")];
        assert_eq!(identity(&files), pair("4B2QJXD7", "S7DNNJ0WC0 1234F"));
    }

    #[test]
    fn scsi_has_the_serial_in_a_page() {
        let page = |page: &[u8]| identity(&[("device/rev", b"SN05\n"), ("device/vpd_pg80", page)]);
        assert_eq!(page(b"\0\x80\0\x0c    ZA1\x1b4ABCrest"), pair("SN05", "ZA14ABC"));
        // A page that is cut off, or that claims more than it has.
        assert_eq!(page(b"\0\x80\0"), pair("SN05", ""));
        assert_eq!(page(b"\0\x80\x7f\xffZA1"), pair("SN05", "ZA1"));
        assert_eq!(page(b"\0\x80\0\x04\xff\0\0 "), pair("SN05", "\u{fffd}"));
    }

    #[test]
    fn mmc_has_another_revision_as_well() {
        let files: [(&str, &[u8]); 3] =
            [("device/fwrev", b"0x8\n"), ("device/rev", b"0x5\n"), ("device/serial", b"0x1a2b3c4d\n")];
        assert_eq!(identity(&files), pair("0x8", "0x1a2b3c4d"));
    }

    #[test]
    fn virtio_is_asked_only_while_it_is_idle() {
        let with = |inflight: &[u8]| identity(&[("serial", b"BHYVE-1"), ("inflight", inflight)]).1;
        assert_eq!(with(b"       0        0\n"), "BHYVE-1");
        assert_eq!(with(b"       0        3\n"), "");
    }

    #[test]
    fn udev_is_asked_for_what_the_kernel_does_not_keep() {
        let udev = tree(&[
            ("b8:16", b"S:disk/by-id/x\nE:ID_SERIAL=WD_X_123\nE:ID_SERIAL_SHORT=123\n"),
            ("b253:0", b"E:ID_SERIAL=root disk\n"),
        ]);
        let serial = |files: &[(&str, &[u8])]| serial_of(tree(files).path(), udev.path());
        assert_eq!(serial(&[("dev", b"8:16\n")]), "123");
        assert_eq!(serial(&[("dev", b"8:16\n"), ("device/serial", b"own\n")]), "own");
        assert_eq!(serial(&[("dev", b"253:0\n"), ("serial", b"root\n")]), "root disk");
        // For others than virtio, this is not the serial number alone.
        assert_eq!(serial(&[("dev", b"253:0\n")]), "");
    }

    #[test]
    fn a_device_without_hardware_has_no_identity() {
        assert_eq!(identity(&[("size", b"2048\n")]), pair("", ""));
    }
}
