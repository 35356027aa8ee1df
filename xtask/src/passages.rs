//! The prose of the tree, passage by passage: comments, messages in string literals, paragraphs of pages. The
//! scanner recognizes strings and comments but no grammar, which is enough for reading and for counting words.

use crate::tree::File;

/// The kind of a passage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Comment,
    Message,
    Paragraph,
}

/// A piece of prose.
pub(crate) struct Passage {
    pub(crate) line: usize,
    pub(crate) kind: Kind,
    /// The text on one line, without markers.
    pub(crate) text: String,
}

/// All passages of a file; none for file types without prose.
pub(crate) fn of(file: &File) -> Vec<Passage> {
    match file.path.extension().and_then(|extension| extension.to_str()) {
        Some("md") => paragraphs(&file.text),
        Some("rs") => Scanner::new(&file.text, "//", "\"", true).scan(),
        Some("c" | "h" | "java" | "kt") => Scanner::new(&file.text, "//", "\"", false).scan(),
        Some("js") => Scanner::new(&file.text, "//", "\"'`", false).scan(),
        Some("py") => Scanner::new(&file.text, "#", "\"'", false).scan(),
        // An apostrophe in a here-document would open a string.
        Some("sh" | "toml") => Scanner::new(&file.text, "#", "", false).scan(),
        _ => Vec::new(),
    }
}

/// The text without code in backticks and without quotations.
pub(crate) fn without_quotations(text: &str) -> String {
    let even = |text: &str, mark: char| text.split(mark).step_by(2).collect::<Vec<_>>().join(" … ");
    let text = even(text, '`');
    if text.matches('"').count() % 2 == 0 { even(&text, '"') } else { text }
}

/// True if there are enough words for a sentence.
fn is_prose(text: &str) -> bool {
    let is_word =
        |word: &&str| word.len() > 1 && word.chars().all(|letter| letter.is_alphabetic() || letter == '\'');
    let trimmed = text.split_whitespace().map(|word| word.trim_matches(|c: char| c.is_ascii_punctuation()));
    trimmed.filter(is_word).count() >= 3
}

fn paragraphs(text: &str) -> Vec<Passage> {
    let mut found: Vec<Passage> = Vec::new();
    let (mut is_code, mut is_open) = (false, false);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            is_code = !is_code;
            is_open = false;
        } else if is_code || line.is_empty() || line.starts_with("<!--") {
            is_open = false;
        } else {
            let begins = line.starts_with(['|', '#', '*', '-']);
            match found.last_mut() {
                Some(last) if is_open && !begins => last.text = format!("{} {line}", last.text),
                _ => found.push(Passage { line: number + 1, kind: Kind::Paragraph, text: line.to_owned() }),
            }
            is_open = true;
        }
    }
    found.retain(|passage| is_prose(&passage.text));
    found
}

