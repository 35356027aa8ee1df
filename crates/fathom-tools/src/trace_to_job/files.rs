//! A recording of files as an I/O log, which `read_iolog` replays.

use fathom_command::{Failure, Streams};
use fathom_stats::counted;
use fathom_trace::error::CutOff;
use fathom_trace::files::{Call, CallEnd, FileEntry, FileKind, FileTrace, Item, Operation};
use fathom_trace::iolog;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The log is written in pieces of this size.
const PIECE: usize = 64 << 10;

/// What is left out of a log.
#[derive(Debug, Default)]
struct LeftOut {
    pseudo: u64,
    unnamed: u64,
    unplaced: u64,
    odd_names: u64,
}

/// Turns calls into lines.
struct Log<'a> {
    directory: Option<&'a Path>,
    files: HashMap<u32, FileEntry>,
    /// Names of the files that the log has, by number.
    names: HashMap<u32, String>,
    begin_ns: Option<u64>,
    last_us: u64,
    text: Vec<u8>,
    left_out: LeftOut,
    lines: u64,
}

/// Writes the log of a recording; `place` is its name in messages.
pub(super) fn write_log(
    reader: impl Read,
    place: &str,
    directory: Option<&Path>,
    out: &mut dyn Write,
    streams_err: &mut dyn FnMut(String) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("the log: {error}"));
    let mut trace = FileTrace::open(reader).map_err(|error| Failure::new(format!("{place}: {error}")))?;
    let mut log = Log::new(directory);
    let cut_off: Option<CutOff> = loop {
        match trace.next() {
            Ok(Some(Item::Begin(begin))) if !begin.names => {
                return Err(Failure::new(format!(
                    "{place}: it was recorded without names, which a log needs: record again with --names; fathom characterize needs none"
                )));
            }
            Ok(Some(item)) => log.take(item),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
        if log.text.len() >= PIECE {
            out.write_all(&log.text).map_err(failed)?;
            log.text.clear();
        }
    };
    log.end();
    out.write_all(&log.text).and_then(|()| out.flush()).map_err(failed)?;
    if let Some(cut_off) = cut_off {
        let records = counted(trace.records(), "record");
        streams_err(format!("{place}: after {records}: {cut_off}; the log has what was before"))?;
    }
    if log.lines == 0 {
        return Err(Failure::new(format!("{place}: no file with a name was read, written or synced")));
    }
    let LeftOut { pseudo, unnamed, unplaced, odd_names } = log.left_out;
    for (count, why) in [
        (pseudo, "on files of pseudo file systems such as /proc"),
        (unnamed, "on files whose name is unknown"),
        (unplaced, "at an unknown offset"),
        (odd_names, "on files with white space or other signs in their name that a log cannot have"),
    ] {
        if count > 0 {
            streams_err(format!("{place}: {} {why} left out", counted(count, "call")))?;
        }
    }
    Ok(())
}

impl<'a> Log<'a> {
    fn new(directory: Option<&'a Path>) -> Log<'a> {
        Log {
            directory,
            files: HashMap::new(),
            names: HashMap::new(),
            begin_ns: None,
            last_us: 0,
            text: format!("{}\n", iolog::HEADER).into_bytes(),
            left_out: LeftOut::default(),
            lines: 0,
        }
    }

    fn take(&mut self, item: Item) {
        match item {
            Item::File(file) => {
                self.files.insert(file.id, file);
            }
            Item::Call(call) => self.call(&call),
            Item::Begin(_) | Item::Task(_) | Item::Done(_) | Item::Lost(_) | Item::End(_) => {}
        }
    }

    fn call(&mut self, call: &Call) {
        let word = match call.operation {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Sync => "sync",
            Operation::DataSync => "datasync",
            Operation::RangeSync => "sync_file_range",
            _ => return,
        };
        if self.files.get(&call.file).is_some_and(|file| file.kind == FileKind::Pseudo) {
            self.left_out.pseudo += 1;
            return;
        }
        let length = match call.end {
            CallEnd::Known(_, result) if !call.operation.is_sync() => {
                // What failed, or gave nothing, moves no data when it is repeated.
                match u32::try_from(result) {
                    Ok(0) | Err(_) => return,
                    Ok(moved) => moved,
                }
            }
            _ if call.operation.is_sync() => 0,
            _ => u32::try_from(call.length).unwrap_or(0).min(i32::MAX as u32),
        };
        let offset = if call.operation.is_sync() { Some(0) } else { call.offset };
        let Some(offset) = offset.filter(|_| length > 0 || call.operation.is_sync()) else {
            self.left_out.unplaced += 1;
            return;
        };
        let begin = *self.begin_ns.get_or_insert(call.time_ns);
        self.last_us = (call.time_ns - begin) / 1000;
        let Some(name) = self.name(call.file) else { return };
        iolog::write_io_line(&mut self.text, self.last_us, &name, word, offset, length);
        self.lines += 1;
    }

    /// The name of a file in the log; it is added and opened when it is first used.
    fn name(&mut self, id: u32) -> Option<String> {
        if let Some(name) = self.names.get(&id) {
            return Some(name.clone());
        }
        let file = self.files.get(&id).filter(|file| file.kind != FileKind::Unknown && !file.name.is_empty());
        let Some(file) = file else {
            self.left_out.unnamed += 1;
            return None;
        };
        let is_plain =
            |name: &&str| !name.contains(|letter: char| letter.is_whitespace() || letter.is_control());
        let name = std::str::from_utf8(&file.name).ok().filter(is_plain);
        let Some(name) = name else {
            self.left_out.odd_names += 1;
            return None;
        };
        let name = match self.directory {
            Some(directory) => directory.join(name.trim_start_matches('/')),
            None => PathBuf::from(name),
        };
        let name = name.to_string_lossy().into_owned();
        iolog::write_file_line(&mut self.text, self.last_us, &name, "add");
        iolog::write_file_line(&mut self.text, self.last_us, &name, "open");
        self.names.insert(id, name.clone());
        Some(name)
    }

    fn end(&mut self) {
        let mut names: Vec<String> = std::mem::take(&mut self.names).into_values().collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            iolog::write_file_line(&mut self.text, self.last_us, &name, "close");
        }
    }
}

