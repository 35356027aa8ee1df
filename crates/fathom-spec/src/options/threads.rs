//! Processes, CPUs, priorities and job order.

use crate::declare::{choices, options};
use crate::definition::{Bounds, Names};
use crate::value::{CpuList, HostNames, NumaNodes, NumaPolicy, check_cpu_mask};

choices! {
    /// How clones share the CPU list.
    pub enum CpusAllowedPolicy {
        /// Every clone may use all CPUs
        Shared = "shared",
        /// Each clone gets one CPU
        Split = "split",
    }
}

choices! {
    /// Which jobs end together.
    pub enum ExitWhat {
        /// Jobs of the same reporting group
        Group = "group",
        /// Jobs since the last stonewall
        Stonewall = "stonewall",
        /// All jobs
        All = "all",
    }
}

options! {
    /// Processes, CPUs, priorities and job order.
    pub struct ThreadOptions in Threads, table TABLE;

    /// Hosts or groups of hosts that run the job, separated by commas; all of them without it
    ///
    /// Only in a run over hosts (--hosts). Ranges as there: node[1-3,7].
    Built Text host: Option<HostNames>, { names: Names::Nothing };

    /// Name of an earlier job to wait for
    Built Text wait_for: Option<String>, { names: Names::Nothing };

    /// Shell command to run before the job
    Built Text exec_prerun: Option<String>, { names: Names::Program };

    /// Shell command to run after the job
    Built Text exec_postrun: Option<String>, { names: Names::Program };

    /// Process name of the job
    Built Text comm: Option<String>, { names: Names::Nothing };

    /// Nice value of the job's processes
    Built Int nice: i32 = "0", { bounds: Bounds::between(-20.0, 19.0) };

    /// I/O priority level within its class; 0 is the highest
    Built Int prio: Option<u32>, { bounds: Bounds::between(0.0, 7.0) };

    /// I/O priority class
    ///
    /// 1 realtime, 2 best effort, 3 idle; 0 is also best effort.
    Built Int prioclass: Option<u32>, { bounds: Bounds::between(0.0, 3.0) };

    /// I/O priority hint
    Built Int priohint: Option<u32>, { bounds: Bounds::between(0.0, 1023.0) };

    /// CPUs the job may run on, as a bit mask
    Built Int cpumask: Option<u64>, { check: Some(check_cpu_mask) };

    /// CPUs the job may run on, such as 0,2-5
    Built Text cpus_allowed: Option<CpuList>, { names: Names::Nothing };

    /// How clones share the CPUs
    ///
    /// By default, every clone may use all of them.
    Built Choice cpus_allowed_policy: Option<CpusAllowedPolicy>, {
        choices: CpusAllowedPolicy::CHOICES,
        parent: Some("cpus_allowed"),
        early: true,
    };

    /// NUMA nodes whose CPUs the job may run on
    Built Text numa_cpu_nodes: Option<NumaNodes>, { names: Names::Nothing };

    /// NUMA memory policy: default|local|prefer:N|bind:list|interleave:list
    Built Text numa_mem_policy: Option<NumaPolicy>, { names: Names::Nothing };

    /// End other jobs when this one ends
    ///
    /// exit_what selects them.
    Built Flag exitall: bool;

    /// Which jobs exitall ends
    Built Choice exit_what: ExitWhat = "group", { choices: ExitWhat::CHOICES };

    /// Wait for all earlier jobs to end
    ///
    /// Also starts a new reporting group.
    Built Flag stonewall: bool, { aliases: &["wait_for_previous"] };

    /// Run clones as threads instead of processes
    Built Flag thread: bool;

    /// Control group for the job
    Built Text cgroup: Option<String>, { names: Names::Setting };

    /// Do not delete the control group afterwards
    Built Bool cgroup_nodelete: bool = "0", { parent: Some("cgroup") };

    /// Weight of the control group
    Built Int cgroup_weight: Option<u32>, {
        names: Names::Setting,
        bounds: Bounds::between(100.0, 1000.0),
        parent: Some("cgroup"),
    };

    /// Run as this user id
    Built Int uid: Option<u32>, { names: Names::Setting };

    /// Run as this group id
    Built Int gid: Option<u32>, { names: Names::Setting };
}
