//! `--client`: runs jobs on servers (`--server`) and prints their results like fio. Internally it is a
//! multi-host run: the servers start together, and a lost one is reported.

use super::{Hosts, View, server, ways};
use crate::exit;
use crate::metrics;
use crate::output::Output;
use crate::refusal::Refusal;
use fathom_errors::plain;
use fathom_hosts::controller::{self, Audience};
use fathom_hosts::links::tcp::Address;
use fathom_hosts::protocol::Hello;
use fathom_local::here::COMPATIBLE_VERSION;
use fathom_report::clients::{self, Client};
use fathom_report::header::layout_line;
use fathom_run::message::Message;
use fathom_run::supervisor::{Observer, Outcome};
use fathom_spec::hosts::{FileOwner, HostEntry, HostList, HostPlace, Invocation, Recording};
use fathom_spec::{Eta, ProgramOptions, Reply, Source};
use fathom_stats::hosts::{HostEnd, HostRunReport};
use fathom_stats::live::{LiveDetails, LiveTick};
use fathom_stats::report::RunReport;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A server on the command line.
#[derive(Clone, Debug, PartialEq)]
struct AskedServer {
    /// As the user wrote it, without its port.
    host_name: String,
    address: Address,
    /// Its job files.
    files: Vec<String>,
    /// Paths of job files that are on the server.
    remote: Vec<PathBuf>,
}

impl AskedServer {
    fn port(&self) -> u16 {
        match self.address {
            Address::Network { port, .. } => port,
            Address::Unix(_) => server::PORT,
        }
    }
}

/// A command line with `--client`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct AskedClients {
    /// Arguments for all servers.
    words: Vec<String>,
    targets: Vec<AskedServer>,
}

/// Runs the jobs of a command line on servers. `None` if it names none.
pub(crate) fn start(program_name: &str, words: &[String], source: &dyn Source) -> Option<ExitCode> {
    let asked = match read(words) {
        Ok(None) => return None,
        Ok(Some(asked)) => asked,
        Err(refusal) => return Some(refusal.tell(&mut Output::terminal())),
    };
    let refuse = |line: String| Some(Refusal::new(line).tell(&mut Output::terminal()));
    let program = match fathom_spec::program_options(program_name, &asked.words, source) {
        Ok(program) if program.server.is_some() => {
            return Some(both().tell(&mut Output::terminal()));
        }
        Ok(program) if program.verdict || program.require.is_some() => {
            let name = if program.verdict { "verdict" } else { "require" };
            return refuse(format!(
                "fathom: --{name} is not built for --client; use --hosts, or let fathom explain judge the JSON"
            ));
        }
        Ok(program) if program.history.is_some() => {
            return refuse(
                "fathom: --history is not built for --client; use --hosts, or fathom history add with the JSON"
                    .to_owned(),
            );
        }
        Ok(program) if program.every.is_some() => {
            return refuse(
                "fathom: --every is not built for --client; run it on the machine that has the storage"
                    .to_owned(),
            );
        }
        Ok(program) if metrics::is_asked(&program) => {
            return refuse(
                "fathom: --metrics, --otlp and --influx are not built for --client; use --hosts".to_owned(),
            );
        }
        Ok(program) => program,
        Err(reply) => return Some(reply_with(&reply)),
    };
    Some(match Servers::new(program_name, asked, source) {
        Ok(servers) if program.parse_only => {
            drop(servers);
            ExitCode::SUCCESS
        }
        Ok(servers) => servers.run(&program, source),
        Err(reply) => reply_with(&reply),
    })
}

/// Error for a command line with `--client` and `--server`.
pub(crate) fn both() -> Refusal {
    Refusal::new("fio: can't be both client and server")
}

fn reply_with(reply: &Reply) -> ExitCode {
    let mut output = Output::terminal();
    reply.messages.iter().for_each(|message| output.say(message));
    ExitCode::from(reply.exit)
}

