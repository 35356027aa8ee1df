//! Checks files against the ledgers of their writers.

use super::broken::{tell, times};
use super::{BROKEN, NOTHING_PROMISED, accounts};
use fathom_command::arguments::Format;
use fathom_command::{Failure, Streams, arguments};
use fathom_errors::plain;
use fathom_stats::counted;
use fathom_sys::{block_device, page_cache};
use fathom_verify::ledger::{
    Account, After, CheckError, FileToCheck, Outcome, ReadError, Unreadable, Unusable, check,
};
use lexopt::Arg::{Long, Value};
use serde_json::json;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Number of broken promises listed individually in text output.
const MOST_TOLD: usize = 100;

pub(super) fn run(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let options = Options::parse(words)?;
    let accounts = accounts(&options.ledgers)?;
    let files = files_to_check(&accounts, &options.moved)?;
    let mut opened: Vec<Option<Opened>> = files.iter().map(|_| None).collect();
    let read = |index: usize, offset: u64, buffer: &mut [u8]| {
        let opened = match &mut opened[index] {
            Some(opened) => opened,
            none => none.insert(open(&files[index].name)?),
        };
        read_at(&opened.file, offset, buffer)
    };
    let outcome = check(&accounts, &files, options.after, options.until, read)
        .map_err(|error| Failure::new(explained(&error, &options.ledgers)))?;
    let in_memory =
        opened.iter().flatten().try_fold(0u64, |sum, own| Some(sum.saturating_add(own.in_memory?)));
    match options.format {
        Format::Json => write_json(&options, &accounts, (&outcome, in_memory), streams)?,
        Format::Text | Format::Csv => write_text(&options, &accounts, (&outcome, in_memory), streams)?,
    }
    Ok(match Promises::of(&outcome) {
        Promises::Kept => 0,
        Promises::Broken => BROKEN,
        Promises::None => NOTHING_PROMISED,
    })
}

/// Result of the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promises {
    Kept,
    Broken,
    /// There was no promise, so the check has no result.
    None,
}

impl Promises {
    fn of(outcome: &Outcome) -> Promises {
        match outcome.broken_count {
            0 if outcome.promised_writes.iter().all(|&writes| writes == 0) => Promises::None,
            0 => Promises::Kept,
            _ => Promises::Broken,
        }
    }
}

struct Options {
    after: After,
    until: Option<u64>,
    moved: Vec<String>,
    format: Format,
    ledgers: Vec<PathBuf>,
}

impl Options {
    fn parse(words: &[OsString]) -> Result<Options, Failure> {
        let mut options = Options {
            after: After::PowerCut,
            until: None,
            moved: Vec::new(),
            format: Format::Text,
            ledgers: Vec::new(),
        };
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(word) = parser.next()? {
            match word {
                Long("after") => {
                    let choices = [("power-cut", After::PowerCut), ("kill", After::Kill)];
                    options.after = arguments::choice(&mut parser, "--after", &choices)?;
                }
                Long("until") => options.until = Some(arguments::number(&mut parser, "--until", 0)?),
                Long("file") => {
                    let moved = arguments::text(&mut parser, "--file")?;
                    if !moved.contains('=') {
                        return Err(Failure::new(format!(
                            "--file: `{moved}` is not RECORDED=ACTUAL, the name in the ledger and where the file is now"
                        )));
                    }
                    options.moved.push(moved);
                }
                Long("format") => {
                    options.format = arguments::format(&mut parser, &[Format::Text, Format::Json])?;
                }
                Value(file) => options.ledgers.push(file.into()),
                other => return Err(other.unexpected().into()),
            }
        }
        options.ledgers = arguments::some_files(options.ledgers)?;
        Ok(options)
    }
}

