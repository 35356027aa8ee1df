//! Makes the file system of a run, mounts it, and cleans up afterwards. A killed sweep needs no cleanup,
//! because nothing stays mounted or attached even after `kill -9`: all mounts are in a mount namespace of this
//! process, loop devices detach themselves, and a backing file may be unnamed.

use super::device::Backing;
use super::place::MOUNT;
use super::{Maker, NONE, Volume};
use crate::device::Claim;
use crate::running::Stop;
use crate::{Runner, figures};
use fathom_command::Failure;
use fathom_errors::plain;
use fathom_sys::loop_device::LoopDevice;
use fathom_sys::{Errno, block_device, file, file_system, mount, shell};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// Number of bytes per write when filling a file that serves as a device.
const PIECE: usize = 4 << 20;
/// Time to wait for a device or mount that is busy.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(20);

/// Refuses users who may not mount file systems.
pub(in crate::sweep) fn check_user() -> Result<(), Failure> {
    match mount::is_root() {
        true => Ok(()),
        false => Err(Failure::new("--fs makes and mounts file systems, which takes root; run it with sudo")),
    }
}

/// Result of an attempt to create a file system.
pub(in crate::sweep) enum Made<T> {
    /// It worked.
    Ready(T),
    /// A signal ended the attempt.
    Stopped(i32),
    /// The attempt failed for this reason; other kinds may still succeed.
    Failed(String),
}

/// The device of a sweep in progress.
pub(in crate::sweep) struct Workshop<'a> {
    volume: &'a Volume,
    claim: Claim,
    /// The loop device of a file.
    looped: Option<LoopDevice>,
    /// True if nothing is discarded, so that the data of `--precondition` stays.
    keeps_content: bool,
    // This field is the last one, so that the directory is dropped after everything on it has been unmounted.
    _directory: MountDirectory,
}

