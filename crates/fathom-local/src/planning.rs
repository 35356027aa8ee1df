//! Plans a command line that was read on another host for this machine.

use crate::here;
use fathom_run::files::names;
use fathom_run::plan::Plan;
use fathom_run::supervisor::{Idleness, Options};
use fathom_spec::hosts::{HostList, HostPlace, Invocation, InvocationSource};
use fathom_spec::{IdleProfile, Message, Outcome, ProgramOptions, RunSpec, Source, Trigger};
use fathom_stats::hosts::{HostFiles, Ownership};
use std::collections::BTreeMap;
use std::path::PathBuf;
use thiserror::Error;

/// The jobs as interpreted by this machine, and its plan for them; otherwise lines that explain the failure.
pub fn understood(
    invocation: &Invocation,
    place: &HostPlace,
    machine: &dyn Source,
) -> Result<(RunSpec, Plan), Vec<String>> {
    let spec = read(invocation, place, machine)?;
    let plan = planned(&spec)?;
    Ok((spec, plan))
}

/// The jobs as interpreted by this machine.
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

/// The plan for the jobs on this machine.
pub fn planned(spec: &RunSpec) -> Result<Plan, Vec<String>> {
    let mut plan = Plan::new(spec, fathom_engines::definition_of).map_err(|error| vec![error.to_string()])?;
    if let Some(trigger) = &mut plan.trigger {
        // The controller monitors the trigger once for all hosts, so this host ignores it.
        *trigger = Trigger { command: spec.program.trigger_remote.clone(), ..Trigger::default() };
    }
    Ok(plan)
}

/// Supervision settings of one of several hosts, as far as the command line determines them; nothing is displayed.
pub fn options(program: &ProgramOptions) -> Options {
    Options {
        idleness: program.idleness.map(|shown| match shown {
            IdleProfile::System => Idleness::System,
            IdleProfile::PerCpu => Idleness::PerCpu,
        }),
        patience: program.patience,
        report_alone: false,
        // A timeline is needed to find the time in which all hosts were running.
        ..here::options(None)
    }
}

/// Determines whose files the jobs use in a run on several hosts. `spec_on` returns the jobs as read by the
/// host with this number.
pub fn files_of_hosts(
    spec: &RunSpec,
    place: &HostPlace,
    spec_on: &dyn Fn(u32) -> Option<RunSpec>,
) -> Vec<HostFiles> {
    let mut read: BTreeMap<u32, Option<RunSpec>> = BTreeMap::new();
    let mut files = Vec::new();
    for (index, job) in spec.jobs.iter().enumerate() {
        let engine = fathom_engines::definition_of(&job.engine.ioengine.name);
        let has_files = engine.is_some_and(|engine| engine.has_storage()) && job.replay.read_iolog.is_none();
        // File names depend only on the host, so two hosts suffice to show whether they differ.
        let [first, second, ..] = place.runners(job.wanted_hosts())[..] else { continue };
        let mut name_on = |host: u32| -> Option<PathBuf> {
            let spec = read.entry(host).or_insert_with(|| spec_on(host)).as_ref()?;
            names::planned_paths(&Plan::names_of(spec, spec.jobs.get(index)?)).into_iter().next()
        };
        let (true, Some(name), Some(other)) = (has_files, name_on(first), name_on(second)) else { continue };
        let ownership = match name == other {
            false => Ownership::Own,
            true if job.has_part_of_host() => Ownership::Divided,
            true => Ownership::Shared,
        };
        files.push(HostFiles { job: job.name.clone(), name: name.display().to_string(), ownership });
    }
    files
}

/// Error: a job names a host that is not part of the run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("fathom: job {job}: host={name} is neither a host nor a group of this run, which has {hosts}")]
pub struct UnknownHost {
    /// The job.
    pub job: String,
    /// The unknown name.
    pub name: String,
    /// The hosts and groups of the run.
    pub hosts: String,
}

/// Checks that the hosts and groups named by jobs exist.
pub fn check_hosts_of_jobs(spec: &RunSpec, list: &HostList) -> Result<(), UnknownHost> {
    let is_known = |name: &str| {
        list.0.iter().any(|entry| entry.name == name || entry.groups.iter().any(|group| group == name))
    };
    for job in &spec.jobs {
        let unknown = job.wanted_hosts().iter().find(|name| !is_known(name));
        if let Some(name) = unknown {
            let (job, name) = (job.name.clone(), name.clone());
            return Err(UnknownHost { job, name, hosts: list.names().join(",") });
        }
    }
    Ok(())
}
