//! Multi-host runs: the hosts, the transports to them, and the controller's run in place of a local one.

pub(crate) mod agent;
pub(crate) mod clients;
pub(crate) mod keys;
mod quit;
pub(crate) mod server;
mod ways;

use crate::refusal::Refusal;
use fathom_hosts::controller::{self, Audience, Seat, Settings, USUAL_TIMEOUT};
use fathom_local::planning::{check_hosts_of_jobs, files_of_hosts};
use fathom_run::plan::Plan;
use fathom_run::supervisor::Outcome;
use fathom_spec::hosts::{FileOwner, HostList, HostPlace, Invocation, InvocationSource, Recording};
use fathom_spec::{ProgramOptions, RunSpec, Source, Trigger};
use std::ffi::OsString;
use std::fmt::Display;
use std::time::Duration;

/// The hosts of a command line, and their inputs.
pub(crate) struct Hosts {
    /// Hosts that will join have no names yet.
    list: HostList,
    pub(crate) invocation: Invocation,
}

/// The hosts of a command line. They must be known before it is parsed, because job files may refer to them.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct AskedHosts {
    /// Values of `--hosts`.
    lists: Vec<String>,
    /// `--wait-for-hosts` is set.
    join: bool,
}

/// The hosts on a command line, if any.
pub(crate) fn asked(words: &[String]) -> Option<AskedHosts> {
    let mut asked = AskedHosts::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(name) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else { continue };
        match name.split_once('=') {
            Some(("hosts", list)) => asked.lists.push(list.to_owned()),
            None if name == "hosts" => asked.lists.extend(words.next().cloned()),
            Some(("wait-for-hosts", _)) => asked.join = true,
            None if name == "wait-for-hosts" => asked.join = true,
            _ => {}
        }
    }
    (asked != AskedHosts::default()).then_some(asked)
}

/// An error for an abbreviated host option, which was not recognized.
pub(crate) fn overlooked(program: &ProgramOptions) -> Option<Refusal> {
    let name = match program {
        ProgramOptions { wait_for_hosts: 1.., .. } => "wait-for-hosts",
        program if !program.hosts.is_empty() => "hosts",
        program if !program.clients.is_empty() => "client",
        _ => return None,
    };
    Some(Refusal::new(format!("fathom: write --{name} in full: it is needed before anything else is read")))
}

/// Notes on options that have no effect in a local run.
pub(crate) fn without_effect(program: &ProgramOptions) -> Vec<String> {
    let over_hosts = "--hosts or --wait-for-hosts";
    let given = [
        ("keys", program.keys.is_some(), over_hosts),
        ("join-address", program.join_address.is_some(), "--wait-for-hosts"),
        ("remote-shell", program.remote_shell.is_some(), "--hosts"),
        ("remote-program", program.remote_program.is_some(), "--hosts"),
        ("push", program.push, "--hosts"),
        ("host-timeout", program.host_timeout.is_some(), over_hosts),
        ("trigger-remote", program.trigger_remote.is_some(), "--client or --hosts"),
        ("remote-config", program.remote_config.is_some(), "--client"),
        ("daemonize", program.daemonize.is_some(), "--server"),
        ("insecure", program.insecure, "--server"),
    ];
    let given = given.into_iter().filter(|(_, is_given, _)| *is_given);
    given.map(|(name, _, with)| format!("fathom: --{name} has no effect without {with}")).collect()
}

/// The hosts in these lists.
fn read(asked: &AskedHosts) -> Result<HostList, Refusal> {
    let refused =
        |list: &str, why: &dyn Display| Refusal::because(format_args!("option --hosts={list}"), why);
    if asked.join {
        return match asked.lists.first() {
            None => Ok(HostList::default()),
            Some(list) => Err(refused(
                list,
                &"with --wait-for-hosts the hosts connect by themselves; use only one of the two",
            )),
        };
    }
    let file = |path: &str| std::fs::read_to_string(path);
    let mut hosts = HostList::default();
    for list in &asked.lists {
        hosts.add(list, &file).map_err(|error| refused(list, &error))?;
    }
    Ok(hosts)
}

