//! Keeps the ledger of a worker: it writes one record before each write, trim or sync is submitted, and one
//! after its completion. Each record is handed to the kernel immediately, so a killed worker loses none.

use super::{Verifier, Worker, WorkerContext};
use crate::cause::Cause;
use crate::files::FileEntry;
use crate::files::open::OpenFiles;
use crate::message::Message;
use crate::plan::model::verify::VerifyPlan;
use crate::targets::Target;
use crate::unit::Operation;
use crate::verify::history::Record as Written;
use crate::worker::GivenUp;
use fathom_errors::plain;
use fathom_spec::options::io_type::SyncMode;
use fathom_spec::value::LedgerPlace;
use fathom_sys::Errno;
use fathom_sys::clock::{Clock, clock_at};
use fathom_verify::ledger::record::{Issued, Record, Start, SyncKind};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Capacity for records that are written together, in bytes.
const BUFFER: usize = 4096;

/// Identifies the boot of the machine.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Why the ledger cannot be written.
#[derive(Debug, Error)]
enum LedgerError {
    /// The machine does not report a boot ID, without which a check could not tell that the machine was
    /// restarted.
    #[error("{BOOT_ID}: {error}; mount /proc", error = plain(.0))]
    NoBootId(io::Error),
    /// The receiver of the ledger cannot be reached.
    #[error("{error}; start `fathom ledger receive --listen={address} FILE` there first", error = plain(.error))]
    NoReceiver { address: String, error: io::Error },
    /// The ledger file cannot be created.
    #[error("{}: {error}; create the directory first, outside the storage under test", directory.display(), error = plain(.error))]
    NoDirectory { directory: PathBuf, error: io::Error },
    /// The ledger would be on the storage under test, where a failure that loses data would lose the ledger as
    /// well.
    #[error(
        "it would be on the same storage as {target}, which is under test; name a file on another file \
        system, or tcp:HOST:PORT"
    )]
    UnderTest { target: String },
    /// The file exists and belongs to another run.
    #[error("the file exists; a ledger is evidence and not overwritten: remove it, or name another")]
    Exists,
    /// The first record cannot be written.
    #[error("{}", plain(.0))]
    NotWritten(#[from] io::Error),
}

/// The ledger of one worker.
pub(super) struct Ledger {
    clock: Clock,
    sink: Box<dyn Write>,
    place: String,
    buffer: Vec<u8>,
    /// The number of the open record of each slot.
    open: Box<[Option<u64>]>,
    next_id: u64,
    /// The error that ended writing; no more records are written after it.
    problem: Option<io::Error>,
}

impl Ledger {
    /// Starts the ledger that the plan requests, if any; an error is reported and stored as the job's error.
    pub(super) fn of(
        context: &WorkerContext<'_>,
        plan: &VerifyPlan,
        files: &OpenFiles,
    ) -> Result<Option<Ledger>, GivenUp> {
        let Some(place) = plan.ledger.as_ref().filter(|_| plan.writes && !plan.only_checks) else {
            return Ok(None);
        };
        match Ledger::begin(context, plan, place, files) {
            Ok(ledger) => Ok(Some(ledger)),
            Err(reason) => {
                let job = &context.worker_plan().name;
                context.messages.send(&Message::Error(format!(
                    "fathom: job {job}: the ledger {place} cannot be kept: {reason}"
                )));
                Err(context.fail(Errno(libc::EINVAL), Cause::LEDGER))
            }
        }
    }

    fn begin(
        context: &WorkerContext<'_>,
        plan: &VerifyPlan,
        place: &LedgerPlace,
        files: &OpenFiles,
    ) -> Result<Ledger, LedgerError> {
        let worker = context.worker_plan();
        let time_ns = context.clock.monotonic_ns();
        let start = Start {
            job: worker.name.clone(),
            clone: super::thread_in_header(worker.thread_number),
            files: files.entries().iter().map(absolute_name).collect(),
            rule: plan.rule.clone(),
            // Writes to a mapping are not durable before a sync, regardless of the file's flags.
            durable_at_once: worker.files.opening.sync != SyncMode::None && !worker.files.are_mapped,
            boot_id: boot_id()?,
            time_ns,
            time_of_day_ms: clock_at(libc::CLOCK_REALTIME, time_ns).unwrap_or(0) / 1_000_000,
        };
        let mut ledger = Ledger {
            clock: context.clock,
            sink: sink(place, files)?,
            place: place.to_string(),
            buffer: Vec::with_capacity(BUFFER),
            open: vec![None; worker.depth as usize].into_boxed_slice(),
            next_id: 0,
            problem: None,
        };
        ledger.add(&Record::Start(Box::new(start)));
        match ledger.problem {
            Some(error) => Err(error.into()),
            None => Ok(ledger),
        }
    }

    /// Records that a write is about to be submitted.
    pub(super) fn write_begins(&mut self, slot: u32, written: &Written) {
        let (id, file) = (self.take_id(slot), written.file);
        self.add(&Record::Issued(Issued {
            id,
            number: written.number,
            seed: written.seed,
            file,
            offset: written.offset,
            length: u64::from(written.length),
            time_ns: written.time_ns,
            discards: false,
        }));
    }

    /// Records that a trim is about to be submitted.
    pub(super) fn trim_begins(&mut self, slot: u32, target: Target) {
        let id = self.take_id(slot);
        self.discard(id, target.file, target.offset, u64::from(target.length));
    }

