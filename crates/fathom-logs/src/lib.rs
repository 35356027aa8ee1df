//! Log files of individual I/Os, of averages, and of latency histograms: conversion from a worker's records to
//! the bytes of a file, and back.
//!
//! A worker pushes one [`IoRecord`] per I/O into a bounded [`ring`]. A writer takes records out and feeds the job's
//! [`LogSet`], which turns them into the lines of all its logs. Nothing here opens a file or makes a system call.

#![forbid(unsafe_code)]

pub mod compressed;
pub mod entry;
pub mod histogram_line;
mod record;
pub mod ring;
mod rules;
mod set;
mod window;

pub use entry::{Columns, Entry};
pub use record::IoRecord;
pub use rules::{LogKind, LogRules, WindowValue};
pub use set::{LogOutput, LogSet, Spill};
