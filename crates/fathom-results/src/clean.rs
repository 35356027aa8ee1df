//! Converts every string of a result to a single line of printable characters. Characters that would break a
//! line or control a terminal are replaced in the document's text before it is parsed, which covers all
//! strings, including member names.

use std::borrow::Cow;

/// The JSON escape of the replacement character.
const INSTEAD: &str = "\\ufffd";

/// The document with single-line strings.
pub fn single_lines(document: &str) -> Cow<'_, str> {
    let mut cleaned = String::new();
    // The text before this position is already in `cleaned`.
    let mut done = 0;
    let mut rest = document.char_indices().peekable();
    let mut is_in_string = false;
    while let Some((at, letter)) = rest.next() {
        let (length, instead) = match letter {
            '"' => {
                is_in_string = !is_in_string;
                continue;
            }
            '\\' if is_in_string => {
                let escape = Escape::at(&document[at..]);
                // The whole escape is skipped, because it may be that of a quotation mark.
                let end = at + escape.length;
                while rest.next_if(|(place, _)| *place < end).is_some() {}
                (escape.length, escape.character.filter(|character| breaks(*character)))
            }
            letter => (letter.len_utf8(), Some(letter).filter(|letter| is_in_string && breaks(*letter))),
        };
        if let Some(character) = instead {
            cleaned.push_str(&document[done..at]);
            cleaned.push_str(if character == '\t' { " " } else { INSTEAD });
            done = at + length;
        }
    }
    match done {
        0 => Cow::Borrowed(document),
        _ => Cow::Owned(cleaned + &document[done..]),
    }
}

/// A string as a single line.
pub fn single_line(text: &str) -> String {
    let shown = |letter: char| match letter {
        '\t' => ' ',
        letter if breaks(letter) => char::REPLACEMENT_CHARACTER,
        letter => letter,
    };
    text.chars().map(shown).collect()
}

/// An escape in a string: its length and its character, if it is a single one.
struct Escape {
    length: usize,
    character: Option<char>,
}

impl Escape {
    fn at(text: &str) -> Escape {
        let letter = text[1..].chars().next();
        let character = match letter {
            Some('n') => Some('\n'),
            Some('r') => Some('\r'),
            Some('t') => Some('\t'),
            Some('b') => Some('\u{8}'),
            Some('f') => Some('\u{c}'),
            Some('u') => {
                let code = text.get(2..6).and_then(|digits| u32::from_str_radix(digits, 16).ok());
                let length = if code.is_some() { 6 } else { 2 };
                return Escape { length, character: code.and_then(char::from_u32) };
            }
            _ => None,
        };
        Escape { length: 1 + letter.map_or(0, char::len_utf8), character }
    }
}

/// Control characters, line separators, and bidirectional marks.
fn breaks(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn strings_become_single_lines() {
        let bad = r#"{"a\u001b[31m": "x\ny\tz\\n\"\u009b2J\u202e\ud83d\ude00", "b": 1}"#;
        let found: Value = serde_json::from_str(&single_lines(bad)).expect("still JSON");
        let wanted = json!({"a\u{fffd}[31m": "x\u{fffd}y z\\n\"\u{fffd}2J\u{fffd}😀", "b": 1});
        assert_eq!(found, wanted);
        assert!(matches!(single_lines("{\n\t\"a\": \"b\\\"c\"}"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_string_becomes_what_it_is_in_a_document() {
        for text in ["a\u{1b}[31m", "x\ny\tz\"\u{9b}2J\u{202e}😀", "plain"] {
            let document = json!([text]).to_string();
            let found: Value = serde_json::from_str(&single_lines(&document)).expect("still JSON");
            assert_eq!(found[0].as_str(), Some(single_line(text).as_str()));
        }
    }

    proptest! {
        #[test]
        fn any_string_stays_json(key in any::<String>(), value in any::<String>(), cut in any::<prop::sample::Index>()) {
            let text = json!({key: [value, "\u{85}"]}).to_string();
            let found: Value = serde_json::from_str(&single_lines(&text)).expect("still JSON");
            let (key, list) = found.as_object().and_then(|object| object.iter().next()).expect("a member");
            let is_clean = |text: &str| !text.contains(breaks);
            prop_assert!(is_clean(key) && list[0].as_str().is_some_and(is_clean), "{:?}", found);
            // A truncated document must not cause a panic.
            let mut end = cut.index(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            single_lines(&text[..end]);
        }
    }
}
