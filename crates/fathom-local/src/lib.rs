//! What a run on this machine needs, whoever asked for it: its engines and the lines before it ([`here`]), where its text goes
//! ([`output`]), and how its process ends ([`exit`]).

#![forbid(unsafe_code)]

pub mod exit;
pub mod here;
pub mod output;
