//! NVMe commands through the kernel's passthrough: admin commands for controllers and namespaces, and commands for an
//! io_uring.

use crate::errno::{Errno, check};
use std::os::fd::RawFd;

/// Size of the health log in bytes.
pub const HEALTH_LOG: usize = 512;
/// Size in bytes of the data returned by Identify.
pub const IDENTIFICATION: usize = 4096;
/// `NVME_URING_CMD_IO` of linux/nvme_ioctl.h: a command with the address of a buffer.
pub const IN_RING: u32 = 0xC048_4E80;
/// `NVME_URING_CMD_IO_VEC`: a command with the address and the number of I/O vectors.
pub const IN_RING_VECTORED: u32 = 0xC048_4E81;

// From linux/nvme_ioctl.h: _IO('N', 0x40), _IOWR('N', 0x41, struct nvme_admin_cmd), _IOWR('N', 0x43, struct nvme_passthru_cmd).
const NVME_IOCTL_ID: libc::c_ulong = 0x4E40;
const NVME_IOCTL_ADMIN_CMD: libc::c_ulong = 0xC048_4E41;
const NVME_IOCTL_IO_CMD: libc::c_ulong = 0xC048_4E43;
/// Opcode of the Get Log Page command.
const GET_LOG_PAGE: u8 = 0x02;
/// Identify.
const IDENTIFY: u8 = 0x06;
/// Identifier of the SMART and health log.
const HEALTH: u32 = 0x02;
/// Namespace ID for a log of the whole controller.
const ALL_NAMESPACES: u32 = u32::MAX;
const TIMEOUT_MS: u32 = 2_000;

/// A command in the kernel's format: `struct nvme_passthru_cmd` and `struct nvme_uring_cmd` share their
/// layout.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Operation code.
    pub opcode: u8,
    /// Always 0.
    pub flags: u8,
    /// Always 0.
    pub reserved: u16,
    /// Number of the namespace.
    pub namespace: u32,
    /// Command words 2 and 3.
    pub words_2_3: [u32; 2],
    /// Address of the metadata.
    pub metadata: u64,
    /// Address of the data.
    pub address: u64,
    /// Length of the metadata in bytes.
    pub metadata_length: u32,
    /// Length of the data in bytes.
    pub data_length: u32,
    /// Command words 10 to 15.
    pub words_10_15: [u32; 6],
    /// Milliseconds until the kernel aborts the command; 0 for the kernel's default.
    pub timeout_ms: u32,
    /// The first word of the completion.
    pub result: u32,
}

const _: () = assert!(std::mem::size_of::<Command>() == 72);

impl Command {
    /// Converts the command to the part of an io_uring entry that holds commands.
    #[inline(always)]
    pub fn in_ring(self) -> [u8; 80] {
        /// Padded to the size in an entry.
        #[repr(C)]
        struct Padded(Command, u64);
        // SAFETY: both are 80 bytes without padding, and any bytes are valid ones.
        unsafe { std::mem::transmute(Padded(self, 0)) }
    }
}

/// Why a command failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Reported by the kernel.
    Kernel(Errno),
    /// Reported by the controller: the status field of its completion.
    Controller(u16),
}

/// Sends a command and waits for its completion; returns the first word of the completion.
///
/// # Safety
///
/// Address and metadata of the command are 0, or those of memory that it may read or write up to its lengths.
unsafe fn send(fd: RawFd, request: libc::c_ulong, command: &mut Command) -> Result<u32, Refusal> {
    // SAFETY: the kernel reads the command and writes its result there; the caller vouches for the addresses in it.
    let result = unsafe { libc::ioctl(fd, request as _, std::ptr::from_mut(command)) };
    match check(i64::from(result)).map_err(Refusal::Kernel)? {
        0 => Ok(command.result),
        status => Err(Refusal::Controller(status as u16)),
    }
}

/// Points a command at a buffer for the data that it returns.
fn into(command: Command, answer: &mut [u8]) -> Command {
    Command { address: answer.as_mut_ptr() as u64, data_length: answer.len() as u32, ..command }
}

/// Reads the SMART and health information log of the controller of a namespace or partition. Requires
/// administrative privileges.
pub fn health_log(fd: RawFd) -> Result<[u8; HEALTH_LOG], Errno> {
    let mut log = [0; HEALTH_LOG];
    // The upper half holds the number of 4-byte words, less one.
    let length = (HEALTH_LOG as u32 / 4 - 1) << 16;
    let command = Command {
        opcode: GET_LOG_PAGE,
        namespace: ALL_NAMESPACES,
        words_10_15: [HEALTH | length, 0, 0, 0, 0, 0],
        timeout_ms: TIMEOUT_MS,
        ..Command::default()
    };
    // SAFETY: the log lives on, and is as long as the command says.
    match unsafe { send(fd, NVME_IOCTL_ADMIN_CMD, &mut into(command, &mut log)) } {
        Ok(_) => Ok(log),
        Err(Refusal::Kernel(errno)) => Err(errno),
        Err(Refusal::Controller(_)) => Err(Errno(libc::EIO)),
    }
}

/// Returns the namespace ID of a device; an error if it has none.
pub fn namespace_id(fd: RawFd) -> Result<u32, Errno> {
    // SAFETY: no memory is involved.
    check(i64::from(unsafe { libc::ioctl(fd, NVME_IOCTL_ID as _, 0) })).map(|id| id as u32)
}

/// Returns the data of Identify: `structure` selects what to identify (CNS), for this namespace and command set
/// (CSI).
pub fn identify(
    fd: RawFd,
    structure: u8,
    namespace: u32,
    command_set: u8,
) -> Result<Box<[u8; IDENTIFICATION]>, Refusal> {
    let mut answer = Box::new([0; IDENTIFICATION]);
    let words = [u32::from(structure), u32::from(command_set) << 24, 0, 0, 0, 0];
    let command = Command { opcode: IDENTIFY, namespace, words_10_15: words, ..Command::default() };
    // SAFETY: the answer lives on, and is as long as the command says.
    unsafe { send(fd, NVME_IOCTL_ADMIN_CMD, &mut into(command, answer.as_mut_slice())) }?;
    Ok(answer)
}

/// Sends an I/O command without data, and waits for its completion.
pub fn order(fd: RawFd, command: Command) -> Result<(), Refusal> {
    let mut command = Command { address: 0, data_length: 0, metadata: 0, metadata_length: 0, ..command };
    // SAFETY: there is no data.
    unsafe { send(fd, NVME_IOCTL_IO_CMD, &mut command) }.map(|_| ())
}

/// Sends an I/O command that reads data, and waits for its completion.
pub fn ask(fd: RawFd, command: Command, answer: &mut [u8]) -> Result<(), Refusal> {
    let command = Command { metadata: 0, metadata_length: 0, ..command };
    // SAFETY: the answer lives on, and is as long as the command says.
    unsafe { send(fd, NVME_IOCTL_IO_CMD, &mut into(command, answer)) }.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_lie_as_the_kernel_has_them() {
        let command = Command {
            opcode: 1,
            namespace: 2,
            address: 3,
            data_length: 4,
            words_10_15: [5, 0, 6, 0, 0, 7],
            ..Command::default()
        };
        let bytes = command.in_ring();
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        assert_eq!((bytes[0], word(4), word(24), word(36)), (1, 2, 3, 4));
        assert_eq!((word(40), word(48), word(60)), (5, 6, 7));
        assert!(bytes[64..].iter().all(|byte| *byte == 0));
    }
}
