//! The options of the program itself.

use std::path::PathBuf;
use std::time::Duration;

use crate::debug::DebugOptions;
use crate::diagnostic::Diagnostic;
use crate::help;
use crate::outcome::{Message, Reply};
use crate::profiles;
use crate::spec::{Eta, IdleProfile, Origin, OutputFormats, ProgramOptions};
use crate::value::{TimeUnit, parse_time};

/// Whether an option of the program takes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// None may follow.
    None,
    /// One has to follow.
    Required,
    /// One may follow, behind `=`.
    Optional,
}

/// One option of the program.
#[derive(Debug, Clone, Copy)]
pub struct ProgramOption {
    /// Name without dashes.
    pub name: &'static str,
    /// Its value.
    pub argument: Argument,
    /// How the usage text names the value.
    pub placeholder: &'static str,
    /// What it does, on one line.
    pub help: &'static str,
    /// Whether it works in this version.
    pub built: bool,
    /// Known but left out of the usage text.
    pub hidden: bool,
}

const fn option(
    name: &'static str,
    argument: Argument,
    placeholder: &'static str,
    help: &'static str,
) -> ProgramOption {
    ProgramOption { name, argument, placeholder, help, built: true, hidden: false }
}

impl ProgramOption {
    const fn later(self) -> Self {
        ProgramOption { built: false, ..self }
    }

    const fn hidden(self) -> Self {
        ProgramOption { hidden: true, ..self }
    }
}

use Argument::{None as NoValue, Optional, Required};

/// Every option of the program, in the order of the usage text.
pub const ALL: &[ProgramOption] = &[
    option("debug", Required, "=classes", "Write a line about each event of these classes; help lists them"),
    option("parse-only", NoValue, "", "Check the jobs and run nothing"),
    option("merge-blktrace-only", NoValue, "", "Merge block traces and run nothing"),
    option("output", Required, "=file", "Write the report and all messages to a file"),
    option("bandwidth-log", Optional, "[=prefix]", "Log the bandwidth of all jobs together"),
    option("minimal", NoValue, "", "Report in the terse form"),
    option("output-format", Required, "=list", "Forms of the report: normal, json, json+, terse; or jsonl"),
    option("terse-version", Required, "=number", "Version of the terse form, 2 to 5"),
    option("version", NoValue, "", "Print the version"),
    option("help", NoValue, "", "Print this text"),
    option("cpuclock-test", NoValue, "", "Check that the clocks of all CPUs agree"),
    option("crctest", Optional, "[=list]", "Time the checksum functions"),
    option("cmdhelp", Optional, "[=option]", "Explain a job option, or list all of them"),
    option("enghelp", Optional, "[=engine[,option]]", "List the engines, or explain the options of one"),
    option("showcmd", NoValue, "", "Print a job file as a command line"),
    option("eta", Required, "=when", "Show the progress line: always, never or auto"),
    option("eta-newline", Required, "=time", "Keep a progress line on the screen every so often"),
    option("live", NoValue, "", "Show the run on the whole terminal while it goes on"),
    option("status-interval", Required, "=time", "Print the whole report every so often"),
    option(
        "patience",
        Required,
        "=time",
        "Give up on I/O that makes no progress for this long (30s; 10s after Ctrl-C)",
    ),
    option("readonly", NoValue, "", "Refuse every job that writes or trims"),
    option("section", Required, "=name", "Run only this section; may be given several times"),
    option("alloc-size", Required, "=kb", "Accepted; there is no memory pool to size"),
    option("warnings-fatal", NoValue, "", "Treat warnings about jobs as errors"),
    option("max-jobs", Required, "=number", "Accepted; the ceiling of 4096 clones is fixed"),
    option("server", Optional, "[=address]", "Wait for jobs from clients").later(),
    option("daemonize", Required, "=file", "Wait for jobs in the background").later(),
    option("client", Required, "=host", "Run the jobs on a server").later(),
    option("remote-config", Required, "=file", "Run a job file that the server has").later(),
    option("idle-prof", Required, "=how", "Report how idle the CPUs were: system, percpu; or calibrate"),
    option("inflate-log", Required, "=file", "Print a compressed log"),
    option("trigger-file", Required, "=file", "End the jobs when this file appears, and run the trigger"),
    option("trigger-timeout", Required, "=time", "End the jobs after this time, and run the trigger"),
    option("trigger", Required, "=command", "What runs when the jobs have ended like this"),
    option("trigger-remote", Required, "=command", "The trigger, on the servers").later(),
    option("aux-path", Required, "=dir", "Directory for state files and logs"),
    option("append-terse", NoValue, "", "Add the terse form to the report").hidden(),
    option("latency-log", Required, "", "Removed; jobs have options for latency logs").hidden(),
    option("memcpytest", Optional, "", "Time memory copies").later().hidden(),
    option("profile", Required, "", "Run a built-in workload").hidden(),
    option("eta-interval", Required, "=time", "Time between two progress lines").hidden(),
];

