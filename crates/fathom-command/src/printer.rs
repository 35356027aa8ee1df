//! The only path from the program to a terminal, which ensures that no text from a result, a ledger, a log or a
//! job can control the terminal. Everything that commands and tools print passes through a [`Printer`].
//! Characters that terminals interpret (escape sequences, carriage returns, bidirectional marks) become U+FFFD;
//! the only control characters kept are line breaks and tabs. Returning to the start of a line is a separate
//! call, [`Screen::line_start`], which no text can trigger.

use std::borrow::Cow;
use std::io::{self, Write};

/// Replaces characters that terminals interpret.
const INSTEAD: char = char::REPLACEMENT_CHARACTER;
/// Replaces characters that terminals interpret, and those that ASCII lacks.
const INSTEAD_IN_ASCII: char = '?';

/// Output of commands and tools.
pub trait Screen: Write {
    /// Returns to the start of the line, to draw over it.
    fn line_start(&mut self) -> io::Result<()>;

    /// The output is a terminal, so longer output should be paged.
    fn is_read(&self) -> bool {
        false
    }
}

/// Output kept in memory, for tests.
impl Screen for Vec<u8> {
    fn line_start(&mut self) -> io::Result<()> {
        self.write_all(b"\r")
    }
}

/// The characters that the reader's terminal can display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    /// All of Unicode.
    Unicode,
    /// ASCII only.
    Ascii,
}

impl Letters {
    /// Determines the characters from the locale: `LC_ALL`, `LC_CTYPE`, `LANG`. Most containers and remote
    /// shells set none of them, although their terminals support UTF-8.
    pub fn of_environment() -> Letters {
        Letters::of_locale(|name| std::env::var(name).ok())
    }

    fn of_locale(variable: impl Fn(&str) -> Option<String>) -> Letters {
        let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
        let locale =
            ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set).map(|text| text.to_ascii_lowercase());
        match locale.is_none_or(|locale| locale.contains("utf-8") || locale.contains("utf8")) {
            true => Letters::Unicode,
            false => Letters::Ascii,
        }
    }
}

/// True for characters that a terminal interprets instead of displaying.
pub fn steers(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        // Bidirectional marks, and line and paragraph separators.
        '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        letter => letter.is_control(),
    }
}

/// The text without characters that a terminal interprets.
pub fn harmless(text: &str) -> Cow<'_, str> {
    match text.contains(steers) {
        true => Cow::Owned(text.replace(steers, &INSTEAD.to_string())),
        false => Cow::Borrowed(text),
    }
}

/// The safe text in the reader's character set. A replacement is as wide as most characters.
pub fn in_letters(text: &str, letters: Letters) -> Cow<'_, str> {
    let text = harmless(text);
    if letters == Letters::Unicode || text.is_ascii() {
        return text;
    }
    Cow::Owned(text.chars().map(|letter| if letter.is_ascii() { letter } else { in_ascii(letter) }).collect())
}

/// The closest ASCII equivalent of the characters that fathom itself uses.
fn in_ascii(letter: char) -> char {
    match letter {
        'µ' | 'μ' => 'u',
        '×' => 'x',
        '…' => '~',
        '±' => '~',
        '–' | '—' | '−' | '─' => '-',
        '‘' | '’' => '\'',
        '“' | '”' => '"',
        '·' | '•' => '*',
        '│' => '|',
        '█' | '▓' | '▉' | '▊' | '▋' | '▌' | '▇' | '▆' | '▅' => '#',
        '▒' => ':',
        '░' => '.',
        '▁' | '▂' | '▃' | '▄' | '▍' | '▎' | '▏' | '\u{a0}' => ' ',
        _ => INSTEAD_IN_ASCII,
    }
}

/// Writes text that is safe for the terminal.
pub struct Printer<W: Write> {
    inner: W,
    letters: Letters,
    /// The start of a character that the next call continues.
    begun: Vec<u8>,
    is_read: bool,
}

impl<W: Write> Printer<W> {
    /// Writes to `inner` in this character set.
    pub fn new(inner: W, letters: Letters) -> Printer<W> {
        Printer { inner, letters, begun: Vec::new(), is_read: false }
    }

    /// Writes to `inner`, and records whether it is a terminal.
    pub fn to_terminal(self, is_read: bool) -> Printer<W> {
        Printer { is_read, ..self }
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.inner.write_all(in_letters(text, self.letters).as_bytes())
    }
}

impl<W: Write> Write for Printer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.begun.is_empty()
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            return self.text(text).map(|()| bytes.len());
        }
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.text(chunk.valid())?;
            let invalid = chunk.invalid();
            let is_begun = std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            match invalid.is_empty() {
                true => {}
                false if chunks.peek().is_none() && is_begun => self.begun = invalid.to_vec(),
                false => self.text(INSTEAD.encode_utf8(&mut [0; 4]))?,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Write> Screen for Printer<W> {
    fn line_start(&mut self) -> io::Result<()> {
        self.inner.write_all(b"\r")
    }

    fn is_read(&self) -> bool {
        self.is_read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn printed(parts: &[&[u8]], letters: Letters) -> String {
        let mut printer = Printer::new(Vec::new(), letters);
        parts.iter().for_each(|part| printer.write_all(part).expect("memory takes everything"));
        String::from_utf8(printer.inner).expect("text")
    }

    #[test]
    fn nothing_steers_the_terminal() {
        let bad = "a\u{1b}[31mb\rc\u{7}d\u{9b}2Je\u{202e}f\n\tg";
        assert_eq!(
            printed(&[bad.as_bytes()], Letters::Unicode),
            "a\u{fffd}[31mb\u{fffd}c\u{fffd}d\u{fffd}2Je\u{fffd}f\n\tg"
        );
        assert_eq!(printed(&[b"\x9b2J\xff"], Letters::Unicode), "\u{fffd}2J\u{fffd}");
        assert_eq!(printed(&["40 µs × 読 …█".as_bytes(), b"\x1b"], Letters::Ascii), "40 us x ? ~#?");
    }

    #[test]
    fn the_locale_says_what_letters_there_are() {
        let letters = |set: &[(&str, &str)]| {
            Letters::of_locale(|name| {
                set.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(letters(&[]), Letters::Unicode);
        assert_eq!(letters(&[("LC_ALL", "C")]), Letters::Ascii);
        assert_eq!(letters(&[("LC_ALL", ""), ("LANG", "en_GB.UTF-8")]), Letters::Unicode);
        assert_eq!(letters(&[("LC_ALL", "POSIX"), ("LANG", "en_GB.UTF-8")]), Letters::Ascii);
        assert_eq!(letters(&[("LC_CTYPE", "C.utf8")]), Letters::Unicode);
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_text_is_cut(bytes in prop::collection::vec(any::<u8>(), 0..60), at in any::<prop::sample::Index>()) {
            let mut text = bytes;
            text.extend("é読\u{9b}µ end".bytes());
            let (head, tail) = text.split_at(at.index(text.len()));
            for letters in [Letters::Unicode, Letters::Ascii] {
                let whole = printed(&[&text], letters);
                prop_assert_eq!(&printed(&[head, tail], letters), &whole);
                prop_assert!(!whole.contains(steers));
                prop_assert!(letters == Letters::Unicode || whole.is_ascii());
            }
        }
    }
}
