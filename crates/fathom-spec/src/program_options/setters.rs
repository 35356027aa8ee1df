//! The effects of the program's options. The declaration of each option names the function that applies it.

use std::path::PathBuf;
use std::time::Duration;

use super::{Given, ProgramOptions};
use crate::debug::DebugOptions;
use crate::diagnostic::{Diagnostic, Origin};
use crate::formats;
use crate::help;
use crate::hosts::OnHostLoss;
use crate::message::{Message, Reply};
use crate::outcome::Outcome;
use crate::profiles;
use crate::spec::{Eta, IdleProfile, Requirement, Trigger};
use crate::value::{TimeUnit, parse_time};
use fathom_verify::method::Method;

/// Whether to continue with the next option. An outcome is the only result of the program.
type Effect = Result<(), Outcome>;

impl<'a> Given<'a> {
    fn text(&self) -> &'a str {
        self.value.unwrap_or("")
    }

    /// Refuses a wrong value: prints fio's lines, then fathom's.
    fn refused(&self, lines: &[String], expected: &str) -> Effect {
        let mut messages: Vec<Message> = lines.iter().map(Message::stderr).collect();
        let name = format!("--{}", self.option.name);
        messages.push(Diagnostic::option(&Origin::CommandLine, &name, self.value, expected).message());
        Err(Outcome::Exit(Reply { messages, exit: 1 }))
    }
}

fn answer(text: String) -> Effect {
    Err(Outcome::Exit(Reply { messages: vec![Message::stdout(text)], exit: 0 }))
}

/// Accepts an option without effect: fathom has no memory pool, and its limit on clones is fixed.
pub(super) fn nothing(_: &mut ProgramOptions, _: &mut Given<'_>) -> Effect {
    Ok(())
}

/// Refuses an option that is known but not built yet.
pub(super) fn refuse(_: &mut ProgramOptions, given: &mut Given<'_>) -> Effect {
    let text = given.value.map_or(String::new(), |value| format!("={value}"));
    let line = Diagnostic::general(
        &Origin::CommandLine,
        format!("option --{}{text} is known but not built yet; see docs/compatibility.md", given.option.name),
    );
    Err(Outcome::Exit(Reply { messages: vec![line.message()], exit: 1 }))
}

pub(super) fn flag(flag: &mut bool, _: &mut Given<'_>) -> Effect {
    *flag = true;
    Ok(())
}

pub(super) fn path(path: &mut Option<PathBuf>, given: &mut Given<'_>) -> Effect {
    *path = Some(PathBuf::from(given.text()));
    Ok(())
}

pub(super) fn debug(debug: &mut DebugOptions, given: &mut Given<'_>) -> Effect {
    if matches!(given.text(), "help" | "?") {
        return answer(format!("fio: dumping debug options:{}", DebugOptions::names()));
    }
    given.messages.extend(debug.add(given.text()));
    Ok(())
}

pub(super) fn bandwidth_log(prefix: &mut Option<String>, given: &mut Given<'_>) -> Effect {
    *prefix = Some(given.value.unwrap_or("agg").to_owned());
    Ok(())
}

pub(super) fn latency_log(_: &mut ProgramOptions, given: &mut Given<'_>) -> Effect {
    let line = "fio: --latency-log is deprecated. Use per-job latency log options.".to_owned();
    given.refused(&[line], "this option no longer exists")
}

pub(super) fn formats(names: &mut Vec<String>, given: &mut Given<'_>) -> Effect {
    choose_formats(names, given.text(), given)
}

pub(super) fn minimal(program: &mut ProgramOptions, given: &mut Given<'_>) -> Effect {
    choose_formats(&mut program.formats, "terse", given)
}

fn choose_formats(names: &mut Vec<String>, words: &str, given: &Given<'_>) -> Effect {
    let mut chosen: Vec<String> = Vec::new();
    let find = if help::is_called_fio(given.program_name) { formats::find_as_fio } else { formats::find };
    for word in words.split(',').map(str::trim) {
        let Some(format) = find(given.formats, word) else {
            let lines = [
                format!("fio: invalid output format {word}"),
                "fio: failed parsing output-format".to_owned(),
            ];
            return given.refused(&lines, &format!("expected {}", formats::expected(given.formats)));
        };
        if !chosen.iter().any(|name| name == format.name) {
            chosen.push(format.name.to_owned());
        }
    }
    refuse_company(&chosen, given)?;
    *names = chosen;
    Ok(())
}

pub(super) fn append_terse(program: &mut ProgramOptions, given: &mut Given<'_>) -> Effect {
    let mut names = program.formats.clone();
    if names.is_empty() {
        let usual = given.formats.iter().filter(|format| format.for_people);
        names.extend(usual.map(|format| format.name.to_owned()));
    }
    names.push("terse".to_owned());
    refuse_company(&names, given)?;
    program.formats = names;
    Ok(())
}

