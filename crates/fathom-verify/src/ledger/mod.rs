//! The ledger of a verifying job: what it issued, what was acknowledged, and what was made durable. After a crash it shows
//! which promises the storage broke.
//!
//! A [`Record`] is added at each of these moments, an [`Account`] is a ledger read back, and
//! [`check()`] compares what the storage holds with what it promised.
//!
//! # What is promised
//!
//! A write is *promised* once the storage must keep it. For a power cut, that is when a sync of its file that began after the
//! write was acknowledged has succeeded, or when the write itself was acknowledged and its file is open for synchronous writes.
//! If only the process ends, it is as soon as the write was acknowledged. Writes that ended before a promised write to the same
//! place was issued are *superseded*. Each sector may hold any write that is not superseded; where nothing was promised,
//! anything. Failed writes, trims, and writes that a failed sync leaves behind may also leave anything, until a later write to
//! the place is promised.

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
