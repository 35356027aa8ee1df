//! The job's folder as a storage: chunks are counted, created and removed.

use super::chunks::{create, name_of, remove};
use super::cluster::{connect, path_of, refusal};
use crate::net::refusal::Refusal;
use crate::net::tasks::Driver;
use fathom_run::files::filling::Filling;
use fathom_run::files::{FileEntry, FileError, FileKind};
use fathom_run::plan::WorkerPlan;
use fathom_run::storage::Storage;
use fathom_spec::engines::libhdfs::LibhdfsOptions;
use fathom_sys::Errno;
use hdfs_native::file::FileWriter;
use hdfs_native::{Client, HdfsError};
use hyper::body::Bytes;
use std::cell::OnceCell;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The folder of a job.
pub(super) struct Folder {
    options: LibhdfsOptions,
    connection: OnceCell<Connection>,
}

struct Connection {
    // Declared before the driver, so that it is dropped first: it uses tasks of the driver.
    client: Rc<Client>,
    driver: Driver,
}

impl Folder {
    pub(super) fn new(options: &LibhdfsOptions) -> Folder {
        Folder { options: options.clone(), connection: OnceCell::new() }
    }

    fn connection(&self) -> Result<&Connection, Refusal> {
        if let Some(connection) = self.connection.get() {
            return Ok(connection);
        }
        let driver = Driver::new()?;
        let client = driver.wait_for(connect(&self.options))?;
        Ok(self.connection.get_or_init(|| Connection { client, driver }))
    }

    fn path(&self, name: &Path) -> String {
        path_of(&self.options, &name.to_string_lossy())
    }

    /// Total size of the chunks before the first missing one; `None` if the first chunk is missing.
    fn size(&self, name: &Path) -> Result<Option<u64>, Refusal> {
        let Connection { client, driver } = self.connection()?;
        let (path, chunk) = (self.path(name), u64::from(self.options.chunk_size));
        driver.wait_for(async {
            let Some(first) = length_of(client, &path, 0).await? else { return Ok(None) };
            // The invariant: at least `found` chunks exist, and fewer than `missing`.
            let (mut found, mut missing) = (1, None);
            let mut last = first;
            while missing != Some(found) {
                let tried = missing.map_or(found * 2, |missing| found + (missing - found) / 2);
                match length_of(client, &path, tried).await? {
                    Some(length) => (found, last) = (tried + 1, length),
                    None => missing = Some(tried),
                }
            }
            if found > 1 && first != chunk {
                let sentence =
                    format!("{path}_0 has {first} bytes, so its chunks are not of chunk_size={chunk}");
                return Err(Refusal::new(libc::EINVAL, sentence));
            }
            Ok(Some((found - 1) * chunk + last))
        })
    }

    fn extend(
        &self,
        entry: &FileEntry,
        filling: Option<&mut Filling>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), Refusal> {
        // Without data to write, no layout is needed, because chunks are created when they are written.
        let Some(filling) = filling else { return Ok(()) };
        let connection = self.connection()?;
        let path = self.path(&entry.path);
        let present = entry.present_size.unwrap_or(0);
        let chunk = u64::from(self.options.chunk_size);
        let mut end = End { connection, path: &path, chunk, offset: present, writer: None, failure: None };
        let filled = filling.fill(&mut end, (present, entry.missing()), stopped);
        match (filled, end.close()) {
            (Ok(()), closed) => closed,
            (Err(errno), _) => {
                let refusal = end.failure.take().unwrap_or_else(|| Refusal::of(errno, &path, ""));
                // The last chunk may be incomplete, so it is removed.
                let unfinished = name_of(&path, end.offset / chunk);
                let _ = connection.driver.wait_for(remove(&connection.client, &unfinished));
                Err(refusal)
            }
        }
    }

    /// Removes all chunks of a file.
    fn clear(&self, name: &Path) -> Result<(), Refusal> {
        let Connection { client, driver } = self.connection()?;
        let path = self.path(name);
        let folder =
            path.rsplit_once('/').map_or("/", |(folder, _)| if folder.is_empty() { "/" } else { folder });
        let prefix = format!("{path}_");
        driver.wait_for(async {
            let listed = match client.list_status(folder, false).await {
                Err(HdfsError::FileNotFound(_)) => return Ok(()),
                listed => listed.map_err(|error| refusal(folder, error))?,
            };
            for status in listed.iter().filter(|status| !status.isdir) {
                let number = status.path.strip_prefix(&prefix).unwrap_or_default();
                if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
                    remove(client, &status.path).await?;
                }
            }
            Ok(())
        })
    }
}

/// Length of a chunk in bytes, if it exists.
async fn length_of(client: &Client, path: &str, number: u64) -> Result<Option<u64>, Refusal> {
    let path = name_of(path, number);
    match client.get_file_info(&path).await {
        Ok(status) if status.isdir => Err(Refusal::new(libc::EISDIR, format!("{path} is a folder"))),
        Ok(status) => Ok(Some(status.length as u64)),
        Err(HdfsError::FileNotFound(_)) => Ok(None),
        Err(error) => Err(refusal(&path, error)),
    }
}

/// The end of a file, at which missing data is appended.
struct End<'a> {
    connection: &'a Connection,
    path: &'a str,
    chunk: u64,
    offset: u64,
    writer: Option<FileWriter>,
    /// The server's error, if a request failed.
    failure: Option<Refusal>,
}

impl End<'_> {
    /// Opens the last chunk, which may contain data already.
    fn open(&mut self) -> Result<FileWriter, Refusal> {
        let Connection { client, driver } = self.connection;
        let path = name_of(self.path, self.offset / self.chunk);
        driver.wait_for(async {
            match self.offset % self.chunk {
                0 => create(client, &path).await,
                _ => client.append(&path).await.map_err(|error| refusal(&path, error)),
            }
        })
    }

    fn close(&mut self) -> Result<(), Refusal> {
        let Some(mut writer) = self.writer.take() else { return Ok(()) };
        self.connection.driver.wait_for(writer.close()).map_err(|error| refusal(self.path, error))
    }

    /// Writes as many bytes as still fit into the chunk.
    fn append(&mut self, bytes: &[u8]) -> Result<usize, Refusal> {
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.open()?,
        };
        let room = self.chunk - self.offset % self.chunk;
        let count = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
        let data = Bytes::copy_from_slice(&bytes[..count]);
        let written = self.connection.driver.wait_for(writer.write_bytes(data));
        self.writer = Some(writer);
        written.map_err(|error| refusal(self.path, error))?;
        if count as u64 == room {
            self.close()?;
        }
        self.offset += count as u64;
        Ok(count)
    }
}

impl io::Write for End<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append(bytes).map_err(|refusal| {
            let errno = refusal.errno.0;
            self.failure = Some(refusal);
            io::Error::from_raw_os_error(errno)
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Storage for Folder {
    fn look_at(&self, plan: &WorkerPlan, name: PathBuf) -> Result<FileEntry, FileError> {
        let size = self.size(&name).map_err(|refusal| refusal.of_job(plan))?;
        // A job that only writes needs no existing data.
        let kind = if plan.files.layout.content_needed { FileKind::Object } else { FileKind::Objects };
        Ok(FileEntry::new(name, kind, size))
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
        self.clear(&entry.path).map_err(|refusal| refusal.errno)
    }
}
