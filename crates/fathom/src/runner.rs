//! Runs jobs for the commands: the same parser, plan and supervisor as a plain command line.

use crate::hosts::{self, AskedHosts, View};
use crate::refusal::Refusal;
use fathom_answers::{Ended, Runner, Target, Watch};
use fathom_command::Failure;
use fathom_hosts::controller::Audience;
use fathom_local::here;
use fathom_local::source::{self, TextSource};
use fathom_run::files::names;
use fathom_run::message::Message;
use fathom_run::plan::{Plan, WorkerPlan};
use fathom_run::storage::files::use_of;
use fathom_run::supervisor::{self, Observer};
use fathom_spec::engines::StorageKind;
use fathom_spec::hosts::Invocation;
use fathom_spec::mistakes::in_own_words;
use fathom_spec::value::SizeSpec;
use fathom_spec::{Outcome, ProgramOptions, RunSpec, Source};
use fathom_stats::live::{LiveDetails, LiveTick};
use fathom_stats::report::{JobReport, RunReport};
use fathom_sys::clock::Calibration;
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::Path;

/// A completed run with its verdict. After a defect in fathom there is none: a command that continued would use
/// wrong figures.
fn judged(mut outcome: supervisor::Outcome) -> Result<Ended, Failure> {
    if outcome.is_broken {
        return Err(Failure::Defect(errors_of(&outcome.report)));
    }
    fathom_answers::judge(&mut outcome.report).map_err(Failure::because)?;
    Ok(Ended { report: outcome.report, failed_jobs: outcome.failed_jobs, signal: outcome.signal })
}

fn errors_of(report: &RunReport) -> String {
    let error = |job: &JobReport| job.error.as_ref().map(|error| format!("job {}: {}", job.name, error.text));
    report.jobs.iter().filter_map(error).collect::<Vec<_>>().join("; ")
}

/// The program itself, as the runner of jobs on this machine or on hosts.
#[derive(Default)]
pub(crate) struct Program {
    hosts: Option<CommandHosts>,
}

/// The hosts of a command, and the source of its jobs.
struct CommandHosts {
    /// Host options, common to all runs.
    words: Vec<String>,
    asked: AskedHosts,
    number: u64,
    /// Runs are requested by parsed jobs, but hosts must parse them themselves.
    read: RefCell<Vec<ReadJobs>>,
}

/// Jobs and their source.
struct ReadJobs {
    spec: RunSpec,
    /// Arguments of the command, including the host options.
    program: ProgramOptions,
    invocation: Invocation,
}

impl Program {
    /// Removes the host options from a command's arguments and applies them.
    pub(crate) fn for_command(words: &mut Vec<OsString>) -> Result<Program, Refusal> {
        let taken = hosts::take_options(words);
        let Some(asked) = hosts::asked(&taken) else { return Ok(Program::default()) };
        let number = hosts::number_of(&asked)?;
        let read = RefCell::new(Vec::new());
        Ok(Program { hosts: Some(CommandHosts { words: taken, asked, number, read }) })
    }
}

impl Runner for Program {
    fn runs_elsewhere(&self) -> bool {
        self.hosts.is_some()
    }

    fn hosts(&self) -> u64 {
        self.hosts.as_ref().map_or(1, |hosts| hosts.number)
    }

    fn parse(&self, words: &[String], job_file: &str) -> Result<RunSpec, Failure> {
        let source = TextSource::new(job_file);
        let outcome = match &self.hosts {
            None => fathom_spec::parse("fathom", words, &source),
            Some(hosts) => hosts.parse(words, &source)?,
        };
        match outcome {
            Outcome::Run(spec) => Ok(*spec),
            Outcome::Exit(reply) => Err(Failure::new(in_own_words(&reply.messages))),
            _ => Err(Failure::new("these words ask for something else than running jobs")),
        }
    }

    fn run(&mut self, spec: &RunSpec, watch: &mut dyn Watch) -> Result<Ended, Failure> {
        if let Some(hosts) = &self.hosts {
            return hosts.run(spec, watch);
        }
        let calibration = Calibration::start();
        let plan = Plan::new(spec, fathom_engines::definition_of).map_err(Failure::because)?;
        let options = here::options(watch.interval());
        let engines = here::engines(&plan);
        let mut listener = Listener { watch };
        let outcome = supervisor::run(&plan, engines, calibration.finish(), options, &mut listener)
            .map_err(|error| Failure::new(here::why_not_started(&error)))?;
        judged(outcome)
    }

