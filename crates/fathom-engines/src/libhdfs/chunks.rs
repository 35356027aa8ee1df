//! The chunks of a job's file: `NAME_0` has the first `chunk_size` bytes, `NAME_1` the next ones, and so on. A
//! chunk is written sequentially and can be read in any order.

use super::cluster::refusal;
use crate::net::refusal::Refusal;
use fathom_run::engine::Io;
use hdfs_native::client::WriteOptions;
use hdfs_native::file::{FileReader, FileWriter};
use hdfs_native::{Client, HdfsError};
use hyper::body::Bytes;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use tokio::sync::Mutex;

/// The chunk settings of a job.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    /// Size of a chunk in bytes.
    pub(super) chunk: u64,
    /// True if every write is durable when it completes.
    pub(super) syncs: bool,
    /// True if data is copied to the job's buffer as it arrives, instead of after all of it has arrived.
    pub(super) reads_in_place: bool,
}

/// A file of a job.
pub(super) struct Chunks {
    client: Rc<Client>,
    path: String,
    rules: Rules,
    known: RefCell<BTreeMap<u64, Rc<Mutex<Chunk>>>>,
}

/// State of a chunk. A writer holds the lock for its whole write, a reader only until it knows where to read.
#[derive(Default)]
struct Chunk {
    reader: Option<Rc<FileReader>>,
    writer: Option<FileWriter>,
    written: u64,
}

impl Chunk {
    /// Closes the file, so that readers can open it.
    async fn close(&mut self, path: &str) -> Result<(), Refusal> {
        let Some(mut writer) = self.writer.take() else { return Ok(()) };
        writer.close().await.map_err(|error| refusal(path, error))
    }
}

impl Chunks {
    pub(super) fn new(client: Rc<Client>, path: String, rules: Rules) -> Chunks {
        Chunks { client, path, rules, known: RefCell::default() }
    }

    /// The chunk of an I/O, the chunk's name, and the offset in it.
    fn place(&self, io: &Io) -> Result<(Rc<Mutex<Chunk>>, String, u64), Refusal> {
        let (number, start) = (io.offset() / self.rules.chunk, io.offset() % self.rules.chunk);
        if start + u64::from(io.length()) > self.rules.chunk {
            let sentence = format!(
                "an I/O cannot span two chunks: chunk_size={} has to be a multiple of the block size",
                self.rules.chunk
            );
            return Err(Refusal::new(libc::EINVAL, sentence));
        }
        let chunk = Rc::clone(self.known.borrow_mut().entry(number).or_default());
        Ok((chunk, name_of(&self.path, number), start))
    }

    pub(super) async fn read(&self, io: &Io) -> Result<i64, Refusal> {
        let (chunk, path, start) = self.place(io)?;
        let reader = {
            let mut chunk = chunk.lock().await;
            chunk.close(&path).await?;
            match &chunk.reader {
                Some(reader) => Rc::clone(reader),
                None => {
                    let opened = self.client.read(&path).await.map_err(|error| refusal(&path, error))?;
                    Rc::clone(chunk.reader.insert(Rc::new(opened)))
                }
            }
        };
        let (start, wanted) = (start as usize, io.length() as usize);
        let length = reader.file_length().saturating_sub(start).min(wanted);
        if length == 0 {
            return Ok(0);
        }
        // SAFETY: the loop provides a buffer of as many bytes, which is not used elsewhere until the I/O has
        // completed.
        let buffer = unsafe { std::slice::from_raw_parts_mut(io.buffer(), length) };
        let failed = |error| refusal(&path, error);
        if self.rules.reads_in_place {
            reader.read_range_buf(buffer, start).await.map_err(failed)?;
        } else {
            let bytes = reader.read_range(start, length).await.map_err(failed)?;
            if bytes.len() < length {
                return Err(Refusal::new(
                    libc::EIO,
                    format!("{path}: received {} of {length} bytes", bytes.len()),
                ));
            }
            buffer.copy_from_slice(&bytes[..length]);
        }
        Ok(length as i64)
    }

