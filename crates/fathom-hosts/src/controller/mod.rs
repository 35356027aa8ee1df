//! The controller: starts all hosts together, monitors them, and adds up their figures. It does no I/O itself,
//! and its only processes on this machine are the shells to its hosts. Regardless of what happens to a host,
//! there is a report, which names the hosts that are missing.

pub mod clocks;
mod live;
mod logs;
mod member;

use crate::links::Connection;
use crate::links::tcp::ConnectError;
use crate::protocol::{Assignment, Hello, ToAgent};
use clocks::there;
use fathom_errors::plain;
use fathom_run::message::Message;
use fathom_run::regularly::Regularly;
use fathom_run::supervisor::{Observer, Outcome, Request, TriggerSignal};
use fathom_spec::Trigger;
use fathom_spec::hosts::{FileOwner, HostEntry, HostList, HostPlace, Invocation, OnHostLoss};
use fathom_stats::hosts::{HostEnd, HostFiles, HostRunReport, HostsReport};
use fathom_stats::report::RunReport;
use fathom_sys::clock::monotonic_ns;
use fathom_sys::forbidden::Refused;
use fathom_sys::signal::SignalQueue;
use fathom_sys::socket::{Awaited, wait_for_any_of_many};
use logs::LogSink;
use member::{Member, Said, Standing};
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::time::Duration;

/// Signals that the controller handles.
const SIGNALS: &[i32] = &[libc::SIGINT, libc::SIGTERM, libc::SIGUSR1];
/// Interval between two snapshots of a host.
const SNAPSHOT_EVERY_NS: u64 = 1_000_000_000;
/// Minimum interval between two snapshots of any hosts, so that many hosts do not saturate the controller's
/// link.
const SNAPSHOT_PER_HOST_NS: u64 = 1_000_000;
/// Warn once a host has been silent this long.
const SILENCE_NS: u64 = 10_000_000_000;
/// A second signal within this time counts as a repetition of the first one.
const SECOND_SIGNAL_NS: u64 = 250_000_000;
/// Maximum time for which hosts may deliver their results after the second signal.
const LAST_PATIENCE_NS: u64 = 3_000_000_000;
/// Time between the start signal and the start, so that every host receives the signal in time; it grows with
/// the number of hosts.
const LEAD_NS: u64 = 150_000_000;
const LEAD_PER_HOST_NS: u64 = 500_000;
/// Poll interval of the trigger.
const TRIGGER_LOOK: Duration = Duration::from_millis(100);
/// Maximum poll interval.
const LONGEST_WAIT: Duration = Duration::from_millis(250);
/// Default of `--host-timeout`.
pub const USUAL_TIMEOUT: Duration = Duration::from_secs(60);

/// A host and the connection to it.
pub struct Seat {
    /// The host.
    pub entry: HostEntry,
    /// The connection, or why there is none.
    pub connection: Result<Connection, ConnectError>,
    /// The host's introduction, if it was read already.
    pub hello: Option<Hello>,
    /// The command line for this host, if it differs from that of the other hosts.
    pub invocation: Option<Invocation>,
}

/// Settings of the run.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The jobs for the hosts.
    pub invocation: Invocation,
    /// What to do with the other hosts when one is lost.
    pub on_host_loss: OnHostLoss,
    /// Maximum time for which a host may be silent.
    pub timeout: Duration,
    /// Time between two ticks; `None` for no ticks.
    pub tick: Option<Duration>,
    /// True if ticks include details.
    pub details: bool,
    /// True if the hosts are the servers of a client, so that file names contain the client's name.
    pub are_servers: bool,
    /// True if hosts send the lines that precede a run, in addition to messages about jobs.
    pub opening: bool,
    /// Time between two reports of the run so far.
    pub status_interval: Option<Duration>,
    /// Time between two snapshots of all hosts; `None` for none.
    pub snapshot: Option<Duration>,
    /// Trigger that ends the run early, and the command that then runs.
    pub trigger: Option<Trigger>,
    /// True if standard output is reserved for the report; the command then prints to standard error.
    pub report_alone: bool,
    /// Owners of the jobs' files.
    pub files: Vec<HostFiles>,
    /// Allowed prefixes of log names, by host.
    pub log_prefixes: Vec<Vec<PathBuf>>,
}

