//! Reads verify state files: the writes that were in flight or completed last when a verify job stopped.

use crate::{FioProgram, Tool, input};
use arguments::Format;
use fathom_command::{Failure, Streams, arguments};
use fathom_verify::state::{SavedThread, SavedWrites, StateFile};
use lexopt::Arg::{Long, Value};
use serde_json::{Value as Json, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub(crate) const TOOL: Tool = Tool {
    name: "verify-state",
    summary: "Show the content of a verify state file",
    help: "\
Usage: fathom verify-state [--format=text|json] FILE...

Shows the state that a verify job saved: its name, depth, number of writes, and the writes that were in flight
(version 7, fio 3.42 and fathom) or done last (version 3, older fio).

  --format=text|json  text is the output of fio-verify-state; default text
",
    run,
    fio_programs: &[FioProgram { name: "fio-verify-state", run: run_as_fio }],
};

fn run(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let (mut format, mut files) = (Format::Text, Vec::new());
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Long("format") => format = arguments::format(&mut parser, &[Format::Text, Format::Json])?,
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    let files = arguments::some_files(files)?;
    let mut documents = Vec::new();
    for file in &files {
        if format == Format::Text && files.len() > 1 {
            writeln!(streams.out, "{}:", file.display())?;
        }
        let header = read(file)?;
        match format {
            Format::Json => documents.push(as_json(&header, file, &threads(&header, file)?)),
            Format::Text | Format::Csv => show(file, &header, streams)?,
        }
    }
    if format == Format::Json {
        writeln!(streams.out, "{:#}", Json::Array(documents))?;
    }
    Ok(0)
}

fn run_as_fio(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let Some(file) = words.first().map(Path::new) else {
        writeln!(streams.err, "Usage: fio-verify-state <state file>")?;
        return Ok(1);
    };
    let header = read(file)?;
    show(file, &header, streams)?;
    Ok(0)
}

/// Reads a file as far as its header.
fn read(file: &Path) -> Result<StateFile, Failure> {
    let bytes = input::bytes(file)?;
    let length = bytes.len();
    StateFile::new(bytes).ok_or_else(|| {
        Failure::new(format!(
            "{}: {length} bytes are too few for a verify state; is the file truncated?",
            file.display()
        ))
    })
}

fn threads(state: &StateFile, file: &Path) -> Result<Vec<SavedThread>, Failure> {
    state.threads().map_err(|what| Failure::new(format!("{}: {what}", file.display())))
}

fn as_json(header: &StateFile, file: &Path, threads: &[SavedThread]) -> Json {
    let threads: Vec<Json> = threads
        .iter()
        .map(|thread| {
            let (key, writes) = match &thread.writes {
                SavedWrites::InFlight(numbers) => ("inflight_writes", json!(numbers)),
                SavedWrites::Completed(places) => {
                    let one = |&(file, offset): &(u64, u64)| json!({"file": file, "offset": offset});
                    ("completions", places.iter().map(one).collect())
                }
            };
            json!({
                "name": thread.name, "depth": thread.depth, "ios": thread.ios,
                "index": thread.index, key: writes
            })
        })
        .collect();
    json!({
        "file": file.display().to_string(), "version": header.version, "size": header.size,
        "crc": header.crc, "threads": threads
    })
}

/// Prints the header before any checks, so that it is visible even if the rest is broken.
fn show(file: &Path, header: &StateFile, streams: &mut Streams<'_>) -> Result<(), Failure> {
    let StateFile { version, size, crc, .. } = header;
    writeln!(streams.out, "Version:\t0x{version:x}\nSize:\t\t{size}\nCRC:\t\t0x{crc:x}")?;
    for (number, thread) in threads(header, file)?.iter().enumerate() {
        let SavedThread { name, depth, ios, index, writes } = thread;
        writeln!(streams.out, "Thread:\t\t{number}\nName:\t\t{name}")?;
        if let SavedWrites::Completed(places) = writes {
            writeln!(streams.out, "Completions:\t{}", places.len())?;
        }
        writeln!(streams.out, "Depth:\t\t{depth}\nNumber IOs:\t{ios}\nIndex:\t\t{index}")?;
        match writes {
            SavedWrites::InFlight(numbers) => {
                writeln!(streams.out, "Inflight writes:")?;
                for number in numbers {
                    match number {
                        Some(number) => writeln!(streams.out, "\t{number}")?,
                        None => writeln!(streams.out, "\tNot inflight")?,
                    }
                }
            }
            SavedWrites::Completed(places) => {
                writeln!(streams.out, "Completions:")?;
                for (file, offset) in places {
                    writeln!(streams.out, "\t(file={file:2}) {offset}")?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_verify::state::{FREE, HEADER, checksum};
    use proptest::prelude::*;

    fn thread_7(name: &str, ios: u64, numbers: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend((numbers.len() as u32).to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(ios.to_le_bytes());
        bytes.extend([0; 8 + 8 + 48]);
        bytes.extend(name.bytes().chain(std::iter::repeat(0)).take(64));
        numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes
    }

    fn file_of(version: u64, rest: &[u8]) -> tempfile::NamedTempFile {
        let header = [version, rest.len() as u64, checksum(rest)];
        let mut bytes: Vec<u8> = header.iter().flat_map(|number| number.to_le_bytes()).collect();
        bytes.extend(rest);
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(file.path(), bytes).expect("it can be written");
        file
    }

    fn printed(file: &Path) -> (String, Result<u8, String>) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut streams = Streams { out: &mut out, err: &mut err };
        let done = run_as_fio(&[file.into()], &mut streams).map_err(|failure| failure.to_string());
        (String::from_utf8(out).expect("text"), done)
    }

    #[test]
    fn version_7_is_shown_as_fio_does() {
        let file = file_of(7, &thread_7("vs", 16, &[FREE, 12]));
        let (text, done) = printed(file.path());
        assert_eq!(done, Ok(0));
        let (head, tail) = text.split_at(text.find("Thread").expect("a thread"));
        assert!(head.starts_with("Version:\t0x7\nSize:\t\t160\nCRC:\t\t0x"), "{head}");
        assert_eq!(
            tail,
            "Thread:\t\t0\nName:\t\tvs\nDepth:\t\t2\nNumber IOs:\t16\nIndex:\t\t0\n\
             Inflight writes:\n\tNot inflight\n\t12\n"
        );
    }

    #[test]
    fn damage_is_told_after_the_header() {
        let good = file_of(7, &thread_7("vs", 1, &[FREE]));
        let bytes = std::fs::read(good.path()).expect("just written");
        let mut damaged = bytes.clone();
        damaged[HEADER + 8] ^= 1;
        std::fs::write(good.path(), damaged).expect("it can be written");
        let (text, done) = printed(good.path());
        assert!(text.starts_with("Version:\t0x7\n") && !text.contains("Thread"), "{text}");
        assert!(done.expect_err("damaged").contains("crc mismatch "));
        std::fs::write(good.path(), &bytes[..bytes.len() - 8]).expect("it can be written");
        assert!(printed(good.path()).1.expect_err("cut off").contains("Size mismatch"));
        let newer = file_of(9, &[0; 8]);
        assert!(printed(newer.path()).1.expect_err("newer").contains("Unsupported version 9"));
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(version in 0u64..9, rest in proptest::collection::vec(any::<u8>(), 0..400)) {
            let file = file_of(version, &rest);
            let _ = printed(file.path());
        }
    }
}