/// The servers of a command line. Job files belong to the servers named immediately before them.
fn read(words: &[String]) -> Result<Option<AskedClients>, Refusal> {
    let mut asked = AskedClients::default();
    // Index of the first server of the next job file.
    let (mut first, mut has_files) = (0, false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-')).unwrap_or("");
        let (name, value) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
        let mut value = || match value {
            Some(value) => Ok(value.to_owned()),
            None => words
                .next()
                .cloned()
                .ok_or_else(|| Refusal::new(format!("fathom: option --{name} needs a value"))),
        };
        match name {
            "client" => {
                let value = value()?;
                if std::mem::take(&mut has_files) {
                    first = asked.targets.len();
                }
                asked.targets.extend(targets(&value)?);
            }
            "remote-config" => {
                let path = PathBuf::from(value()?);
                let last = asked.targets.len();
                // A host list counts as several.
                if first == last {
                    return Err(Refusal::new(
                        "fathom: option --remote-config belongs after the --client that it is for",
                    ));
                }
                asked.targets[first..].iter_mut().for_each(|target| target.remote.push(path.clone()));
                has_files = true;
            }
            _ if word.starts_with('-') && word != "-" => asked.words.push(word.clone()),
            _ if asked.targets.is_empty() => asked.words.push(word.clone()),
            _ => {
                asked.targets[first..].iter_mut().for_each(|target| target.files.push(word.clone()));
                has_files = true;
            }
        }
    }
    Ok((!asked.targets.is_empty()).then_some(asked))
}

/// The servers of one `--client`: one, or those in a file, one per line.
fn targets(text: &str) -> Result<Vec<AskedServer>, Refusal> {
    let refused = |why: &dyn Display| Refusal::because(format_args!("option --client={text}"), why);
    let target = |text: &str| {
        let address = server::address(text)
            .map_err(|error| Refusal::new(format!("fio: failed adding client {text}\nfathom: {error}")))?;
        let address = match address {
            Address::Network { host, port } if host.is_empty() => {
                Address::Network { host: "127.0.0.1".to_owned(), port }
            }
            other => other,
        };
        let host_name = match &address {
            Address::Network { host, .. } => host.clone(),
            Address::Unix(path) => path.display().to_string(),
        };
        Ok(AskedServer { host_name, address, files: Vec::new(), remote: Vec::new() })
    };
    if !Path::new(text).is_file() {
        return Ok(vec![target(text)?]);
    }
    let list = std::fs::read_to_string(text).map_err(|error| refused(&error))?;
    let lines = list.lines().map(str::trim).filter(|line| !line.is_empty());
    let targets: Vec<AskedServer> = lines.map(target).collect::<Result<_, Refusal>>()?;
    match targets.is_empty() {
        true => Err(refused(&"there is no host in this file")),
        false => Ok(targets),
    }
}

/// Servers and their inputs.
struct Servers {
    targets: Vec<AskedServer>,
    list: HostList,
    invocations: Vec<Invocation>,
}

impl Servers {
    /// Parses the jobs of all servers. Errors are reported before any job runs.
    fn new(program_name: &str, asked: AskedClients, source: &dyn Source) -> Result<Servers, Reply> {
        let AskedClients { words, targets } = asked;
        let list = HostList(names(&targets).map(|name| HostEntry { name, groups: Vec::new() }).collect());
        let mut invocations = Vec::new();
        for (index, target) in targets.iter().enumerate() {
            let mut own = words.clone();
            own.extend(target.files.iter().cloned());
            let owner = FileOwner::Client(None);
            let place = HostPlace { index: index as u32, hosts: list.names(), owner, ..HostPlace::default() };
            let recording = Recording::new(source, place, program_name, &own);
            if target.remote.is_empty() || !target.files.is_empty() {
                match fathom_spec::parse(program_name, &own, &recording) {
                    fathom_spec::Outcome::Run(_) => {}
                    fathom_spec::Outcome::Exit(reply) => return Err(reply),
                    _ => {
                        let line = "fathom: this command line runs no jobs";
                        let messages = vec![fathom_spec::Message::stderr(line)];
                        return Err(Reply { messages, exit: exit::SETUP_FAILED });
                    }
                }
            }
            let mut invocation = recording.finish();
            let remote = target.remote.iter().map(|path| path.to_string_lossy().into_owned());
            invocation.words.extend(remote);
            invocation.remote_files.clone_from(&target.remote);
            invocations.push(invocation);
        }
        Ok(Servers { targets, list, invocations })
    }

