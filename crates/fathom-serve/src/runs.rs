//! Starts, finds, stops and describes runs.

use crate::allowed::Allowed;
use crate::check::CheckedRequest;
use crate::folder::{Accepted, End, Folder, Request, Results, RunKind, State, now_ms};
use crate::history::{self, History};
use serde::Serialize;
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The reason why a run was not started.
pub(crate) enum Refusal {
    /// The request is wrong, with the reason.
    Wrong(String),
    /// Another run is in progress.
    Busy(String),
    /// The user must type these names first.
    Unconfirmed(Vec<String>),
    System(io::Error),
}

/// A run, for lists and pages.
#[derive(Debug, Serialize)]
pub(crate) struct Described {
    id: String,
    kind: RunKind,
    title: String,
    state: State,
    accepted_ms: u64,
    end: Option<End>,
    /// The last line that a lost run printed.
    last_words: Option<String>,
    /// True once a stop has been requested.
    is_stopping: bool,
    has_result: bool,
    /// Names of the files that can be downloaded.
    files: Vec<&'static str>,
}

/// Names of all files of a run that can be downloaded.
pub(crate) const FILES: [&str; 6] =
    ["job.fio", "result.json", "sweep.jsonl", "output.txt", "stderr.txt", "events.jsonl"];
/// Number of bytes at the end of a run's output that are searched for its last line.
const MOST_WORDS: u64 = 4096;
/// Name of the file that exists once a stop of the run has been requested.
const STOPPING: &str = "stopping";

/// All runs.
pub(crate) struct Runs {
    pub(crate) results: Results,
    pub(crate) allowed: Allowed,
    /// The store to which runs are added.
    pub(crate) history: Option<History>,
    /// Processes that this server has started; other runs are known only by their folders.
    children: RefCell<Vec<Child>>,
}

impl Runs {
    pub(crate) fn new(results: Results, allowed: Allowed, history: Option<History>) -> Runs {
        Runs { results, allowed, history, children: RefCell::default() }
    }

    /// Waits for processes that have ended, so that no zombies remain.
    pub(crate) fn reap(&self) {
        self.children.borrow_mut().retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    }

    /// Returns the run in progress.
    pub(crate) fn current(&self) -> Option<Folder> {
        self.results.runs().into_iter().find(|folder| folder.state().is_under_way())
    }

    /// Starts a run that has passed the check.
    pub(crate) fn start(&self, mut request: Request, found: CheckedRequest) -> Result<Folder, Refusal> {
        if let Some(mistake) = found.mistakes.first() {
            let place = mistake.line.map_or(String::new(), |line| format!("line {line}: "));
            return Err(Refusal::Wrong(format!("{place}{}", mistake.text)));
        }
        if let Some(current) = self.current() {
            return Err(Refusal::Busy(format!(
                "run {} is in progress, and two at a time would disturb each other's figures; wait for its end, or stop it",
                current.id
            )));
        }
        let wanted = found.forecast.map(|forecast| forecast.to_confirm).unwrap_or_default();
        let missing: Vec<String> =
            wanted.into_iter().filter(|name| !request.confirm.contains(name)).collect();
        if !missing.is_empty() {
            return Err(Refusal::Unconfirmed(missing));
        }
        if request.title.trim().is_empty() {
            request.title = title_of(&request);
        }
        let accepted = Accepted {
            request,
            accepted_ms: now_ms(),
            allowed: self.allowed.clone(),
            makes: found.makes,
            remakes: found.remakes,
        };
        let folder = self.results.create(&accepted).map_err(Refusal::System)?;
        self.spawn(&folder).map_err(Refusal::System)?;
        Ok(folder)
    }

    fn spawn(&self, folder: &Folder) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.create_new(true).append(true).mode(0o600);
        let stderr = options.open(folder.file("stderr.txt"))?;
        let child = Command::new("/proc/self/exe")
            .arg(crate::NAME)
            .args(self.history.as_ref().map(|history| history::word(&history.store)))
            .arg(format!("--work={}", folder.path.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()?;
        self.children.borrow_mut().push(child);
        Ok(())
    }

    /// Stops a run with SIGINT, and with SIGTERM on a second call. Returns the signal that was sent, or the
    /// reason why none was.
    pub(crate) fn stop(&self, folder: &Folder) -> Result<&'static str, &'static str> {
        let Some(process) = folder.process() else {
            return Err(match folder.state() {
                State::Starting => "this run is starting; stop it in a moment",
                _ => "this run is over",
            });
        };
        let mark = folder.file(STOPPING);
        let (name, signal) = match mark.exists() {
            true => ("SIGTERM", libc::SIGTERM),
            false => ("SIGINT", libc::SIGINT),
        };
        let is_sent = process.signal(signal);
        if is_sent {
            // An error is ignored: without the file, the next request only sends SIGINT again.
            let _ = File::create(mark);
        }
        if is_sent { Ok(name) } else { Err("this run is over") }
    }

    pub(crate) fn describe(&self, folder: &Folder) -> Option<Described> {
        let accepted = folder.accepted()?;
        let state = folder.state();
        let is_there = |name: &&str| folder.file(name).metadata().is_ok_and(|found| found.len() > 0);
        Some(Described {
            id: folder.id.clone(),
            kind: accepted.request.kind,
            title: accepted.request.title,
            state,
            accepted_ms: accepted.accepted_ms,
            end: folder.end(),
            last_words: if state == State::Lost { last_line(&folder.file("stderr.txt")) } else { None },
            is_stopping: folder.file(STOPPING).exists(),
            has_result: folder.result().is_some(),
            files: FILES.into_iter().filter(is_there).collect(),
        })
    }
}

/// Returns the last line of a text that is not blank.
fn last_line(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST_WORDS))).ok()?;
    let mut bytes = Vec::new();
    file.take(MOST_WORDS).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
}

/// Returns the default title of a run.
fn title_of(request: &Request) -> String {
    let section = request
        .job
        .lines()
        .map(str::trim)
        .find_map(|line| line.strip_prefix('[')?.strip_suffix(']').filter(|name| *name != "global"));
    match request.kind {
        RunKind::Job => section.unwrap_or("job").to_owned(),
        RunKind::Quick => format!("quick {}", request.directory),
        RunKind::Sweep => format!("sweep {}", section.unwrap_or("job")),
    }
}