    pub(super) async fn write(&self, io: &Io) -> Result<i64, Refusal> {
        let (chunk, path, start) = self.place(io)?;
        // SAFETY: the loop provides a buffer of as many bytes, which is not changed until the I/O has
        // completed.
        let data = unsafe { std::slice::from_raw_parts(io.buffer(), io.length() as usize) };
        // The data is copied, because the client still uses the bytes after it has accepted them.
        let data = Bytes::copy_from_slice(data);
        let mut chunk = chunk.lock().await;
        if start == 0 {
            chunk.close(&path).await?;
            (chunk.reader, chunk.written) = (None, 0);
            chunk.writer = Some(create(&self.client, &path).await?);
        }
        let written = chunk.written;
        let Some(writer) = chunk.writer.as_mut().filter(|_| written == start) else {
            let sentence = format!(
                "{path}: existing data cannot be changed, and a chunk is written from its first byte on: \
                write whole chunks (bs=chunk_size), or one block after the other (rw=write)"
            );
            return Err(Refusal::new(libc::EOPNOTSUPP, sentence));
        };
        let failed = |error| refusal(&path, error);
        writer.write_bytes(data).await.map_err(failed)?;
        if self.rules.syncs {
            writer.hsync().await.map_err(failed)?;
        }
        chunk.written += u64::from(io.length());
        if chunk.written == self.rules.chunk {
            chunk.close(&path).await?;
        }
        Ok(i64::from(io.length()))
    }

    /// Removes a chunk.
    pub(super) async fn trim(&self, io: &Io) -> Result<i64, Refusal> {
        let (chunk, path, _) = self.place(io)?;
        if u64::from(io.length()) != self.rules.chunk {
            let sentence = "trims remove whole chunks: bs= has to be chunk_size";
            return Err(Refusal::new(libc::EOPNOTSUPP, sentence));
        }
        let mut chunk = chunk.lock().await;
        chunk.close(&path).await?;
        chunk.reader = None;
        remove(&self.client, &path).await?;
        Ok(i64::from(io.length()))
    }

    /// Makes written data durable. Complete chunks need no sync, because they have been closed already.
    pub(super) async fn sync(&self) -> Result<(), Refusal> {
        for (number, chunk) in self.chunks() {
            if let Some(writer) = &mut chunk.lock().await.writer {
                writer.hsync().await.map_err(|error| refusal(&name_of(&self.path, number), error))?;
            }
        }
        Ok(())
    }

    /// Closes the chunks that are being written.
    pub(super) async fn close(&self) -> Result<(), Refusal> {
        for (number, chunk) in self.chunks() {
            chunk.lock().await.close(&name_of(&self.path, number)).await?;
        }
        Ok(())
    }

    /// Drops the state of all chunks.
    pub(super) fn forget(&self) {
        self.known.borrow_mut().clear();
    }

    fn chunks(&self) -> Vec<(u64, Rc<Mutex<Chunk>>)> {
        self.known.borrow().iter().map(|(number, chunk)| (*number, Rc::clone(chunk))).collect()
    }
}

/// The name of a chunk.
pub(super) fn name_of(path: &str, number: u64) -> String {
    format!("{path}_{number}")
}

/// Creates a file, replacing an existing one.
pub(super) async fn create(client: &Client, path: &str) -> Result<FileWriter, Refusal> {
    let options = WriteOptions::default().overwrite(true);
    client.create(path, options).await.map_err(|error| refusal(path, error))
}

/// Removes a file. A missing file is not an error.
pub(super) async fn remove(client: &Client, path: &str) -> Result<(), Refusal> {
    match client.delete(path, false).await {
        Ok(_) | Err(HdfsError::FileNotFound(_)) => Ok(()),
        Err(error) => Err(refusal(path, error)),
    }
}
