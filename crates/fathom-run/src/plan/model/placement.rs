//! Where a worker runs, and as whom.

use super::priority::Priority;
use fathom_spec::value::{NumaNodes, NumaPolicy};
use serde::{Deserialize, Serialize};

/// What a worker is to the system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacementPlan {
    /// Name among the processes; `None` for the usual one.
    pub process_name: Option<String>,
    /// How far it steps back for others, -20 to 19.
    pub nice: i32,
    /// I/O priority; none leaves the one it inherits.
    pub priority: Priority,
    /// Processors that it may use; `None` for those that it inherits.
    pub cpus: Option<Vec<u32>>,
    /// Only the processors of these nodes.
    pub cpu_nodes: Option<NumaNodes>,
    /// Processors that no worker of the run may use.
    pub kept_free: Vec<u32>,
    /// Nodes that its memory comes from.
    pub memory_policy: Option<NumaPolicy>,
    /// The control group that it joins.
    pub control_group: Option<ControlGroup>,
    /// User that it becomes.
    pub user: Option<u32>,
    /// Group that it becomes a member of.
    pub group: Option<u32>,
}

/// A control group for the workers of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlGroup {
    /// Path below the root of the hierarchy.
    pub name: String,
    /// Its share of the I/O, as the kernel counts it.
    pub weight: Option<u32>,
    /// It is not removed at the end.
    pub stays: bool,
}
