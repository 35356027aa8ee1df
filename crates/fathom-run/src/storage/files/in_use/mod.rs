//! Finds the current users of a block device or a file that a job is about to change.
//!
//! A device is in use when it is mounted (also as one of several devices of a file system), is active swap, is
//! a member of another device, or is claimed by the kernel or a program (`O_EXCL`). Everything that shares its
//! bytes counts too: its partitions, its disk, loop devices on it, and the backing object of a loop device.
//! Only overlapping byte ranges count, so a partition next to a mounted one may be written to.
//!
//! The check claims the device and releases it immediately. Holding it during the run would lock out other
//! clones, jobs and testers that legitimately use the same device.

mod behind;
mod groups;
mod mapped;
mod overlay;
mod tables;
#[cfg(test)]
mod tests;

use fathom_sys::loop_device::{self, Backing};
use mapped::Part;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
pub(super) use tables::{Tables, number as device_number};

/// A writable object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thing {
    /// A block device, identified by its number.
    Device(u64),
    /// A regular file, identified by the device number of its file system and its inode.
    File(u64, u64),
    /// Flash memory, identified by its MTD number.
    Flash(u32),
}

impl Thing {
    /// The object at a path, if it can be in use at all.
    pub(super) fn at(path: &Path) -> Option<Thing> {
        let found = fs::metadata(path).ok()?;
        match found.file_type() {
            kind if kind.is_block_device() => Some(Thing::Device(found.rdev())),
            kind if kind.is_file() => Some(Thing::File(found.dev(), found.ino())),
            // Writes through a character device reach its disk, so the disk is what is in use.
            kind if kind.is_char_device() => match behind::flash(found.rdev()) {
                Some(flash) => Some(Thing::Flash(flash)),
                None => behind::block_device(Path::new("/sys"), found.rdev()).map(Thing::Device),
            },
            _ => None,
        }
    }
}

/// The search's access to the machine; tests replace it with recorded trees.
pub(super) struct Machine<'a> {
    /// Root of `/proc`, `/sys` and `/dev`.
    pub(super) root: &'a Path,
    /// Identifies the object at a path.
    pub(super) identify: &'a dyn Fn(&Path) -> Option<Thing>,
    /// True if a block device is claimed.
    pub(super) is_claimed: &'a dyn Fn(&Path) -> bool,
    /// The backing object of a loop device, if the kernel reports it.
    pub(super) backing: &'a dyn Fn(&Path) -> Option<Thing>,
    /// The parts of a mapped device, if the kernel reports them.
    pub(super) mapped: &'a dyn Fn(u64) -> Vec<Part>,
    /// The volume group of a device, from its metadata.
    pub(super) group: &'a dyn Fn(&Path) -> Option<String>,
}

impl Machine<'_> {
    /// This machine.
    pub(super) fn this() -> Machine<'static> {
        Machine {
            root: Path::new("/"),
            identify: &Thing::at,
            is_claimed: &is_claimed,
            backing: &backing,
            mapped: &mapped::parts,
            group: &groups::of,
        }
    }

    /// The machine for a search during a run. It reads no device, because the run's figures would include such
    /// reads.
    pub(super) fn without_reading() -> Machine<'static> {
        Machine { group: &|_| None, ..Machine::this() }
    }
}

/// The backing object of a loop device, as the kernel reports it. The name of the file may have been removed or
/// reassigned since the device was attached.
fn backing(device: &Path) -> Option<Thing> {
    match loop_device::backing(device).ok()? {
        Backing::File(device, inode) => Some(Thing::File(device, inode)),
        Backing::Device(number) => Some(Thing::Device(number)),
    }
}

/// Tries an exclusive open. Another prober holds its claim for microseconds, so a single refusal is not
/// conclusive.
fn is_claimed(device: &Path) -> bool {
    const ATTEMPTS: u32 = 20;
    (0..ATTEMPTS).all(|attempt| {
        if attempt > 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
        let flags = libc::O_RDONLY | libc::O_EXCL | libc::O_NONBLOCK;
        fathom_sys::file::open(device, flags, 0).is_err_and(|errno| errno.0 == libc::EBUSY)
    })
}

/// A use that was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Use {
    /// The path from the target to the used object, for messages, such as "partition sda1 of it".
    way: Vec<String>,
    /// The use, for messages, such as "is mounted at /home (ext4)".
    what: String,
    /// True for a mounted file system.
    pub(super) is_mount: bool,
    /// True if only a claim was found, whose owner is unknown.
    is_bare_claim: bool,
}

impl std::fmt::Display for Use {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.way.as_slice() {
            [] => write!(formatter, "it {}", self.what),
            way => write!(formatter, "{} {}", way.join(", "), self.what),
        }
    }
}

