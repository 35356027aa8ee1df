//! Whether a block device, or a part of it, carries a mounted file system.

use std::fs;

/// True when the device `major:minor`, or a partition of it, is mounted.
pub(super) fn is_mounted(major: u32, minor: u32) -> bool {
    let wanted = format!("{major}:{minor}");
    let Ok(mounts) = fs::read_to_string("/proc/self/mountinfo") else { return false };
    mounts
        .lines()
        .filter_map(|line| line.split(' ').nth(2))
        .any(|device| device == wanted || parent_disk(device).as_deref() == Some(wanted.as_str()))
}

/// The disk that a partition belongs to, as `major:minor`.
fn parent_disk(device: &str) -> Option<String> {
    let directory = format!("/sys/dev/block/{device}");
    fs::metadata(format!("{directory}/partition")).ok()?;
    let number = fs::read_to_string(format!("{directory}/../dev")).ok()?;
    Some(number.trim().to_owned())
}
