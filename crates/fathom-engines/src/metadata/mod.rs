//! `filecreate`, `filestat`, `filedelete`, `dircreate`, `dirstat`, `dirdelete`: one operation on one name per
//! I/O. At queue depth 1, the operation is a system call, as with fio; at higher depths, it is an io_uring
//! request (`requests.rs`).

mod operation;
mod requests;

use fathom_run::engine::{Completions, Engine, EngineType, Io, OpenFile, Queued, Setup, SetupError};
use fathom_run::storage::Storage;
use fathom_run::storage::files::{Namespace, TargetName};
use fathom_spec::JobSpec;
use fathom_spec::engines::EngineDef;
use fathom_spec::engines::filestat::StatType;
use fathom_spec::engines::metadata::{self, Metadata, NameOperation};
use fathom_sys::Errno;
use operation::{Operation, Results};
use requests::Requests;
use std::any::Any;
use std::ffi::CString;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

/// One of these engines.
pub(crate) trait Kind {
    /// Its declaration.
    const DEFINITION: &'static EngineDef;
}

macro_rules! kinds {
    ($($name:ident, $kind:ident: $definition:ident;)*) => {
        $(
            pub(crate) struct $kind;
            impl Kind for $kind {
                const DEFINITION: &'static EngineDef = &metadata::$definition;
            }
            pub(crate) type $name = Names<$kind>;
        )*
    };
}

kinds! {
    Filecreate, OfFilecreate: FILECREATE;
    Filestat, OfFilestat: FILESTAT;
    Filedelete, OfFiledelete: FILEDELETE;
    Dircreate, OfDircreate: DIRCREATE;
    Dirstat, OfDirstat: DIRSTAT;
    Dirdelete, OfDirdelete: DIRDELETE;
}

/// The engine for an operation.
pub(crate) struct Names<K> {
    operation: Operation,
    places: Vec<TargetName>,
    /// Keeps the directory descriptors in `places` open.
    _directories: Vec<Arc<OwnedFd>>,
    results: Results,
    /// The ring, for depths above 1.
    requests: Option<Box<Requests>>,
    /// Target of the most recent I/O in each slot.
    last: Vec<u32>,
    files: Vec<OpenFile>,
    kind: PhantomData<K>,
}

impl<K: Kind> EngineType for Names<K> {
    const DEFINITION: &'static EngineDef = K::DEFINITION;

    fn storage(job: &JobSpec) -> Box<dyn Storage> {
        let sees_links = job.private.filestat.stat_type == StatType::Lstat;
        Box::new(Namespace::new(metadata_of(K::DEFINITION), sees_links))
    }

    fn new(setup: &Setup<'_>) -> Result<Names<K>, SetupError> {
        let (places, directories) = places(setup)?;
        let operation = Operation::new(metadata_of(K::DEFINITION), setup.job.private.filestat.stat_type);
        let requests = match setup.depth {
            ..=1 => None,
            _ => Some(Box::new(Requests::new(setup, operation)?)),
        };
        Ok(Names {
            operation,
            places,
            _directories: directories,
            results: Results::default(),
            requests,
            last: vec![0; setup.depth as usize],
            files: setup.files.to_vec(),
            kind: PhantomData,
        })
    }
}

impl<K: Kind> Engine for Names<K> {
    #[inline(always)]
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        self.last[slot as usize] = io.file();
        let place = &self.places[io.file() as usize];
        if let Some(requests) = &mut self.requests {
            return match requests.queue(slot, place, io.length()) {
                Ok(()) => Queued::Pending,
                Err(errno) => Queued::Done(i64::from(-errno.0)),
            };
        }
        let done = self.operation.perform(place, &mut self.results);
        Queued::Done(if done < 0 { i64::from(-Errno::last().0) } else { i64::from(io.length()) })
    }

    fn commit(&mut self) -> Result<u32, Errno> {
        self.requests.as_mut().map_or(Ok(0), |requests| requests.commit())
    }

    fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        self.requests.as_mut().map_or(Ok(()), |requests| requests.reap(min, out))
    }

    fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        self.requests.as_mut().map_or(Ok(()), |requests| requests.reap_within(span, out))
    }

    fn ends_at_once(&self, _definition: &EngineDef) -> bool {
        self.requests.is_none()
    }

    fn features(&self) -> Vec<&'static str> {
        self.requests.as_ref().map_or_else(Vec::new, |requests| requests.features.clone())
    }

    fn protocol_status(&mut self, slot: u32) -> Option<String> {
        let file = &self.files[self.last[slot as usize] as usize];
        self.operation.advice(&file.name)
    }
}

/// The operation of an engine in this module; other engines have none.
const fn metadata_of(definition: &EngineDef) -> Metadata {
    match definition.metadata {
        Some(metadata) => metadata,
        None => Metadata { operation: NameOperation::Stat, on_directories: false },
    }
}

/// The targets as names in their directories, with the open directories.
fn places(setup: &Setup<'_>) -> Result<(Vec<TargetName>, Vec<Arc<OwnedFd>>), SetupError> {
    let names = (setup.storage as &dyn Any).downcast_ref::<Namespace>();
    if let Some(names) = names.filter(|names| names.places().len() == setup.files.len()) {
        return Ok((names.places().to_vec(), names.directories()));
    }
    let place = |file: &OpenFile| {
        let name = CString::new(file.name.as_bytes());
        name.map(|name| TargetName { directory: libc::AT_FDCWD, name })
    };
    let places: Result<Vec<TargetName>, _> = setup.files.iter().map(place).collect();
    let places = places.map_err(|_| SetupError::new(Errno(libc::EINVAL), "open"))?;
    Ok((places, Vec::new()))
}