/// What the usage text shows: an option with its value, and its help.
pub(crate) fn usage_entries() -> impl Iterator<Item = (String, String)> {
    ALL.iter().filter(|option| !option.hidden).map(|option| {
        let note = if option.built { "" } else { " (not built yet)" };
        (format!("--{}{}", option.name, option.placeholder), format!("{}{note}", option.help))
    })
}

/// The option of exactly this name.
pub(crate) fn find(name: &str) -> Option<&'static ProgramOption> {
    ALL.iter().find(|option| option.name == name)
}

/// What an option of the program leads to.
pub(crate) enum Effect {
    /// Go on with the next option.
    Continue,
    /// Say this, and go on.
    Say(Vec<Message>),
    /// Only show job files as command lines.
    ShowCommand,
    /// Print this compressed log as text.
    InflateLog(PathBuf),
    /// Time these checksum functions.
    TimeChecksums(Vec<String>),
    /// Time the work by which idleness is measured.
    CalibrateIdleness,
    /// Hold the processors' clocks against each other.
    TestClock,
    /// End with this reply.
    Exit(Reply),
}

fn fail(lines: &[String], name: &str, value: Option<&str>, expected: &str) -> Effect {
    let mut messages: Vec<Message> = lines.iter().map(Message::stderr).collect();
    messages.push(Diagnostic::option(&Origin::CommandLine, &format!("--{name}"), value, expected).message());
    Effect::Exit(Reply { messages, exit: 1 })
}

fn answer(text: String) -> Effect {
    Effect::Exit(Reply { messages: vec![Message::stdout(text)], exit: 0 })
}

/// Carries out an option of the program.
pub(crate) fn apply(
    option: &ProgramOption,
    value: Option<&str>,
    program_name: &str,
    program: &mut ProgramOptions,
) -> Effect {
    let text = value.unwrap_or("");
    match option.name {
        "debug" if text == "help" || text == "?" => {
            return answer(format!("fio: dumping debug options:{}", DebugOptions::names()));
        }
        "debug" => return Effect::Say(program.debug.add(text)),
        "latency-log" => {
            let line = "fio: --latency-log is deprecated. Use per-job latency log options.".to_owned();
            return fail(&[line], option.name, value, "this option no longer exists");
        }
        "minimal" => return apply_formats("terse", program),
        "append-terse" if program.formats.json_lines => return fail_mixed_lines(option.name, value),
        "append-terse" => program.formats.terse = true,
        "terse-version" => match text.parse() {
            Ok(version @ 2..=5) => program.terse_version = version,
            _ => {
                let line = "fio: bad terse version format".to_owned();
                return fail(&[line], option.name, value, "expected a version from 2 to 5");
            }
        },
        "profile" if profiles::find(text).is_none() => {
            let line = format!("fio: profile '{text}' not found");
            return fail(&[line], option.name, value, "expected tiobench or act");
        }
        "profile" => program.profile = Some(text.to_owned()),
        _ if !option.built => return refuse(option, value),
        "parse-only" => program.parse_only = true,
        "merge-blktrace-only" => program.merge_blktrace_only = true,
        "output" => program.output = Some(PathBuf::from(text)),
        "bandwidth-log" => program.bandwidth_log = Some(value.unwrap_or("agg").to_owned()),
        "trigger-file" => program.trigger.file = Some(PathBuf::from(text)),
        "trigger" => program.trigger.command = Some(text.to_owned()),
        "trigger-timeout" => match parse_time(text, TimeUnit::Seconds) {
            Some(time) => program.trigger.timeout = Some(time).filter(|time| !time.is_zero()),
            None => {
                let line = format!("fio: failed parsing time {text}");
                return fail(&[line], option.name, value, "expected a time such as 30s or 10m");
            }
        },
        "aux-path" => program.aux_path = Some(PathBuf::from(text)),
        "crctest" => return checksums_to_time(value),
        "inflate-log" => return Effect::InflateLog(PathBuf::from(text)),
        "output-format" => return apply_formats(text, program),
        "cpuclock-test" => return Effect::TestClock,
        "version" => return answer(help::version_line(program_name)),
        "help" => return answer(help::usage(program_name)),
        "cmdhelp" => return Effect::Exit(help::command_help(value)),
        "enghelp" => return Effect::Exit(help::engine_help(value)),
        "showcmd" => return Effect::ShowCommand,
        "eta" => {
            program.eta = match text {
                "always" => Eta::Always,
                "never" => Eta::Never,
                _ => Eta::Auto,
            }
        }
        "eta-newline" | "eta-interval" => return apply_eta_time(option.name, text, program),
        "live" => program.live = true,
        "patience" => return apply_patience(text, program),
        "status-interval" => return apply_status_interval(text, program),
        "idle-prof" => return apply_idle_profile(text, program),
        "readonly" => program.readonly = true,
        "warnings-fatal" => program.warnings_fatal = true,
        "section" => {
            if text == "global" {
                let line = "fio: can't use global as only section".to_owned();
                return fail(&[line], option.name, value, "name a section that holds a job");
            }
            program.sections.push(text.to_owned());
        }
        // fathom has no memory pool and a fixed ceiling of clones: accepted, nothing to set.
        _ => {}
    }
    Effect::Continue
}

