//! Data integrity: the layout of a verified block, how it is checked, and the possible causes of a bad block.
//!
//! All functions work on bytes in memory; other crates do the I/O. A [`Rule`](rule::Rule) describes how a job's
//! blocks are generated. [`stamp`](stamp::stamp) generates the content of one write, [`check`](check::check)
//! checks data that was read, and [`classify`](verdict::classify) determines what happened to a bad block. A
//! [`ledger`] records the promises of the storage at the time of a crash.

#![forbid(unsafe_code)]

pub mod check;
pub mod checksum;
pub mod content;
pub mod draft;
pub mod header;
pub mod ledger;
pub mod method;
pub mod rule;
pub mod stamp;
pub mod state;
mod sum;
pub mod sums;
pub mod verdict;
mod write;
