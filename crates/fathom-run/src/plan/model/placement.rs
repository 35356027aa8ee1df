//! Placement of a worker: processors, memory, user.

use super::priority::Priority;
use fathom_spec::value::{NumaNodes, NumaPolicy};
use serde::{Deserialize, Serialize};

/// How a worker appears to the system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacementPlan {
    /// Process name; `None` for the default.
    pub process_name: Option<String>,
    /// Niceness of the process, -20 to 19.
    pub nice: i32,
    /// I/O priority; inherited by default.
    pub priority: Priority,
    /// Allowed processors; `None` for the inherited ones.
    pub cpus: Option<Vec<u32>>,
    /// NUMA nodes whose processors are allowed.
    pub cpu_nodes: Option<NumaNodes>,
    /// Processors that no worker of the run may use.
    pub kept_free: Vec<u32>,
    /// NUMA policy of the worker's memory.
    pub memory_policy: Option<NumaPolicy>,
    /// The control group that the worker joins.
    pub control_group: Option<ControlGroup>,
    /// User to run as.
    pub user: Option<u32>,
    /// Group to run as.
    pub group: Option<u32>,
}

/// A control group for the workers of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlGroup {
    /// Path below the root of the hierarchy.
    pub name: String,
    /// I/O weight of the group, in the kernel's unit.
    pub weight: Option<u32>,
    /// True if the group is kept after the run.
    pub stays: bool,
}
