//! Request bodies: empty, owned bytes, or the buffer of an I/O without a copy.

use hyper::body::{Body, Bytes, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::sync::mpsc::Receiver;

/// Source of a request body, which may be sent several times.
#[derive(Clone)]
pub(super) enum Payload {
    Empty,
    Owned(Bytes),
    /// The buffer of an I/O, which stays unchanged until the I/O completes.
    Lent(*const u8, usize),
}

impl Payload {
    /// The bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Payload::Empty => &[],
            Payload::Owned(bytes) => bytes,
            // SAFETY: the I/O that lends its buffer has not completed, and the buffer of a write is not
            // written to meanwhile.
            Payload::Lent(start, length) => unsafe { std::slice::from_raw_parts(*start, *length) },
        }
    }

    /// A part of another payload.
    pub(super) fn part(&self, from: usize, to: usize) -> Payload {
        match self {
            Payload::Empty => Payload::Empty,
            Payload::Owned(bytes) => Payload::Owned(bytes.slice(from..to)),
            Payload::Lent(start, _) => Payload::Lent(start.wrapping_add(from), to - from),
        }
    }

    /// A body to send, and a flag that is set once nothing refers to the payload any longer.
    pub(super) fn body(&self) -> (Content, Loan) {
        let loan = Loan(Arc::new(AtomicBool::new(true)));
        let bytes = match self {
            Payload::Empty => None,
            Payload::Owned(bytes) => Some(bytes.clone()),
            Payload::Lent(start, length) => {
                loan.0.store(false, Ordering::Relaxed);
                let lent = Lent { start: *start, length: *length, returned: Arc::clone(&loan.0) };
                Some(Bytes::from_owner(lent))
            }
        };
        (Content::Whole(bytes.filter(|bytes| !bytes.is_empty())), loan)
    }
}

/// Tells whether the borrowed buffer of an I/O has been returned.
pub(super) struct Loan(Arc<AtomicBool>);

impl Loan {
    pub(super) fn is_back(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

struct Lent {
    start: *const u8,
    length: usize,
    returned: Arc<AtomicBool>,
}

// SAFETY: all tasks of a client run on the thread that owns the buffer.
unsafe impl Send for Lent {}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: an I/O does not complete before `returned` is true, so its buffer exists, and is not
        // written to.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.returned.store(true, Ordering::Relaxed);
    }
}

/// A body that is being sent.
pub(super) enum Content {
    /// The unsent rest of a body that is in memory.
    Whole(Option<Bytes>),
    /// The number of bytes left, and the channel that delivers them in pieces.
    Streamed(u64, Receiver<Bytes>),
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Content::Whole(left) => Poll::Ready(left.take().map(|bytes| Ok(Frame::data(bytes)))),
            Content::Streamed(left, pieces) => pieces.poll_recv(context).map(|piece| {
                let bytes = piece?;
                *left = left.saturating_sub(bytes.len() as u64);
                Some(Ok(Frame::data(bytes)))
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Content::Whole(None) | Content::Streamed(0, _))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match self {
            Content::Whole(left) => left.as_ref().map_or(0, Bytes::len) as u64,
            Content::Streamed(left, _) => *left,
        })
    }
}
