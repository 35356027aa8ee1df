//! Protection information of block devices in io_uring reads and writes (Linux 6.14), which fathom generates
//! and checks.

use crate::protection::{Guard, Layout, ProtectionError, Wanted};
use crate::ring::Transfer;
use fathom_run::engine::{Io, OpenFile, Setup, SetupError};
use fathom_run::unit::Operation;
use fathom_sys::Errno;
use fathom_sys::block_device::{self, GuardKind, Integrity as Profile};

/// Checks that the kernel performs: `IO_INTEGRITY_CHK_*` of linux/fs.h.
const CHECK_GUARD: u16 = 1;
const CHECK_REFERENCE: u16 = 2;
const CHECK_APPLICATION: u16 = 4;
/// `IORING_RW_ATTR_FLAG_PI` of linux/io_uring.h.
const HAS_PROTECTION: u64 = 1;

/// `struct io_uring_attr_pi`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Attribute {
    flags: u16,
    tag: u16,
    length: u32,
    address: u64,
    seed: u64,
    reserved: u64,
}

/// The protection information of a job's I/Os.
pub(crate) struct Integrity {
    devices: Vec<Device>,
    wanted: Wanted,
    flags: u16,
    /// Metadata of all slots, with an area for each.
    metadata: Box<[u8]>,
    stride: usize,
    attributes: Box<[Attribute]>,
    /// The I/O unit in each slot.
    units: Box<[Io]>,
}

/// The note for a job whose options for protection information have no effect: it requests metadata, or leaves
/// protection information to the kernel (`pi_act=1`), but does not use a block device.
pub(crate) fn without_effect(setup: &Setup<'_>) -> Option<String> {
    let options = &setup.job.private.io_uring;
    let file = setup.files.iter().find(|file| !file.is_block_device)?;
    (options.md_per_io_size > 0 && options.pi_act).then(|| {
        let (job, name) = (&setup.job.name, &file.name);
        format!("fathom: job {job}: md_per_io_size has no effect: {name} is not a block device")
    })
}

struct Device {
    name: String,
    layout: Layout,
    /// Number of data bytes per metadata tuple, and size of the tuple in bytes.
    interval: u32,
    metadata: u32,
}

impl Integrity {
    /// Protection information that the job requests; `None` if it requests none, or leaves it to the kernel (`pi_act=1`).
    pub(crate) fn of(setup: &Setup<'_>) -> Result<Option<Integrity>, SetupError> {
        let options = &setup.job.private.io_uring;
        if options.md_per_io_size == 0 || options.pi_act {
            return Ok(None);
        }
        let devices: Vec<Device> = setup.files.iter().map(Device::of).collect::<Result<_, _>>()?;
        let needed = devices.iter().map(|device| device.metadata_of(setup.buffers.length() as u32)).max();
        if needed.is_some_and(|needed| needed > options.md_per_io_size) {
            return Err(refused(format!("md_per_io_size should be at least {} bytes", needed.unwrap_or(0))));
        }
        let wanted = Wanted::of(options);
        let flag = |is_set: bool, flag: u16| if is_set { flag } else { 0 };
        let (depth, stride) = (setup.depth as usize, options.md_per_io_size as usize);
        Ok(Some(Integrity {
            devices,
            wanted,
            flags: flag(wanted.guard, CHECK_GUARD)
                | flag(wanted.reference, CHECK_REFERENCE)
                | flag(wanted.application, CHECK_APPLICATION),
            metadata: vec![0; depth * stride].into(),
            stride,
            attributes: vec![Attribute::default(); depth].into(),
            units: (0..depth).map(|_| Io::sync(0, fathom_run::storage::Handle::NONE)).collect(),
        }))
    }

    /// Generates the protection information of a write, and attaches its buffer to the request.
    #[inline(never)]
    pub(crate) fn attach(&mut self, slot: u32, io: &Io, request: &mut Transfer) {
        let index = slot as usize;
        // SAFETY: a unit is not used after its completion is listed.
        self.units[index] = unsafe { io.keep() };
        let device = &self.devices[io.file() as usize];
        let address = io.offset() / u64::from(device.interval);
        let place = &mut self.metadata[index * self.stride..(index + 1) * self.stride];
        if io.operation() == Operation::Write {
            // SAFETY: the unit's buffer has that length, and is not used elsewhere before the request is
            // submitted.
            let data = unsafe { std::slice::from_raw_parts_mut(io.buffer(), io.length() as usize) };
            device.layout.make(&self.wanted, address, data, place);
        }
        self.attributes[index] = Attribute {
            flags: self.flags,
            tag: self.wanted.tag,
            length: device.metadata_of(io.length()),
            address: place.as_mut_ptr() as u64,
            seed: address,
            reserved: 0,
        };
        request.attributes = std::ptr::from_ref(&self.attributes[index]) as u64;
        request.attribute_kinds = HAS_PROTECTION;
    }

    /// Checks the data that a read has returned against its protection information.
    #[inline(never)]
    pub(crate) fn check(&mut self, slot: u32, moved: i64) -> Result<(), ProtectionError> {
        let io = &self.units[slot as usize];
        if io.operation() != Operation::Read || moved <= 0 {
            return Ok(());
        }
        let device = &self.devices[io.file() as usize];
        let place = &mut self.metadata[slot as usize * self.stride..(slot as usize + 1) * self.stride];
        // SAFETY: the unit's buffer has that length, and the request has completed.
        let data = unsafe {
            std::slice::from_raw_parts_mut(io.buffer(), (moved as usize).min(io.length() as usize))
        };
        let address = io.offset() / u64::from(device.interval);
        device.layout.check(&self.wanted, address, data, place).map_err(|mismatch| mismatch.on(&device.name))
    }
}

impl Device {
    fn of(file: &OpenFile) -> Result<Device, SetupError> {
        let name = file.name.clone();
        let none = |why: &str| refused(format!("{name}: Protection information not supported: {why}"));
        if !file.is_block_device {
            return Err(none("it is not a block device"));
        }
        let profile = block_device::integrity(file.handle.descriptor())
            .map_err(|errno| none(&format!("the kernel does not know any ({errno})")))?;
        let Profile { interval, metadata, offset, guard } = profile;
        let guard = match guard {
            GuardKind::Crc16 => Guard::Bits16,
            GuardKind::Crc64 => Guard::Bits64,
            GuardKind::Other => return Err(none("its guards are not CRCs of 16 or 64 bits")),
        };
        if offset.saturating_add(guard.bytes()) > metadata {
            return Err(none("it has more protection information than metadata"));
        }
        Ok(Device { layout: Layout::new(guard, interval, metadata, offset), name, interval, metadata })
    }

    /// Size of the metadata of an I/O in bytes.
    fn metadata_of(&self, length: u32) -> u32 {
        length / self.interval * self.metadata
    }
}

fn refused(advice: String) -> SetupError {
    SetupError::new(Errno(libc::EINVAL), "md_per_io_size").with_advice(advice)
}
