//! The functions that process arbitrary bytes. They must not panic, hang, or use unbounded memory; inputs that
//! once caused such a failure are kept in `fuzz/findings`, and the tests of the program replay them.

use fathom_command::printer::Screen;
use fathom_hosts::frames::{self, Splitter};
use fathom_hosts::protocol::{FromAgent, ToAgent};
use fathom_logs::compressed::inflate;
use fathom_run::plan::Plan;
use fathom_spec::{FormatDeclaration, Machine, Outcome, Source};
use fathom_stats::report::RunReport;
use fathom_trace::Rules;
use fathom_trace::blktrace::Trace;
use fathom_trace::events::Events;
use fathom_trace::files::{self, FileTrace, Item};
use fathom_trace::reader::Reader;
use fathom_trace::scan::scan;
use fathom_trace::side::Note;
use fathom_verify::ledger::{Account, After, FileToCheck, check};
use fathom_verify::state::StateFile;
use fathom_workload::Characterizer;
use std::ffi::OsString;
use std::io::{Cursor, Error, ErrorKind, Result, Write};
use std::path::Path;
use std::sync::LazyLock;

/// A target: its name and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("job_language", job_language),
    ("command_line", command_line),
    ("io_log", io_log),
    ("block_trace", block_trace),
    ("file_trace", file_trace),
    ("result", result),
    ("verify_state", verify_state),
    ("ledger", ledger),
    ("histogram_log", histogram_log),
    ("frames", frames),
];

/// A machine on which every file has the same content.
struct Memory(String);

impl Machine for Memory {
    fn read_file(&self, path: &Path) -> Result<String> {
        match path.to_str() {
            Some("missing") => Err(Error::from(ErrorKind::NotFound)),
            _ => Ok(self.0.clone()),
        }
    }

    fn read_stdin(&self) -> Result<String> {
        Ok(self.0.clone())
    }

    fn variable(&self, name: &str) -> Option<String> {
        (name != "UNSET").then(|| "4k".to_owned())
    }

    fn exists(&self, path: &Path) -> bool {
        path != Path::new("missing")
    }

    fn is_directory(&self, path: &Path) -> bool {
        path != Path::new("missing")
    }

    fn online_cpus(&self) -> u32 {
        4
    }

    fn configured_cpus(&self) -> u32 {
        8
    }

    fn page_size(&self) -> u64 {
        4096
    }

    fn memory_mib(&self) -> u64 {
        4096
    }
}

impl Source for Memory {
    fn formats(&self) -> &[&'static FormatDeclaration] {
        static FORMATS: LazyLock<Vec<&'static FormatDeclaration>> =
            LazyLock::new(fathom_report::declarations);
        &FORMATS
    }
}

/// Parses jobs, and plans their run without accessing files.
fn read_and_plan(arguments: &[String], source: &Memory) {
    let Outcome::Run(mut spec) = fathom_spec::parse("fathom", arguments, source) else { return };
    // One clone of each job suffices; paths named by a log are not accessed.
    spec.program.parse_only = true;
    let _ = Plan::new(&spec, fathom_engines::definition_of);
}

/// A job file.
pub fn job_language(data: &[u8]) {
    let source = Memory(String::from_utf8_lossy(data).into_owned());
    read_and_plan(&["job.fio".to_owned()], &source);
}

/// A command line, one argument per line.
pub fn command_line(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let arguments: Vec<String> = text.split('\n').map(str::to_owned).collect();
    read_and_plan(&arguments, &Memory("[job]\nsize=4k\n".to_owned()));
}

/// Recorded I/O in either format, read for a replay. The first byte selects the rules.
pub fn io_log(data: &[u8]) {
    let Some((&choice, data)) = data.split_first() else { return };
    let rules = Rules {
        keeps_time: choice & 1 == 0,
        speed_percent: [100, 1, 250, u32::MAX][usize::from(choice >> 1 & 3)],
        offset_divisor: [1, 7][usize::from(choice >> 3 & 1)],
        alignment: [1, 4096][usize::from(choice >> 4 & 1)],
        redirect: (choice & 32 != 0).then(|| "elsewhere".to_owned()),
        ..Rules::default()
    };
    if let Ok(mut reader) = Reader::new(Cursor::new(data), rules.clone()) {
        while let Ok(Some(_)) = reader.next() {}
    }
    if let Ok(reader) = Reader::new(Cursor::new(data), rules) {
        let _ = scan(reader);
    }
}

/// Recordings of files: their records, their events, and what load they are. The first bytes are those of any recording, so that
/// records are reached.
pub fn file_trace(data: &[u8]) {
    let content = [files::MAGIC, data].concat();
    for content in [&content[..], data] {
        if let Ok(mut trace) = FileTrace::open(content) {
            let mut last = 0;
            while let Ok(Some(item)) = trace.next() {
                if let Item::Call(call) = item {
                    assert!(call.time_ns >= last, "time goes back");
                    last = call.time_ns;
                }
            }
        }
        let Ok(mut events) = Events::open(content) else { continue };
        if events.files().is_none() {
            continue;
        }
        let mut characterizer = Characterizer::default();
        while let Ok(Some(event)) = events.next() {
            characterizer.add(&event, events.message());
        }
        characterizer.finish();
    }
}

