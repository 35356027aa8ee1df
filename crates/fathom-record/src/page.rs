//! Pages of the kernel's trace buffer, as `trace_pipe_raw` gives them.
//!
//! A page begins with the time of its first event and the length of its data; the kernel's `header_page` says where. Events
//! follow, each with a header of 32 bits: 5 bits of type or length, and 27 bits of time since the event before. The kernel's
//! `header_event` lists the types.

use crate::format::{Field, Format};

/// Flags of the length: events were lost before this page, and their number is stored after the data.
const LOST: u64 = 1 << 31;
const LOST_IS_STORED: u64 = 1 << 30;
/// The length itself. The kernel's arithmetic with the first flag, a negative number, sets all bits above it as well.
const LENGTH: u64 = LOST_IS_STORED - 1;

/// Types of events; smaller ones are lengths in words of 4 bytes.
const PADDING: u32 = 29;
const LONGER_TIME: u32 = 30;
const WHOLE_TIME: u32 = 31;
/// Bits of the time in a header.
const TIME_BITS: u32 = 27;
/// Bits of a [`WHOLE_TIME`]; those above are the same as before.
const WHOLE_TIME_BITS: u32 = 59;

/// Where the parts of a page are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    time: Field,
    length: Field,
    data: usize,
}

impl Layout {
    /// From the texts of `header_page` and `header_event`; `None` if this kernel's pages are of another kind.
    pub(crate) fn of(header_page: &str, header_event: &str) -> Option<Layout> {
        let format = Format::parse(header_page);
        let (time, length) = (format.field("timestamp")?, format.field("commit")?);
        let data = format.field("data")?.offset;
        let numbers = |line: &str| -> Vec<u32> {
            line.split(|letter: char| !letter.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect()
        };
        let has = |start: &str, number: u32| {
            header_event
                .lines()
                .any(|line| line.trim().starts_with(start) && numbers(line).last() == Some(&number))
        };
        let is_known = time.size == 8
            && matches!(length.size, 4 | 8)
            && has("type_len", 5)
            && has("time_delta", TIME_BITS)
            && has("padding", PADDING)
            && has("time_extend", LONGER_TIME);
        is_known.then_some(Layout { time, length, data })
    }

    /// The page in these bytes; `None` if they are not one.
    pub(crate) fn page(self, bytes: &[u8]) -> Option<Page<'_>> {
        let (time, length) = (self.time.number(bytes)?, self.length.number(bytes)?);
        let end = self.data.checked_add((length & LENGTH) as usize)?;
        let data = bytes.get(self.data..end)?;
        let stored = Field { offset: end, size: self.length.size };
        let lost = match (length & LOST != 0, length & LOST_IS_STORED != 0) {
            (false, _) => Some(0),
            (true, true) => stored.number(bytes),
            (true, false) => None,
        };
        Some(Page { lost, events: Events { rest: data, time, is_damaged: false } })
    }
}

/// One page.
pub(crate) struct Page<'a> {
    /// Number of events lost before it; `None` if some were and their number is unknown.
    pub(crate) lost: Option<u64>,
    pub(crate) events: Events<'a>,
}

/// The events of a page: time in ns and content of each.
pub(crate) struct Events<'a> {
    rest: &'a [u8],
    time: u64,
    is_damaged: bool,
}

impl<'a> Events<'a> {
    /// True if the page ended in something that is not an event.
    pub(crate) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    fn word(&self, index: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(*self.rest.get(index * 4..)?.first_chunk()?))
    }

    /// Moves past the next event, and returns its content if it is one of data. `None`: not an event.
    fn step(&mut self) -> Option<Option<&'a [u8]>> {
        let header = self.word(0)?;
        let (kind, since) = if cfg!(target_endian = "little") {
            (header & 0x1f, header >> 5)
        } else {
            (header >> TIME_BITS, header & ((1 << TIME_BITS) - 1))
        };
        let since = u64::from(since);
        let (length, content) = match kind {
            LONGER_TIME => {
                self.time = self.time.wrapping_add(since | u64::from(self.word(1)?) << TIME_BITS);
                (8, None)
            }
            WHOLE_TIME => {
                self.time = whole_time(since | u64::from(self.word(1)?) << TIME_BITS, self.time);
                (8, None)
            }
            // The rest of the page is unused.
            PADDING if since == 0 => (self.rest.len(), None),
            // An event that was taken back.
            PADDING => {
                self.time = self.time.wrapping_add(since);
                ((self.word(1)? as usize).checked_add(4)?, None)
            }
            0 => {
                self.time = self.time.wrapping_add(since);
                let length = (self.word(1)? as usize).checked_add(4)?;
                (length, Some(self.rest.get(8..length)?))
            }
            words => {
                self.time = self.time.wrapping_add(since);
                let length = words as usize * 4 + 4;
                (length, Some(self.rest.get(4..length)?))
            }
        };
        self.rest = self.rest.get(length..)?;
        Some(content)
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = (u64, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<(u64, &'a [u8])> {
        while !self.rest.is_empty() {
            match self.step() {
                Some(Some(content)) => return Some((self.time, content)),
                Some(None) => {}
                None => {
                    self.is_damaged = true;
                    self.rest = &[];
                }
            }
        }
        None
    }
}