    /// Records a zone reset.
    pub(super) fn emptied(&mut self, file: u32, offset: u64, length: u64) {
        let id = self.new_id();
        self.discard(id, file, offset, length);
        self.add(&Record::Ended { id, time_ns: self.clock.monotonic_ns(), is_well: true });
    }

    fn discard(&mut self, id: u64, file: u32, offset: u64, length: u64) {
        let time_ns = self.clock.monotonic_ns();
        let (number, seed, discards) = (0, 0, true);
        self.add(&Record::Issued(Issued { id, number, seed, file, offset, length, time_ns, discards }));
    }

    /// Records that a sync is about to be submitted.
    pub(super) fn sync_begins(&mut self, slot: u32, operation: Operation, file: u32) {
        let id = self.take_id(slot);
        let kind = match operation {
            Operation::Sync => SyncKind::Sync,
            Operation::DataSync => SyncKind::DataSync,
            _ => SyncKind::Range,
        };
        self.add(&Record::SyncBegun { id, kind, file, time_ns: self.clock.monotonic_ns() });
    }

    /// Runs a sync outside of the loop and records it.
    fn around_sync<T>(
        &mut self,
        kind: SyncKind,
        file: u32,
        sync: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let id = self.new_id();
        self.add(&Record::SyncBegun { id, kind, file, time_ns: self.clock.monotonic_ns() });
        let result = sync();
        self.add(&Record::Ended { id, time_ns: self.clock.monotonic_ns(), is_well: result.is_ok() });
        result
    }

    /// Records that the operation in a slot has completed, successfully or not. Reads are not recorded.
    pub(super) fn ended(&mut self, slot: u32, is_well: bool) {
        if let Some(id) = self.open[slot as usize].take() {
            self.add(&Record::Ended { id, time_ns: self.clock.monotonic_ns(), is_well });
        }
    }

    /// Records the end of the job.
    fn close(&mut self) {
        self.add(&Record::JobEnded { time_ns: self.clock.monotonic_ns() });
    }

    fn new_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    fn take_id(&mut self, slot: u32) -> u64 {
        let id = self.new_id();
        self.open[slot as usize] = Some(id);
        id
    }

    fn add(&mut self, record: &Record) {
        self.buffer.clear();
        record.encode(&mut self.buffer);
        // Records after a gap could not be trusted, so none are written after an error.
        if self.problem.is_none()
            && let Err(error) = self.sink.write_all(&self.buffer)
        {
            self.problem = Some(error);
        }
    }
}

fn sink(place: &LedgerPlace, targets: &OpenFiles) -> Result<Box<dyn Write>, LedgerError> {
    match place {
        LedgerPlace::File(path) => Ok(Box::new(create(Path::new(path), targets)?)),
        LedgerPlace::Tcp(address) => {
            let stream = TcpStream::connect(address.as_str())
                .map_err(|error| LedgerError::NoReceiver { address: address.to_string(), error })?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream))
        }
    }
}

fn create(path: &Path, targets: &OpenFiles) -> Result<File, LedgerError> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let metadata = std::fs::metadata(directory)
        .map_err(|error| LedgerError::NoDirectory { directory: directory.to_owned(), error })?;
    if let Some(target) = targets.on_device(metadata.dev()) {
        return Err(LedgerError::UnderTest { target: target.name() });
    }
    OpenOptions::new().append(true).create_new(true).open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => LedgerError::Exists,
        _ => error.into(),
    })
}

/// The absolute path of a target, because the check may run in another directory.
fn absolute_name(entry: &FileEntry) -> String {
    if !entry.kind.has_path() {
        return entry.name();
    }
    std::path::absolute(&entry.path).unwrap_or_else(|_| entry.path.clone()).to_string_lossy().into_owned()
}

fn boot_id() -> Result<String, LedgerError> {
    let text = std::fs::read_to_string(BOOT_ID).map_err(LedgerError::NoBootId)?;
    Ok(text.trim().to_owned())
}

impl Worker<'_> {
    /// Syncs a file outside of the loop, and records the sync.
    pub(in crate::worker) fn sync_recorded(&mut self, kind: SyncKind, file: u32) -> Result<(), Errno> {
        let mut sync = || self.files.sync(&mut self.engine, file as usize, kind);
        match ledger_of(&mut self.features.verifier) {
            Some(ledger) => ledger.around_sync(kind, file, sync),
            None => sync(),
        }
    }

    /// Ends the job when its ledger can no longer be written, because a check would miss acknowledged writes.
    pub(in crate::worker) fn follow_ledger(&mut self) {
        let Some(ledger) = ledger_of(&mut self.features.verifier) else { return };
        let Some(error) = &ledger.problem else { return };
        if self.stopping {
            return;
        }
        self.stopping = true;
        self.context.messages.send(&Message::Error(format!(
            "fathom: job {}: the ledger {} cannot be written any more: {error}; the job ends here, and what \
            the ledger has can be checked",
            self.plan.name,
            ledger.place,
            error = plain(&error)
        )));
        let errno = Errno(error.raw_os_error().unwrap_or(libc::EIO));
        self.context.fail(errno, Cause::LEDGER);
    }

    /// Writes the last record.
    pub(in crate::worker) fn close_ledger(&mut self) {
        if let Some(ledger) = ledger_of(&mut self.features.verifier) {
            ledger.close();
        }
        self.follow_ledger();
    }
}

fn ledger_of<'a>(verifier: &'a mut Option<Box<Verifier<'_>>>) -> Option<&'a mut Ledger> {
    verifier.as_mut().and_then(|verifier| verifier.ledger.as_mut())
}
