//! Builds the placement of a worker from options: processors, memory, user.

use super::Subject;
use super::priority::job_priority;
use crate::plan::model::placement::{ControlGroup, PlacementPlan};
use fathom_spec::JobSpec;
use fathom_spec::options::threads::CpusAllowedPolicy;

/// The placement of a clone.
pub(super) fn placement_plan(subject: &Subject<'_>) -> PlacementPlan {
    let (job, options) = (subject.job, &subject.job.threads);
    PlacementPlan {
        process_name: options.comm.clone(),
        nice: options.nice,
        priority: job_priority(job),
        cpus: allowed_cpus(job, subject.place.subjob),
        cpu_nodes: options.numa_cpu_nodes.clone(),
        kept_free: subject.spec.jobs.iter().filter_map(|job| job.time.gtod_cpu).collect(),
        memory_policy: options.numa_mem_policy.clone(),
        control_group: options.cgroup.as_ref().map(|name| ControlGroup {
            name: name.clone(),
            weight: options.cgroup_weight,
            stays: options.cgroup_nodelete,
        }),
        user: options.uid,
        group: options.gid,
    }
}

fn allowed_cpus(job: &JobSpec, subjob: u32) -> Option<Vec<u32>> {
    let cpus: Vec<u32> = match (&job.threads.cpus_allowed, job.threads.cpumask) {
        (Some(list), _) => list.0.clone(),
        (None, Some(mask)) => (0..64).filter(|cpu| mask >> cpu & 1 == 1).collect(),
        (None, None) => return None,
    };
    if cpus.is_empty() {
        return None;
    }
    Some(match job.threads.cpus_allowed_policy {
        Some(CpusAllowedPolicy::Split) => vec![cpus[subjob as usize % cpus.len()]],
        _ => cpus,
    })
}
