//! Processes, CPUs, priorities and the order of jobs.

use crate::definition::{Bounds, choices, options};
use crate::value::{CpuList, check_cpu_mask};

choices! {
    /// How clones share the CPU list.
    pub enum CpusAllowedPolicy {
        /// Every clone may use all of it
        Shared = "shared",
        /// Each clone gets one CPU
        Split = "split",
    }
}

choices! {
    /// Which jobs end together.
    pub enum ExitWhat {
        /// Those of the reporting group
        Group = "group",
        /// Those since the last barrier
        Stonewall = "stonewall",
        /// All jobs
        All = "all",
    }
}

options! {
    /// Processes, CPUs, priorities and the order of jobs.
    pub struct ThreadOptions at job.threads, in Threads, table TABLE;

    /// Do not start until every clone of the named earlier job has ended
    Built Text wait_for: Option<String>;

    /// Shell command run before the job
    Later Text exec_prerun: Option<String>;

    /// Shell command run after the job
    Later Text exec_postrun: Option<String>;

    /// Process name of the job
    Built Text comm: Option<String>;

    /// Process nice value
    Built Int nice: i32 = "0", { bounds: Bounds::between(-20.0, 19.0) };

    /// I/O priority level
    Built Int prio: Option<u32>, { bounds: Bounds::between(0.0, 7.0) };

    /// I/O priority class
    Built Int prioclass: Option<u32>, { bounds: Bounds::between(0.0, 3.0) };

    /// I/O priority hint
    Built Int priohint: Option<u32>, { bounds: Bounds::between(0.0, 1023.0) };

    /// CPU affinity as bit mask
    Built Int cpumask: Option<u64>, { check: Some(check_cpu_mask) };

    /// CPU affinity as list, e.g. 0,2-5
    Built Text cpus_allowed: Option<CpuList>;

    /// Share the set or give each clone one CPU
    Built Choice cpus_allowed_policy: Option<CpusAllowedPolicy>, {
        choices: CpusAllowedPolicy::CHOICES,
        parent: Some("cpus_allowed"),
        early: true,
    };

    /// NUMA nodes to run on
    Later Text numa_cpu_nodes: Option<String>;

    /// NUMA memory policy: default|local|prefer:N|bind:list|interleave:list
    Later Text numa_mem_policy: Option<String>;

    /// End other jobs when one ends
    Built Flag exitall: bool;

    /// Scope of exitall
    Built Choice exit_what: ExitWhat = "group", { choices: ExitWhat::CHOICES };

    /// Barrier: wait for all earlier jobs; starts a new reporting group
    Built Flag stonewall: bool, { aliases: &["wait_for_previous"] };

    /// Clones are threads instead of processes
    Built Flag thread: bool;

    /// Put the job in this control group
    Later Text cgroup: Option<String>;

    /// Keep the control group
    Later Bool cgroup_nodelete: bool = "0", { parent: Some("cgroup") };

    /// Weight of the control group
    Later Int cgroup_weight: Option<u32>, {
        bounds: Bounds::between(100.0, 1000.0),
        parent: Some("cgroup"),
    };

    /// Run as this user id
    Later Int uid: Option<u32>;

    /// Run as this group id
    Later Int gid: Option<u32>;
}
