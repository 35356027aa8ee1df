//! The layout that readers of fio's JSON expect: two spaces per level, `"key" : value`, one element per line, six decimals.

use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter, Serializer};
use std::io::{self, Write};

/// Returns the whole text of a document, ended by a newline.
pub(crate) fn document(value: &impl Serialize) -> io::Result<Vec<u8>> {
    text(value, Lines::default())
}

/// Returns a document on a single line, without spaces between the elements.
pub(crate) fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    text(value, OneLine)
}

fn text(value: &impl Serialize, formatter: impl Formatter) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The formats of numbers and escapes, which both layouts share.
struct OneLine;

impl Formatter for OneLine {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        write!(writer, "{value:.6}")
    }

    /// Writes control characters as numeric escapes. A job's name may contain any of them.
    fn write_char_escape<W: ?Sized + Write>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()> {
        let code = match escape {
            CharEscape::Quote => return writer.write_all(b"\\\""),
            CharEscape::ReverseSolidus => return writer.write_all(b"\\\\"),
            CharEscape::Solidus => b'/',
            CharEscape::Backspace => 0x8,
            CharEscape::FormFeed => 0xc,
            CharEscape::LineFeed => b'\n',
            CharEscape::CarriageReturn => b'\r',
            CharEscape::Tab => b'\t',
            CharEscape::AsciiControl(code) => code,
        };
        write!(writer, "\\u{code:04x}")
    }
}

/// The layout with one element per line.
#[derive(Default)]
struct Lines {
    level: usize,
}

impl Lines {
    fn begin<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &str) -> io::Result<()> {
        self.level += 1;
        writer.write_all(bracket.as_bytes())?;
        writer.write_all(b"\n")
    }

    fn end<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &str) -> io::Result<()> {
        self.level -= 1;
        writer.write_all(b"\n")?;
        self.indent(writer)?;
        writer.write_all(bracket.as_bytes())
    }

    fn separate<W: ?Sized + Write>(&mut self, writer: &mut W, is_first: bool) -> io::Result<()> {
        if !is_first {
            writer.write_all(b",\n")?;
        }
        self.indent(writer)
    }

    fn indent<W: ?Sized + Write>(&self, writer: &mut W) -> io::Result<()> {
        (0..self.level).try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for Lines {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        OneLine.write_f64(writer, value)
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()> {
        OneLine.write_char_escape(writer, escape)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, "{")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, is_first: bool) -> io::Result<()> {
        self.separate(writer, is_first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b" : ")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, "}")
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, "[")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, is_first: bool) -> io::Result<()> {
        self.separate(writer, is_first)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, "]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Serialize)]
    struct Example {
        name: &'static str,
        empty: BTreeMap<String, u64>,
        list: Vec<u64>,
        objects: Vec<Point>,
    }

    #[derive(Serialize)]
    struct Point {
        min: u64,
        mean: f64,
    }

    fn example() -> Example {
        Example {
            name: "a\"b\\c\n",
            empty: BTreeMap::new(),
            list: vec![1, 2],
            objects: vec![Point { min: 1, mean: 170_260.694_293 }],
        }
    }

    #[test]
    fn elements_stand_on_lines() {
        assert_eq!(
            String::from_utf8(document(&example()).expect("memory takes everything")).expect("text"),
            r#"{
  "name" : "a\"b\\c\u000a",
  "empty" : {

  },
  "list" : [
    1,
    2
  ],
  "objects" : [
    {
      "min" : 1,
      "mean" : 170260.694293
    }
  ]
}
"#
        );
    }

    #[test]
    fn one_line() {
        let text =
            r#"{"name":"a\"b\\c\u000a","empty":{},"list":[1,2],"objects":[{"min":1,"mean":170260.694293}]}"#;
        assert_eq!(line(&example()).expect("memory takes everything"), format!("{text}\n").into_bytes());
    }
}
