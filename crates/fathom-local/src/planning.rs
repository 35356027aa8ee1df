//! From a command line that was read elsewhere to a plan for this machine.

use crate::here;
use fathom_run::plan::Plan;
use fathom_run::supervisor::{Idleness, Options};
use fathom_spec::hosts::{HostList, HostPlace, Invocation, InvocationSource};
use fathom_spec::{IdleProfile, Message, Outcome, ProgramOptions, RunSpec, Source, Trigger};
use thiserror::Error;

/// The jobs as this machine understands them, and its plan for them; otherwise lines that say why it does not.
pub fn understood(
    invocation: &Invocation,
    place: &HostPlace,
    machine: &dyn Source,
) -> Result<(RunSpec, Plan), Vec<String>> {
    let spec = read(invocation, place, machine)?;
    let plan = planned(&spec)?;
    Ok((spec, plan))
}

/// The jobs as this machine understands them.
pub fn read(
    invocation: &Invocation,
    place: &HostPlace,
    machine: &dyn Source,
) -> Result<RunSpec, Vec<String>> {
    let source = InvocationSource { invocation, place, machine };
    let mut spec = match fathom_spec::parse(&invocation.program_name, &invocation.words, &source) {
        Outcome::Run(spec) => *spec,
        Outcome::Exit(reply) => {
            return Err(reply.messages.into_iter().map(|Message { text, .. }| text).collect());
        }
        _ => return Err(vec!["fathom: this command line runs no jobs".to_owned()]),
    };
    spec.place = Some(place.clone());
    Ok(spec)
}

/// The plan for them on this machine.
pub fn planned(spec: &RunSpec) -> Result<Plan, Vec<String>> {
    let mut plan = Plan::new(spec, fathom_engines::definition_of).map_err(|error| vec![error.to_string()])?;
    if let Some(trigger) = &mut plan.trigger {
        // The controller watches, once for all hosts.
        *trigger = Trigger { command: spec.program.trigger_remote.clone(), ..Trigger::default() };
    }
    Ok(plan)
}

/// How one of several hosts supervises its jobs, as far as the command line says; nobody watches.
pub fn options(program: &ProgramOptions) -> Options {
    Options {
        tick: None,
        live_view: false,
        status_interval: None,
        snapshot: None,
        idleness: program.idleness.map(|shown| match shown {
            IdleProfile::System => Idleness::System,
            IdleProfile::PerCpu => Idleness::PerCpu,
        }),
        slices: None,
        patience: program.patience,
        // The time in which all hosts were running is found from it.
        timeline: true,
        version: here::COMPATIBLE_VERSION,
    }
}

/// A job is for a host that the run does not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("fathom: job {job}: host={name} is neither a host nor a group of this run, which has {hosts}")]
pub struct UnknownHost {
    /// The job.
    pub job: String,
    /// What it names.
    pub name: String,
    /// What there is.
    pub hosts: String,
}

/// Hosts and groups that jobs name must be there.
pub fn check_hosts_of_jobs(spec: &RunSpec, list: &HostList) -> Result<(), UnknownHost> {
    let is_known = |name: &str| {
        list.0.iter().any(|entry| entry.name == name || entry.groups.iter().any(|group| group == name))
    };
    for job in &spec.jobs {
        let wanted = job.threads.host.as_deref().unwrap_or("");
        let unknown = wanted.split(',').map(str::trim).find(|name| !name.is_empty() && !is_known(name));
        if let Some(name) = unknown {
            let (job, name) = (job.name.clone(), name.to_owned());
            return Err(UnknownHost { job, name, hosts: list.names().join(",") });
        }
    }
    Ok(())
}
