//! What the command line asks for.

use super::session::Limits;
use fathom_command::{Failure, arguments};
use lexopt::Arg::{Long, Short, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// The devices that these paths stand for.
    Devices(Vec<PathBuf>),
    /// The files of the command.
    Command,
    /// The files of a process.
    Process(u32),
    /// The files of a control group.
    Group(PathBuf),
}

/// What the command line asks for.
pub(super) struct Order {
    pub(super) subject: Subject,
    pub(super) command: Vec<OsString>,
    pub(super) output: Option<PathBuf>,
    pub(super) limits: Limits,
    pub(super) names: bool,
    pub(super) buffer_kib: Option<u64>,
    pub(super) force: bool,
}

pub(super) fn order(words: &[OsString]) -> Result<Order, Failure> {
    let end = words.iter().position(|word| word == "--");
    let (own, command) = words.split_at(end.unwrap_or(words.len()));
    let mut order = Order {
        subject: Subject::Command,
        command: command.iter().skip(1).cloned().collect(),
        output: None,
        limits: Limits::default(),
        names: false,
        buffer_kib: None,
        force: false,
    };
    if end.is_some() && order.command.is_empty() {
        return Err(Failure::new("there is no command after --"));
    }
    let (mut targets, mut subjects) = (Vec::new(), Vec::new());
    let mut parser = lexopt::Parser::from_args(own);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('o') | Long("output") => order.output = Some(parser.value()?.into()),
            Long("time") => order.limits.time = Some(time(&mut parser, "--time")?),
            Long("split") => order.limits.split = Some(time(&mut parser, "--split")?),
            Long("names") => order.names = true,
            Long("buffer") => {
                order.buffer_kib = Some(arguments::size(&mut parser, "--buffer")?.div_ceil(1024));
            }
            Long("force") => order.force = true,
            Long("files") => subjects.push(Subject::Command),
            Long("pid") => {
                let pid: u64 = arguments::number(&mut parser, "--pid", 1)?;
                let pid = u32::try_from(pid).unwrap_or(u32::MAX);
                subjects.push(Subject::Process(pid));
            }
            Long("cgroup") => subjects.push(Subject::Group(parser.value()?.into())),
            Value(target) => targets.push(target.into()),
            other => return Err(other.unexpected().into()),
        }
    }
    order.subject = subject(subjects, targets, &order.command)?;
    if !order.buffer_kib.is_none_or(|size| (64..=4 << 20).contains(&size)) {
        return Err(Failure::new("--buffer: expected a size from 64k to 4g"));
    }
    if order.limits.split.is_some() && order.output.as_deref() == Some(Path::new("-")) {
        return Err(Failure::new("--split needs files; name one with -o instead of -"));
    }
    Ok(order)
}

/// What is to be recorded; refuses what does not say it.
fn subject(subjects: Vec<Subject>, targets: Vec<PathBuf>, command: &[OsString]) -> Result<Subject, Failure> {
    let mut subjects = subjects.into_iter();
    let (subject, other) = (subjects.next(), subjects.next());
    if other.is_some() {
        return Err(Failure::new("name one of --files, --pid and --cgroup, once"));
    }
    let Some(subject) = subject else {
        let advice = "name a device, or a file or directory on it, such as /dev/nvme0n1; --files -- COMMAND records what a command asks \
                      of its files";
        return if targets.is_empty() { Err(Failure::new(advice)) } else { Ok(Subject::Devices(targets)) };
    };
    if let Some(target) = targets.first() {
        return Err(Failure::new(format!(
            "{}: --files, --pid and --cgroup record all files of their processes; leave the target out, or put -- before a command",
            target.display()
        )));
    }
    match (&subject, command.is_empty()) {
        (Subject::Command, true) => {
            Err(Failure::new("--files needs a command after --; --pid and --cgroup record what runs already"))
        }
        (Subject::Process(_) | Subject::Group(_), false) => Err(Failure::new(
            "--pid and --cgroup record what runs already; --files -- COMMAND records a command",
        )),
        _ => Ok(subject),
    }
}

fn time(parser: &mut lexopt::Parser, option: &str) -> Result<Duration, Failure> {
    let milliseconds = arguments::milliseconds(parser, option)?;
    Duration::try_from_secs_f64(milliseconds / 1e3)
        .map_err(|_| Failure::new(format!("{option}: this time is too long")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_refused_before_anything_is_recorded() {
        let read = |words: &[&str]| order(&words.iter().map(OsString::from).collect::<Vec<_>>());
        let good = read(&["/dev/vda", "--time=5m", "-o", "x", "--", "dd", "--time=1"]).expect("reads");
        assert_eq!((good.limits.time, good.command.len()), (Some(Duration::from_secs(300)), 2));
        let subject = |words: &[&str]| read(words).expect("reads").subject;
        assert_eq!(subject(&["--files", "--", "cp"]), Subject::Command);
        assert_eq!(subject(&["--pid=7"]), Subject::Process(7));
        assert_eq!(subject(&["--cgroup=a/b", "--names"]), Subject::Group("a/b".into()));
        for wrong in [
            &[][..],
            &["--names"],
            &["/dev/vda", "--"],
            &["/dev/vda", "--time=0"],
            &["/dev/vda", "--buffer=1k"],
            &["/dev/vda", "--split=1s", "-o", "-"],
            &["/dev/vda", "--files", "--", "cp"],
            &["--files"],
            &["--pid=0"],
            &["--pid=7", "--", "cp"],
            &["--pid=7", "--cgroup=x"],
        ] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
