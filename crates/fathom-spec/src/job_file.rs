//! The job file dialect: sections, options, comments, includes and `${NAME}`.

use fathom_errors::plain;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, Origin};
use crate::keywords;
use crate::message::Message;
use crate::raw_option::RawOption;
use crate::source::Source;

/// Maximum depth of nested includes; deeper nesting means that files include each other.
const DEEPEST_INCLUDE: usize = 16;

/// Maximum length of a section name; longer names are truncated.
const LONGEST_NAME: usize = 255;

/// Maximum number of characters of a line that messages show, because longer lines were not written by hand.
const LONGEST_SHOWN: usize = 100;

/// A section with its options, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    pub(crate) options: Vec<RawOption>,
}

impl Section {
    /// True if the section's name begins with "global", so that it changes the defaults of the sections after
    /// it.
    pub(crate) fn is_global(&self) -> bool {
        is_global_name(&self.name)
    }
}

/// True if a section or job of this name sets defaults.
pub(crate) fn is_global_name(name: &str) -> bool {
    name.starts_with("global")
}

/// The content that was parsed before the file ended or a mistake stopped parsing.
#[derive(Debug, Default)]
pub(crate) struct JobFile {
    pub(crate) sections: Vec<Section>,
    /// Notes on text that was not parsed as it looks.
    pub(crate) notes: Vec<Message>,
    /// Messages about the mistake that stopped parsing; empty if there was none.
    pub(crate) failure: Vec<Message>,
}

/// Reads a job file, `-` being standard input.
pub(crate) fn read(path: &str, source: &dyn Source) -> JobFile {
    let text = if path == "-" { source.read_stdin() } else { source.read_file(Path::new(path)) };
    match text {
        Ok(text) => read_text(&text, path, source),
        Err(error) => {
            let hint = match path.contains('=') && error.kind() == std::io::ErrorKind::NotFound {
                true => "; options begin with two dashes, such as --name=job --filename=file --rw=read",
                false => "",
            };
            let problem = format!("job file {path}: {error}{hint}", error = plain(&error));
            let failure = vec![
                Message::stderr(format!("fio: unable to open '{path}' job file")),
                Diagnostic::general(&Origin::CommandLine, problem).message(),
            ];
            JobFile { failure, ..JobFile::default() }
        }
    }
}

/// Parses the text of a job file. Messages refer to the file as `path`.
pub(crate) fn read_text(text: &str, path: &str, source: &dyn Source) -> JobFile {
    let mut reader = Reader { source, file: JobFile::default(), open: false, open_was_lost: false };
    reader.read_lines(text, Path::new(path), 0);
    reader.file
}

/// Removes comments and surrounding spaces.
fn without_comment(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or("").trim()
}

/// The text of a line, truncated if it is long.
fn shortened(line: &str) -> Cow<'_, str> {
    match line.char_indices().nth(LONGEST_SHOWN) {
        Some((end, _)) => format!("{}...", &line[..end]).into(),
        None => line.into(),
    }
}

/// Describes what a line outside of all sections probably is.
fn without_section(line: &str, name: &str, value: Option<&str>, origin: &Origin) -> Diagnostic {
    if line.contains('\0') {
        return Diagnostic::general(
            origin,
            "this is a binary file, not a job file; if it is a block trace, --read_iolog replays it",
        );
    }
    if line.starts_with('{') {
        let problem = "this is JSON, not a job file; if it is the result of a run, fathom show prints it and fathom report makes a page of it";
        return Diagnostic::general(origin, problem);
    }
    let (name, value) = (shortened(name), value.map(shortened));
    let expected = "options need a section above them, such as [global] or [job1]";
    Diagnostic::option(origin, &name, value.as_deref(), expected)
}

struct Reader<'a> {
    source: &'a dyn Source,
    file: JobFile,
    /// True if a section is open, so that options may follow.
    open: bool,
    /// True if a failed include has closed the section.
    open_was_lost: bool,
}