struct Scanner<'a> {
    text: &'a str,
    comment: &'a str,
    quotes: &'a str,
    is_rust: bool,
    at: usize,
    found: Vec<Passage>,
    /// The line after the end of the last comment, which the next comment may continue.
    next_of_comment: usize,
    /// Byte up to which lines have been counted, and the line there.
    counted: (usize, usize),
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str, comment: &'a str, quotes: &'a str, is_rust: bool) -> Scanner<'a> {
        Scanner {
            text,
            comment,
            quotes,
            is_rust,
            at: 0,
            found: Vec::new(),
            next_of_comment: 0,
            counted: (0, 1),
        }
    }

    fn scan(mut self) -> Vec<Passage> {
        while let Some(letter) = self.text[self.at..].chars().next() {
            let rest = &self.text[self.at..];
            let starts_word = !self.text[..self.at].ends_with(|before: char| !before.is_whitespace());
            if rest.starts_with(self.comment) && (self.is_rust || starts_word) {
                let line = rest.lines().next().unwrap_or_default();
                self.comment_line(line);
            } else if self.comment == "//" && rest.starts_with("/*") {
                self.enclosed("/*", "*/", Kind::Comment);
            } else if !self.quotes.is_empty() && rest.starts_with("\"\"\"") {
                self.enclosed("\"\"\"", "\"\"\"", Kind::Message);
            } else if self.is_rust && rest.starts_with("r#\"") {
                self.enclosed("r#\"", "\"#", Kind::Message);
            } else if self.is_rust && letter == '\'' {
                self.at += letter_or_lifetime(rest);
            } else if self.quotes.contains(letter) {
                self.string(letter);
            } else {
                self.at += letter.len_utf8();
            }
        }
        self.found.retain(|passage| is_prose(&passage.text));
        self.found
    }

    /// The line of the scanner's position. Positions are queried in ascending order, so that the text is
    /// counted only once.
    fn line(&mut self) -> usize {
        self.counted.1 += self.text[self.counted.0..self.at].matches('\n').count();
        self.counted.0 = self.at;
        self.counted.1
    }

    fn push(&mut self, kind: Kind, text: &str) {
        let words = |line: &str| line.trim().trim_start_matches(['/', '!', '*']).trim().to_owned();
        let text = text.lines().map(words).collect::<Vec<_>>().join(" ");
        let line = self.line();
        self.found.push(Passage { line, kind, text: text.trim().to_owned() });
    }

    fn comment_line(&mut self, line: &str) {
        let number = self.line();
        let text = line.trim_start_matches(['/', '!', '#']).trim();
        match self.found.last_mut() {
            Some(last) if last.kind == Kind::Comment && number == self.next_of_comment => {
                last.text = format!("{} {text}", last.text);
            }
            _ => self.push(Kind::Comment, text),
        }
        self.next_of_comment = number + 1;
        self.at += line.len();
    }

    fn enclosed(&mut self, open: &str, close: &str, kind: Kind) {
        let inside = &self.text[self.at + open.len()..];
        let length = inside.find(close).unwrap_or(inside.len());
        self.push(kind, &inside[..length]);
        self.at = (self.at + open.len() + length + close.len()).min(self.text.len());
    }

    fn string(&mut self, quote: char) {
        let inside = &self.text[self.at + 1..];
        let mut is_escaped = false;
        let end = inside.find(|letter| {
            let ends = letter == quote && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            ends
        });
        let length = end.unwrap_or(inside.len());
        self.push(Kind::Message, &inside[..length].replace("\\\n", "\n"));
        self.at = (self.at + length + 2).min(self.text.len());
    }
}

/// Length of a character literal, or of the quote that begins a lifetime.
fn letter_or_lifetime(rest: &str) -> usize {
    let mut letters = rest.char_indices().skip(1);
    match letters.next() {
        Some((_, '\\')) => rest[3.min(rest.len())..].find('\'').map_or(1, |end| end + 4),
        _ => letters.next().filter(|&(_, letter)| letter == '\'').map_or(1, |(at, _)| at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, text: &str) -> Vec<(usize, Kind, String)> {
        let file = File { path: name.into(), text: text.to_owned() };
        of(&file).into_iter().map(|passage| (passage.line, passage.kind, passage.text)).collect()
    }

    #[test]
    fn comments_are_joined_and_strings_are_messages() {
        let text = "//! What this file does,\n//! on two lines.\nfn a<'a>() {\n    let quote = '\"'; // one that follows code\n    \
                    b(\"no \\\"end\\\" of // it \\\n       yet\", '\\'', r#\"a raw \"one\" too\"#);\n}\n";
        let comment = |line, text: &str| (line, Kind::Comment, text.to_owned());
        let message = |line, text: &str| (line, Kind::Message, text.to_owned());
        assert_eq!(
            found("a.rs", text),
            [
                comment(1, "What this file does, on two lines."),
                comment(4, "one that follows code"),
                message(5, "no \\\"end\\\" of // it yet"),
                message(6, "a raw \"one\" too"),
            ]
        );
    }

    #[test]
    fn other_languages_have_their_marks() {
        let one = |kind, text: &str| vec![(1, kind, text.to_owned())];
        assert_eq!(
            found("a.java", "/** Reads a\n * whole block. */"),
            one(Kind::Comment, "Reads a whole block.")
        );
        assert_eq!(found("a.py", "'a message to read'"), one(Kind::Message, "a message to read"));
        assert_eq!(found("a.sh", "# isn't this long?\n"), one(Kind::Comment, "isn't this long?"));
        assert_eq!(
            found("a.md", "Two lines\nof text.\n```\nnot this one here\n```\n"),
            one(Kind::Paragraph, "Two lines of text.")
        );
        assert!(found("a.json", "\"nothing to read here\"").is_empty());
    }

    #[test]
    fn quotations_and_code_are_left_out() {
        assert_eq!(without_quotations("a `b c` d \"e f\" g"), "a  …  d  …  g");
        assert_eq!(without_quotations("6\" of `x`"), "6\" of  … ");
    }
}
