//! Lines from workers to the supervisor, which alone prints.
//!
//! A pipe carries them. Every message is one `write` of at most `PIPE_BUF` bytes, so messages of many processes never
//! mix and a worker killed in between leaves none half-written.

use fathom_sys::Errno;
use fathom_sys::signal;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// What a worker has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A line for standard output.
    Output(String),
    /// A line for standard error.
    Error(String),
    /// What ended a job: among the lines of a report for people, beside one for programs.
    Failure(String),
    /// Files are being laid out for a job.
    LayingOut {
        /// Name of the job.
        job: String,
        /// Number of files.
        files: usize,
        /// Bytes that they will have together.
        bytes: u64,
    },
    /// This worker changed its stage; look at its block.
    StageChanged,
}

/// Longest text of a message; with the header it stays below `PIPE_BUF` (4096).
const TEXT_LIMIT: usize = 4000;
const HEADER: usize = 3;

/// The writing end; workers share it.
pub struct MessageSender {
    pipe: OwnedFd,
}

/// The reading end.
pub struct MessageReceiver {
    pipe: OwnedFd,
    pending: Vec<u8>,
}

/// A new channel.
pub fn channel() -> Result<(MessageSender, MessageReceiver), Errno> {
    let (read, write) = signal::pipe()?;
    Ok((MessageSender { pipe: write }, MessageReceiver { pipe: read, pending: Vec::new() }))
}

impl MessageSender {
    /// Sends a message. A supervisor that is gone is no error: there is nobody left to tell.
    pub fn send(&self, message: &Message) {
        let layout;
        let (kind, text) = match message {
            Message::Output(text) => (0u8, text.as_bytes()),
            Message::Error(text) => (1, text.as_bytes()),
            Message::Failure(text) => (4, text.as_bytes()),
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
        bytes.extend_from_slice(text);
        // SAFETY: the buffer is as long as stated.
        unsafe { libc::write(self.pipe.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
    }
}

impl MessageReceiver {
    /// For waiting.
    pub fn descriptor(&self) -> RawFd {
        self.pipe.as_raw_fd()
    }

    /// All messages that have arrived.
    pub fn drain(&mut self) -> Vec<Message> {
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

fn decode(bytes: &[u8]) -> Option<(Option<Message>, usize)> {
    let header = bytes.get(..HEADER)?;
    let end = HEADER + usize::from(u16::from_le_bytes([header[1], header[2]]));
    let body = bytes.get(HEADER..end)?;
    let text = || String::from_utf8_lossy(body).into_owned();
    let message = match header[0] {
        0 => Some(Message::Output(text())),
        1 => Some(Message::Error(text())),
        2 => Some(Message::StageChanged),
        3 => decode_layout(&text()),
        4 => Some(Message::Failure(text())),
        _ => None,
    };
    Some((message, end))
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
    fn messages_arrive_in_order() {
        let (sender, mut receiver) = channel().expect("a pipe");
        let sent = [
            Message::LayingOut { job: "a job".into(), files: 2, bytes: 1 << 30 },
            Message::Output("a line".into()),
            Message::StageChanged,
            Message::Error("bad".into()),
            Message::Failure("over".into()),
        ];
        sent.iter().for_each(|message| sender.send(message));
        assert_eq!(receiver.drain(), sent);
        sender.send(&Message::Output("x".repeat(10_000)));
        assert_eq!(receiver.drain(), [Message::Output("x".repeat(TEXT_LIMIT))]);
    }
}