/// A block trace, read event by event, as a log, and with dependencies.
pub fn block_trace(data: &[u8]) {
    if let Ok(mut trace) = Trace::open(Cursor::new(data)) {
        let mut payload = Vec::new();
        while let Ok(Some(_)) = trace.next_with_payload(&mut payload) {
            let _ = Note::of_payload(&payload);
        }
    }
    if let Ok(mut reader) = Reader::new(Cursor::new(data), Rules::default()) {
        while let Ok(Some(_)) = reader.next() {}
    }
    let rules = Rules { keeps_dependencies: true, ..Rules::default() };
    if let Ok(mut reader) = Reader::new(Cursor::new(data), rules) {
        while let Ok(Some(_)) = reader.next_dependent() {}
    }
    if let Ok(mut events) = Events::open(Cursor::new(data)) {
        let mut characterizer = Characterizer::default();
        while let Ok(Some(event)) = events.next() {
            characterizer.add(&event, events.message());
        }
        let _ = characterizer.finish();
    }
}

/// A result printed by fathom or fio.
pub fn result(data: &[u8]) {
    let Ok(result) = fathom_results::parse(&String::from_utf8_lossy(data), "input") else { return };
    let _ = result.servers();
    for job in &result.jobs {
        let _ = result.options(job);
        for direction in job.directions().into_iter().flatten() {
            let latency = direction.latency();
            let _ = (latency.histogram(), latency.percentile(99.0));
        }
    }
}

/// A saved verify state.
pub fn verify_state(data: &[u8]) {
    if let Some(state) = StateFile::new(data.to_vec()) {
        let _ = state.threads();
    }
    with_file(data, |path| tool("verify-state", &[path]));
}

/// A ledger, and a check of it against a file of zeros.
pub fn ledger(data: &[u8]) {
    let Ok(account) = Account::read(data) else { return };
    // In a run, files limit the size of a write; here nothing limits the declared size.
    let longest = account.operations.iter().map(|operation| operation.issued.length).max().unwrap_or(0);
    if longest > 1 << 16 || account.operations.len() > 1000 {
        return;
    }
    let files: Vec<FileToCheck> = (0..account.start.files.len().min(4) as u32)
        .map(|file| FileToCheck { name: "file".to_owned(), members: vec![(0, file)] })
        .collect();
    for after in [After::PowerCut, After::Kill] {
        let _ = check(std::slice::from_ref(&account), &files, after, None, |_, _, buffer| {
            buffer.fill(0);
            Ok(buffer.len())
        });
    }
}

/// A histogram log, possibly compressed.
pub fn histogram_log(data: &[u8]) {
    let _ = inflate(&mut Cursor::new(data), &mut Limited(1 << 20));
    with_file(data, |path| {
        tool("histogram-summary", &["--format=json".into(), path.clone()]);
        tool("halve-bins", &[path]);
    });
}

/// Messages between hosts and their controller: split into frames of arbitrary pieces, and parsed.
pub fn frames(data: &[u8]) {
    let size = usize::from(data.first().copied().unwrap_or(1).max(1));
    // Few inputs have the correct checksum, so the content of a frame is also parsed without one.
    let body = data.get(1..).unwrap_or_default();
    let _ = frames::read::<FromAgent>(body);
    let _ = frames::read::<ToAgent>(body);
    let _ = frames::read::<RunReport>(body);
    let mut splitter = Splitter::default();
    for piece in data.chunks(size) {
        splitter.add(piece);
        while let Ok(Some(frame)) = splitter.next_frame() {
            let _ = frames::read::<FromAgent>(&frame.body);
            let _ = frames::read::<ToAgent>(&frame.body);
            let _ = frames::read::<RunReport>(&frame.body);
        }
    }
}

/// Accepts up to this many bytes.
struct Limited(usize);

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or_else(|| Error::from(ErrorKind::StorageFull))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Screen for Limited {
    fn line_start(&mut self) -> Result<()> {
        self.write_all(b"\r")
    }
}

fn tool(name: &str, words: &[OsString]) {
    let (mut out, mut err) = (Limited(1 << 24), Limited(1 << 24));
    let mut streams = fathom_command::Streams { out: &mut out, err: &mut err };
    if let Some(call) = fathom_tools::Call::by_subcommand(name) {
        call.run(words, &mut streams);
    }
}

/// Provides data as a file in memory.
fn with_file(data: &[u8], work: impl FnOnce(OsString)) {
    let Ok(file) = tempfile::NamedTempFile::new_in("/dev/shm").or_else(|_| tempfile::NamedTempFile::new())
    else {
        return;
    };
    if std::fs::write(file.path(), data).is_ok() {
        work(file.path().into());
    }
}
