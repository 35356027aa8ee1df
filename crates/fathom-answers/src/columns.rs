//! Text in terminal columns: its width, padding, and truncation of long names. Names are truncated only on a
//! terminal (or with a given width), in tables and charts, so that the figures next to them stay on the screen.
//! Output to a pipe or a file is never truncated, and neither are sentences.

use std::io::IsTerminal;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Number of columns that is assumed if the terminal does not report its size.
pub(crate) const USUAL: usize = 80;
/// Maximum number of columns of a line of text, regardless of the terminal's width.
const LONGEST_LINE: usize = 100;
const SHORTEST_LINE: usize = 20;
/// Marks where text was truncated.
const MARK: char = '…';
const STANDARD_OUTPUT: i32 = 1;
const STANDARD_ERROR: i32 = 2;

/// Number of columns that a text takes: two for a Chinese character or an emoji, none for a combining accent.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The text padded with spaces.
pub(crate) fn left(text: &str, columns: usize) -> String {
    text.to_owned() + &" ".repeat(columns.saturating_sub(width(text)))
}

/// The text with leading spaces.
pub(crate) fn right(text: &str, columns: usize) -> String {
    " ".repeat(columns.saturating_sub(width(text))) + text
}

/// The text, shortened in the middle if it is wider than this. Its ends are kept, because names often differ
/// there.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let mut head = end_of(text.chars(), room.div_ceil(2));
    let tail: String = end_of(text.chars().rev(), room / 2).chars().rev().collect();
    // A combining accent at the start would attach to the mark, so it is dropped.
    let tail = tail.trim_start_matches(|letter: char| letter.width().unwrap_or(0) == 0);
    // Some letters take more columns together than the sum of their widths.
    while width(&head) + 1 + width(tail) > columns && head.pop().is_some() {}
    format!("{head}{MARK}{tail}")
}

/// The leading letters that fit into this many columns.
fn end_of(letters: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    let fits = |letter: &char| {
        used += letter.width().unwrap_or(0);
        used <= columns
    };
    letters.take_while(fits).collect()
}

/// The text, truncated to the width of the reader's terminal, if there is a terminal.
pub(crate) fn cut_to(text: &str, limit: Option<usize>) -> String {
    limit.map_or_else(|| text.to_owned(), |columns| cut(text, columns))
}

/// A sentence in which a single word, such as a name, is truncated if it is wider than a line.
pub(crate) fn words_cut_to(sentence: &str, limit: Option<usize>) -> String {
    sentence.split(' ').map(|word| cut_to(word, limit)).collect::<Vec<_>>().join(" ")
}

/// Columns of the terminal on standard output, from the shell or the terminal itself; `None` without a terminal.
pub(crate) fn of_terminal() -> Option<usize> {
    std::io::stdout().is_terminal().then(|| told().or_else(|| asked(STANDARD_OUTPUT)).unwrap_or(USUAL))
}

/// Width of lines of sentences: that of the terminal, up to a comfortable limit.
pub(crate) fn of_text() -> usize {
    of_terminal().or_else(told).unwrap_or(LONGEST_LINE).clamp(SHORTEST_LINE, LONGEST_LINE)
}

/// Rows of the terminal on standard output.
pub(crate) fn rows_of_terminal() -> Option<usize> {
    let (_, rows) =
        fathom_sys::terminal::size(STANDARD_OUTPUT).filter(|_| std::io::stdout().is_terminal())?;
    Some(usize::from(rows)).filter(|rows| *rows > 0)
}

/// Columns of the terminal to which messages go.
pub(crate) fn of_messages() -> usize {
    told().or_else(|| asked(STANDARD_ERROR)).unwrap_or(USUAL)
}

/// Number of columns according to the shell's `COLUMNS`.
pub(crate) fn told() -> Option<usize> {
    let told = std::env::var("COLUMNS").ok()?;
    told.trim().parse().ok().filter(|&columns| columns > 0)
}

fn asked(descriptor: i32) -> Option<usize> {
    fathom_sys::terminal::size(descriptor).map(|(columns, _)| usize::from(columns))
}

/// Wraps long lines at spaces; continuation lines align with the first word.
pub(crate) fn wrapped(text: &str, columns: usize) -> String {
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '*']).len();
    text.lines().map(|line| hanging(line, indent(line), columns)).collect()
}

/// Wraps a long line at spaces; continuation lines are indented by `indent`.
pub(crate) fn hanging(line: &str, indent: usize, columns: usize) -> String {
    let words = line.trim_start();
    let mut result = line[..line.len() - words.len()].to_owned();
    let mut used = result.len();
    let mut is_first = true;
    for word in words.split_inclusive(' ') {
        if !is_first && used + width(word.trim_end()) > columns {
            result.truncate(result.trim_end().len());
            result.push('\n');
            result.push_str(&" ".repeat(indent));
            used = indent;
        }
        result.push_str(word);
        used += width(word);
        is_first = false;
    }
    result.truncate(result.trim_end_matches(' ').len());
    result.push('\n');
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_in_sentences_leave_the_other_words_whole() {
        assert_eq!(words_cut_to("job abcdefghijkl ran", Some(7)), "job abc…jkl ran");
        assert_eq!(words_cut_to("job abcdefghijkl ran", None), "job abcdefghijkl ran");
    }

    #[test]
    fn widths_are_those_of_a_terminal() {
        for (text, columns) in [("read", 4), ("読む", 4), ("e\u{301}", 1), ("💾", 2), ("µs", 2), ("", 0)]
        {
            assert_eq!(width(text), columns, "{text}");
        }
        assert_eq!((left("読", 4), right("e\u{301}", 3)), ("読  ".into(), "  e\u{301}".into()));
    }

    #[test]
    fn the_middle_is_cut_out() {
        assert_eq!(cut("/mnt/fast/data.bin", 12), "/mnt/f…a.bin");
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("読み書きの試験", 8), "読み…験");
        assert_eq!(cut("ab\u{301}c", 2), "a…");
        assert_eq!((cut("abc", 1), cut("abc", 0)), ("…".into(), "…".into()));
        assert_eq!((cut_to("abcdef", None), cut_to("abcdef", Some(3))), ("abcdef".into(), "a…f".into()));
    }

    proptest! {
        #[test]
        fn what_is_cut_fits(text in "\\PC{0,40}", columns in 1usize..30) {
            let found = cut(&text, columns);
            prop_assert!(width(&found) <= columns, "{} > {columns}: {found}", width(&found));
            prop_assert!(width(&text) > columns || found == text);
        }
    }

    #[test]
    fn lines_are_broken_at_blanks() {
        assert_eq!(wrapped("a\n\n  * one two three four\n", 12), "a\n\n  * one two\n    three\n    four\n");
        assert_eq!(wrapped("averyveryverylongword", 5), "averyveryverylongword\n");
        assert_eq!(hanging("warning: one two three", 9, 16), "warning: one two\n         three\n");
    }
}
