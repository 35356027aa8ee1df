//! Processes, CPUs, priorities and the order of jobs.

use crate::definition::{Bounds, choices, options};
use crate::value::{CpuList, NumaNodes, NumaPolicy, check_cpu_mask};

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

    /// Name of an earlier job whose clones have to end first
    Built Text wait_for: Option<String>;

    /// Shell command run before the job
    Built Text exec_prerun: Option<String>;

    /// Shell command run after the job
    Built Text exec_postrun: Option<String>;

    /// Name of the job's processes
    Built Text comm: Option<String>;

    /// Nice value of the job's processes
    Built Int nice: i32 = "0", { bounds: Bounds::between(-20.0, 19.0) };

    /// I/O priority within its class, 0 being the highest
    Built Int prio: Option<u32>, { bounds: Bounds::between(0.0, 7.0) };

    /// Class of I/O priority
    ///
    /// 1 realtime, 2 best effort, 3 idle; 0 is best effort, too.
    Built Int prioclass: Option<u32>, { bounds: Bounds::between(0.0, 3.0) };

    /// Hint that goes with the I/O priority
    Built Int priohint: Option<u32>, { bounds: Bounds::between(0.0, 1023.0) };

    /// CPUs the job may run on, as bits of a number
    Built Int cpumask: Option<u64>, { check: Some(check_cpu_mask) };

    /// CPUs the job may run on, such as 0,2-5
    Built Text cpus_allowed: Option<CpuList>;

    /// How clones share the CPUs
    ///
    /// Without it, every clone may use all of them.
    Built Choice cpus_allowed_policy: Option<CpusAllowedPolicy>, {
        choices: CpusAllowedPolicy::CHOICES,
        parent: Some("cpus_allowed"),
        early: true,
    };

    /// NUMA nodes to run on
    Built Text numa_cpu_nodes: Option<NumaNodes>;

    /// NUMA memory policy: default|local|prefer:N|bind:list|interleave:list
    Built Text numa_mem_policy: Option<NumaPolicy>;

    /// End other jobs when this one ends
    ///
    /// exit_what says which.
    Built Flag exitall: bool;

    /// Which jobs exitall ends
    Built Choice exit_what: ExitWhat = "group", { choices: ExitWhat::CHOICES };

    /// Wait until all jobs before this one have ended
    ///
    /// Also opens a new reporting group.
    Built Flag stonewall: bool, { aliases: &["wait_for_previous"] };

    /// Clones are threads instead of processes
    Built Flag thread: bool;

    /// Put the job in this control group
    Built Text cgroup: Option<String>;

    /// Keep the control group
    Built Bool cgroup_nodelete: bool = "0", { parent: Some("cgroup") };

    /// Weight of the control group
    Built Int cgroup_weight: Option<u32>, {
        bounds: Bounds::between(100.0, 1000.0),
        parent: Some("cgroup"),
    };

    /// Run as this user id
    Built Int uid: Option<u32>;

    /// Run as this group id
    Built Int gid: Option<u32>;
}
