//! Builds the memory plan from options.

use crate::plan::model::memory::MemoryPlan;
use fathom_spec::JobSpec;

/// The memory plan of a job's clones.
pub(super) fn memory_plan(job: &JobSpec) -> MemoryPlan {
    let options = &job.buffers;
    MemoryPlan {
        buffers: options.mem.clone(),
        alignment: options.iomem_align,
        huge_page_bytes: options.hugepage_size,
        locked_bytes: options.lockmem,
    }
}
