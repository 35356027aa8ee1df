//! Decodes keys from the bytes that a terminal sends.

/// A key that has a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Stops the run.
    Stop,
    /// Freezes or resumes the view.
    Pause,
    /// Shows or hides the list of keys.
    Help,
    /// Scrolls up by one job.
    Up,
    /// Scrolls down by one job.
    Down,
    /// Scrolls up by one screen of jobs.
    PageUp,
    /// Scrolls down by one screen of jobs.
    PageDown,
}

/// Assembles bytes into keys, because a key may arrive in several pieces.
#[derive(Debug, Default)]
pub struct KeyReader {
    /// Start of an incomplete escape sequence.
    begun: Vec<u8>,
}

/// Maximum length of a key's escape sequence.
const LONGEST_SEQUENCE: usize = 16;

impl KeyReader {
    /// Returns the keys completed by these bytes. Keys without a function are skipped.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<Key> {
        bytes.iter().filter_map(|&byte| self.read_byte(byte)).collect()
    }

    fn read_byte(&mut self, byte: u8) -> Option<Key> {
        if byte == 0x1b {
            self.begun = vec![byte];
            return None;
        }
        match self.begun[..] {
            [] => return plain(byte),
            // A sequence starts with `ESC [` or, on keypads in application mode, `ESC O`. Any other character
            // after ESC is a key combined with Alt.
            [_] if byte != b'[' && byte != b'O' => {
                self.begun.clear();
                return None;
            }
            _ => self.begun.push(byte),
        }
        let is_last = self.begun.len() > 2 && (0x40..=0x7e).contains(&byte);
        if !is_last && self.begun.len() < LONGEST_SEQUENCE {
            return None;
        }
        let sequence = std::mem::take(&mut self.begun);
        match &sequence[2..] {
            b"A" => Some(Key::Up),
            b"B" => Some(Key::Down),
            b"5~" => Some(Key::PageUp),
            b"6~" => Some(Key::PageDown),
            _ => None,
        }
    }
}

fn plain(byte: u8) -> Option<Key> {
    match byte {
        // Ctrl-C is usually a signal, but arrives as a byte if the terminal's signal keys are disabled.
        b'q' | b'Q' | 0x03 => Some(Key::Stop),
        b'p' | b'P' => Some(Key::Pause),
        b'?' => Some(Key::Help),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_in_one_piece_and_in_several() {
        let mut reader = KeyReader::default();
        assert_eq!(reader.read(b"pq?x\x1b[A\x1bOB"), [Key::Pause, Key::Stop, Key::Help, Key::Up, Key::Down]);
        assert_eq!(reader.read(b"\x1b"), []);
        assert_eq!(reader.read(b"[6"), []);
        assert_eq!(reader.read(b"~\x1b[5~"), [Key::PageDown, Key::PageUp]);
    }

    #[test]
    fn other_keys_mean_nothing() {
        let mut reader = KeyReader::default();
        // These are F5, Ctrl-Up, Alt-q, and a key after Escape.
        assert_eq!(reader.read(b"\x1b[15~\x1b[1;5A\x1bq\x1b\x1b[A"), [Key::Up]);
        assert_eq!(reader.read("ä€".as_bytes()), []);
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(bytes in prop::collection::vec(any::<u8>(), 0..60), cut in 0usize..60) {
            let (first, second) = bytes.split_at(cut.min(bytes.len()));
            let mut pieces = KeyReader::default();
            let mut keys = pieces.read(first);
            keys.extend(pieces.read(second));
            prop_assert_eq!(keys, KeyReader::default().read(&bytes));
        }
    }
}
