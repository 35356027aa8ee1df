//! An in-memory object server: an engine that creates its storage, like one that connects to a server. There is
//! one server per thread.

use fathom_run::engine::{Engine, EngineType, Io, OpenFile, Queued, Setup, SetupError};
use fathom_run::files::filling::Filling;
use fathom_run::files::{FileEntry, FileError, FileKind};
use fathom_run::plan::WorkerPlan;
use fathom_run::storage::{Handle, Storage, SyncKind};
use fathom_run::unit::Operation;
use fathom_spec::JobSpec;
use fathom_spec::definition::{Kind, OptionDef};
use fathom_spec::engines::EngineDef;
use fathom_sys::Errno;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

thread_local! {
    static SERVER: RefCell<Server> = RefCell::new(Server::default());
}

/// State of the server, and the requests it received.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// Content by name.
    pub objects: BTreeMap<String, Vec<u8>>,
    /// Requests outside the loop, in order: `make a`, `open a`, `close a`, `sync a`, `remove a`.
    pub log: Vec<String>,
    /// Object names behind handles.
    pub open: Vec<String>,
    /// Name of the object whose reads and writes fail.
    pub failing: Option<String>,
}

/// Accesses the server of this thread.
pub fn with_server<T>(work: impl FnOnce(&mut Server) -> T) -> T {
    SERVER.with_borrow_mut(work)
}

impl Server {
    /// A server with these objects, all bytes 7.
    pub fn holding(objects: &[(&str, usize)]) -> Server {
        let objects = objects.iter().map(|(name, length)| ((*name).to_owned(), vec![7; *length]));
        Server { objects: objects.collect(), ..Server::default() }
    }
}

/// The storage of the objects.
pub struct Bucket {
    prefix: String,
    names: Vec<String>,
}

impl Bucket {
    fn note(word: &str, name: &str) {
        with_server(|server| server.log.push(format!("{word} {name}")));
    }
}

impl Storage for Bucket {
    fn look_at(&self, _: &WorkerPlan, name: PathBuf) -> Result<FileEntry, FileError> {
        let name = format!("{}{}", self.prefix, name.display());
        let found = with_server(|server| server.objects.get(&name).map(Vec::len));
        Ok(FileEntry::new(name.into(), FileKind::Object, found.map(|length| length as u64)))
    }

    fn lay_out(
        &mut self,
        _: &WorkerPlan,
        entry: &FileEntry,
        filling: Option<&mut Filling>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), FileError> {
        Bucket::note("make", &entry.name());
        let mut content = with_server(|server| server.objects.remove(&entry.name())).unwrap_or_default();
        match filling {
            Some(filling) => filling
                .fill(&mut content, (entry.present_size.unwrap_or(0), entry.missing()), stopped)
                .map_err(|errno| FileError::of_call(errno, "put", &entry.path))?,
            None => content.resize(entry.wanted_size() as usize, 0),
        }
        with_server(|server| server.objects.insert(entry.name(), content));
        Ok(())
    }

    fn open(&mut self, plan: &WorkerPlan, index: usize, entry: &FileEntry) -> Result<Handle, FileError> {
        let name = entry.name();
        Bucket::note("open", &name);
        self.names.resize(self.names.len().max(index + 1), String::new());
        self.names[index] = name.clone();
        with_server(|server| {
            if plan.writes_data() {
                server.objects.entry(name.clone()).or_default();
            } else if !server.objects.contains_key(&name) {
                return Err(FileError::of_call(Errno(libc::ENOENT), "head", &entry.path));
            }
            server.open.push(name);
            Ok(Handle::of_number(server.open.len() - 1))
        })
    }

    fn close(&mut self, index: usize) -> Result<(), Errno> {
        Bucket::note("close", &self.names[index]);
        Ok(())
    }

    fn read_into_cache(&mut self, _: &OpenFile, _: &dyn Fn() -> bool) -> Result<(), Errno> {
        Ok(())
    }

    fn sync(&mut self, handle: Handle, _: SyncKind) -> Result<(), Errno> {
        let name = with_server(|server| server.name_of(handle).ok_or(Errno(libc::EBADF)))?;
        Bucket::note("sync", &name);
        Ok(())
    }

    fn remove(&mut self, entry: &FileEntry) -> Result<(), Errno> {
        Bucket::note("remove", &entry.name());
        with_server(|server| server.objects.remove(&entry.name()));
        Ok(())
    }
}

/// The engine: synchronous.
pub struct Objects;

/// The engine definition against which a job's plan is checked.
pub static DEFINITION: EngineDef = EngineDef::new("objects", "a server of objects in memory")
    .built()
    .synchronous()
    .on_server()
    .with_options(&[BUCKET]);

/// Its only option, declared in the same way as an external engine's.
const BUCKET: OptionDef =
    OptionDef::of_engine("objects", "bucket", Kind::Text, "Begins the names of all objects");

impl EngineType for Objects {
    const DEFINITION: &'static EngineDef = &DEFINITION;

    fn storage(job: &JobSpec) -> Box<dyn Storage> {
        let prefix = job.private.outside.text(&BUCKET).to_owned();
        Box::new(Bucket { prefix, names: Vec::new() })
    }

    fn new(_: &Setup<'_>) -> Result<Objects, SetupError> {
        Ok(Objects)
    }
}

impl Engine for Objects {
    fn queue(&mut self, _: u32, io: &Io) -> Queued {
        Queued::Done(with_server(|server| server.perform(io)))
    }

    fn protocol_status(&mut self, _: u32) -> Option<String> {
        Some("status 503".to_owned())
    }
}

impl Server {
    fn name_of(&self, handle: Handle) -> Option<String> {
        self.open.get(handle.number()?).cloned()
    }

    fn perform(&mut self, io: &Io) -> i64 {
        let Some(name) = self.name_of(io.handle()) else { return -i64::from(libc::EBADF) };
        if self.failing.as_ref() == Some(&name) {
            return -i64::from(libc::EIO);
        }
        let Some(object) = self.objects.get_mut(&name) else { return -i64::from(libc::ENOENT) };
        let (start, end) = (io.offset() as usize, io.offset() as usize + io.length() as usize);
        match io.operation() {
            Operation::Read => {
                let end = end.min(object.len());
                let moved = end.saturating_sub(start);
                // SAFETY: the loop passes a buffer of at least `length` bytes, which belongs to the engine
                // until the I/O has completed.
                let buffer = unsafe { std::slice::from_raw_parts_mut(io.buffer(), moved) };
                buffer.copy_from_slice(&object[start.min(end)..end]);
                moved as i64
            }
            Operation::Write => {
                // SAFETY: as above.
                let buffer = unsafe { std::slice::from_raw_parts(io.buffer(), io.length() as usize) };
                object.resize(object.len().max(end), 0);
                object[start..end].copy_from_slice(buffer);
                i64::from(io.length())
            }
            Operation::Trim => -i64::from(libc::EOPNOTSUPP),
            Operation::Sync | Operation::DataSync | Operation::RangeSync => 0,
        }
    }
}
