//! The ledger of a verifying job, which records the operations issued, acknowledged, and made durable. After a
//! crash it shows which promises the storage broke.
//!
//! A [`Record`] is added at each of these events, an [`Account`] is a ledger that was read, and [`check()`]
//! compares the content of the storage with its promises.
//!
//! # What is promised
//!
//! A write is *promised* once the storage must keep it. If the power fails, a write is promised once a sync of
//! its file that began after the write was acknowledged has succeeded, or once the write itself was
//! acknowledged if its file is open for synchronous writes. If only the process ends, a write is promised once
//! it was acknowledged. A write that ended before a promised write to the same place was issued is
//! *superseded*. A sector may hold any write that is not superseded; a sector without a promised write may hold
//! any data. Failed writes, trims, and writes that a failed sync leaves behind may also leave any data, until a
//! later write to the place is promised.

pub mod account;
pub mod check;
mod contents;
mod evidence;
mod judge;
pub mod outcome;
pub mod promises;
pub mod record;

pub use account::{Account, AccountError};
pub use check::check;
pub use outcome::{BrokenPromise, CheckError, FileToCheck, Outcome, ReadError, Unreadable, Unusable};
pub use promises::{After, Promise, PromisedBy};
pub use record::{Issued, Record, Start, SyncKind};
