//! Traffic of a mounted network or user-space file system, from counters in `/proc`, which never touches the mount.

use super::daemon::Daemon;
use super::{Mount, plain};
use fathom_stats::mounts::{MountReport, MovedBytes, is_in_user_space};
use std::fs;

/// The file systems of a run and their counters at its start.
#[derive(Default)]
pub(crate) struct MountWatch {
    watched: Vec<Watched>,
}

struct Watched {
    directory: String,
    daemon: Option<Daemon>,
    start: MountReport,
    /// The counters when the first job that uses this file system started in the current stage; `None` if none
    /// has.
    stage_start: Option<MountReport>,
}

impl MountWatch {
    /// Adds a mount if its traffic can be counted.
    pub(crate) fn add(&mut self, mount: &Mount) {
        if let Some(known) = self.watched.iter_mut().find(|known| known.directory == mount.report.directory) {
            if known.stage_start.is_none() {
                known.stage_start = Some(known.counters());
            }
            return;
        }
        let in_user_space = is_in_user_space(&mount.report.kind);
        if !in_user_space && mount.report.transport.is_none() {
            return;
        }
        let daemon = if in_user_space { Daemon::of(mount) } else { None };
        let mut watched = Watched {
            directory: mount.report.directory.clone(),
            daemon,
            start: MountReport::default(),
            stage_start: None,
        };
        watched.start = watched.counters();
        watched.stage_start = Some(watched.start.clone());
        self.watched.push(watched);
    }

    /// Traffic since the start of the run.
    pub(crate) fn report(&self) -> Vec<MountReport> {
        self.watched.iter().filter_map(|mount| mount.since(&mount.start)).collect()
    }

    /// Traffic since the first job of the finished stage began, for the mounts that the stage used.
    pub(crate) fn end_stage(&mut self) -> Vec<MountReport> {
        let ended = |mount: &mut Watched| {
            let start = mount.stage_start.take()?;
            mount.since(&start)
        };
        self.watched.iter_mut().filter_map(ended).collect()
    }

    /// The daemon of the file system mounted on this directory.
    pub(crate) fn daemon(&self, directory: &str) -> Option<&Daemon> {
        self.watched.iter().find(|mount| mount.directory == directory)?.daemon.as_ref()
    }
}

impl Watched {
    fn counters(&self) -> MountReport {
        let of_server = || {
            let text = fs::read_to_string("/proc/self/mountstats").ok()?;
            of_nfs(&text, &self.directory)
        };
        MountReport {
            directory: self.directory.clone(),
            daemon: self.daemon.as_ref().and_then(Daemon::moved),
            interfaces: self.daemon.as_ref().and_then(Daemon::interfaces),
            server: if self.daemon.is_none() { of_server() } else { None },
        }
    }

    fn since(&self, start: &MountReport) -> Option<MountReport> {
        let now = self.counters();
        let difference = |now: Option<MovedBytes>, before: Option<MovedBytes>| now?.since(before?);
        let report = MountReport {
            daemon: difference(now.daemon, start.daemon),
            interfaces: difference(now.interfaces, start.interfaces),
            server: difference(now.server, start.server),
            directory: now.directory,
        };
        (!report.is_empty()).then_some(report)
    }
}

/// Bytes that the kernel's NFS client has read from and written to the server of a mount, see
/// proc_pid_mountstats(5): the fifth and sixth number of the `bytes` line.
fn of_nfs(text: &str, directory: &str) -> Option<MovedBytes> {
    let mut lines = text.lines().skip_while(|line| {
        let place = line.strip_prefix("device ").and_then(|line| line.split_once(" mounted on "));
        let Some((place, kind)) = place.and_then(|(_, rest)| rest.split_once(" with fstype nfs")) else {
            return true;
        };
        kind.is_empty() || plain(place) != directory
    });
    lines.next()?;
    let bytes = lines
        .take_while(|line| !line.starts_with("device "))
        .find_map(|line| line.trim().strip_prefix("bytes:"))?;
    let fields: Vec<u64> = bytes.split_whitespace().map_while(|field| field.parse().ok()).collect();
    Some(MovedBytes { read_bytes: *fields.get(4)?, write_bytes: *fields.get(5)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTSTATS: &str = "device proc mounted on /proc with fstype proc\n\
        device server:/a mounted on /mnt/a with fstype nfs4 statvers=1.1\n\topts:\trw,vers=4.2\n\tage:\t12\n\
        \tbytes:\t1 2 3 4 500 600 7 8\n\tRPC iostats version: 1.1\n\txprt:\ttcp 0 0\n\
        device server:/b mounted on /mnt/b\\040c with fstype nfs statvers=1.1\n\tage:\t12\n\
        \tbytes:\t1 2 3 4 50 60 7 8\n\
        device server:/d mounted on /mnt/d with fstype nfs statvers=1.1\n\tage:\t12\n";

    #[test]
    fn each_mount_of_nfs_has_its_own_counters() {
        let bytes = |directory: &str| {
            of_nfs(MOUNTSTATS, directory).map(|bytes| (bytes.read_bytes, bytes.write_bytes))
        };
        assert_eq!(bytes("/mnt/a"), Some((500, 600)));
        assert_eq!(bytes("/mnt/b c"), Some((50, 60)));
        assert_eq!((bytes("/mnt/d"), bytes("/mnt"), bytes("/proc")), (None, None, None));
    }

    #[test]
    fn local_file_systems_are_not_watched() {
        let mut watch = MountWatch::default();
        for line in ["22 1 254:1 / / rw - ext4 /dev/vda1 rw", "23 1 0:20 / /t rw - tmpfs none rw"] {
            watch.add(&super::super::parse_mount(line).expect("a mount"));
        }
        assert!(watch.watched.is_empty());
        // A mount without counters is left out of the report.
        watch.add(
            &super::super::parse_mount("24 1 0:4094967 / /s rw - fuse.sshfs me@host:/ rw").expect("a mount"),
        );
        assert_eq!((watch.watched.len(), watch.report(), watch.end_stage()), (1, Vec::new(), Vec::new()));
    }
}