impl<'a> Workshop<'a> {
    /// Claims the device, or attaches the file.
    pub(in crate::sweep) fn open(
        volume: &'a Volume,
        keeps_content: bool,
        stop: &Stop<'_>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Made<Workshop<'a>>, Failure> {
        let directory = MountDirectory::make()?;
        let path = &volume.device;
        let (claim, looped) = match volume.backing {
            Backing::Device => {
                (Claim::of(path, File::open(path).map_err(|error| Failure::file(path, &error))?)?, None)
            }
            Backing::File | Backing::Made => {
                let mut file = open_file(volume)?;
                let claim = Claim::of(path, file.try_clone().map_err(|error| Failure::file(path, &error))?)?;
                if has_holes(&file, volume.bytes) {
                    say(&format!("writing {} to {}", figures::size(volume.bytes), path.display()));
                    if let Some(signal) = fill(&mut file, volume, stop)? {
                        return Ok(Made::Stopped(signal));
                    }
                }
                (claim, Some(attach(&file, path, say)?))
            }
        };
        mount::private_namespace().map_err(|errno| {
            Failure::new(format!(
                "--fs needs a private mount namespace (unshare): {errno}; containers may forbid that"
            ))
        })?;
        Ok(Made::Ready(Workshop { volume, claim, looped, keeps_content, _directory: directory }))
    }

    /// The block device on which file systems are made.
    pub(in crate::sweep) fn device(&self) -> &Path {
        self.looped.as_ref().map_or(&self.volume.device, LoopDevice::path)
    }

    /// True if the device is discarded before each run.
    pub(in crate::sweep) fn forgets(&self) -> bool {
        self.looped.is_none() && !self.keeps_content
    }

    /// Makes and mounts the file system of a run; for `none`, returns the bare device. An error means that the
    /// device must no longer be written to, and ends the sweep.
    pub(in crate::sweep) fn prepare(
        &self,
        kind: &str,
        stop: &Stop<'_>,
        runner: &dyn Runner,
    ) -> Result<Made<Prepared>, Failure> {
        if self.volume.backing != Backing::Made {
            self.claim.check(&self.volume.device)?;
        }
        if let Some(used) = runner.use_of(self.device()) {
            let path = self.device().display();
            return Err(Failure::new(format!(
                "{path}: another program began to use it during the sweep: {used}; no further run was started"
            )));
        }
        if let Err(errno) = self.discard() {
            return Ok(Made::Failed(format!("{}: discard: {errno}", self.device().display())));
        }
        let Some(maker) = self.volume.maker(kind).filter(|_| kind != NONE) else {
            return Ok(match self.forget() {
                Ok(()) => Made::Ready(Prepared { is_mounted: false }),
                Err(errno) => Made::Failed(format!("{}: {errno}", self.device().display())),
            });
        };
        match self.make(maker, stop) {
            Made::Ready(()) => {}
            Made::Stopped(signal) => return Ok(Made::Stopped(signal)),
            Made::Failed(why) => return Ok(Made::Failed(why)),
        }
        let mounted = self.forget().and_then(|()| {
            patiently(|| mount::mount(self.device(), Path::new(MOUNT), kind, &maker.mount_options))
        });
        if let Err(errno) = mounted {
            let options = match maker.mount_options.as_str() {
                "" => String::new(),
                options => format!(" with {options}"),
            };
            return Ok(Made::Failed(format!("{kind} cannot be mounted{options}: {errno}")));
        }
        let prepared = Prepared { is_mounted: true };
        // All users may write, because jobs may run as other users.
        match std::fs::set_permissions(MOUNT, PermissionsExt::from_mode(0o1777)) {
            Ok(()) => Ok(Made::Ready(prepared)),
            Err(error) => {
                Ok(Made::Failed(format!("{kind}: chmod of its root: {error}", error = plain(&error))))
            }
        }
    }

    /// Discards all blocks, so that each run finds the device in the same state.
    fn discard(&self) -> Result<(), Errno> {
        if !self.forgets() {
            return Ok(());
        }
        let device = OpenOptions::new().write(true).open(self.device())?;
        match block_device::discard(device.as_raw_fd(), 0, self.volume.bytes) {
            Err(errno) if errno.is_unsupported() => Ok(()),
            result => result,
        }
    }

    fn make(&self, maker: &Maker, stop: &Stop<'_>) -> Made<()> {
        let mut words = maker.command.clone();
        words.push(self.device().to_string_lossy().into_owned());
        let program = Path::new(&words[0]).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let failed = |what: &dyn std::fmt::Display| Made::Failed(format!("{program}: {what}"));
        let mut output = match file_system::unnamed_file(&std::env::temp_dir()) {
            Ok(output) => output,
            Err(error) => return failed(&error),
        };
        let status = shell::run_program(&words, &output, || stop.asked().is_some());
        // The signal is checked first, because Ctrl-C on a terminal also reaches the program, which may have
        // exited first.
        if let Some(signal) = stop.asked() {
            return Made::Stopped(signal);
        }
        match status {
            Ok(status) if status.success() => Made::Ready(()),
            Ok(status) => {
                let mut text = String::new();
                let read = output.rewind().and_then(|()| output.read_to_string(&mut text));
                let said: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
                match read.is_ok() && !said.is_empty() {
                    true => failed(&fathom_results::single_line(&said.join("; "))),
                    false => failed(&status),
                }
            }
            Err(error) => failed(&error),
        }
    }

    /// Flushes and drops all cached data of the device.
    fn forget(&self) -> Result<(), Errno> {
        let device = OpenOptions::new().write(true).open(self.device())?;
        file::sync(device.as_raw_fd())?;
        block_device::flush_buffers(device.as_raw_fd())
    }
}

/// A mounted file system.
pub(in crate::sweep) struct Prepared {
    is_mounted: bool,
}

impl Prepared {
    /// Unmounts the file system, after which all writes are on the device.
    pub(in crate::sweep) fn release(mut self) -> Result<(), Failure> {
        if !std::mem::take(&mut self.is_mounted) {
            return Ok(());
        }
        patiently(|| mount::unmount(Path::new(MOUNT))).map_err(|errno| {
            let _ = mount::detach(Path::new(MOUNT));
            Failure::new(format!(
                "the file system of the last run cannot be unmounted: {errno}; a program that the jobs started may still use it"
            ))
        })
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if self.is_mounted {
            // If this fails, the file system is unmounted when the process ends.
            let _ = mount::detach(Path::new(MOUNT));
        }
    }
}

/// Retries a call while another program briefly keeps the device or mount busy.
fn patiently(call: impl Fn() -> Result<(), Errno>) -> Result<(), Errno> {
    let started = Instant::now();
    loop {
        match call() {
            Err(errno) if errno.is_busy() && started.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            result => return result,
        }
    }
}

/// The directory for mounts. Several sweeps share it, each with a private mount, and the last sweep removes it;
/// removing a directory also removes other processes' mounts on it.
struct MountDirectory(File);

impl MountDirectory {
    fn make() -> Result<MountDirectory, Failure> {
        let path = Path::new(MOUNT);
        let fail = |error: std::io::Error| Failure::file(path, &error);
        loop {
            match std::fs::DirBuilder::new().mode(0o700).create(path) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(fail(error)),
                _ => {}
            }
            let found = std::fs::symlink_metadata(path).map_err(fail)?;
            if !found.is_dir() || found.uid() != 0 {
                return Err(Failure::new(format!(
                    "{MOUNT}: file systems are mounted on this directory, but it does not belong to root; remove it"
                )));
            }
            let directory = File::open(path).map_err(fail)?;
            // Another sweep may have removed the directory before it was locked, or may be removing it now.
            if file::try_lock(directory.as_raw_fd(), true).is_ok()
                && std::fs::metadata(path).is_ok_and(|now| now.ino() == found.ino())
                && directory.metadata().map_err(fail)?.ino() == found.ino()
            {
                return Ok(MountDirectory(directory));
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for MountDirectory {
    fn drop(&mut self) {
        if file::try_lock(self.0.as_raw_fd(), false).is_ok() {
            let _ = std::fs::remove_dir(MOUNT);
        }
    }
}

/// Opens the backing file of the loop device. If the sweep creates the file, it is unnamed and disappears with
/// the sweep.
fn open_file(volume: &Volume) -> Result<File, Failure> {
    let path = &volume.device;
    let fail = |error: std::io::Error| Failure::file(path, &error);
    match volume.backing {
        Backing::Made => {
            let directory = path.parent().unwrap_or(Path::new("/"));
            let file =
                file_system::unnamed_file(directory).map_err(|error| Failure::file(directory, &error))?;
            file.set_len(volume.bytes).map_err(fail)?;
            Ok(file)
        }
        _ => OpenOptions::new().read(true).write(true).open(path).map_err(fail),
    }
}

fn has_holes(file: &File, bytes: u64) -> bool {
    const SECTOR: u64 = 512;
    file.metadata().is_ok_and(|metadata| metadata.blocks().saturating_mul(SECTOR) < bytes)
}

/// Writes the whole file. Without this, only the first run would be slowed down by holes, or by space that was
/// never written. Returns the signal that ended the writing.
fn fill(file: &mut File, volume: &Volume, stop: &Stop<'_>) -> Result<Option<i32>, Failure> {
    let zeros = vec![0; PIECE];
    let mut rest = volume.bytes;
    let mut write = || {
        file.rewind()?;
        while rest > 0 {
            if let Some(signal) = stop.asked() {
                return Ok(Some(signal));
            }
            let length = rest.min(PIECE as u64);
            file.write_all(&zeros[..length as usize])?;
            rest -= length;
        }
        file.sync_all()?;
        Ok(None)
    };
    write().map_err(|error: std::io::Error| Failure::file(&volume.device, &error))
}

fn attach(file: &File, path: &Path, say: &mut dyn FnMut(&str)) -> Result<LoopDevice, Failure> {
    let looped = LoopDevice::attach(file).map_err(|errno| {
        Failure::new(format!("{}: no loop device can be attached: {errno}", path.display()))
    })?;
    if !looped.is_direct() {
        say(&format!(
            "{}: its file system does not support direct I/O, so memory may answer for the loop device",
            path.display()
        ));
    }
    Ok(looped)
}