/// Returns the files of all ledgers, each of them once.
fn files_to_check(accounts: &[Account], moved: &[String]) -> Result<Vec<FileToCheck>, Failure> {
    let mut files: Vec<FileToCheck> = Vec::new();
    let mut known = HashMap::new();
    let mut is_used = vec![false; moved.len()];
    for (ledger, account) in accounts.iter().enumerate() {
        for (number, recorded) in account.start.files.iter().enumerate() {
            let place = moved.iter().position(|moved| actual_name(moved, recorded).is_some());
            let mut name = recorded.clone();
            if let Some(index) = place {
                is_used[index] = true;
                name = actual_name(&moved[index], recorded).unwrap_or_default().to_owned();
            }
            let member = (ledger, number as u32);
            // Several names may refer to the same file, so names are resolved.
            let real = std::fs::canonicalize(&name).unwrap_or_else(|_| PathBuf::from(&name));
            let index = *known.entry(real).or_insert(files.len());
            match files.get_mut(index) {
                Some(file) => file.members.push(member),
                None => files.push(FileToCheck { name, members: vec![member] }),
            }
        }
    }
    match is_used.iter().position(|used| !used) {
        Some(index) => Err(Failure::new(format!(
            "--file={}: no ledger has a file of that name; they have {}",
            moved[index],
            accounts.iter().flat_map(|account| &account.start.files).cloned().collect::<Vec<_>>().join(", ")
        ))),
        None => Ok(files),
    }
}

fn actual_name<'a>(moved: &'a str, recorded: &str) -> Option<&'a str> {
    moved.strip_prefix(recorded)?.strip_prefix('=')
}

/// A file being checked.
struct Opened {
    file: File,
    /// Number of bytes that are still in the page cache although they should be read from the medium; `None` if
    /// the kernel does not report it.
    in_memory: Option<u64>,
}

/// Opens a file and drops it from the page cache, so that data is read from the storage, whose promises are
/// checked.
fn open(name: &str) -> Result<Opened, ReadError> {
    let file = File::open(name).map_err(|error| {
        ReadError::Unusable(Unusable(format!(
            "{name}: {error}; mount its file system, or give its current path with --file={name}=ACTUAL. If \
            the file is permanently lost, so is everything that was promised for it",
            error = plain(&error)
        )))
    })?;
    let descriptor = file.as_raw_fd();
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let size = block_device::size(descriptor).unwrap_or(length);
    let in_memory = page_cache::forget(descriptor, &(0..size), true);
    Ok(Opened { file, in_memory })
}

/// A note on bytes that stayed in the page cache.
fn note_of_memory(in_memory: Option<u64>) -> Option<String> {
    match in_memory {
        Some(0) => None,
        Some(bytes) => Some(format!(
            "Up to {bytes} bytes of the files were in memory when they were read, and were not checked on the storage: another \
             process has them mapped or locked."
        )),
        None => Some(
            "The system does not report whether the files were read from the storage or from memory."
                .to_owned(),
        ),
    }
}

/// Reads as much as is available.
fn read_at(file: &File, offset: u64, buffer: &mut [u8]) -> Result<usize, ReadError> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(ReadError::Unreadable(Unreadable(plain(&error)))),
        }
    }
    Ok(done)
}

fn explained(error: &CheckError, ledgers: &[PathBuf]) -> String {
    match error {
        CheckError::Unusable(reason) => reason.to_string(),
        CheckError::Boots { file, ledgers: (first, second) } => format!(
            "{} and {} both name {file}, but are from different boots of the machine, so the order of their writes is unknown; \
             check each separately if the other's run has not touched the file since",
            ledgers[*first].display(),
            ledgers[*second].display()
        ),
    }
}

/// Statistics of a ledger.
fn figures(path: &Path, account: &Account, promised: u64, until: Option<u64>) -> serde_json::Value {
    let until = until.unwrap_or(u64::MAX);
    let is_past = |time_ns: u64| time_ns <= until;
    let writes = account.operations.iter().filter(|operation| !operation.issued.discards);
    let ended = |wanted: bool| {
        let is_it = |operation: &&fathom_verify::ledger::account::Operation| {
            operation.end.is_some_and(|end| end.is_well == wanted && is_past(end.time_ns))
        };
        writes.clone().filter(is_it).count()
    };
    let synced = |sync: &&fathom_verify::ledger::account::Sync| {
        sync.kind.makes_durable() && sync.end.is_some_and(|end| end.is_well && is_past(end.time_ns))
    };
    json!({
        "ledger": path.display().to_string(),
        "job": account.start.job,
        "clone": account.start.clone,
        "writes_issued": writes.clone().filter(|write| is_past(write.issued.time_ns)).count(),
        "writes_acknowledged": ended(true),
        "writes_failed": ended(false),
        "writes_promised": promised,
        "syncs": account.syncs.iter().filter(synced).count(),
        "job_ended": account.is_complete,
        "last_record_ns": account.last_ns,
        "bytes_ignored": account.bytes_ignored,
    })
}

