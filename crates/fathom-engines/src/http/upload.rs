//! S3 multipart uploads: of one large body, or of the blocks of a file as a job writes them.

use super::body::Payload;
use super::client::{Call, Client, Sink, element};
use super::endpoint::Failure;
use hyper::Method;
use hyper::body::Bytes;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::rc::Rc;
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinSet;

/// Maximum number of parts of an upload.
pub(super) const MOST_PARTS: u64 = 10_000;

/// An upload in progress.
pub(super) struct Upload {
    path: String,
    id: String,
    /// `ETag` of each uploaded part.
    parts: RefCell<BTreeMap<u64, String>>,
}

impl Upload {
    pub(super) async fn begin(client: &Client, path: &str) -> Result<Upload, Failure> {
        let mut call = Call::new("begin upload", Method::POST, path);
        call.query.push(("uploads", String::new()));
        call.makes_object = true;
        let answer = client.send(&call, Sink::Text).await?;
        let text = String::from_utf8_lossy(&answer.text);
        match element(&text, "UploadId") {
            Some(id) if answer.is_good() => {
                Ok(Upload { path: path.to_owned(), id: id.to_owned(), parts: RefCell::default() })
            }
            _ => Err(answer.refusal(&call)),
        }
    }

    /// Sends a part; parts are numbered from 1.
    async fn part(&self, client: &Client, number: u64, payload: Payload) -> Result<(), Failure> {
        let mut call = Call::new("upload part", Method::PUT, &self.path);
        call.query = vec![("partNumber", number.to_string()), ("uploadId", self.id.clone())];
        call.payload = payload;
        let answer = client.send(&call, Sink::Text).await?;
        match answer.etag.clone() {
            Some(etag) if answer.is_good() => {
                self.parts.borrow_mut().insert(number, etag);
                Ok(())
            }
            _ => Err(answer.refusal(&call)),
        }
    }

    /// Combines the parts into one object.
    async fn complete(&self, client: &Client) -> Result<(), Failure> {
        let mut text = "<CompleteMultipartUpload>".to_owned();
        for (number, etag) in &*self.parts.borrow() {
            let _ = write!(text, "<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>");
        }
        text += "</CompleteMultipartUpload>";
        let mut call = Call::new("complete upload", Method::POST, &self.path);
        call.query.push(("uploadId", self.id.clone()));
        call.payload = Payload::Owned(Bytes::from(text));
        let answer = client.send(&call, Sink::Text).await?;
        // The service may report an error in the body even after a success status.
        match answer.is_good() && element(&String::from_utf8_lossy(&answer.text), "Code").is_none() {
            true => Ok(()),
            false => Err(answer.refusal(&call)),
        }
    }

    /// Aborts the upload, which frees the parts.
    pub(super) async fn abort(&self, client: &Client) {
        let mut call = Call::new("abort upload", Method::DELETE, &self.path);
        call.query.push(("uploadId", self.id.clone()));
        // A failure is ignored, because the caller reports a more informative error.
        let _ = client.send(&call, Sink::Text).await;
    }
}

/// Sends one body in parts, several at a time.
pub(super) async fn whole(
    client: &Rc<Client>,
    path: &str,
    payload: &Payload,
    part_size: usize,
    at_once: usize,
) -> Result<(), Failure> {
    let upload = Rc::new(Upload::begin(client, path).await?);
    let length = payload.bytes().len();
    let part_size = part_size.max(length.div_ceil(MOST_PARTS as usize)).max(1);
    let room = Rc::new(Semaphore::new(at_once.max(1)));
    let mut tasks = JoinSet::new();
    for (index, from) in (0..length).step_by(part_size).enumerate() {
        let part = payload.part(from, length.min(from + part_size));
        let (client, upload, room) = (Rc::clone(client), Rc::clone(&upload), Rc::clone(&room));
        tasks.spawn_local(async move {
            let _permit = room.acquire().await;
            upload.part(&client, index as u64 + 1, part).await
        });
    }
    let mut outcome = Ok(());
    // All parts are awaited, even after an error, because they refer to the buffer.
    while let Some(ended) = tasks.join_next().await {
        let ended = ended.unwrap_or_else(|error| Err(Failure::new(libc::EIO, error.to_string())));
        if outcome.is_ok() {
            outcome = ended;
        }
    }
    if outcome.is_ok() {
        outcome = upload.complete(client).await;
    }
    if outcome.is_err() {
        upload.abort(client).await;
    }
    outcome
}

/// The object of a file that a job writes block by block. Each block is a part of the upload.
pub(super) struct Blocks {
    path: String,
    block: u64,
    size: u64,
    current: Mutex<Option<Rc<Upload>>>,
}

impl Blocks {
    pub(super) fn new(path: &str, block: u64, size: u64) -> Blocks {
        Blocks { path: path.to_owned(), block: block.max(1), size, current: Mutex::new(None) }
    }

    /// Sends a block. The last missing block completes the object. A block that is already present starts the
    /// next object.
    pub(super) async fn write(&self, client: &Client, offset: u64, payload: Payload) -> Result<(), Failure> {
        let number = offset / self.block + 1;
        let upload = {
            let mut current = self.current.lock().await;
            match &*current {
                Some(upload) => Rc::clone(upload),
                None => {
                    let upload = Rc::new(Upload::begin(client, &self.path).await?);
                    *current = Some(Rc::clone(&upload));
                    upload
                }
            }
        };
        upload.part(client, number, payload).await?;
        let there = upload.parts.borrow().len() as u64;
        if there == self.size.div_ceil(self.block) {
            let mut current = self.current.lock().await;
            if current.as_ref().is_some_and(|current| Rc::ptr_eq(current, &upload)) {
                *current = None;
                drop(current);
                upload.complete(client).await?;
            }
        }
        Ok(())
    }

    /// Aborts an incomplete object; returns true if there was one.
    pub(super) async fn abort(&self, client: &Client) -> bool {
        let Some(upload) = self.current.lock().await.take() else { return false };
        upload.abort(client).await;
        true
    }
}
