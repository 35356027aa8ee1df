//! Where a clone runs, and as whom: name, priorities, processors, user and group.

use super::WorkerContext;
use crate::cause::Cause;
use crate::cgroup;
use crate::message::Message;
use crate::plan::model::priority::Priority;
use fathom_spec::JobSpec;
use fathom_spec::options::threads::CpusAllowedPolicy;
use fathom_spec::value::{NumaNodes, NumaPolicy};
use fathom_sys::{Errno, affinity, credentials, numa, priority, process};

/// Applies all that; `None` when something failed, which is then stored and told.
pub(super) fn apply(context: &WorkerContext<'_>) -> Option<()> {
    let job = context.job();
    let options = &job.threads;
    priority::set_name(options.comm.as_deref().unwrap_or("fathom"));
    priority::set_precise_sleep();
    if options.nice != 0 {
        check(context, priority::set_nice(options.nice), Cause::NICE)?;
    }
    let io_priority = context.worker_plan().priority;
    if io_priority != Priority::default() {
        let (class, level, hint) = (io_priority.class(), io_priority.level(), io_priority.hint());
        check(context, priority::set_io_priority(class, level, hint), Cause::IO_PRIORITY)?;
    }
    bind_to_cpus(context)?;
    set_memory_policy(context)?;
    if let Err(error) = cgroup::join(job) {
        context.messages.send(&Message::Error(error.message));
        return check(context, Err(error.errno), Cause::CGROUP);
    }
    change_user(context)
}

/// `cpus_allowed`, `cpumask` and `numa_cpu_nodes`, less the processors that are kept free (`gtod_cpu`).
fn bind_to_cpus(context: &WorkerContext<'_>) -> Option<()> {
    let (plan, job) = (context.worker_plan(), context.job());
    let kept_free: Vec<u32> = context.plan.jobs.iter().filter_map(|job| job.time.gtod_cpu).collect();
    let nodes = job.threads.numa_cpu_nodes.as_ref();
    let chosen = allowed_cpus(job, plan.subjob);
    if chosen.is_none() && nodes.is_none() && kept_free.is_empty() {
        return Some(());
    }
    let mut cpus = match chosen {
        Some(cpus) => cpus,
        None => affinity::current().unwrap_or_default(),
    };
    if let Some(nodes) = nodes {
        let of_nodes: Vec<u32> =
            existing(context, nodes, "numa_cpu_nodes")?.into_iter().flat_map(numa::cpus_of).collect();
        cpus.retain(|cpu| of_nodes.contains(cpu));
    }
    cpus.retain(|cpu| !kept_free.contains(cpu));
    if cpus.is_empty() {
        context.messages.send(&Message::Error(format!(
            "fathom: job {}: cpus_allowed, numa_cpu_nodes and gtod_cpu leave it no CPU to run on",
            job.name
        )));
    }
    check(context, affinity::bind(&cpus), Cause::AFFINITY)
}

/// `numa_mem_policy`.
fn set_memory_policy(context: &WorkerContext<'_>) -> Option<()> {
    let Some(wanted) = &context.job().threads.numa_mem_policy else { return Some(()) };
    let nodes = |nodes: &NumaNodes| existing(context, nodes, "numa_mem_policy");
    let policy = match wanted {
        NumaPolicy::Default => numa::Policy::Default,
        NumaPolicy::Local => numa::Policy::Local,
        NumaPolicy::Prefer(node) => {
            nodes(&NumaNodes::List(vec![*node]))?;
            numa::Policy::Prefer(*node)
        }
        NumaPolicy::Bind(list) => numa::Policy::Bind(nodes(list)?),
        NumaPolicy::Interleave(list) => numa::Policy::Interleave(nodes(list)?),
    };
    check(context, numa::set_policy(&policy), Cause::MEMORY_POLICY)
}

/// The nodes meant; `None` when one of them does not exist, which is told.
fn existing(context: &WorkerContext<'_>, wanted: &NumaNodes, option: &str) -> Option<Vec<u32>> {
    let present = numa::nodes();
    let NumaNodes::List(list) = wanted else { return Some(present) };
    let Some(missing) = list.iter().find(|node| !present.contains(node)) else { return Some(list.clone()) };
    context.messages.send(&Message::Error(format!(
        "fathom: job {}: {option}: there is no node {missing}; this machine has {present:?}",
        context.job().name
    )));
    let cause = if option == "numa_cpu_nodes" { Cause::AFFINITY } else { Cause::MEMORY_POLICY };
    context.fail(Errno(libc::EINVAL), cause);
    None
}

fn check(context: &WorkerContext<'_>, result: Result<(), Errno>, cause: Cause) -> Option<()> {
    match result {
        Ok(()) => Some(()),
        Err(errno) => {
            context.fail(errno, cause);
            None
        }
    }
}

/// `uid` and `gid`; the group first, while that is still permitted.
fn change_user(context: &WorkerContext<'_>) -> Option<()> {
    let options = &context.job().threads;
    let changed = |result: Result<(), Errno>, cause, option: &str| {
        if result == Err(Errno(libc::EPERM)) {
            let text = format!("fathom: job {}: {option} of another needs root", context.job().name);
            context.messages.send(&Message::Error(text));
        }
        check(context, result, cause)
    };
    if let Some(group) = options.gid {
        changed(credentials::set_group(group), Cause::SET_GID, "gid")?;
    }
    if let Some(user) = options.uid {
        changed(credentials::set_user(user), Cause::SET_UID, "uid")?;
    }
    if options.uid.or(options.gid).is_some() {
        // The kernel forgets this wish when credentials change.
        let _ = process::die_with_parent();
    }
    Some(())
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
