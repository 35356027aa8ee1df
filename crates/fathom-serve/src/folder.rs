//! The results directory, which has a folder with all files of each run.
//!
//! | file | content |
//! |---|---|
//! | `request.json` | the request, the access of its jobs, and the names that were confirmed |
//! | `job.fio` | the job as the user wrote it |
//! | `process.json` | the process of the run, written when it starts |
//! | `events.jsonl` | ticks, messages and the end of the run, a line each |
//! | `result.json`, `sweep.jsonl` | the result |
//! | `made.json` | the files that the run created, as they were at its end |
//! | `output.txt`, `stderr.txt` | the output of the process |
//! | `ended.json` | the outcome of the run; missing if the process was killed |

use crate::allowed::Allowed;
use crate::made::{AllMade, Made};
use crate::process::Process;
use fathom_command::Failure;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Maximum time that a process may take to report that it has started.
const START: Duration = Duration::from_secs(20);

/// File with the list of files that a run created. A killed run has no such list, so overwriting its files must
/// be confirmed.
const MADE: &str = "made.json";

/// The kind of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RunKind {
    /// Jobs from a job file.
    Job,
    /// `fathom quick`.
    Quick,
    /// `fathom sweep`.
    Sweep,
}

/// The request of a browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    pub(crate) kind: RunKind,
    /// The name of the run in lists.
    #[serde(default)]
    pub(crate) title: String,
    /// The job file of a job or a sweep.
    #[serde(default)]
    pub(crate) job: String,
    /// For `quick`: the directory, the size of its file, and the duration of each test.
    #[serde(default)]
    pub(crate) directory: String,
    #[serde(default)]
    pub(crate) size: String,
    #[serde(default)]
    pub(crate) time: String,
    /// For a sweep: one `NAME=A,B` for each varied option, and the number of repeats.
    #[serde(default)]
    pub(crate) vary: Vec<String>,
    #[serde(default)]
    pub(crate) repeats: Option<u32>,
    /// Names that the user typed to confirm that their data may be lost.
    #[serde(default)]
    pub(crate) confirm: Vec<String>,
}

/// A request that was accepted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Accepted {
    pub(crate) request: Request,
    /// Time at which it was accepted, in ms of the wall clock.
    pub(crate) accepted_ms: u64,
    pub(crate) allowed: Allowed,
    /// Files that did not exist when the request was accepted. If this run creates them, a later one may
    /// overwrite them without confirmation.
    pub(crate) makes: Vec<PathBuf>,
    /// Files that earlier runs created, as they were before this run.
    #[serde(default)]
    pub(crate) remakes: Vec<Made>,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct End {
    pub(crate) exit: u8,
    pub(crate) ended_ms: u64,
    /// The reason for a failure.
    pub(crate) problem: Option<String>,
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// The run's process has not reported its start yet.
    Starting,
    Running,
    /// The run ended with a result.
    Done,
    /// A signal ended the run early; the result covers the time until then.
    Stopped,
    /// Jobs of the run failed, or it could not start.
    Failed,
    /// The run's process disappeared without reporting its end.
    Lost,
}

impl State {
    /// True while the run may still make progress.
    pub(crate) fn is_under_way(self) -> bool {
        matches!(self, State::Starting | State::Running)
    }
}

/// All runs.
#[derive(Clone, Debug)]
pub(crate) struct Results {
    directory: PathBuf,
}

/// One run.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    pub(crate) id: String,
    pub(crate) path: PathBuf,
}

/// Refuses a results directory to which other users can write, because its content determines what is run, and
/// as which user.
fn refuse_of_others(path: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| crate::failed(path, &error);
    let found = fs::symlink_metadata(path).map_err(failed)?;
    // The kernel makes the user of a process the owner of this directory, so its owner is the current user.
    let own = fs::metadata("/proc/self").map_err(failed)?.uid();
    let why = if !found.is_dir() {
        "is not a directory"
    } else if found.uid() != own {
        "belongs to another user"
    } else if found.mode() & 0o022 != 0 {
        "can be written by others (chmod go-w)"
    } else {
        return Ok(());
    };
    let text = format!(
        "{} {why}; its content decides what is run: name another directory (--results=)",
        path.display()
    );
    Err(Failure::new(text))
}

