//! Objects as a storage. A file is one object, or one object per block; missing objects that a job reads are
//! created.

use super::body::Payload;
use super::client::{Call, Client};
use super::endpoint::Failure;
use super::environment::EndpointError;
use super::objects::block_name;
use crate::net::tasks::Driver;
use fathom_run::files::filling::Filling;
use fathom_run::files::{FileEntry, FileError, FileKind};
use fathom_run::plan::WorkerPlan;
use fathom_run::storage::{Handle, Storage, SyncKind};
use fathom_spec::engines::http::{HttpObjectMode, HttpOptions};
use fathom_spec::value::SizeSpec;
use fathom_stats::Direction;
use fathom_sys::Errno;
use hyper::Method;
use hyper::body::Bytes;
use std::cell::{Cell, OnceCell, RefCell};
use std::io;
use std::path::PathBuf;

use std::rc::Rc;
use tokio::sync::mpsc;

/// Size of a piece, in bytes, of a file whose content does not matter.
const PIECE: usize = 1 << 20;

/// The objects of a job.
pub(super) struct Bucket {
    options: HttpOptions,
    /// Why the options cannot be used together.
    objection: Option<EndpointError>,
    connected: OnceCell<(Driver, Rc<Client>)>,
    /// Size of an object in bytes, if every block is an object and all blocks have the same length.
    block: Cell<Option<u64>>,
}

impl Bucket {
    pub(super) fn new(options: Result<HttpOptions, EndpointError>) -> Bucket {
        let (options, objection) = match options {
            Ok(options) => (options, None),
            Err(objection) => (HttpOptions::default(), Some(objection)),
        };
        Bucket { options, objection, connected: OnceCell::new(), block: Cell::new(None) }
    }

    fn connected(&self) -> Result<&(Driver, Rc<Client>), Failure> {
        if let Some(connected) = self.connected.get() {
            return Ok(connected);
        }
        if let Some(objection) = &self.objection {
            return Err(Failure::new(libc::EINVAL, objection.to_string()));
        }
        let driver = Driver::new()?;
        let client = Rc::new(Client::new(&self.options)?);
        driver.wait_for(client.open())?;
        Ok(self.connected.get_or_init(|| (driver, client)))
    }

    /// Size of an object in bytes; `None` if it does not exist.
    fn length(&self, path: &str) -> Result<Option<u64>, Failure> {
        let (driver, client) = self.connected()?;
        let call = Call::new("head", Method::HEAD, path);
        let answer = driver.wait_for(client.ask(&call))?;
        match answer.status {
            404 => Ok(None),
            _ if answer.is_good() => Ok(Some(answer.length.unwrap_or(0))),
            _ => Err(answer.refusal(&call)),
        }
    }

    fn is_range(&self) -> bool {
        self.options.http_object_mode == HttpObjectMode::Range
    }

    fn object(&self, name: &str, offset: u64, length: u64) -> String {
        block_name(&self.options.http_object_name, name, offset, length)
    }

    /// Looks up a file. If each block is an object, the first and the last block represent all of them.
    fn find(&self, plan: &WorkerPlan, path: PathBuf) -> Result<FileEntry, Failure> {
        let name = path.to_string_lossy().into_owned();
        if !name.starts_with('/') {
            let sentence = format!(
                "filename={name}: object names begin with a slash, as in /bucket/name (S3), /v1/AUTH_account/container/name (Swift) or \
                 /folder/name (WebDAV)"
            );
            return Err(Failure::new(libc::EINVAL, sentence));
        }
        if !plan.reads_data() {
            return Ok(FileEntry::new(path, FileKind::Objects, None));
        }
        if self.is_range() {
            return Ok(FileEntry::new(path, FileKind::Object, self.length(&name)?));
        }
        let (block, Some(SizeSpec::Bytes(size))) = (self.block.get(), &plan.amounts.size) else {
            return Ok(FileEntry::new(path, FileKind::Objects, None));
        };
        let Some(block) = block.filter(|&block| block > 0 && *size >= block) else {
            return Ok(FileEntry::new(path, FileKind::Objects, None));
        };
        let last = (size / block - 1) * block;
        for offset in [0, last] {
            if self.length(&self.object(&name, offset, block))? != Some(block) {
                return Ok(FileEntry::new(path, FileKind::Object, None));
            }
        }
        Ok(FileEntry::new(path, FileKind::Objects, None))
    }

    /// Creates the missing parts of a file.
    fn make(
        &self,
        entry: &FileEntry,
        mut filling: Option<&mut Filling>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), Failure> {
        let name = entry.name();
        let length = entry.wanted_size();
        if let Some(present) = entry.present_size {
            let sentence = format!(
                "{name} has {present} bytes and {length} are needed; an object cannot be extended: use a smaller size=, or delete it"
            );
            return Err(Failure::new(libc::EFBIG, sentence));
        }
        let zeroes = |target: &mut dyn io::Write| -> Result<(), Errno> {
            let mut left = length;
            while left > 0 {
                if stopped() {
                    return Err(Errno(libc::EINTR));
                }
                let piece = left.min(PIECE as u64);
                target.write_all(&vec![0; piece as usize]).map_err(Errno::from)?;
                left -= piece;
            }
            Ok(())
        };
        let mut fill = |target: &mut dyn io::Write| match &mut filling {
            Some(filling) => filling.fill(target, (0, length), stopped),
            None => zeroes(target),
        };
        match self.block.get().filter(|_| !self.is_range()) {
            Some(block) => {
                let mut blocks = BlockWriter {
                    bucket: self,
                    name: &name,
                    block,
                    offset: 0,
                    gathered: Vec::new(),
                    failure: None,
                };
                let filled = fill(&mut blocks);
                let failure = blocks.failure.take();
                filled.map_err(|errno| {
                    failure.unwrap_or_else(|| Failure::new(errno.0, format!("{name}: {errno}")))
                })
            }
            None => self.stream(&name, length, &mut fill),
        }
    }

