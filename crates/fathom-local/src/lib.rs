//! What every run on this machine needs, from any command: its engines and the lines before it ([`here`]), where its text goes
//! ([`output`]), and how its process ends ([`exit`]); and of jobs that come from elsewhere, their plan ([`planning`]) and why they
//! are refused ([`refusals`]).

#![forbid(unsafe_code)]

pub mod exit;
pub mod here;
pub mod output;
pub mod planning;
pub mod refusals;