/// Says on the screen what a caller has to know.
pub(super) fn teller<'a>(streams: &'a mut Streams<'_>) -> impl FnMut(String) -> Result<(), Failure> + 'a {
    move |line| Ok(writeln!(streams.err, "{line}")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_trace::files::{Begin, Encoder, End, MAGIC};

    fn log(names: bool, directory: Option<&Path>) -> (Result<(), Failure>, String, Vec<String>) {
        let of_kind = |id, kind, name: &str| {
            Item::File(FileEntry { id, kind, size: 0, name: name.as_bytes().to_vec() })
        };
        let file = |id, name| of_kind(id, FileKind::Regular, name);
        let call = |time_ns, operation, file, offset, result| {
            let end = CallEnd::Known(5, result);
            Item::Call(Call { time_ns, tid: 1, operation, is_ring: false, file, offset, length: 8192, end })
        };
        let items = [
            Item::Begin(Box::new(Begin { names, ..Begin::default() })),
            file(1, "/db/data"),
            file(2, "/db/a b"),
            of_kind(4, FileKind::Pseudo, "/proc/self/oom_score_adj"),
            call(4_000_000, Operation::Write, 4, Some(0), 2),
            call(5_000_000, Operation::Open, 1, None, 3),
            call(6_000_000, Operation::Write, 1, Some(4096), 8192),
            call(6_500_000, Operation::Read, 1, Some(0), 0),
            call(7_000_000, Operation::DataSync, 1, None, 0),
            call(8_000_000, Operation::Write, 2, Some(0), 10),
            call(8_000_000, Operation::Write, 3, Some(0), 10),
            call(9_000_000, Operation::Read, 1, None, 10),
            Item::End(End::default()),
        ];
        let (mut encoder, mut bytes) = (Encoder::default(), MAGIC.to_vec());
        items.iter().for_each(|item| encoder.put(item, &mut bytes));
        let (mut out, mut told) = (Vec::new(), Vec::new());
        let result = write_log(&bytes[..], "x", directory, &mut out, &mut |line| {
            told.push(line);
            Ok(())
        });
        (result, String::from_utf8(out).expect("text"), told)
    }

    #[test]
    fn calls_are_lines_of_a_log() {
        let (result, text, told) = log(true, None);
        result.expect("written");
        assert_eq!(
            text,
            "fio version 3 iolog\n0 /db/data add\n0 /db/data open\n0 /db/data write 4096 8192\n1000 /db/data datasync 0 0\n\
             2000 /db/data close\n"
        );
        assert_eq!(told.len(), 4, "{told:?}");
        assert_eq!(told[0], "x: 1 call on files of pseudo file systems such as /proc left out");
        let (_, text, _) = log(true, Some(Path::new("/scratch")));
        assert!(text.contains("0 /scratch/db/data write 4096 8192\n"), "{text}");
    }

    #[test]
    fn a_recording_without_names_is_refused() {
        let (result, ..) = log(false, None);
        assert!(result.expect_err("refused").to_string().contains("--names"));
    }
}
