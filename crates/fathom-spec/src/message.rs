//! Lines to print, and the outcome that ends the program.

use serde::{Deserialize, Serialize};

/// Everything to print before ending, and the exit status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// Messages in order.
    pub messages: Vec<Message>,
    /// Exit status of the process.
    pub exit: u8,
}

/// One or more lines for one of the two output streams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Where the text goes.
    pub stream: Stream,
    /// The text, without the newline that ends it.
    pub text: String,
    /// Index of the job whose options caused the message, if the job is complete; the message precedes the
    /// job's line.
    pub job: Option<usize>,
}

impl Message {
    /// A message for standard output.
    pub fn stdout(text: impl Into<String>) -> Self {
        Message { stream: Stream::Stdout, text: text.into(), job: None }
    }

    /// A message for standard error.
    pub fn stderr(text: impl Into<String>) -> Self {
        Message { stream: Stream::Stderr, text: text.into(), job: None }
    }
}

/// An output stream of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}