impl Results {
    /// Opens the directory, or creates it with access for its owner only. A server locks it for its lifetime:
    /// the lock is the returned file.
    pub(crate) fn open(directory: &Path) -> Result<(Results, File), Failure> {
        let failed = |error: io::Error| crate::failed(directory, &error);
        for part in ["", "runs", "targets"] {
            let path = directory.join(part);
            DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(failed)?;
        }
        let directory = directory.canonicalize().map_err(failed)?;
        for part in ["", "runs", "targets"] {
            refuse_of_others(&directory.join(part))?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let lock = options.open(directory.join("lock")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok((Results { directory }, lock)),
            Err(fs::TryLockError::WouldBlock) => Err(Failure::new(format!(
                "--results={}: another fathom serve keeps its runs here; open the address that it printed, or name another directory",
                directory.display()
            ))),
            Err(fs::TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Returns the directory whose files may be targets without confirmation.
    pub(crate) fn targets(&self) -> PathBuf {
        self.directory.join("targets")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.directory
    }

    /// Returns the run with this name. Names are checked, so that a path cannot lead outside of the directory.
    pub(crate) fn run(&self, id: &str) -> Option<Folder> {
        let is_name = (1..=64).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase() || byte == b'-');
        let path = self.directory.join("runs").join(id);
        let is_there = is_name && fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
        is_there.then(|| Folder { id: id.to_owned(), path })
    }

    /// Returns all runs, the latest first.
    pub(crate) fn runs(&self) -> Vec<Folder> {
        let entries = fs::read_dir(self.directory.join("runs"));
        let names =
            entries.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort_unstable_by(|one, other| other.cmp(one));
        names.iter().filter_map(|name| self.run(name)).collect()
    }

    /// Creates a folder that holds the request.
    pub(crate) fn create(&self, accepted: &Accepted) -> io::Result<Folder> {
        let now = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
        for number in 0..1000 {
            let id = format!("{now}-{number:03}");
            let path = self.directory.join("runs").join(&id);
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    let folder = Folder { id, path };
                    fs::write(folder.file("job.fio"), &accepted.request.job)?;
                    folder.put("request.json", accepted)?;
                    return Ok(folder);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("a thousand runs were started in this second"))
    }

    /// Returns the files that earlier runs created, as they were at the end of the run.
    pub(crate) fn made(&self) -> AllMade {
        self.runs().into_iter().filter_map(|folder| folder.get::<Vec<Made>>(MADE)).flatten().collect()
    }
}

impl Folder {
    /// Returns the folder of the run that this process performs.
    pub(crate) fn of(path: &Path) -> Folder {
        let id = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Folder { id, path: path.to_owned() }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a document atomically.
    pub(crate) fn put(&self, name: &str, document: &impl Serialize) -> io::Result<()> {
        let new = self.file(&format!("{name}.new"));
        let mut file = File::create(&new)?;
        file.write_all(serde_json::to_string_pretty(document)?.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(new, self.file(name))
    }

    fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_slice(&fs::read(self.file(name)).ok()?).ok()
    }

    pub(crate) fn accepted(&self) -> Option<Accepted> {
        self.get("request.json")
    }

    pub(crate) fn process(&self) -> Option<Process> {
        self.get("process.json")
    }

    pub(crate) fn end(&self) -> Option<End> {
        self.get("ended.json")
    }

    /// Records the files that a run has created, as they are at the run's end.
    pub(crate) fn put_made(&self, accepted: &Accepted) -> io::Result<()> {
        let remade = accepted.remakes.iter().map(|made| &made.path);
        let made: Vec<Made> = accepted.makes.iter().chain(remade).filter_map(|path| Made::of(path)).collect();
        if made.is_empty() { Ok(()) } else { self.put(MADE, &made) }
    }

    pub(crate) fn state(&self) -> State {
        // The process is read before the end, because it may end between the two reads.
        let process = self.process();
        let is_alive = process.as_ref().is_some_and(Process::is_alive);
        match (self.end(), process) {
            (Some(end), _) if end.exit == fathom_local::exit::ENDED_BY_SIGNAL => State::Stopped,
            (Some(end), _) if end.exit != 0 => State::Failed,
            (Some(_), _) => State::Done,
            (None, Some(_)) if is_alive => State::Running,
            (None, None) if self.age() < START => State::Starting,
            (None, _) => State::Lost,
        }
    }

    /// Returns the time since the run's request was accepted. The wall clock may have been set back since then,
    /// so a time far in the future does not count as a recent start.
    fn age(&self) -> Duration {
        let accepted = self.accepted().map_or(0, |accepted| accepted.accepted_ms);
        Duration::from_millis(now_ms().abs_diff(accepted))
    }

    /// Returns the name of the run's result file, if there is one.
    pub(crate) fn result(&self) -> Option<&'static str> {
        ["sweep.jsonl", "result.json"]
            .into_iter()
            .find(|name| fs::metadata(self.file(name)).is_ok_and(|found| found.len() > 0))
    }
}

/// Returns the wall clock in milliseconds.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        let directory = tempfile::tempdir().expect("a directory");
        let (results, _lock) = Results::open(directory.path()).expect("results");
        std::os::unix::fs::symlink("/etc", results.path().join("runs/link")).expect("a link");
        for id in ["..", ".", "", "a/b", "../runs", "link", "A", "%2e%2e", "x"] {
            assert!(results.run(id).is_none(), "{id}");
        }
        assert!(
            Results::open(directory.path())
                .is_err_and(|error| error.to_string().contains("another fathom serve"))
        );
    }
}
