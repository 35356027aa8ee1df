//! Questions to NVMe controllers, through the kernel's passthrough.

use crate::errno::{Errno, check};
use std::os::fd::RawFd;

/// Bytes of the health log.
pub const HEALTH_LOG: usize = 512;

// From linux/nvme_ioctl.h: _IOWR('N', 0x41, struct nvme_admin_cmd).
const NVME_IOCTL_ADMIN_CMD: libc::c_ulong = 0xC048_4E41;
/// Get Log Page.
const GET_LOG_PAGE: u8 = 0x02;
/// SMART and health information.
const HEALTH: u32 = 0x02;
/// The log of the whole controller.
const ALL_NAMESPACES: u32 = u32::MAX;
const TIMEOUT_MS: u32 = 2_000;

/// `struct nvme_passthru_cmd`.
#[repr(C)]
#[derive(Default)]
struct Command {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_length: u32,
    data_length: u32,
    words_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

const _: () = assert!(std::mem::size_of::<Command>() == 72);

/// The SMART and health information log of the controller of a namespace or partition. Takes the right to administer the system.
pub fn health_log(fd: RawFd) -> Result<[u8; HEALTH_LOG], Errno> {
    let mut log = [0; HEALTH_LOG];
    // The number of 4-byte words, less one, in the upper half.
    let length = (HEALTH_LOG as u32 / 4 - 1) << 16;
    let mut command = Command {
        opcode: GET_LOG_PAGE,
        namespace: ALL_NAMESPACES,
        address: log.as_mut_ptr() as u64,
        data_length: HEALTH_LOG as u32,
        words_10_15: [HEALTH | length, 0, 0, 0, 0, 0],
        timeout_ms: TIMEOUT_MS,
        ..Command::default()
    };
    // SAFETY: the kernel reads the command and writes its result there, and at most `data_length` bytes to `log`; both live on.
    let result = unsafe { libc::ioctl(fd, NVME_IOCTL_ADMIN_CMD as _, &mut command) };
    // A positive result is the status that the controller gave.
    match check(i64::from(result))? {
        0 => Ok(log),
        _ => Err(Errno(libc::EIO)),
    }
}
