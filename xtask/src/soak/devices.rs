//! Loop devices whose page cache is kept because the soak holds them open.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An attached device; detached on drop.
pub(crate) struct LoopDevice {
    path: PathBuf,
    _held: File,
}

impl LoopDevice {
    /// A device on a file; `None` if this machine or user has none.
    pub(crate) fn on(file: &Path) -> Option<LoopDevice> {
        let output = Command::new("losetup").args(["--find", "--show"]).arg(file).output().ok()?;
        let path =
            PathBuf::from(String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?.trim());
        match File::open(&path) {
            Ok(held) => Some(LoopDevice { path, _held: held }),
            Err(_) => {
                detach(&path);
                None
            }
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        detach(&self.path);
    }
}

fn detach(device: &Path) {
    // A device still in use is detached with its last user.
    let _ = Command::new("losetup").arg("--detach").arg(device).status();
}
