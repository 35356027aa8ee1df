//! Reads a ledger.

use super::record::{Issued, Record, Records, Start, SyncKind, looks_like_ledger};
use std::collections::HashMap;
use thiserror::Error;

/// The reason for which a ledger cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AccountError {
    /// The beginning of the ledger is missing.
    #[error("its first record is cut off, damaged, or from another version of fathom")]
    NoStart,
    /// Not a ledger.
    #[error("not a ledger: verify_ledger= creates them")]
    NoLedger,
    /// A record has a file number that the start record does not define.
    #[error("a record names file number {file} of {files}: the ledger is damaged")]
    UnknownFile {
        /// The number of the file.
        file: u32,
        /// Number of files.
        files: usize,
    },
    /// The file contains more than one ledger.
    #[error("the file holds two ledgers, one after the other")]
    TwoLedgers,
    /// The rule for blocks is impossible.
    #[error("its rule for blocks is impossible: the ledger is damaged")]
    ImpossibleRule,
    /// A write is outside of all files.
    #[error("write {number} has an impossible offset: the ledger is damaged")]
    ImpossibleOffset {
        /// The number of the write.
        number: u64,
    },
    /// An end record has no matching start.
    #[error("number {id} ends but never began: the ledger is damaged")]
    NeverBegan {
        /// Number of the operation in the ledger.
        id: u64,
    },
}

/// The operations of one clone of a job.
#[derive(Clone, Debug)]
pub struct Account {
    /// The beginning of the ledger.
    pub start: Start,
    /// Writes and trims, in the order in which they were issued.
    pub operations: Vec<Operation>,
    /// Syncs, in the order in which they began.
    pub syncs: Vec<Sync>,
    /// True if the job has ended, so no operation is missing after the last record.
    pub is_complete: bool,
    /// Time of the last record in ns.
    pub last_ns: u64,
    /// Number of bytes at the end that are not a whole record.
    pub bytes_ignored: usize,
}

/// A write or a trim with its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The operation and its location.
    pub issued: Issued,
    /// End of the operation, if known.
    pub end: Option<End>,
}

/// A sync of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sync {
    /// Number of the sync in its ledger.
    pub id: u64,
    /// Kind.
    pub kind: SyncKind,
    /// Number of the file.
    pub file: u32,
    /// Start time in ns.
    pub begun_ns: u64,
    /// Outcome of the sync, if known.
    pub end: Option<End>,
}

/// The end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Time on the monotonic clock in ns.
    pub time_ns: u64,
    /// False if the operation failed.
    pub is_well: bool,
}

/// The operation to which a [`Record::Ended`] refers, with its index.
#[derive(Clone, Copy)]
enum Open {
    Operation(usize),
    Sync(usize),
}

impl Account {
    /// Reads a ledger. A truncated last record is ignored.
    pub fn read(bytes: &[u8]) -> Result<Account, AccountError> {
        let mut records = Records::new(bytes);
        let Some(Record::Start(start)) = records.next() else {
            return Err(match looks_like_ledger(bytes) {
                true => AccountError::NoStart,
                false => AccountError::NoLedger,
            });
        };
        if !start.rule.is_possible() {
            return Err(AccountError::ImpossibleRule);
        }
        let mut account = Account {
            last_ns: start.time_ns,
            start: *start,
            operations: Vec::new(),
            syncs: Vec::new(),
            is_complete: false,
            bytes_ignored: 0,
        };
        let mut open = HashMap::new();
        for record in records.by_ref() {
            account.last_ns = account.last_ns.max(record.time_ns());
            account.add(record, &mut open)?;
        }
        account.bytes_ignored = records.bytes_left();
        Ok(account)
    }

    fn add(&mut self, record: Record, open: &mut HashMap<u64, Open>) -> Result<(), AccountError> {
        let files = self.start.files.len();
        let known = |file: u32| match (file as usize) < files {
            true => Ok(()),
            false => Err(AccountError::UnknownFile { file, files }),
        };
        match record {
            Record::Start(_) => return Err(AccountError::TwoLedgers),
            Record::Issued(issued) => {
                known(issued.file)?;
                let is_too_long = issued.length > u64::from(u32::MAX) && !issued.discards;
                let end = issued.offset.checked_add(issued.length);
                if is_too_long || end.is_none_or(|end| i64::try_from(end).is_err()) {
                    return Err(AccountError::ImpossibleOffset { number: issued.number });
                }
                open.insert(issued.id, Open::Operation(self.operations.len()));
                self.operations.push(Operation { issued, end: None });
            }
            Record::SyncBegun { id, kind, file, time_ns } => {
                known(file)?;
                open.insert(id, Open::Sync(self.syncs.len()));
                self.syncs.push(Sync { id, kind, file, begun_ns: time_ns, end: None });
            }
            Record::Ended { id, time_ns, is_well } => {
                let end = Some(End { time_ns, is_well });
                match open.remove(&id) {
                    Some(Open::Operation(index)) => self.operations[index].end = end,
                    Some(Open::Sync(index)) => self.syncs[index].end = end,
                    None => return Err(AccountError::NeverBegan { id }),
                }
            }
            Record::JobEnded { .. } => self.is_complete = true,
        }
        Ok(())
    }
}
