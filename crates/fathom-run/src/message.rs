//! Messages from workers to the supervisor, which alone prints. A pipe carries them. Every message is one
//! `write` of at most `PIPE_BUF` bytes, so messages of different processes never mix, and a killed worker
//! leaves no partial one. In transit a message is wrapped in an [`Envelope`], which names its worker.

use fathom_stats::engine_figures::EngineFigures;
use fathom_sys::Errno;
use fathom_sys::signal;
use serde::{Deserialize, Serialize};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// A message of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// A line for standard output.
    Output(String),
    /// A line for standard error.
    Error(String),
    /// The error that ended a job, printed for people even if the report is for programs.
    Failure(String),
    /// Files are being laid out for a job.
    LayingOut {
        /// Name of the job.
        job: String,
        /// Number of files.
        files: usize,
        /// Total bytes of these files.
        bytes: u64,
    },
    /// A fragment of the engine's figures, as JSON.
    Figures(String),
    /// The worker has reached another stage.
    StageChanged,
}

/// A message together with its sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// Index of the worker in the plan; `None` for a process that serves all workers.
    pub worker: Option<usize>,
    /// The message.
    pub message: Message,
}

/// Longest text of a message; text plus header stay below `PIPE_BUF` (4096).
const TEXT_LIMIT: usize = 4000;
/// Size of a message header: kind, length of the text, worker.
const HEADER: usize = 1 + 2 + 4;
const _: () = assert!(HEADER + TEXT_LIMIT <= libc::PIPE_BUF);
/// Value of the worker field for a sender that is not a worker.
const NOBODY: u32 = u32::MAX;

/// The writing end of the channel, owned by one worker; all workers share the pipe.
pub struct MessageSender {
    pipe: Arc<OwnedFd>,
    worker: u32,
}

/// The reading end.
pub struct MessageReceiver {
    pipe: OwnedFd,
    pending: Vec<u8>,
}

/// Creates a channel. The sender belongs to no worker; see [`MessageSender::of_worker`].
pub fn channel() -> Result<(MessageSender, MessageReceiver), Errno> {
    let (read, write) = signal::pipe()?;
    let sender = MessageSender { pipe: Arc::new(write), worker: NOBODY };
    Ok((sender, MessageReceiver { pipe: read, pending: Vec::new() }))
}

impl MessageSender {
    /// A sender on the same channel for this worker.
    pub fn of_worker(&self, index: usize) -> MessageSender {
        MessageSender { pipe: Arc::clone(&self.pipe), worker: u32::try_from(index).unwrap_or(NOBODY) }
    }

    /// Sends a message. Failure is not an error: if the supervisor is gone, the message has no reader.
    pub fn send(&self, message: &Message) {
        let layout;
        let (kind, text) = match message {
            Message::Output(text) => (0u8, text.as_bytes()),
            Message::Error(text) => (1, text.as_bytes()),
            Message::Failure(text) => (4, text.as_bytes()),
            Message::Figures(text) => (5, text.as_bytes()),
            Message::StageChanged => (2, &[][..]),
            Message::LayingOut { job, files, bytes } => {
                layout = format!("{files} {bytes} {job}");
                (3, layout.as_bytes())
            }
        };
        let text = &text[..text.len().min(TEXT_LIMIT)];
        let mut bytes = Vec::with_capacity(HEADER + text.len());
        bytes.push(kind);
        bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&self.worker.to_le_bytes());
        bytes.extend_from_slice(text);
        // SAFETY: the buffer is as long as stated.
        unsafe { libc::write(self.pipe.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
    }
}

impl MessageSender {
    /// Sends an engine's figures, in as many messages as needed.
    pub fn send_figures(&self, figures: &EngineFigures) {
        let Ok(text) = serde_json::to_string(figures) else { return };
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let mut end = rest.len().min(TEXT_LIMIT);
            while !rest.is_char_boundary(end) {
                end -= 1;
            }
            self.send(&Message::Figures(rest[..end].to_owned()));
            rest = &rest[end..];
        }
    }
}

impl MessageReceiver {
    /// Descriptor to poll.
    pub fn descriptor(&self) -> RawFd {
        self.pipe.as_raw_fd()
    }

    /// All messages received so far.
    pub fn drain(&mut self) -> Vec<Envelope> {
        let mut buffer = [0u8; 16384];
        loop {
            // SAFETY: the buffer is as long as stated.
            let read = unsafe { libc::read(self.pipe.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
            if read <= 0 {
                break;
            }
            self.pending.extend_from_slice(&buffer[..read as usize]);
        }
        let mut messages = Vec::new();
        let mut used = 0;
        while let Some((message, length)) = decode(&self.pending[used..]) {
            used += length;
            messages.extend(message);
        }
        self.pending.drain(..used);
        messages
    }
}

/// Decodes the first message and returns it with its length. The message is `None` if its kind is unknown; the
/// result is `None` if the message is incomplete.
fn decode(bytes: &[u8]) -> Option<(Option<Envelope>, usize)> {
    let &[kind, low, high, w0, w1, w2, w3] = bytes.first_chunk::<HEADER>()?;
    let end = HEADER + usize::from(u16::from_le_bytes([low, high]));
    let body = bytes.get(HEADER..end)?;
    let text = || String::from_utf8_lossy(body).into_owned();
    let message = match kind {
        0 => Some(Message::Output(text())),
        1 => Some(Message::Error(text())),
        2 => Some(Message::StageChanged),
        3 => decode_layout(&text()),
        4 => Some(Message::Failure(text())),
        5 => Some(Message::Figures(text())),
        _ => None,
    };
    let worker = u32::from_le_bytes([w0, w1, w2, w3]);
    let worker = (worker != NOBODY).then_some(worker as usize);
    Some((message.map(|message| Envelope { worker, message }), end))
}

fn decode_layout(text: &str) -> Option<Message> {
    let mut words = text.splitn(3, ' ');
    let files = words.next()?.parse().ok()?;
    let bytes = words.next()?.parse().ok()?;
    Some(Message::LayingOut { job: words.next()?.to_owned(), files, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_in_order_and_name_their_worker() {
        let (sender, mut receiver) = channel().expect("a pipe");
        let sent = [
            Message::LayingOut { job: "a job".into(), files: 2, bytes: 1 << 30 },
            Message::Output("a line".into()),
            Message::StageChanged,
            Message::Error("bad".into()),
            Message::Failure("over".into()),
        ];
        let workers = [Some(0), None, Some(70_000), Some(1), None];
        for (message, worker) in sent.iter().zip(workers) {
            match worker {
                Some(index) => sender.of_worker(index).send(message),
                None => sender.send(message),
            }
        }
        let arrived = receiver.drain();
        assert!(arrived.iter().map(|envelope| &envelope.message).eq(&sent));
        assert!(arrived.iter().map(|envelope| envelope.worker).eq(workers));
        let mut figures = EngineFigures::default();
        (0..400).for_each(|number| figures.count(&format!("status number {number}"), number));
        figures.record("first byte", 7919);
        figures.count("é", 3);
        sender.of_worker(2).send_figures(&figures);
        let pieces = receiver.drain();
        assert!(pieces.len() > 1 && pieces.iter().all(|piece| piece.worker == Some(2)));
        let text: String = pieces
            .into_iter()
            .map(|piece| match piece.message {
                Message::Figures(text) => text,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(serde_json::from_str::<EngineFigures>(&text).expect("what was sent"), figures);
        sender.send(&Message::Output("x".repeat(10_000)));
        let message = Message::Output("x".repeat(TEXT_LIMIT));
        assert_eq!(receiver.drain(), [Envelope { worker: None, message }]);
    }
}
