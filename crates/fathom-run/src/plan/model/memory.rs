//! The memory of a worker.

use fathom_spec::value::Memory;
use serde::{Deserialize, Serialize};

/// Memory for buffers, and memory that is locked to keep it from the rest of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryPlan {
    /// Kind of memory for buffers.
    pub buffers: Memory,
    /// Extra buffer alignment in bytes; 0 for page alignment only.
    pub alignment: u64,
    /// Size of huge pages, bytes.
    pub huge_page_bytes: u32,
    /// Bytes to lock in memory to keep them from the rest of the machine; 0 for none.
    pub locked_bytes: u64,
}
