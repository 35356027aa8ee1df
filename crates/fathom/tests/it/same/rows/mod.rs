//! The tables.

mod bad_input;
mod block_sizes;
mod buffers;
mod command_lines;
mod depths;
mod directions;
mod distributions;
mod engines;
mod errors;
mod files;
mod job_files;
mod limits;
mod logs;
mod reports;
mod syncs;
mod verify;
mod zones;
