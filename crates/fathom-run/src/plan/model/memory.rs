//! The memory of a worker.

use fathom_spec::value::Memory;
use serde::{Deserialize, Serialize};

/// Memory for buffers, and memory that nobody else can have meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryPlan {
    /// Of what kind the memory for buffers is.
    pub buffers: Memory,
    /// What their addresses are multiples of beside the size of a page, bytes; 0: nothing.
    pub alignment: u64,
    /// Size of huge pages, bytes.
    pub huge_page_bytes: u32,
    /// Bytes to take away from the rest of the machine; 0: none.
    pub locked_bytes: u64,
}