/// The number of the disk at a path, which may lead to a block device or to one of its character devices.
pub fn disk_at(path: &Path) -> Option<u64> {
    match Thing::at(path) {
        Some(Thing::Device(number)) => Some(number),
        Some(Thing::Flash(flash)) => behind::flash_block(Path::new("/sys"), flash),
        Some(Thing::File(..)) | None => None,
    }
}

/// How the object at a path is used, as a phrase that follows "is in use: "; `None` if it is unused.
pub fn use_of(path: &Path) -> Option<String> {
    uses_of([path]).pop().flatten()
}

/// Like [`use_of`], for many paths, in order; the kernel's tables are read only once.
pub fn uses_of<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Vec<Option<String>> {
    let machine = Machine::this();
    let tables = Tables::read(&machine);
    let used = |path| Search::of(&machine, &tables, path).map(|used| used.to_string());
    paths.into_iter().map(used).collect()
}

/// A search for uses of one target.
pub(super) struct Search<'a> {
    machine: &'a Machine<'a>,
    /// A path to the target, for messages; the target may have no name in `/dev`.
    path: &'a Path,
    tables: &'a Tables,
    visited: Vec<Thing>,
    way: Vec<String>,
}

const EVERYTHING: Range<u64> = 0..u64::MAX;

impl<'a> Search<'a> {
    /// Finds the first use of the object at `path`.
    ///
    /// A mount may be made after the tables were read and before the claim is probed. If a claim is found, the
    /// tables are therefore read again, because they may explain it.
    pub(super) fn of(machine: &Machine<'_>, tables: &Tables, path: &Path) -> Option<Use> {
        let found = Search::first(machine, tables, path)?;
        if !found.is_bare_claim {
            return Some(found);
        }
        let explained = Search::first(machine, &Tables::read(machine), path);
        Some(explained.unwrap_or(found))
    }

    fn first(machine: &'a Machine<'a>, tables: &'a Tables, path: &'a Path) -> Option<Use> {
        let target = (machine.identify)(path)?;
        let mut search = Search { machine, path, tables, visited: Vec::new(), way: Vec::new() };
        let found = search.visit(target, EVERYTHING);
        found.or_else(|| {
            let other = tables.other_sides(machine, target, path);
            other.into_iter().find_map(|side| search.visit(side, EVERYTHING))
        })
    }

    fn visit(&mut self, thing: Thing, range: Range<u64>) -> Option<Use> {
        if self.visited.contains(&thing) {
            return None;
        }
        self.visited.push(thing);
        self.tables
            .swap(thing)
            .map(|()| self.found(false, "is active swap".to_owned()))
            .or_else(|| match thing {
                Thing::Device(number) => self.visit_device(number, &range),
                Thing::Flash(flash) => self.visit_flash(flash, &range),
                Thing::File(..) => None,
            })
            .or_else(|| self.visit_loops(thing, &range))
    }

    fn visit_device(&mut self, number: u64, range: &Range<u64>) -> Option<Use> {
        if let Some(mount) = self.tables.mount(number) {
            return Some(self.found(true, format!("is {mount}")));
        }
        let Some(directory) = self.tables.directory(number) else {
            // No table explains the use, but the kernel still knows whether the device is claimed.
            let is_claimed = self.is_target() && (self.machine.is_claimed)(self.path);
            return is_claimed.then(|| self.claimed());
        };
        let node = self.node(&directory);
        if let Some(holder) = self.tables.holder(&directory) {
            return Some(self.found(false, format!("belongs to {holder}")));
        }
        // A claim on one partition also blocks the whole disk, so the disk is not probed on behalf of a partition.
        let is_whole = range.start == 0 && range.end >= tables::bytes(&directory, "size");
        if let Some(used) = self.visit_partitions(&directory, range) {
            return Some(used);
        }
        if let Some(used) = self.visit_below(number, &directory, range) {
            return Some(used);
        }
        if let Some(flash) = behind::flash_of_block(number)
            && let Some(used) = self.attached(flash)
        {
            return Some(used);
        }
        if let Some(used) = self.visit_siblings(number, &directory, range) {
            return Some(used);
        }
        if !is_whole {
            return None;
        }
        if (self.machine.is_claimed)(&node) {
            return Some(self.claimed());
        }
        let group = (self.machine.group)(&node)?;
        Some(self.found(false, format!("belongs to {group}, which is not active")))
    }

    fn claimed(&self) -> Use {
        let what = "is claimed by the kernel or a program (open with O_EXCL)".to_owned();
        Use { is_bare_claim: true, ..self.found(false, what) }
    }

    /// True while the examined object is the target itself.
    fn is_target(&self) -> bool {
        self.visited.len() == 1
    }

