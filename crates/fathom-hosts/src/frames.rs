//! Frames. A frame consists of the length of its body (4 bytes), the body's kind (1 byte), a checksum of these
//! two and of the frame's number (4 bytes), a checksum of the body (4 bytes), and the body. Numbers are
//! little-endian, and frames are numbered from 0 in each direction. Bodies are MessagePack, whose maps name
//! their fields, so peers tolerate added or missing fields. Any figure in a report is plausible, so only a
//! checksum (CRC-32C) reveals a changed byte, or a frame that was lost, repeated or moved. The header has its
//! own checksum, because a receiver would otherwise wait for a wrong length. Reports have separate kinds, so
//! that a receiver that needs only the last one can skip decoding the others.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// Maximum size of a body in bytes. A report of a thousand jobs takes about 20 MiB.
pub const MOST_BYTES: usize = 256 << 20;
/// Maximum size of a body in bytes from a controller that has not authenticated.
pub const MOST_BYTES_WITHOUT_KEYS: usize = 16 << 20;
/// Number of bytes before a body.
const HEADER: usize = 13;

/// Kind of a frame's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// A message: one of [`crate::protocol`]'s enums.
    Word = 0,
    /// A report of the run so far.
    Snapshot = 1,
    /// The report of a finished run.
    Result = 2,
}

/// A received frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its kind.
    pub kind: FrameKind,
    /// The body.
    pub body: Vec<u8>,
}

/// Why received bytes are not valid frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// The length exceeds the limit.
    TooLong(usize),
    /// The checksum does not match.
    Changed,
    /// Unknown kind.
    UnknownKind(u8),
    /// The frame is not expected at this point.
    OutOfOrder(&'static str),
    /// The body cannot be read.
    Body(String),
}

impl std::error::Error for Mistake {}

impl fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mistake::TooLong(bytes) => {
                write!(formatter, "it announces a frame of {bytes} bytes, which is too long")
            }
            Mistake::Changed => {
                formatter.write_str("its data was changed on the way, or a part of it is missing")
            }
            Mistake::UnknownKind(kind) => write!(formatter, "it sends frames of kind {kind}"),
            Mistake::OutOfOrder(what) => write!(formatter, "it sends {what} out of order"),
            Mistake::Body(error) => write!(formatter, "it sends an unreadable message ({error})"),
        }
    }
}

impl FrameKind {
    fn of(number: u8) -> Result<FrameKind, Mistake> {
        match number {
            0 => Ok(FrameKind::Word),
            1 => Ok(FrameKind::Snapshot),
            2 => Ok(FrameKind::Result),
            _ => Err(Mistake::UnknownKind(number)),
        }
    }
}

/// The header of the frame with this number.
fn header(number: u32, length: u32, kind: u8, body_sum: u32) -> [u8; HEADER] {
    let mut covered = [0; 9];
    covered[..4].copy_from_slice(&number.to_le_bytes());
    covered[4..8].copy_from_slice(&length.to_le_bytes());
    covered[8] = kind;
    let sum = crc_fast::crc32_iscsi(&covered);
    let mut bytes = [0; HEADER];
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes[4] = kind;
    bytes[5..9].copy_from_slice(&sum.to_le_bytes());
    bytes[9..].copy_from_slice(&body_sum.to_le_bytes());
    bytes
}

/// A queue of frames to send.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// Bytes that have yet to be written.
    pub bytes: Vec<u8>,
    /// The number of the next frame.
    next: u32,
}

impl Outgoing {
    /// Creates a queue that sends `bytes` before the first frame.
    pub fn after(bytes: Vec<u8>) -> Outgoing {
        Outgoing { bytes, next: 0 }
    }

    /// Appends a frame.
    pub fn append<T: Serialize>(&mut self, kind: FrameKind, value: &T) -> Result<(), Mistake> {
        let queue = &mut self.bytes;
        let start = queue.len();
        queue.extend_from_slice(&[0; HEADER]);
        let written = write(queue, value);
        let length = queue.len() - start - HEADER;
        if let Err(mistake) = written.and_then(|()| within(length, MOST_BYTES)) {
            queue.truncate(start);
            return Err(mistake);
        }
        let header =
            header(self.next, length as u32, kind as u8, crc_fast::crc32_iscsi(&queue[start + HEADER..]));
        queue[start..start + HEADER].copy_from_slice(&header);
        self.next = self.next.wrapping_add(1);
        Ok(())
    }
}

fn within(length: usize, most: usize) -> Result<(), Mistake> {
    if length > most { Err(Mistake::TooLong(length)) } else { Ok(()) }
}

/// Appends a body without a header, for transports with their own framing.
pub fn write<T: Serialize>(queue: &mut Vec<u8>, value: &T) -> Result<(), Mistake> {
    let written = value.serialize(&mut rmp_serde::Serializer::new(queue).with_struct_map());
    written.map_err(|error| Mistake::Body(error.to_string()))
}

/// Decodes the body of a frame.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Mistake> {
    rmp_serde::from_slice(body).map_err(|error| Mistake::Body(error.to_string()))
}

/// Received bytes, split into frames.
#[derive(Debug)]
pub struct Splitter {
    bytes: Vec<u8>,
    used: usize,
    /// Maximum size of a body in bytes.
    most: usize,
    /// The number of the next frame.
    next: u32,
}

impl Default for Splitter {
    fn default() -> Splitter {
        Splitter::up_to(MOST_BYTES)
    }
}

impl Splitter {
    /// Creates a splitter for bodies of at most `most` bytes.
    pub fn up_to(most: usize) -> Splitter {
        Splitter { bytes: Vec::new(), used: 0, most, next: 0 }
    }

