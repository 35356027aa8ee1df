//! NVMe commands of a job (NVM and Zoned Namespace command set specifications).

use super::error::{Asked, CommandError};
use super::namespace::Namespace;
use super::placement::Placement;
use crate::protection::{Layout, ProtectionError, Wanted};
use fathom_run::engine::{Io, OpenFile, Setup, SetupError};
use fathom_run::random::Taus88;
use fathom_run::unit::Operation;
use fathom_spec::engines::commands::{WriteMode, WriteModes};
use fathom_spec::engines::io_uring::VerifyCommand;
use fathom_spec::options::file::ZoneMode;
use fathom_sys::Errno;
use fathom_sys::nvme::{self, Command};
use std::os::fd::RawFd;

const FLUSH: u8 = 0x00;
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;
const WRITE_UNCORRECTABLE: u8 = 0x04;
const COMPARE: u8 = 0x05;
const WRITE_ZEROES: u8 = 0x08;
const DATASET_MANAGEMENT: u8 = 0x09;
const VERIFY: u8 = 0x0c;
const ZONE_APPEND: u8 = 0x7d;

/// Flags in command word 12: force unit access, PRACT, and the guard, application tag and reference tag checks.
const FUA: u32 = 1 << 30;
const PRACT: u32 = 1 << 29;
const CHECK_GUARD: u32 = 1 << 28;
const CHECK_APPLICATION: u32 = 1 << 27;
const CHECK_REFERENCE: u32 = 1 << 26;
/// Flag in command word 12 of Write Zeroes: deallocate if possible.
const DEALLOCATE_ZEROES: u32 = 1 << 25;
/// Flag in command word 11 of Dataset Management: deallocate.
const DEALLOCATE: u32 = 1 << 2;
/// Maximum number of logical blocks per command, whose field (NLB) has 16 bits; the limit does not apply to
/// Dataset Management.
const MOST_BLOCKS: u64 = 1 << 16;
/// Size of a range in Dataset Management, in bytes.
pub(super) const RANGE: usize = 16;

/// Builds the commands of a job.
pub(super) struct Commands {
    devices: Vec<Device>,
    read_flags: u32,
    write_flags: u32,
    /// Flags that all transfers have in common.
    check_flags: u32,
    wanted: Wanted,
    pi_act: bool,
    deallocates_zeroes: bool,
    compares: bool,
    modes: Modes,
    /// For each slot, whether its write was sent as Write Zeroes.
    zeroed: Box<[bool]>,
    /// Ranges of the trims of all slots, with an area for each.
    ranges: Box<[u8]>,
    /// Size of the area of a slot in bytes.
    ranges_stride: usize,
    /// Number of ranges of the trim in each slot; 0 if the trim has only the range of its unit.
    range_counts: Box<[u32]>,
    /// Metadata of all slots, with an area for each.
    metadata: Box<[u8]>,
    metadata_stride: usize,
}

/// One namespace.
struct Device {
    name: String,
    namespace: Namespace,
    block: u32,
    /// Number of metadata bytes per block, if metadata is in separate buffers.
    separate: u32,
    /// Layout of the protection information, if fathom generates and checks it.
    protection: Option<Layout>,
    placement: Option<Placement>,
    /// Size of a zone in bytes, for zone appends.
    zone: u64,
}

/// Kind of write command.
enum Modes {
    One(WriteMode),
    Mix { shares: WriteModes, generator: Taus88 },
}

impl Modes {
    #[inline(always)]
    fn next(&mut self) -> WriteMode {
        match self {
            Modes::One(mode) => *mode,
            Modes::Mix { shares, generator } => {
                let mut drawn = generator.below(100) as u32;
                for (mode, percent) in &shares.0 {
                    if drawn < *percent {
                        return *mode;
                    }
                    drawn -= percent;
                }
                WriteMode::Write
            }
        }
    }
}