    /// Searches for uses of flash memory, including those of its block device.
    fn visit_flash(&mut self, flash: u32, range: &Range<u64>) -> Option<Use> {
        self.attached(flash).or_else(|| {
            let block = behind::flash_block(&self.machine.root.join("sys"), flash)?;
            self.visit_device(block, range)
        })
    }

    /// The use of flash memory by attached volumes, whether or not they are mounted.
    fn attached(&self, flash: u32) -> Option<Use> {
        let volumes = self.tables.attached(flash)?;
        Some(self.found(false, format!("is attached as {volumes} (UBI)")))
    }

    /// Searches mapped devices that use the same bytes of the same device.
    fn visit_siblings(&mut self, number: u64, directory: &Path, range: &Range<u64>) -> Option<Use> {
        if !directory.join("dm").exists() {
            return None;
        }
        for part in (self.machine.mapped)(number).iter().filter_map(|part| part.common(range)) {
            let below = self.tables.directory(part.below)?;
            for (name, holder) in tables::holders(&below) {
                let same = (self.machine.mapped)(holder);
                let same = same.iter().filter(|other| holder != number && other.below == part.below);
                for above in same.filter_map(|other| other.above(&part)) {
                    let step = format!("mapped device {name}");
                    let used = self.step(&step, "over the same blocks as", Thing::Device(holder), above);
                    if used.is_some() {
                        return used;
                    }
                }
            }
        }
        None
    }

    /// The device file of the device with this sysfs directory.
    fn node(&self, directory: &Path) -> PathBuf {
        let named = self.machine.root.join("dev").join(tables::node_name(directory));
        let device = tables::number(directory).map(Thing::Device);
        // The target itself may have no name in `/dev`. Claims on a disk cannot be probed through its character
        // device.
        match self.is_target() && (self.machine.identify)(&named) != device {
            true => self.path.to_owned(),
            false => named,
        }
    }

    fn visit_partitions(&mut self, directory: &Path, range: &Range<u64>) -> Option<Use> {
        for partition in tables::partitions(directory) {
            let start = tables::bytes(&partition, "start");
            let end = start.saturating_add(tables::bytes(&partition, "size"));
            if let Some(number) = tables::number(&partition)
                && let Some(part) = common(range, &(start..end))
            {
                let step = format!("partition {}", tables::name(&partition));
                let used =
                    self.step(&step, "of", Thing::Device(number), part.start - start..part.end - start);
                if used.is_some() {
                    return used;
                }
            }
        }
        None
    }

    /// Searches the disk of a partition and the backing object of a loop device.
    fn visit_below(&mut self, number: u64, directory: &Path, range: &Range<u64>) -> Option<Use> {
        if directory.join("partition").exists() {
            let disk = directory.parent()?;
            let start = tables::bytes(directory, "start");
            let end = range.end.min(tables::bytes(directory, "size"));
            let part = start.saturating_add(range.start)..start.saturating_add(end);
            return self.step(
                &format!("disk {}", tables::name(disk)),
                "around",
                Thing::Device(tables::number(disk)?),
                part,
            );
        }
        let looped = self.tables.loops.iter().find(|looped| looped.device == number)?;
        let end = range.end.min(looped.range.end - looped.range.start);
        let part = looped.range.start + range.start.min(end)..looped.range.start + end;
        let backings = looped.backings.clone();
        backings.into_iter().find_map(|backing| self.step(&looped.file, "behind", backing, part.clone()))
    }

    /// Searches the loop devices whose backing object is `thing`.
    fn visit_loops(&mut self, thing: Thing, range: &Range<u64>) -> Option<Use> {
        let tables = self.tables;
        for looped in tables.loops.iter().filter(|looped| looped.backings.contains(&thing)) {
            if let Some(part) = common(range, &looped.range) {
                let start = looped.range.start;
                let step = format!("loop device {}", looped.name);
                let used = self.step(
                    &step,
                    "on",
                    Thing::Device(looped.device),
                    part.start - start..part.end - start,
                );
                if used.is_some() {
                    return used;
                }
            }
        }
        None
    }

    fn step(&mut self, name: &str, relation: &str, thing: Thing, range: Range<u64>) -> Option<Use> {
        let other = if self.way.is_empty() { "it" } else { "that" };
        self.way.push(format!("{name} {relation} {other}"));
        let used = self.visit(thing, range);
        self.way.pop();
        used
    }

    fn found(&self, is_mount: bool, what: String) -> Use {
        // Messages name the object closest to the use first: in "partition a of that", "that" comes last.
        Use { way: self.way.iter().rev().cloned().collect(), what, is_mount, is_bare_claim: false }
    }
}

/// The intersection of two ranges; `None` if they do not overlap.
fn common(one: &Range<u64>, other: &Range<u64>) -> Option<Range<u64>> {
    let part = one.start.max(other.start)..one.end.min(other.end);
    (part.start < part.end).then_some(part)
}
