//! Prints the records of ledgers, one per line.

use crate::input;
use fathom_command::{Failure, Streams, arguments};
use fathom_verify::ledger::record::{Record, Records};
use lexopt::Arg::Value;
use std::ffi::OsString;
use std::path::PathBuf;

pub(super) fn run(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let mut files = Vec::new();
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    for file in arguments::some_files(files)? {
        // The ledger is read as a whole first, to report errors in it.
        super::account(&file)?;
        let bytes = input::bytes(&file)?;
        let mut records = Records::new(&bytes);
        for record in records.by_ref() {
            writeln!(streams.out, "{} {}", record.time_ns(), line(&record))?;
        }
        if records.bytes_left() > 0 {
            writeln!(streams.out, "{} bytes at the end are an incomplete record", records.bytes_left())?;
        }
    }
    Ok(0)
}

fn line(record: &Record) -> String {
    match record {
        Record::Start(start) => {
            let at_once = if start.durable_at_once { ", writes are durable once acknowledged" } else { "" };
            let files: Vec<String> =
                start.files.iter().enumerate().map(|(number, name)| format!("{number}: {name}")).collect();
            format!(
                "start job {} clone {} verify={} boot {}{at_once}; files {}",
                start.job,
                start.clone,
                start.rule.method.word(),
                start.boot_id,
                files.join(", ")
            )
        }
        Record::Issued(issued) if issued.discards => format!(
            "issued {} trim file={} offset={} length={}",
            issued.id, issued.file, issued.offset, issued.length
        ),
        Record::Issued(issued) => format!(
            "issued {} write={} file={} offset={} length={} seed={}",
            issued.id, issued.number, issued.file, issued.offset, issued.length, issued.seed
        ),
        Record::SyncBegun { id, kind, file, .. } => format!("issued {id} {} file={file}", kind.word()),
        Record::Ended { id, is_well: true, .. } => format!("ended {id}"),
        Record::Ended { id, is_well: false, .. } => format!("failed {id}"),
        Record::JobEnded { .. } => "job ended".to_owned(),
    }
}
