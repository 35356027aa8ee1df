//! Runs jobs for the commands: the same parser, plan and supervisor as a plain command line.

use fathom_answers::{Ended, Runner, Target, Watch};
use fathom_command::Failure;
use fathom_run::files::names;
use fathom_run::message::Message;
use fathom_run::plan::{Plan, WorkerPlan};
use fathom_run::storage::files::use_of;
use fathom_run::supervisor::{self, Observer, Options};
use fathom_spec::engines::{EngineDef, StorageKind};
use fathom_spec::value::SizeSpec;
use fathom_spec::{FormatDeclaration, Outcome, RunSpec, Source, SystemSource};
use fathom_stats::live::{LiveDetails, LiveTick};
use fathom_stats::report::RunReport;
use fathom_sys::clock::Calibration;
use std::io;
use std::path::Path;

/// The program itself.
pub(crate) struct Program;

impl Runner for Program {
    fn parse(&self, words: &[String], job_file: &str) -> Result<RunSpec, Failure> {
        let source = TextSource { system: crate::machine(), job_file };
        match fathom_spec::parse("fathom", words, &source) {
            Outcome::Run(spec) => Ok(*spec),
            Outcome::Exit(reply) => {
                let lines: Vec<&str> = reply.messages.iter().map(|message| message.text.as_str()).collect();
                Err(Failure::new(in_short(&lines.join("\n"))))
            }
            _ => Err(Failure::new("these words ask for something else than running jobs")),
        }
    }

    fn run(&mut self, spec: &RunSpec, watch: &mut dyn Watch) -> Result<Ended, Failure> {
        let calibration = Calibration::start();
        let plan = Plan::new(spec, fathom_engines::definition_of).map_err(Failure::new)?;
        let options = Options {
            tick: watch.interval(),
            live_view: false,
            status_interval: None,
            idleness: None,
            slices: None,
            patience: None,
            timeline: true,
            version: crate::run::COMPATIBLE_VERSION,
        };
        let engines = crate::run::engines(&plan);
        let mut listener = Listener { watch };
        let outcome = supervisor::run(&plan, engines, calibration.finish(), options, &mut listener)
            .map_err(|error| Failure::new(crate::run::why_not_started(&error)))?;
        Ok(Ended { report: outcome.report, failed_jobs: outcome.failed_jobs, signal: outcome.signal })
    }

    fn targets(&self, spec: &RunSpec) -> Result<Vec<Target>, Failure> {
        let plan = Plan::new(spec, fathom_engines::definition_of).map_err(Failure::new)?;
        let of_worker = |worker: &WorkerPlan| {
            let paths = names::planned_paths(&worker.files.names);
            let bytes = match (worker.files.part.lengths, worker.amounts.size) {
                (Some(lengths), _) => Some(lengths.max.saturating_mul(paths.len() as u64)),
                (None, Some(SizeSpec::Bytes(bytes))) => Some(bytes),
                (None, _) => None,
            };
            let offset = match (worker.amounts.offset, worker.amounts.offset_increment) {
                (SizeSpec::Bytes(first), SizeSpec::Bytes(further)) => {
                    Some(first.saturating_add(further.saturating_mul(u64::from(worker.subjob))))
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
        use_of(path)
    }
}

/// What is wrong with jobs, in our own words alone: nobody compares the messages of these commands with fio's. Lines of a job file
/// that nobody has seen are left out.
fn in_short(messages: &str) -> String {
    let own = messages.lines().filter_map(|line| line.strip_prefix("fathom: "));
    let place = |line: &str| {
        if let Some(rest) = line.strip_prefix("command line: ") {
            return Some(rest.to_owned());
        }
        let (number, rest) = line.strip_prefix("-:")?.split_once(": ")?;
        number.bytes().all(|byte| byte.is_ascii_digit()).then(|| rest.to_owned())
    };
    let own: Vec<String> = own.map(|line| place(line).unwrap_or_else(|| line.to_owned())).collect();
    match own.is_empty() {
        true => messages.trim().to_owned(),
        false => own.join("\n"),
    }
}

/// The machine, with a text of ours for standard input.
struct TextSource<'a> {
    system: SystemSource,
    job_file: &'a str,
}

impl Source for TextSource<'_> {
    fn read_file(&self, path: &Path) -> io::Result<String> {
        self.system.read_file(path)
    }

    fn read_stdin(&self) -> io::Result<String> {
        Ok(self.job_file.to_owned())
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.system.variable(name)
    }

    fn exists(&self, path: &Path) -> bool {
        self.system.exists(path)
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.system.is_directory(path)
    }

    fn online_cpus(&self) -> u32 {
        self.system.online_cpus()
    }

    fn configured_cpus(&self) -> u32 {
        self.system.configured_cpus()
    }

    fn page_size(&self) -> u64 {
        self.system.page_size()
    }

    fn memory_mib(&self) -> u64 {
        self.system.memory_mib()
    }

    fn engines(&self) -> &[&'static EngineDef] {
        self.system.engines()
    }

    fn formats(&self) -> &[&'static FormatDeclaration] {
        self.system.formats()
    }
}

/// Passes on what a command hears.
struct Listener<'a> {
    watch: &'a mut dyn Watch,
}

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

    /// SIGUSR1 asks for the report so far, which commands have no place for.
    fn interim_report(&mut self, _report: &RunReport) {}
}

#[cfg(test)]
mod tests {
    use super::in_short;

    #[test]
    fn mistakes_are_told_once() {
        let messages = "fio: failed parsing bs=zk\nfio: job a dropped\nfathom: -:11: option bs=zk: expected a whole number\n";
        assert_eq!(in_short(messages), "option bs=zk: expected a whole number");
        assert_eq!(
            in_short("fathom: a.fio:3: option x=1: no\nfathom: command line: note"),
            "a.fio:3: option x=1: no\nnote"
        );
        assert_eq!(in_short("\nfio: what we have no words for\n"), "fio: what we have no words for");
    }
}
