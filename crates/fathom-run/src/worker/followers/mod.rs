//! Who takes part in an I/O on its way: gives it a priority, writes down that it was issued or how it ended.

pub(super) mod block_errors;
pub(super) mod command_priority;
pub(super) mod issue_log;
pub(super) mod latency_target;
pub(super) mod logging;
