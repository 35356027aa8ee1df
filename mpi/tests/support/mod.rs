//! Common parts of the test programs.

use std::io::Write;
use std::process::{Command, Stdio};

/// The command that starts ranks. A machine with two processors may run thirteen of them, even as root.
pub(crate) fn launcher() -> Option<Vec<String>> {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    if let Ok(named) = std::env::var("FATHOM_MPIRUN") {
        return Some(words(&named));
    }
    let candidates = match is_open_mpi() {
        true => [
            "mpirun.openmpi --oversubscribe --allow-run-as-root",
            "mpirun --oversubscribe --allow-run-as-root",
        ],
        false => ["mpiexec.mpich", "mpiexec"],
    };
    let exists = |command: &[String]| {
        let shown =
            Command::new(&command[0]).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        shown.is_ok_and(|status| status.success())
    };
    candidates.into_iter().map(words).find(|command| exists(command))
}

/// Which MPI this is built for; the other one is MPICH.
pub(crate) fn is_open_mpi() -> bool {
    mpi::environment::library_version().expect("the name of the library").contains("Open MPI")
}

/// Reports a skip so that `make test` counts it.
pub(crate) fn skip(test: &str, reason: &str) {
    let reason = reason.split_whitespace().collect::<Vec<&str>>().join(" ");
    let line = format!("SKIP {test}: {reason}\n");
    if let Some(path) = std::env::var_os("FATHOM_SKIP_LOG") {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(path);
        log.and_then(|mut log| log.write_all(line.as_bytes())).expect("the log of skips");
    }
    // A closed stream must not turn a skip into a failure.
    let _ = std::io::stdout().write_all(line.as_bytes());
}
