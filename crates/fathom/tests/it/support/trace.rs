//! System calls of a run, as strace saw them.

use super::program::{self, Finished, Launch};
use super::{scratch, skip};
use std::path::Path;
use std::time::Duration;

/// The calls of all processes and threads of a run.
pub(crate) struct Trace {
    /// One call per entry, without the process id; calls that another one interrupted are whole again.
    pub(crate) calls: Vec<String>,
    /// How the run went.
    pub(crate) finished: Finished,
}

impl Trace {
    /// Runs the program under test on a job and records the calls named.
    pub(crate) fn of(directory: &Path, calls: &str, words: &str) -> Result<Trace, String> {
        skip::tool("strace")?;
        let logs = scratch();
        let log = logs.path().join("calls");
        let finished = Launch::of(Path::new("strace"), directory)
            .words("-f -y -qq -o")
            .argument(&log)
            .argument(format!("--trace={calls}"))
            .argument(program::path())
            .words(words)
            .timeout(Duration::from_secs(120))
            .run();
        if finished.stderr.contains("ptrace") && finished.code() != 0 {
            return Err(format!("strace: {}", finished.stderr.trim()));
        }
        let text = std::fs::read_to_string(&log).map_err(|error| format!("strace's log: {error}"))?;
        Ok(Trace { calls: whole_calls(&text), finished })
    }

    /// Calls of that name on a file whose path ends in `file`.
    pub(crate) fn on<'a>(&'a self, name: &'a str, file: &'a str) -> impl Iterator<Item = &'a str> {
        let start = format!("{name}(");
        let marker = format!("{file}>");
        self.calls
            .iter()
            .map(String::as_str)
            .filter(move |call| call.starts_with(&start) && call.contains(&marker))
    }

    /// Number of calls of that name.
    pub(crate) fn count(&self, name: &str) -> usize {
        let start = format!("{name}(");
        self.calls.iter().filter(|call| call.starts_with(&start)).count()
    }
}

/// Joins `pread64(3, <unfinished ...>` with `<... pread64 resumed>...` of the same process.
fn whole_calls(log: &str) -> Vec<String> {
    let mut open: std::collections::HashMap<&str, &str> = Default::default();
    let mut calls = Vec::new();
    for (pid, call) in log.lines().filter_map(|line| line.split_once(char::is_whitespace)) {
        let call = call.trim_start();
        if let Some(start) = call.strip_suffix("<unfinished ...>") {
            open.insert(pid, start);
        } else if let Some((_, end)) = call.split_once("resumed>") {
            calls.push(format!("{}{end}", open.remove(pid).unwrap_or_default()));
        } else {
            calls.push(call.to_string());
        }
    }
    // What never returned was called all the same.
    calls.extend(open.into_values().map(str::to_string));
    calls
}

#[test]
fn interrupted_calls_are_joined() {
    let log = "12 pread64(3</f>, <unfinished ...>\n13  close(3) = 0\n12 <... pread64 resumed>\"\"..., 4096, 0) = 4096\n";
    assert_eq!(whole_calls(log), ["close(3) = 0", "pread64(3</f>, \"\"..., 4096, 0) = 4096"]);
}
