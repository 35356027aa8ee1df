//! `sg`: SCSI commands (`SG_IO`) to disks and their generic devices. Addresses are relative to the start of the
//! disk, so partitions and other parts of a disk are refused.

pub(crate) mod commands;
mod error;
mod libzbc;
pub(crate) mod sense;
mod zoned;

pub(crate) use error::ScsiError;
pub(crate) use libzbc::Libzbc;

use crate::media::Media;
use commands::{Command, UNMAP_LIST};
use fathom_run::engine::{Engine, EngineType, Io, OpenFile, Queued, Setup, SetupError};
use fathom_run::files::{FileEntry, FileError, FileKind};
use fathom_run::storage::{Handle, Storage, SyncKind};
use fathom_run::unit::Operation;
use fathom_spec::JobSpec;
use fathom_spec::engines::sg::SgWriteMode;
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::scsi::{self, Answer, Runner, Transfer};
use fathom_sys::{Errno, file};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Timeout after which the kernel aborts a command: far longer than any command takes on a healthy device.
pub(crate) const TIMEOUT_MS: u32 = 600_000;
/// `SGV4_FLAG_HIPRI` of linux/bsg.h.
const POLL: u32 = 0x800;
/// Number of attempts to query a device, because the first ones may report a pending unit attention.
const QUESTIONS: u32 = 4;

pub(crate) struct Sg {
    devices: Vec<Device>,
    options: Options,
    /// The device's error text for the last failed I/O.
    said: Option<String>,
}

/// Options that select commands.
#[derive(Clone, Copy, Debug)]
struct Options {
    mode: SgWriteMode,
    read_flags: u8,
    write_flags: u8,
    flags: u32,
    /// True if addresses always have 64 bits.
    is_far: bool,
}

/// One disk.
struct Device {
    name: String,
    /// Size of a logical block in bytes.
    block: u32,
    stream: Option<Stream>,
}

/// Stream of `sg_write_mode=write_stream`.
struct Stream {
    number: u16,
    /// A descriptor for closing the stream, if the engine has opened it.
    opened: Option<OwnedFd>,
}

impl EngineType for Sg {
    const DEFINITION: &'static EngineDef = &engines::sg::DEFINITION;

    fn storage(_job: &JobSpec) -> Box<dyn Storage> {
        Box::new(Media::new(look_at).with_zones(Box::new(zoned::own_zones)))
    }

    fn new(setup: &Setup<'_>) -> Result<Sg, SetupError> {
        let options = &setup.job.private.sg;
        let fua = |wanted: bool| if wanted { commands::FUA } else { 0 };
        let streams = setup.writes && options.sg_write_mode == SgWriteMode::WriteStream;
        let chosen = Options {
            mode: options.sg_write_mode,
            read_flags: fua(options.readfua),
            write_flags: fua(options.writefua),
            flags: if options.hipri { POLL } else { 0 },
            is_far: false,
        };
        Sg::open(setup, chosen, streams.then_some(options.stream_id))
    }
}

impl Engine for Sg {
    #[inline(always)]
    fn queue(&mut self, _slot: u32, io: &Io) -> Queued {
        Queued::Done(match io.operation() {
            Operation::Read | Operation::Write | Operation::Trim => self.transfer(io),
            Operation::Sync | Operation::DataSync | Operation::RangeSync => self.synchronize(io.handle()),
        })
    }

    fn sync_now(&mut self, handle: Handle, _kind: SyncKind) -> Option<Result<(), Errno>> {
        Some(match self.synchronize(handle) {
            0.. => Ok(()),
            error => Err(Errno(-error as i32)),
        })
    }

    fn protocol_status(&mut self, _slot: u32) -> Option<String> {
        self.said.take()
    }
}

