//! The figures that runs are compared by, and what can be concluded from them: of what a run says about a job
//! ([`workload`]), one figure ([`figure`]), how sure it is within a run ([`within`]), and how two sets of runs differ
//! ([`comparison`]).

pub(crate) mod comparison;
pub(crate) mod figure;
pub(crate) mod within;
pub(crate) mod workload;

pub(crate) use comparison::{Comparison, ComparisonVerdict};
pub(crate) use figure::{Figure, FigureOf};
