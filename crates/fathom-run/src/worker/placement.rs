//! Where a clone runs, and as whom: name, priorities, processors, user and group.

use super::WorkerContext;
use crate::message::Message;
use crate::priority::Priority;
use fathom_spec::JobSpec;
use fathom_spec::options::threads::CpusAllowedPolicy;
use fathom_sys::{Errno, affinity, credentials, priority, process};

/// Applies all that; `None` when something failed, which is then stored and told.
pub(super) fn apply(context: &WorkerContext<'_>) -> Option<()> {
    let (plan, job) = (context.worker_plan(), context.job());
    let options = &job.threads;
    priority::set_name(options.comm.as_deref().unwrap_or("fathom"));
    priority::set_precise_sleep();
    if options.nice != 0 {
        check(context, priority::set_nice(options.nice), "setpriority")?;
    }
    let io_priority = Priority::of_job(job);
    if io_priority != Priority::default() {
        let (class, level, hint) = (io_priority.class(), io_priority.level(), io_priority.hint());
        check(context, priority::set_io_priority(class, level, hint), "ioprio_set")?;
    }
    if let Some(cpus) = allowed_cpus(job, plan.subjob) {
        check(context, affinity::bind(&cpus), "cpu_set_affinity")?;
    }
    change_user(context)
}

fn check(context: &WorkerContext<'_>, result: Result<(), Errno>, call: &str) -> Option<()> {
    match result {
        Ok(()) => Some(()),
        Err(errno) => {
            context.fail(errno.0, &format!("file:backend.c, func={call}, error={errno}"));
            None
        }
    }
}

/// `uid` and `gid`; the group first, while that is still permitted.
fn change_user(context: &WorkerContext<'_>) -> Option<()> {
    let options = &context.job().threads;
    let changed = |result: Result<(), Errno>, call, option: &str| {
        if result == Err(Errno(libc::EPERM)) {
            let text = format!("fathom: job {}: {option} of another needs root", context.job().name);
            context.messages.send(&Message::Error(text));
        }
        check(context, result, call)
    };
    if let Some(group) = options.gid {
        changed(credentials::set_group(group), "setgid", "gid")?;
    }
    if let Some(user) = options.uid {
        changed(credentials::set_user(user), "setuid", "uid")?;
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