/// Refuses an exclusive format together with another one.
fn refuse_company(names: &[String], given: &Given<'_>) -> Effect {
    let mut formats = names.iter().filter_map(|name| formats::find(given.formats, name));
    let loner = formats.find_map(|format| Some((format.name, format.stands_alone?)));
    match loner.filter(|_| names.len() > 1) {
        Some((name, reason)) => given.refused(
            &["fio: failed parsing output-format".to_owned()],
            &format!("{name} cannot be combined: {reason}"),
        ),
        None => Ok(()),
    }
}

pub(super) fn terse_version(version: &mut u32, given: &mut Given<'_>) -> Effect {
    match given.text().parse() {
        Ok(number @ 2..=5) => *version = number,
        _ => {
            let line = "fio: bad terse version format".to_owned();
            return given.refused(&[line], "expected a version from 2 to 5");
        }
    }
    Ok(())
}

pub(super) fn profile(profile: &mut Option<String>, given: &mut Given<'_>) -> Effect {
    let name = given.text();
    if profiles::find(name).is_none() {
        let line = format!("fio: profile '{name}' not found");
        return given.refused(&[line], "expected tiobench or act");
    }
    *profile = Some(name.to_owned());
    Ok(())
}

pub(super) fn version(_: &mut ProgramOptions, given: &mut Given<'_>) -> Effect {
    answer(help::version_line(given.program_name))
}

pub(super) fn help(_: &mut ProgramOptions, given: &mut Given<'_>) -> Effect {
    answer(help::usage(given.program_name, given.formats))
}

pub(super) fn command_help(_: &mut ProgramOptions, given: &mut Given<'_>) -> Effect {
    Err(Outcome::Exit(help::command_help(given.value)))
}

pub(super) fn engine_help(_: &mut ProgramOptions, given: &mut Given<'_>) -> Effect {
    Err(Outcome::Exit(help::engine_help(given.value, given.source)))
}

pub(super) fn test_clock(_: &mut ProgramOptions, _: &mut Given<'_>) -> Effect {
    Err(Outcome::TestClock)
}

pub(super) fn inflate_log(_: &mut ProgramOptions, given: &mut Given<'_>) -> Effect {
    Err(Outcome::InflateLog(PathBuf::from(given.text())))
}

/// Functions that `--crctest` measures in addition to the checksums of `verify`.
const OTHER_HASHES: [&str; 3] = ["murmur3", "jhash", "fnv"];

/// The functions that `--crctest` can measure, in fio's order, in which SHA-3 comes last.
fn checksum_functions() -> Vec<&'static str> {
    let checksums =
        Method::ALL.iter().filter(|method| method.function().is_some()).map(|method| method.word());
    let (sha3, older): (Vec<_>, Vec<_>) = checksums.partition(|word| word.starts_with("sha3-"));
    [older, OTHER_HASHES.to_vec(), sha3].concat()
}

pub(super) fn time_checksums(_: &mut ProgramOptions, given: &mut Given<'_>) -> Effect {
    let functions = checksum_functions();
    let wanted: Vec<&str> = given.value.map_or_else(|| functions.clone(), |list| list.split(',').collect());
    let Some(unknown) = wanted.iter().find(|name| !functions.contains(name)) else {
        return Err(Outcome::TimeChecksums(wanted.into_iter().map(str::to_owned).collect()));
    };
    let mut messages = vec![Message::stderr(format!("fio: unknown hash `{unknown}`. Available:"))];
    messages.extend(functions.into_iter().map(Message::stdout));
    Err(Outcome::Exit(Reply { messages, exit: 1 }))
}

pub(super) fn idle_profile(profile: &mut Option<IdleProfile>, given: &mut Given<'_>) -> Effect {
    *profile = Some(match given.text() {
        "system" => IdleProfile::System,
        "percpu" => IdleProfile::PerCpu,
        "calibrate" => return Err(Outcome::CalibrateIdleness),
        text => {
            let line = format!("fio: incorrect idle-prof option: {text}");
            return given.refused(&[line], "expected system, percpu or calibrate");
        }
    });
    Ok(())
}

pub(super) fn section(sections: &mut Vec<String>, given: &mut Given<'_>) -> Effect {
    if given.text() == "global" {
        let line = "fio: can't use global as only section".to_owned();
        return given.refused(&[line], "name a section that holds a job");
    }
    sections.push(given.text().to_owned());
    Ok(())
}

pub(super) fn trigger_file(trigger: &mut Trigger, given: &mut Given<'_>) -> Effect {
    path(&mut trigger.file, given)
}

pub(super) fn trigger_timeout(program: &mut ProgramOptions, given: &mut Given<'_>) -> Effect {
    let Some(time) = parse_time(given.text(), TimeUnit::Seconds) else {
        let line = format!("fio: failed parsing time {}", given.text());
        return given.refused(&[line], "expected a time such as 30s or 10m");
    };
    program.trigger.timeout = Some(time).filter(|time| !time.is_zero());
    Ok(())
}