impl Reader<'_> {
    /// Parses the lines of a file; `depth` distinguishes an included file from the job file.
    fn read_lines(&mut self, text: &str, path: &Path, depth: usize) {
        // The byte order mark with which Windows editors begin a file is skipped.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (index, line) in text.lines().enumerate() {
            let line = without_comment(line);
            let origin = Origin::File { path: path.to_owned(), line: index + 1 };
            if line.is_empty() {
                continue;
            }
            if !self.file.failure.is_empty() {
                self.stop_after_include(line, depth);
                return;
            }
            if line.starts_with('[') {
                self.open_section(line, origin, depth);
            } else if let Some(included) = included_file(line) {
                self.include(included, path, origin, depth);
            } else {
                self.read_option(line, origin);
            }
        }
    }

    fn open_section(&mut self, line: &str, origin: Origin, depth: usize) {
        if depth > 0 {
            self.file.failure = vec![
                Message::stderr("No new sections in included files"),
                Diagnostic::general(&origin, format!("{line} is only allowed in the job file itself"))
                    .message(),
            ];
            return;
        }
        // If the bracket is missing, the last letter is dropped instead, as in fio.
        let inner = match line.rfind(']') {
            Some(end) => &line[1..end],
            None => {
                let problem =
                    format!("section {line} has no closing bracket, and its last letter is taken for one");
                self.file.notes.push(Diagnostic::general(&origin, problem).message());
                let last = line.char_indices().last().map_or(1, |(at, _)| at);
                line.get(1..last).unwrap_or("")
            }
        };
        let name: String = inner.chars().take(LONGEST_NAME).collect();
        self.file.sections.push(Section { name, origin, options: Vec::new() });
        self.open = true;
    }

    /// Expands the variables in a text. Unset variables are reported, because fio silently drops them.
    fn expand_variables(&mut self, text: &str, origin: &Origin) -> String {
        let (expanded, unset) = keywords::expand_variables(text, self.source);
        self.file.notes.extend(unset.into_iter().map(|name| {
            let problem = format!("the variable {name} is not set; the empty string takes its place");
            Diagnostic::general(origin, problem).message()
        }));
        expanded
    }

    fn read_option(&mut self, written: &str, origin: Origin) {
        let line = self.expand_variables(written, &origin);
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (line.as_str(), None),
        };
        match self.file.sections.last_mut().filter(|_| self.open) {
            Some(section) => {
                let value = value.map(|value| keywords::expand_keywords(value, self.source));
                let option = RawOption::new(name, value, origin);
                let unexpanded = written.contains('$').then(|| written.to_owned());
                section.options.push(RawOption { unexpanded, ..option });
            }
            None => {
                let shown = shortened(&line);
                self.file.failure = vec![
                    Message::stderr(format!("fio: option <{shown}> outside of [] job section")),
                    without_section(&line, name, value, &origin).message(),
                ];
            }
        }
    }

    /// Includes a file, which is found by its name or in the directory of the including file.
    fn include(&mut self, name: &str, includer: &Path, origin: Origin, depth: usize) {
        if !self.open {
            self.read_option(&format!("include {name}"), origin);
            return;
        }
        let name = self.expand_variables(name, &origin);
        let beside: PathBuf = includer.parent().unwrap_or(Path::new("")).join(&name);
        let shown = beside.display().to_string();
        let found = self
            .source
            .read_file(Path::new(&name))
            .map(|text| (PathBuf::from(&name), text))
            .or_else(|_| self.source.read_file(&beside).map(|text| (beside, text)));
        match found {
            Ok((path, text)) if depth < DEEPEST_INCLUDE => {
                self.read_lines(&text, &path, depth + 1);
                if !self.file.failure.is_empty() {
                    self.close_after_include(&name);
                }
            }
            Ok(_) => {
                let problem = format!("include {name}: files include each other");
                self.file.failure.push(Diagnostic::general(&origin, problem).message());
            }
            Err(error) => {
                self.file.failure.push(Message::stderr(format!("fio: unable to open '{shown}' job file")));
                self.close_after_include(&name);
                let problem = format!("include {name}: {error}", error = plain(&error));
                self.file.failure.push(Diagnostic::general(&origin, problem).message());
            }
        }
    }

    /// Closes the job after a failed include, so that the next option causes an error, as in fio.
    fn stop_after_include(&mut self, line: &str, depth: usize) {
        let is_option = !line.starts_with('[') && included_file(line).is_none();
        if depth == 0 && self.open_was_lost && is_option {
            self.insert_before_ours(format!("fio: option <{line}> outside of [] job section"));
        }
    }

    fn insert_before_ours(&mut self, line: String) {
        let at = self.file.failure.iter().position(is_ours).unwrap_or(self.file.failure.len());
        self.file.failure.insert(at, Message::stderr(line));
    }

    fn close_after_include(&mut self, name: &str) {
        self.insert_before_ours(format!("Error 1 while parsing include file {name}"));
        self.open_was_lost = true;
        self.open = false;
    }
}

