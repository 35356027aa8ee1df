//! The kernel's tables about the use of devices: mounts, swap, file systems over several devices, members, loop
//! devices. They are read once per check of a clone's files.

use super::{Machine, Thing, overlay};
use crate::mounts::{Mount, parse_mount, plain};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A loop device that is attached to a file or device.
pub(super) struct Loop {
    pub(super) name: String,
    pub(super) device: u64,
    /// The backing objects of the device: on an overlay, the file and its counterpart below count as the same.
    pub(super) backings: Vec<Thing>,
    pub(super) file: String,
    /// The part of the backing object that the device shows.
    pub(super) range: Range<u64>,
}

/// The tables.
pub(in crate::storage::files) struct Tables {
    root: PathBuf,
    /// Mounts, each with the devices in its source and options.
    mounts: Vec<(Mount, Vec<u64>)>,
    /// The devices of each mounted file system that may span several.
    pools: Vec<Vec<u64>>,
    swaps: Vec<Thing>,
    pub(super) loops: Vec<Loop>,
}

impl Tables {
    /// Reads them.
    pub(in crate::storage::files) fn read(machine: &Machine<'_>) -> Tables {
        let root = machine.root.to_path_buf();
        let text = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
        let mounts = text("proc/self/mountinfo");
        let mounts = mounts.lines().filter_map(parse_mount).map(|mount| {
            let devices = named_devices(machine, &mount);
            (mount, devices)
        });
        let swaps = text("proc/swaps");
        let swaps = swaps.lines().skip(1).filter_map(|line| {
            (machine.identify)(&machine.root.join(relative(&plain(line.split([' ', '\t']).next()?))))
        });
        let devices_of =
            |pool: PathBuf| entries(&pool.join("devices")).iter().filter_map(|path| number(path)).collect();
        let mounts: Vec<(Mount, Vec<u64>)> = mounts.collect();
        Tables {
            loops: loops(machine, &mounts),
            mounts,
            pools: entries(&root.join("sys/fs/btrfs")).into_iter().map(devices_of).collect(),
            swaps: swaps.collect(),
            root,
        }
    }

    /// `Some` if the object is active swap.
    pub(super) fn swap(&self, thing: Thing) -> Option<()> {
        self.swaps.contains(&thing).then_some(())
    }

    /// How a device is mounted, for messages.
    pub(super) fn mount(&self, device: u64) -> Option<String> {
        if let Some((mount, _)) = self.mounts.iter().find(|(mount, _)| mount.is_on(device)) {
            return Some(format!("mounted at {} ({})", mount.report.directory, mount.report.kind));
        }
        let member = |place: &str| format!("one of the devices of the file system {place}");
        let described =
            |mount: &Mount| format!("mounted at {} ({})", mount.report.directory, mount.report.kind);
        if let Some((mount, devices)) = self.mounts.iter().find(|(_, devices)| devices.contains(&device)) {
            return Some(match devices.as_slice() {
                [_] => described(mount),
                _ => member(&described(mount)),
            });
        }
        let pool = self.pools.iter().find(|pool| pool.contains(&device))?;
        let shown = self.mounts.iter().find(|(_, devices)| devices.iter().any(|other| pool.contains(other)));
        Some(match shown {
            Some((mount, _)) => member(&described(mount)),
            None => "one of the devices of a mounted btrfs".to_owned(),
        })
    }

    /// The counterparts of `thing`, which is at `path`, on the other sides of its overlays.
    pub(super) fn other_sides(&self, machine: &Machine<'_>, thing: Thing, path: &Path) -> Vec<Thing> {
        overlay::other_sides(machine, self.mounts.iter().map(|(mount, _)| mount), thing, path)
    }

    /// The volumes on attached flash memory, for messages.
    pub(super) fn attached(&self, flash: u32) -> Option<String> {
        let is_on = |path: &PathBuf| {
            let number = fs::read_to_string(path.join("mtd_num")).unwrap_or_default();
            number.trim().parse() == Ok(flash)
        };
        entries(&self.root.join("sys/class/ubi")).iter().find(|path| is_on(path)).map(|path| name(path))
    }

    /// The sysfs directory of a device.
    pub(super) fn directory(&self, device: u64) -> Option<PathBuf> {
        let (major, minor) = (libc::major(device), libc::minor(device));
        fs::canonicalize(self.root.join(format!("sys/dev/block/{major}:{minor}"))).ok()
    }

