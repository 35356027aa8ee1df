//! A small process that outlives the recorder: it removes its instances if the recorder is killed, because one that stays
//! would cost every I/O its events until the next recording.

use crate::instance::{self, Instance};
use fathom_sys::process::{self, Fork};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long the kernel may take to close the files of a process that was killed.
const CLOSING: Duration = Duration::from_secs(30);

/// The process. It ends when this is dropped.
pub(crate) struct Guard {
    /// Its end tells the process that the recorder has ended.
    _alive: OwnedFd,
}

impl Guard {
    /// Starts the process; `None` if the system has no room for one. The next recording removes what stays then.
    pub(crate) fn start(instances: &mut [&mut Instance]) -> Option<Guard> {
        let (ended, alive) = fathom_sys::pipe::pipe().ok()?;
        match process::fork_without_threads().ok()? {
            Fork::Parent(_) => Some(Guard { _alive: alive }),
            Fork::Child => {
                drop(alive);
                instances.iter_mut().for_each(|instance| instance.let_go());
                let paths: Vec<PathBuf> =
                    instances.iter().map(|instance| instance.path().to_owned()).collect();
                watch(ended, &paths);
                process::exit_now(0);
            }
        }
    }
}

/// In the process: waits for the end of the recorder, however it comes.
fn watch(ended: OwnedFd, instances: &[PathBuf]) {
    // Ctrl-C of the terminal is for the recorder, and its output must not stay open.
    process::new_session();
    (0..3).for_each(process::detach_stream);
    let mut file = File::from(ended);
    while file.read(&mut [0; 16]).is_ok_and(|read| read > 0) {}
    let until = Instant::now() + CLOSING;
    while instances.iter().any(|instance| instance.exists()) && Instant::now() < until {
        instances.iter().for_each(|instance| instance::remove(instance));
        std::thread::sleep(Duration::from_millis(5));
    }
}
