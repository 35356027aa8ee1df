//! Loads that are offered to storage, for `curve` and `rehearse`: the runs at different loads, what
//! they measure, the limits of response times, and the highest load that meets them.

pub(crate) mod highest;
pub(crate) mod measure;
pub(crate) mod objective;
pub(crate) mod precision;
pub(crate) mod series;
pub(crate) mod step;
pub(crate) mod words;
