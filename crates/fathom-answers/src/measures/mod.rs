//! The figures by which runs are compared, and the conclusions that they allow: the workload of a job in a run
//! ([`workload`]), one figure ([`figure`]), its precision within a run ([`within`]), and the difference between
//! two sets of runs ([`comparison`]).

pub(crate) mod comparison;
pub(crate) mod figure;
pub(crate) mod within;
pub(crate) mod workload;

pub(crate) use comparison::{Comparison, ComparisonVerdict};
pub(crate) use figure::{Figure, FigureOf};