    fn run(self, program: &ProgramOptions, source: &dyn Source) -> ExitCode {
        if let Some(format) = program.formats.iter().find(|format| !FORMS.contains(&format.as_str())) {
            let line = format!(
                "fathom: --output-format={format} is not built for --client, which has {}; --hosts has more",
                FORMS.join(", ")
            );
            return Refusal::new(line).tell(&mut Output::terminal());
        }
        let output = match &program.output {
            None => Ok(Output::terminal()),
            Some(path) => Output::file(path),
        };
        let mut output = match output {
            Ok(output) => output,
            Err(error) => {
                let place = program.output.as_deref().unwrap_or(Path::new(""));
                let what = format!("cannot write to --output={}", place.display());
                return Refusal::because(what, error).tell(&mut Output::terminal());
            }
        };
        output.keep_status_lines(program.eta_newline);
        let forms = Forms::of(program);
        output.only_report(!forms.normal);
        let view = View {
            tick: forms.shows_status(program).then_some(program.eta_interval),
            details: false,
            opening: forms.normal,
            status_interval: program.status_interval,
            snapshot: None,
            report_alone: !forms.normal,
        };
        let seats = ways::to_servers(&self.list, &self.addresses(), &self.invocations, program);
        let seats = match seats {
            Ok(seats) => seats,
            Err(refusal) => return refusal.tell(&mut Output::terminal()),
        };
        let mut console =
            ClientConsole { output, forms, targets: self.targets, list: self.list.clone(), over: Vec::new() };
        let hosts = Hosts { list: self.list, invocation: Invocation::default() };
        let outcome = hosts.control(seats, program, source, view, true, &mut console);
        match outcome {
            Ok(outcome) => console.finish(&outcome),
            Err(refusal) => refusal.tell(&mut console.output),
        }
    }

    fn addresses(&self) -> Vec<Address> {
        self.targets.iter().map(|target| target.address.clone()).collect()
    }
}

/// Names of servers: as the user wrote them, with their ports if otherwise ambiguous.
fn names(targets: &[AskedServer]) -> impl Iterator<Item = String> + '_ {
    targets.iter().map(|target| {
        let is_alone = targets.iter().filter(|other| other.host_name == target.host_name).count() == 1;
        let name = target.host_name.trim_start_matches('/').replace('/', "_");
        match is_alone {
            true => name,
            false => format!("{name},{}", target.port()),
        }
    })
}

/// Output formats of a client.
const FORMS: [&str; 4] = ["normal", "terse", "json", "json+"];

/// The requested formats.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Forms {
    normal: bool,
    terse: bool,
    json: bool,
    with_bins: bool,
    terse_version: u32,
}

impl Forms {
    fn of(program: &ProgramOptions) -> Forms {
        let has = |name: &str| program.formats.iter().any(|format| format == name);
        Forms {
            normal: program.formats.is_empty() || has("normal"),
            terse: has("terse"),
            json: has("json") || has("json+"),
            with_bins: has("json+"),
            terse_version: program.terse_version,
        }
    }

    /// The status line is shown unless it would become part of a document.
    fn shows_status(self, program: &ProgramOptions) -> bool {
        program.eta != Eta::Never && !self.json
    }
}

/// Displays a run on servers.
struct ClientConsole {
    output: Output,
    forms: Forms,
    targets: Vec<AskedServer>,
    list: HostList,
    /// Servers in the order in which they ended, with their results.
    over: Vec<(usize, Box<RunReport>)>,
}

impl ClientConsole {
    fn index_of(&self, name: &str) -> Option<usize> {
        self.list.0.iter().position(|entry| entry.name == name)
    }

    /// Prints one server's results: interim reports, and the final one when its run ends.
    fn show(&mut self, own_name: &str, host_name: &str, report: &RunReport) {
        let code = report.jobs.iter().find_map(|job| job.error.as_ref()).map(|error| error.code);
        if code.is_some() {
            self.output.line(&format!("client <{host_name}>: exited with error 1"));
        }
        if self.forms.terse {
            self.output.bytes(clients::terse_piece(report, self.forms.terse_version).as_bytes());
        }
        if self.forms.normal {
            let name = (!self.forms.terse).then_some(own_name);
            self.output.bytes(clients::normal_piece(name, report).as_bytes());
        }
    }

    /// Prints the final part; returns the exit code.
    fn finish(mut self, outcome: &Outcome) -> ExitCode {
        let clients: Vec<Client<'_>> = self
            .over
            .iter()
            .map(|(index, report)| Client {
                host_name: &self.targets[*index].host_name,
                port: u32::from(self.targets[*index].port()),
                report,
            })
            .collect();
        let mut last: Vec<String> = Vec::new();
        if self.forms.terse {
            last.extend(clients::terse_total(&clients, self.forms.terse_version));
        }
        if self.forms.normal {
            last.extend(clients::normal_total(&clients));
        }
        let mut is_unwritten = false;
        if self.forms.json {
            match clients::json(&clients, outcome.report.timestamp_ms, self.forms.with_bins) {
                Ok(text) => last.push(text),
                Err(error) => {
                    self.output.error_line(&format!(
                        "fathom: the JSON of the servers cannot be written: {error}",
                        error = plain(&error)
                    ));
                    is_unwritten = true;
                }
            }
        }
        last.iter().for_each(|text| self.output.bytes(text.as_bytes()));
        let is_incomplete = self.output.report_lost() || outcome.lost_logs || is_unwritten;
        match outcome.failed_jobs > 0 || is_incomplete {
            true => ExitCode::from(exit::SETUP_FAILED),
            // Also after a signal: stopping servers this way is intended.
            false => ExitCode::SUCCESS,
        }
    }
}

