//! The file `fio-dump-status`: when it appears, a report of the run so far is printed. The kernel (inotify)
//! reports new names in the directory, so the supervisor accesses the file system only after the file has been
//! created and never blocks on a directory of a hung device.

use super::Supervisor;
use super::gather::Occasion;
use fathom_sys::directory_watch::DirectoryWatch;
use std::ffi::OsString;
use std::path::PathBuf;

/// The name to watch for.
const NAME: &str = "fio-dump-status";
/// Poll interval; runs shorter than this never poll.
const LOOK_NS: u64 = 1_000_000_000;

/// State of the watch.
#[derive(Default)]
pub(super) struct DumpWatch {
    directory: PathBuf,
    /// `None` before the first poll, or if the directory cannot be watched.
    watch: Option<DirectoryWatch>,
    has_begun: bool,
    /// Monotonic ns of the last poll.
    looked_ns: u64,
}

impl Supervisor<'_> {
    /// Prints a report once the file has appeared, and removes the file.
    pub(super) fn look_for_dump_requests(&mut self, now: u64) {
        if now < self.dump_watch.looked_ns.max(self.started_ns) + LOOK_NS {
            return;
        }
        self.dump_watch.looked_ns = now;
        if self.dump_watch.is_asked() {
            let report = self.report(Occasion::Interval);
            self.observer.interim_report(&report);
        }
    }
}

impl DumpWatch {
    fn is_asked(&mut self) -> bool {
        let begins = !std::mem::replace(&mut self.has_begun, true);
        if begins {
            self.directory = temporary_directory(|name| std::env::var_os(name));
            self.watch = DirectoryWatch::new(&self.directory).ok();
        }
        // A file that existed before the watch began causes no event, so its existence is tested by trying to
        // remove it.
        let may_be_there = begins || self.watch.as_ref().is_some_and(|watch| watch.has_seen(NAME));
        may_be_there && std::fs::remove_file(self.directory.join(NAME)).is_ok()
    }
}

fn temporary_directory(variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let named = ["TMPDIR", "TEMP"].iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
    named.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_that_of_temporary_files() {
        assert_eq!(temporary_directory(|_| None), PathBuf::from("/tmp"));
        let temp = |name: &str| (name == "TEMP").then(|| "/var/tmp".into());
        assert_eq!(temporary_directory(temp), PathBuf::from("/var/tmp"));
        assert_eq!(temporary_directory(|name| Some(format!("/{name}").into())), PathBuf::from("/TMPDIR"));
    }
}