impl Commands {
    pub(super) fn new(setup: &Setup<'_>) -> Result<Commands, SetupError> {
        let options = &setup.job.private.io_uring;
        let devices = setup.files.iter().map(|file| Device::of(setup, file)).collect::<Result<_, _>>()?;
        let wanted = Wanted::of(options);
        let fua = |wanted: bool| if wanted { FUA } else { 0 };
        let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
        let modes = match options.write_mode.0[..] {
            [(mode, _)] => Modes::One(mode),
            _ => Modes::Mix {
                shares: options.write_mode.clone(),
                generator: Taus88::new(setup.job.io_type.randseed),
            },
        };
        let most_ranges = setup.job.engine.num_range.max(1) as usize;
        let (depth, metadata_stride) = (setup.depth as usize, options.md_per_io_size as usize);
        Ok(Commands {
            devices,
            read_flags: fua(options.readfua),
            write_flags: fua(options.writefua),
            check_flags: flag(options.pi_act, PRACT)
                | flag(wanted.guard, CHECK_GUARD)
                | flag(wanted.application, CHECK_APPLICATION)
                | flag(wanted.reference, CHECK_REFERENCE),
            wanted,
            pi_act: options.pi_act,
            deallocates_zeroes: options.deac,
            compares: options.verify_mode == VerifyCommand::Compare,
            modes,
            zeroed: vec![false; depth].into(),
            ranges: vec![0; depth * most_ranges * RANGE].into(),
            ranges_stride: most_ranges * RANGE,
            range_counts: vec![0; depth].into(),
            metadata: vec![0; depth * metadata_stride].into(),
            metadata_stride,
        })
    }

    /// True if the write in this slot was sent as Write Zeroes.
    pub(super) fn wrote_zeroes(&self, slot: u32) -> bool {
        self.zeroed[slot as usize]
    }

    /// Converts a unit to a command. With `expects`, a read becomes a comparison with its buffer.
    #[inline(always)]
    pub(super) fn command(&mut self, slot: u32, io: &Io, expects: bool) -> Result<Command, CommandError> {
        let device = &self.devices[io.file() as usize];
        let block = u64::from(device.block);
        if !io.offset().is_multiple_of(block) || !u64::from(io.length()).is_multiple_of(block) {
            return Err(self.part_of_block(io));
        }
        if u64::from(io.length()) / block > MOST_BLOCKS && io.operation() != Operation::Trim {
            return Err(CommandError::TooLong { device: device.name.clone(), most: MOST_BLOCKS });
        }
        match io.operation() {
            Operation::Read if expects && self.compares => Ok(self.transfer(slot, io, COMPARE, 0)),
            Operation::Read => Ok(self.transfer(slot, io, READ, self.read_flags)),
            Operation::Write => Ok(self.write(slot, io)),
            Operation::Trim => Ok(self.trim(slot, io)),
            Operation::Sync | Operation::DataSync | Operation::RangeSync => Ok(flush_of(device.namespace.id)),
        }
    }

    #[cold]
    fn part_of_block(&self, io: &Io) -> CommandError {
        let Device { name, block, .. } = &self.devices[io.file() as usize];
        CommandError::PartOfBlock(Asked {
            device: name.clone(),
            block: *block,
            offset: io.offset(),
            length: io.length(),
        })
    }

    #[inline(always)]
    fn write(&mut self, slot: u32, io: &Io) -> Command {
        let flags = self.write_flags;
        let mode = self.modes.next();
        self.zeroed[slot as usize] = mode == WriteMode::Zeroes;
        match mode {
            WriteMode::Write => {
                self.protect(slot, io);
                let mut command = self.transfer(slot, io, WRITE, flags);
                self.place(&mut command, io);
                command
            }
            WriteMode::ZoneAppend => {
                self.protect(slot, io);
                let mut command = self.transfer(slot, io, ZONE_APPEND, flags);
                self.place(&mut command, io);
                // A zone append is addressed to its zone; the device reports where the blocks were written.
                let device = &self.devices[io.file() as usize];
                let zone = io.offset() / device.zone * device.zone;
                let [low, high] = device.address(zone);
                [command.words_10_15[0], command.words_10_15[1]] = [low, high];
                command
            }
            WriteMode::Uncorrectable => self.on_blocks(io, WRITE_UNCORRECTABLE, 0),
            WriteMode::Verify => self.on_blocks(io, VERIFY, flags | self.check_flags),
            WriteMode::Zeroes => {
                let deallocate = if self.deallocates_zeroes { DEALLOCATE_ZEROES } else { 0 };
                self.on_blocks(io, WRITE_ZEROES, flags | self.check_flags | deallocate)
            }
        }
    }

