//! SCSI commands through the kernel's `SG_IO`, and in the form for an io_uring.

use crate::errno::{Errno, check};
use std::os::fd::RawFd;

/// Size in bytes of the buffer for sense data.
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

/// `struct sg_io_v4` of linux/bsg.h.
#[repr(C)]
#[derive(Default)]
struct BsgHeader {
    guard: i32,
    protocol: u32,
    subprotocol: u32,
    request_length: u32,
    request: u64,
    request_tag: u64,
    request_attribute: u32,
    request_priority: u32,
    request_extra: u32,
    response_room: u32,
    response: u64,
    out_vectors: u32,
    out_length: u32,
    in_vectors: u32,
    in_length: u32,
    out_data: u64,
    in_data: u64,
    timeout_ms: u32,
    flags: u32,
    user: u64,
    spare_in: u32,
    driver_status: u32,
    transport_status: u32,
    device_status: u32,
    retry_delay: u32,
    info: u32,
    duration_ms: u32,
    response_length: u32,
    in_residual: i32,
    out_residual: i32,
    generated_tag: u64,
    spare_out: u32,
    padding: u32,
}

const _: () = assert!(std::mem::size_of::<BsgHeader>() == 160);

/// A command in a ring entry for a bsg device: `struct bsg_uring_cmd` of linux/bsg.h (Linux 7.1).
#[repr(C)]
#[derive(Default)]
struct RingCommand {
    request: u64,
    request_length: u32,
    protocol: u32,
    subprotocol: u32,
    response_room: u32,
    response: u64,
    out_data: u64,
    out_length: u32,
    out_vectors: u32,
    in_data: u64,
    in_length: u32,
    in_vectors: u32,
    timeout_ms: u32,
    reserved: [u8; 12],
}

const _: () = assert!(std::mem::size_of::<RingCommand>() == 80);

/// Returns a command in the form of an io_uring entry, which contains the addresses of the command, the sense
/// buffer and the data.
#[inline(always)]
pub fn in_ring(command: &[u8], transfer: Transfer, sense: *mut u8, timeout_ms: u32) -> [u8; 80] {
    let mut entry = RingCommand {
        request: command.as_ptr() as u64,
        request_length: command.len() as u32,
        response: sense as u64,
        response_room: SENSE as u32,
        timeout_ms,
        ..RingCommand::default()
    };
    [(entry.out_data, entry.out_length), (entry.in_data, entry.in_length)] = transfer.directions();
    // SAFETY: both are 80 bytes without padding, and any bytes are valid ones.
    unsafe { std::mem::transmute(entry) }
}

/// Returns the completion of a command in a ring; `result` is the second word of the completion.
pub fn answer_in_ring(result: u64, sense: &[u8; SENSE]) -> Answer {
    let byte = |at: u32| (result >> at) as u8;
    Answer {
        residual: (result >> 32) as i32,
        status: byte(0),
        driver_status: byte(8).into(),
        host_status: byte(16).into(),
        sense: *sense,
        sense_length: byte(24).min(SENSE as u8),
        good: result as u32 & 0x00ff_ffff == 0,
    }
}

/// A function that sends a command and waits for its completion; see [`run`].
pub type Runner = unsafe fn(RawFd, &[u8], Transfer, u32, u32) -> Result<Answer, Errno>;

/// Data transfer of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// Nothing.
    None,
    /// Sends this many bytes to the device.
    Out(*const u8, u32),
    /// Receives this many bytes from the device.
    In(*mut u8, u32),
}

impl Transfer {
    /// Returns address and length of the data to and from the device, as in bsg.
    fn directions(self) -> [(u64, u32); 2] {
        match self {
            Transfer::None => [(0, 0); 2],
            Transfer::Out(data, length) => [(data as u64, length), (0, 0)],
            Transfer::In(data, length) => [(0, 0), (data as u64, length)],
        }
    }
}

/// Completion of a command that the kernel has sent to the device.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Number of bytes that were not transferred.
    pub residual: i32,
    /// The status byte of the device, 0 for success.
    pub status: u8,
    /// Status of the transport, 0 for success.
    pub host_status: u16,
    /// Status of the driver, 0 for success.
    pub driver_status: u16,
    /// Sense data.
    pub sense: [u8; SENSE],
    /// Length of the valid sense data.
    pub sense_length: u8,
    /// False if the device, the transport or the driver reported an error.
    pub good: bool,
}

impl Answer {
    /// Returns the valid sense data.
    pub fn sense(&self) -> &[u8] {
        self.sense.get(..usize::from(self.sense_length)).unwrap_or(&self.sense)
    }
}

/// Sends a command and waits for its completion.
///
/// # Safety
/// The memory of the transfer is valid for its length, and nothing else uses it during the call.
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

/// Sends a command to a bsg device in the same way.
///
/// # Safety
/// As for [`run`].
pub unsafe fn run_bsg(
    fd: RawFd,
    command: &[u8],
    transfer: Transfer,
    flags: u32,
    timeout_ms: u32,
) -> Result<Answer, Errno> {
    let mut sense = [0; SENSE];
    let mut header = BsgHeader {
        guard: i32::from(b'Q'),
        request_length: command.len() as u32,
        request: command.as_ptr() as u64,
        response_room: SENSE as u32,
        response: sense.as_mut_ptr() as u64,
        timeout_ms,
        flags,
        ..BsgHeader::default()
    };
    [(header.out_data, header.out_length), (header.in_data, header.in_length)] = transfer.directions();
    // SAFETY: header, command and sense live through the call; the caller answers for the data.
    check(i64::from(unsafe { libc::ioctl(fd, SG_IO as _, &mut header) }))?;
    let statuses = [header.device_status, header.transport_status, header.driver_status];
    Ok(Answer {
        residual: header.in_residual.max(header.out_residual),
        status: header.device_status as u8,
        host_status: header.transport_status as u16,
        driver_status: header.driver_status as u16,
        sense,
        sense_length: header.response_length.min(SENSE as u32) as u8,
        good: statuses == [0; 3],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_rings_are_taken_apart() {
        let answer = answer_in_ring(0x0000_1000_1203_0802, &[7; SENSE]);
        assert_eq!((answer.residual, answer.sense_length, answer.host_status), (0x1000, 0x12, 3));
        assert_eq!((answer.driver_status, answer.status, answer.good), (8, 2, false));
        assert!(answer_in_ring(0x10_0000_0000, &[0; SENSE]).good);
    }
}