impl Sg {
    /// Queries the disks; `stream` is the stream to write to, if the job requests one.
    fn open(setup: &Setup<'_>, options: Options, stream: Option<u32>) -> Result<Sg, SetupError> {
        let devices = setup.files.iter().map(|file| Device::of(file, stream)).collect::<Result<_, _>>()?;
        Ok(Sg { devices, options, said: None })
    }

    /// A command on blocks.
    #[inline(always)]
    fn on_blocks(&self, operation: commands::Operation, flags: u8, address: u64, blocks: u32) -> Command {
        match self.options.is_far {
            true => Command::on_blocks_anywhere(operation, flags, address, blocks),
            false => Command::on_blocks(operation, flags, address, blocks),
        }
    }

    #[inline(always)]
    fn transfer(&mut self, io: &Io) -> i64 {
        let block = self.devices[io.file() as usize].block;
        let (address, blocks) = (io.offset() / u64::from(block), io.length() / block);
        if !io.offset().is_multiple_of(u64::from(block)) || !io.length().is_multiple_of(block) || blocks == 0
        {
            return self.refuse(io);
        }
        match io.operation() {
            Operation::Read => {
                let command = self.on_blocks(commands::READ, self.options.read_flags, address, blocks);
                self.send(io, command, Transfer::In(io.buffer(), io.length()))
            }
            Operation::Write => self.write(io, address, blocks, block),
            _ => {
                let list: [u8; UNMAP_LIST] = commands::unmap_list(address, blocks);
                let sent = self.send(io, Command::unmap(), Transfer::Out(list.as_ptr(), UNMAP_LIST as u32));
                if sent < 0 { sent } else { i64::from(io.length()) }
            }
        }
    }

    #[inline(always)]
    fn write(&mut self, io: &Io, address: u64, blocks: u32, block: u32) -> i64 {
        use commands::{BYTCHK_ALL, BYTCHK_ONE, VERIFY, WRITE, WRITE_AND_VERIFY, WRITE_SAME};
        let on_blocks = |operation, flags| self.on_blocks(operation, flags, address, blocks);
        let (all, one) = (Transfer::Out(io.buffer(), io.length()), Transfer::Out(io.buffer(), block));
        let (command, transfer) = match self.options.mode {
            SgWriteMode::Write => (on_blocks(WRITE, self.options.write_flags), all),
            SgWriteMode::WriteAndVerify | SgWriteMode::Verify => (on_blocks(WRITE_AND_VERIFY, 0), all),
            SgWriteMode::WriteSame => (on_blocks(WRITE_SAME, 0), one),
            SgWriteMode::WriteSameNdob => (Command::write_same_without_data(address, blocks), Transfer::None),
            SgWriteMode::VerifyBytchk00 => (on_blocks(VERIFY, 0), Transfer::None),
            SgWriteMode::VerifyBytchk01 => (on_blocks(VERIFY, BYTCHK_ALL), all),
            SgWriteMode::VerifyBytchk11 => (on_blocks(VERIFY, BYTCHK_ONE), one),
            SgWriteMode::WriteStream => {
                let stream =
                    self.devices[io.file() as usize].stream.as_ref().map_or(0, |stream| stream.number);
                let Ok(blocks) = u16::try_from(blocks) else { return self.refuse(io) };
                (Command::write_stream(self.options.write_flags, stream, address, blocks), all)
            }
        };
        let sent = self.send(io, command, transfer);
        match transfer {
            // The number of transferred bytes may differ from the number of affected ones.
            _ if sent < 0 => sent,
            Transfer::Out(_, moved) if moved == io.length() => sent,
            _ => i64::from(io.length()),
        }
    }

    /// Sends the command of an I/O; returns the number of bytes moved, or `-errno`.
    #[inline(always)]
    fn send(&mut self, io: &Io, command: Command, transfer: Transfer) -> i64 {
        let fd = io.handle().descriptor();
        // SAFETY: the transfer is the buffer of the I/O or a part of it, which is not used elsewhere during
        // the call, or memory of the caller.
        match unsafe { scsi::run(fd, command.bytes(), transfer, self.options.flags, TIMEOUT_MS) } {
            Err(errno) => i64::from(-errno.0),
            Ok(answer) if answer.good => moved(transfer, &answer),
            Ok(answer) => self.judge(&answer, command, transfer),
        }
    }