    /// Sets the placement of a write, if the job requests one.
    #[inline(always)]
    fn place(&mut self, command: &mut Command, io: &Io) {
        if let Some(placement) = &mut self.devices[io.file() as usize].placement {
            let (directive, identifier) = placement.words(io.offset());
            command.words_10_15[2] |= directive;
            command.words_10_15[3] |= identifier;
        }
    }

    /// A command on the blocks of a unit, without a data transfer.
    #[inline(always)]
    fn on_blocks(&self, io: &Io, opcode: u8, flags: u32) -> Command {
        let device = &self.devices[io.file() as usize];
        let ([low, high], blocks) = (device.address(io.offset()), io.length() / device.block);
        let mut command = Command {
            opcode,
            namespace: device.namespace.id,
            words_10_15: [low, high, blocks.wrapping_sub(1) & 0xffff | flags, 0, 0, 0],
            ..Command::default()
        };
        if self.wanted.reference {
            command.words_10_15[4] = low;
            // With 64-bit guards, reference tags have 48 bits.
            if device.has_wide_references() {
                command.words_2_3[1] = high & 0xffff;
            }
        }
        if self.wanted.application {
            command.words_10_15[5] = u32::from(self.wanted.mask) << 16 | u32::from(self.wanted.tag);
        }
        command
    }

    /// A command on the blocks of a unit that transfers its data.
    #[inline(always)]
    fn transfer(&self, slot: u32, io: &Io, opcode: u8, flags: u32) -> Command {
        let mut command = self.on_blocks(io, opcode, flags | self.check_flags);
        (command.address, command.data_length) = (io.buffer() as u64, io.length());
        let device = &self.devices[io.file() as usize];
        if device.separate > 0 {
            let place = &self.metadata[slot as usize * self.metadata_stride..];
            command.metadata = place.as_ptr() as u64;
            command.metadata_length = io.length() / device.block * device.separate;
        }
        command
    }

    #[inline(never)]
    fn trim(&mut self, slot: u32, io: &Io) -> Command {
        let count = std::mem::take(&mut self.range_counts[slot as usize]);
        let count = match count {
            0 => {
                self.put_ranges(slot, io.file(), &[(io.offset(), io.length())]);
                1
            }
            several => several,
        };
        let place = &self.ranges[slot as usize * self.ranges_stride..];
        Command {
            opcode: DATASET_MANAGEMENT,
            namespace: self.devices[io.file() as usize].namespace.id,
            address: place.as_ptr() as u64,
            data_length: count * RANGE as u32,
            words_10_15: [count - 1, DEALLOCATE, 0, 0, 0, 0],
            ..Command::default()
        }
    }

    /// Sets the ranges of the next trim of a slot.
    pub(super) fn set_ranges(&mut self, slot: u32, file: u32, ranges: &[(u64, u32)]) {
        self.put_ranges(slot, file, ranges);
        self.range_counts[slot as usize] = ranges.len() as u32;
    }

    fn put_ranges(&mut self, slot: u32, file: u32, ranges: &[(u64, u32)]) {
        let device = &self.devices[file as usize];
        let place = &mut self.ranges[slot as usize * self.ranges_stride..][..self.ranges_stride];
        for (place, (offset, length)) in place.chunks_exact_mut(RANGE).zip(ranges) {
            place[..4].fill(0);
            place[4..8].copy_from_slice(&(length / device.block).to_le_bytes());
            place[8..].copy_from_slice(&(offset / u64::from(device.block)).to_le_bytes());
        }
    }

    /// Generates the protection information of a write.
    #[inline(always)]
    fn protect(&mut self, slot: u32, io: &Io) {
        if !self.pi_act && self.devices[io.file() as usize].protection.is_some() {
            self.with_blocks(slot, io, |layout, wanted, address, data, separate| {
                layout.make(wanted, address, data, separate);
            });
        }
    }

