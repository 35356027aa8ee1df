//! Followers of an I/O: they assign a priority, or record its issue or completion.

pub(super) mod block_errors;
pub(super) mod command_priority;
pub(super) mod issue_log;
pub(super) mod latency_target;
pub(super) mod layers;
pub(super) mod logging;
