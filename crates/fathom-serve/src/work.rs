//! The process of one run: performs the request in its folder and leaves all results there, regardless of
//! whether anyone watches.

use crate::allowed::Allowed;
use crate::events::{Event, Events};
use crate::folder::{Accepted, End, Folder, RunKind, State, now_ms};
use crate::history;
use crate::made::Made;
use crate::process::Process;
use crate::reading::{self, GuardedRunner, TICK, TextSource};
use fathom_answers::{Keeper, Runner};
use fathom_command::printer::{Letters, Printer, Screen};
use fathom_command::{Failure, Streams};
use fathom_local::{exit, here};
use fathom_report::Chosen;
use fathom_run::message::Message;
use fathom_run::plan::Plan;
use fathom_run::supervisor::{self, Observer, Options};
use fathom_spec::mistakes::in_own_words;
use fathom_spec::{RunSpec, Source};
use fathom_stats::live::{LiveDetails, LiveTick};
use fathom_stats::report::RunReport;
use fathom_sys::clock::Calibration;
use fathom_sys::signal::{OF_USERS, SignalQueue};
use std::cell::{Cell, RefCell};
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Maximum time that the processes of an earlier run may take to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Performs the run in this folder, adds its result to a store if one is named, and returns the exit code.
pub(crate) fn perform(
    path: &Path,
    history: Option<&OsStr>,
    machine: &dyn Source,
    runner: &mut dyn Runner,
) -> Result<u8, Failure> {
    // In a new session, neither the end of a terminal nor its Ctrl-C affects the run.
    fathom_sys::process::new_session();
    let folder = Folder::of(path);
    let Some(accepted) = folder.accepted() else {
        return Err(Failure::new(format!("{}: there is no request in it", path.display())));
    };
    let failed = |error: io::Error| crate::failed(path, &error);
    let this = Process::this().ok_or_else(|| Failure::new("/proc has no entry for this process"))?;
    // Signals are queued before other processes can know which process to signal. A signal that arrives after
    // the work is done has no effect.
    let signals = SignalQueue::new(&OF_USERS)
        .map_err(|errno| Failure::new(format!("cannot wait for signals: {errno}")))?;
    let lock = lock_of_runs(path).map_err(failed)?;
    if folder.state() != State::Starting {
        return Err(Failure::new(format!(
            "{}: this run began already, or was accepted too long ago; it is not run again",
            path.display()
        )));
    }
    folder.put("process.json", &this).map_err(failed)?;
    let events = RefCell::new(Events::create(&folder.file("events.jsonl")).map_err(failed)?);
    let obstacle = match &lock {
        None => Some("processes of another run are still there".to_owned()),
        Some(_) => Made::obstacle(&accepted.makes, &accepted.remakes),
    };
    let done = match (obstacle, accepted.request.kind) {
        (Some(obstacle), _) => Err(Failure::new(obstacle)),
        (None, RunKind::Job) => jobs(&folder, &accepted, history, machine, &events),
        (None, RunKind::Quick | RunKind::Sweep) => {
            command(&folder, &accepted, history, machine, runner, &events)
        }
    };
    if done.is_ok() {
        // An error is ignored: files without a record only need to be confirmed later.
        let _ = folder.put_made(&accepted);
    }
    let (code, problem) = match done {
        Ok(code) if signals.asked_to_end().is_some() => (code.max(exit::ENDED_BY_SIGNAL), None),
        Ok(code) => (code, None),
        Err(failure) => (failure.exit_code(), Some(failure.to_string())),
    };
    if let Some(problem) = &problem {
        tell(&events, problem);
    }
    // Higher codes contain the number of a signal.
    let code = code.min(exit::ENDED_BY_SIGNAL);
    folder.put("ended.json", &End { exit: code, ended_ms: now_ms(), problem }).map_err(failed)?;
    Ok(code)
}