    /// Checks the protection information of a successful read.
    #[inline(always)]
    pub(super) fn check(&mut self, slot: u32, io: &Io) -> Result<(), ProtectionError> {
        let device = &self.devices[io.file() as usize];
        if self.pi_act || io.operation() != Operation::Read || device.protection.is_none() {
            return Ok(());
        }
        let checked = self.with_blocks(slot, io, |layout, wanted, address, data, separate| {
            layout.check(wanted, address, data, separate)
        });
        checked.unwrap_or(Ok(())).map_err(|mismatch| mismatch.on(&self.devices[io.file() as usize].name))
    }

    /// Calls a function with the data and metadata of a unit.
    #[inline(never)]
    fn with_blocks<T>(
        &mut self,
        slot: u32,
        io: &Io,
        act: impl FnOnce(&Layout, &Wanted, u64, &mut [u8], &mut [u8]) -> T,
    ) -> Option<T> {
        let device = &self.devices[io.file() as usize];
        let layout = device.protection.as_ref()?;
        let address = io.offset() / u64::from(device.block);
        // SAFETY: the unit's buffer has that length, and is not used elsewhere, because the unit is not in
        // flight now.
        let data = unsafe { std::slice::from_raw_parts_mut(io.buffer(), io.length() as usize) };
        let place = slot as usize * self.metadata_stride;
        let separate = &mut self.metadata[place..place + self.metadata_stride];
        Some(act(layout, &self.wanted, address, data, separate))
    }

    /// Advice about a transfer that the kernel refused.
    pub(super) fn advice(&self, io: &Io) -> Option<CommandError> {
        let device = &self.devices[io.file() as usize];
        let limit = largest_transfer(&device.name)?;
        (u64::from(io.length()) > limit)
            .then(|| CommandError::TooLarge { device: device.name.clone(), limit })
    }
}

impl Device {
    fn of(setup: &Setup<'_>, file: &OpenFile) -> Result<Device, SetupError> {
        let namespace = Namespace::of(file.handle.descriptor()).map_err(|why| {
            SetupError::new(Errno(libc::EIO), "Identify").with_advice(format!("{}: {why}", file.name))
        })?;
        let pi_act = setup.job.private.io_uring.pi_act;
        let zone = match setup.job.file.zonemode {
            ZoneMode::Zbd => super::zones::zone_bytes(file.handle.descriptor(), &namespace, pi_act),
            _ => None,
        };
        Ok(Device {
            name: file.name.clone(),
            block: namespace.block_bytes(pi_act),
            separate: namespace.separate_bytes(pi_act),
            protection: namespace.layout().filter(|_| !pi_act),
            placement: if setup.writes { Placement::of(setup, file, namespace.id)? } else { None },
            zone: zone.unwrap_or(u64::MAX),
            namespace,
        })
    }

    #[inline(always)]
    fn address(&self, offset: u64) -> [u32; 2] {
        let block = offset / u64::from(self.block);
        [block as u32, (block >> 32) as u32]
    }

    #[inline(always)]
    fn has_wide_references(&self) -> bool {
        self.namespace.protection.is_some_and(|protection| protection.guard.bytes() > 8)
    }
}

/// Flushes the cache of a device, and waits for the result.
pub(super) fn flush(fd: RawFd) -> Result<(), Errno> {
    nvme::order(fd, flush_of(nvme::namespace_id(fd)?)).map_err(super::errno_of)
}

fn flush_of(namespace: u32) -> Command {
    Command { opcode: FLUSH, namespace, ..Command::default() }
}

/// Maximum number of bytes per command of a controller, taken from the kernel's block device for the same
/// namespace.
fn largest_transfer(name: &str) -> Option<u64> {
    let target = std::fs::canonicalize(name).ok()?;
    let generic = target.file_name()?.to_str()?.strip_prefix("ng")?.to_owned();
    let setting = format!("/sys/class/block/nvme{generic}/queue/max_hw_sectors_kb");
    let kib: u64 = std::fs::read_to_string(setting).ok()?.trim().parse().ok()?;
    Some(kib << 10)
}