    #[cold]
    fn judge(&mut self, answer: &Answer, command: Command, transfer: Transfer) -> i64 {
        if sense::is_good(answer) {
            return moved(transfer, answer);
        }
        self.said = Some(ScsiError::refused(*answer, command).to_string());
        i64::from(-libc::EIO)
    }

    #[cold]
    fn refuse(&mut self, io: &Io) -> i64 {
        let Device { name, block, .. } = &self.devices[io.file() as usize];
        let (offset, length) = (io.offset(), io.length());
        self.said = Some(match self.options.mode {
            SgWriteMode::WriteStream if length / block > u32::from(u16::MAX) => {
                format!(
                    "WRITE STREAM takes at most 65535 blocks of {name}, of {block} bytes, not length={length}"
                )
            }
            _ => format!(
                "commands cover whole blocks of {name}, of {block} bytes, not offset={offset} length={length}"
            ),
        });
        i64::from(-libc::EINVAL)
    }

    /// Flushes the device's cache.
    fn synchronize(&mut self, handle: Handle) -> i64 {
        let command = Command::synchronize_cache();
        // SAFETY: there is no transfer.
        match unsafe { scsi::run(handle.descriptor(), command.bytes(), Transfer::None, 0, TIMEOUT_MS) } {
            Err(errno) => i64::from(-errno.0),
            Ok(answer) => self.judge_sync(&answer, command),
        }
    }

    fn judge_sync(&mut self, answer: &Answer, command: Command) -> i64 {
        if answer.good { 0 } else { self.judge(answer, command, Transfer::None) }
    }
}

/// Number of bytes moved by a successful command.
#[inline(always)]
fn moved(transfer: Transfer, answer: &Answer) -> i64 {
    match transfer {
        Transfer::None => 0,
        Transfer::Out(_, length) | Transfer::In(_, length) => {
            // If a device claims an impossible residual, no bytes count as moved.
            (i64::from(length) - i64::from(answer.residual.max(0))).max(0)
        }
    }
}

impl Device {
    /// Queries a disk. `stream` is the stream to write to; 0 opens a new one.
    fn of(file: &OpenFile, stream: Option<u32>) -> Result<Device, SetupError> {
        let (_, block) = capacity(scsi::run, file.handle.descriptor())
            .map_err(|why| SetupError::new(Errno(libc::EIO), "READ CAPACITY").with_advice(why.to_string()))?;
        let stream = match stream {
            None => None,
            Some(0) => Some(Stream::open(&file.name)?),
            Some(number) => {
                let number = u16::try_from(number).map_err(|_| {
                    SetupError::new(Errno(libc::EINVAL), "stream_id")
                        .with_advice("a stream has a number up to 65535")
                })?;
                Some(Stream { number, opened: None })
            }
        };
        Ok(Device { name: file.name.clone(), block, stream })
    }
}

impl Stream {
    fn open(name: &str) -> Result<Stream, SetupError> {
        let opened =
            file::open(Path::new(name), libc::O_RDWR, 0).map_err(|errno| SetupError::new(errno, "open"))?;
        let mut answer = [0; commands::STREAM_ANSWER];
        ask(scsi::run, opened.as_raw_fd(), Command::open_stream(), &mut answer).map_err(|why| {
            let advice = format!("{name} cannot open a stream: {why}; stream_id= names an open one");
            SetupError::new(Errno(libc::EOPNOTSUPP), "STREAM CONTROL").with_advice(advice)
        })?;
        Ok(Stream { number: u16::from_be_bytes([answer[4], answer[5]]), opened: Some(opened) })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(opened) = &self.opened {
            // A failure is ignored, because it can no longer be reported.
            let _ = ask(
                scsi::run,
                opened.as_raw_fd(),
                Command::close_stream(self.number),
                &mut [0; commands::STREAM_ANSWER],
            );
        }
    }
}

