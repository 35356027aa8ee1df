//! A broken promise as text.

use fathom_verify::ledger::{Account, BrokenPromise, PromisedBy};
use std::io::{self, Write};

/// A time on the monotonic clock in seconds.
pub(super) fn times(time_ns: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    format!("{}.{:09} s", time_ns / SECOND, time_ns % SECOND)
}

/// Prints the place, the promise and its reason, and the content found.
pub(super) fn tell(broken: &BrokenPromise, accounts: &[Account], out: &mut dyn Write) -> io::Result<()> {
    let promised = &broken.promised;
    let start = &accounts[promised.ledger].start;
    writeln!(
        out,
        "{}: offset {}, {} bytes: broken promise, first wrong byte {}",
        broken.file, broken.offset, broken.length, broken.first_wrong
    )?;
    writeln!(
        out,
        "  promised: write {} of job {}, clone {}, issued {}, acknowledged {}",
        promised.number,
        start.job,
        start.clone,
        times(promised.issued_ns),
        times(promised.acknowledged_ns)
    )?;
    let why = match promised.by {
        PromisedBy::Acknowledgement => "it was acknowledged, and only the process ended".to_owned(),
        PromisedBy::SynchronousWrite => {
            "it was acknowledged, and the file was open for synchronous writes".to_owned()
        }
        PromisedBy::Sync { ledger, id, kind, begun_ns, ended_ns } => format!(
            "{} (number {id} in the ledger of job {}, clone {}) began {} and had ended {}",
            kind.word(),
            accounts[ledger].start.job,
            accounts[ledger].start.clone,
            times(begun_ns),
            times(ended_ns)
        ),
    };
    writeln!(out, "  because:  {why}")?;
    let when = match &broken.found {
        Some(found) => {
            let start = &accounts[found.ledger].start;
            format!(" of job {}, clone {}, issued {}", start.job, start.clone, times(found.issued_ns))
        }
        None => String::new(),
    };
    writeln!(out, "  found:    {}{when}", broken.sentence)
}
