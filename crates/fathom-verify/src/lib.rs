//! Data integrity: what a verified block looks like, how it is checked, and what a block that is wrong tells.
//!
//! Everything here works on bytes in memory; reading and writing is the business of others. A [`Rule`](rule::Rule) says how the
//! blocks of a job are made. [`stamp`](stamp::stamp) makes the content of one write, [`check`](check::check) checks what was
//! read, and [`classify`](verdict::classify) says what happened to a block that is not what it should be. A [`ledger`] tells
//! what the storage had promised when it went down.

#![forbid(unsafe_code)]

pub mod check;
pub mod checksum;
pub mod content;
pub mod header;
pub mod ledger;
pub mod method;
pub mod rule;
pub mod stamp;
pub mod state;
pub mod verdict;
