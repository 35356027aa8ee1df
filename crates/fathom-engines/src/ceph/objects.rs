//! Objects of a pool as a storage: they are created, extended and deleted like files.

use super::cluster::{Cluster, Place, text};
use crate::net::end::End;
use crate::net::refusal::Refusal;
use fathom_run::files::filling::Filling;
use fathom_run::files::{FileEntry, FileError, FileKind};
use fathom_run::plan::WorkerPlan;
use fathom_run::storage::Storage;
use fathom_spec::engines::rados::RadosOptions;
use fathom_sys::Errno;
use std::cell::OnceCell;
use std::ffi::{CString, c_int};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The objects of a job.
pub(super) struct Objects {
    options: RadosOptions,
    cluster: OnceCell<Rc<Cluster>>,
}

impl Objects {
    pub(super) fn new(options: &RadosOptions) -> Objects {
        Objects { options: options.clone(), cluster: OnceCell::new() }
    }

    /// A connection to the cluster of a job.
    pub(super) fn connect(options: &RadosOptions) -> Result<Cluster, Refusal> {
        Cluster::open(&Place {
            cluster: options.clustername.clone(),
            client: options.clientname.clone(),
            conf: options.conf.clone(),
            pool: options.pool.clone(),
            namespace: options.namespace.clone(),
            settings: Vec::new(),
        })
    }

    /// The connection, shared with the engine.
    pub(super) fn cluster(&self) -> Result<&Rc<Cluster>, Refusal> {
        if let Some(cluster) = self.cluster.get() {
            return Ok(cluster);
        }
        let cluster = Rc::new(Objects::connect(&self.options)?);
        Ok(self.cluster.get_or_init(|| cluster))
    }

    fn object(&self, path: &Path) -> Result<Object<'_>, Refusal> {
        let shown = path.to_string_lossy().into_owned();
        Ok(Object { cluster: self.cluster()?, name: text("the object's name", &shown)?, shown })
    }

    fn extend(
        &self,
        entry: &FileEntry,
        filling: Option<&mut Filling>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), Refusal> {
        let object = self.object(&entry.path)?;
        let present = entry.present_size.unwrap_or(0);
        let extended = match filling {
            Some(filling) => {
                let mut end = End::new(present, |bytes, offset| object.write(bytes, offset));
                let filled = filling.fill(&mut end, (present, entry.missing()), stopped);
                filled.map_err(|errno| object.refusal(-errno.0))
            }
            // Nothing has to be laid out, because writes determine the object's length.
            None if !self.options.touch_objects => return Ok(()),
            None => object.touch().and_then(|()| object.truncate(entry.wanted_size())),
        };
        if extended.is_err() {
            // The object is restored to its previous size. If even that fails, the first error is more
            // informative.
            let _ = match entry.present_size {
                None => object.remove(),
                Some(present) => object.truncate(present),
            };
        }
        extended
    }
}

/// An object that may exist.
struct Object<'a> {
    cluster: &'a Cluster,
    name: CString,
    shown: String,
}

impl Object<'_> {
    fn refusal(&self, result: c_int) -> Refusal {
        let advice = match -result {
            libc::EFBIG => {
                "; an object holds at most osd_max_object_size, 128 MiB by default: nrfiles= distributes size= over more of them"
            }
            _ => "",
        };
        Refusal::of(Errno(-result), &self.shown, advice)
    }

    fn check(&self, result: c_int) -> Result<(), Refusal> {
        if result < 0 { Err(self.refusal(result)) } else { Ok(()) }
    }

    /// Length of the object, if it exists.
    fn size(&self) -> Result<Option<u64>, Refusal> {
        let (mut size, mut changed) = (0, 0);
        let Cluster { functions, pool, .. } = self.cluster;
        // SAFETY: the pool is open, and the name ends with a zero byte.
        match unsafe { (functions.stat)(*pool, self.name.as_ptr(), &mut size, &mut changed) } {
            missing if missing == -libc::ENOENT => Ok(None),
            result => self.check(result).map(|()| Some(size)),
        }
    }

    /// Creates the object if it does not exist.
    fn touch(&self) -> Result<(), Refusal> {
        let Cluster { functions, pool, .. } = self.cluster;
        // SAFETY: as above; the operation is released once.
        let result = unsafe {
            let changes = (functions.new_changes)();
            (functions.add_creation)(changes, 0, std::ptr::null());
            let result = (functions.change)(changes, *pool, self.name.as_ptr(), std::ptr::null_mut(), 0);
            (functions.release_changes)(changes);
            result
        };
        self.check(result)
    }

    fn truncate(&self, size: u64) -> Result<(), Refusal> {
        let Cluster { functions, pool, .. } = self.cluster;
        // SAFETY: as above.
        self.check(unsafe { (functions.truncate)(*pool, self.name.as_ptr(), size) })
    }

    fn write(&self, bytes: &[u8], offset: u64) -> Result<usize, Errno> {
        let Cluster { functions, pool, .. } = self.cluster;
        let (data, length) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: as above, and the bytes are read before the call returns.
        let result = unsafe { (functions.write)(*pool, self.name.as_ptr(), data, length, offset) };
        if result < 0 { Err(Errno(-result)) } else { Ok(length) }
    }

    fn remove(&self) -> Result<(), Refusal> {
        let Cluster { functions, pool, .. } = self.cluster;
        // SAFETY: as above.
        match unsafe { (functions.remove)(*pool, self.name.as_ptr()) } {
            missing if missing == -libc::ENOENT => Ok(()),
            result => self.check(result),
        }
    }
}

impl Storage for Objects {
    fn look_at(&self, plan: &WorkerPlan, name: PathBuf) -> Result<FileEntry, FileError> {
        let found = self.object(&name).and_then(|object| object.size());
        Ok(FileEntry::new(name, FileKind::Object, found.map_err(|refusal| refusal.of_job(plan))?))
    }

    fn lay_out(
        &mut self,
        plan: &WorkerPlan,
        entry: &FileEntry,
        filling: Option<&mut Filling>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), FileError> {
        self.extend(entry, filling, stopped).map_err(|refusal| refusal.of_job(plan))
    }

    fn remove(&mut self, entry: &FileEntry) -> Result<(), Errno> {
        self.object(&entry.path).and_then(|object| object.remove()).map_err(|refusal| refusal.errno)
    }
}
