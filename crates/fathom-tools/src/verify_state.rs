//! Reads verify state files: which writes were in flight or done last when a verify job stopped.
//!
//! All numbers are little endian. A header (version, size of the rest, CRC-32C of the rest) is followed by one thread
//! after another. Version 7 lists the numbers of the writes in flight, version 3 the places of the last completions.

use crate::failure::Failure;
use crate::{FioProgram, Streams, Tool, arguments, input};
use arguments::Format;
use lexopt::Arg::{Long, Value};
use serde_json::{Value as Json, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Bytes of the header.
const HEADER: usize = 24;
/// Marks a place of the list of writes in flight that is free.
const FREE: u64 = u64::MAX;

pub(crate) const TOOL: Tool = Tool {
    name: "verify-state",
    summary: "Show what is in a verify state file",
    help: "\
Usage: fathom verify-state [--format=text|json] FILE...

Shows the state that a verify job saved: its name, depth, number of writes, and the writes that were in flight
(version 7, fio 3.42 and fathom) or done last (version 3, older fio).

  --format=text|json  text is what fio-verify-state prints; default text
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
        let header = Header::read(file)?;
        match format {
            Format::Json => documents.push(header.json(file, &header.threads(file)?)),
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
    let header = Header::read(file)?;
    show(file, &header, streams)?;
    Ok(0)
}

/// A state file with its threads still as bytes.
struct Header {
    version: u64,
    size: u64,
    crc: u64,
    rest: Vec<u8>,
}

/// What a job left behind.
#[derive(Debug, PartialEq, Eq)]
struct Thread {
    name: String,
    depth: u32,
    ios: u64,
    index: u64,
    writes: Writes,
}

#[derive(Debug, PartialEq, Eq)]
enum Writes {
    /// Numbers of the writes in flight; `None` is a free place.
    InFlight(Vec<Option<u64>>),
    /// File number and offset of the writes that were done last, oldest first.
    Completed(Vec<(u64, u64)>),
}

impl Header {
    fn read(file: &Path) -> Result<Header, Failure> {
        let mut bytes = input::bytes(file)?;
        if bytes.len() < HEADER {
            return Err(Failure::new(format!(
                "{}: {} bytes are too few for a verify state; was the file cut off?",
                file.display(),
                bytes.len()
            )));
        }
        let rest = bytes.split_off(HEADER);
        let mut fields = Fields { bytes: &bytes };
        let mut next = || fields.u64().unwrap_or_default();
        Ok(Header { version: next(), size: next(), crc: next(), rest })
    }

    /// The threads, after a check of size, checksum and version.
    fn threads(&self, file: &Path) -> Result<Vec<Thread>, Failure> {
        let fail = |what: String| Failure::new(format!("{}: {what}", file.display()));
        if self.rest.len() as u64 != self.size {
            return Err(fail(format!(
                "Size mismatch: {} bytes after the header, which says {}",
                self.rest.len(),
                self.size
            )));
        }
        let crc = checksum(&self.rest);
        if crc != self.crc {
            return Err(fail(format!("crc mismatch {crc:x} != {:x}: the file is damaged", self.crc)));
        }
        let read_thread = match self.version {
            7 => read_version_7,
            3 => read_version_3,
            other => return Err(fail(format!("Unsupported version {other}; versions 3 and 7 are known"))),
        };
        let mut fields = Fields { bytes: &self.rest };
        let mut threads = Vec::new();
        while !fields.bytes.is_empty() {
            let thread = read_thread(&mut fields);
            threads.push(thread.ok_or_else(|| fail("the state of a thread is cut off".to_owned()))?);
        }
        Ok(threads)
    }

    fn json(&self, file: &Path, threads: &[Thread]) -> Json {
        let threads: Vec<Json> = threads
            .iter()
            .map(|thread| {
                let (key, writes) = match &thread.writes {
                    Writes::InFlight(numbers) => ("inflight_writes", json!(numbers)),
                    Writes::Completed(places) => {
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
            "file": file.display().to_string(), "version": self.version, "size": self.size,
            "crc": self.crc, "threads": threads
        })
    }
}

/// CRC-32C without the inversion at its end, which is how fio keeps it.
fn checksum(bytes: &[u8]) -> u64 {
    u64::from(!crc32c::crc32c(bytes))
}

/// Prints the header before anything is checked, so that it can be looked at even if the rest is broken.
fn show(file: &Path, header: &Header, streams: &mut Streams<'_>) -> Result<(), Failure> {
    let Header { version, size, crc, .. } = header;
    writeln!(streams.out, "Version:\t0x{version:x}\nSize:\t\t{size}\nCRC:\t\t0x{crc:x}")?;
    for (number, thread) in header.threads(file)?.iter().enumerate() {
        let Thread { name, depth, ios, index, writes } = thread;
        writeln!(streams.out, "Thread:\t\t{number}\nName:\t\t{name}")?;
        if let Writes::Completed(places) = writes {
            writeln!(streams.out, "Completions:\t{}", places.len())?;
        }
        writeln!(streams.out, "Depth:\t\t{depth}\nNumber IOs:\t{ios}\nIndex:\t\t{index}")?;
        match writes {
            Writes::InFlight(numbers) => {
                writeln!(streams.out, "Inflight writes:")?;
                for number in numbers {
                    match number {
                        Some(number) => writeln!(streams.out, "\t{number}")?,
                        None => writeln!(streams.out, "\tNot inflight")?,
                    }
                }
            }
            Writes::Completed(places) => {
                writeln!(streams.out, "Completions:")?;
                for (file, offset) in places {
                    writeln!(streams.out, "\t(file={file:2}) {offset}")?;
                }
            }
        }
    }
    Ok(())
}

fn read_version_7(fields: &mut Fields<'_>) -> Option<Thread> {
    let depth = fields.u32()?;
    fields.u32()?;
    let ios = fields.u64()?;
    let index = fields.u64()?;
    let name = fields.generator_and_name()?;
    let numbers = (0..depth)
        .map(|_| fields.u64().map(|number| (number != FREE).then_some(number)))
        .collect::<Option<_>>()?;
    Some(Thread { name, depth, ios, index, writes: Writes::InFlight(numbers) })
}

fn read_version_3(fields: &mut Fields<'_>) -> Option<Thread> {
    let completions = fields.u64()?;
    let depth = fields.u32()?;
    fields.u32()?; // number of files
    let ios = fields.u64()?;
    let index = fields.u64()?;
    let name = fields.generator_and_name()?;
    let mut places =
        (0..completions).map(|_| Some((fields.u64()?, fields.u64()?))).collect::<Option<Vec<_>>>()?;
    // The file has the last one first.
    places.reverse();
    Some(Thread { name, depth, ios, index, writes: Writes::Completed(places) })
}

/// Little-endian numbers, one after the other.
struct Fields<'a> {
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// Skips the state of the random generator (which one, 48 bytes) and reads the 64 bytes of the job's name.
    fn generator_and_name(&mut self) -> Option<String> {
        self.take(8 + 48)?;
        let name = self.take(64)?;
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        Some(String::from_utf8_lossy(&name[..end]).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
