//! SCSI commands to a device, through the kernel's `SG_IO`.

use crate::errno::{Errno, check};
use std::os::fd::RawFd;

/// Room for sense data.
pub const SENSE: usize = 64;

// From scsi/sg.h.
const SG_IO: libc::c_ulong = 0x2285;
const SG_DXFER_NONE: i32 = -1;
const SG_DXFER_TO_DEV: i32 = -2;
const SG_DXFER_FROM_DEV: i32 = -3;
const SG_INFO_OK_MASK: u32 = 1;
const SG_INFO_OK: u32 = 0;

/// `struct sg_io_hdr`.
#[repr(C)]
struct Header {
    interface: i32,
    direction: i32,
    command_length: u8,
    sense_room: u8,
    vectors: u16,
    transfer: u32,
    data: *mut u8,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    id: i32,
    user: *mut u8,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_written: u8,
    host_status: u16,
    driver_status: u16,
    residual: i32,
    duration_ms: u32,
    info: u32,
}

/// What moves with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// Nothing.
    None,
    /// So many bytes to the device.
    Out(*const u8, u32),
    /// So many bytes from the device.
    In(*mut u8, u32),
}

/// How a command ended that the kernel delivered.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Bytes of the transfer that were not moved.
    pub residual: i32,
    /// The status byte of the device, 0 for good.
    pub status: u8,
    /// What the transport said, 0 for nothing.
    pub host_status: u16,
    /// What the driver said, 0 for nothing.
    pub driver_status: u16,
    /// Sense data.
    pub sense: [u8; SENSE],
    /// How much of it there is.
    pub sense_length: u8,
    /// False where the device, the transport or the driver had something to say.
    pub good: bool,
}

/// Sends a command and waits for its end.
///
/// # Safety
/// The memory of the transfer is valid for its length, and nobody else uses it during the call.
pub unsafe fn run(
    fd: RawFd,
    command: &[u8],
    transfer: Transfer,
    flags: u32,
    timeout_ms: u32,
) -> Result<Answer, Errno> {
    let (direction, data, length) = match transfer {
        Transfer::None => (SG_DXFER_NONE, std::ptr::null_mut(), 0),
        Transfer::Out(data, length) => (SG_DXFER_TO_DEV, data.cast_mut(), length),
        Transfer::In(data, length) => (SG_DXFER_FROM_DEV, data, length),
    };
    let mut sense = [0; SENSE];
    let mut header = Header {
        interface: i32::from(b'S'),
        direction,
        command_length: command.len() as u8,
        sense_room: SENSE as u8,
        vectors: 0,
        transfer: length,
        data,
        command: command.as_ptr(),
        sense: sense.as_mut_ptr(),
        timeout_ms,
        flags,
        id: 0,
        user: std::ptr::null_mut(),
        status: 0,
        masked_status: 0,
        message_status: 0,
        sense_written: 0,
        host_status: 0,
        driver_status: 0,
        residual: 0,
        duration_ms: 0,
        info: 0,
    };
    // SAFETY: header, command and sense live through the call; the caller answers for the data.
    check(i64::from(unsafe { libc::ioctl(fd, SG_IO as _, &mut header) }))?;
    Ok(Answer {
        residual: header.residual,
        status: header.status,
        host_status: header.host_status,
        driver_status: header.driver_status,
        sense,
        sense_length: header.sense_written.min(SENSE as u8),
        good: header.info & SG_INFO_OK_MASK == SG_INFO_OK,
    })
}