    /// Adds received bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        if self.used > 0 && self.used >= self.bytes.len() / 2 {
            self.bytes.drain(..self.used);
            self.used = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next frame; `None` if it is incomplete. Memory grows with the bytes received, not with the announced
    /// length.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, Mistake> {
        let rest = &self.bytes[self.used..];
        // Pending bytes may be shorter than a header.
        let Some(&[a, b, c, d, kind]) = rest.first_chunk() else { return Ok(None) };
        let length = u32::from_le_bytes([a, b, c, d]);
        within(length as usize, self.most)?;
        let known = FrameKind::of(kind)?;
        let Some((head, rest)) = rest.split_first_chunk::<HEADER>() else { return Ok(None) };
        let [.., e, f, g, h] = *head;
        let sum = u32::from_le_bytes([e, f, g, h]);
        if *head != header(self.next, length, kind, sum) {
            return Err(Mistake::Changed);
        }
        let Some(body) = rest.get(..length as usize) else { return Ok(None) };
        if crc_fast::crc32_iscsi(body) != sum {
            return Err(Mistake::Changed);
        }
        let frame = Frame { kind: known, body: body.to_vec() };
        self.next = self.next.wrapping_add(1);
        self.used += HEADER + frame.body.len();
        Ok(Some(frame))
    }

    /// Received bytes that do not form a complete frame yet.
    pub fn pending(&self) -> &[u8] {
        &self.bytes[self.used..]
    }

    /// Discards the first `count` pending bytes.
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
        let mut outgoing = Outgoing::default();
        outgoing.append(FrameKind::Result, &report).expect("can be written");
        let mut splitter = Splitter::default();
        splitter.add(&outgoing.bytes);
        let frame = splitter.next_frame().expect("a frame").expect("whole");
        assert_eq!(frame.kind, FrameKind::Result);
        assert_eq!(read::<RunReport>(&frame.body).expect("a report"), report);
        let log = FromAgent::Log { name: "a".to_owned(), bytes: Bytes(vec![200; 1000]) };
        let mut outgoing = Outgoing::default();
        outgoing.append(FrameKind::Word, &log).expect("can be written");
        assert!(outgoing.bytes.len() < 1100, "bytes are sent as bytes: {}", outgoing.bytes.len());
        assert_eq!(read::<FromAgent>(&outgoing.bytes[HEADER..]).expect("a word"), log);
    }

    #[test]
    fn what_is_no_frame_is_told() {
        let mut splitter = Splitter::default();
        splitter.add(b"Last login: yesterday\n");
        assert!(matches!(splitter.next_frame(), Err(Mistake::TooLong(_))));
        let mut splitter = Splitter::default();
        splitter.add(&[1, 0, 0, 0, 9]);
        assert_eq!(splitter.next_frame(), Err(Mistake::UnknownKind(9)));
        assert!(matches!(read::<ToAgent>(&[0xc1]), Err(Mistake::Body(_))));
    }

    #[test]
    fn frames_that_are_missing_repeated_or_moved_are_noticed() {
        let frame = |stage| {
            let mut outgoing = Outgoing::default();
            (0..=stage).for_each(|at_ns| {
                outgoing.bytes.clear();
                outgoing
                    .append(FrameKind::Word, &ToAgent::Go { stage, at_ns: at_ns.into() })
                    .expect("can be written");
            });
            outgoing.bytes
        };
        let arrived = |numbers: &[u32]| {
            let mut splitter = Splitter::default();
            numbers.iter().for_each(|number| splitter.add(&frame(*number)));
            numbers.iter().take_while(|_| matches!(splitter.next_frame(), Ok(Some(_)))).count()
        };
        assert_eq!(arrived(&[0, 1, 2]), 3);
        for (numbers, whole) in [(&[0, 2][..], 1), (&[0, 0, 1], 1), (&[1, 0], 0), (&[0, 2, 1], 1)] {
            assert_eq!(arrived(numbers), whole, "{numbers:?}");
        }
    }

    #[test]
    fn a_long_body_is_refused_before_it_arrives() {
        let mut splitter = Splitter::up_to(MOST_BYTES_WITHOUT_KEYS);
        splitter.add(&[&(MOST_BYTES as u32).to_le_bytes()[..], &[0]].concat());
        assert_eq!(splitter.next_frame(), Err(Mistake::TooLong(MOST_BYTES)));
    }

    proptest! {
        #[test]
        fn frames_arrive_whatever_the_pieces(
            names in prop::collection::vec("[a-z]{0,300}", 1..8),
            cuts in prop::collection::vec(1usize..200, 1..50),
        ) {
            let mut outgoing = Outgoing::default();
            for name in &names {
                let hello = FromAgent::Hello(Hello { host_name: name.clone(), ..Hello::default() });
                outgoing.append(FrameKind::Word, &hello).expect("can be written");
            }
            let (mut splitter, mut arrived, mut rest) =
                (Splitter::default(), Vec::new(), &outgoing.bytes[..]);
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
        fn a_changed_byte_is_noticed(at in any::<prop::sample::Index>(), bits in 1u8..=255) {
            let mut outgoing = Outgoing::default();
            (0..3).for_each(|_| outgoing.append(FrameKind::Word, &ToAgent::Stop).expect("can be written"));
            let mut bytes = outgoing.bytes;
            bytes.push(0);
            let at = at.index(bytes.len() - 1);
            bytes[at] ^= bits;
            let mut splitter = Splitter::default();
            splitter.add(&bytes);
            let mut arrived = 0;
            while let Ok(Some(_)) = splitter.next_frame() {
                arrived += 1;
            }
            prop_assert!(arrived < 3);
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