/// Sends a query to a device.
pub(crate) fn ask(run: Runner, fd: RawFd, command: Command, answer: &mut [u8]) -> Result<(), ScsiError> {
    let transfer = Transfer::In(answer.as_mut_ptr(), answer.len() as u32);
    let mut asked = 0;
    loop {
        // SAFETY: the answer is ours, and has that length.
        let ended = unsafe { run(fd, command.bytes(), transfer, 0, TIMEOUT_MS) }?;
        if sense::is_good(&ended) {
            return Ok(());
        }
        asked += 1;
        if asked == QUESTIONS || !sense::is_attention(&ended) {
            return Err(ScsiError::refused(ended, command));
        }
    }
}

/// Number of logical blocks of a disk, and bytes per block.
pub(crate) fn capacity(run: Runner, fd: RawFd) -> Result<(u64, u32), ScsiError> {
    let mut short = [0; commands::CAPACITY_10];
    ask(run, fd, Command::read_capacity_10(), &mut short)?;
    let (blocks, block) = match commands::capacity_10(&short) {
        Some(found) => found,
        None => {
            let mut long = [0; commands::CAPACITY_16];
            ask(run, fd, Command::read_capacity_16(), &mut long)?;
            commands::capacity_16(&long)
        }
    };
    if block == 0 { Err(ScsiError::EmptyBlocks) } else { Ok((blocks, block)) }
}

fn look_at(path: PathBuf) -> Result<FileEntry, FileError> {
    look_at_disk("sg", path)
}

/// Accepts only whole SCSI disks, as block devices or as their generic devices.
fn look_at_disk(engine: &str, path: PathBuf) -> Result<FileEntry, FileError> {
    let failed = |errno: i32, message: String| {
        Err(FileError::of_call(Errno(errno), "open", &path).with_message(message))
    };
    let shown = path.display().to_string();
    let found = std::fs::metadata(&path).map(|found| (found.file_type(), found.rdev()));
    let (kind, class, device) = match found {
        Ok((kind, device)) if kind.is_block_device() => (FileKind::Block, "block", device),
        Ok((kind, device)) if kind.is_char_device() => (FileKind::Medium, "char", device),
        _ => {
            let line = format!("ioengine {engine} only works on block or character devices");
            return failed(
                libc::EINVAL,
                format!("{line}\nfathom: {shown} is neither: name a disk or its /dev/sg device"),
            );
        }
    };
    let about = format!("/sys/dev/{class}/{}:{}", libc::major(device), libc::minor(device));
    if Path::new(&about).join("partition").exists() {
        return failed(
            libc::EINVAL,
            format!(
                "fathom: {shown} is a partition, and SCSI commands address the whole disk; name the disk, and its part by offset= and size="
            ),
        );
    }
    let line = match engine {
        "sg" => "ioengine sg unable to successfully execute read capacity to get block size and maximum lba"
            .to_owned(),
        _ => format!("{shown}: zbc_open() failed, err=-{}", libc::ENOTTY),
    };
    if !Path::new(&about).join("device/scsi_level").exists() {
        return failed(libc::EINVAL, format!("{line}\nfathom: {shown} is not a SCSI disk"));
    }
    let opened = file::open(&path, libc::O_RDONLY | libc::O_NONBLOCK, 0)
        .map_err(|errno| FileError::of_call(errno, "open", &path))?;
    match capacity(scsi::run, opened.as_raw_fd()) {
        Ok((blocks, block)) => {
            let size = blocks.saturating_mul(u64::from(block));
            Ok(FileEntry::new(path, kind, Some(size)))
        }
        Err(why) => failed(libc::EIO, format!("{line}\nfathom: {shown}: {why}")),
    }
}