fn refuse(option: &ProgramOption, value: Option<&str>) -> Effect {
    let text = value.map_or(String::new(), |value| format!("={value}"));
    let line = Diagnostic::general(
        &Origin::CommandLine,
        format!("option --{}{text} is known but not built yet; see docs/compatibility.md", option.name),
    );
    Effect::Exit(Reply { messages: vec![line.message()], exit: 1 })
}

fn apply_formats(text: &str, program: &mut ProgramOptions) -> Effect {
    let mut formats =
        OutputFormats { normal: false, json: false, json_plus: false, json_lines: false, terse: false };
    for name in text.split(',') {
        match name.trim() {
            "normal" => formats.normal = true,
            "json" => formats.json = true,
            "json+" => formats.json_plus = true,
            "jsonl" => formats.json_lines = true,
            "terse" | "minimal" | "csv" => formats.terse = true,
            other => {
                let lines = [
                    format!("fio: invalid output format {other}"),
                    "fio: failed parsing output-format".to_owned(),
                ];
                return fail(
                    &lines,
                    "output-format",
                    Some(text),
                    "expected normal, terse, json, json+ or jsonl",
                );
            }
        }
    }
    if formats.json_lines && (formats.normal || formats.json || formats.json_plus || formats.terse) {
        return fail_mixed_lines("output-format", Some(text));
    }
    program.formats = formats;
    Effect::Continue
}

fn fail_mixed_lines(name: &str, value: Option<&str>) -> Effect {
    let line = "fio: failed parsing output-format".to_owned();
    fail(&[line], name, value, "jsonl stands alone: every line of its output is a JSON document")
}

/// What `--crctest` can time.
const CHECKSUM_FUNCTIONS: [&str; 17] = [
    "md5", "crc64", "crc32", "crc32c", "crc16", "crc7", "sha1", "sha256", "sha512", "xxhash", "murmur3",
    "jhash", "fnv", "sha3-224", "sha3-256", "sha3-384", "sha3-512",
];

fn checksums_to_time(list: Option<&str>) -> Effect {
    let all = || CHECKSUM_FUNCTIONS.map(str::to_owned).to_vec();
    let named = |list: &str| list.split(',').map(str::to_owned).collect();
    let wanted: Vec<String> = list.map_or_else(all, named);
    let Some(unknown) = wanted.iter().find(|name| !CHECKSUM_FUNCTIONS.contains(&name.as_str())) else {
        return Effect::TimeChecksums(wanted);
    };
    let mut messages = vec![Message::stderr(format!("fio: unknown hash `{unknown}`. Available:"))];
    messages.extend(CHECKSUM_FUNCTIONS.map(Message::stdout));
    Effect::Exit(Reply { messages, exit: 1 })
}

fn apply_idle_profile(text: &str, program: &mut ProgramOptions) -> Effect {
    program.idleness = Some(match text {
        "system" => IdleProfile::System,
        "percpu" => IdleProfile::PerCpu,
        "calibrate" => return Effect::CalibrateIdleness,
        _ => {
            let line = format!("fio: incorrect idle-prof option: {text}");
            return fail(&[line], "idle-prof", Some(text), "expected system, percpu or calibrate");
        }
    });
    Effect::Continue
}

fn apply_status_interval(text: &str, program: &mut ProgramOptions) -> Effect {
    let shortest = Duration::from_millis(1);
    let line = match parse_time(text, TimeUnit::Seconds) {
        Some(time) if time >= shortest => {
            program.status_interval = Some(time);
            return Effect::Continue;
        }
        Some(_) => "fio: status interval too small".to_owned(),
        None => format!("fio: failed parsing time {text}"),
    };
    fail(&[line], "status-interval", Some(text), "expected a time of at least 1 ms, such as 500ms or 10s")
}

fn apply_patience(text: &str, program: &mut ProgramOptions) -> Effect {
    match parse_time(text, TimeUnit::Seconds).filter(|time| !time.is_zero()) {
        Some(time) => {
            program.patience = Some(time);
            Effect::Continue
        }
        None => fail(&[], "patience", Some(text), "expected a time such as 500ms, 30s or 10m"),
    }
}

fn apply_eta_time(name: &str, text: &str, program: &mut ProgramOptions) -> Effect {
    if name == "eta-newline" {
        match parse_time(text, TimeUnit::Seconds).filter(|time| !time.is_zero()) {
            Some(time) => program.eta_newline = Some(time),
            None => {
                let line = "fio: eta new line time too short".to_owned();
                return fail(&[line], name, Some(text), "expected a time such as 1s");
            }
        }
        return Effect::Continue;
    }
    let shortest = Duration::from_millis(250);
    match parse_time(text, TimeUnit::Milliseconds).filter(|time| *time >= shortest) {
        Some(time) => program.eta_interval = time,
        None => {
            let line = "fio: eta interval time too short (250msec min)".to_owned();
            return fail(&[line], name, Some(text), "expected a time such as 500ms");
        }
    }
    Effect::Continue
}
