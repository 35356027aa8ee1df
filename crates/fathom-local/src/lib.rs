//! Parts that every command needs for a run on this machine: the source of its jobs ([`source`]), the engines
//! of a run and the lines printed before it ([`here`]), its effects on files and devices ([`changes`]), the
//! destination of its text ([`output`]), and its exit code ([`exit`]). For jobs received from other machines,
//! there are also their plan ([`planning`]) and the reasons to refuse them ([`refusals`]).

#![forbid(unsafe_code)]

pub mod changes;
pub mod defect;
pub mod exit;
pub mod here;
pub mod output;
pub mod planning;
pub mod refusals;
pub mod source;