impl Audience for ClientConsole {
    fn answered(&mut self, _: &HostEntry, hello: &Hello) {
        if self.forms.normal {
            let arch = std::env::consts::ARCH.replace('_', "-");
            self.output.line(&format!(
                "hostname={}, be=0, 64-bit, os=Linux, arch={arch}, fio={COMPATIBLE_VERSION}, flags=1",
                hello.host_name
            ));
        }
    }

    fn opening(&mut self, _: &HostEntry, hello: &Hello, lines: &[fathom_spec::Message]) {
        // As in fio, a terse line among them omits the names.
        let before = if self.forms.normal && self.forms.terse {
            String::new()
        } else {
            format!("<{}> ", hello.host_name)
        };
        for line in
            lines.iter().flat_map(|message| message.text.lines()).filter(|line| *line != COMPATIBLE_VERSION)
        {
            self.output.line(&format!("{before}{line}"));
        }
    }

    fn host_message(&mut self, _: &HostEntry, hello: &Hello, message: Message) -> Option<Message> {
        let named = |text: &str| controller::named(&hello.host_name, text);
        match message {
            Message::Output(text) => Some(Message::Output(named(&text))),
            Message::Error(text) => Some(Message::Error(named(&text))),
            Message::Failure(text) => Some(Message::Failure(named(&text))),
            Message::LayingOut { job, files, bytes } => {
                Some(Message::Output(named(&layout_line(&job, files, bytes))))
            }
            Message::Figures(_) | Message::StageChanged => None,
        }
    }

    fn over(&mut self, host: &HostRunReport) {
        let Some(index) = self.index_of(&host.name) else { return };
        if !matches!(host.end, HostEnd::Whole) {
            self.output.line(&format!("client: host={} disconnected", self.targets[index].host_name));
        }
        let Some(report) = &host.report else { return };
        let host_name = self.targets[index].host_name.clone();
        self.show(&host.host_name, &host_name, report);
        self.over.push((index, report.clone()));
    }
}

impl Observer for ClientConsole {
    fn message(&mut self, message: &Message) {
        self.output.tell(message);
    }

    fn tick(&mut self, tick: &LiveTick, _: Option<&LiveDetails>) {
        self.output.status_line(tick);
    }

    fn advance(&mut self) {
        self.output.advance(std::time::Duration::ZERO);
    }

    /// A document is printed once at the end; line-based output gets each server's share.
    fn interim_report(&mut self, report: &RunReport) {
        for host in report.hosts.iter().flat_map(|hosts| &hosts.hosts) {
            if let (Some(report), Some(index)) = (&host.report, self.index_of(&host.name)) {
                let host_name = self.targets[index].host_name.clone();
                self.show(&host.host_name, &host_name, report);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> AskedClients {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        read(&words).expect("a command line").expect("servers")
    }

    #[test]
    fn job_files_belong_to_the_servers_before_them() {
        let read = asked("--output=o --client=a x.fio y.fio --client b --client=c,9000 z.fio");
        let targets: Vec<(&str, u16, String)> = read
            .targets
            .iter()
            .map(|target| (target.host_name.as_str(), target.port(), target.files.join("+")))
            .collect();
        assert_eq!(
            targets,
            [
                ("a", 8765, "x.fio+y.fio".to_owned()),
                ("b", 8765, "z.fio".to_owned()),
                ("c", 9000, "z.fio".to_owned()),
            ]
        );
        assert_eq!(read.words, ["--output=o"]);
        let read = asked("--client=a,1 --remote-config=/etc/x.fio --client=a,2 z.fio");
        assert_eq!(read.targets[0].remote, [PathBuf::from("/etc/x.fio")]);
        assert!(read.targets[0].files.is_empty() && read.targets[1].remote.is_empty());
        assert_eq!(names(&read.targets).collect::<Vec<String>>(), ["a,1", "a,2"]);
        let words = ["--remote-config=x".to_owned(), "--client=a".to_owned()];
        assert!(super::read(&words).is_err());
        assert_eq!(super::read(&["a.fio".to_owned()]), Ok(None));
    }
}