pub(super) fn trigger_command(program: &mut ProgramOptions, given: &mut Given<'_>) -> Effect {
    program.trigger.command = Some(given.text().to_owned());
    Ok(())
}

pub(super) fn status_interval(interval: &mut Option<Duration>, given: &mut Given<'_>) -> Effect {
    let shortest = Duration::from_millis(1);
    let line = match parse_time(given.text(), TimeUnit::Seconds) {
        Some(time) if time >= shortest => {
            *interval = Some(time);
            return Ok(());
        }
        Some(_) => "fio: status interval too small".to_owned(),
        None => format!("fio: failed parsing time {}", given.text()),
    };
    given.refused(&[line], "expected a time of at least 1 ms, such as 500ms or 10s")
}

pub(super) fn require(require: &mut Option<Requirement>, given: &mut Given<'_>) -> Effect {
    *require = Some(match given.text() {
        "sound" => Requirement::Sound,
        "no-doubts" => Requirement::NoDoubts,
        _ => return given.refused(&[], "expected sound or no-doubts"),
    });
    Ok(())
}

pub(super) fn some_time(wanted: &mut Option<Duration>, given: &mut Given<'_>) -> Effect {
    match parse_time(given.text(), TimeUnit::Seconds).filter(|time| !time.is_zero()) {
        Some(time) => *wanted = Some(time),
        None => return given.refused(&[], "expected a time such as 500ms, 30s or 10m"),
    }
    Ok(())
}

pub(super) fn metrics(places: &mut Vec<String>, given: &mut Given<'_>) -> Effect {
    places.push(given.text().to_owned());
    Ok(())
}

pub(super) fn metrics_linger(linger: &mut Duration, given: &mut Given<'_>) -> Effect {
    match parse_time(given.text(), TimeUnit::Seconds) {
        Some(time) => *linger = time,
        None => return given.refused(&[], "expected a time such as 30s"),
    }
    Ok(())
}

pub(super) fn text(text: &mut Option<String>, given: &mut Given<'_>) -> Effect {
    *text = Some(given.text().to_owned());
    Ok(())
}

pub(super) fn hosts(hosts: &mut Vec<String>, given: &mut Given<'_>) -> Effect {
    hosts.push(given.text().to_owned());
    Ok(())
}

pub(super) fn server(server: &mut Option<String>, given: &mut Given<'_>) -> Effect {
    *server = Some(given.text().to_owned());
    Ok(())
}

pub(super) fn client(clients: &mut Vec<String>, given: &mut Given<'_>) -> Effect {
    clients.push(given.text().to_owned());
    Ok(())
}

pub(super) fn number_of_hosts(number: &mut u32, given: &mut Given<'_>) -> Effect {
    match given.text().parse() {
        Ok(hosts) if hosts > 0 => *number = hosts,
        _ => return given.refused(&[], "expected a number of hosts, such as 8"),
    }
    Ok(())
}

pub(super) fn on_host_loss(on_host_loss: &mut OnHostLoss, given: &mut Given<'_>) -> Effect {
    *on_host_loss = match given.text() {
        "continue" => OnHostLoss::Continue,
        "stop" => OnHostLoss::Stop,
        _ => return given.refused(&[], "expected continue or stop"),
    };
    Ok(())
}

pub(super) fn host_timeout(timeout: &mut Option<Duration>, given: &mut Given<'_>) -> Effect {
    match parse_time(given.text(), TimeUnit::Seconds).filter(|time| *time >= Duration::from_secs(1)) {
        Some(time) => *timeout = Some(time),
        None => return given.refused(&[], "expected a time of at least 1 s, such as 30s or 10m"),
    }
    Ok(())
}

pub(super) fn eta(eta: &mut Eta, given: &mut Given<'_>) -> Effect {
    *eta = match given.text() {
        "always" => Eta::Always,
        "never" => Eta::Never,
        _ => Eta::Auto,
    };
    Ok(())
}

pub(super) fn eta_newline(every: &mut Option<Duration>, given: &mut Given<'_>) -> Effect {
    match parse_time(given.text(), TimeUnit::Seconds).filter(|time| !time.is_zero()) {
        Some(time) => *every = Some(time),
        None => {
            let line = "fio: eta new line time too short".to_owned();
            return given.refused(&[line], "expected a time such as 1s");
        }
    }
    Ok(())
}

pub(super) fn eta_interval(interval: &mut Duration, given: &mut Given<'_>) -> Effect {
    let shortest = Duration::from_millis(250);
    match parse_time(given.text(), TimeUnit::Milliseconds).filter(|time| *time >= shortest) {
        Some(time) => *interval = time,
        None => {
            let line = "fio: eta interval time too short (250msec min)".to_owned();
            return given.refused(&[line], "expected a time such as 500ms");
        }
    }
    Ok(())
}
