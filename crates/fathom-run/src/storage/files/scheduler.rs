//! The I/O scheduler of the block devices below a job's files (`ioscheduler`).

use fathom_sys::Errno;
use std::fs;
use std::path::PathBuf;

/// Sets this scheduler on every device (`dev_t`) that offers several; returns the number of such devices.
pub(crate) fn switch(devices: &[u64], scheduler: &str) -> Result<usize, Errno> {
    let mut switched = 0;
    for path in devices.iter().filter_map(|&device| choice_of(device)) {
        fs::write(&path, scheduler).map_err(Errno::from)?;
        // The kernel lists all schedulers and shows the active one in brackets.
        let now = fs::read_to_string(&path).map_err(Errno::from)?;
        if !now.contains(&format!("[{scheduler}]")) {
            return Err(Errno(libc::EINVAL));
        }
        switched += 1;
    }
    Ok(switched)
}

/// The sysfs file with a device's schedulers; a partition uses that of its disk.
fn choice_of(device: u64) -> Option<PathBuf> {
    let directory = format!("/sys/dev/block/{}:{}", libc::major(device), libc::minor(device));
    ["queue/scheduler", "../queue/scheduler"]
        .iter()
        .map(|place| PathBuf::from(&directory).join(place))
        .find(|path| path.exists())
}
