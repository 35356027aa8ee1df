//! The kernel's list of mounts, and the traffic of network and user-space file systems.

mod daemon;
mod secrets;
mod traffic;

pub(crate) use daemon::Daemon;
use fathom_stats::host::FileSystemReport;
use fathom_stats::mounts;
pub(crate) use fathom_sys::mount_list::plain;
use fathom_sys::mount_list::{self, MountLine};
use secrets::without_secrets;
use std::borrow::Cow;
use std::path::Path;
pub(crate) use traffic::MountWatch;

/// A line of /proc/self/mountinfo, see proc_pid_mountinfo(5).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Its device number, `8:1`.
    pub(crate) device: String,
    /// Description of the file system for the report.
    pub(crate) report: FileSystemReport,
}

impl Mount {
    /// True if the mount has no block device.
    pub(crate) fn has_no_device(&self) -> bool {
        self.device.starts_with("0:")
    }

    /// True if this is the mount with this device number.
    pub(crate) fn is_on(&self, device: u64) -> bool {
        self.device == format!("{}:{}", libc::major(device), libc::minor(device))
    }
}

/// The mount of a device number.
pub(crate) fn mount_of_device(mounts: &[Mount], device: u64) -> Option<&Mount> {
    mounts.iter().find(|mount| mount.is_on(device))
}

/// All of this process's mounts, in the order in which they were made.
pub(crate) fn mounts() -> Vec<Mount> {
    mount_list::text().lines().filter_map(parse_mount).collect()
}

/// Parses a line of the kernel's list of mounts.
pub(crate) fn parse_mount(line: &str) -> Option<Mount> {
    let line = MountLine::parse(line)?;
    let (kind, directory) = (line.kind.to_owned(), plain(line.directory).into_owned());
    let source = without_secrets(&plain(line.source));
    let options = without_secrets(&all_options(line.options, &plain(line.file_system_options)));
    let transport = mounts::transport(&kind, &source, &options);
    let report = FileSystemReport { directory, kind, source, options, transport, daemon: None };
    Some(Mount { device: line.device.to_owned(), report })
}

/// The options of a mount and of its file system, without duplicates. A mount may be read-only although its
/// file system is not.
fn all_options(of_mount: &str, of_file_system: &str) -> String {
    let own: Vec<&str> = of_mount.split(',').collect();
    let is_new =
        |option: &&str| !option.is_empty() && !own.contains(option) && !matches!(*option, "rw" | "ro");
    let further = of_file_system.split(',').filter(is_new);
    own.iter().copied().chain(further).collect::<Vec<&str>>().join(",")
}

/// The mount that contains a path: the mount point with the longest matching prefix, and the latest of several
/// mounts on one directory.
pub(crate) fn mount_of<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    mount_list::holder(mounts, path, |mount| Cow::Borrowed(&mount.report.directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_find_their_mount() {
        let text = "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard\n\
                    40 22 259:3 / /mnt/fast\\040disk rw,noatime shared:7 master:2 - xfs /dev/nvme0n1p3 rw,attr2\n\
                    41 22 0:5 / /proc rw - proc proc rw";
        let mounts: Vec<Mount> = text.lines().filter_map(parse_mount).collect();
        let kind = |path: &str| mount_of(&mounts, Path::new(path)).map(|mount| mount.report.kind.clone());
        assert_eq!(kind("/mnt/fast disk/data/file").as_deref(), Some("xfs"));
        assert_eq!(kind("/mnt/fast disks").as_deref(), Some("ext4"));
        assert_eq!(kind("/proc/self/fd/3").as_deref(), Some("proc"));
        assert_eq!(mounts[1].report.options, "rw,noatime,attr2");
        assert_eq!(all_options("ro,noatime", "rw,noatime,sync"), "ro,noatime,sync");
        assert_eq!(all_options("rw", ""), "rw");
        assert_eq!(mounts[1].device, "259:3");
    }

    #[test]
    fn reports_have_no_passwords() {
        let line =
            "40 22 0:50 / /mnt/s rw,relatime - fuse.sshfs me:geheim@host:/d rw,user_id=0,password=geheim";
        let report = parse_mount(line).expect("a mount").report;
        assert!(!format!("{report:?}").contains("geheim"), "{report:?}");
        assert_eq!(
            (report.source.as_str(), report.transport.as_deref()),
            ("me:<hidden>@host:/d", Some("SSH"))
        );
    }
}
