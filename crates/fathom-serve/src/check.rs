//! Checks a request and forecasts its effects, without opening, creating or running anything.

use crate::allowed::Allowed;
use crate::folder::{Accepted, Request, Results, RunKind, now_ms};
use crate::forecast::{self, Forecast};
use crate::made::Made;
use crate::reading::{self, GuardedRunner, TextSource};
use crate::work;
use fathom_answers::Runner;
use fathom_command::Streams;
use fathom_spec::Source;
use fathom_spec::mistakes::{Mistake, mistakes};
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Maximum number of bytes of a sweep's plan that are shown.
const MOST_TEXT: usize = 64 << 10;

/// Result of a check.
#[derive(Debug, Default, Serialize)]
pub(crate) struct CheckedRequest {
    /// Errors for which the request cannot run.
    pub(crate) mistakes: Vec<Mistake>,
    /// Further messages of the parser.
    pub(crate) notes: Vec<Mistake>,
    pub(crate) forecast: Option<Forecast>,
    /// The plan that a command prints.
    pub(crate) text: String,
    /// Files that the run would create.
    #[serde(skip)]
    pub(crate) makes: Vec<PathBuf>,
    /// Files of earlier runs that the run would change.
    #[serde(skip)]
    pub(crate) remakes: Vec<Made>,
}

/// Checks requests.
pub(crate) struct Checker<'r, 'a> {
    pub(crate) machine: &'a dyn Source,
    pub(crate) runner: &'a RefCell<&'r mut dyn Runner>,
    pub(crate) allowed: &'a Allowed,
    pub(crate) results: &'a Results,
}

impl Checker<'_, '_> {
    pub(crate) fn check(&self, request: &Request) -> CheckedRequest {
        match request.kind {
            RunKind::Job => self.job(request),
            RunKind::Quick => self.quick(request),
            RunKind::Sweep => self.sweep(request),
        }
    }

    fn job(&self, request: &Request) -> CheckedRequest {
        let source =
            TextSource { machine: self.machine, job: &request.job, loads: self.allowed.commands, file: None };
        // The run has no folder yet, so its logs are checked against the results directory.
        let folder = self.results.path();
        let spec = match reading::parse(&work::words_of(Some(folder)), &source) {
            Ok(spec) => spec,
            Err(messages) => {
                return CheckedRequest { mistakes: mistakes(&messages), ..CheckedRequest::default() };
            }
        };
        let notes = match spec.messages.is_empty() {
            true => Vec::new(),
            false => mistakes(&spec.messages),
        };
        match self.allowed.plan(&spec, Some(folder)) {
            Err(lines) => CheckedRequest { mistakes: placed(lines), notes, ..CheckedRequest::default() },
            Ok(plan) => {
                let (plans, made) = ([plan], self.results.made());
                let mut found = self.forecast(forecast::of(&plans[0], &made));
                found.notes = notes;
                found.makes = forecast::to_make(&plans);
                found.remakes = forecast::to_remake(&plans, &made);
                found
            }
        }
    }

    /// Adds a forecast; targets in use become mistakes.
    fn forecast(&self, forecast: Forecast) -> CheckedRequest {
        let used = forecast.targets.iter().filter_map(|target| {
            let used = target.in_use.as_ref()?;
            Some(format!("{} is in use: {used}", target.path))
        });
        CheckedRequest {
            mistakes: placed(used.collect()),
            forecast: Some(forecast),
            ..CheckedRequest::default()
        }
    }

    fn quick(&self, request: &Request) -> CheckedRequest {
        let directory = Path::new(&request.directory);
        if let Some(reason) = self.allowed.refusal_of_path(directory) {
            return CheckedRequest { mistakes: placed(vec![reason]), ..CheckedRequest::default() };
        }
        let mut found = self.command(request, &["--show-job"]);
        if found.mistakes.is_empty() {
            found.text.insert_str(0, &format!(
                "# A new file in {}, without a name: the kernel removes it when the run ends, however it ends. Nothing that exists is \
                touched.\n# As a job file, with a name for the file:\n\n",
                directory.display()
            ));
        }
        found
    }

    fn sweep(&self, request: &Request) -> CheckedRequest {
        if request.vary.is_empty() {
            let line = "a sweep varies an option: name one, such as iodepth, and its values";
            return CheckedRequest { mistakes: placed(vec![line.to_owned()]), ..CheckedRequest::default() };
        }
        // The job is checked first, because its errors have line numbers.
        let found = self.job(request);
        if !found.mistakes.is_empty() {
            return found;
        }
        self.command(request, &["--dry-run"])
    }

    /// Runs a command in a mode that only prints its plan.
    fn command(&self, request: &Request, options: &[&str]) -> CheckedRequest {
        let Some(command) = fathom_answers::by_name(work::name_of(request.kind)) else {
            return CheckedRequest::default();
        };
        let Ok(folder) = Draft::write(self.results.path(), &request.job) else {
            let line = "the results directory cannot be written to".to_owned();
            return CheckedRequest { mistakes: placed(vec![line]), ..CheckedRequest::default() };
        };
        let accepted = Accepted {
            request: request.clone(),
            accepted_ms: now_ms(),
            allowed: self.allowed.clone(),
            makes: Vec::new(),
            remakes: Vec::new(),
        };
        let options = options.iter().map(Into::into);
        let words: Vec<_> = options.chain(work::words_of_command(&accepted, &folder.0, None)).collect();
        let file = folder.0.join("job.fio");
        let mut inner = self.runner.borrow_mut();
        let mut guarded = GuardedRunner {
            inner: &mut **inner,
            events: None,
            machine: self.machine,
            allowed: self.allowed,
            file: &file,
            confirmed: &[],
            began: Instant::now(),
            plans: RefCell::default(),
            workers: Cell::default(),
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut streams = Streams { out: &mut out, err: &mut err };
        let done = (command.run)(&words, &mut streams, &mut guarded);
        let plans = guarded.plans.take();
        let mut found = match done {
            Err(failure) => {
                let lines = failure.to_string().lines().map(str::to_owned).collect();
                return CheckedRequest { mistakes: placed(lines), ..CheckedRequest::default() };
            }
            // The jobs of quick use an unnamed file, so they leave no files behind.
            Ok(_) if request.kind == RunKind::Quick => CheckedRequest::default(),
            Ok(_) => {
                let made = self.results.made();
                CheckedRequest {
                    makes: forecast::to_make(&plans),
                    remakes: forecast::to_remake(&plans, &made),
                    ..self.forecast(forecast::of_all(&plans, &made))
                }
            }
        };
        if let Some(forecast) = found.forecast.as_mut().filter(|_| request.kind == RunKind::Sweep) {
            // Time and amounts are those of a single run; the text says how many runs follow.
            forecast.jobs.truncate(1);
        }
        let text = String::from_utf8_lossy(&out);
        found.text = text.chars().take(MOST_TEXT).collect();
        found
    }
}

/// Converts messages that have no line number.
fn placed(lines: Vec<String>) -> Vec<Mistake> {
    let text = |line: String| line.trim_start_matches("fathom: ").to_owned();
    lines.into_iter().map(|line| Mistake { line: None, text: text(line) }).collect()
}

/// A folder for a job that is only checked, not run. It is removed on drop.
struct Draft(PathBuf);

impl Draft {
    fn write(results: &Path, job: &str) -> std::io::Result<Draft> {
        let draft = Draft(results.join("draft"));
        DirBuilder::new().recursive(true).mode(0o700).create(&draft.0)?;
        std::fs::write(draft.0.join("job.fio"), job)?;
        Ok(draft)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // An error is ignored, because the next check replaces a folder that remains.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