fn is_ours(message: &Message) -> bool {
    message.text.starts_with("fathom: ")
}

fn included_file(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("include")?;
    rest.starts_with([' ', '\t']).then(|| rest.trim())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::MemorySource;

    fn sections(text: &str) -> Vec<(String, Vec<String>)> {
        let source = MemorySource::with_file("job.fio", text);
        let file = read("job.fio", &source);
        assert_eq!(file.failure, []);
        file.sections
            .into_iter()
            .map(|section| (section.name, section.options.iter().map(RawOption::text).collect()))
            .collect()
    }

    fn failure(source: &MemorySource) -> Vec<String> {
        read("job.fio", source).failure.into_iter().map(|message| message.text).collect()
    }

    #[test]
    fn sections_options_and_comments_are_distinguished() {
        let found = sections("; head\n[a b]\n  rw = read ; why\n\nthread # on\n[b]\nsize=1m\n");
        assert_eq!(found[0], ("a b".to_owned(), vec!["rw=read".to_owned(), "thread".to_owned()]));
        assert_eq!(found[1], ("b".to_owned(), vec!["size=1m".to_owned()]));
    }

    #[test]
    fn a_missing_bracket_takes_a_letter() {
        assert_eq!(sections("[a]b] x\n")[0].0, "a]b");
        assert_eq!(
            sections("[a\n[bc\n[]\n").iter().map(|one| one.0.as_str()).collect::<Vec<_>>(),
            ["", "b", ""]
        );
    }

    #[test]
    fn options_need_a_section() {
        let lines = failure(&MemorySource::with_file("job.fio", "rw=read\n[a]\n"));
        assert_eq!(lines[0], "fio: option <rw=read> outside of [] job section");
        assert!(lines[1].starts_with("fathom: job.fio:1: "));
    }

    #[test]
    fn includes_are_spliced_in() {
        let mut source = MemorySource::with_file("dir/job.fio", "[a]\ninclude more\nbs=4k\n");
        source.files.insert("dir/more".into(), "rw=write\n".to_owned());
        let file = read("dir/job.fio", &source);
        let options: Vec<String> = file.sections[0].options.iter().map(RawOption::text).collect();
        assert_eq!(options, ["rw=write", "bs=4k"]);
    }

    #[test]
    fn missing_and_wrong_includes_are_named() {
        let mut source = MemorySource::with_file("job.fio", "[a]\ninclude nope\n");
        let lines = failure(&source);
        assert_eq!(lines[0], "fio: unable to open 'nope' job file");
        assert_eq!(lines[1], "Error 1 while parsing include file nope");
        source.files.insert("nope".into(), "[b]\n".to_owned());
        let lines = failure(&source);
        assert_eq!(lines[0], "No new sections in included files");
        assert_eq!(lines[1], "Error 1 while parsing include file nope");
        source.files.insert("nope".into(), "include nope\n".to_owned());
        assert!(failure(&source).iter().any(|line| line.contains("include each other")));
    }

    #[test]
    fn variables_and_keywords_are_replaced() {
        let mut source =
            MemorySource::with_file("job.fio", "[a]\nsize=${SIZE}\nbs=$pagesize\nname=a${NONE}b\n");
        source.variables.insert("SIZE".to_owned(), "4m".to_owned());
        let file = read("job.fio", &source);
        let options: Vec<String> = file.sections[0].options.iter().map(RawOption::text).collect();
        assert_eq!(options, ["size=${SIZE}", "bs=$pagesize", "name=a${NONE}b"]);
        let values: Vec<_> =
            file.sections[0].options.iter().filter_map(|option| option.value.as_deref()).collect();
        assert_eq!(values, ["4m", "4096", "ab"]);
        assert_eq!(file.notes.len(), 1);
        assert_eq!(
            file.notes[0].text,
            "fathom: job.fio:4: the variable NONE is not set; the empty string takes its place"
        );
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_file() {
        assert_eq!(sections("\u{feff}[a]\r\nrw=read\r\n"), [("a".to_owned(), vec!["rw=read".to_owned()])]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(\\[|\\]|=|;|#|include |\\$\\{|\\}|a|\n|\\PC)*") {
            read("job.fio", &MemorySource::with_file("job.fio", &text));
        }
    }
}
