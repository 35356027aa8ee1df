//! Parses and plans jobs from a browser: the parser has no access to files or variables of this process, and
//! the targets of every plan must be allowed.

use crate::allowed::Allowed;
use crate::events::{Event, Events};
use fathom_answers::{Ended, Runner, Target, Watch};
use fathom_command::Failure;
use fathom_run::plan::Plan;
use fathom_spec::mistakes::in_own_words;
use fathom_spec::{EngineNotLoaded, Machine, Message, Outcome, RunSpec, Source};
use fathom_stats::live::LiveTick;
use std::cell::{Cell, RefCell};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Interval of ticks for viewers.
pub(crate) const TICK: Duration = Duration::from_secs(1);

/// Maximum number of workers of all cells of a sweep together.
const MOST_WORKERS: usize = 100_000;

/// A source for the parser: this machine, with the text of a job as standard input, and without files.
pub(crate) struct TextSource<'a> {
    pub(crate) machine: &'a dyn Source,
    pub(crate) job: &'a str,
    /// True if external engines may be loaded.
    pub(crate) loads: bool,
    /// The one file that may be read: the text of the job in the folder of its run.
    pub(crate) file: Option<&'a Path>,
}

impl Machine for TextSource<'_> {
    fn read_file(&self, path: &Path) -> io::Result<String> {
        if self.file == Some(path) {
            return self.machine.read_file(path);
        }
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "jobs of fathom serve read no other files"))
    }

    fn read_stdin(&self) -> io::Result<String> {
        Ok(self.job.to_owned())
    }

    /// Returns no variables: the server's environment does not belong to the author of the job, and may contain
    /// secrets.
    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    /// Loads an engine if commands are allowed, because loading runs its code.
    fn load_engine(&self, path: &Path) -> Result<&'static str, EngineNotLoaded> {
        match self.loads {
            true => self.machine.load_engine(path),
            false => Err(EngineNotLoaded::Forbidden("the server was started without --allow-commands")),
        }
    }

    fathom_spec::ask_machine!(machine);
}

impl Source for TextSource<'_> {
    fathom_spec::ask_source!(machine);
}

/// Parses jobs from arguments and a text; the error holds the parser's messages.
pub(crate) fn parse(words: &[String], source: &TextSource<'_>) -> Result<RunSpec, Vec<Message>> {
    match fathom_spec::parse("fathom", words, source) {
        Outcome::Run(spec) => Ok(*spec),
        Outcome::Exit(reply) => Err(reply.messages),
        _ => Err(vec![Message::stderr("fathom: these arguments ask for something other than running jobs")]),
    }
}

/// Runs the jobs of commands (`quick`, `sweep`), after checking that their targets are allowed.
pub(crate) struct GuardedRunner<'a> {
    pub(crate) inner: &'a mut dyn Runner,
    /// Receives the ticks of runs; `None` if the jobs are only planned.
    pub(crate) events: Option<&'a RefCell<Events>>,
    pub(crate) machine: &'a dyn Source,
    pub(crate) allowed: &'a Allowed,
    pub(crate) file: &'a Path,
    pub(crate) confirmed: &'a [String],
    pub(crate) began: Instant,
    /// Plans of all jobs, if they are only planned.
    pub(crate) plans: RefCell<Vec<Plan>>,
    /// Total number of workers of the plans.
    pub(crate) workers: Cell<usize>,
}

impl GuardedRunner<'_> {
    /// Plans the jobs, with their logs and states in the folder of the run, and checks that they are allowed.
    fn plan(&self, spec: &RunSpec) -> Result<(RunSpec, Plan), Failure> {
        let folder = self.file.parent();
        let mut spec = spec.clone();
        spec.program.aux_path = folder.map(Path::to_owned);
        let plan = self.allowed.plan(&spec, folder).map_err(|lines| Failure::new(lines.join("\n")))?;
        Ok((spec, plan))
    }
}

impl Runner for GuardedRunner<'_> {
    fn parse(&self, words: &[String], job_file: &str) -> Result<RunSpec, Failure> {
        let source = TextSource {
            machine: self.machine,
            job: job_file,
            loads: self.allowed.commands,
            file: Some(self.file),
        };
        let spec = parse(words, &source).map_err(|messages| Failure::new(in_own_words(&messages)))?;
        // All jobs are planned first, so that a job that is not allowed is refused before any job runs.
        let (_, plan) = self.plan(&spec)?;
        if self.events.is_none() {
            let mut plans = self.plans.borrow_mut();
            plans.push(plan);
            let workers: usize = self.workers.get() + plans.last().map_or(0, |plan| plan.workers.len());
            self.workers.set(workers);
            if workers > MOST_WORKERS {
                return Err(Failure::new(format!(
                    "the cells of this sweep have more than {MOST_WORKERS} clones of jobs together, too many \
                    for this page, which checks each of them; vary less, or use fathom sweep, which has no \
                    such limit"
                )));
            }
        }
        Ok(spec)
    }

    fn run(&mut self, spec: &RunSpec, watch: &mut dyn Watch) -> Result<Ended, Failure> {
        let (spec, plan) = self.plan(spec)?;
        let lines = Allowed::check_uses(&plan, self.confirmed);
        if !lines.is_empty() {
            return Err(Failure::new(lines.join("\n")));
        }
        match self.events {
            Some(events) => {
                self.inner.run(&spec, &mut TellingWatch { inner: watch, events, began: self.began })
            }
            None => Err(Failure::new("a check does not run jobs")),
        }
    }

    fn targets(&self, spec: &RunSpec) -> Result<Vec<Target>, Failure> {
        self.inner.targets(spec)
    }

    fn use_of(&self, path: &Path) -> Option<String> {
        self.inner.use_of(path)
    }
}

/// Passes events of a command's runs on to the command, and records them.
struct TellingWatch<'a> {
    inner: &'a mut dyn Watch,
    events: &'a RefCell<Events>,
    began: Instant,
}

impl Watch for TellingWatch<'_> {
    fn interval(&self) -> Option<Duration> {
        self.inner.interval().or(Some(TICK))
    }

    fn tick(&mut self, tick: &LiveTick) {
        let at_ms = self.began.elapsed().as_millis() as u64;
        self.events.borrow_mut().tick(&Event::tick(at_ms, tick, None));
        if self.inner.interval().is_some() {
            self.inner.tick(tick);
        }
    }

    /// Does not print a message, because the command reports it itself.
    fn message(&mut self, text: &str) {
        self.inner.message(text);
    }
}

/// A runner for commands that only read results.
pub(crate) struct NoRunner;

impl Runner for NoRunner {
    fn parse(&self, _: &[String], _: &str) -> Result<RunSpec, Failure> {
        Err(Failure::new("this command runs no jobs"))
    }

    fn run(&mut self, _: &RunSpec, _: &mut dyn Watch) -> Result<Ended, Failure> {
        Err(Failure::new("this command runs no jobs"))
    }

    fn targets(&self, _: &RunSpec) -> Result<Vec<Target>, Failure> {
        Ok(Vec::new())
    }

    fn use_of(&self, _: &Path) -> Option<String> {
        None
    }
}
