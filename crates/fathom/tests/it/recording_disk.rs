//! A disk that records every write and every flush, and can show its state after a power cut at any time.
//!
//! A FUSE file system of the test has two files behind loop devices: `disk` receives and logs the writes of a
//! file system, `image` contains the data that remains after a power cut. Both are sparse and in memory.

use crate::support::{scratch, skip};
use fathom_sys::clock::monotonic_ns;
use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyWrite, Request, WriteFlags,
};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};
use tempfile::TempDir;

const DISK: INodeNo = INodeNo(2);
const IMAGE: INodeNo = INodeNo(3);
const NAMES: [(&str, INodeNo); 2] = [("disk", DISK), ("image", IMAGE)];
const PAGE: usize = 4096;
const ATTRIBUTES_LIVE: Duration = Duration::from_secs(1);

/// Content of a disk: written pages; the rest is zero.
#[derive(Clone, Default)]
pub(crate) struct Image(BTreeMap<u64, Arc<[u8; PAGE]>>);

impl Image {
    /// Writes bytes at an offset.
    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) {
        let mut done = 0;
        while done < data.len() {
            let at = offset as usize + done;
            let (page, from) = ((at / PAGE) as u64, at % PAGE);
            let count = (PAGE - from).min(data.len() - done);
            let bytes = Arc::make_mut(self.0.entry(page).or_insert_with(|| Arc::new([0; PAGE])));
            bytes[from..from + count].copy_from_slice(&data[done..done + count]);
            done += count;
        }
    }

    fn read(&self, offset: u64, data: &mut [u8]) {
        let mut done = 0;
        while done < data.len() {
            let at = offset as usize + done;
            let (page, from) = ((at / PAGE) as u64, at % PAGE);
            let count = (PAGE - from).min(data.len() - done);
            if let Some(bytes) = self.0.get(&page) {
                data[done..done + count].copy_from_slice(&bytes[from..from + count]);
            }
            done += count;
        }
    }
}

/// An event at the disk.
#[derive(Clone)]
pub(crate) enum Event {
    /// Data.
    Write { offset: u64, data: Arc<[u8]> },
    /// Everything before must be durable; the time is the start of the reply, monotonic, ns.
    Flush { time_ns: u64 },
}

#[derive(Default)]
struct State {
    size: u64,
    disk: Image,
    image: Image,
    events: Vec<Event>,
}

/// The disk. Its file system is unmounted on drop.
pub(crate) struct RecordingDisk {
    directory: TempDir,
    state: Arc<Mutex<State>>,
    session: Option<BackgroundSession>,
}

impl RecordingDisk {
    /// A disk of `size` bytes.
    pub(crate) fn new(size: u64) -> Result<RecordingDisk, String> {
        skip::root()?;
        skip::tool("losetup")?;
        if !Path::new("/dev/fuse").exists() {
            return Err("there is no /dev/fuse".into());
        }
        let directory = scratch();
        let state = Arc::new(Mutex::new(State { size, ..State::default() }));
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("fathom-recording".into())];
        let session = fuser::Session::new(Device(Arc::clone(&state)), directory.path(), &config)
            .and_then(fuser::Session::spawn)
            .map_err(|error| format!("a FUSE file system cannot be mounted: {error}"))?;
        Ok(RecordingDisk { directory, state, session: Some(session) })
    }

    /// The recording file.
    pub(crate) fn disk(&self) -> PathBuf {
        self.directory.path().join("disk")
    }

    /// The file with the state after a power cut.
    pub(crate) fn image(&self) -> PathBuf {
        self.directory.path().join("image")
    }

    /// All events at the disk, in order.
    pub(crate) fn events(&self) -> Vec<Event> {
        locked(&self.state).events.clone()
    }

    /// Sets the state after a power cut.
    pub(crate) fn set_image(&self, image: Image) {
        locked(&self.state).image = image;
    }
}

impl Drop for RecordingDisk {
    fn drop(&mut self) {
        let unmount =
            Command::new("umount").arg("--lazy").arg(self.directory.path()).stderr(Stdio::null()).status();
        drop(unmount);
        drop(self.session.take());
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Device(Arc<Mutex<State>>);

impl Device {
    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let is_file = NAMES.iter().any(|(_, file)| *file == inode);
        let (kind, perm, size) = match is_file {
            true => (FileType::RegularFile, 0o644, locked(&self.0).size),
            false => (FileType::Directory, 0o755, 0),
        };
        FileAttr {
            ino: inode,
            size,
            blocks: size.div_ceil(512),
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            flags: 0,
            blksize: PAGE as u32,
        }
    }
}

impl Filesystem for Device {
    fn lookup(&self, _request: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match NAMES.iter().find(|(known, _)| *known == name) {
            Some((_, inode)) => reply.entry(&ATTRIBUTES_LIVE, &self.attributes(*inode), Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&ATTRIBUTES_LIVE, &self.attributes(inode));
    }

    fn open(&self, _request: &Request, _inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        // Bypasses the page cache, so that every request arrives here unchanged.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        length: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let state = locked(&self.0);
        let mut data = vec![0; u64::from(length).min(state.size.saturating_sub(offset)) as usize];
        match inode {
            DISK => state.disk.read(offset, &mut data),
            _ => state.image.read(offset, &mut data),
        }
        reply.data(&data);
    }

    fn write(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut state = locked(&self.0);
        match inode {
            DISK => {
                state.disk.write(offset, data);
                state.events.push(Event::Write { offset, data: data.into() });
            }
            _ => state.image.write(offset, data),
        }
        reply.written(data.len() as u32);
    }

    fn flush(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        _owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }

    fn fsync(&self, _request: &Request, inode: INodeNo, _handle: FileHandle, _data: bool, reply: ReplyEmpty) {
        if inode == DISK {
            locked(&self.0).events.push(Event::Flush { time_ns: monotonic_ns() });
        }
        reply.ok();
    }
}
