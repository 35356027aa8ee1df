//! `buffer_pattern` and `verify_pattern`: bytes written as numbers, hexadecimal digits,
//! strings, files and offsets, one after the other without separators.

use fathom_errors::plain;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{OptionValue, ParseContext, ValueError};
use crate::definition::OptionDef;

/// Maximum length of a pattern.
const MOST_BYTES: u64 = 128 << 20;

/// A piece of a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PatternPart {
    /// Fixed bytes.
    Bytes(Vec<u8>),
    /// The content of a file, which is read on the machine where the job was written.
    File {
        /// Its name, as written.
        path: PathBuf,
        /// Its content.
        bytes: Vec<u8>,
    },
    /// The offset of the block, as 8 bytes in little-endian order.
    Offset,
}

/// The pieces of a pattern, in order; never empty once assigned.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pattern(pub Vec<PatternPart>);

impl fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.0 {
            match part {
                PatternPart::Offset => formatter.write_str("%o")?,
                PatternPart::File { path, .. } => write!(formatter, "'{}'", path.display())?,
                PatternPart::Bytes(bytes) => {
                    formatter.write_str("0x")?;
                    for byte in bytes {
                        write!(formatter, "{byte:02x}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn expected() -> ValueError {
    ValueError::new("a pattern made of numbers, 0x digits, \"text\", 'file' and %o")
}

impl OptionValue for Pattern {
    fn unset() -> Self {
        Pattern::default()
    }

    fn assign(
        &mut self,
        text: &str,
        _: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let mut parts: Vec<PatternPart> = Vec::new();
        let mut length = 0u64;
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (part, bytes, after) = read_part(rest, context)?;
            rest = after;
            length = length.saturating_add(bytes);
            match (parts.last_mut(), part) {
                (Some(PatternPart::Bytes(before)), PatternPart::Bytes(more)) => before.extend(more),
                (_, part) => parts.push(part),
            }
        }
        if length == 0 {
            return Err(expected());
        }
        if length > MOST_BYTES {
            return Err(ValueError::new("a pattern of at most 128 MiB"));
        }
        *self = Pattern(parts);
        Ok(())
    }
}

/// Parses one element; returns it, its length in bytes and the rest of the text.
fn read_part<'t>(
    text: &'t str,
    context: &mut ParseContext<'_>,
) -> Result<(PatternPart, u64, &'t str), ValueError> {
    if let Some(rest) = text.strip_prefix("%o") {
        return Ok((PatternPart::Offset, 8, rest));
    }
    if let Some(quoted) = text.strip_prefix('\'') {
        let (path, rest) = quoted.split_once('\'').ok_or_else(expected)?;
        let path = PathBuf::from(path);
        let bytes = context.source.read_bytes(&path).map_err(|error| {
            ValueError::new(format!(
                "a readable file, but {}: {error}",
                path.display(),
                error = plain(&error)
            ))
        })?;
        let length = bytes.len() as u64;
        return Ok((PatternPart::File { path, bytes }, length, rest));
    }
    let (bytes, rest) = read_bytes(text)?;
    let length = bytes.len() as u64;
    Ok((PatternPart::Bytes(bytes), length, rest))
}

fn read_bytes(text: &str) -> Result<(Vec<u8>, &str), ValueError> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (string, rest) = quoted.split_once('"').ok_or_else(expected)?;
        return Ok((string.as_bytes().to_vec(), rest));
    }
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return read_hex(hex);
    }
    read_decimal(text)
}

/// The position after the digits at the start of a text. A zero before an `x` starts the next number.
fn end_of_digits(text: &str, is_digit: impl Fn(char) -> bool) -> usize {
    let end = text.find(|letter: char| !is_digit(letter)).unwrap_or(text.len());
    let begins_hex = text[..end].ends_with('0') && text[end..].starts_with(['x', 'X']);
    if begins_hex { end - 1 } else { end }
}

