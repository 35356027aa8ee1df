//! An in-memory file system with one file, which deliberately damages one block of it. Used directly, or through a loop
//! device.

use crate::support::{scratch, skip};
use fuser::{
    AccessFlags, BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use std::ffi::OsStr;
use std::ops::Range;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// Name of the one file.
const NAME: &str = "data";
const FILE: INodeNo = INodeNo(2);
const ATTRIBUTES_LIVE: Duration = Duration::from_secs(60);

/// Kind of damage to the victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    /// Nothing.
    None,
    /// A bit of the written data is flipped.
    Flip,
    /// The write is acknowledged but dropped.
    Drop,
    /// The data is written elsewhere.
    Misdirect,
    /// Only its first sectors are written.
    Tear,
    /// Zeros are written.
    Zero,
    /// Reads fail.
    FailReads,
    /// Writes fail.
    FailWrites,
}

/// How the kernel uses its page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caching {
    /// No caching: every request arrives here unchanged.
    Off,
    /// Write-through: reads may be cached.
    Through,
    /// Write-back.
    Back,
}

#[derive(Debug)]
struct State {
    data: Vec<u8>,
    damage: Damage,
    victim: Range<usize>,
    caching: Caching,
    /// Writes of the victim, or failed reads.
    hits: u64,
}

/// The mounted file system; unmounted on drop.
pub(crate) struct DamagingFs {
    directory: TempDir,
    state: Arc<Mutex<State>>,
    session: Option<BackgroundSession>,
}

impl DamagingFs {
    /// Mounts a file of `size` bytes, of which `victim` can be damaged on request.
    pub(crate) fn mount(size: usize, victim: Range<usize>, caching: Caching) -> Result<DamagingFs, String> {
        skip::root()?;
        if !std::path::Path::new("/dev/fuse").exists() {
            return Err("there is no /dev/fuse".into());
        }
        let directory = scratch();
        let data = vec![0xa5; size];
        let state = Arc::new(Mutex::new(State { data, damage: Damage::None, victim, caching, hits: 0 }));
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("fathom-damaging".into())];
        let session = fuser::Session::new(Device(Arc::clone(&state)), directory.path(), &config)
            .and_then(fuser::Session::spawn)
            .map_err(|error| format!("a FUSE file system cannot be mounted: {error}"))?;
        Ok(DamagingFs { directory, state, session: Some(session) })
    }

    /// The file.
    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join(NAME)
    }

    /// Sets the damage to the victim.
    pub(crate) fn set(&self, damage: Damage) {
        let mut state = locked(&self.state);
        (state.damage, state.hits) = (damage, 0);
    }

    /// Fills the file with bytes that no job writes.
    pub(crate) fn wipe(&self) {
        locked(&self.state).data.fill(0xa5);
    }

    /// Number of times the damage was applied since it was set.
    pub(crate) fn hits(&self) -> u64 {
        locked(&self.state).hits
    }
}

impl Drop for DamagingFs {
    fn drop(&mut self) {
        for how in ["--force", "--lazy"] {
            let unmount =
                Command::new("umount").arg(how).arg(self.directory.path()).stderr(Stdio::null()).status();
            drop(unmount);
        }
        drop(self.session.take());
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Writes the data with the requested damage; an error if the damage is a failed write.
    fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<(), Errno> {
        let end = (offset + bytes.len()).min(self.data.len());
        let before = self.data[self.victim.clone()].to_vec();
        let is_hit = offset < self.victim.end && self.victim.start < end;
        if is_hit && self.damage == Damage::FailWrites {
            self.hits += 1;
            return Err(Errno::EIO);
        }
        self.data[offset..end].copy_from_slice(&bytes[..end - offset]);
        if is_hit {
            self.damage_victim(&before);
        }
        Ok(())
    }

    /// Called when the victim was written; `before` is its previous content.
    fn damage_victim(&mut self, before: &[u8]) {
        let victim = self.victim.clone();
        let written = self.data[victim.clone()].to_vec();
        match self.damage {
            Damage::None | Damage::FailReads | Damage::FailWrites => return,
            Damage::Flip => self.data[victim.start + victim.len() / 3] ^= 4,
            Damage::Drop => self.data[victim].copy_from_slice(before),
            Damage::Misdirect => {
                let other = (victim.end + 3 * victim.len()) % self.data.len();
                self.data[other..other + written.len()].copy_from_slice(&written);
                self.data[victim].copy_from_slice(before);
            }
            Damage::Tear => {
                let middle = victim.start + victim.len() / 2;
                self.data[middle..victim.end].copy_from_slice(&before[victim.len() / 2..]);
            }
            Damage::Zero => self.data[victim].fill(0),
        }
        self.hits += 1;
    }

    fn read(&mut self, offset: usize, length: usize) -> Result<&[u8], Errno> {
        let end = (offset + length).min(self.data.len());
        let is_hit = offset < self.victim.end && self.victim.start < end;
        if is_hit && self.damage == Damage::FailReads {
            self.hits += 1;
            return Err(Errno::EIO);
        }
        Ok(&self.data[offset.min(end)..end])
    }
}

struct Device(Arc<Mutex<State>>);

impl Device {
    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let (kind, perm, size) = match inode {
            FILE => (FileType::RegularFile, 0o644, locked(&self.0).data.len() as u64),
            _ => (FileType::Directory, 0o755, 0),
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
            blksize: 4096,
        }
    }
}

impl Filesystem for Device {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        if locked(&self.0).caching == Caching::Back {
            // A kernel without this feature writes through, which is another row of the table.
            let _ = config.add_capabilities(InitFlags::FUSE_WRITEBACK_CACHE);
        }
        Ok(())
    }

    fn lookup(&self, _request: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name == NAME {
            true => reply.entry(&ATTRIBUTES_LIVE, &self.attributes(FILE), Generation(0)),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&ATTRIBUTES_LIVE, &self.attributes(inode));
    }

    fn setattr(
        &self,
        _request: &Request,
        inode: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        _size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        reply.attr(&ATTRIBUTES_LIVE, &self.attributes(inode));
    }

    fn access(&self, _request: &Request, _inode: INodeNo, _mask: AccessFlags, reply: ReplyEmpty) {
        reply.ok();
    }

    fn open(&self, _request: &Request, _inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let flags = match locked(&self.0).caching {
            Caching::Off => FopenFlags::FOPEN_DIRECT_IO,
            // Pages cached by an earlier open stay, as on any disk.
            Caching::Through | Caching::Back => FopenFlags::FOPEN_KEEP_CACHE,
        };
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        length: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match locked(&self.0).read(offset as usize, length as usize) {
            Ok(bytes) => reply.data(bytes),
            Err(errno) => reply.error(errno),
        }
    }

    fn write(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match locked(&self.0).write(offset as usize, data) {
            Ok(()) => reply.written(data.len() as u32),
            Err(errno) => reply.error(errno),
        }
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

    fn fsync(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        _data: bool,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }
}