/// Parses a command line for the hosts of these lists, and records their inputs.
pub(crate) fn parse(
    asked: &AskedHosts,
    program_name: &str,
    words: &[String],
    source: &dyn Source,
) -> Result<(fathom_spec::Outcome, Hosts), Refusal> {
    let list = read(asked)?;
    let recording = Recording::new(source, place(&list, 0), program_name, words);
    let outcome = fathom_spec::parse(program_name, words, &recording);
    Ok((outcome, Hosts { list, invocation: recording.finish() }))
}

/// Options that a command passes on to its runs.
const OF_COMMANDS: [&str; 9] = [
    "hosts",
    "remote-shell",
    "remote-program",
    "push",
    "keys",
    "on-host-loss",
    "host-timeout",
    "wait-for-hosts",
    "join-address",
];

/// Removes the host options from a command's arguments.
pub(crate) fn take_options(words: &mut Vec<OsString>) -> Vec<String> {
    let mut taken = Vec::new();
    let mut left = Vec::new();
    let mut rest = std::mem::take(words).into_iter();
    while let Some(word) = rest.next() {
        // Everything after this belongs to another program, or is a file.
        if word == "--" {
            left.push(word);
            left.extend(rest);
            break;
        }
        let text = word.to_string_lossy().into_owned();
        let name = text.strip_prefix("--").unwrap_or("");
        let (name, has_value) = name.split_once('=').map_or((name, false), |(name, _)| (name, true));
        if !OF_COMMANDS.contains(&name) {
            left.push(word);
            continue;
        }
        taken.push(text.clone());
        if !has_value && name != "push" {
            taken.extend(rest.next().map(|value| value.to_string_lossy().into_owned()));
        }
    }
    *words = left;
    taken
}

/// Removes the host options from the program options; returns the original options.
pub(crate) fn take_from(program: &mut ProgramOptions) -> ProgramOptions {
    let with_hosts = program.clone();
    let without = ProgramOptions::default();
    program.hosts = without.hosts;
    program.keys = without.keys;
    program.wait_for_hosts = without.wait_for_hosts;
    program.join_address = without.join_address;
    program.remote_shell = without.remote_shell;
    program.remote_program = without.remote_program;
    program.push = without.push;
    program.on_host_loss = without.on_host_loss;
    program.host_timeout = without.host_timeout;
    with_hosts
}

/// Number of hosts.
pub(crate) fn number_of(asked: &AskedHosts) -> Result<u64, Refusal> {
    match asked.join {
        // Keys are valid for one run, but commands make several runs.
        true => Err(Refusal::new(
            "--wait-for-hosts is for a single run; a command makes several: use --hosts=LIST",
        )),
        false => read(asked).map(|list| list.0.len() as u64),
    }
}

/// The first host's place, for properties common to all.
pub(crate) fn first_place(asked: &AskedHosts) -> Result<HostPlace, Refusal> {
    read(asked).map(|list| place(&list, 0))
}

/// Runs a command's jobs on its hosts.
pub(crate) fn run_command(
    asked: &AskedHosts,
    invocation: &Invocation,
    spec: &RunSpec,
    source: &dyn Source,
    view: View,
    observer: &mut dyn Audience,
) -> Result<Outcome, Refusal> {
    let hosts = Hosts { list: read(asked)?, invocation: invocation.clone() };
    hosts.check(spec)?;
    hosts.run(spec, source, view, observer)
}

/// A host's place among all.
fn place(list: &HostList, index: usize) -> HostPlace {
    HostPlace { index: index as u32, hosts: list.names(), groups: list.groups(), owner: FileOwner::Host }
}

impl Hosts {
    /// Checks that the request is possible on hosts.
    pub(crate) fn check(&self, spec: &RunSpec) -> Result<(), Refusal> {
        if !self.list.0.is_empty() {
            check_hosts_of_jobs(spec, &self.list)?;
        }
        match spec.program.formats.iter().find(|name| *name == "jsonl") {
            Some(format) => Err(Refusal::new(format!(
                "fathom: --output-format={format} is not built for runs over hosts; json has them all, and \
                 --status-interval prints it during the run"
            ))),
            None => Ok(()),
        }
    }

