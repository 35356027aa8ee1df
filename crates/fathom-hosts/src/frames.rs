//! Frames: the length of the body (4 bytes, little-endian), its kind (1 byte), the body. Bodies are MessagePack, whose maps name
//! their fields, so that a field more or less is no misunderstanding.
//!
//! Reports have kinds of their own: whoever receives one every second and needs the last one alone decodes no other.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// Most bytes of a body. A report of a thousand jobs has some 20 MiB.
pub const MOST_BYTES: usize = 256 << 20;
/// Bytes before a body.
const HEADER: usize = 5;

/// What the body of a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of [`crate::protocol`]'s enums.
    Word = 0,
    /// A report of the run so far.
    Snapshot = 1,
    /// The report of a run that is over.
    Result = 2,
}

/// A frame that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it is.
    pub kind: Kind,
    /// The body.
    pub body: Vec<u8>,
}

/// What is wrong with bytes that should be frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// The length is beyond [`MOST_BYTES`].
    TooLong(usize),
    /// There is no such kind.
    UnknownKind(u8),
    /// The body cannot be read.
    Body(String),
}

impl fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mistake::TooLong(bytes) => write!(formatter, "it announces {bytes} bytes at once"),
            Mistake::UnknownKind(kind) => write!(formatter, "it sends frames of kind {kind}"),
            Mistake::Body(error) => write!(formatter, "it sends what cannot be read ({error})"),
        }
    }
}

impl Kind {
    fn of(number: u8) -> Result<Kind, Mistake> {
        match number {
            0 => Ok(Kind::Word),
            1 => Ok(Kind::Snapshot),
            2 => Ok(Kind::Result),
            _ => Err(Mistake::UnknownKind(number)),
        }
    }
}

/// Appends a frame to what is to be sent.
pub fn append<T: Serialize>(queue: &mut Vec<u8>, kind: Kind, value: &T) -> Result<(), Mistake> {
    let start = queue.len();
    queue.extend_from_slice(&[0; 4]);
    queue.push(kind as u8);
    let written = write(queue, value);
    let length = queue.len() - start - HEADER;
    if let Err(mistake) = written.and_then(|()| within(length)) {
        queue.truncate(start);
        return Err(mistake);
    }
    queue[start..start + 4].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(())
}

fn within(length: usize) -> Result<(), Mistake> {
    if length > MOST_BYTES { Err(Mistake::TooLong(length)) } else { Ok(()) }
}

/// Appends a body alone, for ways that have frames of their own.
pub fn write<T: Serialize>(queue: &mut Vec<u8>, value: &T) -> Result<(), Mistake> {
    let written = value.serialize(&mut rmp_serde::Serializer::new(queue).with_struct_map());
    written.map_err(|error| Mistake::Body(error.to_string()))
}

/// What the body of a frame says.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Mistake> {
    rmp_serde::from_slice(body).map_err(|error| Mistake::Body(error.to_string()))
}

/// Bytes that have arrived, cut into frames.
#[derive(Debug, Default)]
pub struct Splitter {
    bytes: Vec<u8>,
    used: usize,
}

impl Splitter {
    /// Takes in what has arrived.
    pub fn add(&mut self, bytes: &[u8]) {
        if self.used > 0 && self.used >= self.bytes.len() / 2 {
            self.bytes.drain(..self.used);
            self.used = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next frame; `None` if it is not whole yet. Memory grows with what arrives, not with what is announced.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, Mistake> {
        let rest = &self.bytes[self.used..];
        let Some(&[a, b, c, d, kind]) = rest.first_chunk::<HEADER>() else { return Ok(None) };
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        within(length)?;
        let kind = Kind::of(kind)?;
        let Some(body) = rest.get(HEADER..HEADER + length) else { return Ok(None) };
        let frame = Frame { kind, body: body.to_vec() };
        self.used += HEADER + length;
        Ok(Some(frame))
    }

    /// Bytes that have arrived and are in no frame yet.
    pub fn pending(&self) -> &[u8] {
        &self.bytes[self.used..]
    }

    /// Leaves out the first of the pending bytes.
    pub fn skip(&mut self, count: usize) {
        self.used = (self.used + count).min(self.bytes.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Bytes, FromAgent, Hello, ToAgent};
    use fathom_stats::report::{JobReport, RunReport};
    use proptest::prelude::*;

    #[test]
    fn a_report_is_the_same_after_a_journey() {
        let mut job = JobReport::default();
        job.directions.values_mut().for_each(|direction| {
            direction.clat.record(1 << 40);
            direction.clat.sum_of_squares = u128::MAX;
        });
        let report = RunReport { jobs: vec![job], ..RunReport::default() };
        let mut queue = Vec::new();
        append(&mut queue, Kind::Result, &report).expect("can be written");
        let mut splitter = Splitter::default();
        splitter.add(&queue);
        let frame = splitter.next_frame().expect("a frame").expect("whole");
        assert_eq!(frame.kind, Kind::Result);
        assert_eq!(read::<RunReport>(&frame.body).expect("a report"), report);
        let log = FromAgent::Log { name: "a".to_owned(), bytes: Bytes(vec![200; 1000]) };
        let mut queue = Vec::new();
        append(&mut queue, Kind::Word, &log).expect("can be written");
        assert!(queue.len() < 1100, "bytes are sent as bytes: {}", queue.len());
        assert_eq!(read::<FromAgent>(&queue[HEADER..]).expect("a word"), log);
    }

    #[test]
    fn what_is_no_frame_is_told() {
        let mut splitter = Splitter::default();
        splitter.add(b"Last login: yesterday\n");
        assert!(matches!(splitter.next_frame(), Err(Mistake::TooLong(_))));
        let mut splitter = Splitter::default();
        splitter.add(&[1, 0, 0, 0, 9, 0]);
        assert_eq!(splitter.next_frame(), Err(Mistake::UnknownKind(9)));
        assert!(matches!(read::<ToAgent>(&[0xc1]), Err(Mistake::Body(_))));
    }

    proptest! {
        #[test]
        fn frames_arrive_whatever_the_pieces(
            names in prop::collection::vec("[a-z]{0,300}", 1..8),
            cuts in prop::collection::vec(1usize..200, 1..50),
        ) {
            let mut queue = Vec::new();
            for name in &names {
                let hello = FromAgent::Hello(Hello { host_name: name.clone(), ..Hello::default() });
                append(&mut queue, Kind::Word, &hello).expect("can be written");
            }
            let (mut splitter, mut arrived, mut rest) = (Splitter::default(), Vec::new(), &queue[..]);
            let mut cuts = cuts.iter().cycle();
            while !rest.is_empty() {
                let (piece, later) = rest.split_at((*cuts.next().expect("endless")).min(rest.len()));
                splitter.add(piece);
                rest = later;
                while let Some(frame) = splitter.next_frame().expect("frames") {
                    arrived.push(read::<FromAgent>(&frame.body).expect("a word"));
                }
            }
            let names_back: Vec<String> = arrived.into_iter().map(|word| match word {
                FromAgent::Hello(hello) => hello.host_name,
                other => panic!("{other:?}"),
            }).collect();
            prop_assert_eq!(names_back, names);
        }

        #[test]
        fn any_bytes_are_frames_or_a_mistake(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut splitter = Splitter::default();
            splitter.add(&bytes);
            while let Ok(Some(frame)) = splitter.next_frame() {
                let _ = read::<FromAgent>(&frame.body);
                let _ = read::<ToAgent>(&frame.body);
                let _ = read::<RunReport>(&frame.body);
            }
        }
    }
}
