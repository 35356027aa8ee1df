//! Limits of the job's control groups, and how much they throttled the job. They are read before the first I/O
//! and after the last one, in both versions of control groups, from the job's own group up to the outermost
//! visible one. The files are described in the kernel's cgroup-v2.rst, cgroup-v1/blkio-controller.rst and
//! scheduler/sched-bwc.rst.

use fathom_stats::limits::{GroupLimits, IoLimit, ProcessorLimit};
use fathom_sys::limits::{self, Membership};
use std::fs;
use std::path::{Path, PathBuf};

/// A group of one of the hierarchies.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    directory: PathBuf,
    /// Path of the group relative to the root of its hierarchy.
    name: String,
    is_v2: bool,
    /// True if the hierarchy has CPU limits; likewise for I/O limits.
    has_processors: bool,
    has_io: bool,
}

/// The groups of a thread, inner ones first.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupsOfThread(Vec<Group>);

impl GroupsOfThread {
    /// The groups of the calling thread.
    pub(crate) fn of_thread() -> GroupsOfThread {
        GroupsOfThread::of(limits::memberships())
    }

    fn of(memberships: Vec<Membership>) -> GroupsOfThread {
        let mut groups = Vec::new();
        for Membership { controllers, ancestors } in memberships {
            let is_v2 = controllers.is_empty();
            let has = |name: &str| is_v2 || controllers.iter().any(|own| own == name);
            let (has_processors, has_io) = (has("cpu"), has("blkio"));
            if !has_processors && !has_io {
                continue;
            }
            for (directory, name) in ancestors {
                groups.push(Group { directory, name, is_v2, has_processors, has_io });
            }
        }
        GroupsOfThread(groups)
    }

    /// The current limits and counters.
    pub(crate) fn read(&self) -> GroupLimits {
        let processors = self.0.iter().filter(|group| group.has_processors);
        let io = self.0.iter().filter(|group| group.has_io);
        GroupLimits {
            processors: processors.filter_map(Group::processor_limit).collect(),
            io: io.flat_map(Group::io_limits).collect(),
        }
    }
}

impl Group {
    fn text(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.directory.join(file)).ok()
    }

    fn processor_limit(&self) -> Option<ProcessorLimit> {
        let (quota_us, period_us) = match self.is_v2 {
            // `max 100000` means no limit.
            true => {
                let text = self.text("cpu.max")?;
                let (quota, period) = text.trim().split_once(' ')?;
                (quota.parse().ok()?, period.parse().ok()?)
            }
            // In version 1, -1 means no limit.
            false => {
                let number = |file: &str| self.text(file)?.trim().parse().ok();
                (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
            }
        };
        let stat = self.text("cpu.stat").unwrap_or_default();
        let counted = |key: &str| {
            let mut values = stat.lines().filter_map(|line| line.split_once(' '));
            values.find(|(own, _)| *own == key).and_then(|(_, value)| value.trim().parse::<u64>().ok())
        };
        Some(ProcessorLimit {
            group: self.name.clone(),
            quota_us,
            period_us,
            periods: counted("nr_periods").unwrap_or(0),
            throttled: counted("nr_throttled").unwrap_or(0),
            throttled_us: counted("throttled_usec")
                .or_else(|| counted("throttled_time").map(|ns| ns / 1000))
                .unwrap_or(0),
        })
    }

    fn io_limits(&self) -> Vec<IoLimit> {
        let mut found: Vec<(String, IoLimit)> = Vec::new();
        let mut note = |device: &str, place: usize, limit: u64| {
            let index = found.iter().position(|(own, _)| own == device).unwrap_or_else(|| {
                let limit =
                    IoLimit { group: self.name.clone(), device: name_of(device), ..IoLimit::default() };
                found.push((device.to_owned(), limit));
                found.len() - 1
            });
            found[index].1.limits[place] = Some(limit);
        };
        match self.is_v2 {
            true => {
                for line in self.text("io.max").unwrap_or_default().lines() {
                    let mut words = line.split(' ');
                    let Some(device) = words.next() else { continue };
                    for (place, key) in ["rbps", "wbps", "riops", "wiops"].iter().enumerate() {
                        let value = line
                            .split(' ')
                            .filter_map(|word| word.split_once('='))
                            .find(|(own, _)| own == key);
                        if let Some(limit) = value.and_then(|(_, value)| value.parse().ok()) {
                            note(device, place, limit);
                        }
                    }
                }
            }
            false => {
                let files = ["read_bps", "write_bps", "read_iops", "write_iops"];
                for (place, file) in files.iter().enumerate() {
                    let text = self.text(&format!("blkio.throttle.{file}_device")).unwrap_or_default();
                    for (device, limit) in text.lines().filter_map(|line| line.split_once(' ')) {
                        if let Ok(limit) = limit.trim().parse() {
                            note(device, place, limit);
                        }
                    }
                }
            }
        }
        let used = |device: &str| match self.is_v2 {
            true => used_v2(&self.text("io.stat").unwrap_or_default(), device),
            false => [("io_service_bytes", 0), ("io_serviced", 2)].iter().fold(
                [0; 4],
                |mut used, (file, place)| {
                    let text = self.text(&format!("blkio.throttle.{file}_recursive"));
                    let text =
                        text.or_else(|| self.text(&format!("blkio.throttle.{file}"))).unwrap_or_default();
                    for (index, direction) in ["Read", "Write"].iter().enumerate() {
                        let key = format!("{device} {direction} ");
                        let value =
                            text.lines().find_map(|line| line.strip_prefix(&key)?.trim().parse().ok());
                        used[place + index] = value.unwrap_or(0);
                    }
                    used
                },
            ),
        };
        found.into_iter().map(|(device, limit)| IoLimit { used: used(&device), ..limit }).collect()
    }
}

