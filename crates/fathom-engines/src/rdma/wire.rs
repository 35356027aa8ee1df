//! The greeting that both sides exchange before the data, compatible with fio (as observed on the wire). The
//! connecting side announces its operation, and each side lists its buffers. The message has 8208 bytes, with
//! numbers in network byte order:
//!
//! | bytes | |
//! |---|---|
//! | 0..4 | what is done: [`Verb`]; from a fio that listens, 0 |
//! | 4..8 | how many buffers follow |
//! | 8..12 | bytes of the largest block |
//! | 16..8208 | 512 buffers: address (8 bytes), key (4), length (4) |
//!
//! The other side does not notice writes to and reads from its memory. After these, the connecting side
//! therefore sends its message once more to announce the end.

/// Length of a message in bytes.
pub(super) const LENGTH: usize = HEADER + MOST_BUFFERS * RECORD;
/// Maximum number of buffers in a message.
pub(super) const MOST_BUFFERS: usize = 512;
const HEADER: usize = 16;
const RECORD: usize = 16;

/// Operation of the connecting side, with its number in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// Writes to the peer's memory.
    Write = 1,
    /// Reads from the peer's memory.
    Read = 2,
    /// Sends, and the peer receives.
    Send = 3,
}

impl Verb {
    fn of(number: u32) -> Option<Verb> {
        [Verb::Write, Verb::Read, Verb::Send].into_iter().find(|verb| *verb as u32 == number)
    }

    /// True if the peer takes no active part in transfers.
    pub(super) fn is_one_sided(self) -> bool {
        self != Verb::Send
    }

    /// The operation's word in `verb=`.
    pub(super) fn word(self) -> &'static str {
        match self {
            Verb::Write => "write",
            Verb::Read => "read",
            Verb::Send => "send",
        }
    }
}

/// Memory that the peer may access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Buffer {
    pub(super) address: u64,
    pub(super) key: u32,
    pub(super) length: u32,
}

/// The greeting of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Greeting {
    /// The operation; `None` from a listening fio.
    pub(super) verb: Option<Verb>,
    pub(super) largest_block: u32,
    pub(super) buffers: Vec<Buffer>,
}

impl Greeting {
    /// Encodes the message. Buffers beyond its capacity are left out.
    pub(super) fn write(&self, message: &mut [u8; LENGTH]) {
        message.fill(0);
        let count = self.buffers.len().min(MOST_BUFFERS);
        let verb = self.verb.map_or(0, |verb| verb as u32);
        for (place, number) in [(0, verb), (4, count as u32), (8, self.largest_block)] {
            message[place..place + 4].copy_from_slice(&number.to_be_bytes());
        }
        for (record, buffer) in message[HEADER..].chunks_exact_mut(RECORD).zip(&self.buffers) {
            record[..8].copy_from_slice(&buffer.address.to_be_bytes());
            record[8..12].copy_from_slice(&buffer.key.to_be_bytes());
            record[12..].copy_from_slice(&buffer.length.to_be_bytes());
        }
    }

    /// Decodes a message of the peer; `None` if it is malformed.
    pub(super) fn read(message: &[u8]) -> Option<Greeting> {
        let word = |place: usize| {
            let bytes = message.get(place..place + 4)?;
            Some(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        };
        let count = word(4)? as usize;
        if message.len() != LENGTH || count > MOST_BUFFERS {
            return None;
        }
        let verb = match word(0)? {
            0 => None,
            number => Some(Verb::of(number)?),
        };
        let mut buffers = Vec::with_capacity(count);
        for index in 0..count {
            let place = HEADER + index * RECORD;
            let address = u64::from(word(place)?) << 32 | u64::from(word(place + 4)?);
            buffers.push(Buffer { address, key: word(place + 8)?, length: word(place + 12)? });
        }
        Some(Greeting { verb, largest_block: word(8)?, buffers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A message observed from fio (`verb=send`, two buffers of 4 KiB).
    #[test]
    fn a_message_of_fio_is_understood() {
        let mut message = [0; LENGTH];
        let beginning: [u8; 48] = [
            0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0x10, 0, 0, 0, 0, 0, //
            0, 0, 0x55, 0x55, 0x93, 0x31, 0x8e, 0x30, 0, 0, 0x04, 0x31, 0, 0, 0x10, 0, //
            0, 0, 0x55, 0x55, 0x93, 0x31, 0x9e, 0x30, 0, 0, 0x05, 0x92, 0, 0, 0x10, 0,
        ];
        message[..48].copy_from_slice(&beginning);
        let greeting = Greeting::read(&message).expect("a message");
        assert_eq!((greeting.verb, greeting.largest_block), (Some(Verb::Send), 4096));
        let buffers = [(0x5555_9331_8e30, 0x431), (0x5555_9331_9e30, 0x592)];
        assert_eq!(
            greeting.buffers,
            buffers.map(|(address, key)| Buffer { address, key, length: 4096 }).to_vec()
        );
        let mut again = [1; LENGTH];
        greeting.write(&mut again);
        assert_eq!(again, message);
    }

    proptest! {
        #[test]
        fn anything_else_is_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64), whole: bool) {
            let mut message = bytes;
            if whole {
                message.resize(LENGTH, 0);
            }
            if let Some(greeting) = Greeting::read(&message) {
                prop_assert!(whole && greeting.buffers.len() <= MOST_BUFFERS);
            }
        }
    }

    #[test]
    fn more_buffers_than_there_is_room_for_are_left_out() {
        let buffer = Buffer { address: 1, key: 2, length: 3 };
        let greeting = Greeting { verb: None, largest_block: 4, buffers: vec![buffer; 600] };
        let mut message = [0; LENGTH];
        greeting.write(&mut message);
        assert_eq!(Greeting::read(&message).expect("a message").buffers.len(), MOST_BUFFERS);
    }
}
