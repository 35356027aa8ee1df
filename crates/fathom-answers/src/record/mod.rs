//! `fathom record`: records, as a trace, the I/O that all programs request from a block device.

mod parts;
mod session;
mod tally;

use crate::{Command, Runner, figures};
use fathom_command::{Failure, Streams, arguments};
use fathom_record::{Recorder, Wishes, devices};
use fathom_trace::side::RecordedDevice;
use lexopt::Arg::{Long, Short, Value};
use parts::Files;
use session::Session;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Size of the kernel's buffer per processor.
const BUFFER_KIB: u64 = 4 << 10;
/// Maximum number of devices in a kernel filter, whose text is limited to a page.
const MOST_DEVICES: usize = 48;

pub(crate) const COMMAND: Command = Command {
    name: "record",
    arguments: "TARGET...",
    summary: "What do programs ask of this disk? Record it",
    help: "\
Usage: fathom record [options] TARGET... [-- COMMAND...]

Records what all programs ask of block devices, until Ctrl-C, --time, or the end of COMMAND: the place, length, time and direction of
each request, and when the device got and completed it. No data is recorded.

TARGET is a device, or a file or directory, which stands for the devices below its file system. Partitions, dm and md devices stand for
the disks below them; of a disk, only the sectors of a partition that was named are recorded.

  -o, --output=FILE  the trace, in blktrace's format (NAME.trace); - is standard output, for blkparse -i -
                     A name that ends with .zst is compressed
  --time=TIME        how long to record, for example 5m
  --split=TIME       begin a new file after this time: NAME.0001.trace, NAME.0002.trace, ...
  --names            record the names of programs
  --buffer=SIZE      the kernel's buffer per processor (4m)
  --force            let -o overwrite a file

The trace is read by fathom (characterize says what load it is, read_iolog=FILE replays it), blkparse, btt and fio. What the kernel lost because a buffer was full is in the
trace and on the screen. Needs root and tracefs.

Exit: 0 recorded, 1 not or not to the end; with COMMAND, the command's own status.
",
    run,
};

/// What the command line asks for.
struct Order {
    targets: Vec<PathBuf>,
    command: Vec<OsString>,
    output: Option<PathBuf>,
    time: Option<Duration>,
    split: Option<Duration>,
    names: bool,
    buffer_kib: u64,
    force: bool,
}

fn order(words: &[OsString]) -> Result<Order, Failure> {
    let end = words.iter().position(|word| word == "--");
    let (own, command) = words.split_at(end.unwrap_or(words.len()));
    let mut order = Order {
        targets: Vec::new(),
        command: command.iter().skip(1).cloned().collect(),
        output: None,
        time: None,
        split: None,
        names: false,
        buffer_kib: BUFFER_KIB,
        force: false,
    };
    if end.is_some() && order.command.is_empty() {
        return Err(Failure::new("there is no command after --"));
    }
    let mut parser = lexopt::Parser::from_args(own);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('o') | Long("output") => order.output = Some(parser.value()?.into()),
            Long("time") => order.time = Some(time(&mut parser, "--time")?),
            Long("split") => order.split = Some(time(&mut parser, "--split")?),
            Long("names") => order.names = true,
            Long("buffer") => order.buffer_kib = arguments::size(&mut parser, "--buffer")?.div_ceil(1024),
            Long("force") => order.force = true,
            Long(option @ ("files" | "pid" | "cgroup")) => {
                return Err(Failure::new(format!(
                    "--{option}: recording what programs ask of their files is not built yet; name a device, or a file or directory on it"
                )));
            }
            Value(target) => order.targets.push(target.into()),
            other => return Err(other.unexpected().into()),
        }
    }
    if order.targets.is_empty() {
        return Err(Failure::new("name a device, or a file or directory on it, such as /dev/nvme0n1"));
    }
    if !(64..=4 << 20).contains(&order.buffer_kib) {
        return Err(Failure::new("--buffer: expected a size from 64k to 4g"));
    }
    if order.split.is_some() && order.output.as_deref() == Some(Path::new("-")) {
        return Err(Failure::new("--split needs files; name one with -o instead of -"));
    }
    Ok(order)
}

fn time(parser: &mut lexopt::Parser, option: &str) -> Result<Duration, Failure> {
    let milliseconds = arguments::milliseconds(parser, option)?;
    Duration::try_from_secs_f64(milliseconds / 1e3)
        .map_err(|_| Failure::new(format!("{option}: this time is too long")))
}

fn run(words: &[OsString], streams: &mut Streams<'_>, runner: &mut dyn Runner) -> Result<u8, Failure> {
    let order = order(words)?;
    if runner.runs_elsewhere() {
        return Err(Failure::new("--hosts is not supported; run it on each host"));
    }
    let devices = devices::below(&order.targets).map_err(Failure::because)?;
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
    let mut files = Files::new(&path, order.force, order.split.is_some())?;
    if let Some(file) = files.file(1).filter(|file| devices::holds(&devices, file.path())) {
        writeln!(
            streams.err,
            "fathom record: {} is on a recorded device, so writing the trace is recorded, too; -o elsewhere avoids that",
            file.path().display()
        )?;
    }
    let wishes = Wishes { devices, buffer_kib: order.buffer_kib, names: order.names };
    let recorder = Recorder::start(&wishes).map_err(Failure::because)?;
    Session::new(recorder, &wishes, &mut files, streams)?.run(&order)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_refused_before_anything_is_recorded() {
        let read = |words: &[&str]| order(&words.iter().map(OsString::from).collect::<Vec<_>>());
        let good = read(&["/dev/vda", "--time=5m", "-o", "x", "--", "dd", "--time=1"]).expect("reads");
        assert_eq!((good.time, good.command.len()), (Some(Duration::from_secs(300)), 2));
        for wrong in [
            &[][..],
            &["--names"],
            &["/dev/vda", "--"],
            &["/dev/vda", "--time=0"],
            &["/dev/vda", "--buffer=1k"],
            &["/dev/vda", "--split=1s", "-o", "-"],
            &["/dev/vda", "--files"],
        ] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
