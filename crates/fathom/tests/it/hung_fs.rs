//! A file system with one file whose device can hang on request, or has a bad range.

use crate::support::{scratch, skip};
use fathom_stats::split_mix::split_mix;
use fuser::{
    AccessFlags, BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use std::ffi::OsStr;
use std::ops::Range;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// Name of the one file.
const NAME: &str = "data";
const FILE: INodeNo = INodeNo(2);
const ATTRIBUTES_LIVE: Duration = Duration::from_secs(1);

/// Faults of the device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    /// Number of requests answered before the device stops answering.
    pub(crate) hang_after: Option<u64>,
    /// Range that returns an I/O error.
    pub(crate) bad: Range<u64>,
    /// Service time of a request; requests are served one at a time.
    pub(crate) service: Duration,
    /// Makes it the mean of an exponential distribution.
    pub(crate) service_is_random: bool,
    /// The device stalls for this long at the end of each such span, counted from the mount.
    pub(crate) pauses: Option<(Duration, Duration)>,
}

/// The mounted file system. On drop it fails every waiting request and is unmounted.
pub(crate) struct HungFs {
    directory: TempDir,
    state: Arc<Mutex<State>>,
    session: Option<BackgroundSession>,
}

/// A read or write as requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

#[derive(Default)]
struct State {
    faults: Faults,
    size: u64,
    answered: u64,
    hanging: Vec<(Asked, Unanswered)>,
    mounted: Option<Instant>,
    /// Requests with a service time, and their total time.
    served: (u32, Duration),
    /// Their completion times.
    ends: Vec<Instant>,
    random: u64,
}

/// Exponentially distributed, mean 1.
fn exponential(state: &mut u64) -> f64 {
    -(((split_mix(state) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64).ln()
}

/// Kept, because a dropped reply answers with an error.
enum Unanswered {
    Read { _reply: ReplyData },
    Write { _reply: ReplyWrite },
}

impl HungFs {
    /// Mounts a file of `size` bytes.
    pub(crate) fn mount(size: u64, faults: Faults) -> Result<HungFs, String> {
        skip::root()?;
        if !std::path::Path::new("/dev/fuse").exists() {
            return Err("there is no /dev/fuse".into());
        }
        let directory = scratch();
        let state =
            Arc::new(Mutex::new(State { faults, size, mounted: Some(Instant::now()), ..Default::default() }));
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("fathom-hung".into())];
        let device = Device(Arc::clone(&state));
        let session = fuser::Session::new(device, directory.path(), &config)
            .and_then(fuser::Session::spawn)
            .map_err(|error| format!("a FUSE file system cannot be mounted: {error}"))?;
        Ok(HungFs { directory, state, session: Some(session) })
    }

    /// The file.
    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join(NAME)
    }

    /// Requests that were never answered.
    pub(crate) fn hanging(&self) -> Vec<Asked> {
        locked(&self.state).hanging.iter().map(|(asked, _)| *asked).collect()
    }

    /// Mean service time here.
    pub(crate) fn mean_service(&self) -> Duration {
        let (count, time) = locked(&self.state).served;
        time / count.max(1)
    }

    /// Completion time of each request.
    pub(crate) fn ends(&self) -> Vec<Instant> {
        locked(&self.state).ends.clone()
    }

    /// Number of reads and writes answered.
    pub(crate) fn answered(&self) -> u64 {
        locked(&self.state).answered
    }
}

impl Drop for HungFs {
    fn drop(&mut self) {
        // A forced unmount aborts the connection, which releases stuck processes; a lazy one works even while
        // it is in use.
        for how in ["--force", "--lazy"] {
            let unmount =
                Command::new("umount").arg(how).arg(self.directory.path()).stderr(Stdio::null()).status();
            drop(unmount);
        }
        locked(&self.state).hanging.clear();
        drop(self.session.take());
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Device(Arc<Mutex<State>>);

impl Device {
    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.0)
    }

    /// The file system has one thread: other requests wait.
    fn take_time(&self) {
        let begun = Instant::now();
        let slowness = self.state().slowness();
        if !slowness.is_zero() {
            std::thread::sleep(slowness);
        }
        let mut state = self.state();
        let (count, time) = state.served;
        state.served = (count + 1, time + begun.elapsed());
        state.ends.push(Instant::now());
    }

    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let (kind, perm, size) = match inode {
            FILE => (FileType::RegularFile, 0o644, self.state().size),
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

impl State {
    fn is_bad(&self, asked: Asked) -> bool {
        asked.offset < self.faults.bad.end && self.faults.bad.start < asked.offset + asked.length
    }

    /// Service time of a request that arrives now.
    fn slowness(&mut self) -> Duration {
        if self.faults.service_is_random {
            return self.faults.service.mul_f64(exponential(&mut self.random));
        }
        let Some((span, pause)) = self.faults.pauses else { return self.faults.service };
        let since = self.mounted.map_or(Duration::ZERO, |mounted| mounted.elapsed());
        let left = span - Duration::from_nanos((since.as_nanos() % span.as_nanos()) as u64);
        if left <= pause { left } else { self.faults.service }
    }

    /// True if the request is to wait forever; otherwise it counts as answered.
    fn hangs(&mut self) -> bool {
        let hangs = self.faults.hang_after.is_some_and(|limit| self.answered >= limit);
        self.answered += u64::from(!hangs);
        hangs
    }
}

impl Filesystem for Device {
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
        size: Option<u64>,
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
        if let Some(size) = size {
            self.state().size = size;
        }
        reply.attr(&ATTRIBUTES_LIVE, &self.attributes(inode));
    }

    fn access(&self, _request: &Request, _inode: INodeNo, _mask: AccessFlags, reply: ReplyEmpty) {
        reply.ok();
    }

    fn open(&self, _request: &Request, _inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        // Bypasses the page cache, so that every request of a job arrives here unchanged.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
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
        self.take_time();
        let mut state = self.state();
        let asked = Asked { offset, length: length.into() };
        if state.is_bad(asked) {
            reply.error(Errno::EIO);
        } else if state.hangs() {
            state.hanging.push((asked, Unanswered::Read { _reply: reply }));
        } else {
            let length = asked.length.min(state.size.saturating_sub(offset));
            reply.data(&vec![0x5a; length as usize]);
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
        self.take_time();
        let mut state = self.state();
        let asked = Asked { offset, length: data.len() as u64 };
        if state.is_bad(asked) {
            reply.error(Errno::EIO);
        } else if state.hangs() {
            state.hanging.push((asked, Unanswered::Write { _reply: reply }));
        } else {
            reply.written(data.len() as u32);
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

#[test]
fn answers_until_told_otherwise() {
    use std::os::unix::fs::FileExt;
    let fs = require!(HungFs::mount(
        1 << 20,
        Faults { hang_after: Some(2), bad: 8192..8193, ..Faults::default() }
    ));
    let file = std::fs::File::open(fs.file()).expect("the file opens");
    let mut block = [0; 4096];
    assert_eq!(file.read_at(&mut block, 0).expect("the first read"), 4096);
    let error = file.read_at(&mut block, 8192).expect_err("the bad block");
    assert_eq!(error.raw_os_error(), Some(Errno::EIO.code()));
    assert_eq!(file.read_at(&mut block, 4096).expect("the second read"), 4096);
    let reader = std::thread::spawn(move || file.read_at(&mut [0; 4096], 12288));
    while fs.hanging().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(fs.hanging(), [Asked { offset: 12288, length: 4096 }]);
    assert_eq!(fs.answered(), 2);
    drop(fs);
    reader.join().expect("the reader lives").expect_err("the aborted read");
}
