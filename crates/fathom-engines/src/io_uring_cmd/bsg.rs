//! SCSI commands of a job, through the bsg device of a disk (`/dev/bsg/0:0:0:0`).

use super::error::{Asked, CommandError};
use crate::sg::commands::{self, Command, Operation as On};
use crate::sg::{self, ScsiError, sense};
use fathom_run::engine::{Io, OpenFile, Setup, SetupError};
use fathom_run::files::{FileEntry, FileError, FileKind};
use fathom_run::unit::Operation;
use fathom_spec::engines::commands::WriteMode;
use fathom_spec::engines::io_uring::{CdbLength, ReadMode, VerifyBytchk, VerifyCommand};
use fathom_sys::scsi::{self, SENSE, Transfer};
use fathom_sys::{Errno, file};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;

/// Builds the commands of a job.
pub(super) struct Commands {
    devices: Vec<Device>,
    read: (On, u8, Moves),
    write: (On, u8, Moves),
    compares: bool,
    length: CdbLength,
    /// Memory to which the commands in the slots refer; it stays in place until they have completed.
    slots: Box<[Slot]>,
    /// Range lists of all slots, with an area for each.
    lists: Box<[u8]>,
    /// Size of the area of a slot in bytes.
    list_stride: usize,
}

struct Device {
    name: String,
    /// Size of a logical block in bytes.
    block: u32,
}

struct Slot {
    command: Command,
    sense: [u8; SENSE],
    /// Length of the range list of the next trim in bytes; 0 if the trim has only the range of its unit.
    list_bytes: u16,
    /// Number of bytes that the command transfers.
    moved: u32,
}

/// The data that a command transfers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moves {
    In,
    All,
    OneBlock,
    Nothing,
}

impl Commands {
    pub(super) fn new(setup: &Setup<'_>) -> Result<Commands, SetupError> {
        let options = &setup.job.private.io_uring;
        let fua = |wanted: bool| if wanted { commands::FUA } else { 0 };
        let writes_data = options.write_mode.0.iter().all(|(mode, _)| *mode == WriteMode::Write);
        let write = match options.verify_bytchk {
            _ if writes_data => (commands::WRITE, fua(options.writefua), Moves::All),
            VerifyBytchk::Zero => (commands::VERIFY, 0, Moves::Nothing),
            VerifyBytchk::One => (commands::VERIFY, commands::BYTCHK_ALL, Moves::All),
            VerifyBytchk::Three => (commands::VERIFY, commands::BYTCHK_ONE, Moves::OneBlock),
        };
        let read = match options.read_mode {
            ReadMode::Read => (commands::READ, fua(options.readfua), Moves::In),
            ReadMode::Prefetch => (commands::PRE_FETCH, 0, Moves::Nothing),
        };
        let list_stride = commands::unmap_bytes(setup.job.engine.num_range.max(1) as usize);
        let slot =
            || Slot { command: Command::synchronize_cache(), sense: [0; SENSE], list_bytes: 0, moved: 0 };
        Ok(Commands {
            devices: setup.files.iter().map(Device::of).collect::<Result<_, _>>()?,
            read,
            write,
            compares: options.verify_mode == VerifyCommand::Compare,
            length: options.cdb_len,
            slots: (0..setup.depth).map(|_| slot()).collect(),
            lists: vec![0; setup.depth as usize * list_stride].into(),
            list_stride,
        })
    }

    /// Converts a unit to a command in the format of the ring; also returns whether the command transfers the
    /// unit's buffer. With `expects`, a read becomes a comparison with the buffer.
    #[inline(always)]
    pub(super) fn command(
        &mut self,
        slot: u32,
        io: &Io,
        expects: bool,
    ) -> Result<([u8; 80], bool), CommandError> {
        let block = self.devices[io.file() as usize].block;
        let (address, blocks) = (io.offset() / u64::from(block), io.length() / block);
        if !io.offset().is_multiple_of(u64::from(block)) || !io.length().is_multiple_of(block) {
            return Err(CommandError::PartOfScsiBlock(self.asked(io)));
        }
        let (on, flags, moves) = match io.operation() {
            Operation::Read if expects && self.compares => {
                (commands::VERIFY, commands::BYTCHK_ALL, Moves::All)
            }
            Operation::Read => self.read,
            Operation::Write => self.write,
            Operation::Trim => return Ok((self.trim(slot, address, blocks), false)),
            _ => return Ok((self.entry(slot, Command::synchronize_cache(), Transfer::None), false)),
        };
        let Some(command) = self.in_length(on, flags, address, blocks) else {
            return Err(CommandError::OutOfReach(self.asked(io)));
        };
        let transfer = match moves {
            Moves::In => Transfer::In(io.buffer(), io.length()),
            Moves::All => Transfer::Out(io.buffer(), io.length()),
            Moves::OneBlock => Transfer::Out(io.buffer(), block),
            Moves::Nothing => Transfer::None,
        };
        Ok((self.entry(slot, command, transfer), moves != Moves::Nothing))
    }