/// A time of which the upper bits are left out, near a time before it.
fn whole_time(low: u64, before: u64) -> u64 {
    let high = before >> WHOLE_TIME_BITS << WHOLE_TIME_BITS;
    let time = high | low;
    if time < before && high > 0 { time.wrapping_add(1 << WHOLE_TIME_BITS) } else { time }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: &str = "\
\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
";
    const EVENT: &str = "\
# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
";

    pub(crate) fn layout() -> Layout {
        Layout::of(HEADER, EVENT).expect("a known kind of page")
    }

    fn header(kind: u32, since: u32) -> [u8; 4] {
        let word = if cfg!(target_endian = "little") { kind | since << 5 } else { kind << 27 | since };
        word.to_ne_bytes()
    }

    /// A page whose events have these contents and distances in time.
    pub(crate) fn page(start: u64, lost: Option<u64>, events: &[(u64, Vec<u8>)]) -> Vec<u8> {
        let mut data = Vec::new();
        for (since, content) in events {
            if *since >= 1 << TIME_BITS {
                data.extend(header(LONGER_TIME, (since & ((1 << TIME_BITS) - 1)) as u32));
                data.extend(((since >> TIME_BITS) as u32).to_ne_bytes());
            }
            let since = if *since >= 1 << TIME_BITS { 0 } else { *since as u32 };
            let words = content.len().div_ceil(4);
            if (1..=28).contains(&words) {
                data.extend(header(words as u32, since));
            } else {
                data.extend(header(0, since));
                data.extend((words as u32 * 4 + 4).to_ne_bytes());
            }
            data.extend(content);
            data.resize(data.len().next_multiple_of(4), 0);
        }
        let flags = if lost == Some(0) {
            0
        } else if lost.is_some() {
            LOST | LOST_IS_STORED
        } else {
            LOST
        };
        let mut page = [start.to_ne_bytes(), (data.len() as u64 | flags).to_ne_bytes()].concat();
        page.extend(data);
        page.extend(lost.unwrap_or(0).to_ne_bytes());
        page
    }

    #[test]
    fn other_kinds_of_pages_are_refused() {
        assert!(Layout::of(HEADER, &EVENT.replace("5 bits", "6 bits")).is_none());
        assert!(Layout::of(HEADER, &EVENT.replace("29", "28")).is_none());
        assert!(Layout::of("", EVENT).is_none());
    }

    #[test]
    fn events_taken_back_and_unused_space_are_not_events() {
        let mut data = Vec::new();
        data.extend(header(PADDING, 5));
        data.extend(8u32.to_ne_bytes());
        data.extend([0xff; 4]);
        data.extend(header(WHOLE_TIME, 7));
        data.extend(1u32.to_ne_bytes());
        data.extend(header(1, 3));
        data.extend(*b"data");
        data.extend(header(PADDING, 0));
        data.extend([0xff; 40]);
        let bytes =
            [100u64.to_ne_bytes().to_vec(), (data.len() as u64).to_ne_bytes().to_vec(), data].concat();
        let mut events = layout().page(&bytes).expect("a page").events;
        // That time is less than 2^59, and takes nothing of the time before.
        assert_eq!(events.next(), Some(((1 << 27) + 7 + 3, &b"data"[..])));
        assert_eq!((events.next(), events.is_damaged()), (None, false));
        assert_eq!(whole_time(5, 3 << 59 | 4), 3 << 59 | 5);
        assert_eq!(whole_time(3, 3 << 59 | 4), 4 << 59 | 3);
    }

    proptest! {
        #[test]
        fn a_page_gives_back_its_events(
            start in 0u64..1 << 40,
            lost in any::<Option<u64>>(),
            events in prop::collection::vec((0u64..1 << 40, prop::collection::vec(any::<u8>(), 0..200)), 0..20),
        ) {
            let bytes = page(start, lost, &events);
            let mut read = layout().page(&bytes).expect("a page");
            prop_assert_eq!(read.lost, lost);
            let mut time = start;
            for (since, content) in &events {
                time += since;
                let (found_time, found) = read.events.next().expect("an event");
                prop_assert_eq!(found_time, time);
                prop_assert_eq!(&found[..content.len()], &content[..]);
                prop_assert!(found.len() < content.len() + 4);
            }
            prop_assert!(read.events.next().is_none());
            prop_assert!(!read.events.is_damaged());
        }

        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut page = [0u64.to_ne_bytes(), (bytes.len() as u64).to_ne_bytes()].concat();
            page.extend(&bytes);
            let read = layout().page(&page).expect("a page");
            prop_assert!(read.events.count() <= bytes.len() / 4);
            let _ = layout().page(&bytes);
        }
    }
}
