//! `io_uring_cmd`: commands to NVMe namespaces (`/dev/ng0n1`) and SCSI disks (`/dev/bsg/...`) through io_uring, bypassing the
//! kernel's block layer.

mod bsg;
mod commands;
mod error;
mod namespace;
mod placement;
mod status;
mod zones;

use crate::media::Media;
use crate::ring::{ARENA, EveryNth, Ring};
use crate::shared::Said;
use error::CommandError;
use fathom_run::engine::{Completion, Completions, Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::storage::{Handle, Storage, SyncKind};
use fathom_spec::JobSpec;
use fathom_spec::engines::io_uring::CommandType;
use fathom_spec::engines::{self, EngineDef};
use fathom_sys::Errno;
use fathom_sys::nvme::{self, Refusal};
use io_uring::cqueue::Entry32;
use io_uring::squeue::{self, Entry128};
use io_uring::{opcode, types};
use std::time::Duration;

/// Recommended alternative if the ring does not support commands.
const INSTEAD: &str = "ioengine=io_uring on the block device";

pub(crate) struct IoUringCmd {
    ring: Ring<Entry128, Entry32>,
    features: Vec<&'static str>,
    commands: Commands,
    /// The I/O unit in each slot.
    units: Box<[Io]>,
    /// For each slot, whether its read is a comparison with its buffer.
    expecting: Box<[bool]>,
    vectors: Box<[libc::iovec]>,
    fixed_buffers: bool,
    registered_files: bool,
    vectored: bool,
    force_async: EveryNth,
    /// Error of the failed unit in each slot, for messages.
    said: Said,
}

/// Builds the commands of a job.
// An engine has a single value of this type and uses it for every I/O, so boxing the larger variant would cost more time
// than the space is worth.
#[allow(clippy::large_enum_variant)]
enum Commands {
    Nvme(commands::Commands),
    Scsi(bsg::Commands),
}

impl EngineType for IoUringCmd {
    const DEFINITION: &'static EngineDef = &engines::io_uring_cmd::DEFINITION;

    fn storage(job: &JobSpec) -> Box<dyn Storage> {
        let pi_act = job.private.io_uring.pi_act;
        Box::new(match job.private.io_uring.cmd_type {
            CommandType::Bsg => Media::new(bsg::look_at),
            CommandType::Nvme => {
                let job = job.clone();
                Media::for_job(Box::new(move |plan, path| namespace::look_at(&job, plan, path)))
                    .with_zones(Box::new(move |entry, writes| zones::of(entry, writes, pi_act)))
            }
        })
    }

    fn new(setup: &Setup<'_>) -> Result<IoUringCmd, SetupError> {
        let options = &setup.job.private.io_uring;
        let (mut ring, mut features) = Ring::new(setup, setup.depth.max(1), INSTEAD)?;
        if !ring.supports(&[opcode::UringCmd80::CODE]) {
            return Err(SetupError::new(Errno(libc::EOPNOTSUPP), "io_uring_register_probe").with_advice(
                format!(
                    "the io_uring of this kernel does not support commands (Linux 5.19 does): use {INSTEAD}"
                ),
            ));
        }
        let is_scsi = options.cmd_type == CommandType::Bsg;
        // The kernel supports vectors only for NVMe commands.
        let vectored = options.nonvectored == 0 && !is_scsi;
        let registered = ring.register_all(setup, !vectored, &mut features)?;
        let commands = match options.cmd_type {
            CommandType::Nvme => Commands::Nvme(commands::Commands::new(setup)?),
            CommandType::Bsg => Commands::Scsi(bsg::Commands::new(setup)?),
        };
        let depth = setup.depth as usize;
        let empty = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Ok(IoUringCmd {
            ring,
            features,
            commands,
            units: (0..depth).map(|_| Io::sync(0, Handle::NONE)).collect(),
            expecting: vec![false; depth].into(),
            vectors: vec![empty; depth].into(),
            fixed_buffers: registered.buffers,
            registered_files: registered.files,
            vectored,
            force_async: EveryNth::new(options.force_async.unwrap_or(0)),
            said: Said::default(),
        })
    }
}

impl Engine for IoUringCmd {
    #[inline(always)]
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        let expects = std::mem::take(&mut self.expecting[slot as usize]);
        // The result is the command, its request type, and whether it transfers the unit's buffer.
        let built = match &mut self.commands {
            Commands::Nvme(commands) => commands.command(slot, io, expects).map(|command| {
                let moves = command.data_length > 0 && command.address == io.buffer() as u64;
                if !moves || !self.vectored {
                    return (nvme::IN_RING, command.in_ring(), moves);
                }
                let vector = &mut self.vectors[slot as usize];
                *vector = libc::iovec { iov_base: io.buffer().cast(), iov_len: io.length() as usize };
                let address = std::ptr::from_ref(vector) as u64;
                (
                    nvme::IN_RING_VECTORED,
                    nvme::Command { address, data_length: 1, ..command }.in_ring(),
                    false,
                )
            }),
            Commands::Scsi(commands) => {
                commands.command(slot, io, expects).map(|(command, moves)| (0, command, moves))
            }
        };
        let (code, bytes, moves) = match built {
            Ok(built) => built,
            Err(why) => return self.refuse(slot, &why),
        };
        // SAFETY: a unit is not used after its completion is listed.
        self.units[slot as usize] = unsafe { io.keep() };
        let index = (self.fixed_buffers && moves).then_some(ARENA);
        macro_rules! entry {
            ($target:expr) => {
                opcode::UringCmd80::new($target, code).cmd(bytes).buf_index(index).build()
            };
        }
        let entry = match self.registered_files {
            true => entry!(types::Fixed(io.file())),
            false => entry!(types::Fd(io.handle().descriptor())),
        };
        let mut entry = entry.user_data(u64::from(slot));
        if self.force_async.is_due() {
            entry = entry.flags(squeue::Flags::ASYNC);
        }
        // SAFETY: the buffer and whatever else the command refers to (vector, metadata, ranges, command
        // block, sense) have a place for each slot, which the loop reuses only when the completion has been
        // reaped; `Drop` of the ring waits for the kernel.
        unsafe { self.ring.push(|place| place.write(entry)) }
    }

    fn set_ranges(&mut self, slot: u32, file: u32, ranges: &[(u64, u32)]) {
        match &mut self.commands {
            Commands::Nvme(commands) => commands.set_ranges(slot, file, ranges),
            Commands::Scsi(commands) => commands.set_ranges(slot, file, ranges),
        }
    }

    fn expect(&mut self, slot: u32) {
        self.expecting[slot as usize] = true;
    }

    #[inline(always)]
    fn commit(&mut self) -> Result<u32, Errno> {
        self.ring.commit()
    }

    #[inline(always)]
    fn has_ends_in_place(&self) -> bool {
        true
    }

    #[inline(always)]
    fn await_ends(&mut self, min: u32, most: u32) -> Result<(), Errno> {
        self.ring.wait(min, most)
    }

    #[inline(always)]
    fn ends(&self) -> u32 {
        self.ring.left_of_batch()
    }

    #[inline(always)]
    fn take_end(&mut self) -> Completion {
        let Self { ring, commands, units, said, .. } = self;
        ring.take(|entry| end_of(entry, commands, units, said))
    }

    fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        let waited = self.ring.wait_within(span, out.room() as u32);
        self.list_ends(out);
        waited
    }

    fn sync_now(&mut self, handle: Handle, _kind: SyncKind) -> Option<Result<(), Errno>> {
        Some(match &self.commands {
            Commands::Scsi(_) => bsg::synchronize(handle.descriptor()),
            Commands::Nvme(_) => commands::flush(handle.descriptor()),
        })
    }

    fn wrote_zeroes(&self, slot: u32) -> bool {
        match &self.commands {
            Commands::Nvme(commands) => commands.wrote_zeroes(slot),
            Commands::Scsi(_) => false,
        }
    }

    fn protocol_status(&mut self, slot: u32) -> Option<String> {
        self.said.take(slot)
    }

    fn features(&self) -> Vec<&'static str> {
        self.features.clone()
    }
}