    /// Sends one object while its content is generated.
    fn stream(
        &self,
        name: &str,
        length: u64,
        fill: &mut dyn FnMut(&mut dyn io::Write) -> Result<(), Errno>,
    ) -> Result<(), Failure> {
        let (driver, client) = self.connected()?;
        let (sender, receiver) = mpsc::channel(4);
        let mut call = Call::new("put", Method::PUT, name);
        call.makes_object = true;
        let answer = Rc::new(RefCell::new(None));
        let (client, kept, path) = (Rc::clone(client), Rc::clone(&answer), name.to_owned());
        driver.begin(async move {
            let outcome =
                client.stream(&call, length, receiver).await.and_then(|answer| match answer.is_good() {
                    true => Ok(()),
                    false => Err(answer.refusal(&call)),
                });
            *kept.borrow_mut() = Some(outcome);
        });
        let mut pieces = PieceWriter { driver, sender: Some(sender) };
        let filled = fill(&mut pieces);
        pieces.sender = None;
        driver.wait_for(async {
            while answer.borrow().is_none() {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        });
        let outcome = answer.borrow_mut().take().unwrap_or(Ok(()));
        outcome?;
        filled.map_err(|errno| Failure::new(errno.0, format!("{path}: {errno}")))
    }

    fn put_block(&self, name: &str, offset: u64, content: Vec<u8>) -> Result<(), Failure> {
        let (driver, client) = self.connected()?;
        let mut call = Call::new("put", Method::PUT, &self.object(name, offset, content.len() as u64));
        call.payload = Payload::Owned(Bytes::from(content));
        call.makes_object = true;
        let answer = driver.wait_for(client.ask(&call))?;
        if answer.is_good() { Ok(()) } else { Err(answer.refusal(&call)) }
    }

    fn delete(&self, path: &str) -> Result<(), Failure> {
        let (driver, client) = self.connected()?;
        let call = Call::new("delete", Method::DELETE, path);
        let answer = driver.wait_for(client.ask(&call))?;
        if answer.is_good() || answer.status == 404 { Ok(()) } else { Err(answer.refusal(&call)) }
    }
}

/// Passes content to a request while the request is being sent.
struct PieceWriter<'a> {
    driver: &'a Driver,
    sender: Option<mpsc::Sender<Bytes>>,
}

impl io::Write for PieceWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let gone = || io::Error::from_raw_os_error(libc::EPIPE);
        let sender = self.sender.as_ref().ok_or_else(gone)?;
        self.driver.wait_for(sender.send(Bytes::copy_from_slice(bytes))).map_err(|_| gone())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Splits content into one object per block.
struct BlockWriter<'a> {
    bucket: &'a Bucket,
    name: &'a str,
    block: u64,
    offset: u64,
    gathered: Vec<u8>,
    failure: Option<Failure>,
}

impl io::Write for BlockWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.gathered.extend_from_slice(bytes);
        while self.gathered.len() as u64 >= self.block {
            let rest = self.gathered.split_off(self.block as usize);
            let content = std::mem::replace(&mut self.gathered, rest);
            if let Err(failure) = self.bucket.put_block(self.name, self.offset, content) {
                let errno = failure.errno.0;
                self.failure = Some(failure);
                return Err(io::Error::from_raw_os_error(errno));
            }
            self.offset += self.block;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn failed(plan: &WorkerPlan, failure: &Failure) -> FileError {
    let message = format!("fathom: job {}: {}", plan.name, failure.sentence);
    FileError { errno: failure.errno.0, text: None, message: Some(message) }
}

impl Storage for Bucket {
    fn look_at(&self, plan: &WorkerPlan, name: PathBuf) -> Result<FileEntry, FileError> {
        let lengths = &plan.target_plan.lengths;
        let (smallest, largest) = (lengths[Direction::Read].min(), lengths[Direction::Read].max());
        self.block.set((smallest == largest).then_some(largest));
        self.find(plan, name).map_err(|failure| failed(plan, &failure))
    }

    fn lay_out(
        &mut self,
        plan: &WorkerPlan,
        entry: &FileEntry,
        filling: Option<&mut Filling>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), FileError> {
        self.make(entry, filling, stopped).map_err(|failure| failed(plan, &failure))
    }

    /// Does nothing, because an object is durable once the response to its upload has arrived.
    fn sync(&mut self, _: Handle, _: SyncKind) -> Result<(), Errno> {
        Ok(())
    }

    fn remove(&mut self, entry: &FileEntry) -> Result<(), Errno> {
        let name = entry.name();
        let removed = match self.block.get().filter(|_| !self.is_range()) {
            _ if self.is_range() => self.delete(&name),
            Some(block) => (0..entry.wanted_size() / block.max(1))
                .try_for_each(|number| self.delete(&self.object(&name, number * block, block))),
            None => Err(Failure::new(libc::EOPNOTSUPP, "")),
        };
        removed.map_err(|failure| failure.errno)
    }
}
