//! The file `fio-dump-status`: when it appears, a report of the run so far is printed.
//!
//! A process of its own looks for it, because the directory may be on the very device that hangs. It asks for the report the
//! way everybody can: with SIGUSR1.

use super::{Observer, Supervisor};
use fathom_sys::process::{self, Fork};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A run that is over sooner needs nobody to look.
const FIRST_LOOK_NS: u64 = 1_000_000_000;
const LOOK: Duration = Duration::from_millis(500);

impl<O: Observer> Supervisor<'_, O> {
    /// Starts to look for the file once the run has lasted a while.
    pub(super) fn look_for_dump_requests(&mut self, now: u64) {
        if self.dump_watch.is_some() || now < self.started_ns + FIRST_LOOK_NS {
            return;
        }
        let path = request_path(|name| std::env::var_os(name));
        let supervisor = process::own_pid();
        // SAFETY: the supervisor has a single thread. Without the process, signals still bring a report.
        match unsafe { process::fork() } {
            Ok(Fork::Child) => {
                super::spawn::become_child();
                // A supervisor that ended while this process began could not take it along.
                while std::os::unix::process::parent_id() == supervisor {
                    std::thread::sleep(LOOK);
                    if std::fs::remove_file(&path).is_ok() {
                        process::kill(supervisor, libc::SIGUSR1);
                    }
                }
                process::exit_now(0);
            }
            Ok(Fork::Parent(pid)) => self.dump_watch = Some(pid),
            Err(_) => self.dump_watch = Some(0),
        }
    }

    /// The run is over.
    pub(super) fn end_dump_watch(&self) {
        if let Some(pid) = self.dump_watch.filter(|&pid| pid != 0) {
            process::kill(pid, libc::SIGKILL);
        }
    }
}

fn request_path(variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let named = ["TMPDIR", "TEMP"].iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
    named.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from).join(Path::new("fio-dump-status"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_that_of_temporary_files() {
        assert_eq!(request_path(|_| None), Path::new("/tmp/fio-dump-status"));
        let temp = |name: &str| (name == "TEMP").then(|| "/var/tmp".into());
        assert_eq!(request_path(temp), Path::new("/var/tmp/fio-dump-status"));
        assert_eq!(
            request_path(|name| Some(format!("/{name}").into())),
            Path::new("/TMPDIR/fio-dump-status")
        );
    }
}
