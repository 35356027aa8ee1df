//! `fathom record`: records, as a trace, the I/O that all programs request from a block device, or the calls of some on their files.

mod blocks;
mod call_tally;
mod calls;
mod command;
mod moment;
mod order;
mod parts;
mod session;
mod tally;

use crate::{Command, Runner, figures};
use blocks::Blocks;
use calls::Calls;
use command::Child;
use fathom_command::{Failure, Streams};
use fathom_record::files::{FileWishes, Target};
use fathom_record::{Wishes, devices};
use fathom_trace::side::RecordedDevice;
use order::{Order, Subject};
use parts::Files;
use session::Session;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Size of the kernel's buffer per processor, for devices and for files, whose calls have more and larger events.
const BUFFER_KIB: u64 = 4 << 10;
const FILES_BUFFER_KIB: u64 = 16 << 10;
/// Maximum number of devices in a kernel filter, whose text is limited to a page.
const MOST_DEVICES: usize = 48;

pub(crate) const COMMAND: Command = Command {
    name: "record",
    arguments: "TARGET...",
    summary: "What do programs ask of a disk or files? Record it",
    help: "\
Usage: fathom record [options] TARGET... [-- COMMAND...]
       fathom record [options] --files -- COMMAND...
       fathom record [options] --pid=N | --cgroup=PATH

Records what all programs ask of block devices, until Ctrl-C, --time, or the end of COMMAND: the place, length, time and direction of
each request, and when the device got and completed it. No data is recorded.

TARGET is a device, or a file or directory, which stands for the devices below its file system. Partitions, dm and md devices stand for
the disks below them; of a disk, only the sectors of a partition that was named are recorded.

  --files            record what COMMAND and its children ask of their files instead: open, read, write, sync,
                     truncate, allocate, close, by system calls and io_uring
  --pid=N            the same of a process that runs, with its threads and children, until it ends
  --cgroup=PATH      the same of all processes in a control group, also of those that come later
  -o, --output=FILE  the trace (NAME.trace); - is standard output. Of devices it is in blktrace's format, and
                     compressed if its name ends with .zst; of files it is in fathom's own, and always compressed
  --time=TIME        how long to record, for example 5m
  --split=TIME       begin a new file after this time: NAME.0001.trace, NAME.0002.trace, ...
  --names            record the names of programs, and of files
  --buffer=SIZE      the kernel's buffer per processor (4m; 16m for files)
  --force            let -o overwrite a file

fathom reads the trace: characterize says what load it is, read_iolog=FILE replays that of devices, trace-to-job makes a log of that of
files, which read_iolog replays. blkparse, btt and fio read that of devices. What the kernel lost because a buffer was full, and what
could not be seen, is in the trace and on the screen. Needs root and tracefs.

Exit: 0 recorded, 1 not or not to the end; with COMMAND, the command's own status.
",
    run,
};

fn run(words: &[OsString], streams: &mut Streams<'_>, runner: &mut dyn Runner) -> Result<u8, Failure> {
    let order = order::order(words)?;
    if runner.runs_elsewhere() {
        return Err(Failure::new("--hosts is not supported; run it on each host"));
    }
    match &order.subject {
        Subject::Devices(targets) => record_devices(&order, targets, streams),
        Subject::Command => record_files(&order, None, streams),
        Subject::Process(pid) => record_files(&order, Some(Target::Process(*pid)), streams),
        Subject::Group(path) => record_files(&order, Some(Target::Group(path.clone())), streams),
    }
}

fn record_devices(order: &Order, targets: &[PathBuf], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let devices = devices::below(targets).map_err(Failure::because)?;
    if devices.is_empty() {
        return Err(Failure::new("the kernel says nothing about these devices: is /sys mounted?"));
    }
    if devices.len() > MOST_DEVICES {
        return Err(Failure::new(format!(
            "{} devices are below these targets, and {MOST_DEVICES} can be recorded together; name fewer",
            devices.len()
        )));
    }
    let path = order.output.clone().unwrap_or_else(|| default_name(&devices));
    let mut files = Files::new(&path, order.force, order.limits.split.is_some())?;
    if let Some(file) = files.file(1).filter(|file| devices::holds(&devices, file.path())) {
        writeln!(
            streams.err,
            "fathom record: {} is on a recorded device, so writing the trace is recorded, too; -o elsewhere avoids that",
            file.path().display()
        )?;
    }
    let wishes = Wishes { devices, buffer_kib: order.buffer_kib.unwrap_or(BUFFER_KIB), names: order.names };
    let child = Child::start(&order.command)?;
    let mut recording = Blocks::start(&wishes, &mut files)?;
    Session::new(&mut recording, &mut files, streams)?.run(order.limits, child)
}

/// Records the files of a target, or of the command without one.
fn record_files(order: &Order, target: Option<Target>, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let last = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (name, subject) = match &target {
        None => {
            let program =
                last(Path::new(order.command.first().map_or("", |program| program.to_str().unwrap_or(""))));
            (program.clone(), format!("the files of {program}"))
        }
        Some(Target::Group(path)) => (last(path), format!("the files of control group {}", path.display())),
        Some(Target::Process(pid) | Target::Command(pid)) => {
            (format!("pid{pid}"), format!("the files of process {pid}"))
        }
    };
    let name = if name.is_empty() { "files".to_owned() } else { name };
    let path = order.output.clone().unwrap_or_else(|| format!("{name}.trace").into());
    let mut files = Files::new(&path, order.force, order.limits.split.is_some())?;
    // Refused before a command is started.
    let target = target.map(Target::check).transpose().map_err(Failure::because)?;
    let child = Child::start(&order.command)?;
    let target = target.or(child.as_ref().map(|child| Target::Command(child.id())));
    let target = target.ok_or_else(|| Failure::new("--files needs a command after --"))?;
    let buffer_kib = order.buffer_kib.unwrap_or(FILES_BUFFER_KIB);
    let wishes = FileWishes { target, buffer_kib, names: order.names };
    let mut recording = Calls::start(&wishes, subject, &mut files)?;
    Session::new(&mut recording, &mut files, streams)?.run(order.limits, child)
}

/// The default name `vda.trace`; for several devices, it has the first one and the number of the others.
fn default_name(devices: &[RecordedDevice]) -> PathBuf {
    let first = devices.first().map_or("disk", |device| device.name.as_str()).replace('/', "-");
    match devices.len() {
        0 | 1 => format!("{first}.trace").into(),
        count => format!("{first}-and-{}.trace", count - 1).into(),
    }
}

/// The names of the devices, for people.
fn names_of(devices: &[RecordedDevice]) -> String {
    let whole = |device: &RecordedDevice| device.recorded.0 == 0 && device.recorded.1 >= device.sectors;
    let one = |device: &RecordedDevice| match whole(device) {
        true => device.name.clone(),
        false => {
            let bytes = (device.recorded.1 - device.recorded.0).saturating_mul(512);
            format!("{} of {}", figures::size(bytes), device.name)
        }
    };
    devices.iter().map(one).collect::<Vec<_>>().join(", ")
}
