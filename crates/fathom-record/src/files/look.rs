//! What /proc says of processes and of the files behind their descriptors.

use fathom_sys::file_system;
use fathom_trace::files::FileKind;
use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::SystemTime;

/// A flag of a descriptor in `fdinfo`.
const CLOSE_AT_EXEC: u64 = libc::O_CLOEXEC as u64;
const APPEND: u64 = libc::O_APPEND as u64;

/// What is behind a descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// A file.
    File(Box<Found>),
    /// A ring of io_uring.
    Ring,
    /// A socket, pipe, terminal or the like.
    Other,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) kind: FileKind,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// Tells files apart that get the same number one after the other.
    pub(crate) born: Option<SystemTime>,
    pub(crate) size: u64,
    /// Its path; empty unless wanted.
    pub(crate) name: Vec<u8>,
}

/// How a descriptor is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Opened {
    pub(crate) position: u64,
    pub(crate) appends: bool,
    pub(crate) closes_at_exec: bool,
}

/// What was found behind a descriptor after it was opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Looked {
    /// `None`: it was closed before.
    pub(crate) behind: Option<Behind>,
    pub(crate) opened: Option<Opened>,
    /// What was behind all other descriptors, if it was closed: one of them may be its copy.
    pub(crate) others: Option<Look>,
}

/// What was behind descriptors of a thread at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look {
    /// Before and after it was looked up.
    pub(crate) between_ns: (u64, u64),
    pub(crate) all: Vec<(i32, Behind)>,
    /// The one that was the file before the look.
    pub(crate) candidate: Option<i32>,
}

/// What is behind a descriptor of a thread; `None` if it is closed.
pub(crate) fn behind(tid: u32, descriptor: i32, with_name: bool) -> Option<Behind> {
    let path = format!("/proc/{tid}/fd/{descriptor}");
    let Ok(metadata) = fs::metadata(&path) else {
        // What has no file system cannot be looked up, but it has a name.
        return fs::read_link(&path).ok().map(|_| Behind::Other);
    };
    let kind = metadata.file_type();
    let kind = if (kind.is_file() || kind.is_dir()) && is_pseudo(&path, metadata.dev()) {
        FileKind::Pseudo
    } else if kind.is_file() {
        FileKind::Regular
    } else if kind.is_dir() {
        FileKind::Directory
    } else if kind.is_block_device() {
        FileKind::Device
    } else {
        return Some(match is_ring(&path) {
            true => Behind::Ring,
            false => Behind::Other,
        });
    };
    let name = match with_name {
        true => fs::read_link(&path).map(|name| name.into_os_string().into_vec()).unwrap_or_default(),
        false => Vec::new(),
    };
    Some(Behind::File(Box::new(Found {
        kind,
        device: metadata.dev(),
        inode: metadata.ino(),
        born: metadata.created().ok(),
        size: metadata.len(),
        name,
    })))
}

/// True for a file of proc, sysfs and the like. Only file systems without a device are asked, since each question takes time in which
/// the descriptor may be closed.
fn is_pseudo(path: &str, device: u64) -> bool {
    libc::major(device) == 0 && file_system::is_pseudo(Path::new(path)).unwrap_or(false)
}

fn is_ring(path: &str) -> bool {
    fs::read_link(path).is_ok_and(|name| name.as_os_str() == "anon_inode:[io_uring]")
}

/// How a descriptor of a thread is open.
pub(crate) fn opened(tid: u32, descriptor: i32) -> Option<Opened> {
    let text = fs::read_to_string(format!("/proc/{tid}/fdinfo/{descriptor}")).ok()?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let flags = field("flags:").and_then(|flags| u64::from_str_radix(flags, 8).ok())?;
    Some(Opened {
        position: field("pos:").and_then(|position| position.parse().ok())?,
        appends: flags & APPEND != 0,
        closes_at_exec: flags & CLOSE_AT_EXEC != 0,
    })
}

/// The descriptors of a thread.
pub(crate) fn descriptors(tid: u32) -> Vec<i32> {
    let entries = fs::read_dir(format!("/proc/{tid}/fd")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The process of a thread; the thread itself if it is gone.
pub(crate) fn process_of(tid: u32) -> u32 {
    let text = fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default();
    let found = text.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok());
    found.unwrap_or(tid)
}

/// The name of a thread's program.
pub(crate) fn program(tid: u32) -> Vec<u8> {
    let mut name = fs::read(format!("/proc/{tid}/comm")).unwrap_or_default();
    name.truncate(name.trim_ascii_end().len());
    name
}

/// The threads of a process.
pub(crate) fn threads(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A process and all that descend from it.
pub(crate) fn family(pid: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(child) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let text = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        let parent = text.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok());
        if let Some(parent) = parent {
            children.entry(parent).or_default().push(child);
        }
    }
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        // Each process has one parent, so the list ends.
        found.extend(children.remove(parent).unwrap_or_default());
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom};
    use std::os::fd::AsRawFd;

    #[test]
    fn descriptors_are_looked_up() {
        let own = std::process::id();
        let mut file = fs::File::open("/proc/self/exe").expect("there");
        file.seek(SeekFrom::Start(77)).expect("sought");
        let descriptor = file.as_raw_fd();
        let Some(Behind::File(found)) = behind(own, descriptor, true) else { panic!("a file") };
        assert_eq!((found.kind, found.size), (FileKind::Regular, file.metadata().expect("there").len()));
        assert!(found.name.starts_with(b"/"));
        let expected = Opened { position: 77, appends: false, closes_at_exec: true };
        assert_eq!(opened(own, descriptor), Some(expected));
        assert!(descriptors(own).contains(&descriptor));
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("bound");
        assert_eq!(behind(own, socket.as_raw_fd(), true), Some(Behind::Other));
        let null = fs::File::open("/dev/null").expect("there");
        assert_eq!(behind(own, null.as_raw_fd(), true), Some(Behind::Other));
        assert_eq!(behind(own, 1 << 20, true), None);
    }

    #[test]
    fn pseudo_file_systems_are_told_from_those_with_data() {
        let own = std::process::id();
        let kind_of = |file: &fs::File| match behind(own, file.as_raw_fd(), false) {
            Some(Behind::File(found)) => found.kind,
            other => panic!("a file: {other:?}"),
        };
        for path in ["/proc/self/status", "/proc/meminfo", "/proc", "/sys/kernel", "/sys/kernel/mm"] {
            let file = fs::File::open(path).expect("there");
            assert_eq!(kind_of(&file), FileKind::Pseudo, "{path}");
        }
        assert_eq!(kind_of(&fs::File::open("/proc/self/exe").expect("there")), FileKind::Regular);
        assert_eq!(kind_of(&fs::File::open("/usr").expect("there")), FileKind::Directory);
        // Data in memory.
        if let Ok(file) = fs::File::create("/dev/shm/fathom-look-test") {
            assert_eq!(kind_of(&file), FileKind::Regular);
            fs::remove_file("/dev/shm/fathom-look-test").expect("removed");
        }
    }

    #[test]
    fn processes_have_threads_and_children() {
        let own = std::process::id();
        assert!(threads(own).contains(&own));
        assert_eq!(process_of(fathom_sys::process::own_thread_id()), own);
        let mut child = std::process::Command::new("sleep").arg("9").spawn().expect("sleep starts");
        assert!(family(own).contains(&child.id()));
        child.kill().expect("killed");
        child.wait().expect("reaped");
        assert!(threads(u32::MAX).is_empty());
    }
}
