//! Parts that every command needs for a run on this machine: its engines and the lines before it ([`here`]), the destination
//! of its text ([`output`]), and its exit code ([`exit`]); and for jobs received from elsewhere, their plan ([`planning`])
//! and the reasons to refuse them ([`refusals`]).

#![forbid(unsafe_code)]

pub mod exit;
pub mod here;
pub mod output;
pub mod planning;
pub mod refusals;
