//! Cleans the texts in a peer's messages: control characters that a terminal would obey are replaced before a
//! frame is decoded, so every text is safe wherever it is shown or written later.

use fathom_command::printer::steers;

/// Replaces control characters in the body of a frame, in place; in reports, whose texts are single lines, line
/// breaks are replaced as well.
pub(crate) fn clean(body: &mut [u8], is_report: bool) {
    let mut at = 0;
    while at < body.len() {
        let Some((header, text, other)) = shape(&body[at..]) else { return };
        let start = at + header;
        let Some(end) = start.checked_add(text).filter(|end| *end <= body.len()) else { return };
        clean_text(&mut body[start..end], is_report);
        at = end.saturating_add(other);
    }
}

/// Lengths of the next piece of MessagePack: its header, text, other bytes. The elements of a list or map
/// follow its header as separate pieces. `None` if the bytes are malformed.
fn shape(bytes: &[u8]) -> Option<(usize, usize, usize)> {
    let length = |size: usize| {
        let bytes = bytes.get(1..=size)?;
        Some(bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
    };
    Some(match *bytes.first()? {
        0x00..=0x9f | 0xc0 | 0xc2 | 0xc3 | 0xe0..=0xff => (1, 0, 0),
        short @ 0xa0..=0xbf => (1, usize::from(short & 0x1f), 0),
        0xc1 => return None,
        // Byte strings.
        0xc4 => (2, 0, length(1)?),
        0xc5 => (3, 0, length(2)?),
        0xc6 => (5, 0, length(4)?),
        // Extension types.
        0xc7 => (3, 0, length(1)?),
        0xc8 => (4, 0, length(2)?),
        0xc9 => (6, 0, length(4)?),
        // Numbers.
        0xcc | 0xd0 => (2, 0, 0),
        0xcd | 0xd1 => (3, 0, 0),
        0xca | 0xce | 0xd2 => (5, 0, 0),
        0xcb | 0xcf | 0xd3 => (9, 0, 0),
        fixed @ 0xd4..=0xd8 => (2, 0, 1 << (fixed - 0xd4)),
        // Strings.
        0xd9 => (2, length(1)?, 0),
        0xda => (3, length(2)?, 0),
        0xdb => (5, length(4)?, 0),
        // Lists and maps.
        0xdc | 0xde => (3, 0, 0),
        0xdd | 0xdf => (5, 0, 0),
    })
}

/// Replaces control characters in a text. Each replacement has as many bytes as its character, so lengths stay
/// valid.
fn clean_text(bytes: &mut [u8], is_report: bool) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let bad = |letter: &char| steers(*letter) || (is_report && *letter == '\n');
    let places: Vec<(usize, usize)> = text
        .char_indices()
        .filter(|(_, letter)| bad(letter))
        .map(|(at, letter)| (at, letter.len_utf8()))
        .collect();
    for (at, length) in places {
        let instead: &[u8] = match (bytes[at], length) {
            (b'\n', _) => b" ",
            (_, 1) => b"?",
            (_, 2) => b"??",
            _ => "\u{fffd}".as_bytes(),
        };
        bytes[at..at + length].copy_from_slice(instead);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames;
    use crate::protocol::{Bytes, FromAgent};
    use fathom_run::message::Message;
    use fathom_stats::report::{JobReport, RunReport};
    use proptest::prelude::*;

    fn passed<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T, is_report: bool) -> T {
        let mut body = Vec::new();
        frames::write(&mut body, value).expect("can be written");
        clean(&mut body, is_report);
        frames::read(&body).expect("still readable")
    }

    #[test]
    fn nothing_that_a_peer_says_steers_a_terminal() {
        let said = Message::Error("a\u{1b}[2J\u{9b}31mb\u{202e}c\n\td\r".to_owned());
        let FromAgent::Said(Message::Error(text)) = passed(&FromAgent::Said(said), false) else { panic!() };
        assert_eq!(text, "a?[2J??31mb\u{fffd}c\n\td?");
        let job = JobReport { name: "a\nb\u{7}".into(), ..JobReport::default() };
        let report = passed(&RunReport { jobs: vec![job], ..RunReport::default() }, true);
        assert_eq!(report.jobs[0].name, "a b?");
        // The bytes of a log are not changed, because they are written to files.
        let log = FromAgent::Log { name: "l".to_owned(), bytes: Bytes(vec![0x1b; 300]) };
        assert_eq!(passed(&log, false), log);
    }

    proptest! {
        #[test]
        fn any_text_in_any_place_is_cleaned(
            lists in prop::collection::vec(prop::collection::vec(any::<String>(), 0..20), 0..20),
            numbers in prop::collection::vec(any::<(i64, f64, bool, u8)>(), 0..40),
        ) {
            let (cleaned, same) = passed(&(lists.clone(), numbers.clone()), true);
            prop_assert!(cleaned.iter().flatten().all(|text| !text.contains(steers) && !text.contains('\n')));
            let count = |lists: &[Vec<String>]| lists.iter().map(|list| list.iter().map(String::len).collect()).collect::<Vec<Vec<usize>>>();
            prop_assert_eq!(count(&cleaned), count(&lists));
            prop_assert_eq!(format!("{same:?}"), format!("{numbers:?}"));
        }

        #[test]
        fn any_bytes_are_survived(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let length = bytes.len();
            clean(&mut bytes, true);
            prop_assert_eq!(bytes.len(), length);
        }
    }
}