/// Hexadecimal digits, most significant byte first; an odd number gets a leading zero.
fn read_hex(text: &str) -> Result<(Vec<u8>, &str), ValueError> {
    let end = end_of_digits(text, |letter| letter.is_ascii_hexdigit());
    if end == 0 {
        return Err(expected());
    }
    let mut nibbles: Vec<u8> = Vec::with_capacity(end + 1);
    if end % 2 == 1 {
        nibbles.push(0);
    }
    nibbles.extend(text[..end].chars().filter_map(|letter| letter.to_digit(16)).map(|digit| digit as u8));
    Ok((nibbles.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect(), &text[end..]))
}

/// A decimal number in the range of a C int, in as few bytes as necessary, little-endian. Spaces may precede it.
fn read_decimal(text: &str) -> Result<(Vec<u8>, &str), ValueError> {
    let text = text.trim_start();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let sign = text.len() - digits.len();
    let end = sign + end_of_digits(digits, |letter| letter.is_ascii_digit());
    let number: i32 = text[..end].parse().map_err(|_| expected())?;
    let bytes = number.to_le_bytes();
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
    Ok((bytes[..used].to_vec(), &text[end..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::parse;
    use super::*;

    fn bytes(text: &str) -> Option<Vec<u8>> {
        match &parse::<Pattern>(text).ok()?.0[..] {
            [PatternPart::Bytes(bytes)] => Some(bytes.clone()),
            _ => None,
        }
    }

    #[test]
    fn numbers_become_as_few_bytes_as_needed() {
        assert_eq!(bytes("0"), Some(vec![0]));
        assert_eq!(bytes("255"), Some(vec![255]));
        assert_eq!(bytes("256"), Some(vec![0, 1]));
        assert_eq!(bytes("-12"), Some(vec![0xf4, 0xff, 0xff, 0xff]));
        assert_eq!(bytes("0xabc"), Some(vec![0x0a, 0xbc]));
        assert_eq!(bytes("+5"), Some(vec![5]));
        assert_eq!(bytes("010"), Some(vec![10]));
    }

    #[test]
    fn elements_follow_each_other() {
        let pattern: Pattern = parse("0xdeadbeef%o\"ab\"-12").unwrap();
        assert_eq!(
            pattern.0,
            [
                PatternPart::Bytes(vec![0xde, 0xad, 0xbe, 0xef]),
                PatternPart::Offset,
                PatternPart::Bytes(vec![b'a', b'b', 0xf4, 0xff, 0xff, 0xff]),
            ]
        );
    }

    /// The expected bytes are what fio makes of these patterns.
    #[test]
    fn numbers_end_where_others_begin() {
        let rows: [(&str, &[u8]); 12] = [
            ("\"abcd\"-120xdeadface", b"abcd\xf4\xff\xff\xff\xde\xad\xfa\xce"),
            ("120xab", &[12, 0xab]),
            ("120X12", &[12, 0x12]),
            ("00xab", &[0, 0xab]),
            ("0x120x34", &[0x12, 0x34]),
            ("0x1230x45", &[0x01, 0x23, 0x45]),
            ("12 34", &[12, 34]),
            ("0xab 12", &[0xab, 12]),
            ("\"ab\" 12", b"ab\x0c"),
            ("12-12", &[12, 0xf4, 0xff, 0xff, 0xff]),
            ("+5+6", &[5, 6]),
            ("5+6", &[5, 6]),
        ];
        for (text, expected) in rows {
            assert_eq!(bytes(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["0x1 0x2", "\"a\" \"b\"", "12 \"ab\"", "- 5", "+ 5", "1,2", "0x0x12", "-0x12"] {
            assert!(parse::<Pattern>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn mistakes_are_noticed() {
        for text in ["", "xyz", "0x", "0x1g", "\"ab", "'/nope'", "99999999999", "\"\""] {
            assert!(parse::<Pattern>(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn printing_parses_back(bytes in proptest::collection::vec(any::<u8>(), 1..40)) {
            let pattern = Pattern(vec![PatternPart::Offset, PatternPart::Bytes(bytes)]);
            prop_assert_eq!(parse(&pattern.to_string()), Ok(pattern));
        }

        #[test]
        fn no_text_panics(text in ".*", odd in "[-0x\"'%o9a-f]*") {
            let _ = parse::<Pattern>(&text);
            let _ = parse::<Pattern>(&odd);
        }
    }
}