    /// The device that has the one in this directory as a member, for messages.
    pub(super) fn holder(&self, directory: &Path) -> Option<String> {
        let holder = entries(&directory.join("holders")).into_iter().next()?;
        let text = |file: &str| fs::read_to_string(holder.join(file)).unwrap_or_default().trim().to_owned();
        let (array, mapped, uuid) = (text("md/level"), text("dm/name"), text("dm/uuid"));
        let kind = match uuid.split('-').next() {
            Some("LVM") => "logical volume",
            Some("CRYPT") => "encrypted device",
            Some("mpath") => "multipath device",
            _ => "mapped device",
        };
        let name = name(&holder);
        let described = match (array.is_empty(), mapped.is_empty()) {
            (false, _) => format!("{name} ({array})"),
            (true, false) => format!("{name} ({kind} {mapped})"),
            (true, true) => name,
        };
        let mounted = number(&holder).and_then(|device| self.mount(device));
        Some(mounted.map_or(described.clone(), |mount| format!("{described}, which is {mount}")))
    }
}

/// Devices named in the source of a mount and in its options. The source matters for file systems that span
/// several devices, because they have their own device number; the options name external journals and logs.
fn named_devices(machine: &Machine<'_>, mount: &Mount) -> Vec<u64> {
    let sources = mount.report.source.split(':');
    let options = mount.report.options.split([' ', ',']).filter_map(|option| option.split_once('='));
    let device = |path: &str| match (machine.identify)(&machine.root.join(relative(path))) {
        Some(Thing::Device(number)) => Some(number),
        _ => None,
    };
    sources
        .chain(options.map(|(_, value)| value))
        .filter(|path| path.starts_with("/dev/"))
        .filter_map(device)
        .collect()
}

fn loops(machine: &Machine<'_>, mounts: &[(Mount, Vec<u64>)]) -> Vec<Loop> {
    let of_directory = |directory: PathBuf| {
        let text = |file: &str| fs::read_to_string(directory.join("loop").join(file)).ok();
        let file = text("backing_file")?.trim_end_matches('\n').to_owned();
        let value = |file: &str| text(file).and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0);
        let start = value("offset");
        let path = machine.root.join(relative(&file));
        let node = machine.root.join("dev").join(node_name(&directory));
        let backing = (machine.backing)(&node).or_else(|| (machine.identify)(&path))?;
        let other = overlay::other_sides(machine, mounts.iter().map(|(mount, _)| mount), backing, &path);
        Some(Loop {
            name: name(&directory),
            device: number(&directory)?,
            backings: [backing].into_iter().chain(other).collect(),
            range: start..start.saturating_add(bytes(&directory, "size")),
            file,
        })
    };
    let is_loop = |path: &PathBuf| name(path).starts_with("loop");
    entries(&machine.root.join("sys/block")).into_iter().filter(is_loop).filter_map(of_directory).collect()
}

/// The paths in a directory, sorted by name, with links resolved.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = listed.filter_map(|entry| fs::canonicalize(entry.path()).ok()).collect();
    found.sort();
    found
}

fn relative(path: &str) -> &str {
    path.trim_start_matches('/')
}

/// The sysfs directories of a disk's partitions.
pub(super) fn partitions(directory: &Path) -> Vec<PathBuf> {
    let own = name(directory);
    let is_partition = |path: &PathBuf| name(path).starts_with(&own) && path.join("partition").exists();
    entries(directory).into_iter().filter(is_partition).collect()
}

/// Names and numbers of the devices that have the one in this directory as a member.
pub(super) fn holders(directory: &Path) -> Vec<(String, u64)> {
    let holders = entries(&directory.join("holders"));
    holders.iter().filter_map(|holder| Some((name(holder), number(holder)?))).collect()
}

/// The kernel's name of a device.
pub(super) fn name(directory: &Path) -> String {
    directory.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Path of the device file relative to /dev.
pub(super) fn node_name(directory: &Path) -> String {
    name(directory).replace('!', "/")
}

/// Its number.
pub(in crate::storage::files) fn number(directory: &Path) -> Option<u64> {
    let text = fs::read_to_string(directory.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some(libc::makedev(major.parse().ok()?, minor.parse().ok()?))
}

/// A value that the kernel gives in 512-byte sectors; 0 if it is missing.
pub(super) fn bytes(directory: &Path, file: &str) -> u64 {
    let text = fs::read_to_string(directory.join(file)).unwrap_or_default();
    text.trim().parse::<u64>().unwrap_or(0).saturating_mul(512)
}
