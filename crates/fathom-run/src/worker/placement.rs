//! Placement of a clone: name, priorities, processors, user and group.

use super::{GivenUp, WorkerContext};
use crate::cause::Cause;
use crate::cgroup;
use crate::message::Message;
use crate::plan::model::priority::Priority;
use fathom_spec::value::{NumaNodes, NumaPolicy};
use fathom_sys::{Errno, affinity, credentials, numa, priority, process};

/// Applies the placement. A failure is reported and stored as the job's error.
pub(super) fn apply(context: &WorkerContext<'_>) -> Result<(), GivenUp> {
    let plan = &context.worker_plan().placement;
    // By default the process keeps the name by which the program was started, which scripts look for with pgrep
    // and pidstat.
    if let Some(name) = &plan.process_name {
        priority::set_name(name);
    }
    priority::set_precise_sleep();
    if plan.nice != 0 {
        check(context, priority::set_nice(plan.nice), Cause::NICE)?;
    }
    let io_priority = plan.priority;
    if io_priority != Priority::default() {
        let (class, level, hint) = (io_priority.class(), io_priority.level(), io_priority.hint());
        check(context, priority::set_io_priority(class, level, hint), Cause::IO_PRIORITY)?;
    }
    bind_to_cpus(context)?;
    set_memory_policy(context)?;
    if let Err(error) = cgroup::join(context.worker_plan()) {
        context.messages.send(&Message::Error(error.message));
        return check(context, Err(error.errno), Cause::CGROUP);
    }
    change_user(context)
}

/// `cpus_allowed`, `cpumask` and `numa_cpu_nodes`, minus the processors that are kept free (`gtod_cpu`).
fn bind_to_cpus(context: &WorkerContext<'_>) -> Result<(), GivenUp> {
    let plan = &context.worker_plan().placement;
    if plan.cpus.is_none() && plan.cpu_nodes.is_none() && plan.kept_free.is_empty() {
        return Ok(());
    }
    let mut cpus = match &plan.cpus {
        Some(cpus) => cpus.clone(),
        None => affinity::current().unwrap_or_default(),
    };
    if let Some(nodes) = &plan.cpu_nodes {
        let of_nodes: Vec<u32> =
            existing(context, nodes, "numa_cpu_nodes")?.into_iter().flat_map(numa::cpus_of).collect();
        cpus.retain(|cpu| of_nodes.contains(cpu));
    }
    cpus.retain(|cpu| !plan.kept_free.contains(cpu));
    if cpus.is_empty() {
        context.messages.send(&Message::Error(format!(
            "fathom: job {}: cpus_allowed, numa_cpu_nodes and gtod_cpu leave it no CPU to run on",
            context.worker_plan().name
        )));
    }
    check(context, affinity::bind(&cpus), Cause::AFFINITY)
}

/// `numa_mem_policy`.
fn set_memory_policy(context: &WorkerContext<'_>) -> Result<(), GivenUp> {
    let Some(wanted) = &context.worker_plan().placement.memory_policy else { return Ok(()) };
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

/// The requested nodes. Fails with a message if one of them does not exist.
fn existing(context: &WorkerContext<'_>, wanted: &NumaNodes, option: &str) -> Result<Vec<u32>, GivenUp> {
    let present = numa::nodes();
    let NumaNodes::List(list) = wanted else { return Ok(present) };
    let Some(missing) = list.iter().find(|node| !present.contains(node)) else { return Ok(list.clone()) };
    context.messages.send(&Message::Error(format!(
        "fathom: job {}: {option}: there is no node {missing}; this machine has {present:?}",
        context.worker_plan().name
    )));
    let cause = if option == "numa_cpu_nodes" { Cause::AFFINITY } else { Cause::MEMORY_POLICY };
    Err(context.fail(Errno(libc::EINVAL), cause))
}

fn check(context: &WorkerContext<'_>, result: Result<(), Errno>, cause: Cause) -> Result<(), GivenUp> {
    result.map_err(|errno| context.fail(errno, cause))
}

/// Applies `uid` and `gid`; the group comes first, because the new user may not change it.
fn change_user(context: &WorkerContext<'_>) -> Result<(), GivenUp> {
    let plan = &context.worker_plan().placement;
    let changed = |result: Result<(), Errno>, cause, option: &str| {
        if result == Err(Errno(libc::EPERM)) {
            let text = format!(
                "fathom: job {}: {option}= needs root to switch to another user or group",
                context.worker_plan().name
            );
            context.messages.send(&Message::Error(text));
        }
        check(context, result, cause)
    };
    if let Some(group) = plan.group {
        changed(credentials::set_group(group), Cause::SET_GID, "gid")?;
    }
    if let Some(user) = plan.user {
        changed(credentials::set_user(user), Cause::SET_UID, "uid")?;
    }
    if plan.user.or(plan.group).is_some() {
        // The kernel clears the parent-death signal when credentials change, so it is set again.
        let _ = process::die_with_parent();
    }
    Ok(())
}
