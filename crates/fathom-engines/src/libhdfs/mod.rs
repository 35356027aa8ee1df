//! `libhdfs`: files of a Hadoop file system, through a client in Rust that needs neither a JVM nor Hadoop's own
//! library. Existing data cannot be changed in place, so a file of a job consists of many files (chunks).
//! `chunks.rs` performs each I/O on its chunk, `cluster.rs` connects, and `storage.rs` creates and removes
//! chunks.

mod chunks;
mod cluster;
mod storage;

use crate::net::library::refused;
use crate::net::refusal::Refusal;
use crate::net::tasks::{Driver, Tasks};
use chunks::{Chunks, Rules};
use fathom_run::engine::{Completions, Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::storage::{Handle, Storage, SyncKind};
use fathom_run::unit::Operation;
use fathom_spec::JobSpec;
use fathom_spec::engines::{self, EngineDef};
use fathom_spec::options::io_type::SyncMode;
use fathom_sys::Errno;
use std::rc::Rc;
use std::time::Duration;
use storage::Folder;

/// Maximum time for which the end of a job waits for pending writes.
const FAREWELL: Duration = Duration::from_secs(10);

/// The engine.
pub(crate) struct Libhdfs {
    // Declared before the files, so that it is dropped first: the tasks use the files and end with it.
    tasks: Tasks,
    files: Vec<Rc<Chunks>>,
    job: String,
}

impl EngineType for Libhdfs {
    const DEFINITION: &'static EngineDef = &engines::libhdfs::DEFINITION;

    fn storage(job: &JobSpec) -> Box<dyn Storage> {
        Box::new(Folder::new(&job.private.libhdfs))
    }

    fn new(setup: &Setup<'_>) -> Result<Libhdfs, SetupError> {
        Libhdfs::open(setup).map_err(|Refusal { errno, sentence }| refused(errno, "connect", sentence))
    }
}

impl Engine for Libhdfs {
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        // SAFETY: the task does not use it after its completion, which is the I/O's.
        let (file, io) = (Rc::clone(&self.files[io.file() as usize]), unsafe { io.keep() });
        self.tasks.begin(slot, async move {
            match io.operation() {
                Operation::Read => file.read(&io).await,
                Operation::Write => file.write(&io).await,
                Operation::Trim => file.trim(&io).await,
                _ => file.sync().await.map(|()| 0),
            }
        })
    }

    fn commit(&mut self) -> Result<u32, Errno> {
        Ok(self.tasks.commit())
    }

    fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        self.tasks.reap(min, out)
    }

    fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        self.tasks.reap_within(span, out)
    }

    fn sync_now(&mut self, handle: Handle, _: SyncKind) -> Option<Result<(), Errno>> {
        let file = Rc::clone(self.files.get(handle.number()?)?);
        Some(self.tasks.wait_for(async { file.sync().await.map_err(|refusal| refusal.errno) }))
    }

    /// Forgets the state of a file's chunks, because their names may refer to different chunks now.
    fn reopened(&mut self, index: usize) {
        self.files[index].forget();
    }

    fn protocol_status(&mut self, slot: u32) -> Option<String> {
        self.tasks.explanation(slot)
    }

    /// Completes the last chunk when the job ends.
    fn remarks(&mut self) -> Vec<String> {
        if self.tasks.in_flight() > 0 {
            return Vec::new();
        }
        let mut remarks = Vec::new();
        for file in &self.files {
            let closed = self.tasks.wait_for(async { tokio::time::timeout(FAREWELL, file.close()).await });
            let why = match closed {
                Ok(Ok(())) => continue,
                Ok(Err(Refusal { sentence, .. })) => sentence,
                Err(_) => "there is no answer".to_owned(),
            };
            remarks.push(format!("fathom: job {}: the last chunk is not complete: {why}", self.job));
        }
        remarks
    }
}

impl Libhdfs {
    fn open(setup: &Setup<'_>) -> Result<Libhdfs, Refusal> {
        let options = &setup.job.private.libhdfs;
        let driver = Driver::new()?;
        let rules = Rules {
            chunk: u64::from(options.chunk_size),
            syncs: setup.job.io_type.sync != SyncMode::None,
            reads_in_place: options.hdfs_use_direct,
        };
        let mut shared = None;
        let mut files = Vec::new();
        for file in setup.files {
            let client = match shared.clone().filter(|_| options.single_instance) {
                Some(client) => client,
                None => driver.wait_for(cluster::connect(options))?,
            };
            shared = Some(Rc::clone(&client));
            files.push(Rc::new(Chunks::new(client, cluster::path_of(options, &file.name), rules)));
        }
        Ok(Libhdfs { tasks: Tasks::new(driver, setup.depth), files, job: setup.job.name.clone() })
    }
}