/// Returns the lock that only one run and its processes can hold at a time; `None` if another run holds it.
fn lock_of_runs(folder: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(folder.with_file_name("lock"))?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            // Processes of a killed run need a moment to notice its end.
            Err(TryLockError::WouldBlock) if began.elapsed() < PATIENCE => std::thread::sleep(PATIENCE / 100),
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Sends a line to viewers and writes it to the folder.
fn tell(events: &RefCell<Events>, text: &str) {
    for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
        events.borrow_mut().message(line);
        // An error is ignored, because the event contains the line as well.
        let _ = writeln!(io::stderr(), "{line}");
    }
}

/// Returns the arguments for parsing a job file, with logs and states in the folder of the run.
pub(crate) fn words_of(folder: Option<&Path>) -> Vec<String> {
    let beside = folder.map(|folder| format!("--aux-path={}", folder.display()));
    beside.into_iter().chain(["-".to_owned()]).collect()
}

/// Runs the jobs of a job file.
fn jobs(
    folder: &Folder,
    accepted: &Accepted,
    history: Option<&OsStr>,
    machine: &dyn Source,
    events: &RefCell<Events>,
) -> Result<u8, Failure> {
    let keeper = history.map(|store| Keeper::begin(Some(store))).transpose()?;
    let source =
        TextSource { machine, job: &accepted.request.job, loads: accepted.allowed.commands, file: None };
    let spec = reading::parse(&words_of(Some(&folder.path)), &source)
        .map_err(|messages| Failure::new(in_own_words(&messages)))?;
    let refused = |lines: Vec<String>| Failure::new(lines.join("\n"));
    let plan = accepted.allowed.plan(&spec, Some(&folder.path)).map_err(refused)?;
    let lines = Allowed::check_uses(&plan, &accepted.request.confirm);
    if !lines.is_empty() {
        return Err(refused(lines));
    }
    spec.messages.iter().for_each(|message| tell(events, &message.text));
    run(folder, &spec, &plan, keeper.as_ref(), events)
}

fn run(
    folder: &Folder,
    spec: &RunSpec,
    plan: &Plan,
    keeper: Option<&Keeper>,
    events: &RefCell<Events>,
) -> Result<u8, Failure> {
    let options = Options {
        live_view: true,
        slices: here::slices(spec),
        report_alone: false,
        ..here::options(Some(TICK))
    };
    let calibration = Calibration::start();
    let engines = here::engines(plan);
    let mut viewers = Viewers { events };
    let mut outcome = supervisor::run(plan, engines, calibration.finish(), options, &mut viewers)
        .map_err(|error| Failure::new(here::why_not_started(&error)))?;
    fathom_answers::judge(&mut outcome.report)
        .map_err(|reason| Failure::new(format!("no verdict on the result: {reason}")))?;
    let path = folder.file("result.json");
    let failed = |error: io::Error| crate::failed(&path, &error);
    // The document is written to another name and renamed, because it may be read at any time, and the disk may
    // fill up.
    let beside = folder.file("result.json.new");
    let mut file = BufWriter::new(File::create(&beside).map_err(failed)?);
    for bytes in Chosen::new(&["json+".to_owned()], 3).write(&outcome.report) {
        file.write_all(&bytes).map_err(failed)?;
    }
    file.into_inner().map_err(io::Error::from).and_then(|file| file.sync_all()).map_err(failed)?;
    std::fs::rename(&beside, &path).map_err(failed)?;
    // The figures of a run that a bug ended are not kept.
    if let Some(keeper) = keeper.filter(|_| !outcome.is_broken) {
        keeper.add(&outcome.report, Some(&path))?;
    }
    Ok(exit::number(&outcome, false))
}

/// Records the events of a run.
struct Viewers<'a> {
    events: &'a RefCell<Events>,
}

impl Observer for Viewers<'_> {
    fn message(&mut self, message: &Message) {
        match message {
            Message::Output(text) | Message::Error(text) | Message::Failure(text) => tell(self.events, text),
            Message::LayingOut { job, files, bytes } => {
                tell(self.events, &fathom_report::header::layout_line(job, *files, *bytes));
            }
            Message::Figures(_) | Message::StageChanged => {}
        }
    }

    fn tick(&mut self, tick: &LiveTick, details: Option<&LiveDetails>) {
        let at_ms = details.map_or(0, |details| details.elapsed_ns / 1_000_000);
        self.events.borrow_mut().tick(&Event::tick(at_ms, tick, details));
    }

    /// Does nothing, because viewers cannot see the interim report of SIGUSR1.
    fn interim_report(&mut self, _: &RunReport) {}
}

