//! What a recording of files has in addition to requests: opens, closes and the like, and what the recorder could not see.

use super::section::Section;
use crate::figures;
use fathom_stats::counted;
use fathom_trace::events::FileSums;
use fathom_trace::files::Operation;
use serde_json::{Value as Json, json};

/// What is left out, and what the recorder did not see.
pub(super) fn caveats(files: &FileSums) -> Vec<String> {
    let mut told = Vec::new();
    if files.pseudo.calls > 0 {
        told.push(format!(
            "{} on {} of pseudo file systems, such as /proc and /sys, left out.",
            counted(files.pseudo.calls, "call"),
            counted(files.pseudo.files, "file")
        ));
    }
    let mut tell = |count: u64, what: &str, rest: &str| {
        if count > 0 {
            told.push(format!("{} {rest}", counted(count, what)));
        }
    };
    tell(
        count(files, Operation::Map),
        "mapping",
        "of files to memory: what is read and written through memory is missing.",
    );
    tell(files.unplaced, "call", "read or write at an unknown offset, and are left out.");
    if let Some(end) = &files.end {
        tell(
            end.unresolved,
            "call",
            "missing: their descriptor could not be looked up, and may not be a file.",
        );
        tell(end.unknown_files, "open", "whose file could not be looked up: each counts as another file.");
        tell(end.unseen, "request", "of libaio missing.");
    }
    told
}

fn count(files: &FileSums, operation: Operation) -> u64 {
    files.calls.get(&operation).copied().unwrap_or(0)
}

/// The word of an operation that is not a request.
fn word(operation: Operation) -> Option<&'static str> {
    Some(match operation {
        Operation::Open => "opens",
        Operation::Close => "closes",
        Operation::Truncate => "truncated",
        Operation::Allocate => "allocated",
        Operation::Map => "mapped",
        Operation::Punch
        | Operation::Read
        | Operation::Write
        | Operation::Sync
        | Operation::DataSync
        | Operation::RangeSync => return None,
    })
}

/// The other calls.
pub(super) fn section(files: &FileSums) -> Section {
    let mut facts = Vec::new();
    for (operation, calls) in &files.calls {
        let Some(word) = word(*operation) else { continue };
        let calls = figures::count(*calls as f64);
        facts.push(match operation {
            Operation::Open if files.failed_opens > 0 => {
                (word, format!("{calls}, of which {} failed", figures::count(files.failed_opens as f64)))
            }
            Operation::Truncate | Operation::Allocate | Operation::Map => (word, format!("{calls} times")),
            _ => (word, calls),
        });
    }
    if files.empty_reads > 0 {
        facts
            .push(("at the end", format!("{} reads gave nothing", figures::count(files.empty_reads as f64))));
    }
    facts.push(("files", figures::count(files.files as f64)));
    Section { heading: "Files", facts, table: None }
}

/// The same for programs.
pub(super) fn json(files: &FileSums) -> Json {
    let calls: serde_json::Map<String, Json> =
        files.calls.iter().map(|(operation, count)| (name(*operation).to_owned(), json!(count))).collect();
    json!({
        "operations": calls,
        "files": files.files,
        "failed_opens": files.failed_opens,
        "empty_reads": files.empty_reads,
        "unplaced": files.unplaced,
        "pseudo": json!({ "files": files.pseudo.files, "calls": files.pseudo.calls }),
        "recorder": files.end.and_then(|end| serde_json::to_value(end).ok()),
    })
}

/// The key of an operation.
fn name(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "read",
        Operation::Write => "write",
        Operation::Sync => "sync",
        Operation::DataSync => "datasync",
        Operation::RangeSync => "range_sync",
        Operation::Allocate => "allocate",
        Operation::Punch => "punch",
        Operation::Truncate => "truncate",
        Operation::Open => "open",
        Operation::Close => "close",
        Operation::Map => "map",
    }
}
