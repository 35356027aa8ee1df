//! Data integrity: the layout of a verified block, how it is checked, and what a bad block reveals.
//!
//! Everything here works on bytes in memory; other crates do the I/O. A [`Rule`](rule::Rule) describes how a job's blocks are
//! made. [`stamp`](stamp::stamp) generates the content of one write, [`check`](check::check) checks data that was read, and
//! [`classify`](verdict::classify) says what happened to a bad block. A [`ledger`] records what the storage had promised when
//! it went down.

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