fn write_json(
    options: &Options,
    accounts: &[Account],
    (outcome, in_memory): (&Outcome, Option<u64>),
    streams: &mut Streams<'_>,
) -> Result<(), Failure> {
    let ledgers: Vec<_> = all_figures(options, accounts, outcome);
    let document = json!({
        "after": options.after,
        "until_ns": options.until,
        "kept": match Promises::of(outcome) {
            Promises::None => serde_json::Value::Null,
            promises => (promises == Promises::Kept).into(),
        },
        "ledgers": ledgers,
        "from_memory_bytes": in_memory,
        "outcome": outcome,
    });
    writeln!(streams.out, "{document:#}")?;
    Ok(())
}

fn all_figures(options: &Options, accounts: &[Account], outcome: &Outcome) -> Vec<serde_json::Value> {
    let ledgers = options.ledgers.iter().zip(accounts).zip(&outcome.promised_writes);
    ledgers.map(|((path, account), promised)| figures(path, account, *promised, options.until)).collect()
}

fn write_text(
    options: &Options,
    accounts: &[Account],
    (outcome, in_memory): (&Outcome, Option<u64>),
    streams: &mut Streams<'_>,
) -> Result<(), Failure> {
    let out = &mut *streams.out;
    for (account, figures) in accounts.iter().zip(all_figures(options, accounts, outcome)) {
        let of = |name: &str, noun: &str| counted(figures[name].as_u64().unwrap_or_default(), noun);
        let end = if account.is_complete { "the job ended" } else { "the job was cut off" };
        writeln!(
            out,
            "{}: job {}, clone {}: {} issued, {} acknowledged, {} failed, {} promised; {}; {end}, last record at {}",
            figures["ledger"].as_str().unwrap_or_default(),
            account.start.job,
            account.start.clone,
            of("writes_issued", "write"),
            figures["writes_acknowledged"],
            figures["writes_failed"],
            figures["writes_promised"],
            of("syncs", "sync"),
            times(account.last_ns),
        )?;
        if account.bytes_ignored > 0 {
            writeln!(out, "  ignored its last {} bytes: an incomplete record", account.bytes_ignored)?;
        }
    }
    for broken in outcome.broken.iter().take(MOST_TOLD) {
        tell(broken, accounts, out)?;
    }
    if outcome.broken_count > MOST_TOLD as u64 {
        writeln!(out, "... and {} more; --format=json lists them", outcome.broken_count - MOST_TOLD as u64)?;
    }
    if let Some(line) = note_of_memory(in_memory) {
        writeln!(out, "{line}")?;
    }
    let Outcome { bytes_checked, places_checked, bytes_not_promised, .. } = outcome;
    writeln!(
        out,
        "Checked {bytes_checked} bytes in {places_checked} places; nothing was promised for {bytes_not_promised} more bytes."
    )?;
    if outcome.places_mixed > 0 {
        let mixed = outcome.places_mixed;
        writeln!(
            out,
            "{mixed} places hold parts of several writes, none older than the last promised one: allowed."
        )?;
    }
    if outcome.places_newer > 0 {
        let newer = outcome.places_newer;
        writeln!(out, "{newer} places hold data newer than the ledger, which lost its end: allowed.")?;
    }
    match Promises::of(outcome) {
        Promises::Kept => writeln!(out, "All promises were kept.")?,
        Promises::Broken => writeln!(out, "{} promises were broken.", outcome.broken_count)?,
        Promises::None => writeln!(out, "{}", nothing_promised(options, accounts))?,
    }
    Ok(())
}

/// Explains why there was no promise to check, and how to get one.
fn nothing_promised(options: &Options, accounts: &[Account]) -> String {
    let has_writes = accounts.iter().any(|account| !account.operations.is_empty());
    let why = match options.after {
        _ if !has_writes => "the ledger has no write",
        After::Kill => "no write was acknowledged",
        After::PowerCut => {
            "no write was acknowledged and then synced; a job with fsync=, fdatasync=, end_fsync=1 or sync=1 gets promises, and \
             --after=kill checks what was acknowledged, if only the process ended"
        }
    };
    let until = if options.until.is_some() { " before --until" } else { "" };
    format!("Nothing was promised{until}, so this does not test the storage: {why}.")
}