    fn targets(&self, spec: &RunSpec) -> Result<Vec<Target>, Failure> {
        let mut spec = spec.clone();
        if let Some(hosts) = &self.hosts {
            spec.place = Some(hosts::first_place(&hosts.asked).map_err(Failure::because)?);
        }
        let spec = &spec;
        let plan = Plan::new(spec, fathom_engines::definition_of).map_err(Failure::because)?;
        let of_worker = |worker: &WorkerPlan| {
            let paths = names::planned_paths(&worker.files.names);
            let bytes = match (worker.files.part.lengths, worker.amounts.size) {
                (Some(lengths), _) => Some(lengths.max.saturating_mul(paths.len() as u64)),
                (None, Some(SizeSpec::Bytes(bytes))) => Some(bytes),
                (None, _) => None,
            };
            let offset = match (worker.amounts.offset, worker.amounts.offset_increment) {
                (SizeSpec::Bytes(first), SizeSpec::Bytes(further)) => {
                    Some(first.saturating_add(further.saturating_mul(u64::from(worker.amounts.increments))))
                }
                _ => None,
            };
            Target {
                job: worker.name.clone(),
                engine: worker.engine.clone(),
                is_local: worker.storage == StorageKind::Files,
                paths,
                bytes,
                offset,
                fills_space: worker.files.layout.fills_device,
            }
        };
        Ok(plan.workers.iter().map(of_worker).collect())
    }

    fn use_of(&self, path: &Path) -> Option<String> {
        // Hosts check their own devices when they open them.
        if self.hosts.is_some() { None } else { use_of(path) }
    }
}

impl CommandHosts {
    fn parse(&self, words: &[String], source: &dyn Source) -> Result<Outcome, Failure> {
        let words: Vec<String> = self.words.iter().chain(words).cloned().collect();
        let (outcome, hosts_of_jobs) =
            hosts::parse(&self.asked, "fathom", &words, source).map_err(Failure::because)?;
        let Outcome::Run(mut spec) = outcome else { return Ok(outcome) };
        // The runner handles the hosts; jobs do not see them.
        let program = hosts::take_from(&mut spec.program);
        let mut read = self.read.borrow_mut();
        read.retain(|read| read.spec != *spec);
        read.push(ReadJobs { spec: (*spec).clone(), program, invocation: hosts_of_jobs.invocation });
        Ok(Outcome::Run(spec))
    }

    fn run(&self, spec: &RunSpec, watch: &mut dyn Watch) -> Result<Ended, Failure> {
        let read = self.read.borrow();
        let Some(ReadJobs { program, invocation, .. }) = read.iter().find(|read| read.spec == *spec) else {
            return Err(Failure::new("jobs that were changed after they were read cannot run on hosts"));
        };
        let spec = &RunSpec { program: program.clone(), ..spec.clone() };
        let view = View { tick: watch.interval(), report_alone: true, ..View::default() };
        let mut listener = Listener { watch };
        let source = source::machine();
        let outcome = hosts::run_command(&self.asked, invocation, spec, &source, view, &mut listener)
            .map_err(|refusal| Failure::new(refusal.in_own_words()))?;
        judged(outcome)
    }
}

/// Forwards events to a command.
struct Listener<'a> {
    watch: &'a mut dyn Watch,
}

impl Audience for Listener<'_> {}

impl Observer for Listener<'_> {
    fn message(&mut self, message: &Message) {
        match message {
            Message::Output(text) | Message::Error(text) | Message::Failure(text) => self.watch.message(text),
            Message::LayingOut { .. } | Message::Figures(_) | Message::StageChanged => {}
        }
    }

    fn tick(&mut self, tick: &LiveTick, _: Option<&LiveDetails>) {
        self.watch.tick(tick);
    }

    /// SIGUSR1 requests an interim report, which commands do not print.
    fn interim_report(&mut self, _report: &RunReport) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_stats::report::JobError;

    #[test]
    fn a_defect_ends_the_command() {
        let error = Some(JobError { text: "broken invariant".to_owned(), ..JobError::default() });
        let jobs = vec![JobReport { name: "a".to_owned(), error, ..JobReport::default() }];
        let report = RunReport { jobs, ..RunReport::default() };
        let outcome =
            supervisor::Outcome { report, failed_jobs: 1, is_broken: true, signal: None, lost_logs: false };
        let Err(failure) = judged(outcome) else { panic!("figures of a defect were taken") };
        assert_eq!(failure.exit_code(), fathom_local::exit::DEFECT);
        assert!(failure.to_string().contains("job a: broken invariant"), "{failure}");
    }
}