    #[inline(always)]
    fn in_length(&self, on: On, flags: u8, address: u64, blocks: u32) -> Option<Command> {
        let length = match self.length {
            CdbLength::Auto => return Some(Command::on_blocks(on, flags, address, blocks)),
            CdbLength::Ten => 10,
            CdbLength::Sixteen => 16,
            CdbLength::ThirtyTwo => 32,
        };
        Command::on_blocks_in(length, on, flags, address, blocks)
    }

    #[inline(always)]
    fn entry(&mut self, slot: u32, command: Command, transfer: Transfer) -> [u8; 80] {
        let slot = &mut self.slots[slot as usize];
        slot.command = command;
        slot.moved = match transfer {
            Transfer::None => 0,
            Transfer::In(_, length) | Transfer::Out(_, length) => length,
        };
        scsi::in_ring(slot.command.bytes(), transfer, slot.sense.as_mut_ptr(), sg::TIMEOUT_MS)
    }

    fn trim(&mut self, slot: u32, address: u64, blocks: u32) -> [u8; 80] {
        let list = &mut self.lists[slot as usize * self.list_stride..][..self.list_stride];
        let bytes = match std::mem::take(&mut self.slots[slot as usize].list_bytes) {
            0 => commands::unmap_ranges(list, std::iter::once((address, blocks))),
            bytes => bytes,
        };
        let transfer = Transfer::Out(list.as_ptr(), u32::from(bytes));
        self.entry(slot, Command::unmap_of(bytes), transfer)
    }

    /// Sets the ranges of the next trim of a slot.
    pub(super) fn set_ranges(&mut self, slot: u32, file: u32, ranges: &[(u64, u32)]) {
        let block = self.devices[file as usize].block;
        let list = &mut self.lists[slot as usize * self.list_stride..][..self.list_stride];
        let ranges = ranges.iter().map(|&(offset, length)| (offset / u64::from(block), length / block));
        self.slots[slot as usize].list_bytes = commands::unmap_ranges(list, ranges);
    }

    #[cold]
    fn asked(&self, io: &Io) -> Asked {
        let Device { name, block } = &self.devices[io.file() as usize];
        Asked { device: name.clone(), block: *block, offset: io.offset(), length: io.length() }
    }

    /// Result of a command: the number of bytes that count for its unit.
    #[inline(always)]
    pub(super) fn outcome(&self, slot: u32, io: &Io, result: u64) -> Result<i64, CommandError> {
        let slot = &self.slots[slot as usize];
        if result as u32 & 0x00ff_ffff != 0 {
            let answer = scsi::answer_in_ring(result, &slot.sense);
            if !sense::is_good(&answer) {
                return Err(ScsiError::refused(answer, slot.command).into());
            }
        }
        let left = (result >> 32) as u32;
        // The number of transferred bytes may differ from the number of affected ones.
        Ok(if slot.moved == io.length() {
            i64::from(io.length().saturating_sub(left))
        } else {
            i64::from(io.length())
        })
    }
}

impl Device {
    fn of(file: &OpenFile) -> Result<Device, SetupError> {
        let (_, block) = sg::capacity(scsi::run_bsg, file.handle.descriptor()).map_err(|why| {
            SetupError::new(Errno(libc::EIO), "READ CAPACITY").with_advice(format!("{}: {why}", file.name))
        })?;
        Ok(Device { name: file.name.clone(), block })
    }
}

/// Flushes the cache of a disk, and waits for the result.
pub(super) fn synchronize(fd: i32) -> Result<(), Errno> {
    sg::ask(scsi::run_bsg, fd, Command::synchronize_cache(), &mut []).map_err(|_| Errno(libc::EIO))
}

/// Accepts only bsg devices of SCSI disks as targets.
pub(super) fn look_at(path: PathBuf) -> Result<FileEntry, FileError> {
    let shown = path.display().to_string();
    let told = |why: String| FileError::without_line(format!("fathom: {shown}: {why}"));
    let number = std::fs::metadata(&path).map(|found| (found.file_type().is_char_device(), found.rdev()));
    let is_bsg = number.is_ok_and(|(is_character, device)| {
        let about = format!("/sys/dev/char/{}:{}", libc::major(device), libc::minor(device));
        is_character && std::fs::canonicalize(about).is_ok_and(|own| own.to_string_lossy().contains("/bsg/"))
    });
    if !is_bsg {
        let hint = if shown.contains("/dev/bsg/") {
            "; colons separate file names: write \\: for each colon of the name"
        } else {
            ""
        };
        return Err(told(format!(
            "cmd_type=bsg works on bsg devices of SCSI disks, such as /dev/bsg/0:0:0:0{hint}"
        )));
    }
    let opened =
        file::open(&path, libc::O_RDONLY, 0).map_err(|errno| FileError::of_call(errno, "open", &path))?;
    let (blocks, block) =
        sg::capacity(scsi::run_bsg, opened.as_raw_fd()).map_err(|why| told(why.to_string()))?;
    Ok(FileEntry::new(path, FileKind::Medium, Some(blocks.saturating_mul(u64::from(block)))))
}