/// Events of hosts, in addition to the events of any run that an [`Observer`] receives.
pub trait Audience: Observer {
    /// A host has answered.
    fn answered(&mut self, _host: &HostEntry, _hello: &Hello) {}

    /// A host has sent the lines that precede its run.
    fn opening(&mut self, _host: &HostEntry, _hello: &Hello, _lines: &[fathom_spec::Message]) {}

    /// A host has sent a line. If this returns a message, it is passed to [`Observer::message`].
    fn host_message(&mut self, host: &HostEntry, _hello: &Hello, message: Message) -> Option<Message> {
        of_host(&host.name, message)
    }

    /// A host has ended.
    fn over(&mut self, _host: &HostRunReport) {}
}

/// Runs jobs on hosts. The lines that precede a run are passed on as messages as well.
pub fn run(seats: Vec<Seat>, settings: Settings, observer: &mut dyn Audience) -> Result<Outcome, Refused> {
    let signals = SignalQueue::new(SIGNALS)?;
    let list = HostList(seats.iter().map(|seat| seat.entry.clone()).collect());
    let (hosts, groups) = (list.names(), list.groups());
    let members = seats.into_iter().map(Member::new).collect();
    let now = monotonic_ns();
    let between_snapshots = SNAPSHOT_EVERY_NS.max(SNAPSHOT_PER_HOST_NS * hosts.len() as u64);
    let trigger = settings.trigger.clone();
    let mut controller = Controller {
        trigger: trigger.as_ref().map(TriggerSignal::new),
        has_fired: false,
        logs: LogSink::new(&hosts, settings.log_prefixes.clone()),
        hosts,
        groups,
        members,
        observer,
        signals,
        begun_ns: None,
        snapshots: Regularly::new(Some(Duration::from_nanos(between_snapshots)), now),
        ticks: Regularly::new(settings.tick, now),
        reports: Regularly::new(settings.status_interval, now),
        exports: Regularly::new(settings.snapshot, now),
        signal: None,
        stopped_ns: None,
        ended_at_once_ns: None,
        is_opened: false,
        settings,
    };
    controller.run_all();
    Ok(controller.outcome())
}

struct Controller<'a> {
    settings: Settings,
    /// The trigger, until it has fired.
    trigger: Option<TriggerSignal<'a>>,
    has_fired: bool,
    hosts: Vec<String>,
    /// Groups of each host; empty if there are none.
    groups: Vec<Vec<String>>,
    members: Vec<Member>,
    observer: &'a mut dyn Audience,
    signals: SignalQueue,
    logs: LogSink,
    /// Monotonic time of the agreed start, ns.
    begun_ns: Option<u64>,
    /// Periodic snapshots.
    snapshots: Regularly,
    ticks: Regularly,
    reports: Regularly,
    exports: Regularly,
    signal: Option<i32>,
    /// The time at which all hosts were told to stop without waiting, if they were.
    stopped_ns: Option<u64>,
    ended_at_once_ns: Option<u64>,
    /// Set once the lines that precede the run have been printed.
    is_opened: bool,
}