/// Bytes and operations of a device, as read bytes, written bytes, reads, writes, from `io.stat`.
fn used_v2(stat: &str, device: &str) -> [u64; 4] {
    let line = stat.lines().find(|line| line.split(' ').next() == Some(device)).unwrap_or_default();
    ["rbytes", "wbytes", "rios", "wios"].map(|key| {
        let mut words = line.split(' ').filter_map(|word| word.split_once('='));
        words.find(|(own, _)| *own == key).and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
    })
}

/// The kernel's name of a device number such as `8:16`; the number if it has none.
fn name_of(device: &str) -> String {
    let link = fs::read_link(Path::new("/sys/dev/block").join(device)).ok();
    let name = link.as_ref().and_then(|link| link.file_name());
    name.map_or_else(|| device.to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(directory: &Path, files: &[(&str, &str)]) {
        fs::create_dir_all(directory).expect("can be made");
        files.iter().for_each(|(name, text)| fs::write(directory.join(name), text).expect("can be written"));
    }

    #[test]
    fn limits_of_version_2_are_read_up_to_the_root() {
        let root = tempfile::tempdir().expect("a directory");
        let inner = root.path().join("slice/job");
        write(root.path(), &[("cgroup.controllers", "cpu io")]);
        write(
            &root.path().join("slice"),
            &[
                ("cpu.max", "50000 100000\n"),
                ("cpu.stat", "usage_usec 9\nnr_periods 40\nnr_throttled 30\nthrottled_usec 1500000\n"),
                ("io.max", "253:99 rbps=max wbps=1048576 riops=max wiops=500\n"),
                ("io.stat", "1:1 rbytes=1\n253:99 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n"),
            ],
        );
        write(&inner, &[("cpu.max", "max 100000\n"), ("io.max", "")]);
        let mounts = format!("41 31 0:38 / {} rw,relatime - cgroup2 cgroup2 rw", root.path().display());
        let found = GroupsOfThread::of(limits::memberships_in("0::/slice/job\n", &mounts)).read();
        let processors = ProcessorLimit {
            group: "/slice".into(),
            quota_us: 50_000,
            period_us: 100_000,
            periods: 40,
            throttled: 30,
            throttled_us: 1_500_000,
        };
        let io = IoLimit {
            group: "/slice".into(),
            device: "253:99".into(),
            limits: [None, Some(1_048_576), None, Some(500)],
            used: [4096, 8192, 1, 2],
        };
        assert_eq!(found, GroupLimits { processors: vec![processors], io: vec![io] });
    }

    #[test]
    fn limits_of_version_1_are_read_too() {
        let root = tempfile::tempdir().expect("a directory");
        let (cpu, blkio) = (root.path().join("cpu"), root.path().join("blkio"));
        write(
            &cpu.join("job"),
            &[
                ("cpu.cfs_quota_us", "20000\n"),
                ("cpu.cfs_period_us", "100000\n"),
                ("cpu.stat", "nr_periods 32\nnr_throttled 31\nthrottled_time 2500000000\n"),
            ],
        );
        write(&cpu, &[("cpu.cfs_quota_us", "-1\n"), ("cpu.cfs_period_us", "100000\n")]);
        write(
            &blkio.join("job"),
            &[
                ("blkio.throttle.read_iops_device", "253:99 200\n"),
                ("blkio.throttle.write_bps_device", "253:99 1000\n"),
                (
                    "blkio.throttle.io_service_bytes_recursive",
                    "253:99 Read 40960\n253:99 Write 0\nTotal 40960\n",
                ),
                ("blkio.throttle.io_serviced", "253:99 Read 10\n253:99 Write 3\n"),
            ],
        );
        // This mount shows only the part of the hierarchy below the group /outer.
        let mounts = format!(
            "32 31 0:29 / {} rw - cgroup cgroup rw,cpu,cpuacct\n33 31 0:35 /outer {} rw - cgroup cgroup rw,blkio",
            cpu.display(),
            blkio.display()
        );
        let found = GroupsOfThread::of(limits::memberships_in(
            "8:pids:/\n7:blkio:/outer/job\n1:cpu,cpuacct:/job\n",
            &mounts,
        ))
        .read();
        assert_eq!(found.processors.len(), 1, "{found:?}");
        assert_eq!((found.processors[0].throttled, found.processors[0].throttled_us), (31, 2_500_000));
        assert_eq!(found.io[0].limits, [None, Some(1000), Some(200), None]);
        assert_eq!((found.io[0].used, found.io[0].group.as_str()), ([40960, 0, 10, 3], "/job"));
    }

    #[test]
    fn strange_files_are_no_limits() {
        let root = tempfile::tempdir().expect("a directory");
        write(
            root.path(),
            &[("cpu.max", "much"), ("io.max", "8:0\nx\n=\n8:1 rbps=-1 wiops=x\n"), ("cpu.stat", "\u{0}")],
        );
        let mounts = format!("41 31 0:38 / {} rw - cgroup2 cgroup2 rw", root.path().display());
        assert_eq!(
            GroupsOfThread::of(limits::memberships_in("0::/gone\nx\n:\n", &mounts)).read(),
            GroupLimits::default()
        );
        assert_eq!(GroupsOfThread::of(limits::memberships_in("0::/", "")).read(), GroupLimits::default());
    }
}
