//! Messages that `fathom record` adds to a block trace. Their text is `fathom ` followed by a JSON object.
//! Other readers of the format print or skip messages.
//!
//! A trace begins with [`Note::Begin`]. [`Note::Lost`] stands where events are missing. [`Note::End`] closes a
//! trace; a trace without it is incomplete, for example because of a crash.

use crate::names::Device;
use serde::{Deserialize, Serialize};

/// First word of a message.
const WORD: &[u8] = b"fathom ";

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// The conditions of the recording.
    Begin(Box<Begin>),
    /// Events are missing at this point.
    Lost(Lost),
    /// The totals of the recording.
    End(End),
}

/// The conditions of a recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Begin {
    /// Version of the messages; see [`VERSION`].
    pub version: u32,
    /// Version of the program that recorded the trace.
    pub program: String,
    /// Release of the kernel that was running.
    pub kernel: String,
    /// The clock of all times: `mono` is CLOCK_MONOTONIC.
    pub clock: String,
    /// Time of day in ns since 1970 at the time `clock_ns` of that clock.
    pub wall_ns: u64,
    /// See `wall_ns`.
    pub clock_ns: u64,
    /// Number of this file in a recording of several files; the first file is 1.
    pub part: u32,
    /// The recorded devices.
    pub devices: Vec<RecordedDevice>,
}

/// The current version of the messages.
pub const VERSION: u32 = 1;

/// A recorded device, as the kernel describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedDevice {
    /// Its number.
    pub device: Device,
    /// The kernel's name of the device, such as `nvme0n1`.
    pub name: String,
    /// Model of the device; empty if unknown.
    pub model: String,
    /// Size in sectors, of 512 bytes.
    pub sectors: u64,
    /// First sector of the recorded part, and the sector after it.
    pub recorded: (u64, u64),
    /// It rotates.
    pub rotational: bool,
    /// Logical block size in bytes.
    pub block_size: u32,
    /// The I/O scheduler; `none` if there is none.
    pub scheduler: String,
    /// Maximum number of requests in the queue.
    pub requests: u32,
    /// Maximum size of a request in bytes.
    pub largest: u64,
}

/// Missing events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// The processor whose buffer was full.
    pub cpu: u32,
    /// Number of missing events; `None` if the kernel does not report it.
    pub events: Option<u64>,
    /// Time of the last event of this processor before the gap, in ns on the clock of the trace.
    pub after_ns: u64,
    /// Time of the first event of this processor after the gap.
    pub before_ns: u64,
}

/// The totals of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Number of events in all parts.
    pub events: u64,
    /// Number of events that the kernel lost because a buffer was full.
    pub lost: u64,
    /// Number of events that are out of order in the trace.
    pub late: u64,
    /// Length of the recording in ns.
    pub time_ns: u64,
    /// User and system time of the recorder in µs.
    pub recorder_us: (u64, u64),
}

impl Note {
    /// Returns the payload of the note's message.
    pub fn to_payload(&self) -> Vec<u8> {
        let mut payload = WORD.to_vec();
        // The result is ignored: plain data with text keys always has a JSON form, and writing to memory cannot
        // fail.
        let written = serde_json::to_writer(&mut payload, self);
        debug_assert!(written.is_ok(), "{written:?}");
        payload
    }

    /// Parses the note in the payload of a message; `None` for other messages and for notes of later versions.
    pub fn of_payload(payload: &[u8]) -> Option<Note> {
        let text = payload.strip_prefix(WORD)?;
        serde_json::from_slice(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blktrace::{Event, Trace, code};
    use proptest::prelude::*;

    fn device() -> RecordedDevice {
        RecordedDevice {
            device: Device { major: 259, minor: 3 },
            name: "nvme0n1".into(),
            model: "Model \"X\"".into(),
            sectors: 1 << 30,
            recorded: (2048, 1 << 20),
            rotational: false,
            block_size: 4096,
            scheduler: "none".into(),
            requests: 1023,
            largest: 131_072,
        }
    }

    proptest! {
        #[test]
        fn a_note_goes_through_a_trace(events in any::<Option<u64>>(), lost in any::<u64>(), cpu in any::<u32>()) {
            let begin = Begin { version: VERSION, devices: vec![device()], ..Begin::default() };
            let notes = [
                Note::Begin(Box::new(begin)),
                Note::Lost(Lost { cpu, events, after_ns: 1, before_ns: 2 }),
                Note::End(End { lost, ..End::default() }),
            ];
            let mut bytes = Vec::new();
            for note in &notes {
                Event::of_code(code::MESSAGE).encode(0, &note.to_payload(), &mut bytes);
            }
            let (mut trace, mut payload) = (Trace::open(&bytes[..]).expect("a trace"), Vec::new());
            for note in notes {
                prop_assert!(trace.next_with_payload(&mut payload).expect("whole").is_some());
                prop_assert_eq!(Note::of_payload(&payload), Some(note));
            }
        }

        #[test]
        fn any_message_is_a_note_or_not(payload in prop::collection::vec(any::<u8>(), 0..60)) {
            prop_assert_eq!(Note::of_payload(&payload), None);
            let own = [WORD, &payload].concat();
            let _ = Note::of_payload(&own);
        }
    }
}