impl Controller<'_> {
    fn run_all(&mut self) {
        loop {
            self.receive();
            self.report_ends();
            self.assign();
            self.open();
            self.start_stage();
            self.look();
            self.take_requests();
            // The steps above may have given up a host.
            self.report_ends();
            if self.members.iter().all(Member::is_over) {
                return;
            }
            self.wait();
        }
    }

    fn wait(&self) {
        let now = monotonic_ns();
        let usual = if self.trigger.is_some() { TRIGGER_LOOK } else { LONGEST_WAIT };
        let regular = [&self.snapshots, &self.ticks, &self.reports, &self.exports];
        let wait = regular.iter().filter_map(|regular| regular.left(now)).fold(usual, Duration::min);
        let own = [Some(self.signals.descriptor()), self.observer.input()];
        let own = own.into_iter().flatten().map(|socket: RawFd| Awaited { socket, to_send: false });
        let connections = self.members.iter().filter(|member| !member.is_over());
        let theirs = connections.filter_map(|member| member.connection.as_ref());
        let awaited: Vec<Awaited> = own.chain(theirs.flat_map(Connection::descriptors)).collect();
        wait_for_any_of_many(&awaited, wait);
    }

    /// Handles the hosts' messages.
    fn receive(&mut self) {
        self.observer.advance();
        for index in 0..self.members.len() {
            if self.members[index].is_over() {
                continue;
            }
            let mut said = Vec::new();
            self.members[index].receive(&mut said);
            said.into_iter().for_each(|said| self.handle(index, said));
        }
    }

    /// Reports, once for each host, that the host has finished or was lost.
    fn report_ends(&mut self) {
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            if !member.is_live() && !std::mem::replace(&mut member.is_end_reported, true) {
                let result = member.host_result(self.begun_ns);
                self.report_loss(index);
                self.observer.over(&result);
            }
        }
    }

    fn handle(&mut self, index: usize, said: Said) {
        let host = self.members[index].entry.name.clone();
        match said {
            Said::Message(message) => {
                let is_echo = self.signal.is_some()
                    && matches!(&message, Message::Failure(text) if text.contains("terminating on signal"));
                let member = &self.members[index];
                // The controller has already reported this reason, so it is not repeated for each host.
                let told =
                    (!is_echo).then(|| self.observer.host_message(&member.entry, &member.hello, message));
                if let Some(message) = told.flatten() {
                    self.observer.message(&message);
                }
            }
            Said::Refused(lines) => {
                let lines = lines.iter().flat_map(|text| text.lines()).filter(|line| !line.trim().is_empty());
                for line in lines {
                    self.observer.message(&Message::Error(format!("<{host}> {line}")));
                }
            }
            Said::Log(name, bytes) => {
                if let Err(error) = self.logs.take(index, &name, &bytes) {
                    self.observer.message(&Message::Error(error.to_string()));
                }
            }
        }
    }

    /// Sends the jobs to the hosts that have answered.
    fn assign(&mut self) {
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            if member.standing != Standing::Connecting || member.hello.version.is_empty() {
                continue;
            }
            let owner = match self.settings.are_servers {
                true => FileOwner::Client(member.own_address()),
                false => FileOwner::Host,
            };
            let place = HostPlace {
                index: index as u32,
                hosts: self.hosts.clone(),
                groups: self.groups.clone(),
                owner,
            };
            let assignment = Assignment {
                invocation: member.invocation.take().unwrap_or_else(|| self.settings.invocation.clone()),
                place,
                tick: self.settings.tick,
                details: self.settings.details,
                opening: self.settings.opening,
                silence: self.settings.timeout.saturating_mul(2),
            };
            member.standing = Standing::SettingUp;
            member.send(&ToAgent::Prepare(Box::new(assignment)));
            self.observer.answered(&member.entry, &member.hello);
        }
    }

    /// Prints the lines that precede a run, once all hosts have planned their jobs: all lines of the first
    /// host, and those of other hosts that differ.
    fn open(&mut self) {
        let waits = |member: &Member| member.is_live() && member.opening.is_none();
        if self.is_opened || self.members.iter().any(waits) {
            return;
        }
        self.is_opened = true;
        for member in &self.members {
            if let Some(opening) = &member.opening {
                self.observer.opening(&member.entry, &member.hello, opening);
            }
        }
        if self.settings.are_servers {
            return;
        }
        let mut first: Option<&Vec<fathom_spec::Message>> = None;
        let mut lines = Vec::new();
        for member in &self.members {
            let Some(opening) = &member.opening else { continue };
            match first {
                None => lines.extend(opening.iter().cloned()),
                Some(first) if first == opening => {}
                Some(_) => lines.extend(opening.iter().map(|message| fathom_spec::Message {
                    text: named(&member.entry.name, &message.text),
                    ..message.clone()
                })),
            }
            first.get_or_insert(opening);
        }
        for line in lines {
            self.observer.message(&match line.stream {
                fathom_spec::Stream::Stdout => Message::Output(line.text),
                fathom_spec::Stream::Stderr => Message::Error(line.text),
            });
        }
    }

    /// Has the earliest stage that a host has reached set up, then starts it, once no other host can still reach it.
    fn start_stage(&mut self) {
        let live = || self.members.iter().filter(|member| member.is_live());
        if !live().all(|member| member.stage().is_some()) {
            return;
        }
        let Some(stage) = live().filter_map(Member::stage).min() else { return };
        if live().any(|member| member.standing == Standing::Reached(stage)) {
            let reached = |member: &&mut Member| member.standing == Standing::Reached(stage);
            self.members.iter_mut().filter(reached).for_each(|member| member.set_up(stage));
            return;
        }
        let is_measured = |member: &Member| {
            matches!(member.standing, Standing::Reached(_)) || member.clock_at_start().is_some()
        };
        if !live().all(is_measured) {
            return;
        }
        let lead = LEAD_NS + LEAD_PER_HOST_NS * live().count() as u64;
        let instant = monotonic_ns() + lead;
        self.begun_ns.get_or_insert(instant);
        for member in &mut self.members {
            if let (Standing::Ready(at), Some(offset)) = (&member.standing, member.clock_at_start())
                && *at == stage
            {
                member.go(stage, there(instant, offset));
            }
        }
    }

    /// Periodic work.
    fn look(&mut self) {
        let now = monotonic_ns();
        if self.snapshots.is_due(now) {
            self.members.iter_mut().for_each(Member::ask_for_snapshot);
        }
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            let is_due = now.saturating_sub(member.heard_ns.max(member.asked_ns)) >= SNAPSHOT_EVERY_NS;
            member.ask_about_clock(is_due);
            member.let_go();
            self.give_up_if_silent(index, now);
        }
        self.watch_trigger(now);
        self.tick_if_due(now);
        if self.reports.is_due(now) && self.begun_ns.is_some() {
            self.report_now();
        }
        if self.exports.is_due(now) {
            let report = self.report();
            self.observer.snapshot(&report);
        }
    }

    fn give_up_if_silent(&mut self, index: usize, now: u64) {
        let member = &mut self.members[index];
        let timeout = member.may_be_silent(self.settings.timeout);
        let silent = member.silent_ns(now);
        if member.is_over() {
            return;
        }
        let host = &member.entry.name;
        let is_last_chance = self.ended_at_once_ns.is_some_and(|since| now > since + LAST_PATIENCE_NS);
        if is_last_chance {
            member.give_up("it did not stop");
        } else if silent > timeout.as_nanos() as u64 {
            let seconds = silent / 1_000_000_000;
            let reason = match member.standing {
                Standing::Connecting => {
                    format!(
                        "it has not answered in {seconds} s; an agent that has keys answers only those who have them, too"
                    )
                }
                _ => format!("it has been silent for {seconds} s"),
            };
            member.give_up(&reason);
        } else if silent > SILENCE_NS && !member.is_silence_reported {
            member.is_silence_reported = true;
            let text = format!(
                "fathom: host {host} has been silent for {} s; it is given up after {} s (--host-timeout)",
                silent / 1_000_000_000,
                timeout.as_secs()
            );
            self.observer.message(&Message::Error(text));
        }
    }

    fn watch_trigger(&mut self, now: u64) {
        let Some(begun_ns) = self.begun_ns.filter(|&begun| begun <= now) else { return };
        let cause = self.trigger.as_mut().and_then(|trigger| trigger.cause(begun_ns, now));
        if let Some(cause) = cause {
            self.trigger = None;
            self.has_fired = true;
            self.stopped_ns.get_or_insert(now);
            self.observer
                .message(&Message::Error(format!("fathom: {cause}: the jobs of all hosts are told to end")));
            let live = self.members.iter_mut().filter(|member| member.is_live());
            live.for_each(|member| member.send(&ToAgent::Trigger));
        }
    }

    /// Runs the command of a trigger that has fired. It runs once, after all hosts have ended.
    fn run_trigger_command(&mut self) {
        let trigger = self.settings.trigger.as_ref().filter(|_| self.has_fired);
        let Some(command) = trigger.and_then(|trigger| trigger.command.clone()) else { return };
        let mut shell = std::process::Command::new("/bin/sh");
        if self.settings.report_alone {
            shell.stdout(std::io::stderr());
        }
        let ended = shell.arg("-c").arg(&command).status();
        let problem = match ended {
            Ok(status) if status.success() => return,
            Ok(status) => status.to_string(),
            Err(error) => format!("cannot be started: {error}", error = plain(&error)),
        };
        self.observer.message(&Message::Error(format!("fathom: --trigger={command}: {problem}")));
    }

    fn tick_if_due(&mut self, now: u64) {
        // The full-screen view also shows hosts that are being set up.
        if !self.ticks.is_due(now) || (self.begun_ns.is_none() && !self.settings.details) {
            return;
        }
        let (tick, details) = live::moment(&self.members, now, self.settings.details);
        self.observer.tick(&tick, details.as_ref());
    }

    fn take_requests(&mut self) {
        while let Some(request) = self.observer.take_input() {
            match request {
                Request::Stop => self.end_by_signal(libc::SIGINT),
                Request::Report => self.report_now(),
                Request::Trigger => {}
            }
        }
        while let Some(signal) = self.signals.next() {
            match signal {
                libc::SIGUSR1 => self.report_now(),
                _ => self.end_by_signal(signal),
            }
        }
    }

    fn report_now(&mut self) {
        let report = self.report();
        self.observer.interim_report(&report);
    }

    fn end_by_signal(&mut self, signal: i32) {
        let now = monotonic_ns();
        match self.stopped_ns {
            Some(since) if self.signal.is_some() && now < since + SECOND_SIGNAL_NS => return,
            Some(_) if self.signal.is_some() => {
                self.ended_at_once_ns.get_or_insert(now);
            }
            _ => self.observer.message(&Message::Failure(format!("\nfio: terminating on signal {signal}"))),
        }
        self.signal.get_or_insert(signal);
        self.stop_all();
    }

    fn stop_all(&mut self) {
        self.stopped_ns.get_or_insert_with(monotonic_ns);
        for index in 0..self.members.len() {
            if self.members[index].is_live() {
                self.members[index].stop();
            }
        }
    }

    /// Reports the loss of a host, and stops the other hosts if `--on-host-loss` says so.
    fn report_loss(&mut self, index: usize) {
        let member = &self.members[index];
        let host = &member.entry.name;
        let text = match &member.end {
            HostEnd::Whole => return,
            HostEnd::NeverBegan { reason } => format!("fathom: host {host} does not take part: {reason}"),
            HostEnd::Lost { reason, .. } => format!("fathom: host {host} is lost: {reason}"),
        };
        self.observer.message(&Message::Error(text));
        if self.settings.on_host_loss == OnHostLoss::Stop && self.stopped_ns.is_none() {
            let text = "fathom: the other hosts are stopped, as --on-host-loss=stop says";
            self.observer.message(&Message::Error(text.to_owned()));
            self.stop_all();
        }
    }

    /// The report of the run so far: the sum over all hosts.
    fn report(&self) -> RunReport {
        let hosts = self.members.iter().map(|member| member.host_result(self.begun_ns)).collect();
        let mut report = fathom_stats::hosts::merge(HostsReport {
            hosts,
            overlap: None,
            files: self.settings.files.clone(),
        });
        if report.version.is_empty() {
            fathom_local::here::COMPATIBLE_VERSION.clone_into(&mut report.version);
            report.timestamp_ms = fathom_sys::clock::wall_clock_ms();
        }
        report
    }

    fn outcome(mut self) -> Outcome {
        if let Err(error) = self.logs.finish() {
            self.observer.message(&Message::Error(error.to_string()));
        }
        self.run_trigger_command();
        let report = self.report();
        let failed = |member: &Member| match (&member.end, &member.done) {
            (HostEnd::Whole, Some(done)) => done.failed_jobs,
            _ => 1,
        };
        let lost_logs = self.logs.is_incomplete()
            || self.members.iter().any(|member| member.done.as_ref().is_some_and(|done| done.lost_logs));
        let is_broken =
            self.members.iter().any(|member| member.done.as_ref().is_some_and(|done| done.is_broken));
        let failed_jobs = self.members.iter().map(failed).sum();
        Outcome { report, failed_jobs, is_broken, signal: self.signal, lost_logs }
    }
}

/// Adds a host's name to its message; `None` for a message that is not a line.
pub fn of_host(host: &str, message: Message) -> Option<Message> {
    let named = |text: &str| named(host, text);
    match message {
        Message::Output(text) => Some(Message::Output(named(&text))),
        Message::Error(text) => Some(Message::Error(named(&text))),
        Message::Failure(text) => Some(Message::Failure(named(&text))),
        Message::LayingOut { job, files, bytes } => {
            Some(Message::LayingOut { job: format!("<{host}> {job}"), files, bytes })
        }
        Message::Figures(_) | Message::StageChanged => None,
    }
}

/// Adds a host's name before each line of its text, so that no line can be mistaken for one of the
/// controller's.
pub fn named(host: &str, text: &str) -> String {
    let lines = text.trim_start_matches('\n').split('\n');
    lines.map(|line| format!("<{host}> {line}")).collect::<Vec<_>>().join("\n")
}
