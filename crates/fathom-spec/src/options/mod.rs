//! THE TABLE: every option is one declaration in one of these files, from which everything else (fields,
//! defaults, parsing, help, documentation) follows.

pub mod block_size;
pub mod buffers;
pub mod deprecated;
pub mod depth;
pub mod description;
pub mod engine;
pub mod error_handling;
pub mod file;
pub mod io_type;
pub mod latency;
pub mod measurement;
pub mod private;
pub mod profile;
pub mod rate;
pub mod replay;
pub mod size;
pub mod steady_state;
pub mod threads;
pub mod time;
pub mod verification;

use crate::definition::OptionDef;

/// The options of every job, category by category.
pub static TABLES: &[&[OptionDef]] = &[
    description::TABLE,
    io_type::TABLE,
    file::TABLE,
    size::TABLE,
    depth::TABLE,
    block_size::TABLE,
    time::TABLE,
    rate::TABLE,
    threads::TABLE,
    measurement::TABLE,
    latency::TABLE,
    verification::TABLE,
    replay::TABLE,
    buffers::TABLE,
    error_handling::TABLE,
    engine::TABLE,
    steady_state::TABLE,
    profile::TABLE,
    deprecated::TABLE,
];

#[cfg(test)]
mod tests;