    /// Runs the jobs on the hosts.
    pub(crate) fn run(
        &self,
        spec: &RunSpec,
        source: &dyn Source,
        view: View,
        observer: &mut dyn Audience,
    ) -> Result<Outcome, Refusal> {
        let seats = ways::seats(&self.list, &spec.program, observer)?;
        let list = HostList(seats.iter().map(|seat| seat.entry.clone()).collect());
        check_hosts_of_jobs(spec, &list)?;
        self.control(seats, &spec.program, source, view, false, observer)
    }

    /// Runs the jobs of these seats.
    fn control(
        &self,
        seats: Vec<Seat>,
        program: &ProgramOptions,
        source: &dyn Source,
        view: View,
        are_servers: bool,
        observer: &mut dyn Audience,
    ) -> Result<Outcome, Refusal> {
        let list = HostList(seats.iter().map(|seat| seat.entry.clone()).collect());
        let invocation = |index: usize| seats[index].invocation.as_ref().unwrap_or(&self.invocation);
        // Allowed log names: those that their jobs may name.
        let jobs_on = |index: usize| jobs_on(invocation(index), &list, index, source);
        let prefixes = (0..seats.len())
            .map(|index| jobs_on(index).map_or_else(Vec::new, |spec| Plan::log_prefixes(&spec)));
        let prefixes = prefixes.collect();
        // Clients in fio's style use files as fio does.
        let files = match jobs_on(0).filter(|_| !are_servers) {
            Some(spec) => files_of_hosts(&spec, &place(&list, 0), &|host| jobs_on(host as usize)),
            None => Vec::new(),
        };
        let settings = Settings {
            invocation: self.invocation.clone(),
            on_host_loss: program.on_host_loss,
            timeout: program.host_timeout.unwrap_or(USUAL_TIMEOUT),
            tick: view.tick,
            details: view.details,
            are_servers,
            opening: view.opening,
            status_interval: view.status_interval,
            snapshot: view.snapshot,
            trigger: Some(program.trigger.clone()).filter(Trigger::fires),
            report_alone: view.report_alone,
            files,
            log_prefixes: prefixes,
        };
        controller::run(seats, settings, observer)
            .map_err(|errno| Refusal::because("the run cannot start", errno))
    }
}

/// Parses the jobs as a host would, except for host-specific values. The host itself reports errors in them.
fn jobs_on(invocation: &Invocation, list: &HostList, index: usize, machine: &dyn Source) -> Option<RunSpec> {
    let place = place(list, index);
    let lenient = Recording::new(machine, place.clone(), "", &[]);
    let source = InvocationSource { invocation, place: &place, machine: &lenient };
    match fathom_spec::parse(&invocation.program_name, &invocation.words, &source) {
        fathom_spec::Outcome::Run(spec) => Some(RunSpec { place: Some(place), ..*spec }),
        _ => None,
    }
}

/// What the caller displays during a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct View {
    /// Interval of ticks; `None` for no ticks.
    pub(crate) tick: Option<Duration>,
    /// With details.
    pub(crate) details: bool,
    /// The lines before a run.
    pub(crate) opening: bool,
    /// Interval of reports.
    pub(crate) status_interval: Option<Duration>,
    /// Interval of snapshots.
    pub(crate) snapshot: Option<Duration>,
    /// Standard output is reserved for the report.
    pub(crate) report_alone: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_another_program_are_left_to_it() {
        let mut words: Vec<OsString> =
            ["--hosts=a", "x", "--", "fathom", "--hosts=b", "--keys", "c"].map(OsString::from).to_vec();
        assert_eq!(take_options(&mut words), ["--hosts=a"]);
        assert_eq!(words, ["x", "--", "fathom", "--hosts=b", "--keys", "c"]);
    }

    #[test]
    fn lists_are_found_wherever_they_stand() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
        let asked_of = |text: &str| asked(&words(text)).map(|asked| (asked.lists, asked.join));
        let lists = ["a,b", "w:c", "d"].map(str::to_owned).to_vec();
        assert_eq!(asked_of("--hosts=a,b job.fio --hosts w:c -hosts=d"), Some((lists, false)));
        assert_eq!(asked_of("--wait-for-hosts=2 job.fio"), Some((Vec::new(), true)));
        assert_eq!(asked_of("--name=hosts hosts=a job.fio --host=b"), None);
    }
}