impl IoUringCmd {
    #[cold]
    fn refuse(&mut self, slot: u32, why: &CommandError) -> Queued {
        self.said.keep(slot, why.to_string());
        Queued::Done(i64::from(-libc::EINVAL))
    }
}

/// Converts a completion to the result of its unit.
#[inline(always)]
fn end_of(entry: &Entry32, commands: &mut Commands, units: &[Io], said: &mut Said) -> Completion {
    let slot = entry.user_data() as u32;
    let io = &units[slot as usize];
    let ended = match commands {
        _ if entry.result() < 0 => Err((entry.result(), None)),
        Commands::Nvme(commands) if entry.result() == 0 => match commands.check(slot, io) {
            Ok(()) => Ok(i64::from(io.length())),
            Err(why) => Err((-libc::EIO, Some(why.into()))),
        },
        Commands::Nvme(_) => Err((-entry.result(), Some(CommandError::Status(entry.result() as u16)))),
        Commands::Scsi(commands) => {
            commands.outcome(slot, io, entry.big_cqe()[0]).map_err(|why| (-libc::EIO, Some(why)))
        }
    };
    let result = ended.unwrap_or_else(|(errno, why)| failed(commands, slot, io, (errno, why), said));
    Completion { slot, result }
}

/// Handles a failed command and returns its error.
#[cold]
fn failed(
    commands: &Commands,
    slot: u32,
    io: &Io,
    (errno, why): (i32, Option<CommandError>),
    said: &mut Said,
) -> i64 {
    let why = why.or_else(|| match (commands, -errno) {
        (Commands::Nvme(commands), libc::EINVAL) => commands.advice(io),
        (_, libc::EACCES | libc::EPERM) => Some(CommandError::NotAllowed),
        (Commands::Scsi(_), libc::EOPNOTSUPP) => Some(CommandError::NoScsi),
        _ => None,
    });
    if let Some(why) = why {
        said.keep(slot, why.to_string());
    }
    i64::from(errno)
}

fn describe_refusal(refusal: Refusal) -> String {
    match refusal {
        Refusal::Kernel(errno) => errno.to_string(),
        Refusal::Controller(status) => status::describe(status),
    }
}

/// The errno of a refusal; a refusal by a controller is a status instead.
fn errno_of(refusal: Refusal) -> Errno {
    match refusal {
        Refusal::Kernel(errno) => errno,
        Refusal::Controller(status) => Errno(i32::from(status)),
    }
}