/// Returns the arguments of a command. All texts of the browser become values of options or follow
/// `--`, so that none is taken as an option.
pub(crate) fn words_of_command(accepted: &Accepted, folder: &Path, history: Option<&OsStr>) -> Vec<OsString> {
    let request = &accepted.request;
    let in_folder = |option: &str, name: &str| {
        let mut word = OsString::from(option);
        word.push(folder.join(name));
        word
    };
    let mut words = Vec::new();
    words.extend(history.map(history::word));
    match request.kind {
        RunKind::Job => {}
        RunKind::Quick => {
            let given = [("--size", &request.size), ("--time", &request.time)];
            let given = given.iter().filter(|(_, value)| !value.is_empty());
            words.extend(given.map(|(option, value)| OsString::from(format!("{option}={value}"))));
            words.extend([
                in_folder("--save=", "result.json"),
                "--".into(),
                request.directory.clone().into(),
            ]);
        }
        RunKind::Sweep => {
            words.extend(request.vary.iter().map(|vary| OsString::from(format!("--vary={vary}"))));
            words.extend(request.repeats.map(|repeats| OsString::from(format!("--repeats={repeats}"))));
            words.extend([in_folder("--output=", "sweep.jsonl"), in_folder("", "job.fio")]);
        }
    }
    words
}

/// Returns the name of a kind of command.
pub(crate) fn name_of(kind: RunKind) -> &'static str {
    match kind {
        RunKind::Job => "",
        RunKind::Quick => "quick",
        RunKind::Sweep => "sweep",
    }
}

/// Runs `quick` or a `sweep`.
fn command(
    folder: &Folder,
    accepted: &Accepted,
    history: Option<&OsStr>,
    machine: &dyn Source,
    runner: &mut dyn Runner,
    events: &RefCell<Events>,
) -> Result<u8, Failure> {
    let name = name_of(accepted.request.kind);
    let command = fathom_answers::by_name(name).ok_or_else(|| Failure::new("there is no such command"))?;
    if accepted.request.kind == RunKind::Quick
        && let Some(reason) = accepted.allowed.refusal_of_path(Path::new(&accepted.request.directory))
    {
        return Err(Failure::new(reason));
    }
    let file = folder.file("job.fio");
    let allowed = Allowed { unnamed: accepted.request.kind == RunKind::Quick, ..accepted.allowed.clone() };
    let mut guarded = GuardedRunner {
        inner: runner,
        events: Some(events),
        machine,
        allowed: &allowed,
        file: &file,
        confirmed: &accepted.request.confirm,
        began: Instant::now(),
        plans: RefCell::default(),
        workers: Cell::default(),
    };
    let path = folder.file("output.txt");
    let output = File::create(&path).map_err(|error| crate::failed(&path, &error))?;
    let mut out = Printer::new(BufWriter::new(output), Letters::Unicode);
    let mut err = Lines { events, begun: Vec::new() };
    let mut streams = Streams { out: &mut out, err: &mut err };
    let words = words_of_command(accepted, &folder.path, history);
    let code = (command.run)(&words, &mut streams, &mut guarded)?;
    out.flush().map_err(|error| crate::failed(&path, &error))?;
    Ok(code)
}

/// Splits the output of a command into lines.
struct Lines<'a> {
    events: &'a RefCell<Events>,
    begun: Vec<u8>,
}

impl Write for Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        while let Some(end) = self.begun.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.begun.drain(..=end).collect();
            tell(self.events, String::from_utf8_lossy(&line).trim());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Screen for Lines<'_> {
    fn line_start(&mut self) -> io::Result<()> {
        self.begun.clear();
        Ok(())
    }
}
